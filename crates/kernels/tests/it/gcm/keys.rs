//! A key's tables of powers of H, and keys that are set and wiped.

use std::sync::Barrier;

use oarlock_kernels::aes::{InvalidKeyLength, dispatch};
use oarlock_kernels::gcm::{Gcm, Tables};
use oarlock_kernels::testing::hold_gcm_tables;
use rand::{SeedableRng, rngs::StdRng};

use super::{check, gcm, oracle};
use crate::{Way, alone, for_every_way, random_bytes};

for_every_way!(
    first_use_by_many_threads,
    wrong_key_lengths_leave_the_key,
    a_new_key_forgets_the_old,
    a_table_that_another_thread_makes_is_not_waited_for,
    a_key_without_tables_does_the_same,
);

fn first_use_by_many_threads(way: Way) {
    for round in 0..60 {
        let plain = vec![0x21; [100, 250, 600, 5000][usize::from(round) % 4]];
        let key = [round; 16];
        let gcm = gcm(way, &key);
        let (cipher, tag) = oracle(&key, &[1; 12], b"aad", &plain);
        let barrier = Barrier::new(4);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    barrier.wait();
                    for _ in 0..4 {
                        let mut data = plain.clone();
                        let sealed = gcm.seal(&[1; 12], b"aad", data.as_mut_slice().into());
                        assert_eq!(sealed, Ok(tag), "{way:?}");
                        assert!(data == cipher, "{way:?}");
                        let mut message = gcm.begin(&[1; 12], b"aad").unwrap();
                        for piece in data.chunks_mut(160) {
                            gcm.open_next(&mut message, piece.into()).unwrap();
                        }
                        assert!(data == plain, "{way:?}");
                        assert_eq!(gcm.finish(message), tag, "{way:?}");
                    }
                });
            }
        });
    }
}

fn wrong_key_lengths_leave_the_key(way: Way) {
    let mut gcm = gcm(way, &[8; 24]);
    for length in (0..=65).filter(|length| ![16, 24, 32].contains(length)) {
        let error = gcm.set_key(&vec![1; length]).unwrap_err();
        assert_eq!(error, InvalidKeyLength(length));
    }
    check(way, &gcm, &[8; 24], &[1; 12], b"", &[0; 1000]);
}

fn a_new_key_forgets_the_old(way: Way) {
    let mut gcm = gcm(way, &[1; 16]);
    for round in 2..10 {
        check(way, &gcm, &[round - 1; 16], &[1; 12], b"", &[0; 3000]);
        gcm.set_key(&[round; 16]).unwrap();
        check(way, &gcm, &[round; 16], &[1; 12], b"", &[0; 300]);
    }
}

fn a_table_that_another_thread_makes_is_not_waited_for(way: Way) {
    let mut gcm = gcm(way, &[3; 32]);
    let mut rng = StdRng::seed_from_u64(8);
    let lengths = (0..300)
        .step_by(7)
        .chain([511, 512, 1500, 4097, 13_000, 40_000]);
    for bytes in lengths {
        for aad_bytes in [0, 13, 100, 700] {
            // Seldom wiped, since a key that is held keeps its few powers.
            gcm.set_key(&[3; 32]).unwrap();
            hold_gcm_tables(&mut gcm);
            let (aad, plain) = (
                random_bytes(&mut rng, aad_bytes),
                random_bytes(&mut rng, bytes),
            );
            check(way, &gcm, &[3; 32], &[1; 12], &aad, &plain);
            let (cipher, tag) = oracle(&[3; 32], &[1; 12], &aad, &plain);
            let mut data = cipher.clone();
            let mut message = gcm.begin(&[1; 12], b"").unwrap();
            gcm.aad_next(&mut message, &aad).unwrap();
            let (first, rest) = data.split_at_mut(bytes.min(160));
            gcm.open_next(&mut message, first.into()).unwrap();
            for piece in rest.chunks_mut(192) {
                gcm.open_next(&mut message, piece.into()).unwrap();
            }
            assert!(data == plain && gcm.finish(message) == tag, "{way:?}");
            let mut data = plain.clone();
            let mut message = gcm.begin(&[1; 12], &aad).unwrap();
            let stripe = gcm.seal_stripe(&message, 0, data.as_mut_slice().into());
            gcm.append(&mut message, stripe, bytes as u64);
            assert!(data == cipher && gcm.finish(message) == tag, "{way:?}");
        }
    }
}

