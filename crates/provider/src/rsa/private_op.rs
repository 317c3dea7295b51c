//! The private operation on a number, by lanes or by the default provider.

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
