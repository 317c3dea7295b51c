//! Counts the CPUs and the callers that are busy on them.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use oarlock_threads::process;

/// Returns the number of CPUs that this process may use, by affinity and cgroup quota. It is read once, when first
/// needed. In a sandbox the answer is 1 and nothing is read, since reading could kill the process.
pub(crate) fn cpus() -> usize {
    static CPUS: OnceLock<usize> = OnceLock::new();
    if process::is_sandboxed() {
        return 1;
    }
    if let Some(cpus) = CPUS.get() {
        return *cpus;
    }
    // The first sandbox check may be long past: live figures make it when the library is loaded.
    if process::is_sandboxed_by_now() {
        return 1;
    }
    let read = || std::thread::available_parallelism().map_or(1, usize::from);
    process::undivided(|| *CPUS.get_or_init(read))
}

/// Returns how many callers may compute public-key requests at once: each needs a CPU. In a sandbox the number of CPUs
/// is unknown, and no caller is made to wait for another.
#[cfg(feature = "rsa")]
pub(super) fn callers_max() -> usize {
    if process::is_sandboxed() {
        usize::MAX
    } else {
        cpus()
    }
}

/// Callers with a long request under way; each has a core. The low half is the count, the high half the fork generation
/// that it belongs to. A child counts from zero, since its parent's callers never finish there.
#[derive(Default)]
pub(super) struct Callers(AtomicU64);

impl Callers {
    pub(super) fn count(&self) -> usize {
        let callers = self.0.load(Ordering::Relaxed);
        if callers >> 32 == generation() {
            callers as u32 as usize
        } else {
            0
        }
    }

    pub(super) fn enter(&self) -> Busy<'_> {
        let generation = generation();
        let _ = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |callers| {
                let is_ours = callers >> 32 == generation;
                Some(if is_ours { callers } else { generation << 32 } + 1)
            });
        Busy {
            callers: self,
            generation,
        }
    }
}

/// Returns the fork generation of this process, as far as [`Callers`] keeps it.
fn generation() -> u64 {
    (process::fork_generation() as u32).into()
}

/// A caller with a long request under way.
pub(crate) struct Busy<'a> {
    callers: &'a Callers,
    generation: u64,
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        let _ = self
            .callers
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |callers| {
                (callers >> 32 == self.generation).then(|| callers - 1)
            });
    }
}
