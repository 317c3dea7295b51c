//! Conversions of parameter values, and the errors of those that do not fit.
#![allow(unsafe_code)]

use crate::error::Reason;

/// Returns the outcome of setting a parameter that the caller asks for.
pub(super) fn set(is_set: bool) -> Result<(), Reason> {
    if is_set {
        Ok(())
    } else {
        Err(Reason::FailedToSetParameter)
    }
}

/// Returns the value of a parameter that the caller passes, or the error if it has none.
pub(super) fn got<T>(value: Option<T>) -> Result<T, Reason> {
    value.ok_or(Reason::FailedToGetParameter)
}

/// Copies the octets to an array, or returns `None` unless there are `N` of them.
pub(super) fn fixed<const N: usize>((octets, bytes): (*const u8, usize)) -> Option<[u8; N]> {
    if octets.is_null() || bytes != N {
        return None;
    }
    // SAFETY: the pointer is not null, and the caller vouches for `N` bytes there, which need no alignment.
    Some(unsafe { octets.cast::<[u8; N]>().read() })
}
