//! Processes that may create no thread, or fewer than requested: long requests still succeed on their caller, and leave
//! errno unchanged.
#![allow(unsafe_code)]

use std::fs::{self, File};
use std::io;
use std::os::fd::IntoRawFd;

use aead::{AeadInOut, KeyInit};
use cipher::{BlockModeEncrypt, KeyIvInit, StreamCipher};
use oarlock::Algorithm;
use oarlock::{Accelerator, Builder, PrefetchWorker, Strategy};
use oarlock_testing::{alone, has_cpus, is_root};

use crate::child::{end_of, fork, leave};
use crate::common::reference;

const KEY: [u8; 16] = *b"sixteen secret b";
const IV: [u8; 16] = [0x35; 16];
const NONCE: [u8; 12] = [0x53; 12];
/// A length that no CPU computes inline by choice, and no multiple of a stripe.
const BYTES: usize = 3_000_016;
/// An errno that no error has.
const HOSTS_ERRNO: i32 = 4242;

/// Makes the process refuse threads. Called in a child with one thread.
type Confine = fn() -> Result<(), String>;

#[test]
fn a_filter_that_kills_sees_no_call_that_is_not_on_its_list() {
    if alone(&[]) {
        return;
    }
    no_thread_but_right(filter::enter);
}

/// Proves that the filter kills; otherwise the test above would prove nothing.
#[test]
fn the_filter_of_these_tests_kills() {
    if alone(&[]) {
        return;
    }
    let status = in_child(|| {
        filter::enter()?;
        std::thread::available_parallelism().map_err(|error| error.to_string())?;
        Ok(())
    });
    assert!(libc::WIFSIGNALED(status), "{status:x}");
    assert_eq!(libc::WTERMSIG(status), libc::SIGSYS);
    let status = in_child(|| {
        filter::enter()?;
        match fs::read("/proc/self/status") {
            Err(error) if error.raw_os_error() == Some(libc::EACCES) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    });
    assert_eq!(status, 0);
}

/// Proves that threads are created without confinement; otherwise none of these tests would prove anything.
#[test]
fn without_confinement_threads_are_made() {
    if alone(&[]) || !has_cpus() {
        return;
    }
    let expected = Expected::new();
    let status = in_child(|| {
        let threads = requests(&accelerators(|builder| builder)?, &expected, task_count)?;
        if threads > 1 {
            Ok(())
        } else {
            Err("nobody made a thread".into())
        }
    });
    assert_eq!(status, 0);
}

#[test]
fn a_process_that_goes_into_a_sandbox_later_makes_no_more_threads() {
    if alone(&[]) || !has_cpus() {
        return;
    }
    let expected = Expected::new();
    let status = in_child(|| {
        // Creates threads, which end with the accelerators.
        requests(&accelerators(|builder| builder)?, &expected, task_count)?;
        let accelerators = accelerators(|builder| builder)?;
        filter::enter()?;
        requests(&accelerators, &expected, || 0)?;
        nobody_has_threads(&accelerators)
    });
    assert_eq!(status, 0);
}

#[test]
fn without_proc_there_is_no_thread() {
    if alone(&[]) || !is_root("confining a process so") {
        return;
    }
    no_thread_but_right(|| {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        std::os::unix::fs::chroot(folder.path()).map_err(|error| error.to_string())?;
        std::env::set_current_dir("/").map_err(|error| error.to_string())
    });
}

#[test]
fn where_no_process_may_be_made_there_is_no_thread() {
    if alone(&[]) || !is_root("confining a process so") {
        return;
    }
    no_thread_but_right(|| with_so_many_tasks(1));
}

#[test]
fn threads_that_can_be_made_do_with_those_that_cannot() {
    if alone(&[]) || !is_root("confining a process so") {
        return;
    }
    let expected = Expected::new();
    let status = in_child(|| {
        with_so_many_tasks(3)?;
        set_errno(HOSTS_ERRNO);
        let accelerator = Accelerator::builder()
            .min_threads(4)
            .max_threads(4)
            .cipher_threads(4)
            .strategy(Strategy::Stripe)
            .build()
            .map_err(|error| error.to_string())?;
        let errno = errno();
        let (counted, made) = (accelerator.threads(), task_count() - 1);
        if (counted, made, errno) != (2, 2, HOSTS_ERRNO) {
            return Err(format!(
                "{counted} threads, in truth {made}, errno is {errno}"
            ));
        }
        requests(&[accelerator], &expected, task_count)?;
        Ok(())
    });
    assert_eq!(status, 0);
}

#[test]
fn where_memory_is_short_of_a_stack_there_is_no_thread() {
    if alone(&[]) || !has_cpus() {
        return;
    }
    let mut expected = reference(&KEY, &IV, BYTES);
    let status = in_child(|| {
        // All memory is allocated before the limit applies.
        let accelerator = Accelerator::builder()
            .max_threads(2)
            .strategy(Strategy::Stripe)
            .build()
            .map_err(|error| error.to_string())?;
        let mut cipher = accelerator
            .ctr(&KEY, &IV)
            .map_err(|error| error.to_string())?;
        // Small blocks that the pool will need, freed to the allocator but not to the kernel.
        drop(vec![1u8; 100 << 10]);
        let pages = fs::read_to_string("/proc/self/statm").unwrap();
        let pages: u64 = pages.split(' ').next().unwrap().parse().unwrap();
        limit(libc::RLIMIT_AS, pages * 4096 + (64 << 10))?;
        keeps_errno("a request with no memory for a stack", || {
            cipher.apply_keystream(&mut expected);
        })?;
        if expected.iter().any(|byte| *byte != 0) {
            return Err("wrong keystream".into());
        }
        let without = (accelerator.threads(), task_count());
        // The memory limit was the only reason for the refusal.
        limit(libc::RLIMIT_AS, libc::RLIM_INFINITY)?;
        let accelerator = Accelerator::builder()
            .max_threads(2)
            .strategy(Strategy::Stripe)
            .build()
            .map_err(|error| error.to_string())?;
        accelerator
            .ctr(&KEY, &IV)
            .map_err(|error| error.to_string())?
            .apply_keystream(&mut expected);
        let with = accelerator.threads();
        if without == (0, 1) && with > 0 {
            Ok(())
        } else {
            Err(format!("threads without: {without:?}, with: {with}"))
        }
    });
    assert_eq!(status, 0);
}

/// Checks that long requests of every kind are right in a confined child, with accelerators built before and after, and that
/// no thread is created.
fn no_thread_but_right(confine: Confine) {
    let expected = Expected::new();
    let status = in_child(|| {
        let before = accelerators(|builder| builder)?;
        // Never closed: the standard library checks a file's state before closing it, which the filter kills for.
        let tasks = File::open("/proc/self/task").map_err(|error| error.to_string())?;
        let tasks = tasks.into_raw_fd();
        confine()?;
        requests(&before, &expected, || 0)?;
        let after = accelerators(|builder| builder)?;
        requests(&after, &expected, || 0)?;
        // Not even the threads of `min_threads` are created.
        let eager = accelerators(|builder| builder.min_threads(2))?;
        requests(&eager, &expected, || 0)?;
        nobody_has_threads(&before)?;
        nobody_has_threads(&after)?;
        nobody_has_threads(&eager)?;
        // Where `fstat` is allowed, the link count of /proc/self/task counts threads: 2 plus one for each.
        // SAFETY: `stat` consists of integers, for which all zeros are valid.
        let mut status: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: the descriptor is open, and `status` has room for the result.
        match unsafe { libc::fstat(tasks, &mut status) } {
            0 if status.st_nlink != 3 => Err(format!("{} threads", status.st_nlink - 2)),
            _ => Ok(()),
        }
    });
    assert_eq!(status, 0);
}

fn nobody_has_threads(accelerators: &[Accelerator]) -> Result<(), String> {
    match accelerators.iter().map(Accelerator::threads).sum() {
        0 => Ok(()),
        threads => Err(format!("{threads} threads")),
    }
}

/// Returns an accelerator for every strategy of long requests.
fn accelerators(more: fn(Builder) -> Builder) -> Result<Vec<Accelerator>, String> {
    [
        (Strategy::Auto, PrefetchWorker::Pool),
        (Strategy::Auto, PrefetchWorker::Idle),
        (Strategy::Stripe, PrefetchWorker::Pool),
        (Strategy::Prefetch, PrefetchWorker::Pool),
        (Strategy::Prefetch, PrefetchWorker::Idle),
    ]
    .map(|(strategy, worker)| {
        let builder = Accelerator::builder()
            .strategy(strategy)
            .prefetch_worker(worker);
        more(builder).build().map_err(|error| error.to_string())
    })
    .into_iter()
    .collect()
}

/// RustCrypto's output for zeros.
struct Expected {
    ctr: Vec<u8>,
    gcm: Vec<u8>,
    gcm_tag: [u8; 16],
    cbc: Vec<u8>,
    #[cfg(feature = "rsa")]
    rsa: (oarlock::rsa::RsaPrivateKey, Vec<u8>),
}

impl Expected {
    fn new() -> Self {
        let mut gcm = vec![0; BYTES];
        let gcm_tag = aes_gcm::Aes128Gcm::new(&KEY.into())
            .encrypt_inout_detached(&NONCE.into(), b"", (&mut gcm[..]).into())
            .unwrap();
        let mut cbc = vec![0; BYTES];
        let (blocks, _) = cipher::array::Array::slice_as_chunks_mut(&mut cbc);
        cbc::Encryptor::<aes::Aes128>::new(&KEY.into(), &IV.into()).encrypt_blocks(blocks);
        Self {
            ctr: reference(&KEY, &IV, BYTES),
            gcm,
            gcm_tag: gcm_tag.into(),
            cbc,
            #[cfg(feature = "rsa")]
            rsa: rsa::key_and_signature(),
        }
    }
}

/// Runs every kind of request on each accelerator several times. Returns the highest `count` in between.
fn requests(
    accelerators: &[Accelerator],
    expected: &Expected,
    count: fn() -> usize,
) -> Result<usize, String> {
    let mut threads = 0;
    for accelerator in accelerators {
        let what = format!("{:?}", accelerator.options());
        for _ in 0..3 {
            one_of_each(accelerator, expected).map_err(|error| format!("{error}: {what}"))?;
            threads = threads.max(count());
        }
        #[cfg(feature = "rsa")]
        rsa::sign(accelerator, &expected.rsa).map_err(|error| format!("{error}: {what}"))?;
    }
    Ok(threads)
}

fn one_of_each(accelerator: &Accelerator, expected: &Expected) -> Result<(), String> {
    let is = |right: bool, what: &str| right.then_some(()).ok_or(format!("{what} is wrong"));
    let mut data = vec![0; BYTES];

    let mut ctr = keeps_errno("setting a key", || accelerator.ctr(&KEY, &IV))?
        .map_err(|error| error.to_string())?;
    for piece in data.chunks_mut(400_000) {
        keeps_errno("CTR", || ctr.apply_keystream(piece))?;
    }
    is(data == expected.ctr, "CTR")?;
    keeps_errno("dropping a cipher", || drop(ctr))?;

    data.fill(0);
    let gcm = accelerator
        .aead(Algorithm::Aes128Gcm, &KEY)
        .map_err(|error| error.to_string())?;
    let tag = keeps_errno("sealing", || gcm.seal(&NONCE, b"", (&mut data[..]).into()))?
        .map_err(|error| error.to_string())?;
    is(
        data == expected.gcm && tag == expected.gcm_tag,
        "what was sealed",
    )?;
    keeps_errno("opening", || {
        gcm.open(&NONCE, b"", (&mut data[..]).into(), &tag)
    })?
    .map_err(|error| error.to_string())?;
    is(data.iter().all(|byte| *byte == 0), "what was opened")?;

    let mut cbc = accelerator
        .cbc(&KEY, &IV)
        .map_err(|error| error.to_string())?;
    data.copy_from_slice(&expected.cbc);
    keeps_errno("CBC", || cbc.decrypt((&mut data[..]).into()))?
        .map_err(|error| error.to_string())?;
    is(data.iter().all(|byte| *byte == 0), "CBC")?;

    let done = std::sync::atomic::AtomicUsize::new(0);
    keeps_errno("working together", || {
        accelerator.work_together(2, &|| {
            done.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        });
    })?;
    is(done.into_inner() > 0, "work together")
}

#[cfg(feature = "rsa")]
mod rsa {
    use oarlock::Accelerator;
    use oarlock::rsa::{Hash, RsaPrivateKey, SignatureScheme};

    const SCHEME: SignatureScheme = SignatureScheme::Pkcs1(Hash::Sha256);

    pub fn key_and_signature() -> (RsaPrivateKey, Vec<u8>) {
        let key = RsaPrivateKey::from_pem(crate::common::keys::RSA2048).unwrap();
        let accelerator = Accelerator::builder().max_threads(0).build().unwrap();
        let signature = accelerator.rsa(&key).sign(SCHEME, b"message").unwrap();
        (key, signature)
    }

    /// Signs one message alone, and enough at once to fill the lanes.
    pub fn sign(
        accelerator: &Accelerator,
        (key, signature): &(RsaPrivateKey, Vec<u8>),
    ) -> Result<(), String> {
        let rsa = accelerator.rsa(key);
        let mut signed = vec![super::keeps_errno("signing", || {
            rsa.sign(SCHEME, b"message")
        })?];
        let submitted: Vec<_> = (0..16)
            .map(|_| rsa.submit_sign(SCHEME, b"message".to_vec(), Default::default()))
            .collect();
        for job in submitted {
            let job = job.map_err(|error| error.to_string())?;
            signed.push(super::keeps_errno("waiting for a job", || job.wait())?);
        }
        let is_right = signed.iter().all(|signed| signed.as_ref() == Ok(signature));
        is_right.then_some(()).ok_or(format!("{signed:?}"))
    }
}

/// Runs `run` in a forked child with one thread. Returns the child's status; 0 for success.
fn in_child(run: impl FnOnce() -> Result<(), String>) -> i32 {
    // SAFETY: the child uses this library, as is being tested, and leaves.
    let child = unsafe { fork() };
    if child == 0 {
        let result = run();
        if let Err(error) = &result {
            let said = format!("{error}\n");
            // SAFETY: `said` holds `said.len()` bytes. The standard library's locks may be held, so it is not used.
            unsafe { libc::write(2, said.as_ptr().cast(), said.len()) };
        }
        leave(result.is_err().into());
    }
    end_of(child)
}

/// Limits the user, who had no process before, to `count` threads and processes.
fn with_so_many_tasks(count: u64) -> Result<(), String> {
    limit(libc::RLIMIT_NPROC, count)?;
    // A limit on processes does not bind root.
    let user = 1_000_000 + std::process::id();
    // SAFETY: no precondition.
    match unsafe { libc::setuid(user) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error().to_string()),
    }
}

