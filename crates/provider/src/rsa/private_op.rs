//! The private power of a number, here or by the default provider, and places for results.
#![allow(unsafe_code)]

use std::ffi::c_int;

use oarlock::Error;
use oarlock::rsa::{AcceleratedRsa, Power};
use oarlock_engine::costs::Computed;

use crate::provider::Provider;

/// Computes the private power of the number that `number` makes, which may be secret: by `by_default`, the default provider,
/// which does all of it, or here, where `finish` does the rest. Both return 1 if they have succeeded.
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

/// Where the result of an operation goes, as OpenSSL hands it over.
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

    /// # Safety
    /// There is room for as many bytes as `result` has, and a place for their number.
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
