//! Keys in aws-lc's generic object, EVP_PKEY: those of ML-KEM and ML-DSA.
//!
//! After construction, only the reference count of a key changes. aws-lc wipes the key when it frees it.

use std::ptr::{self, NonNull};

use aws_lc_sys::{
    ERR_clear_error, EVP_PKEY, EVP_PKEY_CTX, EVP_PKEY_CTX_free, EVP_PKEY_CTX_new,
    EVP_PKEY_CTX_new_id, EVP_PKEY_free, EVP_PKEY_get_private_seed, EVP_PKEY_get_raw_private_key,
    EVP_PKEY_get_raw_public_key,
};
use zeroize::Zeroizing;

/// A key, or only its public half.
pub(super) struct Pkey(NonNull<EVP_PKEY>);

// SAFETY: no thread owns this memory, and its reference count is atomic.
unsafe impl Send for Pkey {}
// SAFETY: after construction only the reference count changes, and it is atomic.
unsafe impl Sync for Pkey {}

impl Pkey {
    /// Takes ownership of a reference returned by an aws-lc function, unless it is NULL.
    ///
    /// # Safety
    /// `key` is NULL or a reference to a key that nothing else frees.
    pub(super) unsafe fn taken(key: *mut EVP_PKEY) -> Option<Self> {
        NonNull::new(key).map(Self)
    }

    pub(super) fn as_ptr(&self) -> *mut EVP_PKEY {
        self.0.as_ptr()
    }

    /// Writes the public key to `output`, and returns whether it has exactly that length.
    pub(super) fn write_public(&self, output: &mut [u8]) -> bool {
        self.write(EVP_PKEY_get_raw_public_key, output)
    }

    /// Writes the expanded private key to `output`, and returns whether there is one of exactly that length.
    pub(super) fn write_private(&self, output: &mut [u8]) -> bool {
        self.write(EVP_PKEY_get_raw_private_key, output)
    }

    /// Returns the seed of the private key, if it is known.
    pub(super) fn seed<const BYTES: usize>(&self) -> Option<Zeroizing<[u8; BYTES]>> {
        let mut seed = Zeroizing::new([0; BYTES]);
        self.write(EVP_PKEY_get_private_seed, &mut *seed)
            .then_some(seed)
    }

    fn write(&self, get: Get, output: &mut [u8]) -> bool {
        let mut bytes = output.len();
        // SAFETY: the key is valid, and `output` is passed with its length, which `get` does not exceed.
        let done = unsafe { get(self.as_ptr(), output.as_mut_ptr(), &mut bytes) };
        if done != 1 {
            clear_errors();
        }
        done == 1 && bytes == output.len()
    }
}

impl Drop for Pkey {
    fn drop(&mut self) {
        // SAFETY: this drop releases the only reference that the value owns.
        unsafe { EVP_PKEY_free(self.0.as_ptr()) };
    }
}

/// A function that copies a part of a key.
type Get = unsafe extern "C" fn(*const EVP_PKEY, *mut u8, *mut usize) -> i32;

/// The state of an aws-lc operation.
pub(super) struct Context(NonNull<EVP_PKEY_CTX>);

impl Context {
    /// Creates a context that keeps a reference to the key.
    pub(super) fn of(key: &Pkey) -> Option<Self> {
        // SAFETY: the key is valid, and the context keeps a reference to it.
        NonNull::new(unsafe { EVP_PKEY_CTX_new(key.as_ptr(), ptr::null_mut()) }).map(Self)
    }

    /// Creates a context for a key that does not exist yet.
    pub(super) fn for_kind(kind: i32) -> Option<Self> {
        // SAFETY: the argument is a number, and the engine may be null.
        NonNull::new(unsafe { EVP_PKEY_CTX_new_id(kind, ptr::null_mut()) }).map(Self)
    }

    pub(super) fn as_ptr(&self) -> *mut EVP_PKEY_CTX {
        self.0.as_ptr()
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: EVP_PKEY_CTX_new or EVP_PKEY_CTX_new_id made it, and only this drop frees it.
        unsafe { EVP_PKEY_CTX_free(self.0.as_ptr()) };
    }
}

/// Empties this thread's error queue, which no code reads.
pub(super) fn clear_errors() {
    // SAFETY: this changes only the calling thread's queue.
    unsafe { ERR_clear_error() };
}
