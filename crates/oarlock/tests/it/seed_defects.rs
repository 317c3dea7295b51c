//! Faults of the software accelerator of 2008, one test each (see docs/internals/process-model.md and the project's design:
//! "Do better than the seed where it is weak").

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

use cipher::StreamCipher;
use oarlock::{Accelerator, Error, Options, Reservation};
use oarlock_testing::until;

use crate::common::{reference, striped};

const KEY: [u8; 16] = [0x2b; 16];
const IV: [u8; 16] = [0xf0; 16];

#[test]
fn an_iv_given_with_a_call_is_used() {
    let accelerator = striped();
    let mut cipher = accelerator.ctr(&KEY, &IV).unwrap();
    cipher.apply_keystream(&mut [0; 100]);
    for bytes in [40, 200_000] {
        let other = [0x11; 16];
        let mut data = vec![0; bytes];
        cipher.apply_keystream_with_iv(&other, &mut data).unwrap();
        assert!(data == reference(&KEY, &other, bytes));
    }
}

#[test]
fn set_iv_does_not_wait_for_work_under_way() {
    // The pool is busy with other work until the IV is set.
    let accelerator = striped();
    let mut cipher = accelerator.ctr(&KEY, &IV).unwrap();
    let release = AtomicBool::new(false);
    let busy = Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let first = AtomicBool::new(true);
            accelerator.work_together(2, &|| {
                if first.swap(false, Ordering::Relaxed) {
                    busy.wait();
                }
                until("the IV is set", || release.load(Ordering::Relaxed));
            });
        });
        busy.wait();
        for _ in 0..1000 {
            cipher.set_iv(&[0x22; 16]).unwrap();
        }
        release.store(true, Ordering::Relaxed);
    });
    let mut data = vec![0; 50_000];
    cipher.apply_keystream(&mut data);
    assert!(data == reference(&KEY, &[0x22; 16], 50_000));
}

#[test]
fn a_second_key_gives_its_own_stream() {
    let accelerator = striped();
    let mut cipher = accelerator.ctr(&KEY, &IV).unwrap();
    let mut beside = accelerator.ctr(&KEY, &IV).unwrap();
    cipher.apply_keystream(&mut vec![0; 100_000]);
    for round in 0..20u8 {
        let key = [round; 16];
        cipher.set_key(&key, &IV).unwrap();
        let mut data = vec![0; 70_001];
        cipher.apply_keystream(&mut data);
        assert!(data == reference(&key, &IV, 70_001), "round {round}");
    }
    // Nor did it disturb another session.
    let mut data = vec![0; 70_001];
    beside.apply_keystream(&mut data);
    assert!(data == reference(&KEY, &IV, 70_001));
}

#[test]
fn a_key_that_does_not_fit_leaves_the_old_one() {
    let accelerator = striped();
    let mut cipher = accelerator.ctr(&KEY, &IV).unwrap();
    assert!(matches!(
        cipher.set_key(&[0; 15], &IV),
        Err(Error::InvalidKey(_))
    ));
    assert!(matches!(
        cipher.set_key(&KEY, &[0; 12]),
        Err(Error::InvalidInput(_))
    ));
    let mut data = vec![0; 1000];
    cipher.apply_keystream(&mut data);
    assert!(data == reference(&KEY, &IV, 1000));
}

#[test]
fn short_calls_in_a_row_do_not_overrun() {
    let accelerator = striped();
    let expected = reference(&KEY, &IV, 4096);
    for step in [1, 2, 3, 7, 15, 16, 17, 31, 33, 100] {
        let mut cipher = accelerator.ctr(&KEY, &IV).unwrap();
        // The byte after each piece must not change.
        let mut data = vec![0; 4097];
        data[4096] = 0xee;
        let mut at = 0;
        while at < 4096 {
            let end = (at + step).min(4096);
            let guard = data[end];
            cipher.apply_keystream(&mut data[at..end]);
            assert_eq!(data[end], guard);
            at = end;
        }
        assert!(data[..4096] == expected[..], "steps of {step}");
    }
}

#[test]
fn there_is_no_cipher_without_a_key() {
    // The seed hung when asked to encrypt before set_key. Here a cipher is created with its key.
    let error = striped().ctr(&[], &IV).unwrap_err();
    assert_eq!(
        error.to_string(),
        "an AES key has 16, 24 or 32 bytes, this one has 0"
    );
}

#[test]
fn teardown_does_not_race_with_work() {
    for round in 0..200 {
        let accelerator = striped();
        let ciphers: Vec<_> = (0..3)
            .map(|_| accelerator.ctr(&KEY, &IV).unwrap())
            .collect();
        let expected = reference(&KEY, &IV, 100_000);
        let start = Barrier::new(4);
        std::thread::scope(|scope| {
            for mut cipher in ciphers {
                let (start, expected) = (&start, &expected);
                scope.spawn(move || {
                    start.wait();
                    let mut data = vec![0; 100_000];
                    cipher.apply_keystream(&mut data);
                    assert!(data == *expected, "round {round}");
                });
            }
            start.wait();
            // The handle is dropped while they work; the last of them ends the pool.
            drop(accelerator);
        });
    }
}

#[test]
fn the_number_of_streams_follows_the_threads() {
    for (text, streams) in [("", 4), ("cipher_threads=5", 10), ("cipher_streams=3", 3)] {
        assert_eq!(
            text.parse::<Options>().unwrap().cipher_streams(),
            streams,
            "{text}"
        );
    }
}

#[test]
fn exclusive_threads_are_kept_refused_and_given_back() {
    let accelerator = Accelerator::builder()
        .max_threads(5)
        .reservation(Reservation::Exclusive)
        .build()
        .unwrap();
    let first = accelerator.ctr(&KEY, &IV).unwrap();
    let second = accelerator.ctr(&KEY, &IV).unwrap();
    let error = accelerator.ctr(&KEY, &IV).unwrap_err();
    assert_eq!(error, Error::NoThreadsFree { wanted: 2, free: 1 });
    drop(first);
    let third = accelerator.ctr(&KEY, &IV).unwrap();
    drop((second, third));
    assert!(accelerator.ctr(&KEY, &IV).is_ok());
}
