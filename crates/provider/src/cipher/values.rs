//! Values of parameters, and the errors where they do not fit.
#![allow(unsafe_code)]

use crate::error::Reason;

/// The outcome of setting a parameter that the caller asks for.
pub(super) fn set(is_set: bool) -> Result<(), Reason> {
    if is_set {
        Ok(())
    } else {
        Err(Reason::FailedToSetParameter)
    }
}

/// A parameter that the caller gives.
pub(super) fn got<T>(value: Option<T>) -> Result<T, Reason> {
    value.ok_or(Reason::FailedToGetParameter)
}

/// The octets as an array, if there are `N` of them.
pub(super) fn fixed<const N: usize>((octets, bytes): (*const u8, usize)) -> Option<[u8; N]> {
    if octets.is_null() || bytes != N {
        return None;
    }
    // SAFETY: the caller vouches for so many bytes, which have no alignment.
    Some(unsafe { octets.cast::<[u8; N]>().read() })
}