fn a_key_without_tables_does_the_same(way: Way) {
    const KEY: [u8; 32] = [4; 32];
    let original = gcm(way, &KEY);
    let none: [Tables; 0] = [];
    let mut without = Gcm::unkeyed_with(none, original.backend());
    without.set_key(&KEY).unwrap();
    let mut rng = StdRng::seed_from_u64(9);
    let lengths = (0..300)
        .step_by(7)
        .chain([511, 512, 1500, 4097, 13_000, 40_000]);
    for bytes in lengths {
        for aad_bytes in [0, 13, 100] {
            let (aad, plain) = (
                random_bytes(&mut rng, aad_bytes),
                random_bytes(&mut rng, bytes),
            );
            check(way, &original, &KEY, &[1; 12], &aad, &plain);
            let (cipher, tag) = oracle(&KEY, &[1; 12], &aad, &plain);
            let mut data = plain.clone();
            let sealed = without.seal(&[1; 12], &aad, data.as_mut_slice().into());
            assert_eq!(sealed, Ok(tag), "{way:?}, {bytes} bytes");
            assert!(data == cipher, "{way:?}, {bytes} bytes");
            let mut message = without.begin(&[1; 12], b"").unwrap();
            without.aad_next(&mut message, &aad).unwrap();
            let (first, rest) = data.split_at_mut(bytes.min(240));
            without.open_next(&mut message, first.into()).unwrap();
            for piece in rest.chunks_mut(192) {
                without.open_next(&mut message, piece.into()).unwrap();
            }
            assert!(data == plain && without.finish(message) == tag, "{way:?}");
        }
    }
}

#[test]
fn the_kernel_that_was_asked_for_ran() {
    let _guard = alone();
    let counts = || {
        [
            &dispatch::GCM_COMPOSED,
            &dispatch::GCM_AES_NI,
            &dispatch::GCM_VAES256,
            &dispatch::GCM_VAES512,
            &dispatch::GCM_FACE,
            &dispatch::GCM_POWERS,
        ]
        .map(dispatch::Counter::get)
    };
    for way in Way::ALL.into_iter().filter(|way| way.cpu().is_some()) {
        let gcm = gcm(way, &[1; 16]);
        // A few powers suffice, then the short table, the middle one with the first long message, the long one with the
        // second.
        let messages = [
            (60, [0, 0]),
            (100, [1, 0]),
            (20_000, [1, 1]),
            (20_000, [0, 0]),
        ];
        for (bytes, tables) in messages {
            for (stripe, powers) in [(false, tables[0]), (true, tables[1])] {
                let mut data = vec![0; bytes];
                let message = gcm.begin(&[0; 12], &[]).unwrap();
                let before = counts();
                if stripe {
                    gcm.seal_stripe(&message, 512, data.as_mut_slice().into());
                } else {
                    gcm.seal(&[0; 12], &[], data.as_mut_slice().into()).unwrap();
                }
                let after = counts();
                let ran: Vec<u64> = after.iter().zip(before).map(|(a, b)| a - b).collect();
                let expected = match way {
                    // No carry-less multiplication.
                    Way::Portable => [1, 0, 0, 0, 0, 0],
                    // The second message of 100 bytes computes the table.
                    Way::AesNi if bytes == 100 => [0, 1, 0, 0, 0, u64::from(stripe)],
                    Way::AesNi => [0, 1, 0, 0, 0, powers],
                    Way::Vaes256 => [0, 0, 1, 0, 0, powers],
                    Way::Face | Way::FaceShared if bytes > 100 => [0, 0, 0, 0, 1, powers],
                    _ => [0, 0, 0, 1, 0, powers],
                };
                assert_eq!(ran, expected, "{way:?}, {bytes} bytes, stripe: {stripe}");
            }
        }
    }
}
