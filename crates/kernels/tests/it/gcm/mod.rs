mod keys;

use ::aes::{Aes128, Aes192, Aes256};
use aes_gcm::aead::consts::{U1, U8, U12, U16, U60};
use aes_gcm::aead::{Aead, KeyInit, Payload};
use aes_gcm::{AesGcm, Nonce};
use inout::InOutBuf;
use oarlock_kernels::aead::{AeadError, tags_match};
use oarlock_kernels::gcm::{AAD_BYTES_MAX, Gcm, MESSAGE_BYTES_MAX, Message};
use oarlock_kernels::testing::{check_gcm_lengths, gcm_bytes, gcm_cipher, gcm_hash, gcm_j0};
use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::{Way, for_every_way, random_bytes};

for_every_way!(
    mcgrew_viega,
    random_messages,
    every_length,
    every_length_of_aad,
    any_split_into_calls,
    stripes,
    powers_for_many_stripes,
    keystream_made_ahead,
    forged_tags,
    counters_wrap,
    nonce_lengths,
    messages_too_long,
);

fn gcm(way: Way, key: &[u8]) -> Box<Gcm> {
    way.gcm(key).unwrap()
}

/// "The Galois/Counter Mode of Operation (GCM)", McGrew and Viega, appendix B.
fn mcgrew_viega(way: Way) {
    const KEY: &str = "feffe9928665731c6d6a8f9467308308";
    const PLAIN: &str = "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72\
         1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255";
    const NONCE: &str = "cafebabefacedbaddecaf888";
    const NONCE_60: &str = "9313225df88406e555909c5aff5269aa6a7a9538534f7da1e4c303d2a318a728\
         c3c0c95156809539fcf0e2429a6b525416aedbf5a0de6a57a637b39b";
    const AAD: &str = "feedfacedeadbeeffeedfacedeadbeefabaddad2";
    let zeros = |bytes: usize| "00".repeat(bytes);
    let twice = KEY.repeat(2);
    let short = &PLAIN[..120];
    for (key, nonce, aad, plain, cipher, tag) in [
        // Test cases 1 to 6.
        (
            &*zeros(16),
            &*zeros(12),
            "",
            "",
            "",
            "58e2fccefa7e3061367f1d57a4e7455a",
        ),
        (
            &zeros(16),
            &zeros(12),
            "",
            &zeros(16),
            "0388dace60b6a392f328c2b971b2fe78",
            "ab6e47d42cec13bdf53a67b21257bddf",
        ),
        (
            KEY,
            NONCE,
            "",
            PLAIN,
            "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e\
             21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091473f5985",
            "4d5c2af327cd64a62cf35abd2ba6fab4",
        ),
        (
            KEY,
            NONCE,
            AAD,
            short,
            "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e\
             21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091",
            "5bc94fbc3221a5db94fae95ae7121a47",
        ),
        (
            KEY,
            &NONCE[..16],
            AAD,
            short,
            "61353b4c2806934a777ff51fa22a4755699b2a714fcdc6f83766e5f97b6c7423\
             73806900e49f24b22b097544d4896b424989b5e1ebac0f07c23f4598",
            "3612d2e79e3b0785561be14aaca2fccb",
        ),
        (
            KEY,
            NONCE_60,
            AAD,
            short,
            "8ce24998625615b603a033aca13fb894be9112a5c3a211a8ba262a3cca7e2ca7\
             01e4a9a4fba43c90ccdcb281d48c7c6fd62875d2aca417034c34aee5",
            "619cc5aefffe0bfa462af43c1699d050",
        ),
        // 7 and 8.
        (
            &zeros(24),
            &zeros(12),
            "",
            "",
            "",
            "cd33b28ac773f74ba00ed1f312572435",
        ),
        (
            &zeros(24),
            &zeros(12),
            "",
            &zeros(16),
            "98e7247c07f0fe411c267e4384b0f600",
            "2ff58d80033927ab8ef4d4587514f0fb",
        ),
        // 13, 14 and 16.
        (
            &zeros(32),
            &zeros(12),
            "",
            "",
            "",
            "530f8afbc74536b9a963b4f1c4cb738b",
        ),
        (
            &zeros(32),
            &zeros(12),
            "",
            &zeros(16),
            "cea7403d4d606b6e074ec5d3baf39d18",
            "d0d1c8a799996bf0265b98b5d48ab919",
        ),
        (
            &twice,
            NONCE,
            AAD,
            short,
            "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa\
             8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662",
            "76fc6ece0f4e1768cddf8853bb2d551b",
        ),
    ] {
        let [nonce, aad, plain, cipher, tag] =
            [nonce, aad, plain, cipher, tag].map(|text| hex::decode(text).unwrap());
        let gcm = gcm(way, &hex::decode(key).unwrap());
        let mut data = plain.clone();
        let sealed = gcm.seal(&nonce, &aad, data.as_mut_slice().into()).unwrap();
        assert_eq!((&data, &sealed[..]), (&cipher, &tag[..]), "{way:?}");
        gcm.open(&nonce, &aad, data.as_mut_slice().into(), &sealed)
            .unwrap();
        assert_eq!(data, plain, "{way:?}");
    }
}

