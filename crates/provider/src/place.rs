//! Places of a program's for a ciphertext or a secret, as OpenSSL hands them over (provider-kem(7)).
#![allow(unsafe_code)]

use crate::error::Reason;

/// A place of the caller's with a place for its length. Either may be null.
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

    /// Whether the length says that there is room for so many bytes.
    pub(crate) fn has_room(self, bytes: usize) -> bool {
        // SAFETY: the core's caller vouches for a length that is not null.
        !self.bytes.is_null() && unsafe { *self.bytes } >= bytes
    }

    /// Tells the length, if there is a place for it.
    pub(crate) fn tell(self, bytes: usize) {
        if !self.bytes.is_null() {
            // SAFETY: the core's caller vouches for a place that is not null.
            unsafe { *self.bytes = bytes };
        }
    }

    /// The place, which has room for so many bytes, as the length says. The length is set again.
    pub(crate) fn take(self, bytes: usize) -> Result<*mut u8, Reason> {
        if self.bytes.is_null() {
            return Err(Reason::NullLengthPointer);
        }
        // SAFETY: the core's caller vouches for a place that is not null.
        if unsafe { *self.bytes } < bytes {
            return Err(Reason::OutputBufferTooSmall);
        }
        self.tell(bytes);
        Ok(self.first)
    }
}
