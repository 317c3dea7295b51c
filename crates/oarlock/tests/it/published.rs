//! Live figures: what a process publishes, and files that are not live figures.
#![allow(unsafe_code)]

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use cipher::StreamCipher as _;
use oarlock::{Accelerator, Algorithm, Direction};
use oarlock_engine::aead::AeadContext;
use oarlock_engine::cipher::CbcContext;
use oarlock_engine::cipher::StreamContext;
use oarlock_engine::costs::published::{self, Figures, Found};
use oarlock_testing::process::{alone_as, as_child, is_child};
use oarlock_testing::{is_root, lossy, names, until};

use crate::child::{end_of, fork, leave};
use crate::sandbox::filter;

/// Runs the test in a process of its own with its own folder of files; returns false in that process.
fn apart() -> bool {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env("XDG_RUNTIME_DIR", folder.path());
    alone_as(command)
}

fn folder() -> PathBuf {
    Path::new(&std::env::var_os("XDG_RUNTIME_DIR").unwrap()).join("oarlock")
}

fn here() -> Vec<Found> {
    let mut found = published::running();
    found.retain(|one| one.path.starts_with(folder()));
    found
}

/// Returns the only figures there are.
fn own() -> Figures {
    let mut found = here();
    assert_eq!(found.len(), 1, "{found:?}");
    let figures = found.remove(0).figures.unwrap();
    assert_eq!(figures.process, std::process::id());
    figures
}

/// Returns the requests and bytes of an operation, of all processes or one.
fn counted(
    figures: &Figures,
    process: Option<u32>,
    name: &str,
    direction: Direction,
) -> (u64, u64) {
    let processes = figures.processes.iter();
    let of_one = processes.filter(|one| process.is_none_or(|process| one.process == process));
    of_one
        .flat_map(|one| &one.operations)
        .filter(|one| (one.name, one.direction) == (name, direction))
        .fold((0, 0), |sum, one| (sum.0 + one.requests, sum.1 + one.bytes))
}

fn accelerator() -> Accelerator {
    Accelerator::builder().publish(true).build().unwrap()
}

#[test]
fn nothing_is_shown_unless_it_is_asked_for() {
    if apart() {
        return;
    }
    let accelerator = Accelerator::builder().environment().build().unwrap();
    let aead = accelerator.aead(Algorithm::Aes128Gcm, &[7; 16]).unwrap();
    aead.seal(&[1; 12], b"", (&mut [0; 64][..]).into()).unwrap();
    assert!(!folder().exists());
    assert!(here().is_empty());
}