/// Sets the soft limit, which may be raised again.
fn limit(resource: libc::__rlimit_resource_t, value: u64) -> Result<(), String> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the first call fills the limit, whose upper bound is kept.
    let is_set = unsafe {
        libc::getrlimit(resource, &mut limit) == 0 && {
            limit.rlim_cur = value.min(limit.rlim_max);
            libc::setrlimit(resource, &limit) == 0
        }
    };
    if is_set {
        Ok(())
    } else {
        Err(io::Error::last_os_error().to_string())
    }
}

fn keeps_errno<T>(what: &str, run: impl FnOnce() -> T) -> Result<T, String> {
    set_errno(HOSTS_ERRNO);
    let result = run();
    match errno() {
        HOSTS_ERRNO => Ok(result),
        errno => Err(format!("{what} sets errno to {errno}")),
    }
}

fn errno() -> i32 {
    // SAFETY: the C library returns the address of this thread's errno.
    unsafe { *libc::__errno_location() }
}

fn set_errno(value: i32) {
    // SAFETY: the address is this thread's errno, an integer that may be written.
    unsafe { *libc::__errno_location() = value };
}

/// Returns the number of threads of this process; 0 if the kernel shows none.
fn task_count() -> usize {
    fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
}

/// A seccomp filter modelled on the one for OpenSSH's processes before authentication. Source: openssh-portable,
/// sandbox-seccomp-filter.c, `preauth_insns`.
pub mod filter {
    use std::io;

