//! A key of an AEAD without a route: each message is computed on the calling thread.

use std::sync::Arc;

use inout::InOutBuf;
use oarlock_kernels::aead::TAG_BYTES;

use crate::Error;
use crate::costs::cost::Cost;
use crate::device::keyed::aead::AeadKey;
use crate::device::keyed::aead::refused;
use crate::device::session::Session;
use crate::plan::engine::Engine;
use crate::work::algorithm::{Algorithm, Kind};

/// An AEAD for messages that something else plans and counts: the packets of a [`Flow`](crate::plan::Flow), and the
/// inline messages of an [`AcceleratedAead`](super::AcceleratedAead).
pub struct KeyedAead(pub(super) Session<AeadKey>);

impl KeyedAead {
    /// Opens a session on the device that is expected to serve it first.
    ///
    /// # Errors
    /// Those of `Accelerator::aead`, except that no threads are reserved.
    pub fn open_session(
        engine: &Arc<Engine>,
        algorithm: Algorithm,
        key: &[u8],
    ) -> Result<Self, Error> {
        check(algorithm, key)?;
        Ok(Self(Session::open(&engine.ciphers, algorithm, key)?))
    }

    /// Returns the cost of a message on one thread.
    pub fn cost(&self) -> Cost {
        self.0.cost
    }

    /// Returns the name of the session's device.
    pub fn device(&self) -> &'static str {
        self.0.device()
    }

    #[inline(always)]
    pub(super) fn algorithm(&self) -> Algorithm {
        self.0.algorithm()
    }

    #[inline(always)]
    pub(super) fn key(&self) -> &AeadKey {
        &self.0.keyed
    }

    /// Seals a message on the calling thread without counting it, as
    /// [`AcceleratedAead::seal`](super::AcceleratedAead::seal) does.
    ///
    /// # Errors
    /// Those of [`AcceleratedAead::seal`](super::AcceleratedAead::seal).
    // A call of its own passes the result through memory twice: 24 ns for 64 bytes of AES-128-GCM, not 15.
    #[inline(always)]
    pub fn seal(
        &self,
        nonce: &[u8],
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
    ) -> Result<[u8; TAG_BYTES], Error> {
        self.key().seal(nonce, aad, data).map_err(refused)
    }

    /// Opens a message on the calling thread without counting it, as
    /// [`AcceleratedAead::open`](super::AcceleratedAead::open) does.
    ///
    /// # Errors
    /// Those of [`AcceleratedAead::open`](super::AcceleratedAead::open).
    #[inline(always)]
    pub fn open(
        &self,
        nonce: &[u8],
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), Error> {
        self.key().open(nonce, aad, data, tag).map_err(refused)
    }

    /// Opens a message as [`open`](Self::open) does, but overwrites data that are not authentic with zeros, which takes no
    /// second pass.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    #[inline(always)]
    pub fn open_or_zero(
        &self,
        nonce: &[u8],
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), Error> {
        self.key()
            .open_or_zero(nonce, aad, data, tag)
            .map_err(refused)
    }
}

/// Checks that `algorithm` is an AEAD and that `key` has its length.
pub(super) fn check(algorithm: Algorithm, key: &[u8]) -> Result<(), Error> {
    if algorithm.kind() != Kind::Aead {
        return Err(Error::InvalidInput(format!("{algorithm} is no AEAD")));
    }
    if key.len() != algorithm.key_bytes() {
        return Err(Error::InvalidKey(format!(
            "a key of {algorithm} has {} bytes, this one has {}",
            algorithm.key_bytes(),
            key.len()
        )));
    }
    Ok(())
}
