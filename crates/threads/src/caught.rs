//! Stops panics.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `run` and returns its result, or `None` if it panics. What `run` was changing stays as the panic left it.
#[inline]
pub fn caught<T>(run: impl FnOnce() -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(done) => Some(done),
        Err(panic) => {
            // Not dropped: a payload is any value, and its drop may panic in turn.
            mem::forget(panic);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::panic_any;

    use super::*;

    struct PanicsAgain;

    impl Drop for PanicsAgain {
        fn drop(&mut self) {
            panic!("a second one");
        }
    }

    #[test]
    fn a_payload_that_panics_is_stopped_too() {
        assert_eq!(caught(|| 7), Some(7));
        assert_eq!(caught(|| -> u8 { panic_any(PanicsAgain) }), None);
    }
}
