//! Prefetched keystream: the same bytes at any fill level, and all edge cases.

use std::time::Duration;

use cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
use oarlock::Algorithm;
use oarlock::cipher::{AcceleratedCtr, AnyStream};
use oarlock::{Accelerator, PrefetchWorker, Reservation, Strategy};
use oarlock_testing::{alone, has_cpus, until};
use rand::{RngExt, SeedableRng, rngs::StdRng};

use crate::common::{reference, tasks};

const KEY: [u8; 32] = *b"thirty-two bytes of a secret key";

fn builder() -> oarlock::Builder {
    Accelerator::builder()
        .max_threads(2)
        .strategy(Strategy::Prefetch)
}

fn key_of(operation: Algorithm) -> &'static [u8] {
    &KEY[..operation.key_bytes()]
}

/// Algorithms and the bytes of their IVs, one for each shape and speed of streams.
const OPERATIONS: [(Algorithm, usize); 4] = [
    (Algorithm::Aes128Ctr, 16),
    (Algorithm::Camellia128Ctr, 16),
    (Algorithm::TripleDesCtr, 8),
    (Algorithm::ChaCha20, 12),
];

/// Returns the stream of `operation` by RustCrypto.
fn oracle(operation: Algorithm, iv: &[u8], bytes: usize) -> Vec<u8> {
    fn stream<C: KeyIvInit + StreamCipher>(key: &[u8], iv: &[u8], bytes: usize) -> Vec<u8> {
        let mut stream = vec![0; bytes];
        C::new_from_slices(key, iv)
            .unwrap()
            .apply_keystream(&mut stream);
        stream
    }
    let key = key_of(operation);
    match operation {
        Algorithm::Aes128Ctr => stream::<ctr::Ctr128BE<aes::Aes128>>(key, iv, bytes),
        Algorithm::Camellia128Ctr => stream::<ctr::Ctr128BE<camellia::Camellia128>>(key, iv, bytes),
        Algorithm::TripleDesCtr => stream::<ctr::Ctr64BE<des::TdesEde3>>(key, iv, bytes),
        Algorithm::ChaCha20 => stream::<chacha20::ChaCha20>(key, iv, bytes),
        other => unreachable!("{other}"),
    }
}

fn open(accelerator: &Accelerator, operation: Algorithm, iv: &[u8]) -> AcceleratedCtr<AnyStream> {
    accelerator
        .stream(operation, key_of(operation), iv)
        .unwrap()
}

/// Waits until the streams are full, so that the next requests use them.
fn wait_until_full(cipher: &mut AcceleratedCtr<AnyStream>) {
    until("the streams are full", || {
        cipher.prefill(Duration::from_secs(1)) == 0
    });
}

#[test]
fn what_is_ready_and_what_is_not_give_one_stream() {
    let mut random = StdRng::seed_from_u64(1);
    for (operation, iv_bytes) in OPERATIONS {
        for worker in [PrefetchWorker::Pool, PrefetchWorker::Idle] {
            let accelerator = builder()
                .cipher_blocks(64)
                .cipher_streams(3)
                .prefetch_worker(worker)
                .build()
                .unwrap();
            let mut iv = vec![0xff; iv_bytes];
            iv[0] = 1;
            let expected = oracle(operation, &iv, 300_000);
            let mut cipher = open(&accelerator, operation, &iv);
            let mut at = 0;
            while at < expected.len() {
                let bytes = match random.random_range(0..4) {
                    0 => random.random_range(0..20),
                    1 => random.random_range(0..600),
                    2 => 4096,
                    _ => random.random_range(0..20_000),
                }
                .min(expected.len() - at);
                let mut data = vec![0; bytes];
                cipher.apply_keystream(&mut data);
                assert!(
                    data == expected[at..at + bytes],
                    "{operation} {worker:?} at {at}"
                );
                at += bytes;
            }
        }
    }
}

#[test]
fn seeks_forward_and_backward_and_new_ivs_every_few_bytes() {
    let mut random = StdRng::seed_from_u64(2);
    for (operation, iv_bytes) in OPERATIONS {
        let accelerator = builder().cipher_blocks(64).build().unwrap();
        let ivs: Vec<Vec<u8>> = (0..3).map(|n| vec![n; iv_bytes]).collect();
        let expected: Vec<_> = ivs.iter().map(|iv| oracle(operation, iv, 60_000)).collect();
        let mut cipher = open(&accelerator, operation, &ivs[0]);
        let (mut number, mut at) = (0, 0usize);
        for _ in 0..3000 {
            match random.random_range(0..6) {
                0 => {
                    number = random.random_range(0..3);
                    at = 0;
                    cipher.set_iv(&ivs[number]).unwrap();
                }
                1 => {
                    at = random.random_range(0..50_000);
                    cipher.seek(at);
                }
                2 => {
                    at = at.saturating_sub(random.random_range(0..500));
                    cipher.seek(at);
                }
                3 => {
                    at = (at + random.random_range(0..5000)).min(50_000);
                    cipher.seek(at);
                }
                _ => {}
            }
            let bytes = random.random_range(0..200).min(60_000 - at);
            let mut data = vec![0; bytes];
            cipher.apply_keystream(&mut data);
            assert!(
                data == expected[number][at..at + bytes],
                "{operation} at {at}"
            );
            at += bytes;
            assert_eq!(cipher.current_pos::<usize>(), at);
        }
    }
}

