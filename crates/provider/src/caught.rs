//! Stops panics.

use oarlock_threads::caught::caught;

/// Runs `run` and returns its result, or `failed` if it panics: a panic must not reach C. No input can cause one.
#[inline(always)]
pub(crate) fn catching<T>(failed: T, run: impl FnOnce() -> T) -> T {
    caught(run).unwrap_or(failed)
}
