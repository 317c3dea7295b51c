//! ML-DSA (FIPS 204).

use std::os::raw::c_int;
use std::ptr::{self, NonNull};

use aws_lc_sys::{
    ENGINE, EVP_DigestSign, EVP_DigestSignInit, EVP_DigestVerify, EVP_DigestVerifyInit, EVP_MD,
    EVP_MD_CTX, EVP_MD_CTX_free, EVP_MD_CTX_new, EVP_PKEY, EVP_PKEY_CTX,
    EVP_PKEY_CTX_set1_signature_context_string, EVP_PKEY_pqdsa_new_raw_private_key,
    EVP_PKEY_pqdsa_new_raw_public_key, NID_MLDSA44, NID_MLDSA65, NID_MLDSA87,
};
use oarlock_threads::process;
use zeroize::Zeroizing;

use super::failed;
use super::pkey::{Pkey, clear_errors};
use super::random::drawn;
use crate::Error;

/// The length in bytes of the seed of a private key, ξ (FIPS 204, algorithm 6).
pub const SEED_BYTES: usize = 32;
/// The longest context of a signature in bytes (FIPS 204, 5.2).
pub const CONTEXT_BYTES_MAX: usize = 255;

/// A parameter set (FIPS 204, 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::enum_variant_names)] // The standard's names.
pub enum MlDsa {
    /// ML-DSA-44, of security category 2.
    MlDsa44,
    /// ML-DSA-65, of security category 3.
    MlDsa65,
    /// ML-DSA-87, of security category 5.
    MlDsa87,
}

impl MlDsa {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::MlDsa44, Self::MlDsa65, Self::MlDsa87];

    /// Its name, as FIPS 204 writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MlDsa44 => "ML-DSA-44",
            Self::MlDsa65 => "ML-DSA-65",
            Self::MlDsa87 => "ML-DSA-87",
        }
    }

    /// The length in bytes of public keys: 1312, 1952 or 2592.
    pub const fn public_key_bytes(self) -> usize {
        match self {
            Self::MlDsa44 => 1312,
            Self::MlDsa65 => 1952,
            Self::MlDsa87 => 2592,
        }
    }

    /// The length in bytes of expanded private keys: 2560, 4032 or 4896.
    pub const fn private_key_bytes(self) -> usize {
        match self {
            Self::MlDsa44 => 2560,
            Self::MlDsa65 => 4032,
            Self::MlDsa87 => 4896,
        }
    }

    /// The length in bytes of signatures: 2420, 3309 or 4627.
    pub const fn signature_bytes(self) -> usize {
        match self {
            Self::MlDsa44 => 2420,
            Self::MlDsa65 => 3309,
            Self::MlDsa87 => 4627,
        }
    }

    const fn nid(self) -> i32 {
        match self {
            Self::MlDsa44 => NID_MLDSA44,
            Self::MlDsa65 => NID_MLDSA65,
            Self::MlDsa87 => NID_MLDSA87,
        }
    }
}

/// A public key.
pub struct MlDsaPublicKey(Key);

impl MlDsaPublicKey {
    /// Takes a public key; any bytes of the right length are one.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] where `bytes` has another length than [`MlDsa::public_key_bytes`].
    pub fn from_bytes(set: MlDsa, bytes: &[u8]) -> Result<Self, Error> {
        check_key_length(set, "public key", bytes.len(), set.public_key_bytes())?;
        // SAFETY: `bytes` is a slice, passed with its length, and aws-lc copies it; nobody else has the new key.
        let inner = unsafe {
            Pkey::taken(EVP_PKEY_pqdsa_new_raw_public_key(
                set.nid(),
                bytes.as_ptr(),
                bytes.len(),
            ))
        };
        let inner = inner.ok_or_else(no_memory)?;
        Ok(Self(Key { set, inner }))
    }

    /// The parameter set.
    pub fn set(&self) -> MlDsa {
        self.0.set
    }

