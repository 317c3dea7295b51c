//! ML-KEM (FIPS 203).

use std::ptr;

use aws_lc_sys::{
    EVP_PKEY, EVP_PKEY_CTX, EVP_PKEY_CTX_kem_set_params, EVP_PKEY_KEM, EVP_PKEY_decapsulate,
    EVP_PKEY_encapsulate_deterministic, EVP_PKEY_kem_check_key, EVP_PKEY_kem_new_raw_key,
    EVP_PKEY_kem_new_raw_public_key, EVP_PKEY_keygen_deterministic, EVP_PKEY_keygen_init,
    EVP_PKEY_public_check, NID_MLKEM512, NID_MLKEM768, NID_MLKEM1024,
};
use oarlock_threads::process;
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

use super::failed;
use super::pkey::{Context, Pkey, clear_errors};
use super::random::drawn;
use crate::Error;

/// The length in bytes of shared secrets.
pub const SECRET_BYTES: usize = 32;

/// The length in bytes of a private key's seed, d and z (FIPS 203, algorithm 16).
pub const SEED_BYTES: usize = 64;

/// The length in bytes of the random message that a ciphertext carries (FIPS 203, algorithm 20).
const MESSAGE_BYTES: usize = 32;

/// A parameter set (FIPS 203, 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::enum_variant_names)] // The standard's names.
pub enum MlKem {
    /// ML-KEM-512, of security category 1.
    MlKem512,
    /// ML-KEM-768, of security category 3.
    MlKem768,
    /// ML-KEM-1024, of security category 5.
    MlKem1024,
}

impl MlKem {
    /// All parameter sets.
    pub const ALL: [Self; 3] = [Self::MlKem512, Self::MlKem768, Self::MlKem1024];

    /// Returns the name that FIPS 203 uses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MlKem512 => "ML-KEM-512",
            Self::MlKem768 => "ML-KEM-768",
            Self::MlKem1024 => "ML-KEM-1024",
        }
    }

    /// Returns the length in bytes of public keys: 800, 1184 or 1568.
    pub const fn public_key_bytes(self) -> usize {
        384 * self.rank() + 32
    }

    /// Returns the length in bytes of private keys: 1632, 2400 or 3168.
    pub const fn private_key_bytes(self) -> usize {
        768 * self.rank() + 96
    }

    /// Returns the length in bytes of ciphertexts: 768, 1088 or 1568.
    pub const fn ciphertext_bytes(self) -> usize {
        match self {
            Self::MlKem512 => 768,
            Self::MlKem768 => 1088,
            Self::MlKem1024 => 1568,
        }
    }

    const fn rank(self) -> usize {
        match self {
            Self::MlKem512 => 2,
            Self::MlKem768 => 3,
            Self::MlKem1024 => 4,
        }
    }

    const fn nid(self) -> i32 {
        match self {
            Self::MlKem512 => NID_MLKEM512,
            Self::MlKem768 => NID_MLKEM768,
            Self::MlKem1024 => NID_MLKEM1024,
        }
    }
}

/// A public key.
pub struct MlKemPublicKey(Key);

impl MlKemPublicKey {
    /// Creates a key from its encoding after the checks of FIPS 203, 7.2: its length, and that each coefficient is
    /// reduced.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] if it is not a valid public key.
    pub fn from_bytes(set: MlKem, bytes: &[u8]) -> Result<Self, Error> {
        let (nid, first) = (set.nid(), bytes.as_ptr());
        // SAFETY: the slice has `bytes.len()` bytes, which aws-lc copies; nothing else refers to the new key.
        let key = unsafe { Pkey::taken(EVP_PKEY_kem_new_raw_public_key(nid, first, bytes.len())) };
        let key = Key::of(set, key).filter(|key| {
            let Some(context) = Context::of(&key.inner) else {
                return false;
            };
            // SAFETY: the context has a public key. Without a private half, the check draws no random numbers.
            unsafe { EVP_PKEY_public_check(context.as_ptr()) == 1 }
        });
        key.map(Self)
            .ok_or_else(|| refused("ML-KEM: not a public key"))
    }

