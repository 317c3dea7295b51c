//! Threads that let others run before they compute.
//!
//! In a server, each thread would compute its private operation at once, so where all CPUs are busy, hardly two
//! operations overlap. Here, a thread can yield its CPU (sched_yield(2)) before it computes. If other threads of the
//! process wait for that CPU, they run until they get here too, and the fourth computes for all; if none waits, the
//! yield returns at once. But if another program waits, it takes the CPU for milliseconds. So yielding is tried, and
//! judged by the number of operations per second ([`TwoWays`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use oarlock::job::{JobOptions, Start};
use oarlock::rsa::AcceleratedRsa;
use oarlock_engine::learn::TwoWays;
use oarlock_threads::process::is_sandboxed_by_now as is_sandboxed;
use zeroize::Zeroizing;

use super::batch::Company;

/// The state that the threads of a process share.
#[derive(Default)]
pub(super) struct Threads {
    company: Arc<Company>,
    ways: TwoWays,
    /// The thread of the last operation; 0 before the first.
    last: AtomicUsize,
    /// Whether operations have come from more than one thread. If not, there is nothing to try.
    are_several: AtomicBool,
}

thread_local! {
    /// Its address identifies the thread.
    static HERE: u8 = const { 0 };
}

impl Threads {
    /// Whether the operation that starts should wait for those of other threads.
    pub(super) fn gather(&self) -> bool {
        let here = HERE.with(|here| std::ptr::from_ref(here).addr());
        if ![0, here].contains(&self.last.swap(here, Ordering::Relaxed)) {
            self.are_several.store(true, Ordering::Relaxed);
        }
        // A seccomp filter may kill a thread that yields.
        self.ways.is_second() && !is_sandboxed()
    }

    /// Records the end of an operation that started after [`gather`](Self::gather).
    pub(super) fn ended(&self) {
        if self.are_several.load(Ordering::Relaxed) {
            self.ways.ended();
        }
    }

    /// Returns the power of `number`, if it was computed together with others; otherwise the caller must compute it.
    pub(super) fn together(
        &self,
        key: &AcceleratedRsa,
        number: impl FnOnce() -> Option<Vec<u8>>,
    ) -> Option<Zeroizing<Vec<u8>>> {
        let _visit = self.company.join()?;
        let options = JobOptions {
            start: Start::WhenAsked,
            ..JobOptions::default()
        };
        let mut request = key.submit_raw_private(number()?, options).ok()?;
        let are_several = self.company.gather(|| {
            std::thread::yield_now();
            request.is_finished()
        });
        if !are_several && request.cancel() {
            return None;
        }
        // Computes this request, and others that wait, unless another thread is doing so.
        match request.try_wait() {
            Some(result) => result.ok(),
            None => request.wait().ok(),
        }
    }
}
