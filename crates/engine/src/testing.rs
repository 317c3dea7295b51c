//! A handle for tests, as `oarlock::Accelerator` is one for programs.

use std::sync::Arc;

use crate::Error;
use crate::aead::{NonceSequence, SequencedAead};
use crate::cipher::cbc::AcceleratedCbc;
use crate::cipher::ctr::AcceleratedCtr;
use crate::cipher::{AnyAes, AnyStream};
use crate::options::Strategy;
use crate::plan::Engine;
use crate::plan::Setup;
#[cfg(feature = "rsa")]
use crate::rsa::{AcceleratedRsaPublic, RsaPublicKey};
use crate::work::algorithm::Algorithm;

pub(crate) struct Accelerator(pub(crate) Arc<Engine>);

impl AsRef<Arc<Engine>> for Accelerator {
    fn as_ref(&self) -> &Arc<Engine> {
        &self.0
    }
}

#[derive(Clone)]
pub(crate) struct Builder(Setup);

impl Builder {
    pub(crate) fn max_threads(mut self, count: usize) -> Self {
        self.0.options.max_threads = count.into();
        self
    }

    pub(crate) fn strategy(mut self, strategy: Strategy) -> Self {
        self.0.options.strategy = strategy;
        self
    }

    pub(crate) fn prefetch_bytes(mut self, bytes: usize) -> Self {
        self.0.options.prefetch_bytes = bytes;
        self
    }

    pub(crate) fn cpu_mask(mut self, mask: &str) -> Self {
        self.0.cpu_mask = Some(mask.into());
        self
    }

    pub(crate) fn build(self) -> Result<Accelerator, Error> {
        self.0.open().map(Accelerator)
    }
}

impl Accelerator {
    pub(crate) fn builder() -> Builder {
        Builder(Setup::default())
    }

    pub(crate) fn ctr(&self, key: &[u8], iv: &[u8]) -> Result<AcceleratedCtr<AnyAes>, Error> {
        AcceleratedCtr::open(&self.0, key, iv)
    }

    pub(crate) fn stream(
        &self,
        algorithm: Algorithm,
        key: &[u8],
        iv: &[u8],
    ) -> Result<AcceleratedCtr<AnyStream>, Error> {
        AcceleratedCtr::open_stream(&self.0, algorithm, key, iv)
    }

    pub(crate) fn cbc(&self, key: &[u8], iv: &[u8]) -> Result<AcceleratedCbc, Error> {
        AcceleratedCbc::open(&self.0, key, iv)
    }

    pub(crate) fn sequenced_aead(
        &self,
        algorithm: Algorithm,
        key: &[u8],
        nonces: NonceSequence,
        record_bytes_max: usize,
    ) -> Result<SequencedAead, Error> {
        SequencedAead::open_session(&self.0, algorithm, key, nonces, record_bytes_max)
    }

    #[cfg(feature = "rsa")]
    pub(crate) fn rsa_public(&self, key: &RsaPublicKey) -> AcceleratedRsaPublic {
        AcceleratedRsaPublic::new(&self.0, key)
    }
}
