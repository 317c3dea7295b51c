//! AEADs: every device computes the same bytes and tags, and releases nothing that is not authentic.

use aead::{AeadInOut, Key, KeyInit, Nonce};
use inout::InOutBuf;
use oarlock::aead::{AcceleratedAead, Aes256Gcm};
use oarlock::{Accelerator, Algorithm, Error, Strategy};
use rand::{RngExt, SeedableRng, rngs::StdRng};

use crate::common::{accelerator_by, random_bytes};

const KEY: [u8; 32] = *b"thirty-two bytes of a secret key";
const MASKS: [&str; 6] = ["", "-face", "-avx512", "-vaes", "-aes", "-aes,-avx2"];
const ALGORITHMS: [Algorithm; 4] = [
    Algorithm::Aes128Gcm,
    Algorithm::Aes192Gcm,
    Algorithm::Aes256Gcm,
    Algorithm::ChaCha20Poly1305,
];

/// Returns RustCrypto's ciphertext and tag.
fn oracle(operation: Algorithm, nonce: &[u8; 12], aad: &[u8], data: &[u8]) -> (Vec<u8>, [u8; 16]) {
    fn seal<A: KeyInit + AeadInOut>(
        nonce: &[u8; 12],
        aad: &[u8],
        data: &[u8],
        key_bytes: usize,
    ) -> (Vec<u8>, [u8; 16]) {
        let aead = A::new(&Key::<A>::try_from(&KEY[..key_bytes]).unwrap());
        let mut data = data.to_vec();
        let nonce = Nonce::<A>::try_from(&nonce[..]).unwrap();
        let tag = aead
            .encrypt_inout_detached(&nonce, aad, (&mut data[..]).into())
            .unwrap();
        (data, tag[..].try_into().unwrap())
    }
    type Aes192Gcm = aes_gcm::AesGcm<aes::Aes192, aead::consts::U12>;
    match operation {
        Algorithm::Aes128Gcm => seal::<aes_gcm::Aes128Gcm>(nonce, aad, data, 16),
        Algorithm::Aes192Gcm => seal::<Aes192Gcm>(nonce, aad, data, 24),
        Algorithm::Aes256Gcm => seal::<aes_gcm::Aes256Gcm>(nonce, aad, data, 32),
        _ => seal::<chacha20poly1305::ChaCha20Poly1305>(nonce, aad, data, 32),
    }
}

fn open_session(accelerator: &Accelerator, operation: Algorithm) -> AcceleratedAead {
    accelerator
        .aead(operation, &KEY[..operation.key_bytes()])
        .unwrap()
}

fn buffers<'a>(from: &'a [u8], to: &'a mut [u8]) -> InOutBuf<'a, 'a, u8> {
    InOutBuf::new(from, to).unwrap()
}

#[test]
fn every_way_gives_the_same_message() {
    let mut random = StdRng::seed_from_u64(3);
    for operation in ALGORITHMS {
        for bytes in [0, 1, 15, 16, 64, 1000, 16_384, 70_001, 600_011] {
            let plaintext = random_bytes(&mut random, bytes);
            let aad_bytes = random.random_range(0..40);
            let aad = random_bytes(&mut random, aad_bytes);
            let nonce: [u8; 12] = random.random();
            let (expected, expected_tag) = oracle(operation, &nonce, &aad, &plaintext);
            for mask in MASKS {
                for strategy in [
                    Strategy::Inline,
                    Strategy::Stripe,
                    Strategy::Auto,
                    Strategy::Prefetch,
                ] {
                    let what = format!("{operation} {bytes} {mask:?} {strategy:?}");
                    let aead = open_session(&accelerator_by(mask, strategy), operation);
                    let mut data = plaintext.clone();
                    let tag = aead.seal(&nonce, &aad, (&mut data[..]).into()).unwrap();
                    assert!(data == expected && tag == expected_tag, "{what}");
                    aead.open(&nonce, &aad, (&mut data[..]).into(), &tag)
                        .unwrap();
                    assert!(data == plaintext, "{what}");

                    let mut output = vec![0xaa; bytes];
                    let tag = aead
                        .seal(&nonce, &aad, buffers(&plaintext, &mut output))
                        .unwrap();
                    assert!(output == expected && tag == expected_tag, "{what}");
                    aead.open(&nonce, &aad, buffers(&expected, &mut data), &tag)
                        .unwrap();
                    assert!(data == plaintext, "{what}");
                }
            }
        }
    }
}

