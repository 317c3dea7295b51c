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
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::failed;
use super::pkey::{Pkey, clear_errors};
use super::random::drawn;
use crate::Error;

/// The length in bytes of a private key's seed, ξ (FIPS 204, algorithm 6).
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
    /// All parameter sets.
    pub const ALL: [Self; 3] = [Self::MlDsa44, Self::MlDsa65, Self::MlDsa87];

    /// Returns the name that FIPS 204 uses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MlDsa44 => "ML-DSA-44",
            Self::MlDsa65 => "ML-DSA-65",
            Self::MlDsa87 => "ML-DSA-87",
        }
    }

    /// Returns the length in bytes of public keys: 1312, 1952 or 2592.
    pub const fn public_key_bytes(self) -> usize {
        match self {
            Self::MlDsa44 => 1312,
            Self::MlDsa65 => 1952,
            Self::MlDsa87 => 2592,
        }
    }

    /// Returns the length in bytes of expanded private keys: 2560, 4032 or 4896.
    pub const fn private_key_bytes(self) -> usize {
        match self {
            Self::MlDsa44 => 2560,
            Self::MlDsa65 => 4032,
            Self::MlDsa87 => 4896,
        }
    }

    /// Returns the length in bytes of signatures: 2420, 3309 or 4627.
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
    /// Creates a key from its encoding. Any bytes of the right length are valid.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] if the length of `bytes` is not [`MlDsa::public_key_bytes`].
    pub fn from_bytes(set: MlDsa, bytes: &[u8]) -> Result<Self, Error> {
        check_key_length(set, "public key", bytes.len(), set.public_key_bytes())?;
        // SAFETY: `bytes` is passed with its length, and aws-lc copies it; nothing else refers to the new public key.
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

    /// Returns the parameter set.
    pub fn set(&self) -> MlDsa {
        self.0.set
    }

    /// Writes the public key to `output`, which has [`MlDsa::public_key_bytes`] bytes.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if `output` has another length.
    pub fn write_to(&self, output: &mut [u8]) -> Result<(), Error> {
        self.0.write_public(output)
    }

    /// Verifies a signature of a message under a context (FIPS 204, algorithm 3).
    ///
    /// # Errors
    /// [`Error::InvalidSignature`] if it was made for another key, message or context, and [`Error::InvalidInput`] for
    /// a context of more than 255 bytes.
    pub fn verify(&self, message: &[u8], context: &[u8], signature: &[u8]) -> Result<(), Error> {
        if signature.len() != self.0.set.signature_bytes() {
            return Err(Error::InvalidSignature);
        }
        let state = State::of(&self.0, EVP_DigestVerifyInit, context)?;
        // SAFETY: the state has a key; `signature` and `message` are passed with their lengths.
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
    /// [`Error::DeviceFailed`] if memory is exhausted.
    pub fn generate(set: MlDsa) -> Result<Self, Error> {
        Self::from_seed(set, &drawn())
    }

    /// Creates a key from its seed.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] if memory is exhausted.
    pub fn from_seed(set: MlDsa, seed: &[u8; SEED_BYTES]) -> Result<Self, Error> {
        Self::made(set, seed, no_memory)
    }

    /// Creates a key from its expanded form (FIPS 204, algorithm 24), after checking that its numbers are in range and
    /// match the parts of the public key in it.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] if it is not a valid private key.
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

    /// Creates a key from a seed or an expanded key, which aws-lc distinguishes by length.
    fn made(set: MlDsa, bytes: &[u8], error: impl FnOnce() -> Error) -> Result<Self, Error> {
        // SAFETY: `bytes` is passed with its length, and aws-lc copies it; nothing else refers to the new private key.
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

    /// Returns the parameter set.
    pub fn set(&self) -> MlDsa {
        self.0.set
    }

    /// Returns the seed, or `None` for a key created from its expanded form.
    pub fn seed(&self) -> Option<Zeroizing<[u8; SEED_BYTES]>> {
        self.0.inner.seed()
    }

    /// Writes the expanded private key to `output`, which has [`MlDsa::private_key_bytes`] bytes.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if `output` has another length.
    pub fn write_to(&self, output: &mut [u8]) -> Result<(), Error> {
        check_length(output.len(), self.set().private_key_bytes())?;
        done_or_no_memory(self.0.inner.write_private(output))
    }

    /// Whether `expanded` is this private key in its expanded form. The time depends on the length alone.
    pub fn is_expanded(&self, expanded: &[u8]) -> bool {
        let mut own = Zeroizing::new(vec![0; self.set().private_key_bytes()]);
        self.write_to(&mut own).is_ok() && bool::from(own.ct_eq(expanded))
    }

    /// Writes the public key to `output`, which has [`MlDsa::public_key_bytes`] bytes.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if `output` has another length.
    pub fn write_public_to(&self, output: &mut [u8]) -> Result<(), Error> {
        self.0.write_public(output)
    }

    /// Signs a message under a context (FIPS 204, algorithm 2, the hedged variant). Each call returns a different
    /// signature.
    ///
    /// The result is not verified. The nonce depends on random bytes too, so no two signatures share one, and comparing
    /// a faulty signature with another does not reveal the key.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for a context of more than 255 bytes, and [`Error::DeviceFailed`] if memory is
    /// exhausted.
    pub fn sign(&self, message: &[u8], context: &[u8]) -> Result<Vec<u8>, Error> {
        let state = State::of(&self.0, EVP_DigestSignInit, context)?;
        let mut signature = vec![0; self.0.set.signature_bytes()];
        let mut bytes = signature.len();
        let done = process::forks_wait_for(|| {
            // SAFETY: the state has a private key; the output and `message` are passed with their lengths.
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

/// The state of signing or verifying a message.
struct State(NonNull<EVP_MD_CTX>);

impl State {
    fn of(key: &Key, begin: Begin, context: &[u8]) -> Result<Self, Error> {
        if context.len() > CONTEXT_BYTES_MAX {
            return Err(Error::InvalidInput(format!(
                "ML-DSA: a context of {} bytes: it has at most {CONTEXT_BYTES_MAX}",
                context.len()
            )));
        }
        // SAFETY: EVP_MD_CTX_new has no arguments.
        let state = NonNull::new(unsafe { EVP_MD_CTX_new() }).ok_or_else(no_memory)?;
        let state = Self(state);
        let mut settings = ptr::null_mut();
        // SAFETY: the state is empty, and owns the settings that it returns; it keeps a reference to the key. Hash
        // function and engine may be null. The context is passed with its length and copied.
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
        // SAFETY: EVP_MD_CTX_new made it, and only this drop frees it.
        unsafe { EVP_MD_CTX_free(self.0.as_ptr()) };
    }
}

/// The type of EVP_DigestSignInit and EVP_DigestVerifyInit.
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
