//! Jobs and fork. Alone in their program: a child has the locks of every thread that was about.
#![cfg(feature = "software")]
#![allow(clippy::unwrap_used, unsafe_code)]

use std::sync::atomic::{AtomicBool, Ordering};

use oarlock::{Accelerator, Error, Hash, JobOptions, RsaPrivateKey, SignatureScheme};

const SCHEME: SignatureScheme = SignatureScheme::Pss(Hash::Sha256);

const PEM: &str = include_str!("keys/rsa2048.pem");

#[test]
fn a_child_finds_its_parents_jobs_cancelled_and_its_own_done() {
    let key = RsaPrivateKey::from_pem(PEM).unwrap();
    for max_threads in [0, 2] {
        let accelerator = Accelerator::builder().max_threads(max_threads).build();
        let rsa = accelerator.unwrap().rsa(&key);
        let submit = |i: u8| {
            rsa.submit_sign(SCHEME, vec![i], JobOptions::default())
                .unwrap()
        };
        for _ in 0..20 {
            let jobs: Vec<_> = (0..16).map(submit).collect();
            // SAFETY: the child touches nothing that another thread may have left half done, as is
            // being tested, and leaves by _exit.
            let child = unsafe { libc::fork() };
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
                // SAFETY: no preconditions.
                unsafe { libc::_exit(i32::from(!(is_expected && is_done))) };
            }
            assert!(results.into_iter().all(|result| result.is_ok()));
            let mut status = 0;
            // SAFETY: a child of this process, and a place for its status.
            unsafe { libc::waitpid(child, &mut status, 0) };
            assert_eq!(status, 0);
        }
    }
}

/// What aws-lc keeps for a thread has a lock, taken where a thread that has signed ends.
#[test]
fn a_child_signs_while_its_parents_threads_come_and_go() {
    let key = RsaPrivateKey::from_pem(PEM).unwrap();
    let sign_by_a_helper = || {
        let accelerator = Accelerator::builder().max_threads(1).build().unwrap();
        let rsa = accelerator.rsa(&key);
        let job = rsa.submit_sign(SCHEME, b"message".to_vec(), JobOptions::default());
        let mut job = job.unwrap();
        // Who waits may compute it; who asks does so only where there is no helper.
        loop {
            if let Some(result) = job.try_wait() {
                return result.is_ok();
            }
            std::thread::yield_now();
        }
    };
    // The long form, by hand: 20,000 forks take some minutes.
    let rounds = std::env::var("OARLOCK_TEST_FORKS").map_or(100, |count| count.parse().unwrap());
    let is_done = AtomicBool::new(false);
    let bad_end = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                assert!(sign_by_a_helper());
            }
        });
        let mut ends = (0..rounds).map(|_| {
            // SAFETY: the child does what a forked child of a threaded program may do with this
            // library, and ends; the alarm ends it where it would wait for ever.
            let child = unsafe { libc::fork() };
            if child == 0 {
                // SAFETY: no precondition.
                unsafe { libc::alarm(10) };
                let is_good = sign_by_a_helper();
                // SAFETY: ends the child without running the parent's exit handlers.
                unsafe { libc::_exit(i32::from(!is_good)) };
            }
            let mut status = 0;
            // SAFETY: a child of this process, and a place for its status.
            unsafe { libc::waitpid(child, &mut status, 0) };
            status
        });
        let bad_end = ends.find(|status| *status != 0);
        is_done.store(true, Ordering::Relaxed);
        bad_end
    });
    assert_eq!(bad_end, None, "how a child ended");
}
