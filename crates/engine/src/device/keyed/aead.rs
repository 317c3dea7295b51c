//! A key of an authenticated cipher, set up for its kernel.

use std::sync::Arc;

use inout::InOutBuf;
use oarlock_kernels::aead::{AeadError, TAG_BYTES};
use oarlock_kernels::chacha20_poly1305::{self, ChaCha20Poly1305};
use oarlock_kernels::cpu::Cpu;
use oarlock_kernels::gcm::{self, Gcm};
use oarlock_kernels::{aes, chacha20};

use crate::Error;
use crate::work::algorithm::{Algorithm, InvalidKey};

/// Whole messages by an implementation that knows no parts of one.
pub(crate) trait Aead: Send + Sync {
    fn seal(
        &self,
        nonce: &[u8],
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
    ) -> Result<[u8; TAG_BYTES], AeadError>;

    /// Releases nothing unless the tag matches.
    fn open(
        &self,
        nonce: &[u8],
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), AeadError>;

    /// Writes zeros unless the tag matches.
    fn open_or_zero(
        &self,
        nonce: &[u8],
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), AeadError>;
}

/// An authenticated cipher's key.
pub(crate) enum AeadKey {
    Gcm(Box<Gcm>),
    ChaCha20Poly1305(Box<ChaCha20Poly1305>),
    /// AEADs by aws-lc.
    #[cfg_attr(not(feature = "aws-lc"), allow(dead_code))]
    Other(Arc<dyn Aead>),
}

impl AeadKey {
    /// See [`Keyed`](super::Keyed).
    pub(crate) fn kernel(cpu: Cpu, algorithm: Algorithm, key: &[u8]) -> Result<Self, InvalidKey> {
        let invalid = |error: &dyn ToString| InvalidKey(error.to_string());
        match algorithm {
            Algorithm::Aes128Gcm | Algorithm::Aes192Gcm | Algorithm::Aes256Gcm => {
                let mut gcm = unkeyed_gcm(cpu);
                gcm.set_key(key).map_err(|error| invalid(&error))?;
                Ok(Self::Gcm(gcm))
            }
            Algorithm::ChaCha20Poly1305 => {
                let backend = chacha20::Backend::preferred(cpu);
                let mut aead = Box::new(ChaCha20Poly1305::unkeyed(backend));
                aead.set_key(key).map_err(|error| invalid(&error))?;
                Ok(Self::ChaCha20Poly1305(aead))
            }
            other => Err(InvalidKey(format!("{other} is no AEAD"))),
        }
    }
}

/// A key whose messages can be done in parts.
#[derive(Clone, Copy)]
pub(crate) enum KeyInParts<'a> {
    Gcm(&'a Gcm),
    ChaCha20Poly1305(&'a ChaCha20Poly1305),
}

impl AeadKey {
    pub(crate) fn in_parts(&self) -> Option<KeyInParts<'_>> {
        match self {
            Self::Gcm(gcm) => Some(KeyInParts::Gcm(gcm)),
            Self::ChaCha20Poly1305(aead) => Some(KeyInParts::ChaCha20Poly1305(aead)),
            Self::Other(_) => None,
        }
    }

    #[inline(always)]
    pub(crate) fn seal(
        &self,
        nonce: &[u8],
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
    ) -> Result<[u8; TAG_BYTES], AeadError> {
        match self {
            Self::Gcm(gcm) => gcm.seal(nonce, aad, data),
            Self::ChaCha20Poly1305(aead) => aead.seal(nonce, aad, data),
            Self::Other(aead) => aead.seal(nonce, aad, data),
        }
    }

    #[inline(always)]
    pub(crate) fn open(
        &self,
        nonce: &[u8],
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), AeadError> {
        match self {
            Self::Gcm(gcm) => gcm.open(nonce, aad, data, tag),
            Self::ChaCha20Poly1305(aead) => aead.open(nonce, aad, data, tag),
            Self::Other(aead) => aead.open(nonce, aad, data, tag),
        }
    }

    /// As [`open`](Self::open), but leaves zeros where the tag does not match.
    #[inline(always)]
    pub(crate) fn open_or_zero(
        &self,
        nonce: &[u8],
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), AeadError> {
        match self {
            Self::Gcm(gcm) => gcm.open_or_zero(nonce, aad, data, tag),
            Self::ChaCha20Poly1305(aead) => aead.open_or_zero(nonce, aad, data, tag),
            Self::Other(aead) => aead.open_or_zero(nonce, aad, data, tag),
        }
    }
}

