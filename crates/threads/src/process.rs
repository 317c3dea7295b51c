//! What only the C library and the kernel know about this process.
#![allow(unsafe_code)]

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Returns an environment variable; `None` in a program that the environment [must not steer](is_privileged).
pub fn environment(name: &str) -> Option<String> {
    if is_privileged() {
        return None;
    }
    std::env::var(name).ok()
}

/// Whether the program runs with more rights than its user (AT_SECURE: set-user-ID and the like), so that the environment
/// must not steer it.
pub fn is_privileged() -> bool {
    // SAFETY: getauxval has no precondition.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Returns how many forks lie between this process and the one that first called [`watch_forks`].
#[inline]
pub fn fork_generation() -> usize {
    FORKS.load(Ordering::Relaxed)
}

/// Whether this process is confined: it cannot open `/proc/self/status`. A confined process must start no thread and make no
/// system call that its host does not make as well. A filter of system calls may kill a process for a call that it does not
/// list. OpenSSH's (sandbox-seccomp-filter.c) refuses every open and lists neither clone3 nor sched_getaffinity nor mlock,
/// so callers ask this before any of them. `Seccomp: 2` in that file tells nothing, since every container has it.
///
/// Where no /proc is mounted, as in a chroot, the answer is the same. If no descriptor is left (EMFILE, ENFILE), the process
/// does not count as confined, and the next caller looks again. Otherwise a process looks only once.
#[inline]
pub fn is_sandboxed() -> bool {
    known_sandbox().unwrap_or_else(look_for_sandbox)
}

/// Like [`is_sandboxed`], for a process that may have confined itself since: looks again unless it was found confined.
pub fn is_sandboxed_by_now() -> bool {
    known_sandbox() == Some(true) || look_for_sandbox()
}

/// Returns what an earlier look found in this process, if there was one.
#[inline]
fn known_sandbox() -> Option<bool> {
    let found = SANDBOX.load(Ordering::Relaxed);
    (found >> 1 == fork_generation() + 1).then_some(found & 1 == 1)
}

#[cold]
fn look_for_sandbox() -> bool {
    let is_sandboxed = keeping_errno(|| {
        // SAFETY: the path ends with a null byte, and the descriptor is closed by the code that opened it. The calls go by
        // number, since the C library's functions are cancellation points, and no frame of Rust may be unwound by a
        // cancelled thread.
        unsafe {
            let descriptor = libc::syscall(
                libc::SYS_openat,
                libc::AT_FDCWD,
                c"/proc/self/status".as_ptr(),
                libc::O_RDONLY | libc::O_CLOEXEC,
            );
            if descriptor >= 0 {
                libc::syscall(libc::SYS_close, descriptor);
                return Some(false);
            }
            // errno is the calling thread's, set by the call that failed.
            match *libc::__errno_location() {
                libc::EMFILE | libc::ENFILE => None,
                _ => Some(true),
            }
        }
    });
    let Some(is_sandboxed) = is_sandboxed else {
        return false;
    };
    let found = (fork_generation() + 1) << 1 | usize::from(is_sandboxed);
    // If two threads look at once, the one that finds a sandbox wins.
    SANDBOX.fetch_max(found, Ordering::Relaxed);
    is_sandboxed
}

/// Runs `section` and restores errno: a host relies on its own value, and need not expect that a successful request has
/// changed it.
#[inline]
pub(crate) fn keeping_errno<T>(section: impl FnOnce() -> T) -> T {
    struct Kept(*mut libc::c_int, libc::c_int);
    impl Drop for Kept {
        fn drop(&mut self) {
            // SAFETY: the pointer was this thread's errno when it was taken, and `Kept` has not left the thread.
            unsafe { *self.0 = self.1 };
        }
    }
    // SAFETY: the C library returns the address of this thread's errno.
    let _kept = unsafe {
        let errno = libc::__errno_location();
        Kept(errno, *errno)
    };
    section()
}

/// Starts to count forks, and to keep them out of the sections of [`undivided`] and [`forks_wait_for`].
pub fn watch_forks() {
    extern "C" fn before() {
        SECTIONS.fetch_add(FORK, Ordering::Acquire);
        while !SECTIONS.load(Ordering::Acquire).is_multiple_of(LONG) {
            give_way();
        }
        let begun = Instant::now();
        while !SECTIONS.load(Ordering::Acquire).is_multiple_of(FORK)
            && begun.elapsed() < FORK_WAIT_MAX
        {
            give_way();
        }
    }
    extern "C" fn in_the_parent() {
        SECTIONS.fetch_sub(FORK, Ordering::Release);
    }
    extern "C" fn in_the_child() {
        // The child has none of the other threads that were forking.
        SECTIONS.store(0, Ordering::Release);
        FORKS.fetch_add(1, Ordering::Relaxed);
        PROCESS.store(std::process::id(), Ordering::Relaxed);
        // SAFETY: null, or what `note_children` was given, which is never freed.
        if let Some(youngest) = unsafe { YOUNGEST.load(Ordering::Acquire).as_ref() } {
            youngest.note();
        }
    }
    // Not a `Once`: a child could inherit it half done and wait for it forever. Registering the handlers twice is harmless.
    static IS_WATCHING: AtomicBool = AtomicBool::new(false);
    if !IS_WATCHING.load(Ordering::Acquire) {
        // SAFETY: the handlers only access atomics and, before the fork, yield, which is allowed around a fork. They stay
        // mapped: this code is never unloaded while registered (shared libraries built from it are linked -z nodelete). A
        // failure (out of memory) leaves forks uncounted.
        unsafe { libc::pthread_atfork(Some(before), Some(in_the_parent), Some(in_the_child)) };
        IS_WATCHING.store(true, Ordering::Release);
    }
}

/// Returns the process ID. It is read once, and again in each forked child during the fork, so a filter of system calls that
/// is installed later sees no call.
pub fn id() -> u32 {
    match PROCESS.load(Ordering::Relaxed) {
        0 => {
            let id = std::process::id();
            PROCESS.store(id, Ordering::Relaxed);
            id
        }
        id => id,
    }
}

/// The most recently forked child, in memory that others can see.
#[repr(C)]
pub struct Youngest {
    /// Its process ID, or 0 if none was forked.
    pub process: AtomicU64,
    /// The time since boot at which it was forked.
    pub began_ns: AtomicU64,
}

impl Youngest {
    fn note(&self) {
        self.began_ns.store(boot_time_ns(), Ordering::Relaxed);
        self.process.store(id().into(), Ordering::Release);
    }
}

/// Makes every child that is forked from now on record itself in `youngest`, which holds only the last one.
pub(crate) fn note_children(youngest: &'static Youngest) {
    watch_forks();
    YOUNGEST.store(ptr::from_ref(youngest).cast_mut(), Ordering::Release);
}

/// Whether no process has that ID. It uses only open(2), as [`is_sandboxed_by_now`] does, which must have returned false
/// just before: a filter may allow opening files and kill a process that calls kill(2). Where `/proc` hides processes of
/// other users (hidepid), those count as ended.
pub fn has_ended(process: u32) -> bool {
    let Ok(path) = std::ffi::CString::new(format!("/proc/{process}")) else {
        return false;
    };
    keeping_errno(|| {
        // SAFETY: the path ends with a null byte, and the descriptor is closed once, here. Calls go by number, as in
        // `look_for_sandbox`. errno is the calling thread's, set by the call that failed.
        unsafe {
            let flags = libc::O_PATH | libc::O_CLOEXEC;
            let descriptor = libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags);
            if descriptor >= 0 {
                libc::syscall(libc::SYS_close, descriptor);
            }
            descriptor < 0 && *libc::__errno_location() == libc::ENOENT
        }
    })
}

