//! The device `software` by itself: it returns what the kernels return, including every refusal.

use cipher::{StreamCipher, StreamCipherSeek};
use inout::InOutBuf;
use oarlock::Algorithm;
use oarlock::aead::AcceleratedAead;
use oarlock::device::{CipherDevice, visible_cpu};
use oarlock::{Accelerator, Error};
use oarlock_kernels::cpu::Feature;
use oarlock_kernels::{chacha20::ChaCha20, chacha20_poly1305::ChaCha20Poly1305, gcm::Gcm};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::common::random_bytes;

const KEY: [u8; 32] = *b"thirty-two bytes of a secret key";
const OPERATIONS: [Algorithm; 4] = [
    Algorithm::Aes128Gcm,
    Algorithm::Aes192Gcm,
    Algorithm::Aes256Gcm,
    Algorithm::ChaCha20Poly1305,
];

/// Returns an accelerator with no other device.
fn software() -> Accelerator {
    let builder = Accelerator::builder().cipher_device(CipherDevice::Software);
    builder.build().unwrap()
}

fn open_session(operation: Algorithm) -> AcceleratedAead {
    let key = &KEY[..operation.key_bytes()];
    let aead = software().aead(operation, key).unwrap();
    assert_eq!(aead.device(), "software");
    aead
}

/// Returns the kernels' ciphertext and tag.
fn sealed(operation: Algorithm, nonce: &[u8], aad: &[u8], data: &[u8]) -> (Vec<u8>, [u8; 16]) {
    let mut data = data.to_vec();
    let (key, in_place) = (&KEY[..operation.key_bytes()], (&mut data[..]).into());
    let tag = if operation == Algorithm::ChaCha20Poly1305 {
        let aead = ChaCha20Poly1305::new(key, visible_cpu().unwrap()).unwrap();
        aead.seal(nonce, aad, in_place)
    } else {
        let gcm = Gcm::new(key, visible_cpu().unwrap()).unwrap();
        gcm.seal(nonce, aad, in_place)
    };
    (data, tag.unwrap())
}

#[test]
fn messages_of_every_length_are_those_of_the_kernels() {
    let mut random = StdRng::seed_from_u64(21);
    // These include lengths around those at which data and associated data are cut.
    let lengths: Vec<usize> = (0..70)
        .chain([1000, 16_383, 16_384, 16_385, 32_768, 100_003])
        .collect();
    for operation in OPERATIONS {
        let aead = open_session(operation);
        for &bytes in &lengths {
            let plaintext = random_bytes(&mut random, bytes);
            let aad_bytes = lengths[random.random_range(0..lengths.len())];
            let aad = random_bytes(&mut random, aad_bytes);
            let nonce: [u8; 12] = random.random();
            let (expected, expected_tag) = sealed(operation, &nonce, &aad, &plaintext);
            let what = format!("{operation} {bytes} {aad_bytes}");

            let mut data = plaintext.clone();
            let tag = aead.seal(&nonce, &aad, (&mut data[..]).into()).unwrap();
            assert!(data == expected && tag == expected_tag, "{what}");
            aead.open(&nonce, &aad, (&mut data[..]).into(), &tag)
                .unwrap();
            assert!(data == plaintext, "{what}");

            let mut output = vec![0xaa; bytes];
            let buffers = InOutBuf::new(&plaintext, &mut output).unwrap();
            let tag = aead.seal(&nonce, &aad, buffers).unwrap();
            assert!(output == expected && tag == expected_tag, "{what}");
            let buffers = InOutBuf::new(&expected, &mut data).unwrap();
            aead.open(&nonce, &aad, buffers, &tag).unwrap();
            assert!(data == plaintext, "{what}");
        }
    }
}

#[test]
fn keystream_from_anywhere_is_that_of_the_kernels() {
    let mut random = StdRng::seed_from_u64(24);
    let lengths: Vec<usize> = (0..140).chain([1000, 16_383, 100_003]).collect();
    // The whole stream of one nonce except for its last block, after which there is no position.
    let last = (1 << 38) - 64;
    for bytes in lengths {
        let position = match bytes % 3 {
            0 => last - bytes.max(1) as u64,
            1 => random.random_range(0..1000),
            _ => random.random_range(0..last - bytes as u64),
        };
        let plaintext = random_bytes(&mut random, bytes);
        let nonce: [u8; 12] = random.random();
        let mut expected = plaintext.clone();
        let chacha = ChaCha20::new(&KEY, visible_cpu().unwrap()).unwrap();
        let mut counter_block = [0; 16];
        counter_block[..12].copy_from_slice(&nonce);
        let counter = u128::from_be_bytes(counter_block) | u128::from(position / 64);
        chacha.apply(
            counter,
            (position % 64) as usize,
            (&mut expected[..]).into(),
        );

        let software = software();
        let mut cipher = software.stream(Algorithm::ChaCha20, &KEY, &nonce).unwrap();
        assert_eq!(cipher.device(), "software");
        cipher.seek(position);
        let mut data = plaintext.clone();
        cipher.apply_keystream(&mut data);
        assert!(data == expected, "{bytes} from {position}");
        cipher.seek(position);
        let mut output = vec![0xaa; bytes];
        cipher.apply_keystream_b2b(&plaintext, &mut output);
        assert!(
            output == expected,
            "{bytes} from {position}, to another buffer"
        );
    }
}

