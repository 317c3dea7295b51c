//! The stream of `AcceleratedCtr`, compared with RustCrypto's for every strategy and device.

use cipher::{StreamCipher, StreamCipherSeek};
use oarlock::{Accelerator, Strategy};
use oarlock_testing::has_cpus;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::common::{apply_reference, reference};

#[test]
fn any_split_and_seek_agrees_with_rustcrypto_whatever_the_strategy_and_device() {
    let mut rng = StdRng::seed_from_u64(7);
    for (mask, device) in [
        ("", None),
        ("-avx512", None),
        ("-vaes", None),
        ("-aes", Some("software")),
        ("-aes,-gfni", Some("software")),
        ("-aes,-avx2", Some("software")),
        ("-ssse3", Some("software")),
    ] {
        for strategy in [Strategy::Auto, Strategy::Inline, Strategy::Stripe] {
            let accelerator = Accelerator::builder()
                .max_threads(3)
                .strategy(strategy)
                .cpu_mask(mask)
                .build()
                .unwrap();
            for key_bytes in [16, 24, 32] {
                let mut key = vec![0; key_bytes];
                let mut iv = [0; 16];
                rng.fill(&mut key[..]);
                rng.fill(&mut iv[..]);
                let mut cipher = accelerator.ctr(&key, &iv).unwrap();
                assert!(device.is_none_or(|device| cipher.device() == device));
                let mut position = 0u64;
                for _ in 0..12 {
                    if rng.random_ratio(1, 3) {
                        position = rng.random_range(0..1 << 40);
                        cipher.seek(position);
                    }
                    let bytes = rng.random_range(0..300_000);
                    let mut data = vec![0; bytes];
                    rng.fill(&mut data[..]);
                    let mut oracle = data.clone();
                    apply_reference(&key, &iv, position, &mut oracle);
                    if rng.random() {
                        cipher.apply_keystream(&mut data);
                    } else {
                        let input = data.clone();
                        cipher.apply_keystream_b2b(&input, &mut data);
                    }
                    assert!(
                        data == oracle,
                        "{mask} {strategy:?} {key_bytes} at {position}, {bytes} bytes"
                    );
                    position += bytes as u64;
                    assert_eq!(cipher.current_pos::<u64>(), position);
                }
            }
        }
    }
}

/// The counter block is one 128-bit number: the carry runs through all of it, and wraps.
#[test]
fn carries_run_through_stripes_and_calls() {
    for mask in ["", "-face", "-avx512", "-vaes", "-aes"] {
        for strategy in [Strategy::Inline, Strategy::Stripe] {
            let accelerator = Accelerator::builder()
                .max_threads(2)
                .strategy(strategy)
                .cpu_mask(mask)
                .build()
                .unwrap();
            for bits in [8, 16, 32, 40, 64, 96, 128] {
                // The wrap lies within the first stripe, within the second, and at its edge.
                for blocks_before in [3u128, 1024, 1500, 5000] {
                    let end = if bits == 128 { 0 } else { 1u128 << bits };
                    let iv = end.wrapping_sub(blocks_before).to_be_bytes();
                    let key = [0x5a; 16];
                    let oracle = reference(&key, &iv, 200_000);
                    let mut data = vec![0; 200_000];
                    let mut cipher = accelerator.ctr(&key, &iv).unwrap();
                    let (head, rest) = data.split_at_mut(77);
                    cipher.apply_keystream(head);
                    cipher.apply_keystream(rest);
                    assert!(
                        data == oracle,
                        "{mask} {strategy:?} 2^{bits}, {blocks_before} before"
                    );
                }
            }
        }
    }
}

#[test]
fn stripes_that_are_asked_for_are_made_of_short_requests_too() {
    let accelerator = Accelerator::builder()
        .max_threads(2)
        .strategy(Strategy::Stripe)
        .build()
        .unwrap();
    if !has_cpus() {
        return;
    }
    let mut cipher = accelerator.ctr(&[1; 16], &[2; 16]).unwrap();
    let mut data = vec![0; 150_000];
    cipher.apply_keystream(&mut data);
    assert!(data == reference(&[1; 16], &[2; 16], 150_000));
    let stats = accelerator.stats().algorithms;
    let striped: u64 = stats.values().map(|it| it.striped_requests).sum();
    assert_eq!(striped, 1);
}