    /// Returns the parameter set.
    pub fn set(&self) -> MlKem {
        self.0.set
    }

    /// Writes the public key to `output`, which has [`MlKem::public_key_bytes`] bytes.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if `output` has another length.
    pub fn write_to(&self, output: &mut [u8]) -> Result<(), Error> {
        self.0.write_public(output)
    }

    /// Generates a secret. Writes it to `secret`, and a ciphertext that carries it to `ciphertext`, which has
    /// [`MlKem::ciphertext_bytes`] bytes.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if `ciphertext` has another length, and [`Error::DeviceFailed`] if memory is exhausted.
    pub fn encapsulate(
        &self,
        ciphertext: &mut [u8],
        secret: &mut [u8; SECRET_BYTES],
    ) -> Result<(), Error> {
        check_length(ciphertext.len(), self.0.set.ciphertext_bytes())?;
        let context = Context::of(&self.0.inner).ok_or_else(no_memory)?;
        let (mut ciphertext_bytes, mut secret_bytes) = (ciphertext.len(), SECRET_BYTES);
        let message = drawn::<MESSAGE_BYTES>();
        let mut message_bytes = MESSAGE_BYTES;
        // SAFETY: the context has a public key, and both outputs and the message have the lengths passed with them.
        let done = unsafe {
            EVP_PKEY_encapsulate_deterministic(
                context.as_ptr(),
                ciphertext.as_mut_ptr(),
                &mut ciphertext_bytes,
                secret.as_mut_ptr(),
                &mut secret_bytes,
                message.as_ptr(),
                &mut message_bytes,
            )
        };
        done_or(done == 1, no_memory)
    }
}

/// A private key, with its public key. aws-lc wipes it on drop.
pub struct MlKemPrivateKey(Key);

impl MlKemPrivateKey {
    /// Generates a key pair.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] if memory is exhausted.
    pub fn generate(set: MlKem) -> Result<Self, Error> {
        Self::from_seed(set, &drawn())
    }

    /// Creates a key from its seed: d, then z.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] if memory is exhausted.
    pub fn from_seed(set: MlKem, seed: &[u8; SEED_BYTES]) -> Result<Self, Error> {
        Self::made(set, |context, key| {
            let mut seed_bytes = SEED_BYTES;
            // SAFETY: the context has its parameter set, `key` is a place for a key, and the seed has the length
            // passed.
            unsafe { EVP_PKEY_keygen_deterministic(context, key, seed.as_ptr(), &mut seed_bytes) }
        })
    }

    fn made(
        set: MlKem,
        make: impl FnOnce(*mut EVP_PKEY_CTX, &mut *mut EVP_PKEY) -> i32,
    ) -> Result<Self, Error> {
        let mut key = ptr::null_mut();
        let context = Context::for_kind(EVP_PKEY_KEM).ok_or_else(no_memory)?;
        let at = context.as_ptr();
        // SAFETY: the context has no key yet.
        let is_ready = unsafe {
            EVP_PKEY_CTX_kem_set_params(at, set.nid()) == 1 && EVP_PKEY_keygen_init(at) == 1
        };
        let done = is_ready && make(at, &mut key) == 1;
        // SAFETY: `key` is null or the new key, which nothing else frees.
        Key::of(set, unsafe { Pkey::taken(key) })
            .filter(|_| done)
            .map(Self)
            .ok_or_else(no_memory)
    }

    /// Creates a key from its expanded form, after the checks of FIPS 203, 7.3, and a check that both halves match.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] if it is not a valid private key.
    pub fn from_bytes(set: MlKem, bytes: &[u8]) -> Result<Self, Error> {
        let invalid = || refused("ML-KEM: not a private key");
        if bytes.len() != set.private_key_bytes() {
            return Err(invalid());
        }
        // The encoding is: private key of the encryption scheme, public key, its hash, seed of rejected secrets.
        let public = &bytes[384 * set.rank()..][..set.public_key_bytes()];
        // SAFETY: both slices are passed with their lengths, and aws-lc copies them; nothing else refers to the new
        // key.
        let key = unsafe {
            Pkey::taken(EVP_PKEY_kem_new_raw_key(
                set.nid(),
                public.as_ptr(),
                public.len(),
                bytes.as_ptr(),
                bytes.len(),
            ))
        };
        let key = Key::of(set, key).ok_or_else(invalid)?;
        let inner = key.inner.as_ptr();
        // The check encapsulates a secret, which draws random numbers.
        // SAFETY: `key` owns the pointer, and has both halves.
        let fits = process::forks_wait_for(|| unsafe { EVP_PKEY_kem_check_key(inner) });
        done_or(fits == 1, invalid).map(|()| Self(key))
    }

