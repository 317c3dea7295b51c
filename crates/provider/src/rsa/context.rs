//! A context of a signature: the default provider's, with the private operation taken over.
#![allow(unsafe_code)]

use std::ffi::{CString, c_int, c_void};
use std::sync::Arc;

use oarlock::rsa::{Hash, PssSalt, RsaPublicKey, SignatureScheme};
use oarlock_engine::costs::Computed;

use super::default_context::Around;
use super::keymgmt::Key;
use super::padding::{NAME_BYTES, text};
use super::private_op::compute;
use crate::abi::Param;
use crate::boxed::Copied;
use crate::default_provider::functions::SignatureFunctions;
use crate::default_provider::rsa::{DefaultRsa, Digest, named};
use crate::exported::{Inner, Place};
use crate::provider::Provider;

/// A context, as OpenSSL holds it.
pub(super) struct Context {
    /// The default provider's context, with all settings.
    pub(super) inner: Inner,
    /// The core does not tear down a provider that has a context.
    pub(super) provider: *const Provider,
    /// The property query for hash functions.
    pub(super) properties: Option<CString>,
    pub(super) key: Option<Arc<Key>>,
    pub(super) message: Message,
    /// Whether the size was asked for since the message began.
    pub(super) was_size_asked: bool,
}

/// The context that hashes the message of a streaming signature.
pub(super) enum Message {
    /// The default provider's context, if any.
    Elsewhere,
    Here(Digest),
    /// None: the signature was made.
    Ended,
}

/// The settings of the default provider's context.
pub(super) struct Settings {
    padding: c_int,
    /// The names of hash functions, which end with a zero; empty if none is set.
    digest: [u8; NAME_BYTES],
    mgf1: [u8; NAME_BYTES],
    salt: c_int,
}

impl Settings {
    /// Reads the settings of a context by `get`.
    fn read(get: impl FnOnce(*mut Param) -> c_int) -> Option<Self> {
        let mut settings = Self {
            padding: 0,
            digest: [0; NAME_BYTES],
            mgf1: [0; NAME_BYTES],
            salt: 0,
        };
        let mut params = [
            Param::asking_for_int(c"pad-mode", &mut settings.padding),
            Param::asking_for_copy(c"digest", &mut settings.digest),
            Param::asking_for_copy(c"mgf1-digest", &mut settings.mgf1),
            Param::asking_for_int(c"saltlen", &mut settings.salt),
            Param::END,
        ];
        (get(params.as_mut_ptr()) == 1).then_some(settings)
    }

    /// Returns parameters that give another context these settings, which must outlive them.
    fn as_params(&mut self) -> [Param; 5] {
        let mut params = [const { Param::END }; 5];
        params[0] = Param::giving_text(c"digest", text(&self.digest));
        params[1] = Param::asking_for_int(c"pad-mode", &mut self.padding);
        if self.padding == PSS {
            params[2] = Param::giving_text(c"mgf1-digest", text(&self.mgf1));
            params[3] = Param::asking_for_int(c"saltlen", &mut self.salt);
        }
        params
    }

    /// Returns the hash function; `None` if it is not one of ours, and `Some(None)` if none is set.
    pub(super) fn hash(&self) -> Option<Option<Hash>> {
        match text(&self.digest) {
            b"" => Some(None),
            name => named(name).map(Some),
        }
    }
}

/// What the private operation is applied to.
pub(super) enum Encoding {
    Made(Vec<u8>),
    Of(SignatureScheme),
}

/// RSA_PKCS1_PADDING, RSA_PKCS1_PSS_PADDING.
const PKCS1: c_int = 1;
const PSS: c_int = 6;
/// RSA_PSS_SALTLEN_*.
const SALT_AS_DIGEST: c_int = -1;
const SALT_AUTO: c_int = -2;
const SALT_MAX: c_int = -3;
const SALT_AUTO_DIGEST_MAX: c_int = -4;

impl Around for Context {
    type Functions = SignatureFunctions;

    fn functions_of(rsa: &DefaultRsa) -> &SignatureFunctions {
        &rsa.signature.functions
    }

    fn inner(&self) -> *mut c_void {
        self.inner.at()
    }

    fn provider(&self) -> &Provider {
        // SAFETY: the provider outlives its signature contexts.
        unsafe { &*self.provider }
    }
}

impl Context {
    pub(super) fn rsa(&self) -> Option<&DefaultRsa> {
        self.provider().default_rsa()
    }

    pub(super) fn settings(&self) -> Option<Settings> {
        let get = self.functions()?.get_ctx_params?;
        // SAFETY: the default provider's function with its context and places that stay for the call.
        Settings::read(|params| unsafe { get(self.inner.at(), params) })
    }

    /// Returns the encoding of a signature of `message`, if it can be made here. `message` is a digest, or octets if no
    /// hash function is set.
    pub(super) fn encoding(&self, key: &RsaPublicKey, message: &[u8]) -> Option<Encoding> {
        let settings = self.settings()?;
        Some(Encoding::Of(match (settings.padding, settings.hash()?) {
            (PKCS1, None) => {
                return padded(message, key.bytes()).map(Encoding::Made);
            }
            (PKCS1, Some(hash)) => SignatureScheme::Pkcs1(hash),
            (PSS, Some(hash)) => SignatureScheme::PssWith {
                hash,
                mgf1: named(text(&settings.mgf1))?,
                salt: PssSalt::Bytes(salt_bytes(settings.salt, hash.bytes(), key.bits())?),
            },
            _ => return None,
        }))
    }