#[test]
fn a_full_ring_of_another_nonce_is_not_used() {
    for (operation, iv_bytes) in OPERATIONS {
        let accelerator = builder().build().unwrap();
        let (old, mut new) = ([3; 16], [3; 16]);
        // A byte of ChaCha20's nonce, and of the other ciphers' counter.
        new[2] = 4;
        let mut cipher = open(&accelerator, operation, &old[..iv_bytes]);
        wait_until_full(&mut cipher);
        cipher.set_iv(&new[..iv_bytes]).unwrap();
        let mut stream = vec![0; 100];
        cipher.apply_keystream(&mut stream);
        assert_eq!(
            stream,
            oracle(operation, &new[..iv_bytes], 100),
            "{operation}"
        );
    }
}

#[test]
fn a_new_key_every_few_bytes() {
    let accelerator = builder().cipher_blocks(64).build().unwrap();
    let mut cipher = accelerator.ctr(&KEY, &[0; 16]).unwrap();
    for number in 0..500u32 {
        let mut key = [0; 16];
        key[..4].copy_from_slice(&number.to_be_bytes());
        cipher.set_key(&key, &[7; 16]).unwrap();
        let mut data = [0; 100];
        cipher.apply_keystream(&mut data);
        assert_eq!(data[..], reference(&key, &[7; 16], 100));
    }
}

#[test]
fn a_full_ring_serves_a_burst_and_says_so() {
    for (operation, iv_bytes) in OPERATIONS {
        // No worker, which might still be at the last granule.
        let accelerator = builder().max_threads(0).build().unwrap();
        let iv = vec![3; iv_bytes];
        let mut cipher = open(&accelerator, operation, &iv);
        wait_until_full(&mut cipher);
        let bytes = cipher.prefetch_bytes();
        assert!(bytes > 0);
        let mut data = vec![0; bytes];
        cipher.apply_keystream(&mut data[..bytes / 2]);
        cipher.apply_keystream(&mut data[bytes / 2..]);
        assert!(data == oracle(operation, &iv, bytes));
        cipher.hand_in_stats();
        let stats = accelerator.stats().algorithms;
        let counts = stats[&("cpu".into(), operation)];
        assert_eq!(counts.prefetched_bytes, bytes as u64, "{operation}");
    }
}

#[test]
fn workers_fill_the_streams_while_nobody_asks() {
    for worker in [PrefetchWorker::Pool, PrefetchWorker::Idle] {
        let accelerator = builder().prefetch_worker(worker).build().unwrap();
        if worker == PrefetchWorker::Pool && accelerator.parallelism() == 1 {
            continue;
        }
        let mut cipher = open(&accelerator, Algorithm::ChaCha20, &[0; 12]);
        // At some time all of it is prefetched, whatever else disturbs the threads.
        until("a whole piece is made ahead", || {
            std::thread::sleep(Duration::from_millis(5));
            let mut data = [0; 4096];
            cipher.apply_keystream(&mut data);
            cipher.hand_in_stats();
            let counts = accelerator.stats().algorithms[&("cpu".into(), Algorithm::ChaCha20)];
            counts.prefetched_bytes >= 4096
        });
    }
}

#[test]
fn ciphers_come_and_go_while_their_streams_are_filled() {
    let accelerator = builder().build().unwrap();
    for number in 0..250u8 {
        let mut cipher = open(&accelerator, Algorithm::Camellia128Ctr, &[number; 16]);
        let mut data = [0; 10];
        cipher.apply_keystream(&mut data);
    }
    drop(accelerator);
}

