//! Keys in aws-lc's common object, EVP_PKEY: those of ML-KEM and ML-DSA.
//!
//! After a key is made nothing changes it but its count of references, and aws-lc wipes it when it frees it.

use std::ptr::{self, NonNull};

use aws_lc_sys::{
    ERR_clear_error, EVP_PKEY, EVP_PKEY_CTX, EVP_PKEY_CTX_free, EVP_PKEY_CTX_new,
    EVP_PKEY_CTX_new_id, EVP_PKEY_free, EVP_PKEY_get_private_seed, EVP_PKEY_get_raw_private_key,
    EVP_PKEY_get_raw_public_key,
};
use zeroize::Zeroizing;

/// A key, or the public half of one.
pub(super) struct Pkey(NonNull<EVP_PKEY>);

// SAFETY: memory that belongs to no thread, with an atomic count of references.
unsafe impl Send for Pkey {}
// SAFETY: after it is made nothing changes it but the count of references, which is atomic.
unsafe impl Sync for Pkey {}

impl Pkey {
    /// Takes over a reference that a function of aws-lc has returned, if it is one.
    ///
    /// # Safety
    /// `key` is NULL or a reference to a key that nobody else frees.
    pub(super) unsafe fn taken(key: *mut EVP_PKEY) -> Option<Self> {
        NonNull::new(key).map(Self)
    }

    pub(super) fn as_ptr(&self) -> *mut EVP_PKEY {
        self.0.as_ptr()
    }

    /// Writes the public key to `output`, and returns whether it has that length.
    pub(super) fn write_public(&self, output: &mut [u8]) -> bool {
        self.write(EVP_PKEY_get_raw_public_key, output)
    }

    /// Writes the expanded private key to `output`, and returns whether there is one and has that length.
    pub(super) fn write_private(&self, output: &mut [u8]) -> bool {
        self.write(EVP_PKEY_get_raw_private_key, output)
    }

    /// Returns the seed of the private key, if that is known.
    pub(super) fn seed<const BYTES: usize>(&self) -> Option<Zeroizing<[u8; BYTES]>> {
        let mut seed = Zeroizing::new([0; BYTES]);
        self.write(EVP_PKEY_get_private_seed, &mut *seed)
            .then_some(seed)
    }

    fn write(&self, get: Get, output: &mut [u8]) -> bool {
        let mut bytes = output.len();
        // SAFETY: a key, and a place of the length that is said, which `get` does not exceed.
        let done = unsafe { get(self.as_ptr(), output.as_mut_ptr(), &mut bytes) };
        if done != 1 {
            clear_errors();
        }
        done == 1 && bytes == output.len()
    }
}

impl Drop for Pkey {
    fn drop(&mut self) {
        // SAFETY: this reference is freed here alone.
        unsafe { EVP_PKEY_free(self.0.as_ptr()) };
    }
}

/// A function that copies a part of a key out of it.
type Get = unsafe extern "C" fn(*const EVP_PKEY, *mut u8, *mut usize) -> i32;

/// An operation of aws-lc's.
pub(super) struct Context(NonNull<EVP_PKEY_CTX>);

impl Context {
    /// With a reference to the key.
    pub(super) fn of(key: &Pkey) -> Option<Self> {
        // SAFETY: a key, of which it keeps a reference.
        NonNull::new(unsafe { EVP_PKEY_CTX_new(key.as_ptr(), ptr::null_mut()) }).map(Self)
    }

    /// For a key that is yet to be made.
    pub(super) fn for_kind(kind: i32) -> Option<Self> {
        // SAFETY: it makes a context of a number.
        NonNull::new(unsafe { EVP_PKEY_CTX_new_id(kind, ptr::null_mut()) }).map(Self)
    }

    pub(super) fn as_ptr(&self) -> *mut EVP_PKEY_CTX {
        self.0.as_ptr()
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: made by EVP_PKEY_CTX_new or EVP_PKEY_CTX_new_id, and freed here alone.
        unsafe { EVP_PKEY_CTX_free(self.0.as_ptr()) };
    }
}

/// Empties this thread's queue of errors, which nobody reads.
pub(super) fn clear_errors() {
    // SAFETY: it changes this thread's queue alone.
    unsafe { ERR_clear_error() };
}