fn random_messages(way: Way) {
    let mut rng = StdRng::seed_from_u64(11);
    for round in 0..400 {
        let key = &rng.random::<[u8; 32]>()[..16 + 8 * (round % 3)];
        let gcm = gcm(way, key);
        for _ in 0..3 {
            let longest = [100, 600, 5000, 40_000][round % 4];
            let aad = random(&mut rng, if round % 7 == 0 { 2000 } else { 40 });
            let plain = random(&mut rng, longest);
            check(way, &gcm, key, &rng.random(), &aad, &plain);
        }
    }
}

fn every_length(way: Way) {
    let mut rng = StdRng::seed_from_u64(12);
    let lengths = (0..=1300).chain(2040..2060).chain(4090..4110);
    for (key, stride) in [(&[4; 16][..], 1), (&[5; 24], 7), (&[6; 32], 3)] {
        let mut gcm = gcm(way, key);
        for length in lengths.clone().step_by(stride) {
            // Also with a key that has no table yet.
            if stride > 1 {
                gcm.set_key(key).unwrap();
            }
            let mut plain = vec![0; length];
            rng.fill(&mut plain[..]);
            let aad = vec![9; [0, 13, 20, 65][length % 4]];
            check(way, &gcm, key, &rng.random(), &aad, &plain);
        }
    }
}

fn every_length_of_aad(way: Way) {
    let key = [1; 16];
    for length in (0..=400).chain([600, 1023, 1024, 1025, 2000, 5000]) {
        let mut gcm = gcm(way, &key);
        let aad: Vec<u8> = (0..length).map(|i| i as u8).collect();
        for bytes in [0, 1, 64, 300] {
            // A new key has a few powers.
            gcm.set_key(&key).unwrap();
            check(way, &gcm, &key, &[7; 12], &aad, &vec![0x99; bytes]);
        }
    }
}

/// Checks both forms of both directions against the oracle.
fn check(way: Way, gcm: &Gcm, key: &[u8], nonce: &[u8; 12], aad: &[u8], plain: &[u8]) {
    let what = || {
        let (key, aad) = (key.len(), aad.len());
        format!(
            "{way:?}: {key}-byte key, {aad} bytes of AAD, {} of data",
            plain.len()
        )
    };
    let (cipher, tag) = oracle(key, nonce, aad, plain);
    let mut data = plain.to_vec();
    let sealed = gcm.seal(nonce, aad, data.as_mut_slice().into()).unwrap();
    assert!(data == cipher, "{}", what());
    assert_eq!(sealed, tag, "{}", what());
    gcm.open(nonce, aad, data.as_mut_slice().into(), &tag)
        .unwrap();
    assert!(data == plain, "in place: {}", what());

    data.fill(0xee);
    let sealed = gcm.seal(nonce, aad, apart(plain, &mut data)).unwrap();
    assert!(data == cipher && sealed == tag, "apart: {}", what());
    data.fill(0xee);
    gcm.open(nonce, aad, apart(&cipher, &mut data), &tag)
        .unwrap();
    assert!(data == plain, "apart: {}", what());
}

