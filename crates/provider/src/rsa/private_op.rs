//! The private operation on a number, by lanes or by the default provider, and buffers for results.
#![allow(unsafe_code)]

use std::ffi::c_int;

use oarlock::Error;
use oarlock::rsa::{AcceleratedRsa, Power};
use oarlock_engine::costs::Computed;

use crate::provider::Provider;

/// Computes the private operation on the number that `number` makes, which may be secret. Either the default provider
/// does all of it, by `by_default`, or the engine computes the power and `finish` does the rest. Both closures return 1
/// on success.
pub(super) fn compute(
    provider: &Provider,
    key: &AcceleratedRsa,
    is_secret: bool,
    number: impl Fn() -> Result<Vec<u8>, Error>,
    by_default: impl Fn() -> c_int,
    finish: impl FnOnce(&[u8]) -> c_int,
) -> c_int {
    match provider.signer.power(key, is_secret, number, by_default) {
        Power::Alone(is_done) => {
            if is_done == 1 {
                provider.count_private(Computed::Here);
            }
            is_done
        }
        Power::InLanes(power) => {
            provider.count_private(Computed::Here);
            finish(&power)
        }
    }
}

/// The buffer for an operation's result, as OpenSSL passes it.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) octets: *mut u8,
    pub(super) bytes: *mut usize,
    pub(super) room: usize,
}

impl Place {
    pub(super) fn has_room(self, bytes: usize) -> bool {
        !self.octets.is_null() && self.room >= bytes
    }

    /// Stores a result and its length.
    ///
    /// # Safety
    /// There is room for `result.len()` bytes, and a place for their number.
    pub(super) unsafe fn set(self, result: &[u8]) {
        // SAFETY: the caller has room for the result, and a place for its length.
        unsafe {
            result
                .as_ptr()
                .copy_to_nonoverlapping(self.octets, result.len());
            *self.bytes = result.len();
        }
    }
}
