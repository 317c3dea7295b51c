//! GCM messages whose pieces are short, above all their first.

use oarlock_kernels::aes::dispatch;
use rand::{SeedableRng, rngs::StdRng};

use super::{Way, alone, for_every_way, random_bytes};

for_every_way!(few_blocks_at_a_time, any_first_piece);

/// Whole blocks in calls of equal length, which have a kernel of their own up to four registers; with and without a partial
/// block of associated data before them.
fn few_blocks_at_a_time(way: Way) {
    let mut rng = StdRng::seed_from_u64(6);
    for key_bytes in [16, 24, 32] {
        let gcm = way.gcm(&random_bytes(&mut rng, key_bytes)).unwrap();
        for blocks in 1..=20 {
            for (aad_bytes, nonce_bytes) in [(0, 12), (13, 12), (32, 8)] {
                let nonce = random_bytes(&mut rng, nonce_bytes);
                let aad = random_bytes(&mut rng, aad_bytes);
                let plain = random_bytes(&mut rng, 3 * 16 * blocks);
                let mut expected = plain.clone();
                let tag = gcm.seal(&nonce, &aad, expected.as_mut_slice().into());
                let tag = tag.unwrap();
                for open in [false, true] {
                    let (input, output) = match open {
                        false => (&plain, &expected),
                        true => (&expected, &plain),
                    };
                    let mut data = input.clone();
                    let mut message = gcm.begin(&nonce, b"").unwrap();
                    gcm.aad_next(&mut message, &aad).unwrap();
                    for piece in data.chunks_mut(16 * blocks) {
                        let done = match open {
                            false => gcm.seal_next(&mut message, piece.into()),
                            true => gcm.open_next(&mut message, piece.into()),
                        };
                        done.unwrap();
                    }
                    assert!(data == *output, "{way:?}, {blocks} blocks, open: {open}");
                    assert_eq!(gcm.finish(message), tag, "{way:?}, {blocks} blocks");
                }
            }
        }
    }
}

/// A first piece of any length, after which the message ends, or continues within the partial block and beyond; also by a
/// copy, made after the first piece, that ends differently from its original.
fn any_first_piece(way: Way) {
    let mut rng = StdRng::seed_from_u64(7);
    for key_bytes in [16, 24, 32] {
        let key = random_bytes(&mut rng, key_bytes);
        let oracle = way.gcm(&key).unwrap();
        let first_long = [511, 512, 600, 1024, 1400, 4099, 12_287, 12_288];
        let firsts = (0..=130)
            .chain((131..1024).step_by(41))
            .chain([255, 256, 257]);
        for (first, is_early) in firsts
            .chain(first_long)
            .flat_map(|first| [(first, true), (first, false)])
        {
            // Still without a table.
            let gcm = way.gcm(&key).unwrap();
            if !is_early {
                for _ in 0..EARLY_MESSAGES {
                    let mut message = gcm.begin(&[0; 12], &[]).unwrap();
                    gcm.seal_next(&mut message, [0].as_mut_slice().into())
                        .unwrap();
                }
            }
            let (aad_bytes, nonce_bytes) =
                [(0, 12), (5, 12), (13, 12), (16, 12), (20, 12), (13, 8)][first % 6];
            let nonce = random_bytes(&mut rng, nonce_bytes);
            let aad = random_bytes(&mut rng, aad_bytes);
            let plain = random_bytes(&mut rng, first + 100);
            let sealed = |bytes: usize| {
                let mut data = plain[..bytes].to_vec();
                let tag = oracle.seal(&nonce, &aad, data.as_mut_slice().into());
                (data, tag.unwrap())
            };
            let whole = sealed(first + 100).0;
            for open in [false, true] {
                let (input, output) = if open {
                    (&whole, &plain)
                } else {
                    (&plain, &whole)
                };
                let next = |message: &mut _, data: &mut [u8]| {
                    let done = match open {
                        false => gcm.seal_next(message, data.into()),
                        true => gcm.open_next(message, data.into()),
                    };
                    done.unwrap();
                };
                let mut begun = gcm.begin(&nonce, b"").unwrap();
                gcm.aad_next(&mut begun, &aad).unwrap();
                let mut data = input.clone();
                next(&mut begun, &mut data[..first]);
                assert!(data[..first] == output[..first], "{way:?}, {first} bytes");
                let tag = gcm.finish(begun.clone());
                assert_eq!(tag, sealed(first).1, "{way:?}, {first} bytes, open: {open}");
                for pieces in [&[1, 2, 97][..], &[15, 1, 16], &[16, 16], &[64, 3], &[100]] {
                    let mut message = begun.clone();
                    let (mut data, mut at) = (input.clone(), first);
                    for bytes in pieces {
                        next(&mut message, &mut data[at..at + bytes]);
                        let done = first..at + bytes;
                        let is_right = data[done.clone()] == output[done];
                        assert!(is_right, "{way:?}, {first} bytes, then {pieces:?}");
                        at += bytes;
                    }
                    let tag = gcm.finish(message);
                    let expected = sealed(at).1;
                    assert_eq!(tag, expected, "{way:?}, {first} bytes, then {pieces:?}");
                }
            }
        }
    }
}