fn any_split_into_calls(way: Way) {
    let mut rng = StdRng::seed_from_u64(13);
    for longest in [1, 15, 16, 40, 300, 2000, 9000, 40_000] {
        for _ in 0..10 {
            let key: [u8; 32] = rng.random();
            let nonce: [u8; 12] = rng.random();
            let gcm = gcm(way, &key);
            let aad = random(&mut rng, 50);
            let plain = random(&mut rng, 20 * longest + 100);
            let (cipher, tag) = oracle(&key, &nonce, &aad, &plain);
            for open in [false, true] {
                let (mut data, expected) = if open {
                    (cipher.clone(), &plain)
                } else {
                    (plain.clone(), &cipher)
                };
                let mut message = if rng.random() {
                    gcm.begin(&nonce, &aad).unwrap()
                } else {
                    let mut message = gcm.begin(&nonce, b"").unwrap();
                    for piece in aad.chunks(rng.random_range(1..=40)) {
                        gcm.aad_next(&mut message, piece).unwrap();
                    }
                    message
                };
                let mut at = 0;
                while at < data.len() {
                    if rng.random_ratio(1, 8) {
                        message = message.clone();
                    }
                    let end = data.len().min(at + rng.random_range(0..=longest));
                    let piece = (&mut data[at..end]).into();
                    if open {
                        gcm.open_next(&mut message, piece).unwrap();
                    } else {
                        gcm.seal_next(&mut message, piece).unwrap();
                    }
                    at = end;
                }
                assert!(data == *expected, "{way:?}, pieces of up to {longest}");
                assert_eq!(gcm.finish(message), tag, "{way:?}, up to {longest}");
            }
        }
    }
}

fn stripes(way: Way) {
    let mut rng = StdRng::seed_from_u64(14);
    for round in 0..40 {
        let key = &rng.random::<[u8; 32]>()[..16 + 8 * (round % 3)];
        let nonce: [u8; 12] = rng.random();
        let gcm = gcm(way, key);
        let aad = random(&mut rng, 50);
        let plain = random(&mut rng, 150_000);
        let (cipher, tag) = oracle(key, &nonce, &aad, &plain);
        let mut cuts = vec![0];
        while let Some(last) = cuts.last().filter(|last| **last < plain.len()) {
            let bytes = if round % 2 == 0 {
                64 * rng.random_range(1..400usize)
            } else {
                512 * rng.random_range(20..60usize)
            };
            cuts.push(plain.len().min(last + bytes));
        }
        for open in [false, true] {
            let (mut data, expected) = if open {
                (cipher.clone(), &plain)
            } else {
                (plain.clone(), &cipher)
            };
            let mut message = gcm.begin(&nonce, &aad).unwrap();
            let mut partials: Vec<_> = cuts
                .windows(2)
                .rev()
                .map(|cut| {
                    let (offset, piece) = (cut[0] as u64, (&mut data[cut[0]..cut[1]]).into());
                    let partial = if open {
                        gcm.open_stripe(&message, offset, piece)
                    } else {
                        gcm.seal_stripe(&message, offset, piece)
                    };
                    (partial, cut[1] - cut[0])
                })
                .collect();
            assert!(data == *expected, "{way:?}");
            if open {
                for cut in cuts.windows(2) {
                    let piece = &mut data[cut[0]..cut[1]];
                    gcm.crypt_stripe(&message, cut[0] as u64, piece.into());
                }
                assert!(data == cipher, "{way:?}: not taken back");
            }
            while let Some((partial, bytes)) = partials.pop() {
                gcm.append(&mut message, partial, bytes as u64);
            }
            assert_eq!(gcm.finish(message), tag, "{way:?}, {} bytes", plain.len());
        }
    }
}

/// GHASH of a stripe of zeros before it is zero, so only the power matters; H^n by steps of one block.
fn powers_for_many_stripes(way: Way) {
    let gcm = gcm(way, &[3; 16]);
    let h = gcm_hash(&gcm.begin(&[0; 12], &[1; 16]).unwrap());
    for blocks in [1, 2, 3, 4, 5, 7, 64, 1000, 1001] {
        let mut one_by_one = gcm.begin(&[0; 12], &[1; 16]).unwrap();
        let mut at_once = gcm.begin(&[0; 12], &[1; 16]).unwrap();
        assert_eq!(gcm_hash(&at_once), h);
        for _ in 0..blocks {
            let zero = gcm.seal_stripe(&one_by_one, 0, (&mut [0; 0][..]).into());
            gcm.append(&mut one_by_one, zero, 16);
        }
        let zero = gcm.seal_stripe(&at_once, 0, (&mut [0; 0][..]).into());
        gcm.append(&mut at_once, zero, 16 * blocks);
        assert_eq!(
            gcm_hash(&one_by_one),
            gcm_hash(&at_once),
            "{way:?}, {blocks} blocks"
        );
    }
}

