//! A program's buffers for ciphertexts and secrets, as OpenSSL passes them (provider-kem(7)).
#![allow(unsafe_code)]

use crate::error::Reason;

/// A buffer of the caller's and a place for its length. Either may be null.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) first: *mut u8,
    pub(crate) bytes: *mut usize,
}

impl Place {
    pub(crate) fn is_absent(self) -> bool {
        self.first.is_null()
    }

    pub(crate) fn has_no_length(self) -> bool {
        self.bytes.is_null()
    }

    /// Whether the length says that the buffer has room for `bytes` bytes.
    pub(crate) fn has_room(self, bytes: usize) -> bool {
        // SAFETY: the core's caller promises that a non-null pointer leads to a length.
        !self.bytes.is_null() && unsafe { *self.bytes } >= bytes
    }

    /// Stores the length, if there is a place for it.
    pub(crate) fn tell(self, bytes: usize) {
        if !self.bytes.is_null() {
            // SAFETY: the core's caller promises that a non-null pointer leads to a place for a length.
            unsafe { *self.bytes = bytes };
        }
    }

    /// Returns the buffer, which has room for `bytes` bytes according to its length, and stores the new length.
    pub(crate) fn take(self, bytes: usize) -> Result<*mut u8, Reason> {
        if self.bytes.is_null() {
            return Err(Reason::NullLengthPointer);
        }
        // SAFETY: the core's caller promises that the pointer, which is not null here, leads to a length.
        if unsafe { *self.bytes } < bytes {
            return Err(Reason::OutputBufferTooSmall);
        }
        self.tell(bytes);
        Ok(self.first)
    }
}