    /// Writes the public key to `output`, which has [`MlDsa::public_key_bytes`].
    ///
    /// # Errors
    /// [`Error::InvalidInput`] where `output` is of another length.
    pub fn write_to(&self, output: &mut [u8]) -> Result<(), Error> {
        self.0.write_public(output)
    }

    /// Verifies a signature of a message under a context (FIPS 204, algorithm 3).
    ///
    /// # Errors
    /// [`Error::InvalidSignature`] where it is another's, and [`Error::InvalidInput`] for a context of more than 255
    /// bytes.
    pub fn verify(&self, message: &[u8], context: &[u8], signature: &[u8]) -> Result<(), Error> {
        if signature.len() != self.0.set.signature_bytes() {
            return Err(Error::InvalidSignature);
        }
        let state = State::of(&self.0, EVP_DigestVerifyInit, context)?;
        // SAFETY: the state has a key; `signature` and `message` are slices, passed with their lengths.
        let is_valid = unsafe {
            EVP_DigestVerify(
                state.0.as_ptr(),
                signature.as_ptr(),
                signature.len(),
                message.as_ptr(),
                message.len(),
            )
        };
        if is_valid == 1 {
            return Ok(());
        }
        clear_errors();
        Err(Error::InvalidSignature)
    }
}

/// A private key, with its public key. aws-lc wipes it on drop.
pub struct MlDsaPrivateKey(Key);

impl MlDsaPrivateKey {
    /// Generates a key pair.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] where memory has run out.
    pub fn generate(set: MlDsa) -> Result<Self, Error> {
        Self::from_seed(set, &drawn())
    }

    /// Takes the seed that a private key is made from.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] where memory has run out.
    pub fn from_seed(set: MlDsa, seed: &[u8; SEED_BYTES]) -> Result<Self, Error> {
        Self::made(set, seed, no_memory)
    }

    /// Takes a private key in its expanded form (FIPS 204, algorithm 24), after a check that its numbers are in range and
    /// that what it has of the public key belongs to them.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] where it is no private key.
    pub fn from_bytes(set: MlDsa, bytes: &[u8]) -> Result<Self, Error> {
        check_key_length(
            set,
            "expanded private key",
            bytes.len(),
            set.private_key_bytes(),
        )?;
        Self::made(set, bytes, || {
            clear_errors();
            Error::InvalidKey(format!(
                "an expanded private key of {} whose parts contradict each other",
                set.name()
            ))
        })
    }

    /// Makes a key from a seed or an expanded key, which aws-lc tells apart by their length.
    fn made(set: MlDsa, bytes: &[u8], error: impl FnOnce() -> Error) -> Result<Self, Error> {
        // SAFETY: `bytes` is a slice, passed with its length, and aws-lc copies it; nobody else has the new key.
        let inner = unsafe {
            Pkey::taken(EVP_PKEY_pqdsa_new_raw_private_key(
                set.nid(),
                bytes.as_ptr(),
                bytes.len(),
            ))
        };
        let inner = inner.ok_or_else(error)?;
        Ok(Self(Key { set, inner }))
    }

    /// The parameter set.
    pub fn set(&self) -> MlDsa {
        self.0.set
    }

    /// Returns the seed that the private key was made from, which an expanded form has not.
    pub fn seed(&self) -> Option<Zeroizing<[u8; SEED_BYTES]>> {
        self.0.inner.seed()
    }

    /// Writes the private key in its expanded form to `output`, which has [`MlDsa::private_key_bytes`].
    ///
    /// # Errors
    /// [`Error::InvalidInput`] where `output` is of another length.
    pub fn write_to(&self, output: &mut [u8]) -> Result<(), Error> {
        check_length(output.len(), self.set().private_key_bytes())?;
        done_or_no_memory(self.0.inner.write_private(output))
    }

    /// Writes the public key to `output`, which has [`MlDsa::public_key_bytes`].
    ///
    /// # Errors
    /// [`Error::InvalidInput`] where `output` is of another length.
    pub fn write_public_to(&self, output: &mut [u8]) -> Result<(), Error> {
        self.0.write_public(output)
    }