    use libc::{c_long, sock_filter};

    /// System calls that fail with EACCES.
    const REFUSED: &[c_long] = &[
        libc::SYS_openat,
        libc::SYS_newfstatat,
        libc::SYS_fstat,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_open,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_stat,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_lstat,
    ];

    const ALLOWED: &[c_long] = &[
        libc::SYS_brk,
        libc::SYS_clock_gettime,
        libc::SYS_close,
        libc::SYS_exit,
        libc::SYS_exit_group,
        libc::SYS_futex,
        libc::SYS_geteuid,
        libc::SYS_getpgid,
        libc::SYS_getpid,
        libc::SYS_getrandom,
        libc::SYS_gettimeofday,
        libc::SYS_getuid,
        libc::SYS_madvise,
        libc::SYS_mremap,
        libc::SYS_munmap,
        libc::SYS_nanosleep,
        libc::SYS_clock_nanosleep,
        libc::SYS_pselect6,
        libc::SYS_read,
        libc::SYS_rt_sigprocmask,
        libc::SYS_shutdown,
        libc::SYS_write,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_poll,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_select,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_time,
    ];

    /// System calls that are allowed unless they ask for executable memory.
    const ALLOWED_FOR_DATA: &[c_long] = &[libc::SYS_mmap, libc::SYS_mprotect];

