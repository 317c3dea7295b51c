//! The process model (docs/internals/process-model.md), each case in a process of its own.
#![allow(unsafe_code)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use cipher::StreamCipher;
use oarlock::{Accelerator, PrefetchWorker, Strategy};
use oarlock_testing::process::{alone_as, as_child, is_child};
use oarlock_testing::{alone, has_cpus, is_root, skip, until};

use crate::child::{end_of, fork, leave};
use crate::common::{reference, striped, tasks};

const KEY: [u8; 16] = [0x2b; 16];
const IV: [u8; 16] = [0xf0; 16];

fn prefetching(worker: PrefetchWorker) -> Accelerator {
    Accelerator::builder()
        .max_threads(2)
        .strategy(Strategy::Prefetch)
        .prefetch_worker(worker)
        .build()
        .unwrap()
}

fn cpus() -> usize {
    std::thread::available_parallelism().unwrap().get()
}

#[test]
fn no_thread_before_one_is_needed() {
    if alone(&[]) {
        return;
    }
    let before = tasks();
    let accelerator = Accelerator::builder().build().unwrap();
    let mut cipher = accelerator.ctr(&KEY, &IV).unwrap();
    cipher.apply_keystream(&mut vec![0; 100_000]);
    assert_eq!(tasks(), before);
    assert_eq!(accelerator.threads(), 0);
    let accelerator = Accelerator::builder().min_threads(2).build().unwrap();
    assert_eq!(accelerator.threads(), 2);
    assert_eq!(tasks().len(), before.len() + 2);
    // max_threads=0 means no thread, ever.
    let accelerator = Accelerator::builder()
        .max_threads(0)
        .strategy(Strategy::Stripe)
        .build()
        .unwrap();
    let now = tasks();
    accelerator
        .ctr(&KEY, &IV)
        .unwrap()
        .apply_keystream(&mut vec![0; 10_000_000]);
    assert_eq!(tasks(), now);
}

#[test]
fn helpers_take_no_signals() {
    if alone(&[]) || !has_cpus() {
        return;
    }
    let before = tasks();
    let accelerator = striped();
    accelerator
        .ctr(&KEY, &IV)
        .unwrap()
        .apply_keystream(&mut vec![0; 1_000_000]);
    let helpers: Vec<_> = tasks().difference(&before).cloned().collect();
    assert!(!helpers.is_empty());
    for helper in helpers {
        let status = fs::read_to_string(format!("/proc/self/task/{helper}/status")).unwrap();
        let blocked = status
            .lines()
            .find_map(|line| line.strip_prefix("SigBlk:"))
            .unwrap();
        let blocked = u64::from_str_radix(blocked.trim(), 16).unwrap();
        // All signals but SIGKILL, SIGSTOP and the two that the C library reserves.
        assert_eq!(
            !blocked & !(1 << 8 | 1 << 18 | 1 << 31 | 1 << 32),
            0,
            "{blocked:x}"
        );
    }
    let mine = fs::read_to_string("/proc/thread-self/status").unwrap();
    assert!(
        mine.contains("SigBlk:\t0000000000000000"),
        "the caller's mask is put back"
    );
}

#[test]
fn one_cpu_means_inline() {
    if alone(&["taskset", "-c", "0"]) {
        return;
    }
    let accelerator = striped();
    let mut data = vec![0; 5_000_000];
    accelerator
        .ctr(&KEY, &IV)
        .unwrap()
        .apply_keystream(&mut data);
    assert!(data == reference(&KEY, &IV, 5_000_000));
    assert_eq!((accelerator.threads(), accelerator.parallelism()), (0, 1));
    prefetch_on_one_cpu();
}

/// The pool creates no helper; one of the idle class works while the consumer waits for input.
fn prefetch_on_one_cpu() {
    for worker in [PrefetchWorker::Pool, PrefetchWorker::Idle] {
        let accelerator = prefetching(worker);
        let mut cipher = accelerator.ctr(&KEY, &IV).unwrap();
        let before = tasks().len();
        let idle = worker == PrefetchWorker::Idle;
        let expected = reference(&KEY, &IV, 1_000_000);
        let mut pass = || {
            let mut data = vec![0; 1_000_000];
            cipher.set_iv(&IV).unwrap();
            for piece in data.chunks_mut(10_000) {
                cipher.apply_keystream(piece);
                std::thread::sleep(Duration::from_millis(1));
            }
            assert!(data == expected);
            cipher.hand_in_stats();
            let stats = accelerator.stats();
            let counts = stats.algorithms.values();
            counts.map(|counts| counts.prefetched_bytes).sum::<u64>()
        };
        let mut ready = pass();
        if idle {
            // The idle class runs only when nothing else wants the CPU, so on a busy machine not soon.
            until("the idle class makes some ahead", || {
                ready += pass();
                ready > 0
            });
        }
        assert_eq!((accelerator.threads(), accelerator.parallelism()), (0, 1));
        assert_eq!(ready > 0, idle, "{worker:?}: {ready}");
        if !idle {
            assert_eq!(tasks().len(), before);
        }
    }
}

