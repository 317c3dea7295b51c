//! Every kernel fits an ordinary thread's stack, and a helper's. These tests are a program of their own, because a stack
//! overflow ends it, and because `cargo xtask ci` also compiles it without optimization, as a program that depends on the
//! crate by default does: frames are largest then.
#![allow(clippy::unwrap_used)]

use std::sync::Barrier;
use std::thread;

use oarlock::cipher::StreamCipher;
use oarlock::{Accelerator, Algorithm, Kind};

/// The default stack of `std::thread`.
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

/// Runs every algorithm over short and long messages.
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
    #[cfg(feature = "rsa")]
    public_keys();
}

/// Uses a key of every type. ML-DSA-87 needs the most stack, some 110 KB.
#[cfg(feature = "rsa")]
fn public_keys() {
    use oarlock::keys::{KeyType, PrivateKey, Scheme};

    for key_type in KeyType::ALL {
        let key = PrivateKey::generate(key_type).unwrap();
        let read = PrivateKey::from_bytes(&key.to_pkcs8_der().unwrap()).unwrap();
        let public = read.public_key();
        if let Some(scheme) = Scheme::usual(key_type) {
            let signature = key.sign(&scheme, b"message").unwrap();
            public.verify(&scheme, b"message", &signature).unwrap();
        }
        if key_type.agrees() {
            key.agree(public).unwrap();
        }
        if key_type.encapsulates() {
            let (ciphertext, secret) = public.encapsulate().unwrap();
            assert_eq!(key.decapsulate(&ciphertext).unwrap(), secret);
        }
    }
}