    /// Returns the parameter set.
    pub fn set(&self) -> MlKem {
        self.0.set
    }

    /// Writes the expanded private key to `output`, which has [`MlKem::private_key_bytes`] bytes.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if `output` has another length.
    pub fn write_to(&self, output: &mut [u8]) -> Result<(), Error> {
        check_length(output.len(), self.set().private_key_bytes())?;
        done_or(self.0.inner.write_private(output), no_memory)
    }

    /// Whether `expanded` is this private key in its expanded form. The time depends on the length alone.
    pub fn is_expanded(&self, expanded: &[u8]) -> bool {
        let mut own = Zeroizing::new(vec![0; self.set().private_key_bytes()]);
        self.write_to(&mut own).is_ok() && bool::from(own.ct_eq(expanded))
    }

    /// Returns the seed, d followed by z, or `None` for a key created from its expanded form.
    pub fn seed(&self) -> Option<Zeroizing<[u8; SEED_BYTES]>> {
        self.0.inner.seed()
    }

    /// Writes the public key to `output`, which has [`MlKem::public_key_bytes`] bytes.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if `output` has another length.
    pub fn write_public_to(&self, output: &mut [u8]) -> Result<(), Error> {
        self.0.write_public(output)
    }

    /// Writes the secret that `ciphertext` carries to `secret`. A ciphertext that was altered or created for another
    /// key causes no error: it yields a secret that no peer shares (implicit rejection: FIPS 203, 6.3).
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if the length of `ciphertext` is not [`MlKem::ciphertext_bytes`], and
    /// [`Error::DeviceFailed`] if memory is exhausted.
    pub fn decapsulate(
        &self,
        ciphertext: &[u8],
        secret: &mut [u8; SECRET_BYTES],
    ) -> Result<(), Error> {
        check_length(ciphertext.len(), self.set().ciphertext_bytes())?;
        let context = Context::of(&self.0.inner).ok_or_else(no_memory)?;
        let mut secret_bytes = SECRET_BYTES;
        // SAFETY: the context has a private key, and `secret` and `ciphertext` have the lengths passed with them.
        let done = unsafe {
            EVP_PKEY_decapsulate(
                context.as_ptr(),
                secret.as_mut_ptr(),
                &mut secret_bytes,
                ciphertext.as_ptr(),
                ciphertext.len(),
            )
        };
        done_or(done == 1, no_memory)
    }
}

struct Key {
    set: MlKem,
    inner: Pkey,
}

impl Key {
    /// Wraps a key of this parameter set, if there is one.
    fn of(set: MlKem, inner: Option<Pkey>) -> Option<Self> {
        inner.map(|inner| Self { set, inner })
    }

    fn write_public(&self, output: &mut [u8]) -> Result<(), Error> {
        check_length(output.len(), self.set.public_key_bytes())?;
        done_or(self.inner.write_public(output), no_memory)
    }
}

fn check_length(given: usize, expected: usize) -> Result<(), Error> {
    if given == expected {
        return Ok(());
    }
    Err(Error::InvalidInput(format!(
        "ML-KEM: {given} bytes, but {expected} are needed"
    )))
}

fn done_or(done: bool, error: impl FnOnce() -> Error) -> Result<(), Error> {
    if done { Ok(()) } else { Err(error()) }
}

fn refused(what: &str) -> Error {
    clear_errors();
    Error::InvalidKey(what.into())
}

fn no_memory() -> Error {
    clear_errors();
    failed("ML-KEM: no memory")
}

#[cfg(test)]
mod tests;