    /// Has the default provider sign a digest. Since 3.4 its context for this one would take the digest for a message,
    /// so another context with the same settings is used.
    fn sign_digest_by_default(&self, place: Place, digest: &[u8]) -> Option<c_int> {
        let mut settings = self.settings()?;
        let key = self.key.as_ref()?.inner;
        let params = settings.as_params();
        let lone = Inner::new(&self.rsa()?.signature, self.properties.as_deref())?;
        let functions = lone.functions();
        // SAFETY: the default provider's functions with its own context and key, and the caller's place and octets.
        unsafe {
            if functions.sign_init?(lone.at(), key, params.as_ptr()) != 1 {
                return None;
            }
            Some(functions.sign?(
                lone.at(),
                place.octets,
                place.bytes,
                place.room,
                digest.as_ptr(),
                digest.len(),
            ))
        }
    }

    /// Signs the digest of a message that came in parts or, if `by_parts` is false, whatever the context is set to
    /// sign.
    pub(super) fn sign(&self, place: Place, message: &[u8], by_parts: bool) -> c_int {
        if let Some(reference) = self.key.as_ref().and_then(|key| key.reference()) {
            return self.sign_remotely(reference, place, message);
        }
        let by_default = || {
            if by_parts && self.provider().host.signs_messages() {
                return self.sign_digest_by_default(place, message).unwrap_or(0);
            }
            let sign = self.functions().and_then(|functions| functions.sign);
            // SAFETY: the default provider's `sign` with its context, and the caller's place and octets.
            sign.map_or(0, |sign| unsafe {
                sign(
                    self.inner.at(),
                    place.octets,
                    place.bytes,
                    place.room,
                    message.as_ptr(),
                    message.len(),
                )
            })
        };
        let prepared = || {
            let key = self.key.as_ref()?;
            key.count();
            let key = key.accelerated()?;
            let public = key.key().public_key();
            let has_room = place.has_room(public.bytes());
            let encoding = has_room.then(|| self.encoding(public, message))??;
            Some((key, encoding))
        };
        let Some((key, encoding)) = prepared() else {
            let is_done = by_default();
            if is_done == 1 && !place.octets.is_null() {
                self.provider().count_private(Computed::Here);
            }
            return is_done;
        };
        let number = || match &encoding {
            Encoding::Made(number) => Ok(number.clone()),
            Encoding::Of(scheme) => scheme.encode(message, key.key().public_key()),
        };
        compute(self.provider(), key, false, number, by_default, |power| {
            // SAFETY: the place has room for the modulus, as `prepared` has checked, and a place for the length.
            unsafe { place.set(power) };
            1
        })
    }
}

/// Encodes octets without DigestInfo by EMSA-PKCS1-v1_5 (RFC 8017, 9.2).
fn padded(octets: &[u8], bytes: usize) -> Option<Vec<u8>> {
    let ones = bytes
        .checked_sub(octets.len() + 3)
        .filter(|ones| *ones >= 8)?;
    let mut number = vec![0xff; ones + 2];
    number[..2].copy_from_slice(&[0, 1]);
    number.push(0);
    number.extend_from_slice(octets);
    Some(number)
}

/// Returns the length of a signature's salt by the context's setting.
fn salt_bytes(salt: c_int, digest_bytes: usize, modulus_bits: usize) -> Option<usize> {
    let most = (modulus_bits - 1)
        .div_ceil(8)
        .checked_sub(digest_bytes + 2)?;
    match salt {
        SALT_AS_DIGEST => Some(digest_bytes),
        SALT_AUTO | SALT_MAX => Some(most),
        SALT_AUTO_DIGEST_MAX => Some(most.min(digest_bytes)),
        salt => salt.try_into().ok(),
    }
}

impl Copied for Context {
    fn copy(&self) -> Option<Self> {
        let message = match &self.message {
            Message::Elsewhere => Message::Elsewhere,
            Message::Ended => Message::Ended,
            Message::Here(digest) => Message::Here(digest.copy()?),
        };
        Some(Self {
            inner: self.inner.copy()?,
            provider: self.provider,
            properties: self.properties.clone(),
            key: self.key.clone(),
            message,
            was_size_asked: self.was_size_asked,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn salts_are_as_long_as_the_default_provider_makes_them() {
        // 2049 bits: the number has one byte less than the modulus.
        for (bits, most) in [(2048, 222), (2049, 222), (2050, 223)] {
            assert_eq!(salt_bytes(SALT_AS_DIGEST, 32, bits), Some(32));
            assert_eq!(salt_bytes(SALT_AUTO, 32, bits), Some(most));
            assert_eq!(salt_bytes(SALT_MAX, 32, bits), Some(most));
            assert_eq!(salt_bytes(SALT_AUTO_DIGEST_MAX, 32, bits), Some(32));
            assert_eq!(salt_bytes(20, 32, bits), Some(20));
        }
        assert_eq!(salt_bytes(SALT_AUTO_DIGEST_MAX, 64, 1024), Some(62));
        assert_eq!(salt_bytes(-7, 32, 2048), None);
    }

    #[test]
    fn octets_without_a_hash_function_are_padded() {
        let number = padded(b"abc", 16).unwrap_or_default();
        assert_eq!(number.len(), 16);
        assert_eq!(number[..2], [0, 1]);
        assert!(number[2..12].iter().all(|byte| *byte == 0xff));
        assert_eq!(number[12..], *b"\0abc");
        assert_eq!(padded(&[1; 6], 16), None);
        assert!(padded(&[1; 5], 16).is_some());
    }
}
