//! Poly1305 alone, on whole blocks: all that the AEAD computes.

use oarlock_kernels::testing;
use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::{IETF_SUBMISSION, JABBERWOCKY, unhex};

/// Sections 2.5.2 and A.3. These have a partial last block, which never occurs in the AEAD.
#[test]
fn rfc8439_poly1305() {
    let s = "36e5f6b5c5e06070f0efca96227a863e";
    let key_7 = "0200000000000000000000000000000000000000000000000000000000000000";
    let key_11 = "0100000000000000040000000000000000000000000000000000000000000000";
    let wrapping = "e33594d7505e43b900000000000000003394d7505e4379cd0100000000000000";
    let ones = "ffffffffffffffffffffffffffffffff";
    for (key, message, tag) in [
        (
            "85d6be7857556d337f4452fe42d506a80103808afb0db2fd4abff6af4149f51b",
            hex::encode(b"Cryptographic Forum Research Group"),
            "a8061dc1305136c6c22b8baf0c0127a9",
        ),
        (&"00".repeat(32), "00".repeat(64), &"00".repeat(16)),
        (&("00".repeat(16) + s), hex::encode(IETF_SUBMISSION), s),
        (
            &(s.to_owned() + &"00".repeat(16)),
            hex::encode(IETF_SUBMISSION),
            "f3477e7cd95417af89a6b8794c310cf0",
        ),
        (
            "1c9240a5eb55d38af333888604f6b5f0473917c1402b80099dca5cbc207075c0",
            hex::encode(JABBERWOCKY),
            "4541669a7eaaee61e708dc7cbcc5eb62",
        ),
        (
            key_7,
            ones.to_owned(),
            &("03".to_owned() + &"00".repeat(15)),
        ),
        (
            &("02".to_owned() + &"00".repeat(15) + ones),
            "02".to_owned() + &"00".repeat(15),
            &("03".to_owned() + &"00".repeat(15)),
        ),
        (
            &("01".to_owned() + &"00".repeat(31)),
            ones.to_owned() + "f0" + &"ff".repeat(15) + "11" + &"00".repeat(15),
            &("05".to_owned() + &"00".repeat(15)),
        ),
        (
            &("01".to_owned() + &"00".repeat(31)),
            ones.to_owned() + "fb" + &"fe".repeat(15) + &"01".repeat(16),
            &"00".repeat(16),
        ),
        (
            key_7,
            "fd".to_owned() + &"ff".repeat(15),
            &("fa".to_owned() + &"ff".repeat(15)),
        ),
        (
            key_11,
            wrapping.to_owned() + &"00".repeat(16) + "01" + &"00".repeat(15),
            "14000000000000005500000000000000",
        ),
        (
            key_11,
            wrapping.to_owned() + &"00".repeat(16),
            "13000000000000000000000000000000",
        ),
    ] {
        let message = unhex(&message);
        let key: [u8; 32] = unhex(key).try_into().unwrap();
        assert_eq!(hex::encode(poly1305_oracle(&key, &message)), tag, "typing");
        // The bit above a partial block is lower than that of a full one: the AEAD computes only those with full blocks.
        if message.len().is_multiple_of(16) {
            assert_eq!(hex::encode(testing::poly1305(&key, &message)), tag);
        }
    }
}

fn poly1305_oracle(key: &[u8; 32], message: &[u8]) -> [u8; 16] {
    use poly1305::universal_hash::KeyInit;
    poly1305::Poly1305::new(key.into())
        .compute_unpadded(message)
        .into()
}

/// Limbs of all ones, of zeros, and of random bits, so that carries go all the way.
#[test]
fn poly1305_edges() {
    let mut rng = StdRng::seed_from_u64(11);
    let word = |rng: &mut StdRng| match rng.random_range(0..5) {
        0 => 0,
        1 => u64::MAX,
        2 => u64::MAX - rng.random_range(0..6u64),
        3 => rng.random_range(0..6u64),
        _ => rng.random(),
    };
    for _ in 0..20_000 {
        let mut key = [0; 32];
        for bytes in key.as_chunks_mut::<8>().0 {
            *bytes = word(&mut rng).to_le_bytes();
        }
        let blocks = 2 * rng.random_range(0..12);
        let message: Vec<u8> = (0..blocks)
            .flat_map(|_| word(&mut rng).to_le_bytes())
            .collect();
        let tag = poly1305_oracle(&key, &message);
        let ours = testing::poly1305(&key, &message);
        assert_eq!(ours, tag, "{key:x?} {message:x?}");
        // The same in two parts.
        let (first, second) = message.split_at(16 * rng.random_range(0..=message.len() / 16));
        let ours = testing::poly1305_in_parts(&key, first, second);
        assert_eq!(ours, tag, "{key:x?} {message:x?}");
    }
}

/// Values around p and 2^130, which a multiplier of 1 lets a message reach.
#[test]
fn poly1305_around_the_modulus() {
    let mut key = [0; 32];
    key[0] = 1;
    for low in (0..40u64).chain(u64::MAX - 40..=u64::MAX) {
        for last in [0u64, u64::MAX] {
            let mut message = [0xff; 48];
            message[32..40].copy_from_slice(&low.to_le_bytes());
            message[40..].copy_from_slice(&last.to_le_bytes());
            for from in [0, 16, 32] {
                let message = &message[from..];
                assert_eq!(
                    testing::poly1305(&key, message),
                    poly1305_oracle(&key, message)
                );
            }
        }
    }
}
