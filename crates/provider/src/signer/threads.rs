//! Threads that let others go before they compute.
//!
//! A server with threads has each of them compute its private operation at once, so where all CPUs are busy hardly two
//! are under way at the same time. A thread that comes to one here can yield its CPU (sched_yield(2)) before it computes.
//! If others of the process wait for that CPU, they run until they come here too, and the fourth computes for all; if
//! nobody waits for it, the yield returns at once. But if it is another program that waits, the CPU is lost to it for
//! milliseconds. So whether to yield is tried, and what counts is how many operations there are in a second
//! ([`TwoWays`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use oarlock::job::{JobOptions, Start};
use oarlock::rsa::AcceleratedRsa;
use oarlock_engine::learn::TwoWays;
use oarlock_threads::process::is_sandboxed_by_now as is_sandboxed;
use zeroize::Zeroizing;

use super::batch::Company;

/// What the threads of a process share.
#[derive(Default)]
pub(super) struct Threads {
    company: Arc<Company>,
    ways: TwoWays,
    /// The thread of the last operation; 0 before the first.
    last: AtomicUsize,
    /// Whether operations have come from more than one. Else there is nothing to try.
    are_several: AtomicBool,
}

thread_local! {
    /// Its address tells threads apart.
    static HERE: u8 = const { 0 };
}

impl Threads {
    /// Whether the operation that begins is to meet those of other threads.
    pub(super) fn gather(&self) -> bool {
        let here = HERE.with(|here| std::ptr::from_ref(here).addr());
        if ![0, here].contains(&self.last.swap(here, Ordering::Relaxed)) {
            self.are_several.store(true, Ordering::Relaxed);
        }
        // A filter of system calls may kill who yields.
        self.ways.is_second() && !is_sandboxed()
    }

    /// An operation has ended that was begun after [`gather`](Self::gather).
    pub(super) fn ended(&self) {
        if self.are_several.load(Ordering::Relaxed) {
            self.ways.ended();
        }
    }

    /// The power of `number`, if it was computed together with others; else the caller is to compute it.
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
        // Computes it, and others that wait, unless another thread is at it.
        match request.try_wait() {
            Some(result) => result.ok(),
            None => request.wait().ok(),
        }
    }
}