#[test]
fn every_interface_counts_each_request_once() {
    use Direction::{Decrypt, Encrypt};
    if apart() {
        return;
    }
    let accelerator = accelerator();
    let sizes = [10, 3000, 600_000, 3_000_000];
    let bytes = sizes.iter().sum::<usize>() as u64;
    let mut data = vec![0; 3_000_000];

    let mut ctr = accelerator.ctr(&[1; 16], &[0; 16]).unwrap();
    let mut stream =
        StreamContext::new(accelerator.as_ref(), Algorithm::Aes256Ctr, &[2; 32]).unwrap();
    let mut chacha =
        StreamContext::new(accelerator.as_ref(), Algorithm::ChaCha20, &[2; 32]).unwrap();
    let aead = accelerator.aead(Algorithm::Aes128Gcm, &[3; 16]).unwrap();
    let mut context =
        AeadContext::new(accelerator.as_ref(), Algorithm::Aes256Gcm, &[4; 32]).unwrap();
    let mut pieces =
        AeadContext::new(accelerator.as_ref(), Algorithm::ChaCha20Poly1305, &[5; 32]).unwrap();
    for (number, size) in sizes.into_iter().enumerate() {
        let data = &mut data[..size];
        let nonce = [number as u8; 12];
        ctr.apply_keystream(data);
        stream.apply((&mut *data).into());
        chacha.apply((&mut *data).into());
        let tag = aead.seal(&nonce, b"", (&mut *data).into()).unwrap();
        aead.open(&nonce, b"", (&mut *data).into(), &tag).unwrap();
        let tag = context.seal(&nonce, b"", (&mut *data).into()).unwrap();
        context
            .open(&nonce, b"", (&mut *data).into(), &tag)
            .unwrap();
        pieces.begin(&nonce).unwrap();
        pieces.seal_next((&mut *data).into()).unwrap();
        pieces.finish().unwrap();
    }
    let mut cbc = accelerator.cbc(&[6; 16], &[0; 16]).unwrap();
    let mut cbc_context =
        CbcContext::new(accelerator.as_ref(), Algorithm::Aes192Cbc, &[7; 24]).unwrap();
    for size in [16, 4096, 3_000_000] {
        cbc.encrypt((&mut data[..size]).into()).unwrap();
        cbc.decrypt((&mut data[..size]).into()).unwrap();
        cbc_context.encrypt((&mut data[..size]).into()).unwrap();
        cbc_context.decrypt((&mut data[..size]).into()).unwrap();
    }

    let figures = own();
    for (name, direction, expected) in [
        ("aes-128-ctr", Encrypt, (4, bytes)),
        ("aes-256-ctr", Encrypt, (4, bytes)),
        ("chacha20", Encrypt, (4, bytes)),
        ("aes-128-gcm", Encrypt, (4, bytes)),
        ("aes-128-gcm", Decrypt, (4, bytes)),
        ("aes-256-gcm", Encrypt, (4, bytes)),
        ("aes-256-gcm", Decrypt, (4, bytes)),
        ("chacha20-poly1305", Encrypt, (4, bytes)),
        ("chacha20-poly1305", Decrypt, (0, 0)),
        ("aes-128-cbc", Encrypt, (3, 3_004_112)),
        ("aes-128-cbc", Decrypt, (3, 3_004_112)),
        ("aes-192-cbc", Encrypt, (3, 3_004_112)),
        ("aes-192-cbc", Decrypt, (3, 3_004_112)),
    ] {
        let found = counted(&figures, None, name, direction);
        assert_eq!(found, expected, "{name} {direction:?}");
    }
}

#[test]
fn threads_lose_nothing_though_there_are_more_of_them_than_seats() {
    if apart() {
        return;
    }
    let accelerator = accelerator();
    let aead = accelerator.aead(Algorithm::Aes128Gcm, &[3; 16]).unwrap();
    for _ in 0..3 {
        let together = std::sync::Barrier::new(100);
        std::thread::scope(|scope| {
            for _ in 0..100 {
                scope.spawn(|| {
                    together.wait();
                    for _ in 0..1000 {
                        aead.seal(&[1; 12], b"", (&mut [0; 8][..]).into()).unwrap();
                    }
                    together.wait();
                });
            }
        });
    }
    let figures = own();
    let found = counted(&figures, None, "aes-128-gcm", Direction::Encrypt);
    assert_eq!(found, (300_000, 2_400_000));
    // Threads that end release their seats.
    assert_eq!(figures.processes.len(), 1);
    until("their seats are free", || own().processes[0].threads == 0);
}

#[test]
fn forked_children_count_as_processes_of_their_own() {
    if apart() {
        return;
    }
    let accelerator = accelerator();
    let aead = accelerator.aead(Algorithm::Aes128Gcm, &[3; 16]).unwrap();
    let seal = |count: usize| {
        for _ in 0..count {
            aead.seal(&[1; 12], b"", (&mut [0; 8][..]).into()).unwrap();
        }
    };
    seal(1);
    let (mut reader, mut writer) = std::io::pipe().unwrap();
    // SAFETY: the child seals, waits and leaves without returning.
    let child = unsafe { fork() };
    if child == 0 {
        drop(writer);
        seal(20);
        // Waits until the parent has looked.
        let _ = std::io::Read::read(&mut reader, &mut [0]);
        leave(0);
    }
    seal(3);
    let of_child = || {
        counted(
            &own(),
            Some(child as u32),
            "aes-128-gcm",
            Direction::Encrypt,
        )
        .0
    };
    until("the child has counted", || of_child() == 20);
    let own_count = counted(
        &own(),
        Some(std::process::id()),
        "aes-128-gcm",
        Direction::Encrypt,
    );
    assert_eq!(own_count.0, 4);
    std::io::Write::write_all(&mut writer, b"x").unwrap();
    assert_eq!(end_of(child), 0);
    // The child has ended, and this process continues.
    assert_eq!(of_child(), 0);
    // The child's seat is reused, and starts empty.
    for _ in 0..100 {
        std::thread::scope(|scope| {
            scope.spawn(|| seal(1));
        });
    }
    let all = counted(&own(), None, "aes-128-gcm", Direction::Encrypt);
    assert_eq!(all.0, 104);
}