fn keystream_made_ahead(way: Way) {
    let mut rng = StdRng::seed_from_u64(15);
    for round in 0..60 {
        let key = &rng.random::<[u8; 32]>()[..16 + 8 * (round % 3)];
        let nonce: [u8; 12] = rng.random();
        let gcm = gcm(way, key);
        let aad = random(&mut rng, 50);
        let plain = random(&mut rng, [100, 1000, 15_000][round % 3]);
        let (cipher, tag) = oracle(key, &nonce, &aad, &plain);
        let more = rng.random_range(0..100);
        let mut keystream = vec![1; 16 + plain.len() + more];
        gcm.keystream(&nonce, &mut keystream).unwrap();
        let mut data = plain.clone();
        let sealed = gcm
            .seal_with_keystream(&aad, data.as_mut_slice().into(), &keystream)
            .unwrap();
        assert!(data == cipher && sealed == tag, "{way:?}");
        let mut output = vec![0; data.len()];
        for elsewhere in [true, false] {
            let mut wrong = tag;
            wrong[round % 16] ^= 1 << (round % 8);
            for (tag, result) in [(wrong, Err(AeadError::AuthenticationFailed)), (tag, Ok(()))] {
                output.fill(0xee);
                let buffer = if elsewhere {
                    apart(&cipher, &mut output)
                } else {
                    data.as_mut_slice().into()
                };
                let opened = gcm.open_with_keystream(&aad, buffer, &keystream, &tag);
                assert_eq!(opened, result, "{way:?}");
                match (elsewhere, result.is_ok()) {
                    (true, true) => assert!(output == plain),
                    (true, false) => assert!(output.iter().all(|byte| *byte == 0)),
                    (false, true) => assert!(data == plain),
                    (false, false) => assert!(data == cipher),
                }
            }
        }
        let short = &keystream[..15 + plain.len()];
        assert_eq!(
            gcm.seal_with_keystream(&aad, data.as_mut_slice().into(), short),
            Err(AeadError::KeystreamTooShort {
                bytes_min: 16 + plain.len()
            })
        );
        assert!(data == plain);
    }
}

fn forged_tags(way: Way) {
    let (key, nonce, aad) = ([8; 32], [1; 12], [3; 20]);
    let gcm = gcm(way, &key);
    for length in [0, 1, 16, 63, 64, 65, 500, 3000] {
        let plain = vec![0x42; length];
        let (cipher, tag) = oracle(&key, &nonce, &aad, &plain);
        let mut data = cipher.clone();
        let mut output = vec![0; length];
        for bit in 0..128 {
            let mut wrong = tag;
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert!(!tags_match(&wrong, &tag));
            let opened = gcm.open(&nonce, &aad, data.as_mut_slice().into(), &wrong);
            assert_eq!(opened, Err(AeadError::AuthenticationFailed), "{way:?}");
            assert!(data == cipher, "{way:?}: ciphertext not put back");
            output.fill(0xee);
            let opened = gcm.open(&nonce, &aad, apart(&cipher, &mut output), &wrong);
            assert_eq!(opened, Err(AeadError::AuthenticationFailed), "{way:?}");
            assert!(output.iter().all(|byte| *byte == 0), "{way:?}: released");
            let mut zeroed = cipher.clone();
            let opened = gcm.open_or_zero(&nonce, &aad, zeroed.as_mut_slice().into(), &wrong);
            assert_eq!(opened, Err(AeadError::AuthenticationFailed), "{way:?}");
            assert!(zeroed.iter().all(|byte| *byte == 0), "{way:?}: not zeroed");
        }
        let mut opened = cipher.clone();
        let buffer = opened.as_mut_slice().into();
        assert_eq!(gcm.open_or_zero(&nonce, &aad, buffer, &tag), Ok(()));
        assert!(opened == plain, "{way:?}");
        for (nonce, aad) in [([2; 12], &aad[..]), (nonce, &aad[..19]), (nonce, &[])] {
            assert!(
                gcm.open(&nonce, aad, data.as_mut_slice().into(), &tag)
                    .is_err()
            );
        }
        for at in [0, length / 2, length.saturating_sub(1)] {
            if let Some(byte) = data.get_mut(at) {
                *byte ^= 0x10;
                let opened = gcm.open(&nonce, &aad, data.as_mut_slice().into(), &tag);
                assert!(opened.is_err(), "{way:?}");
                data[at] ^= 0x10;
            }
        }
        assert!(data == cipher);
        gcm.open(&nonce, &aad, data.as_mut_slice().into(), &tag)
            .unwrap();
        assert!(data == plain);
    }
}