    #[cfg(target_arch = "x86_64")]
    const AUDIT_ARCH: u32 = 0xc000_003e;
    #[cfg(target_arch = "aarch64")]
    const AUDIT_ARCH: u32 = 0xc000_00b7;

    /// Installs a filter that kills the process for any other call.
    pub fn enter() -> Result<(), String> {
        let mut filter = vec![
            load(std::mem::offset_of!(libc::seccomp_data, arch)),
            skip_unless_equal(AUDIT_ARCH, 1),
            jump(1),
            give(libc::SECCOMP_RET_KILL_PROCESS),
            load(std::mem::offset_of!(libc::seccomp_data, nr)),
        ];
        for (calls, action) in [
            (REFUSED, libc::SECCOMP_RET_ERRNO | libc::EACCES as u32),
            (ALLOWED, libc::SECCOMP_RET_ALLOW),
        ] {
            for call in calls {
                filter.extend([skip_unless_equal(*call as u32, 1), give(action)]);
            }
        }
        for call in ALLOWED_FOR_DATA {
            filter.extend([
                skip_unless_equal(*call as u32, 5),
                // The low half of the third argument, which is first on these little-endian machines.
                load(std::mem::offset_of!(libc::seccomp_data, args) + 16),
                without((libc::PROT_READ | libc::PROT_WRITE) as u32),
                skip_unless_equal(0, 1),
                give(libc::SECCOMP_RET_ALLOW),
                give(libc::SECCOMP_RET_KILL_PROCESS),
            ]);
        }
        filter.push(give(libc::SECCOMP_RET_KILL_PROCESS));
        let program = libc::sock_fprog {
            len: filter.len() as u16,
            filter: filter.as_mut_ptr(),
        };
        // SAFETY: `program` gives the filter's true length, and the kernel copies it.
        let is_in = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(
                    libc::PR_SET_SECCOMP,
                    libc::SECCOMP_MODE_FILTER,
                    &raw const program,
                ) == 0
        };
        if is_in {
            Ok(())
        } else {
            Err(io::Error::last_os_error().to_string())
        }
    }

    fn load(offset: usize) -> sock_filter {
        instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset as u32, 0)
    }

    fn skip_unless_equal(value: u32, count: u8) -> sock_filter {
        instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, value, count)
    }

    fn jump(count: u32) -> sock_filter {
        instruction(libc::BPF_JMP | libc::BPF_JA, count, 0)
    }

    fn without(bits: u32) -> sock_filter {
        instruction(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, !bits, 0)
    }

    fn give(action: u32) -> sock_filter {
        instruction(libc::BPF_RET | libc::BPF_K, action, 0)
    }

    fn instruction(code: u32, k: u32, jf: u8) -> sock_filter {
        sock_filter {
            code: code as u16,
            jt: 0,
            jf,
            k,
        }
    }
}
