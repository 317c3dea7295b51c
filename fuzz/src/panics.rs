//! Panics that are caught where they are: to find them, or to keep them quiet.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, Once, PoisonError};

/// How many panics there were in this thread since the first call.
pub(crate) fn count() -> usize {
    watch();
    COUNT.get()
}

/// Runs `work`, whose panics are its own business; libFuzzer would end at the first.
pub(crate) fn quietly<T>(work: impl FnOnce() -> T) -> T {
    watch();
    QUIET.set(true);
    let made = panic::catch_unwind(AssertUnwindSafe(work));
    QUIET.set(false);
    // One that nobody has caught is a fault.
    made.unwrap_or_else(|what| match what.downcast::<String>() {
        Ok(said) => panic!("{said}"),
        Err(what) => panic!("{:?}", what.downcast::<&str>()),
    })
}

/// Runs `work`, in which no panic may be caught either.
pub(crate) fn none_in<T>(work: impl FnOnce() -> T) -> T {
    let before = count();
    let done = work();
    assert_eq!(count(), before, "a panic that was caught");
    done
}

/// Runs `work`, which sets a hook of its own, and puts the one back that was there before.
pub(crate) fn keeping_hook<T>(work: impl FnOnce() -> T) -> T {
    watch();
    let _one_at_a_time = HOOK.lock().unwrap_or_else(PoisonError::into_inner);
    let hook = panic::take_hook();
    let done = work();
    panic::set_hook(hook);
    done
}

fn watch() {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        let _one_at_a_time = HOOK.lock().unwrap_or_else(PoisonError::into_inner);
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |what| {
            COUNT.set(COUNT.get() + 1);
            if !QUIET.get() {
                before(what);
            }
        }));
    });
}

/// Held by the thread that changes the hook.
static HOOK: Mutex<()> = Mutex::new(());

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
    static QUIET: Cell<bool> = const { Cell::new(false) };
}