/// inc32 does not change the upper 96 bits. A nonce that is not 12 bytes can start anywhere; these starts are set instead of
/// searched for.
fn counters_wrap(way: Way) {
    let key = [5; 24];
    let gcm = gcm(way, &key);
    for upper in [u128::MAX << 32, 0] {
        for low in [u32::MAX, u32::MAX - 1, u32::MAX - 3, u32::MAX - 70] {
            for length in [0, 1, 16, 40, 64, 300, 1200, 5000] {
                let j0 = upper | u128::from(low);
                let mut expected = vec![0x77; length];
                let mut mask = [0; 16];
                // One block at a time, with the portable CTR.
                let mut reference =
                    oarlock_kernels::aes::Ctr::unkeyed(oarlock_kernels::aes::Backend::Portable);
                reference.set_key(&key).unwrap();
                reference.apply(j0, 0, (&mut mask[..]).into());
                for (i, block) in expected.chunks_mut(16).enumerate() {
                    let low = low.wrapping_add(1 + i as u32);
                    reference.apply(upper | u128::from(low), 0, block.into());
                }
                let mut data = vec![0x77; length];
                let mut message = gcm.begin(&[0; 12], &[]).unwrap();
                *gcm_j0(&mut message) = j0;
                let mut striped = vec![0x77; length];
                let partial = gcm.seal_stripe(&message, 0, striped.as_mut_slice().into());
                let mut stripes = gcm.begin(&[0; 12], &[]).unwrap();
                *gcm_j0(&mut stripes) = j0;
                gcm.append(&mut stripes, partial, length as u64);
                gcm.seal_next(&mut message, data.as_mut_slice().into())
                    .unwrap();
                assert!(data == expected, "{way:?}, {low:#x}, {length} bytes");
                assert!(striped == expected, "{way:?}, {low:#x}, {length} bytes");

                let mut blocks = expected.clone();
                blocks.resize(length.next_multiple_of(16), 0);
                blocks.extend((length as u128 * 8).to_be_bytes());
                let y = gcm_hash(&gcm.begin(&[0; 12], &blocks).unwrap());
                let tag = (y ^ u128::from_be_bytes(mask)).to_be_bytes();
                assert_eq!(gcm.finish(message), tag, "{way:?}");
                assert_eq!(gcm.finish(stripes), tag, "{way:?}");
            }
        }
    }
}

fn nonce_lengths(way: Way) {
    let key = [0x1f; 32];
    let gcm = gcm(way, &key);
    let nonce: Vec<u8> = (100..160).collect();
    let plain = [0xd1; 777];
    for length in [1, 8, 12, 16, 60] {
        let (cipher, tag) = oracle(&key, &nonce[..length], b"more", &plain);
        let mut data = plain;
        let sealed = gcm.seal(&nonce[..length], b"more", (&mut data[..]).into());
        assert_eq!(sealed, Ok(tag), "{way:?}, {length} bytes");
        assert_eq!(&data[..], &cipher);
        let mut wrong = tag;
        wrong[0] ^= 1;
        let opened = gcm.open(&nonce[..length], b"more", (&mut data[..]).into(), &wrong);
        assert_eq!(opened, Err(AeadError::AuthenticationFailed));
        assert_eq!(&data[..], &cipher);
        gcm.open(&nonce[..length], b"more", (&mut data[..]).into(), &tag)
            .unwrap();
        assert_eq!(data, plain);
    }
    let mut data = plain;
    let error = gcm.seal(&[], b"more", (&mut data[..]).into()).unwrap_err();
    assert_eq!(error, AeadError::InvalidNonceLength(0));
    assert_eq!(data, plain);
    assert!(gcm.begin(&[], b"more").is_err());
    assert!(gcm.keystream(&[], &mut data).is_err());
}

