//! Published vectors (SP 800-38A, RFC 3686, CAVP) through every kernel, device and strategy.
//!
//! Each test has a process to itself, because calls of other tests would count as its own.

#[cfg(feature = "rsa")]
mod rsa;
mod sealed;

use cipher::StreamCipher;
use oarlock::{Accelerator, Strategy};
use oarlock_kernels::aes::dispatch::{self, Counter};
use oarlock_testing::alone;
use oarlock_vectors::{CtrVector, cavp, short};

/// Returns every mask with the device that then serves and the kernel whose counter must move.
fn ways() -> impl Iterator<Item = (&'static str, &'static str, Option<&'static Counter>)> {
    let cpu = Accelerator::builder().build().unwrap().cpu();
    [
        ("-vaes", "aes", &dispatch::AES_NI),
        ("-avx512", "vaes", &dispatch::VAES256),
        ("-face", "avx512", &dispatch::VAES512),
        ("", "face", &dispatch::VAES512),
    ]
    .into_iter()
    .filter(move |(_, needs, _)| cpu.features().any(|feature| feature.name() == *needs))
    .map(|(mask, _, counter)| (mask, "cpu", Some(counter)))
    .chain(["-aes", "-ssse3"].map(|mask| (mask, "software", None)))
}

fn check(vectors: &[CtrVector]) {
    for (mask, device, counter) in ways() {
        let before = counter.map(Counter::get);
        for strategy in [Strategy::Inline, Strategy::Stripe, Strategy::Prefetch] {
            let accelerator = Accelerator::builder()
                .cpu_mask(mask)
                .max_threads(2)
                .cipher_blocks(32)
                .strategy(strategy)
                .build();
            let accelerator = accelerator.unwrap();
            for vector in vectors {
                let mut cipher = accelerator.ctr(&vector.key, &vector.counter_block).unwrap();
                assert_eq!(cipher.device(), device);
                let mut data = vector.plaintext.clone();
                cipher.apply_keystream(&mut data);
                assert_eq!(
                    data, vector.ciphertext,
                    "{} {mask} {strategy:?}",
                    vector.source
                );
                let mut byte_by_byte = accelerator.ctr(&vector.key, &vector.counter_block).unwrap();
                data.chunks_mut(1)
                    .for_each(|byte| byte_by_byte.apply_keystream(byte));
                assert_eq!(
                    data, vector.plaintext,
                    "{} {mask} {strategy:?}",
                    vector.source
                );
            }
        }
        assert!(
            counter.is_none() || counter.map(Counter::get) > before,
            "{mask}: another kernel ran"
        );
    }
}

#[test]
fn sp_800_38a() {
    if alone(&[]) {
        return;
    }
    check(&short::sp_800_38a());
}

#[test]
fn rfc_3686() {
    if alone(&[]) {
        return;
    }
    check(&short::rfc_3686());
    check(&cavp::aes_ctr().unwrap());
}

/// A counter's keystream block is the encrypted counter, so CAVP's block vectors test CTR.
#[test]
fn cavp_blocks() {
    if alone(&[]) {
        return;
    }
    let vectors: Vec<_> = cavp::aes_blocks()
        .unwrap()
        .into_iter()
        .map(|block| CtrVector {
            source: block.source,
            key: block.key,
            counter_block: block.plaintext,
            plaintext: vec![0; 16],
            ciphertext: block.ciphertext.to_vec(),
        })
        .collect();
    assert!(vectors.len() > 2000);
    check(&vectors);
}
