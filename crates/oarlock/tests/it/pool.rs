//! The pool from outside: panics, nesting, and many threads at once.

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::atomic::{AtomicUsize, Ordering};

use cipher::{StreamCipher, StreamCipherSeek};
use oarlock::{Accelerator, Strategy};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::common::{meet, reference};

const KEY: [u8; 16] = [0x5a; 16];
const IV: [u8; 16] = [0xff; 16];

fn accelerator() -> Accelerator {
    Accelerator::builder().max_threads(3).build().unwrap()
}

#[test]
fn panics_everywhere_come_back_as_one_even_if_their_payloads_panic() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("the payload's drop");
        }
    }
    let accelerator = accelerator();
    let threads = accelerator.parallelism();
    for _ in 0..20 {
        let arrived = AtomicUsize::new(0);
        let result = catch_unwind(AssertUnwindSafe(|| {
            accelerator.work_together(3, &|| {
                meet(&arrived, threads);
                panic_any(Bomb);
            });
        }));
        let payload = result.unwrap_err();
        assert!(payload.is::<Bomb>());
        std::mem::forget(payload);
    }
    // The helpers still work.
    let done = AtomicUsize::new(0);
    accelerator.work_together(3, &|| {
        meet(&done, threads);
    });
    assert_eq!(done.into_inner(), threads);
}

#[test]
fn work_may_ask_for_help_itself() {
    let accelerator = accelerator();
    for _ in 0..200 {
        let inner_work = AtomicUsize::new(0);
        accelerator.work_together(3, &|| {
            accelerator.work_together(3, &|| {
                accelerator.work_together(3, &|| {
                    inner_work.fetch_add(1, Ordering::Relaxed);
                });
            });
        });
        assert!(inner_work.into_inner() >= 1);
    }
}

#[test]
fn many_threads_and_sessions_at_once() {
    let expected = reference(&KEY, &IV, 2_000_000);
    for round in 1..=100_u64 {
        let accelerator = Accelerator::builder()
            .max_threads(1 + round as usize % 4)
            .cipher_threads(round as usize % 4)
            .spin(round % 3 != 0)
            .build()
            .unwrap();
        std::thread::scope(|scope| {
            for thread in 0..6 {
                let accelerator = accelerator.clone();
                let expected = &expected;
                scope.spawn(move || {
                    let mut rng = StdRng::seed_from_u64(round * 100 + thread);
                    let mut cipher = accelerator.ctr(&KEY, &IV).unwrap();
                    if rng.random() {
                        drop(accelerator);
                    }
                    for _ in 0..rng.random_range(1..20) {
                        cipher.set_strategy(match rng.random_range(0..3) {
                            0 => Strategy::Auto,
                            1 => Strategy::Inline,
                            _ => Strategy::Stripe,
                        });
                        let at = rng.random_range(0..expected.len());
                        let most = if rng.random() { 70 } else { 500_000 };
                        let bytes = rng.random_range(0..=most).min(expected.len() - at);
                        cipher.seek(at);
                        let mut data = vec![0; bytes];
                        cipher.apply_keystream(&mut data);
                        assert!(data == expected[at..at + bytes], "{at} {bytes}");
                    }
                });
            }
            drop(accelerator);
        });
    }
}
