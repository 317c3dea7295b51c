//! Messages of GCM whose pieces are few whole blocks.

use oarlock_kernels::aes::dispatch;
use rand::{SeedableRng, rngs::StdRng};

use super::{Way, alone, for_every_way, random_bytes};

for_every_way!(few_blocks_at_a_time);

/// Whole blocks in calls of equal length, which have a kernel of their own up to four registers; with
/// and without a begun block of associated data before them.
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

/// Where byte shuffles make the keystream, GHASH runs beside them if there are bytes enough.
#[test]
fn the_portable_hash_runs_beside_byte_shuffles() {
    let _guard = alone();
    let Some(gcm) = Way::PermuteSsse3.gcm(&[0; 16]) else {
        return oarlock_testing::skip("this CPU lacks SSSE3");
    };
    for (bytes, runs) in [(511, 0), (512, 1), (5000, 1)] {
        let before = dispatch::PERMUTE_AND_HASH.get();
        gcm.seal(&[0; 12], &[], vec![0; bytes].as_mut_slice().into())
            .unwrap();
        let ran = dispatch::PERMUTE_AND_HASH.get() - before;
        assert_eq!(ran, runs, "{bytes} bytes");
    }
}