fn messages_too_long(way: Way) {
    let gcm = gcm(way, &[1; 16]);
    let mut message = gcm.begin(&[1; 12], b"").unwrap();
    let near = MESSAGE_BYTES_MAX - 100;
    *gcm_bytes(&mut message) = near;
    let mut data = [0x61; 101];
    let too_long = AeadError::MessageTooLong {
        bytes_max: (1 << 36) - 32,
    };
    let result = gcm.seal_next(&mut message, (&mut data[..]).into());
    assert_eq!(result, Err(too_long));
    let result = gcm.open_next(&mut message, (&mut data[..]).into());
    assert_eq!(result, Err(too_long));
    assert_eq!((data, message.bytes()), ([0x61; 101], near));
    gcm.seal_next(&mut message, (&mut data[..100]).into())
        .unwrap();
    // The last block has the counter 2^32 - 1.
    let mut block = [0x61; 4];
    let counter = 0x01010101_01010101_01010101_ffffffff;
    gcm_cipher(&gcm).apply32(counter, 0, (&mut block[..]).into());
    assert_eq!(data[84..88], block);
    assert_eq!(check_gcm_lengths(AAD_BYTES_MAX, 0), Ok(()));
    assert!(check_gcm_lengths(AAD_BYTES_MAX + 1, 0).is_err());
}

#[test]
#[should_panic = "multiple of 64 bytes, not at 65"]
fn a_stripe_at_no_multiple_panics() {
    let _guard = super::with_others();
    let gcm = gcm(Way::Portable, &[0; 16]);
    let message = gcm.begin(&[0; 12], &[]).unwrap();
    gcm.seal_stripe(&message, 65, (&mut [0; 4][..]).into());
}

#[test]
#[should_panic = "nothing can follow"]
fn data_after_the_last_stripe_panic() {
    let _guard = super::with_others();
    let gcm = gcm(Way::Portable, &[0; 16]);
    let mut message = gcm.begin(&[0; 12], &[]).unwrap();
    let partial = gcm.seal_stripe(&message, 0, (&mut [0; 4][..]).into());
    gcm.append(&mut message, partial, 4);
    let _ = gcm.seal_next(&mut message, (&mut [0; 4][..]).into());
}

#[test]
fn values_cross_threads_and_show_no_secret() {
    fn crosses<T: Send>(_: &T) {}
    fn is_shared<T: Sync>(_: &T) {}
    let gcm = gcm(Way::Portable, &[0xab; 16]);
    let message: Message = gcm.begin(&[0xab; 12], &[]).unwrap();
    let partial = gcm.seal_stripe(&message, 0, (&mut [0; 64][..]).into());
    crosses(&gcm);
    is_shared(&gcm);
    crosses(&message);
    is_shared(&message);
    crosses(&partial);
    let debug = format!("{gcm:?} {message:?} {partial:?}");
    assert!(!debug.contains("171") && !debug.contains("abab"), "{debug}");
}

fn random(rng: &mut StdRng, longest: usize) -> Vec<u8> {
    let bytes = rng.random_range(0..=longest);
    random_bytes(rng, bytes)
}

fn apart<'a>(from: &'a [u8], to: &'a mut [u8]) -> InOutBuf<'a, 'a, u8> {
    InOutBuf::new(from, to).unwrap()
}

/// RustCrypto's AES-GCM.
fn oracle(key: &[u8], nonce: &[u8], aad: &[u8], plain: &[u8]) -> (Vec<u8>, [u8; 16]) {
    macro_rules! seal {
        ($cipher:ty, $($length:literal $size:ty),+) => {
            match nonce.len() {
                $($length => {
                    let gcm = AesGcm::<$cipher, $size>::new_from_slice(key).unwrap();
                    let nonce = Nonce::<$size>::try_from(nonce).unwrap();
                    gcm.encrypt(&nonce, Payload { msg: plain, aad }).unwrap()
                })+
                _ => panic!("the oracle is not made for this nonce"),
            }
        };
    }
    let mut sealed = match key.len() {
        16 => seal!(Aes128, 1 U1, 8 U8, 12 U12, 16 U16, 60 U60),
        24 => seal!(Aes192, 1 U1, 8 U8, 12 U12, 16 U16, 60 U60),
        _ => seal!(Aes256, 1 U1, 8 U8, 12 U12, 16 U16, 60 U60),
    };
    let tag = sealed.split_off(plain.len());
    (sealed, tag.try_into().unwrap())
}
