//! Where panics end.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// A panic must not reach C. No input can cause one; if one happens all the same, the call fails.
#[inline(always)]
pub(crate) fn catching<T>(failed: T, run: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or(failed)
}
