//! Jobs and fork. Each test is alone in its process: a child inherits the locks of every thread that existed.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use oarlock::job::{CompletionQueue, JobOptions, Order};
use oarlock::rsa::{Hash, RsaPrivateKey, SignatureScheme};
use oarlock::{Accelerator, Error};
use oarlock_testing::{alone, has_cpus, skip};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::child::{end_of, fork, leave};
use crate::common::keys;

const SCHEME: SignatureScheme = SignatureScheme::Pss(Hash::Sha256);

#[test]
fn a_child_finds_its_parents_jobs_cancelled_and_its_own_done() {
    if alone(&[]) {
        return;
    }
    let key = RsaPrivateKey::from_pem(keys::RSA2048).unwrap();
    for max_threads in [0, 2] {
        let accelerator = Accelerator::builder().max_threads(max_threads).build();
        let rsa = accelerator.unwrap().rsa(&key);
        let submit = |i: u8| {
            rsa.submit_sign(SCHEME, vec![i], JobOptions::default())
                .unwrap()
        };
        for _ in 0..20 {
            let jobs: Vec<_> = (0..16).map(submit).collect();
            // SAFETY: the child does not touch what another thread may have left half done, as is being tested, and leaves.
            let child = unsafe { fork() };
            let results = jobs.into_iter().map(|job| job.wait());
            if child == 0 {
                let is_expected = results
                    .into_iter()
                    .all(|result| matches!(result, Ok(_) | Err(Error::Cancelled)));
                let own = Accelerator::builder().build().unwrap().rsa(&key);
                let own: Vec<_> = (0..4u8)
                    .map(|i| own.submit_sign(SCHEME, vec![i], JobOptions::default()))
                    .collect();
                let is_done = own.into_iter().all(|job| job.unwrap().wait().is_ok());
                leave(i32::from(!(is_expected && is_done)));
            }
            assert!(results.into_iter().all(|result| result.is_ok()));
            assert_eq!(end_of(child), 0);
        }
    }
}

/// A queue works in parent and child. In the child there are no notices of jobs that the parent has polled, and the
/// inherited descriptor stays the parent's.
#[test]
fn a_queue_is_whole_in_a_child_and_stays_so_in_the_parent() {
    if alone(&[]) {
        return;
    }
    let key = RsaPrivateKey::from_pem(keys::RSA2048).unwrap();
    for max_threads in [0, 2] {
        let accelerator = Accelerator::builder().max_threads(max_threads).build();
        let rsa = accelerator.unwrap().rsa(&key);
        for order in [Order::Completion, Order::Submission] {
            for _ in 0..10 {
                let mut queue = CompletionQueue::new(order);
                queue.event_fd().unwrap();
                for i in 0..16_u8 {
                    let job = rsa.submit_sign(SCHEME, vec![i], JobOptions::default());
                    queue.push(job.unwrap(), i);
                }
                let mut taken = usize::from(queue.try_next().is_some());
                // SAFETY: the child does not touch what another thread may have left half done, which is under test, and
                // leaves.
                let child = unsafe { fork() };
                if child == 0 {
                    let mut is_expected = true;
                    while let Some((_, result)) = queue.next_blocking() {
                        is_expected &= matches!(result, Ok(_) | Err(Error::Cancelled));
                    }
                    leave(i32::from(!is_expected));
                }
                assert_eq!(end_of(child), 0);
                // What the child took does not reduce the parent's notices.
                while taken < 16 {
                    match queue.try_next() {
                        Some((_, result)) => taken += usize::from(result.is_ok()),
                        None => {
                            let descriptor = queue.event_fd().unwrap();
                            let mut watched = [PollFd::new(&descriptor, PollFlags::IN)];
                            let limit = Timespec {
                                tv_sec: 20,
                                tv_nsec: 0,
                            };
                            assert_eq!(poll(&mut watched, Some(&limit)).unwrap(), 1, "woken");
                        }
                    }
                }
            }
        }
    }
}

/// The state that aws-lc keeps for a thread contains locks. The destructor of its key takes them when the thread ends, so a
/// fork at that moment would lose them. Destructors run in the order of their keys, and this test's key is older than
/// aws-lc's, so state that was not released earlier is still there when this destructor runs.
#[test]
fn a_helper_that_has_signed_leaves_nothing_to_its_threads_end() {
    static LEFT: AtomicUsize = AtomicUsize::new(usize::MAX);
    extern "C" fn count_others(_: *mut c_void) {
        let others = (0..KEYS_MAX).filter(|key| {
            // SAFETY: an unused key has no value, and the call only reads.
            unsafe { !libc::pthread_getspecific(*key).is_null() }
        });
        LEFT.store(others.count(), Ordering::SeqCst);
    }
    // Another test in this process may have made aws-lc create its key first.
    if alone(&[]) || !has_cpus() {
        return;
    }
    if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        return skip("aws-lc-sys has no binding here that gives it back");
    }
    let mut key = 0;
    // SAFETY: `key` has room for the key, and the function is never unloaded.
    let made = unsafe { libc::pthread_key_create(&mut key, Some(count_others)) };
    assert_eq!(made, 0);

    // SAFETY: no precondition. The standard library would leave state of its own with the thread.
    let thread = || unsafe { libc::pthread_self() };
    let (caller, (tell, told)) = (thread(), mpsc::channel());
    let accelerator = Accelerator::builder().max_threads(1).build().unwrap();
    let rsa = accelerator.rsa(&RsaPrivateKey::from_pem(keys::RSA2048).unwrap());
    // A job that is done before the callback is set calls it on this thread.
    let is_told_by_helper = (0..1000).any(|_| {
        let tell = tell.clone();
        rsa.submit_sign(SCHEME, b"message".to_vec(), JobOptions::default())
            .unwrap()
            .on_completion(move |result| {
                let is_helper = thread() != caller;
                if is_helper {
                    // SAFETY: the key exists, and its destructor does not follow the pointer.
                    unsafe {
                        libc::pthread_setspecific(key, NonNull::<u8>::dangling().as_ptr().cast())
                    };
                }
                tell.send((result.is_ok(), is_helper)).unwrap();
            });
        told.recv() == Ok((true, true))
    });
    assert!(is_told_by_helper);
    // Dropping the pool joins its thread.
    drop((rsa, accelerator));
    assert_eq!(LEFT.load(Ordering::SeqCst), 0);
}

const KEYS_MAX: libc::pthread_key_t = 1024;