#[test]
fn what_is_not_authentic_is_not_released() {
    let mut random = StdRng::seed_from_u64(4);
    for operation in ALGORITHMS {
        for strategy in [Strategy::Inline, Strategy::Stripe] {
            for mask in ["", "-avx512", "-aes,-avx2"] {
                for bytes in [0, 5, 100, 5000, 300_000] {
                    let what = format!("{operation} {strategy:?} {mask:?} {bytes}");
                    let aead = open_session(&accelerator_by(mask, strategy), operation);
                    let plaintext = random_bytes(&mut random, bytes);
                    let nonce = [7; 12];
                    let (ciphertext, tag) = oracle(operation, &nonce, b"aad", &plaintext);
                    let refuse = |nonce: &[u8], aad: &[u8], data: &[u8], tag: &[u8]| {
                        let mut in_place = data.to_vec();
                        let refused = aead.open(nonce, aad, (&mut in_place[..]).into(), tag);
                        assert_eq!(refused, Err(Error::AuthenticationFailed), "{what}");
                        assert!(in_place == data, "{what}: not the ciphertext again");
                        let mut output = vec![0xaa; data.len()];
                        let opened = aead.open(nonce, aad, buffers(data, &mut output), tag);
                        assert!(opened.is_err(), "{what}");
                        assert!(output.iter().all(|byte| *byte == 0), "{what}: released");
                    };
                    let bits = if bytes > 5000 {
                        vec![0, 77, 127]
                    } else {
                        (0..128).collect()
                    };
                    for bit in bits {
                        let mut forged = tag;
                        forged[bit / 8] ^= 1 << (bit % 8);
                        refuse(&nonce, b"aad", &ciphertext, &forged);
                    }
                    refuse(&nonce, b"aae", &ciphertext, &tag);
                    refuse(&[8; 12], b"aad", &ciphertext, &tag);
                    if bytes > 0 {
                        let mut altered = ciphertext.clone();
                        altered[bytes / 2] ^= 1;
                        refuse(&nonce, b"aad", &altered, &tag);
                        refuse(&nonce, b"aad", &ciphertext[..bytes - 1], &tag);
                        refuse(&nonce, b"aad", &ciphertext[1..], &tag);
                    }
                }
            }
        }
    }
}

#[test]
fn arguments_that_do_not_fit_are_named() {
    let accelerator = accelerator_by("", Strategy::Auto);
    let text = |error: Error| error.to_string();
    for operation in ALGORITHMS {
        let aead = open_session(&accelerator, operation);
        let mut data = [1; 20];
        let error = aead.seal(&[], b"", (&mut data[..]).into()).unwrap_err();
        assert!(text(error).contains("no nonce of 0 bytes"));
        assert_eq!(data, [1; 20]);
        for bytes in [0, 12, 15, 17] {
            let error = aead
                .open(&[1; 12], b"", (&mut data[..]).into(), &vec![0; bytes])
                .unwrap_err();
            assert!(text(error).contains("a tag has 16 bytes"));
        }
        for bytes in [0, 15, 17, 31, 33] {
            let error = accelerator.aead(operation, &vec![1; bytes]).unwrap_err();
            assert!(matches!(&error, Error::InvalidKey(_)), "{error}");
        }
    }
    let chacha = open_session(&accelerator, Algorithm::ChaCha20Poly1305);
    let error = chacha
        .seal(&[1; 16], b"", (&mut [0; 4][..]).into())
        .unwrap_err();
    assert!(text(error).contains("no nonce of 16 bytes"));
    // GCM hashes a nonce that does not have 12 bytes.
    let gcm = open_session(&accelerator, Algorithm::Aes128Gcm);
    for bytes in [1, 8, 13, 16, 100] {
        gcm.seal(&vec![1; bytes], b"", (&mut [0; 4][..]).into())
            .unwrap();
    }
    let error = accelerator
        .aead(Algorithm::Aes128Ctr, &KEY[..16])
        .unwrap_err();
    assert_eq!(text(error), "aes-128-ctr is no AEAD");
}