/// Returns the nanoseconds since the machine booted, including time asleep.
pub fn boot_time_ns() -> u64 {
    // SAFETY: the call fills the struct; it fails only on kernels without that clock, which leaves zero.
    unsafe {
        let mut time: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_BOOTTIME, &mut time);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }
}

/// Returns the effective user ID of the process.
pub fn user() -> u32 {
    // SAFETY: geteuid has no precondition.
    unsafe { libc::geteuid() }
}

/// Runs `section` so that no fork falls into it: a child never inherits a held lock, or half-changed data, from a thread
/// that it does not have. Sections must be short, must not nest, and must not call foreign code, which might fork.
#[inline]
pub fn undivided<T>(section: impl FnOnce() -> T) -> T {
    within(SHORT, section)
}

/// Runs `section`, which takes milliseconds, so that a fork comes before or after it. A fork waits at most 50 ms: a signal
/// handler in the middle of the section may have called it. While a fork waits, no thread enters a section of either kind.
/// For foreign code that takes its own locks and does not fork; it must call nothing that is [`undivided`].
#[inline]
pub fn forks_wait_for<T>(section: impl FnOnce() -> T) -> T {
    within(LONG, section)
}

#[inline]
fn within<T>(kind: u64, section: impl FnOnce() -> T) -> T {
    struct Inside {
        kind: u64,
        fork_generation: usize,
    }
    impl Drop for Inside {
        fn drop(&mut self) {
            // A child forked in the middle of it has begun counting from zero.
            if self.fork_generation == fork_generation() {
                SECTIONS.fetch_sub(self.kind, Ordering::Release);
            }
        }
    }
    #[cfg(debug_assertions)]
    let _nesting = Nesting::enter();
    let enter = |sections| (sections < FORK).then_some(sections + kind);
    while SECTIONS
        .fetch_update(Ordering::Acquire, Ordering::Relaxed, enter)
        .is_err()
    {
        give_way();
    }
    let _inside = Inside {
        kind,
        fork_generation: fork_generation(),
    };
    // Waiting for a lock sets errno.
    keeping_errno(section)
}