#[test]
fn a_quota_of_one_cpu_means_inline() {
    if is_child() {
        let accelerator = striped();
        accelerator
            .ctr(&KEY, &IV)
            .unwrap()
            .apply_keystream(&mut vec![0; 5_000_000]);
        assert_eq!((accelerator.threads(), accelerator.parallelism()), (0, 1));
        prefetch_on_one_cpu();
        return;
    }
    let name = format!("oarlock-test-{}", std::process::id());
    // Version 1 of the kernel's control groups, then version 2.
    for (root, limits) in [
        (
            "/sys/fs/cgroup/cpu",
            &[
                ("cpu.cfs_period_us", "100000"),
                ("cpu.cfs_quota_us", "100000"),
            ][..],
        ),
        ("/sys/fs/cgroup", &[("cpu.max", "100000 100000")][..]),
    ] {
        let group = std::path::Path::new(root).join(&name);
        if fs::create_dir(&group).is_err() {
            continue;
        }
        let limited = limits
            .iter()
            .all(|(file, value)| fs::write(group.join(file), value).is_ok());
        if limited {
            let join = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", group.display());
            assert!(alone(&["sh", "-c", &join, "sh"]));
        }
        fs::remove_dir(&group).unwrap();
        if limited {
            return;
        }
    }
    skip("no control group with a CPU quota can be made");
}

#[test]
fn a_fork_in_the_middle_of_a_stream_disturbs_neither() {
    if alone(&[]) {
        return;
    }
    let expected = reference(&KEY, &IV, 3_000_000);
    for round in 0..50 {
        let accelerator = striped();
        let mut cipher = accelerator.ctr(&KEY, &IV).unwrap();
        let mut data = vec![0; 3_000_000];
        cipher.apply_keystream(&mut data[..1_000_001]);
        // Another thread keeps the pool's locks and helpers busy during this fork.
        let mut others = accelerator.ctr(&KEY, &IV).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for _ in 0..20 {
                    others.apply_keystream(&mut vec![0; 200_000]);
                }
            });
            // SAFETY: the child continues the stream, and leaves.
            let child = unsafe { fork() };
            if child == 0 {
                cipher.apply_keystream(&mut data[1_000_001..]);
                let good = data == expected && (accelerator.threads() > 0 || cpus() == 1);
                drop((cipher, accelerator.clone()));
                leave(i32::from(!good));
            }
            cipher.apply_keystream(&mut data[1_000_001..]);
            assert!(data == expected);
            assert_eq!(end_of(child), 0, "the child of round {round}");
        });
    }
}

#[test]
fn a_fork_leaves_parent_and_child_with_streams_of_their_own() {
    if alone(&[]) {
        return;
    }
    let expected = reference(&KEY, &IV, 3_000_000);
    for worker in [PrefetchWorker::Pool, PrefetchWorker::Idle] {
        for round in 0..20 {
            let accelerator = prefetching(worker);
            let mut cipher = accelerator.ctr(&KEY, &IV).unwrap();
            let mut data = vec![0; 3_000_000];
            let (head, tail) = data.split_at_mut(1_000_001);
            cipher.apply_keystream(head);
            // SAFETY: the child continues the tail of the stream, and leaves.
            let child = unsafe { fork() };
            for piece in tail.chunks_mut(70_000) {
                cipher.apply_keystream(piece);
            }
            let good = data == expected;
            if child == 0 {
                drop(cipher);
                leave(i32::from(!good));
            }
            assert!(good);
            assert_eq!(end_of(child), 0, "{worker:?}, the child of round {round}");
        }
    }
}

