//! Jobs and fork. Alone in its program: a child has the locks of every thread that was about.
#![cfg(feature = "software")]
#![allow(clippy::unwrap_used, unsafe_code)]

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
