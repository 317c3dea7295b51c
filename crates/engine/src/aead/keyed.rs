//! An AEAD key without a route: each message is computed on the calling thread.

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

/// An AEAD for messages that the caller schedules and counts: the packets of a [`Flow`](crate::plan::Flow), and the
/// inline messages of an [`AcceleratedAead`](super::AcceleratedAead).
pub struct KeyedAead(SharedSession<AeadKey>);

impl KeyedAead {
    /// Opens a session on the device with the earliest expected completion.
    ///
    /// # Errors
    /// Those of `Accelerator::aead`, except that it reserves no threads.
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

    /// Returns the cost of a message on one thread.
    pub fn cost(&self) -> Cost {
        self.0.first().cost
    }

    /// Returns the name of the device that serves this session now.
    pub fn device(&self) -> String {
        self.0.device()
    }

    pub(super) fn params(&self) -> SessionParams {
        self.0.first().params()
    }

    /// Returns the original session, even if it has moved since.
    pub(super) fn first(&self) -> &Session<AeadKey> {
        self.0.first()
    }

    /// Returns the key, if its original device still serves it.
    #[inline]
    pub(super) fn at_home(&self) -> Option<&AeadKey> {
        self.0.at_home()
    }

    /// Seals like [`AcceleratedAead::seal`](super::AcceleratedAead::seal), on the calling thread and without counting.
    ///
    /// # Errors
    /// The same.
    #[inline]
    pub fn seal(
        &self,
        nonce: &[u8],
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
    ) -> Result<[u8; TAG_BYTES], Error> {
        self.seal_or_leave(&|| (), nonce, aad, data)
    }

    /// Opens like [`AcceleratedAead::open`](super::AcceleratedAead::open), on the calling thread and without counting.
    ///
    /// # Errors
    /// The same.
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

    /// Opens like [`open`](Self::open), but replaces data that is not authentic with zeros, which saves a second pass.
    ///
    /// # Errors
    /// The same.
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

    /// Seals like [`seal`](Self::seal), and calls `leave` before the session leaves a device.
    // A separate call would pass the result through memory twice: 24 ns for 64 bytes of AES-128-GCM instead of 15.
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

    /// Opens like [`open`](Self::open), and calls `leave` before the session leaves a device.
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

/// Checks that `algorithm` is an AEAD and `key` has its length.
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

/// Returns whether another device may succeed.
#[cold]
fn undone(failure: Failure) -> Undone<Error> {
    match failure {
        Failure::Refused(error) => Undone::Refused(refused(error)),
        Failure::Device => Undone::Device,
    }
}