#[test]
fn no_lock_is_lost_in_a_fork() {
    if alone(&[]) {
        return;
    }
    let accelerator = Accelerator::builder()
        .max_threads(4)
        .strategy(Strategy::Stripe)
        .reservation(oarlock::Reservation::Exclusive)
        .cipher_threads(1)
        .build()
        .unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    let use_all = || {
        let mut data = vec![0; 64];
        let mut cipher = accelerator.ctr(&KEY, &IV).unwrap();
        cipher.apply_keystream(&mut data);
        drop(cipher);
        accelerator.stats();
        // A pool whose threads begin and end here.
        striped()
            .ctr(&KEY, &IV)
            .unwrap()
            .apply_keystream(&mut vec![0; 20_000]);
    };
    // The long form, run by hand: 100,000 forks take some minutes.
    let rounds = std::env::var("OARLOCK_TEST_FORKS").map_or(500, |count| count.parse().unwrap());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                use_all();
            }
        });
        for round in 0..rounds {
            // SAFETY: the child uses all of this library, as is being tested, and leaves.
            let child = unsafe { fork() };
            if child == 0 {
                use_all();
                leave(0);
            }
            let status = end_of(child);
            if status != 0 {
                done.store(true, std::sync::atomic::Ordering::Relaxed);
            }
            assert_eq!(status, 0, "the child of round {round}");
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn a_forked_child_has_its_streams_filled_by_whom_the_parent_had_them() {
    if alone(&[]) {
        return;
    }
    let accelerator = Accelerator::builder()
        .max_threads(2)
        .strategy(Strategy::Prefetch)
        .build()
        .unwrap();
    let expected = reference(&KEY, &IV, 200_000);
    let mut prefilled = accelerator.ctr(&KEY, &IV).unwrap();
    prefilled.set_strategy(Strategy::Inline);
    assert!(prefilled.prefill(Duration::MAX) > 0);
    let mut filled = accelerator.ctr(&KEY, &IV).unwrap();
    let (mut first, mut second) = (vec![0; 200_000], vec![0; 200_000]);
    prefilled.apply_keystream(&mut first[..1001]);
    filled.apply_keystream(&mut second[..1001]);
    // SAFETY: the child continues its streams, and leaves.
    let child = unsafe { fork() };
    if child == 0 {
        prefilled.apply_keystream(&mut first[1001..]);
        let nobody_came = accelerator.threads() == 0;
        filled.prefill(Duration::ZERO);
        filled.apply_keystream(&mut second[1001..]);
        let somebody_came = accelerator.threads() > 0 || cpus() == 1;
        let good = first == expected && second == expected && nobody_came && somebody_came;
        leave(i32::from(!good));
    }
    assert_eq!(end_of(child), 0);
}

#[test]
fn a_forked_child_has_the_room_for_streams_to_itself() {
    if alone(&[]) {
        return;
    }
    let of_one = prefetching(PrefetchWorker::Pool)
        .ctr(&KEY, &IV)
        .unwrap()
        .prefetch_bytes();
    let accelerator = Accelerator::builder()
        .max_threads(2)
        .strategy(Strategy::Prefetch)
        .prefetch_bytes(of_one)
        .build()
        .unwrap();
    let mut parents = accelerator.ctr(&KEY, &IV).unwrap();
    assert_eq!(accelerator.prefetch_bytes(), of_one);
    // SAFETY: the child continues and drops its streams, and leaves.
    let child = unsafe { fork() };
    if child == 0 {
        let is_free = accelerator.prefetch_bytes() == 0;
        let own = accelerator.ctr(&KEY, &IV).unwrap();
        let has_room = own.prefetch_bytes() == of_one;
        let is_full = accelerator.ctr(&KEY, &IV).unwrap().prefetch_bytes() == 0;
        // Drops the parent's ring, which does not count against this child's limit.
        let mut data = vec![0; 200_000];
        parents.apply_keystream(&mut data);
        drop(parents);
        let is_counted = accelerator.prefetch_bytes() == of_one;
        let good = [
            is_free,
            has_room,
            is_full,
            is_counted,
            data == reference(&KEY, &IV, 200_000),
        ];
        let failed = good.iter().position(|good| !good);
        leave(failed.map_or(0, |at| 1 + at as i32));
    }
    assert_eq!(end_of(child), 0);
    assert_eq!(accelerator.prefetch_bytes(), of_one);
}

#[test]
fn a_forked_child_can_drop_what_it_never_used() {
    if alone(&[]) {
        return;
    }
    let accelerator = striped();
    let mut cipher = accelerator.ctr(&KEY, &IV).unwrap();
    cipher.apply_keystream(&mut vec![0; 1_000_000]);
    // SAFETY: the child only drops values, and leaves.
    let child = unsafe { fork() };
    if child == 0 {
        drop((cipher, accelerator));
        leave(0);
    }
    assert_eq!(end_of(child), 0);
}

#[test]
fn ten_thousand_accelerators_leak_nothing() {
    if alone(&[]) {
        return;
    }
    let fds = || fs::read_dir("/proc/self/fd").unwrap().count();
    let mut data = vec![0; 40_000];
    let (tasks_before, fds_before) = (tasks(), fds());
    for _ in 0..10_000 {
        let accelerator = striped();
        accelerator
            .ctr(&KEY, &IV)
            .unwrap()
            .apply_keystream(&mut data);
        assert!(accelerator.threads() > 0 || cpus() == 1);
    }
    // A joined thread may still be listed for a moment.
    until("only the threads of before", || tasks() == tasks_before);
    assert_eq!(fds(), fds_before);
}

#[test]
fn the_environment_is_ignored_under_at_secure() {
    if is_child() {
        Accelerator::builder().environment().build().unwrap();
        return;
    }
    if !is_root("a set-user-ID program") {
        return;
    }
    let with_nonsense = |program: &Path| {
        let mut command = Command::new(program);
        command
            .env("OARLOCK_CPU", "nonsense")
            .env("OARLOCK_OPTIONS", "nonsense");
        command
    };
    let program = std::env::current_exe().unwrap();
    let folder = std::env::temp_dir().join(format!("oarlock-secure-{}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    let copy = folder.join("program");
    fs::copy(&program, &copy).unwrap();
    std::os::unix::fs::chown(&copy, Some(65534), Some(65534)).unwrap();
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o6755)).unwrap();
    assert!(alone_as(with_nonsense(&copy)));
    fs::remove_dir_all(&folder).unwrap();
    // The same words are refused in a program that reads them.
    let plain = as_child(&mut with_nonsense(&program)).output().unwrap();
    assert!(!plain.status.success());
}