#[cfg(feature = "simulated")]
#[test]
fn a_device_that_fails_is_seen_to() {
    use std::sync::Arc;

    use oarlock::device::{EngineBoard, Fault, Injection, SimulatedEngine, When, visible_cpu};
    use oarlock::framework::{Check, Counts, Framework, Place, Request, SessionSpec};
    use oarlock_engine::costs::published::DeviceState;
    if apart() {
        return;
    }
    let framework = Framework::new(&accelerator());
    let faults = vec![Injection {
        fault: Fault::Error,
        when: When::Every(1),
    }];
    let board = EngineBoard {
        faults,
        ..EngineBoard::default()
    };
    for (name, board) in [("good", EngineBoard::default()), ("bad", board)] {
        let engine = SimulatedEngine::new(name, board, visible_cpu().unwrap()).unwrap();
        framework
            .register(Arc::new(engine), Check::Sample(0))
            .unwrap();
    }
    let spec = SessionSpec::aead(Algorithm::Aes128Gcm, &[7; 16], &[9; 12]);
    let session = framework.session(&spec).unwrap();
    let mut answers = 0;
    let device = |name: &str| {
        let figures = own();
        figures
            .devices
            .into_iter()
            .find(|one| one.name == name)
            .unwrap()
    };
    until("the bad board is left alone", || {
        let request = Request::encrypt(vec![0; 1000]).at(Place::Device);
        let answer = session.submit(request).unwrap().wait().unwrap();
        assert_eq!(answer.outcome, Ok(()));
        answers += 1;
        device("bad").state == DeviceState::Open
    });
    let (good, bad) = (device("good"), device("bad"));
    assert_eq!(good.state, DeviceState::Closed);
    let Counts {
        failed,
        done,
        opened,
        ..
    } = bad.counts;
    assert_eq!((failed, done, opened), (3, 0, 1));
    assert!(good.counts.done > 0 && good.bytes > 0, "{good:?}");
    assert_eq!(good.counts, framework.health()["good"].counts);
    let figures = own();
    assert_eq!(figures.in_flight, 0);
    let sealed = counted(&figures, None, "aes-128-gcm", Direction::Encrypt);
    assert_eq!(sealed.0, answers);
    framework.withdraw("good");
    assert_eq!(device("good").state, DeviceState::Left);
}

#[cfg(feature = "rsa")]
#[test]
fn jobs_and_lanes_are_counted() {
    use oarlock::job::JobOptions;
    use oarlock::rsa::{Hash, RsaPrivateKey, SignatureScheme};
    if apart() {
        return;
    }
    let accelerator = Accelerator::builder()
        .publish(true)
        .max_threads(1)
        .build()
        .unwrap();
    let key = RsaPrivateKey::from_pem(crate::common::keys::RSA2048).unwrap();
    let rsa = accelerator.rsa(&key);
    let scheme = SignatureScheme::Pkcs1(Hash::Sha256);
    let jobs: Vec<_> = (0..16_u8)
        .map(|number| {
            rsa.submit_sign(scheme, [number], JobOptions::default())
                .unwrap()
        })
        .collect();
    for job in jobs {
        job.wait().unwrap();
    }
    let figures = own();
    let stats = accelerator.stats().public_key;
    let shown = figures.public_key;
    assert_eq!(
        (shown.alone, shown.groups, shown.in_groups, shown.faults),
        (stats.alone, stats.groups, stats.in_groups, stats.faults)
    );
    assert_eq!(shown.alone + shown.in_groups, 16);
    // In lanes, or alone if the CPU has none.
    let rows = ["private-key", "public-key"];
    let rows = rows.map(|name| counted(&figures, None, name, Direction::Encrypt).0);
    assert_eq!(rows.iter().sum::<u64>(), 16);
    assert_eq!((figures.public_key.waiting, figures.refused), (0, 0));
}