#[test]
fn pieces_give_the_message_that_one_call_gives() {
    let mut random = StdRng::seed_from_u64(5);
    for operation in ALGORITHMS {
        for mask in MASKS {
            let aead = open_session(&accelerator_by(mask, Strategy::Auto), operation);
            let plaintext = random_bytes(&mut random, 10_000);
            let nonce: [u8; 12] = random.random();
            let (expected, expected_tag) = oracle(operation, &nonce, b"x", &plaintext);
            let mut data = plaintext.clone();
            let mut sealer = aead.sealer(&nonce, b"x").unwrap();
            let mut rest = &mut data[..];
            while !rest.is_empty() {
                let bytes = random.random_range(0..700).min(rest.len());
                let (piece, after) = rest.split_at_mut(bytes);
                sealer.update(piece.into()).unwrap();
                rest = after;
            }
            assert!(
                sealer.finish() == expected_tag && data == expected,
                "{operation} {mask:?}"
            );
            for (tag, outcome) in [
                (expected_tag, Ok(())),
                ([0; 16], Err(Error::AuthenticationFailed)),
            ] {
                let mut data = expected.clone();
                let mut opener = aead.opener(&nonce, b"x").unwrap();
                let (head, tail) = data.split_at_mut(33);
                opener.update(head.into()).unwrap();
                opener.update(tail.into()).unwrap();
                assert_eq!(opener.finish(&tag), outcome);
                assert!(data == plaintext);
            }
        }
    }
}

#[test]
fn one_key_serves_many_threads() {
    let accelerator = accelerator_by("", Strategy::Auto);
    let aead = open_session(&accelerator, Algorithm::Aes256Gcm);
    std::thread::scope(|scope| {
        for number in 0..4u8 {
            let aead = &aead;
            scope.spawn(move || {
                for round in 0..20 {
                    let plaintext = vec![number; 50_000 * (1 + round % 3)];
                    let nonce = [number ^ round as u8; 12];
                    let mut data = plaintext.clone();
                    let tag = aead
                        .seal(&nonce, &[number], (&mut data[..]).into())
                        .unwrap();
                    let (expected, expected_tag) =
                        oracle(Algorithm::Aes256Gcm, &nonce, &[number], &plaintext);
                    assert!(data == expected && tag == expected_tag);
                }
            });
        }
    });
}

#[test]
fn generic_code_takes_it() {
    fn seal<A: KeyInit + AeadInOut>(data: &mut Vec<u8>) {
        let aead = A::new_from_slice(&KEY).unwrap();
        let nonce = Nonce::<A>::default();
        aead.encrypt_in_place(&nonce, b"aad", data).unwrap();
    }
    let (mut ours, mut theirs) = (b"some text".to_vec(), b"some text".to_vec());
    seal::<AcceleratedAead<Aes256Gcm>>(&mut ours);
    seal::<aes_gcm::Aes256Gcm>(&mut theirs);
    assert_eq!(ours, theirs);
    seal::<AcceleratedAead<oarlock::aead::ChaCha20Poly1305>>(&mut ours);
    seal::<chacha20poly1305::ChaCha20Poly1305>(&mut theirs);
    assert_eq!(ours, theirs);
}

#[test]
fn statistics_say_what_went_where() {
    let accelerator = accelerator_by("", Strategy::Stripe);
    let aead = open_session(&accelerator, Algorithm::Aes128Gcm);
    let mut data = vec![0; 1 << 20];
    aead.seal(&[1; 12], b"", (&mut data[..]).into()).unwrap();
    aead.seal(&[2; 12], b"", (&mut data[..100]).into()).unwrap();
    drop(aead);
    let stats = accelerator.stats().algorithms;
    let counts = stats[&("cpu".into(), Algorithm::Aes128Gcm)];
    assert_eq!((counts.requests, counts.bytes), (2, (1 << 20) + 100));
    let striped = u64::from(accelerator.parallelism() > 1);
    assert_eq!(counts.striped_requests, striped);
}
