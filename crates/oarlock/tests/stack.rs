//! An ordinary thread's stack, and a helper's, are enough for every kernel.
//! A program of its own, because one that needs more ends, and because `cargo xtask ci` compiles it without
//! optimization, too, as a program does that depends on the crate and says nothing about it: frames are
//! largest then.
#![allow(clippy::unwrap_used)]

use std::sync::Barrier;
use std::thread;

use oarlock::cipher::StreamCipher;
use oarlock::{Accelerator, Algorithm, Kind};

/// What `std::thread` gives a thread.
const ORDINARY_BYTES: usize = 2 << 20;

#[test]
fn a_threads_stack_is_enough_for_every_kernel() {
    let thread = thread::Builder::new().stack_size(ORDINARY_BYTES);
    thread.spawn(compute).unwrap().join().unwrap();
}

#[test]
fn a_helpers_stack_is_enough_for_every_kernel() {
    let pool = Accelerator::builder().max_threads(3).build().unwrap();
    let all_are_there = Barrier::new(pool.parallelism());
    pool.work_together(3, &|| {
        all_are_there.wait();
        compute();
    });
}

/// Every algorithm over short and long messages.
fn compute() {
    let alone = Accelerator::builder().max_threads(0).build().unwrap();
    for &algorithm in Algorithm::ALL.iter().filter(|one| one.is_built_in()) {
        let key = vec![5; algorithm.key_bytes()];
        for bytes in [16, 256, 1 << 10, 4 << 10, 256 << 10] {
            let mut data = vec![7; bytes];
            match algorithm.kind() {
                Kind::Stream { iv_bytes, .. } => {
                    let stream = alone.stream(algorithm, &key, &[0; 16][..iv_bytes]);
                    stream.unwrap().apply_keystream(&mut data);
                }
                Kind::Aead => {
                    let aead = alone.aead(algorithm, &key).unwrap();
                    let tag = aead.seal(&[0; 12], b"", data.as_mut_slice().into());
                    let tag = tag.unwrap();
                    aead.open(&[0; 12], b"", data.as_mut_slice().into(), &tag)
                        .unwrap();
                }
                Kind::Cbc => {
                    let mut cbc = alone.cbc(&key, &[0; 16]).unwrap();
                    cbc.encrypt(data.as_mut_slice().into()).unwrap();
                    cbc.decrypt(data.as_mut_slice().into()).unwrap();
                }
                _ => {}
            }
        }
    }
}
