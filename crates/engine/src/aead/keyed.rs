//! A key of an AEAD where it lives, without a route: each message is computed on the calling thread.

use std::sync::Arc;

use inout::InOutBuf;
use oarlock_kernels::aead::TAG_BYTES;

use super::refused;
use crate::Error;
use crate::costs::cost::Cost;
use crate::device::SessionParams;
use crate::device::keyed::aead::{AeadKey, Failure};
use crate::device::session::Session;
use crate::plan::engine::Engine;
use crate::plan::route;
use crate::plan::shared_session::{SharedSession, Undone};
use crate::work::algorithm::{Algorithm, Kind};

/// An AEAD for messages that something else plans and counts: the packets of a [`Flow`](crate::plan::Flow), and the
/// inline messages of an [`AcceleratedAead`](super::AcceleratedAead).
pub struct KeyedAead(SharedSession<AeadKey>);

impl KeyedAead {
    /// Opens a session where the plan expects it to be served soonest.
    ///
    /// # Errors
    /// Those of `Accelerator::aead`, but that no threads are kept for it.
    pub fn open_session(
        engine: &Arc<Engine>,
        algorithm: Algorithm,
        key: &[u8],
    ) -> Result<Self, Error> {
        check(algorithm, key)?;
        Ok(Self::new(route::open_session(engine, algorithm, key)?))
    }

    pub(super) fn new(session: Session<AeadKey>) -> Self {
        Self(SharedSession::new(session))
    }

    /// What a message costs on one thread.
    pub fn cost(&self) -> Cost {
        self.0.first().cost
    }

    /// The name of the device that serves this session now.
    pub fn device(&self) -> String {
        self.0.device()
    }

    pub(super) fn params(&self) -> SessionParams {
        self.0.first().params()
    }

    /// The session that it began as, wherever it is now.
    pub(super) fn first(&self) -> &Session<AeadKey> {
        self.0.first()
    }

    /// The key, if its device still serves it.
    #[inline]
    pub(super) fn at_home(&self) -> Option<&AeadKey> {
        self.0.at_home()
    }

    /// As [`AcceleratedAead::seal`](super::AcceleratedAead::seal), on the calling thread and without counting it.
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn seal(
        &self,
        nonce: &[u8],
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
    ) -> Result<[u8; TAG_BYTES], Error> {
        self.seal_or_leave(&|| (), nonce, aad, data)
    }

    /// As [`AcceleratedAead::open`](super::AcceleratedAead::open), on the calling thread and without counting it.
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn open(
        &self,
        nonce: &[u8],
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), Error> {
        self.open_or_leave(&|| (), nonce, aad, data, tag)
    }

    /// As [`open`](Self::open), but what is not authentic becomes zeros, which takes no second pass.
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn open_or_zero(
        &self,
        nonce: &[u8],
        aad: &[u8],
        mut data: InOutBuf<'_, '_, u8>,
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), Error> {
        match self.at_home() {
            Some(AeadKey::Gcm(gcm)) => gcm.open_or_zero(nonce, aad, data, tag).map_err(refused),
            Some(AeadKey::ChaCha20Poly1305(aead)) => aead
                .open_or_zero(nonce, aad, data.reborrow(), tag)
                .map_err(refused),
            _ => self.by_the_device(&|| (), |key| {
                key.open_or_zero(nonce, aad, data.reborrow(), tag)
            }),
        }
    }

    /// As [`seal`](Self::seal). Before the session leaves a device it calls `leave`.
    // A call of its own passes the result through memory twice: 24 ns for 64 bytes of AES-128-GCM, not 15.
    #[inline(always)]
    pub(super) fn seal_or_leave(
        &self,
        leave: &impl Fn(),
        nonce: &[u8],
        aad: &[u8],
        mut data: InOutBuf<'_, '_, u8>,
    ) -> Result<[u8; TAG_BYTES], Error> {
        match self.at_home() {
            Some(AeadKey::Gcm(gcm)) => gcm.seal(nonce, aad, data).map_err(refused),
            Some(AeadKey::ChaCha20Poly1305(aead)) => {
                aead.seal(nonce, aad, data.reborrow()).map_err(refused)
            }
            _ => self.by_the_device(leave, |key| key.seal(nonce, aad, data.reborrow())),
        }
    }

    /// As [`open`](Self::open). Before the session leaves a device it calls `leave`.
    #[inline(always)]
    pub(super) fn open_or_leave(
        &self,
        leave: &impl Fn(),
        nonce: &[u8],
        aad: &[u8],
        mut data: InOutBuf<'_, '_, u8>,
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), Error> {
        match self.at_home() {
            Some(AeadKey::Gcm(gcm)) => gcm.open(nonce, aad, data, tag).map_err(refused),
            Some(AeadKey::ChaCha20Poly1305(aead)) => {
                aead.open(nonce, aad, data.reborrow(), tag).map_err(refused)
            }
            _ => self.by_the_device(leave, |key| key.open(nonce, aad, data.reborrow(), tag)),
        }
    }

    #[cold]
    #[inline(never)]
    fn by_the_device<T>(
        &self,
        leave: &impl Fn(),
        mut message: impl FnMut(&AeadKey) -> Result<T, Failure>,
    ) -> Result<T, Error> {
        self.0
            .by_a_device(leave, |key| message(key).map_err(undone))
    }
}

/// Whether `key` fits `algorithm`, and that is an AEAD.
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

/// Whether another device may do better.
#[cold]
fn undone(failure: Failure) -> Undone<Error> {
    match failure {
        Failure::Refused(error) => Undone::Refused(refused(error)),
        Failure::Device => Undone::Device,
    }
}
