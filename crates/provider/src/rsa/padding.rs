//! Decodes the private power of a ciphertext.
//!
//! The sender of a ciphertext must not learn what is wrong with its padding (Bleichenbacher 1998, Manger 2001). So this
//! file never refuses a PKCS#1 v1.5 padding. A TLS server continues with random bytes, as RFC 5246, 7.4.7.1 says.
//! Otherwise, OpenSSL 3.2 and later reject implicitly, and so does this file. An older OpenSSL returns an error, in
//! constant time; such decryptions are left to the default provider.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_uint};
use std::ptr::null;

use oarlock::Error;
use oarlock::rsa::{EncryptionScheme, RsaPrivateKey, tls_premaster_secret};
use zeroize::Zeroizing;

use crate::abi::Param;
use crate::default_provider::rsa::named_for_oaep;

/// The encoding of the message in the power.
pub(super) enum Padding {
    /// The power is the message.
    None,
    Of(EncryptionScheme),
    /// A premaster secret of TLS, which starts with one of these versions.
    Tls(Vec<u16>),
}

impl Padding {
    /// Reads a context's padding by `get`; `None` if only the default provider can decode it.
    ///
    /// # Safety
    /// `get` sets parameters as the default provider does: the label is a pointer to as many octets as the parameter
    /// reports, which stay valid until the context changes.
    pub(super) unsafe fn read(get: impl FnOnce(*mut Param) -> c_int) -> Option<Self> {
        let mut mode = 0;
        let (mut digest, mut mgf1) = ([0; NAME_BYTES], [0; NAME_BYTES]);
        let mut label = null();
        let [
            mut client_version,
            mut negotiated_version,
            mut rejects_implicitly,
        ]: [c_uint; 3] = [0; 3];
        let mut params = [
            Param::asking_for_int(c"pad-mode", &mut mode),
            Param::asking_for_copy(c"digest", &mut digest),
            Param::asking_for_copy(c"mgf1-digest", &mut mgf1),
            Param::asking_for_octets(c"oaep-label", &mut label),
            Param::asking_for_uint(c"tls-client-version", &mut client_version),
            Param::asking_for_uint(c"tls-negotiated-version", &mut negotiated_version),
            // A release without implicit rejection leaves this 0.
            Param::asking_for_uint(c"implicit-rejection", &mut rejects_implicitly),
            Param::END,
        ];
        if get(params.as_mut_ptr()) != 1 {
            return None;
        }
        match mode {
            PKCS1 if rejects_implicitly == 1 => Some(Self::Of(EncryptionScheme::Pkcs1)),
            NONE => Some(Self::None),
            OAEP => {
                let label = match params[3].given_bytes() {
                    // SAFETY: `get` stored a label of that many octets, which stay valid, as the caller promises.
                    Some(bytes) if bytes > 0 && !label.is_null() => unsafe {
                        std::slice::from_raw_parts(label, bytes).to_vec()
                    },
                    _ => Vec::new(),
                };
                Some(Self::Of(EncryptionScheme::Oaep {
                    hash: named_for_oaep(text(&digest))?,
                    mgf1: named_for_oaep(text(&mgf1))?,
                    label,
                }))
            }
            // Without a version, the default provider refuses, after it has decrypted.
            TLS if client_version > 0 => {
                let mut versions = vec![client_version as u16];
                if negotiated_version > 0 {
                    versions.push(negotiated_version as u16);
                }
                Some(Self::Tls(versions))
            }
            _ => None,
        }
    }

    /// Returns the room in bytes that the default provider demands for a message.
    pub(super) fn room(&self, modulus_bytes: usize) -> usize {
        match self {
            Self::Tls(_) => PREMASTER_SECRET_BYTES,
            Self::None | Self::Of(_) => modulus_bytes,
        }
    }

    /// Returns the message. Only OAEP's padding can be wrong. Implicit rejection needs `key`.
    pub(super) fn message(
        &self,
        power: &[u8],
        ciphertext: &[u8],
        key: Option<&RsaPrivateKey>,
    ) -> Result<Zeroizing<Vec<u8>>, Error> {
        match self {
            Self::None => Ok(Zeroizing::new(power.to_vec())),
            Self::Of(scheme) => scheme.decode(power, ciphertext, key),
            Self::Tls(versions) => tls_premaster_secret(power, versions),
        }
    }
}

/// Returns the bytes up to the first zero.
pub(super) fn text(place: &[u8]) -> &[u8] {
    place.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// RSA_PKCS1_PADDING, RSA_NO_PADDING, RSA_PKCS1_OAEP_PADDING, RSA_PKCS1_WITH_TLS_PADDING.
const PKCS1: c_int = 1;
const NONE: c_int = 3;
const OAEP: c_int = 4;
const TLS: c_int = 7;
/// SSL_MAX_MASTER_KEY_LENGTH.
const PREMASTER_SECRET_BYTES: usize = 48;
/// OSSL_MAX_NAME_SIZE.
pub(super) const NAME_BYTES: usize = 50;