/// The end of a process or a thread, and the first count, make no system call that a host's filter kills for if it is
/// installed by then. The filter kills for kill(2), unlink(2), prctl(2) and all else that OpenSSH does not list.
#[test]
fn no_end_and_no_beginning_is_a_call_that_a_filter_kills_for() {
    if apart() {
        return;
    }
    // The publishing process itself ends.
    for counts in [false, true] {
        let status = within_filter(
            || {
                let accelerator = accelerator();
                if counts {
                    seal(&accelerator);
                }
                accelerator
            },
            |accelerator| {
                if counts {
                    seal(accelerator);
                    // The process began to publish while unconfined, which no longer holds here.
                    long(accelerator);
                }
            },
        );
        assert_eq!(status, 0, "a process that publishes, counts: {counts}");
    }

    let accelerator = accelerator();
    seal(&accelerator);
    let everywhere = |what: &str| {
        // A child of it ends, which has counted before confinement, within it, in both, or never.
        for (before, within) in [(false, false), (true, false), (false, true), (true, true)] {
            let status = within_filter(
                || before.then(|| seal(&accelerator)),
                |_| {
                    if within {
                        seal(&accelerator);
                        long(&accelerator);
                    }
                },
            );
            assert_eq!(status, 0, "{what}: a child, {before}, {within}");
        }
        // A child with an accelerator of its own, and helpers, drops it.
        let status = within_filter(
            || {
                let own = Accelerator::builder().publish(true).build().unwrap();
                long(&own);
                std::cell::Cell::new(Some(own))
            },
            |own| drop(own.take()),
        );
        assert_eq!(status, 0, "{what}: an accelerator goes");
        // A thread ends that alone is confined.
        // SAFETY: the child creates a thread, waits for it and leaves.
        let child = unsafe { fork() };
        if child == 0 {
            leave(i32::from(!confined_thread_ends(&accelerator)));
        }
        assert_eq!(end_of(child), 0, "{what}: a thread ends");
    };
    everywhere("seats are free");
    // With no seat left, the library would have to check whether other processes live.
    let together = std::sync::Barrier::new(80);
    std::thread::scope(|scope| {
        for _ in 1..80 {
            scope.spawn(|| {
                seal(&accelerator);
                together.wait();
                together.wait();
            });
        }
        together.wait();
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            everywhere("no seat is free");
        }));
        together.wait();
        if let Err(failed) = checked {
            std::panic::resume_unwind(failed);
        }
    });
}

/// Applies a keystream long enough to ask for CPUs and helpers.
fn long(accelerator: &Accelerator) {
    let mut cipher = accelerator.ctr(&[1; 16], &[0; 16]).unwrap();
    cipher.apply_keystream(&mut vec![0; 8 << 20]);
}

fn seal(accelerator: &Accelerator) {
    let aead = accelerator.aead(Algorithm::Aes128Gcm, &[3; 16]).unwrap();
    aead.seal(&[1; 12], b"", (&mut [0; 8][..]).into()).unwrap();
}

/// Runs `before` in a child, confines it, runs `within`, and ends it with exit(3) and its handlers.
fn within_filter<T>(before: impl FnOnce() -> T, within: impl FnOnce(&T)) -> i32 {
    // SAFETY: the child only uses this library, which supports that, and ends by exit(3).
    let child = unsafe { fork() };
    if child == 0 {
        let made = before();
        if filter::enter().is_err() {
            leave(2);
        }
        within(&made);
        // SAFETY: this is the child, and the test registers no exit handler.
        unsafe { libc::exit(0) };
    }
    end_of(child)
}

