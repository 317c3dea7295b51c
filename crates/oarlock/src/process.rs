//! The few things about this process that only the C library knows.
#![allow(unsafe_code)]

use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Whether the program runs with more rights than its user (AT_SECURE: set-user-ID and the like),
/// so that the environment must not steer it.
pub(crate) fn is_privileged() -> bool {
    // SAFETY: getauxval has no precondition.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// How often this process has been made by fork since [`watch_forks`] was first called.
pub(crate) fn fork_generation() -> usize {
    FORKS.load(Ordering::Relaxed)
}

/// Begins to count forks.
pub(crate) fn watch_forks() {
    extern "C" fn in_the_child() {
        FORKS.fetch_add(1, Ordering::Relaxed);
    }
    static REGISTER: Once = Once::new();
    REGISTER.call_once(|| {
        // SAFETY: the handler only adds to an atomic, which is allowed between fork and exec. It
        // stays mapped: this code is never unloaded while registered (the shared libraries made of
        // it are linked -z nodelete). A failure (out of memory) leaves forks uncounted.
        unsafe { libc::pthread_atfork(None, None, Some(in_the_child)) };
    });
}

/// Runs `start` with every signal blocked, so that a thread it makes never runs the host's handlers.
pub(crate) fn with_signals_blocked<T>(start: impl FnOnce() -> T) -> T {
    // SAFETY: both sets are filled before they are read; the calls change this thread's mask alone,
    // and it is put back. They fail only on a wrong first argument.
    unsafe {
        let mut all = std::mem::zeroed();
        let mut before = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let result = start();
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        result
    }
}

/// How often the kernel has taken the CPU from the calling thread for another one.
pub(crate) fn preemptions() -> i64 {
    // SAFETY: the struct is filled by the call, which fails only on a wrong argument.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
        usage.ru_nivcsw
    }
}

/// The CPU that the calling thread runs on just now.
pub(crate) fn cpu() -> usize {
    // SAFETY: sched_getcpu has no precondition; it fails only on kernels without getcpu, and then
    // gives a number that no CPU has.
    unsafe { libc::sched_getcpu() as usize }
}

/// A thread of this process, and the CPUs it might run on when it was asked.
pub(crate) struct Thread {
    id: libc::pthread_t,
    allowed: libc::cpu_set_t,
}

impl Thread {
    pub(crate) fn current() -> Self {
        // SAFETY: pthread_self has no precondition; the set is plain bits, filled by the call, and
        // stays empty where that fails.
        unsafe {
            let id = libc::pthread_self();
            let mut allowed = std::mem::zeroed();
            libc::pthread_getaffinity_np(id, CPU_SET_BYTES, &mut allowed);
            Self { id, allowed }
        }
    }

    /// Lets it run on all CPUs it had but `cpu`, unless that leaves none. Where the call is not
    /// allowed nothing changes.
    ///
    /// # Safety
    /// The thread has not ended.
    pub(crate) unsafe fn keep_off(&self, cpu: usize) {
        if cpu >= 8 * CPU_SET_BYTES {
            return;
        }
        let mut others = self.allowed;
        // SAFETY: the thread is there, as the caller vouches, and `cpu` is a bit of the set.
        unsafe {
            libc::CPU_CLR(cpu, &mut others);
            if libc::CPU_COUNT(&others) > 0 {
                libc::pthread_setaffinity_np(self.id, CPU_SET_BYTES, &others);
            }
        }
    }
}

const CPU_SET_BYTES: usize = size_of::<libc::cpu_set_t>();

static FORKS: AtomicUsize = AtomicUsize::new(0);