    /// Signs a message under a context (FIPS 204, algorithm 2, the hedged variant): each signature is another one.
    ///
    /// It is not verified: as the nonce depends on random bytes too, no two signatures share one, and a fault in one does
    /// not give the key away by a comparison with another.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for a context of more than 255 bytes, and [`Error::DeviceFailed`] where memory has run out.
    pub fn sign(&self, message: &[u8], context: &[u8]) -> Result<Vec<u8>, Error> {
        let state = State::of(&self.0, EVP_DigestSignInit, context)?;
        let mut signature = vec![0; self.0.set.signature_bytes()];
        let mut bytes = signature.len();
        let done = process::forks_wait_for(|| {
            // SAFETY: the state has a private key; the output and `message` are slices, passed with their lengths.
            unsafe {
                EVP_DigestSign(
                    state.0.as_ptr(),
                    signature.as_mut_ptr(),
                    &mut bytes,
                    message.as_ptr(),
                    message.len(),
                )
            }
        });
        done_or_no_memory(done == 1 && bytes == signature.len())?;
        Ok(signature)
    }
}

struct Key {
    set: MlDsa,
    inner: Pkey,
}

impl Key {
    fn write_public(&self, output: &mut [u8]) -> Result<(), Error> {
        check_length(output.len(), self.set.public_key_bytes())?;
        done_or_no_memory(self.inner.write_public(output))
    }
}

/// A message that is signed or verified.
struct State(NonNull<EVP_MD_CTX>);

impl State {
    fn of(key: &Key, begin: Begin, context: &[u8]) -> Result<Self, Error> {
        if context.len() > CONTEXT_BYTES_MAX {
            return Err(Error::InvalidInput(format!(
                "ML-DSA: a context of {} bytes: it has at most {CONTEXT_BYTES_MAX}",
                context.len()
            )));
        }
        // SAFETY: it takes nothing.
        let state = NonNull::new(unsafe { EVP_MD_CTX_new() }).ok_or_else(no_memory)?;
        let state = Self(state);
        let mut settings = ptr::null_mut();
        // SAFETY: an empty state, a place for its settings, which stay as long as it, and a key, of which it keeps a
        // reference; neither a hash function nor an engine. The context is as long as is said, and is copied.
        let done = unsafe {
            begin(
                state.0.as_ptr(),
                &mut settings,
                ptr::null(),
                ptr::null_mut(),
                key.inner.as_ptr(),
            ) == 1
                && (context.is_empty()
                    || EVP_PKEY_CTX_set1_signature_context_string(
                        settings,
                        context.as_ptr(),
                        context.len(),
                    ) == 1)
        };
        done_or_no_memory(done)?;
        Ok(state)
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // SAFETY: made by EVP_MD_CTX_new, and freed here alone.
        unsafe { EVP_MD_CTX_free(self.0.as_ptr()) };
    }
}

/// EVP_DigestSignInit and EVP_DigestVerifyInit.
type Begin = unsafe extern "C" fn(
    *mut EVP_MD_CTX,
    *mut *mut EVP_PKEY_CTX,
    *const EVP_MD,
    *mut ENGINE,
    *mut EVP_PKEY,
) -> c_int;

fn check_key_length(set: MlDsa, what: &str, given: usize, expected: usize) -> Result<(), Error> {
    if given == expected {
        return Ok(());
    }
    Err(Error::InvalidKey(format!(
        "{given} bytes: a {what} of {} has {expected}",
        set.name()
    )))
}

fn check_length(given: usize, expected: usize) -> Result<(), Error> {
    if given == expected {
        return Ok(());
    }
    Err(Error::InvalidInput(format!(
        "ML-DSA: {given} bytes, but {expected} are needed"
    )))
}

fn done_or_no_memory(done: bool) -> Result<(), Error> {
    if done { Ok(()) } else { Err(no_memory()) }
}

fn no_memory() -> Error {
    clear_errors();
    failed("ML-DSA: no memory")
}