/// Yields the CPU, unless the process is confined by now: a filter may kill a process that yields.
fn give_way() {
    if is_sandboxed_by_now() {
        std::hint::spin_loop();
    } else {
        std::thread::yield_now();
    }
}

/// Records that the calling thread is in a section: a nested section would wait for a fork that waits for the outer one. A
/// child that was forked in the middle of one starts over.
#[cfg(debug_assertions)]
struct Nesting(usize);

#[cfg(debug_assertions)]
impl Nesting {
    fn enter() -> Self {
        let this_process = fork_generation() + 1;
        let before = SECTION_OF.replace(this_process);
        assert!(
            before != this_process || std::thread::panicking(),
            "a section that no fork may divide lies within another"
        );
        Self(before)
    }
}

#[cfg(debug_assertions)]
impl Drop for Nesting {
    fn drop(&mut self) {
        SECTION_OF.set(self.0);
    }
}

#[cfg(debug_assertions)]
thread_local! {
    /// The fork generation, plus one, in which the calling thread entered its section; 0 outside of sections. Without a
    /// `Drop`, which would register the thread with the standard library.
    static SECTION_OF: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Runs `start` with every signal blocked, so that a thread it creates never runs the host's signal handlers.
pub(crate) fn with_signals_blocked<T>(start: impl FnOnce() -> T) -> T {
    // SAFETY: both sets are filled before they are read; the calls change only this thread's mask, and it is restored. They
    // fail only if the first argument is wrong.
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

/// Returns the CPU time of the calling thread so far. This is a system call, which takes some 300 ns.
pub fn thread_time() -> Duration {
    // SAFETY: the call fills the struct; it fails only if an argument is wrong.
    let time = unsafe {
        let mut time: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time);
        time
    };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Returns how often the kernel has taken the CPU from the calling thread for another one.
pub(crate) fn preemptions() -> i64 {
    // SAFETY: the call fills the struct; it fails only if an argument is wrong.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
        usage.ru_nivcsw
    }
}

/// Fills `bytes` from the kernel's generator, for builds without that of aws-lc.
///
/// # Panics
/// If the kernel has none, or a filter of system calls forbids it: there is no other source.
pub fn fill_random(bytes: &mut [u8]) {
    let mut filled = 0;
    while filled < bytes.len() {
        let rest = &mut bytes[filled..];
        // SAFETY: `rest` has the length that is passed.
        let more = unsafe { libc::getrandom(rest.as_mut_ptr().cast(), rest.len(), 0) };
        match usize::try_from(more) {
            Ok(more) => filled += more,
            Err(_) => {
                let error = std::io::Error::last_os_error();
                let is_interrupted = error.kind() == std::io::ErrorKind::Interrupted;
                assert!(is_interrupted, "no random numbers: {error}");
            }
        }
    }
}

/// Returns the CPU that the calling thread is running on.
pub fn cpu() -> usize {
    // SAFETY: sched_getcpu has no precondition; it fails only on kernels without getcpu, and then returns a number that no
    // CPU has.
    unsafe { libc::sched_getcpu() as usize }
}

/// Moves the calling thread to the idle class: it runs only when no other thread wants its CPU. If that is not allowed,
/// nothing changes.
pub(crate) fn become_idle_class() {
    // SAFETY: the parameter is initialised; thread 0 is the calling one.
    unsafe {
        let parameter: libc::sched_param = std::mem::zeroed();
        libc::sched_setscheduler(0, libc::SCHED_IDLE, &parameter);
    }
}

/// A thread of this process, and the CPUs that it was allowed to run on when this was created.
pub(crate) struct Thread {
    id: libc::pthread_t,
    allowed: libc::cpu_set_t,
}

impl Thread {
    pub fn current() -> Self {
        // SAFETY: pthread_self has no precondition; the set is plain bits, filled by the call, and remains empty if that
        // fails.
        unsafe {
            let id = libc::pthread_self();
            let mut allowed = std::mem::zeroed();
            libc::pthread_getaffinity_np(id, CPU_SET_BYTES, &mut allowed);
            Self { id, allowed }
        }
    }

    /// Restricts the thread to `cpu`, if it was allowed to run there. If the call is not allowed, nothing changes.
    ///
    /// # Safety
    /// The thread has not ended.
    pub(crate) unsafe fn keep_to(&self, cpu: usize) {
        if cpu >= 8 * CPU_SET_BYTES {
            return;
        }
        // SAFETY: the caller guarantees that the thread exists; `cpu` is a bit of the sets, which are plain bits.
        unsafe {
            if libc::CPU_ISSET(cpu, &self.allowed) {
                let mut one: libc::cpu_set_t = std::mem::zeroed();
                libc::CPU_SET(cpu, &mut one);
                libc::pthread_setaffinity_np(self.id, CPU_SET_BYTES, &one);
            }
        }
    }

    /// Allows the thread all CPUs it had except `cpu`, or all of them if that leaves none or it did not have `cpu`. `before`
    /// is the CPU that the last call excluded: if somebody else, such as taskset(1), has changed the thread's CPUs since,
    /// that change is kept. If a call is not allowed, nothing changes.
    ///
    /// # Safety
    /// The thread has not ended.
    pub(crate) unsafe fn keep_off(&self, cpu: usize, before: usize) {
        let (others, expected) = (self.all_but(cpu), self.all_but(before));
        // SAFETY: the caller guarantees that the thread exists; the sets are plain bits, one of which is filled by the call.
        unsafe {
            let mut now: libc::cpu_set_t = std::mem::zeroed();
            let failed = libc::pthread_getaffinity_np(self.id, CPU_SET_BYTES, &mut now) != 0;
            if failed || libc::CPU_EQUAL(&now, &expected) || libc::CPU_EQUAL(&now, &self.allowed) {
                libc::pthread_setaffinity_np(self.id, CPU_SET_BYTES, &others);
            }
        }
    }

    /// Returns all CPUs it had except `cpu`, or all of them if no other is left.
    fn all_but(&self, cpu: usize) -> libc::cpu_set_t {
        let mut others = self.allowed;
        // SAFETY: `cpu` is a bit of the set, which is plain bits.
        unsafe {
            if cpu < 8 * CPU_SET_BYTES {
                libc::CPU_CLR(cpu, &mut others);
            }
            if libc::CPU_COUNT(&others) > 0 {
                others
            } else {
                self.allowed
            }
        }
    }
}

const CPU_SET_BYTES: usize = size_of::<libc::cpu_set_t>();

static FORKS: AtomicUsize = AtomicUsize::new(0);
/// See [`id`]; 0 before the first call.
static PROCESS: AtomicU32 = AtomicU32::new(0);
/// Where each child records itself.
static YOUNGEST: AtomicPtr<Youngest> = AtomicPtr::new(ptr::null_mut());
/// What the last look for a sandbox found: the fork generation plus one, and in the lowest bit whether there is one. 0
/// before the first look.
static SANDBOX: AtomicUsize = AtomicUsize::new(0);
/// [`SHORT`] for each thread in an [`undivided`] section, [`LONG`] for each in one that
/// [`forks_wait_for`], and [`FORK`] for each that is forking.
static SECTIONS: AtomicU64 = AtomicU64::new(0);
const SHORT: u64 = 1;
const LONG: u64 = 1 << 24;
const FORK: u64 = 1 << 48;
/// Several times as long as an operation takes that has to wait for a CPU.
const FORK_WAIT_MAX: Duration = Duration::from_millis(50);
