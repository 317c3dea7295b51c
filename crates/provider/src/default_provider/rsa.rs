//! The default provider's RSA, which this provider's wraps.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr::null;

use oarlock::rsa::Hash;

use super::functions::{DigestFunctions, EncryptionFunctions, KeyFunctions, SignatureFunctions};
use super::{DefaultAlgorithm, DefaultProvider, Inner};
use crate::abi::{OPERATION_ASYM_CIPHER, OPERATION_DIGEST, OPERATION_KEYMGMT, OPERATION_SIGNATURE};

/// Its functions for keys, signatures and encryption.
pub(crate) struct DefaultRsa {
    /// The provider context to call its functions with.
    pub(crate) context: *mut c_void,
    /// The management of RSA keys, and of RSA keys restricted to PSS.
    pub(crate) keys: [DefaultAlgorithm<KeyFunctions>; 2],
    pub(crate) signature: DefaultAlgorithm<SignatureFunctions>,
    pub(crate) encryption: DefaultAlgorithm<EncryptionFunctions>,
    digests: Vec<(Hash, DigestFunctions)>,
}

impl DefaultRsa {
    /// Finds the functions. Returns `None` unless the default provider has all of them.
    pub(crate) fn of(default: &DefaultProvider) -> Option<Self> {
        let context = default.context()?;
        macro_rules! find {
            ($functions:ident, $operation:expr, $name:expr) => {{
                let (names, table) = default.algorithm($operation, $name)?;
                DefaultAlgorithm {
                    // SAFETY: the table was found under the operation of its type.
                    functions: unsafe { $functions::of(table) },
                    context,
                    names,
                }
            }};
        }
        let digests = HASHES.iter().filter_map(|(names, hash)| {
            let (_, functions) = default.algorithm(OPERATION_DIGEST, names[0])?;
            // SAFETY: the table was found among the digests.
            Some((*hash, unsafe { DigestFunctions::of(functions) }))
        });
        let digests = digests.collect();
        Some(Self {
            context,
            keys: [
                find!(KeyFunctions, OPERATION_KEYMGMT, b"RSA"),
                find!(KeyFunctions, OPERATION_KEYMGMT, b"RSA-PSS"),
            ],
            signature: find!(SignatureFunctions, OPERATION_SIGNATURE, b"RSA"),
            encryption: find!(EncryptionFunctions, OPERATION_ASYM_CIPHER, b"RSA"),
            digests,
        })
    }
}

/// A message being hashed by the default provider.
pub(crate) type Digest = Inner<DigestFunctions>;

impl Digest {
    pub(crate) fn begin(rsa: &DefaultRsa, hash: Hash) -> Option<Self> {
        let (_, functions) = rsa.digests.iter().find(|(one, _)| *one == hash)?;
        // SAFETY: this calls the default provider's digest functions with that provider's context.
        unsafe {
            let digest = Self::of(functions, functions.newctx?(rsa.context))?;
            (functions.init?(digest.at(), null()) == 1).then_some(digest)
        }
    }

    /// # Safety
    /// `data` has `bytes` bytes, which no thread writes to during the call.
    pub(crate) unsafe fn update(&self, data: *const u8, bytes: usize) -> Option<c_int> {
        // SAFETY: the default provider's function gets its own digest, and the caller vouches for the data.
        Some(unsafe { self.functions().update?(self.at(), data, bytes) })
    }

    /// Returns the digest and its length.
    pub(crate) fn end(&mut self) -> Option<([u8; DIGEST_BYTES_MAX], usize)> {
        let (mut digest, mut bytes) = ([0; DIGEST_BYTES_MAX], 0);
        // SAFETY: the default provider's function gets its own digest, and a place with the size passed.
        let is_done = unsafe {
            self.functions().finish?(self.at(), digest.as_mut_ptr(), &mut bytes, digest.len())
        };
        (is_done == 1).then_some((digest, bytes))
    }
}

/// EVP_MAX_MD_SIZE.
const DIGEST_BYTES_MAX: usize = 64;

/// The names of hash functions in OpenSSL, beginning with its preferred one.
const HASHES: [(&[&[u8]], Hash); 6] = [
    (
        &[
            b"SHA2-256",
            b"SHA-256",
            b"SHA256",
            b"2.16.840.1.101.3.4.2.1",
        ],
        Hash::Sha256,
    ),
    (
        &[
            b"SHA2-384",
            b"SHA-384",
            b"SHA384",
            b"2.16.840.1.101.3.4.2.2",
        ],
        Hash::Sha384,
    ),
    (
        &[
            b"SHA2-512",
            b"SHA-512",
            b"SHA512",
            b"2.16.840.1.101.3.4.2.3",
        ],
        Hash::Sha512,
    ),
    (
        &[
            b"SHA2-224",
            b"SHA-224",
            b"SHA224",
            b"2.16.840.1.101.3.4.2.4",
        ],
        Hash::Sha224,
    ),
    (
        &[
            b"SHA2-512/224",
            b"SHA-512/224",
            b"SHA512-224",
            b"2.16.840.1.101.3.4.2.5",
        ],
        Hash::Sha512_224,
    ),
    (
        &[
            b"SHA2-512/256",
            b"SHA-512/256",
            b"SHA512-256",
            b"2.16.840.1.101.3.4.2.6",
        ],
        Hash::Sha512_256,
    ),
];

/// The names of SHA-1, which makes no signatures here.
const SHA_1: &[&[u8]] = &[b"SHA1", b"SHA-1", b"SSL3-SHA1", b"1.3.14.3.2.26"];

/// Returns the hash function of a name if signatures are made with it.
pub(crate) fn named(name: &[u8]) -> Option<Hash> {
    let mut hashes = HASHES.iter();
    hashes
        .find(|(names, _)| has(names, name))
        .map(|found| found.1)
}

/// Returns the hash function of a name, for OAEP.
pub(crate) fn named_for_oaep(name: &[u8]) -> Option<Hash> {
    if has(SHA_1, name) {
        return Some(Hash::Sha1);
    }
    named(name)
}

fn has(names: &[&[u8]], name: &[u8]) -> bool {
    names.iter().any(|one| one.eq_ignore_ascii_case(name))
}