#[test]
fn it_has_the_streams_that_no_kernel_is_fast_for() {
    for (mask, device) in [("", "cpu"), ("-avx2", "cpu"), ("-ssse3", "software")] {
        let accelerator = Accelerator::builder().cpu_mask(mask).build().unwrap();
        let cipher = accelerator.stream(Algorithm::ChaCha20, &KEY, &[0; 12]);
        let expected = match visible_cpu().unwrap().has(Feature::Ssse3) {
            true => device,
            false => "software",
        };
        assert_eq!(cipher.unwrap().device(), expected, "{mask}");
    }
}

#[test]
fn gcm_takes_nonces_of_any_length_and_chacha_those_of_12_bytes() {
    let mut random = StdRng::seed_from_u64(22);
    for operation in OPERATIONS {
        let aead = open_session(operation);
        let is_gcm = operation != Algorithm::ChaCha20Poly1305;
        for bytes in (0..40).chain([64, 100, 1000]) {
            let nonce = random_bytes(&mut random, bytes);
            let plaintext = random_bytes(&mut random, 333);
            let mut data = plaintext.clone();
            let tag = aead.seal(&nonce, b"aad", (&mut data[..]).into());
            if bytes == 12 || is_gcm && bytes > 0 {
                let tag = tag.unwrap();
                let expected = sealed(operation, &nonce, b"aad", &plaintext);
                assert!((&data, tag) == (&expected.0, expected.1), "{bytes}");
                let mut forged = tag;
                forged[3] ^= 4;
                let opened = aead.open(&nonce, b"aad", (&mut data[..]).into(), &forged);
                assert_eq!(opened, Err(Error::AuthenticationFailed));
                assert!(data == expected.0, "{bytes}: not the ciphertext again");
                aead.open(&nonce, b"aad", (&mut data[..]).into(), &tag)
                    .unwrap();
            } else {
                let error = tag.unwrap_err();
                let expected = format!("the cipher takes no nonce of {bytes} bytes");
                assert_eq!(error.to_string(), expected);
                let error = aead.open(&nonce, b"aad", (&mut data[..]).into(), &[0; 16]);
                assert_eq!(error.unwrap_err().to_string(), expected);
            }
            assert!(data == plaintext);
        }
    }
}

#[test]
fn what_is_not_authentic_is_not_released() {
    let mut random = StdRng::seed_from_u64(23);
    for operation in OPERATIONS {
        let aead = open_session(operation);
        for bytes in [0, 1, 16, 100, 16_384, 50_000] {
            let plaintext = random_bytes(&mut random, bytes);
            let (ciphertext, tag) = sealed(operation, &[7; 12], b"aad", &plaintext);
            let refuse = |nonce: &[u8], aad: &[u8], data: &[u8], tag: &[u8]| {
                let mut in_place = data.to_vec();
                let refused = aead.open(nonce, aad, (&mut in_place[..]).into(), tag);
                assert_eq!(refused, Err(Error::AuthenticationFailed));
                assert!(in_place == data, "{operation}: not the ciphertext again");
                let mut output = vec![0xaa; data.len()];
                let buffers = InOutBuf::new(data, &mut output).unwrap();
                assert!(aead.open(nonce, aad, buffers, tag).is_err());
                assert!(
                    output.iter().all(|byte| *byte == 0),
                    "{operation}: released"
                );
            };
            for bit in 0..128 {
                let mut forged = tag;
                forged[bit / 8] ^= 1 << (bit % 8);
                refuse(&[7; 12], b"aad", &ciphertext, &forged);
            }
            refuse(&[7; 12], b"aae", &ciphertext, &tag);
            refuse(&[7; 12], b"", &ciphertext, &tag);
            refuse(&[8; 12], b"aad", &ciphertext, &tag);
            for at in [0, bytes / 2, bytes.saturating_sub(1)] {
                let mut altered = ciphertext.clone();
                if let Some(byte) = altered.get_mut(at) {
                    *byte ^= 0x80;
                    refuse(&[7; 12], b"aad", &altered, &tag);
                }
            }
            // The session still works.
            let mut data = ciphertext.clone();
            aead.open(&[7; 12], b"aad", (&mut data[..]).into(), &tag)
                .unwrap();
            assert!(data == plaintext);
        }
    }
}

#[test]
fn one_key_serves_many_threads() {
    for operation in OPERATIONS {
        let aead = open_session(operation);
        std::thread::scope(|scope| {
            for number in 0..4u8 {
                let aead = &aead;
                scope.spawn(move || {
                    for round in 0..50 {
                        let plaintext = vec![number; 700 * (1 + round % 30)];
                        let (nonce, aad) = ([number ^ round as u8; 12], [number; 20]);
                        let expected = sealed(operation, &nonce, &aad, &plaintext);
                        let mut data = plaintext.clone();
                        let tag = aead.seal(&nonce, &aad, (&mut data[..]).into()).unwrap();
                        assert!((&data, tag) == (&expected.0, expected.1));
                        aead.open(&nonce, &aad, (&mut data[..]).into(), &tag)
                            .unwrap();
                        assert!(data == plaintext);
                    }
                });
            }
        });
    }
}

#[test]
fn keys_that_do_not_fit_open_nothing() {
    let accelerator = software();
    for operation in OPERATIONS {
        for bytes in [0, 15, 17, 31, 33] {
            let error = accelerator.aead(operation, &vec![0; bytes]).unwrap_err();
            assert!(matches!(error, Error::InvalidKey(_)), "{error}");
        }
    }
}

#[test]
fn an_algorithm_that_no_device_offers_is_refused_by_that_reason() {
    let error = software().plan(Algorithm::Camellia128Ctr).unwrap_err();
    let said = error.to_string();
    assert!(said.starts_with("no device of this accelerator"), "{said}");
    assert!(
        said.ends_with(&Algorithm::Camellia128Ctr.to_string()),
        "{said}"
    );
}