/// Runs a thread that confines itself. The C library creates it: the standard library's threads end with system calls of
/// their own.
fn confined_thread_ends(accelerator: &Accelerator) -> bool {
    extern "C" fn confined(accelerator: *mut libc::c_void) -> *mut libc::c_void {
        // SAFETY: the argument is the accelerator passed below, which outlives the thread.
        let accelerator = unsafe { &*accelerator.cast::<Accelerator>().cast_const() };
        // The C library reads the CPUs when a thread first allocates.
        drop(std::hint::black_box(vec![0_u8; 100]));
        let is_confined = filter::enter().is_ok();
        seal(accelerator);
        std::ptr::without_provenance_mut(usize::from(is_confined))
    }
    let mut thread = 0;
    let mut result = std::ptr::null_mut();
    // SAFETY: both results have room, and the accelerator lives until the thread has been joined.
    let ended = unsafe {
        let argument = std::ptr::from_ref(accelerator).cast_mut().cast();
        libc::pthread_create(&mut thread, std::ptr::null(), confined, argument) == 0
            && libc::pthread_join(thread, &mut result) == 0
    };
    ended && !result.is_null()
}

/// A process that forks into the background before it counts keeps its file when the first process ends.
#[test]
fn a_file_of_a_process_that_goes_on_in_the_background_stays() {
    if apart() {
        return;
    }
    let (mut says, told) = std::io::pipe().unwrap();
    let (waits, mut goes_on) = std::io::pipe().unwrap();
    // SAFETY: the children only use this library, as is being tested, and leave.
    let child = unsafe { fork() };
    if child == 0 {
        let accelerator = accelerator();
        // SAFETY: the daemon only uses this library, as its parent does, and leaves.
        let daemon = unsafe { fork() };
        if daemon != 0 {
            leave(0);
        }
        drop((says, goes_on));
        let mut told = told;
        std::io::Write::write_all(&mut told, b"x").unwrap();
        let mut waits = waits;
        let _ = std::io::Read::read(&mut waits, &mut [0]);
        seal(&accelerator);
        std::io::Write::write_all(&mut told, b"x").unwrap();
        let _ = std::io::Read::read(&mut waits, &mut [0]);
        leave(0);
    }
    drop((told, waits));
    assert_eq!(end_of(child), 0);
    std::io::Read::read_exact(&mut says, &mut [0]).unwrap();
    // Nothing has been counted yet, and the file is not mistaken for one of an ended process.
    published::clear();
    assert_eq!(here().len(), 1);
    std::io::Write::write_all(&mut goes_on, b"x").unwrap();
    std::io::Read::read_exact(&mut says, &mut [0]).unwrap();
    published::clear();
    let counted_there = |found: &Found| {
        let figures = found.figures.as_ref().unwrap();
        counted(figures, None, "aes-128-gcm", Direction::Encrypt).0
    };
    assert_eq!(here().iter().map(counted_there).sum::<u64>(), 1);
    drop(goes_on);
    until("it has gone with its file", || {
        published::clear();
        files_in(&folder()).is_empty()
    });
}

