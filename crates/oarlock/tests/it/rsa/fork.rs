//! RSA keys and fork. The test is alone in its process: a child inherits the locks of every thread that existed.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use oarlock::Accelerator;
use oarlock::rsa::{AcceleratedRsa, Hash, RsaPrivateKey, SignatureScheme};
use oarlock_testing::{alone, until};

use crate::child::{end_of, fork, leave};
use crate::common::keys;

const SCHEME: SignatureScheme = SignatureScheme::Pkcs1(Hash::Sha256);

/// A fork can wait for the operations of one thread, which end soon; those of 40 threads with a long key do not, and the
/// children inherit them unfinished.
#[test]
fn a_child_uses_a_key_that_was_in_use_at_the_fork() {
    if alone(&[]) {
        return;
    }
    for (pem, threads, forks) in [(keys::RSA2048, 1, 200), (keys::RSA4096, 40, 20)] {
        let key = RsaPrivateKey::from_pem(pem).unwrap();
        let rsa = Accelerator::builder().build().unwrap().rsa(&key);
        // Dropping the accelerated key in a child then drops the key.
        drop(key);
        let bad_end = fork_beside(&rsa, threads, forks);
        assert_eq!(bad_end, None, "how a child of {threads} threads ended");
    }
}

fn fork_beside(rsa: &AcceleratedRsa, threads: usize, forks: u32) -> Option<i32> {
    let signature = rsa.sign(SCHEME, b"message").unwrap();
    let is_right = || {
        let signed = rsa.sign(SCHEME, b"message");
        let verified = rsa.public().verify(SCHEME, b"message", &signature);
        signed.as_ref() == Ok(&signature) && verified.is_ok()
    };
    let (is_done, signing) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                assert!(is_right());
                signing.fetch_add(1, Ordering::Relaxed);
                while !is_done.load(Ordering::Relaxed) {
                    assert!(is_right());
                }
            });
        }
        until("all threads sign", || {
            signing.load(Ordering::Relaxed) == threads
        });
        let mut ends = (0..forks).map(|_| {
            // SAFETY: the child uses and drops the key, as is being tested, and leaves.
            let child = unsafe { fork() };
            if child == 0 {
                let is_good = is_right() && is_right();
                // SAFETY: the copy in `rsa` is not used again, since the process ends. Dropping the key is part of the test.
                drop(unsafe { std::ptr::read(rsa) });
                leave(i32::from(!is_good));
            }
            end_of(child)
        });
        let bad_end = ends.find(|status| *status != 0);
        is_done.store(true, Ordering::Relaxed);
        bad_end
    })
}
