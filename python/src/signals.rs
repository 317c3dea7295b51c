//! Python's signals during calls that wait or compute for long without the GIL: Ctrl-C ends them.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// The time between two looks at signals.
const EVERY: Duration = Duration::from_millis(50);
/// Rows between two questions: well below a millisecond.
const ASKED_ROWS: usize = 1 << 14;

thread_local! {
    /// The exception that a signal handler raised while this thread's call asked [`go_on`].
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
    static LOOKED: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Runs `work` without the GIL. It is to ask [`go_on`] from time to time, on this thread, and to end when that is false. A handler
/// may have forked then, so the question belongs where no other thread helps.
///
/// # Errors
/// The exception of a signal handler, whatever `work` returns then.
pub fn interruptible<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    let done = py.detach(work);
    match RAISED.take() {
        Some(raised) => Err(raised),
        None => Ok(done),
    }
}

/// Returns the numbers of rows, and ends early if the call is not to go on.
pub fn rows(count: usize) -> impl Iterator<Item = usize> {
    (0..count).take_while(|row| !row.is_multiple_of(ASKED_ROWS) || go_on())
}

/// Whether the thread's call is to go on: no signal handler has raised an exception. It may be asked often.
pub fn go_on() -> bool {
    let now = Instant::now();
    if LOOKED
        .get()
        .is_some_and(|looked| now.duration_since(looked) < EVERY)
    {
        return true;
    }
    LOOKED.set(Some(now));
    match Python::try_attach(|py| py.check_signals()) {
        Some(Ok(())) => true,
        Some(Err(raised)) => {
            RAISED.set(Some(raised));
            false
        }
        // The interpreter ends.
        None => false,
    }
}