/// Starts a process that publishes until its standard input ends.
fn publisher(folder: &Path) -> std::process::Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    as_child(&mut command)
        .args(["--nocapture", "--test-threads=1"])
        .env("XDG_RUNTIME_DIR", folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn files_in(folder: &Path) -> Vec<String> {
    match folder.exists() {
        true => names(folder),
        false => Vec::new(),
    }
}

/// Whether the folder has one file and it is complete: an unfinished one has another name.
fn has_one(folder: &Path) -> bool {
    matches!(&files_in(folder)[..], [name] if name.ends_with(".live"))
}

#[test]
fn what_a_process_leaves_goes_with_the_next_look() {
    if is_child() {
        let _kept = accelerator();
        let _ = std::io::Read::read(&mut std::io::stdin(), &mut [0]);
        return;
    }
    let base = tempfile::tempdir().unwrap();
    let folder = base.path().join("oarlock");
    let mut ends = publisher(base.path());
    until("a file", || has_one(&folder));
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    let file = folder.join(&files_in(&folder)[0]);
    assert_eq!(mode(&file), 0o600);
    drop(ends.stdin.take());
    assert!(ends.wait().unwrap().success());
    // The process cannot know that it was not confined, so it removes nothing.
    assert!(has_one(&folder));

    let mut killed = publisher(base.path());
    until("the other has cleared up", || {
        has_one(&folder) && files_in(&folder)[0].starts_with(&format!("{}-", killed.id()))
    });
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(has_one(&folder));
    // A file of a process that was killed while it created one, and a file that is being created now.
    let unfinished = |name: &str, age: u64| {
        let file = fs::File::create(folder.join(name)).unwrap();
        let then = SystemTime::now() - Duration::from_secs(age);
        file.set_modified(then).unwrap();
    };
    unfinished("1-1.new", 3600);
    unfinished("1-2.new", 0);
    let mut next = publisher(base.path());
    until("the next has cleared up", || {
        let mut files = files_in(&folder);
        files.retain(|name| name != "1-2.new");
        files.len() == 1 && files[0].starts_with(&format!("{}-", next.id()))
    });
    assert!(folder.join("1-2.new").exists());
    drop(next.stdin.take());
    next.wait().unwrap();
}

#[test]
fn files_that_are_none_are_named_and_hurt_nobody() {
    if apart() {
        return;
    }
    let _accelerator = accelerator();
    let folder = folder();
    let right = fs::read(&here()[0].path).unwrap();
    let write = |name: &str, bytes: &[u8]| {
        fs::write(folder.join(format!("{name}.live")), bytes).unwrap();
    };
    write("empty", b"");
    write("short", &right[..right.len() - 1]);
    write("long", &[&right[..], b"x"].concat());
    write("zeros", &vec![0; right.len()]);
    let mut version = right.clone();
    version[8] ^= 1;
    write("version", &version);
    write("noise", &oarlock_testing::noise(right.len()));
    File::create(folder.join("huge.live"))
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    symlink("/etc/passwd", folder.join("link.live")).unwrap();
    fs::create_dir(folder.join("folder.live")).unwrap();
    let mut fifo = Command::new("mkfifo");
    assert!(
        fifo.arg(folder.join("fifo.live"))
            .status()
            .unwrap()
            .success()
    );
    write("not-live", b"");
    fs::rename(folder.join("not-live.live"), folder.join("ignored")).unwrap();
    let mut expected = 10;
    if is_root("a file of another user") {
        write("foreign", &right);
        std::os::unix::fs::chown(folder.join("foreign.live"), Some(1), None).unwrap();
        expected += 1;
    }
    let (wrong, good): (Vec<_>, Vec<_>) = here().into_iter().partition(|one| one.figures.is_err());
    assert_eq!(good.len(), 1);
    let said: Vec<_> = wrong
        .iter()
        .map(|one| one.figures.as_ref().unwrap_err())
        .collect();
    assert_eq!(wrong.len(), expected, "{said:?}");
    for (name, reason) in [
        ("link", "link"),
        ("folder", "no regular file"),
        ("fifo", "no regular file"),
        ("version", "another version"),
        ("zeros", "no file of live figures"),
    ] {
        let path = folder.join(format!("{name}.live"));
        let found = wrong.iter().find(|one| one.path == path).unwrap();
        let why = found.figures.as_ref().unwrap_err();
        assert!(why.contains(reason), "{name}: {why}");
    }
    // Impossible counts, and names with escape sequences.
    let mut hostile = right.clone();
    let end = hostile.len();
    hostile[64..128].fill(0xff);
    hostile[128..192].fill(0x1b);
    hostile[256..end].fill(0xff);
    let figures = Figures::parse(&hostile).unwrap();
    assert!(
        figures.program.bytes().all(|byte| byte == b'?'),
        "{:?}",
        figures.program
    );
    assert!(figures.metrics.is_none());
}

#[test]
fn what_else_lies_in_the_folder_hides_nothing() {
    if apart() {
        return;
    }
    let _accelerator = accelerator();
    for number in 0..3000 {
        fs::write(folder().join(format!("{number}.other")), "").unwrap();
    }
    own();
}

#[test]
fn a_folder_that_others_may_use_is_left_alone() {
    let base = tempfile::tempdir().unwrap();
    if is_child() {
        let accelerator = accelerator();
        // The accelerator works, and publishes elsewhere or not at all.
        accelerator.aead(Algorithm::Aes128Gcm, &[7; 16]).unwrap();
        assert!(here().is_empty());
        return;
    }
    let folder = base.path().join("oarlock");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, Permissions::from_mode(0o770)).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap());
    let output = as_child(&mut child)
        .args(["--nocapture", "--test-threads=1"])
        .env("XDG_RUNTIME_DIR", base.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", lossy(&output.stdout));
    assert_eq!(names(&folder), [""; 0]);
}