#[test]
fn first_pieces_have_a_kernel() {
    let _guard = alone();
    for way in Way::ALL.into_iter().filter(|way| way.cpu().is_some()) {
        let gcm = way.gcm(&[1; 16]).unwrap();
        let bytes_max = match way {
            Way::AesNi | Way::Vaes256 | Way::Vaes512 | Way::Face | Way::FaceShared => {
                (12 << 10) - 1
            }
            _ => 0,
        };
        let lengths = [1, 16, 64, 200, 257, 12_287, 12_288].map(|bytes| (bytes, 12));
        for (bytes, nonce_bytes) in lengths.into_iter().chain([(16, 8)]) {
            let mut message = gcm.begin(&vec![0; nonce_bytes], &[]).unwrap();
            let before = dispatch::GCM_FIRST.get();
            for _ in 0..2 {
                gcm.seal_next(&mut message, vec![0; bytes].as_mut_slice().into())
                    .unwrap();
            }
            let ran = dispatch::GCM_FIRST.get() - before;
            let expected = u64::from(bytes <= bytes_max && nonce_bytes == 12);
            assert_eq!(ran, expected, "{way:?}, {bytes} bytes");
        }
    }
}

#[test]
fn a_keys_first_messages_have_a_kernel_of_little_code() {
    let _guard = alone();
    for way in [Way::AesNi, Way::Vaes256, Way::Vaes512] {
        if way.cpu().is_none() {
            continue;
        }
        let gcm = way.gcm(&[1; 16]).unwrap();
        let mut runs = |bytes: usize| {
            let before = dispatch::GCM_COMPACT.get();
            let mut message = gcm.begin(&[0; 12], &[]).unwrap();
            gcm.seal_next(&mut message, vec![0; bytes].as_mut_slice().into())
                .unwrap();
            dispatch::GCM_COMPACT.get() - before
        };
        let runs: Vec<_> = [1, 64, 1024, 1025, 100, 16, 16].map(&mut runs).into();
        assert_eq!(runs, [1, 1, 1, 0, 1, 1, 0], "{way:?}");
    }
}

/// The same as in `gcm/hash.rs`.
const EARLY_MESSAGES: usize = 6;

#[test]
fn few_blocks_have_a_kernel() {
    let _guard = alone();
    for way in Way::ALL.into_iter().filter(|way| way.cpu().is_some()) {
        let gcm = way.gcm(&[1; 16]).unwrap();
        let blocks_max = match way {
            Way::AesNi => 4,
            Way::Vaes256 => 8,
            Way::Vaes512 | Way::Face | Way::FaceShared => 16,
            _ => 0,
        };
        let mut message = gcm.begin(&[0; 12], &[]).unwrap();
        gcm.seal_next(&mut message, [0; 16].as_mut_slice().into())
            .unwrap();
        for (bytes, runs) in [
            (16, 1),
            (64, 1),
            (16 * blocks_max, 1),
            (16 * blocks_max + 16, 0),
            (17, 0),
        ] {
            let before = dispatch::GCM_FEW.get();
            gcm.seal_next(&mut message, vec![0; bytes].as_mut_slice().into())
                .unwrap();
            let ran = dispatch::GCM_FEW.get() - before;
            let expected = if blocks_max == 0 { 0 } else { runs };
            assert_eq!(ran, expected, "{way:?}, {bytes} bytes");
        }
    }
}