#[test]
fn two_thousand_ciphers_stay_under_the_memory_cap() {
    let cap = 4 << 20;
    let accelerator = builder().prefetch_bytes(cap).build().unwrap();
    let mut ciphers: Vec<_> = (0..2000u32)
        .map(|number| {
            let mut iv = [0; 16];
            iv[..4].copy_from_slice(&number.to_be_bytes());
            (iv, open(&accelerator, Algorithm::Camellia128Ctr, &iv))
        })
        .collect();
    assert!(accelerator.prefetch_bytes() <= cap);
    let with_streams = ciphers
        .iter()
        .filter(|(_, one)| one.prefetch_bytes() > 0)
        .count();
    assert!((1..2000).contains(&with_streams), "{with_streams}");
    for (iv, cipher) in &mut ciphers {
        let mut data = [0; 100];
        cipher.apply_keystream(&mut data);
        assert!(data[..] == oracle(Algorithm::Camellia128Ctr, iv, 100));
    }
    drop(ciphers);
    // The threads that fill the streams release them soon after.
    until("all are let go", || accelerator.prefetch_bytes() == 0);
}

#[test]
fn an_exclusive_reservation_that_runs_out_leaves_the_others_going() {
    let accelerator = builder()
        .max_threads(4)
        .cipher_threads(2)
        .reservation(Reservation::Exclusive)
        .build()
        .unwrap();
    let mut first = open(&accelerator, Algorithm::Aes128Ctr, &[1; 16]);
    let mut second = open(&accelerator, Algorithm::Aes128Ctr, &[2; 16]);
    let refused = accelerator.ctr(&KEY[..16], &[3; 16]).unwrap_err();
    assert_eq!(
        refused,
        oarlock::Error::NoThreadsFree { wanted: 2, free: 0 }
    );
    for (cipher, iv) in [(&mut first, [1; 16]), (&mut second, [2; 16])] {
        let mut data = vec![0; 10_000];
        cipher.apply_keystream(&mut data);
        assert!(data == oracle(Algorithm::Aes128Ctr, &iv, 10_000));
    }
}

#[test]
fn options_change_while_a_session_runs() {
    let accelerator = Accelerator::builder()
        .strategy(Strategy::Inline)
        .build()
        .unwrap();
    let mut cipher = open(&accelerator, Algorithm::TripleDesCtr, &[0; 8]);
    let expected = oracle(Algorithm::TripleDesCtr, &[0; 8], 8 * 50_000);
    for (number, strategy) in [
        "prefetch", "stripe", "auto", "inline", "prefetch", "auto", "stripe", "inline",
    ]
    .into_iter()
    .enumerate()
    {
        let mut options = accelerator.options();
        options.set("strategy", strategy).unwrap();
        options
            .set("max_threads", &(number % 3).to_string())
            .unwrap();
        accelerator.set_options(options).unwrap();
        let mut data = vec![0; 50_000];
        let (head, tail) = data.split_at_mut(30_000);
        cipher.apply_keystream(head);
        cipher.apply_keystream(tail);
        assert!(data == expected[number * 50_000..][..50_000], "{strategy}");
        assert_eq!(
            cipher.prefetch_bytes() > 0,
            strategy == "prefetch" || strategy == "auto" && number == 5,
            "{strategy}"
        );
    }
    let mut options = accelerator.options();
    options.cipher_blocks = 15;
    assert!(accelerator.set_options(options).is_err());
    assert_eq!(accelerator.options().cipher_blocks, 4096);
}

#[test]
fn a_slow_cipher_with_pauses_comes_to_prefetch_by_itself() {
    let accelerator = Accelerator::builder().max_threads(1).build().unwrap();
    if !has_cpus() {
        return;
    }
    let mut cipher = open(&accelerator, Algorithm::TripleDesCtr, &[0; 8]);
    until("it does", || {
        for _ in 0..8 {
            cipher.apply_keystream(&mut [0; 4096]);
        }
        std::thread::sleep(Duration::from_millis(2));
        cipher.prefetch_bytes() > 0
    });
}

#[test]
fn any_budget_will_do() {
    let accelerator = builder().build().unwrap();
    for (operation, iv_bytes) in OPERATIONS {
        let iv = vec![1; iv_bytes];
        let mut cipher = open(&accelerator, operation, &iv);
        cipher.prefill(Duration::MAX);
        let mut data = [0; 1000];
        cipher.apply_keystream(&mut data);
        assert!(data[..] == oracle(operation, &iv, 1000), "{operation}");
    }
}

#[test]
fn without_threads_there_is_none_of_the_idle_class_either() {
    if alone(&[]) {
        return;
    }
    let before = tasks();
    let accelerator = builder()
        .max_threads(0)
        .prefetch_worker(PrefetchWorker::Idle)
        .build()
        .unwrap();
    let mut cipher = open(&accelerator, Algorithm::ChaCha20, &[1; 12]);
    let mut data = vec![0; 100_000];
    for _ in 0..10 {
        cipher.apply_keystream(&mut data);
        assert_eq!(tasks(), before);
    }
    cipher.hand_in_stats();
    let counts = accelerator.stats().algorithms[&("cpu".into(), Algorithm::ChaCha20)];
    assert_eq!(counts.prefetched_bytes, 0);
}