/// With counter-mode caching where `cpu` allows it. Written where it stays: it has 5 KiB.
pub(crate) fn unkeyed_gcm(cpu: Cpu) -> Box<Gcm> {
    let place = Box::new_uninit();
    #[cfg(target_arch = "x86_64")]
    if let Some(face) = aes::Face::new(cpu) {
        return Box::write(place, Gcm::unkeyed_cached(face));
    }
    Box::write(place, Gcm::unkeyed(aes::Backend::preferred(cpu)))
}

/// Whether input and output are the same memory.
pub(crate) fn is_in_place(data: &mut InOutBuf<'_, '_, u8>) -> bool {
    let from = data.get_in().as_ptr();
    std::ptr::eq(from, data.get_out().as_ptr())
}

/// Converts a kernel's error.
#[cold]
pub(crate) fn refused(error: AeadError) -> Error {
    match error {
        AeadError::AuthenticationFailed => Error::AuthenticationFailed,
        other => Error::InvalidInput(other.to_string()),
    }
}

/// An AEAD whose messages can be done in parts, from a shared key.
pub(crate) trait InParts: Sync {
    type Message: Sync;
    type Partial: Send;
    const DATA_BYTES_MAX: u64;

    fn begin(&self, nonce: &[u8], aad: &[u8]) -> Result<Self::Message, AeadError>;
    /// Bytes of data that it has so far.
    fn bytes(message: &Self::Message) -> u64;
    fn seal_stripe(
        &self,
        message: &Self::Message,
        offset: u64,
        data: InOutBuf<'_, '_, u8>,
    ) -> Self::Partial;
    fn open_stripe(
        &self,
        message: &Self::Message,
        offset: u64,
        data: InOutBuf<'_, '_, u8>,
    ) -> Self::Partial;
    fn crypt_stripe(&self, message: &Self::Message, offset: u64, data: InOutBuf<'_, '_, u8>);
    fn append(&self, message: &mut Self::Message, partial: Self::Partial, bytes: u64);
    fn finish(&self, message: Self::Message) -> [u8; TAG_BYTES];
}

macro_rules! in_parts {
    ($aead:ident, $module:ident, $bytes_max:expr) => {
        impl InParts for $aead {
            type Message = $module::Message;
            type Partial = $module::Partial;
            const DATA_BYTES_MAX: u64 = $bytes_max;

            fn begin(&self, nonce: &[u8], aad: &[u8]) -> Result<Self::Message, AeadError> {
                $aead::begin(self, nonce, aad)
            }
            fn bytes(message: &Self::Message) -> u64 {
                message.bytes()
            }
            fn seal_stripe(
                &self,
                message: &Self::Message,
                offset: u64,
                data: InOutBuf<'_, '_, u8>,
            ) -> Self::Partial {
                $aead::seal_stripe(self, message, offset, data)
            }
            fn open_stripe(
                &self,
                message: &Self::Message,
                offset: u64,
                data: InOutBuf<'_, '_, u8>,
            ) -> Self::Partial {
                $aead::open_stripe(self, message, offset, data)
            }
            fn crypt_stripe(
                &self,
                message: &Self::Message,
                offset: u64,
                data: InOutBuf<'_, '_, u8>,
            ) {
                $aead::crypt_stripe(self, message, offset, data);
            }
            fn append(&self, message: &mut Self::Message, partial: Self::Partial, bytes: u64) {
                $aead::append(self, message, partial, bytes);
            }
            fn finish(&self, message: Self::Message) -> [u8; TAG_BYTES] {
                $aead::finish(self, message)
            }
        }
    };
}

in_parts!(Gcm, gcm, gcm::MESSAGE_BYTES_MAX);
in_parts!(
    ChaCha20Poly1305,
    chacha20_poly1305,
    chacha20_poly1305::DATA_BYTES_MAX
);
