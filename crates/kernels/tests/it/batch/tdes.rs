use cipher::{BlockModeDecrypt, BlockModeEncrypt, KeyIvInit};
use inout::InOutBuf;
use oarlock_kernels::batch::{TdesCbcStream, dispatch, encrypt_tdes_cbc};
use oarlock_kernels::cpu::{Cpu, Feature};
use oarlock_kernels::tdes::{Cbc, CbcBackend};
use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::{Guarded, lengths};
use crate::{alone, with_others};

fn for_every_backend(body: impl Fn(CbcBackend)) {
    let _guard = with_others();
    Cpu::detect().tdes_cbc_backends().for_each(body);
}

pub(super) fn oracle_encrypt(key: &[u8; 24], iv: [u8; 8], data: &mut [u8]) {
    let (blocks, rest) = data.as_chunks_mut::<8>();
    assert!(rest.is_empty());
    let mut cipher = cbc::Encryptor::<des::TdesEde3>::new(key.into(), &iv.into());
    for block in blocks {
        cipher.encrypt_block(block.into());
    }
}

fn oracle_decrypt(key: &[u8; 24], iv: [u8; 8], data: &mut [u8]) {
    let mut cipher = cbc::Decryptor::<des::TdesEde3>::new(key.into(), &iv.into());
    for block in data.as_chunks_mut::<8>().0 {
        cipher.decrypt_block(block.into());
    }
}

type Batch = fn(CbcBackend, &mut [TdesCbcStream<'_>]);

fn decrypt_each(backend: CbcBackend, streams: &mut [TdesCbcStream<'_>]) {
    for TdesCbcStream { key, iv, data } in streams {
        key.decrypt(backend, iv, data.reborrow());
    }
}

/// Batches with so many streams that they fill no register, some, all, or more than all; each stream has its own key, and
/// any length. In both directions, in place and from buffer to buffer.
#[test]
fn batches_of_any_lengths() {
    for_every_backend(|backend| {
        let mut rng = StdRng::seed_from_u64(20);
        for count in (0..=40).chain([63, 64, 65, 80]) {
            let lengths = lengths(&mut rng, count, 8);
            let keys: Vec<[u8; 24]> = (0..count).map(|_| rng.random()).collect();
            let made: Vec<Cbc> = keys.iter().map(Cbc::new).collect();
            let ivs: Vec<[u8; 8]> = (0..count).map(|_| rng.random()).collect();
            let given: Vec<Vec<u8>> = lengths
                .iter()
                .map(|bytes| crate::random_bytes(&mut rng, *bytes))
                .collect();
            for (is_decryption, batch) in [
                (false, encrypt_tdes_cbc as Batch),
                (true, decrypt_each as Batch),
            ] {
                let mut expected = given.clone();
                for ((key, iv), data) in keys.iter().zip(&ivs).zip(&mut expected) {
                    if is_decryption {
                        oracle_decrypt(key, *iv, data);
                    } else {
                        oracle_encrypt(key, *iv, data);
                    }
                }
                let ciphertext = if is_decryption { &given } else { &expected };
                for in_place in [true, false] {
                    let mut output = Guarded::new(&lengths);
                    let mut next = ivs.clone();
                    let streams = made.iter().zip(&mut next).zip(output.buffers());
                    let mut streams: Vec<_> = streams
                        .zip(&given)
                        .map(|(((key, iv), output), given)| {
                            let data = if in_place {
                                output.copy_from_slice(given);
                                InOutBuf::from(output)
                            } else {
                                InOutBuf::new(given, output).unwrap()
                            };
                            TdesCbcStream { key, iv, data }
                        })
                        .collect();
                    batch(backend, &mut streams);
                    drop(streams);
                    let what = || {
                        let name = backend.name();
                        format!(
                            "{name}, decryption {is_decryption}, in place {in_place}, {lengths:?}"
                        )
                    };
                    assert!(output.buffers() == expected, "{}", what());
                    for ((next, iv), cipher) in next.iter().zip(&ivs).zip(ciphertext) {
                        assert_eq!(next, cipher.last_chunk().unwrap_or(iv), "{}", what());
                    }
                }
            }
        }
    });
}

/// Passes of every width, and the rest.
#[test]
fn decryption_of_long_messages() {
    for_every_backend(|backend| {
        let mut rng = StdRng::seed_from_u64(21);
        let key: [u8; 24] = rng.random();
        for blocks in [127, 128, 129, 255, 256, 320, 511, 512, 513, 1024 + 65, 1537] {
            let data = crate::random_bytes(&mut rng, 8 * blocks);
            let mut expected = data.clone();
            oracle_decrypt(&key, [5; 8], &mut expected);
            let (mut iv, mut output) = ([5; 8], Guarded::new(&[8 * blocks]));
            let output = output.buffers().pop().unwrap();
            output.copy_from_slice(&data);
            Cbc::new(&key).decrypt(backend, &mut iv, InOutBuf::from(&mut *output));
            assert!(*output == expected, "{}, {blocks} blocks", backend.name());
            assert_eq!(data.last_chunk(), Some(&iv));
        }
    });
}

#[test]
fn every_bit_of_a_key_but_parity() {
    for_every_backend(|backend| {
        let key: [u8; 24] = *b"three keys of DES, eight";
        let keys: Vec<[u8; 24]> = (0..192)
            .map(|bit| {
                let mut key = key;
                key[bit / 8] ^= 1 << (bit % 8);
                key
            })
            .collect();
        let made: Vec<Cbc> = keys.iter().map(Cbc::new).collect();
        let (mut ivs, mut data) = (vec![[0; 8]; 192], vec![[0x5a; 24]; 192]);
        let mut streams: Vec<_> = made
            .iter()
            .zip(&mut ivs)
            .zip(&mut data)
            .map(|((key, iv), data)| TdesCbcStream {
                key,
                iv,
                data: InOutBuf::from(&mut data[..]),
            })
            .collect();
        encrypt_tdes_cbc(backend, &mut streams);
        let mut plain = [0x5a; 24];
        oracle_encrypt(&key, [0; 8], &mut plain);
        for (bit, (key, data)) in keys.iter().zip(&data).enumerate() {
            let mut expected = [0x5a; 24];
            oracle_encrypt(key, [0; 8], &mut expected);
            assert_eq!(*data, expected, "{} {bit}", backend.name());
            assert_eq!(*data == plain, bit % 8 == 0, "{} {bit}", backend.name());
        }
    });
}

/// A lane that ended when the next stream begins repeats another lane, not that one.
#[test]
fn streams_side_by_side_in_one_buffer() {
    for_every_backend(|backend| {
        for blocks in 1..=6 {
            let key = Cbc::new(&[7; 24]);
            let mut data = vec![3; 8 * (17 * blocks + 16)];
            let mut expected = data.clone();
            let mut ivs = [[9; 8]; 33];
            let mut streams = Vec::new();
            let (mut rest, mut rest_expected) = (&mut data[..], &mut expected[..]);
            for (i, iv) in ivs.iter_mut().enumerate() {
                let bytes = 8 * if i % 2 == 0 { blocks } else { 1 };
                let (piece, after) = rest.split_at_mut(bytes);
                let (piece_expected, after_expected) = rest_expected.split_at_mut(bytes);
                oracle_encrypt(&[7; 24], *iv, piece_expected);
                streams.push(TdesCbcStream {
                    key: &key,
                    iv,
                    data: InOutBuf::from(piece),
                });
                (rest, rest_expected) = (after, after_expected);
            }
            encrypt_tdes_cbc(backend, &mut streams);
            drop(streams);
            assert!(data == expected, "{}, {blocks} blocks", backend.name());
        }
    });
}

#[test]
fn a_stream_that_is_not_whole_stops_all() {
    let key = Cbc::new(&[1; 24]);
    let mut data = [[5; 24], [5; 24]];
    let mut ivs = [[0; 8]; 2];
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let [first, second] = &mut data;
        let [one, two] = &mut ivs;
        let stream = |iv, data| TdesCbcStream {
            key: &key,
            iv,
            data,
        };
        let mut streams = [
            stream(one, InOutBuf::from(&mut first[..])),
            stream(two, InOutBuf::from(&mut second[..23])),
        ];
        encrypt_tdes_cbc(CbcBackend::preferred(Cpu::detect()), &mut streams);
    }));
    assert!(result.is_err());
    assert_eq!((data, ivs), ([[5; 24]; 2], [[0; 8]; 2]));
}

#[test]
fn the_kernel_that_was_asked_for_ran() {
    let _guard = alone();
    let cpu = Cpu::detect();
    for backend in cpu.tdes_cbc_backends() {
        let counters = [
            &dispatch::TDES_PERMUTE,
            &dispatch::TDES_BITS,
            &dispatch::TDES_BITS_SSE2,
            &dispatch::TDES_NIBBLES_SSSE3,
            &dispatch::TDES_NIBBLES_AVX2,
        ];
        for (is_decryption, batch) in [
            (false, encrypt_tdes_cbc as Batch),
            (true, decrypt_each as Batch),
        ] {
            let before = counters.map(|counter| counter.get());
            let (key, mut iv, mut data) = (Cbc::new(&[1; 24]), [0; 8], [0; 64]);
            batch(
                backend,
                &mut [TdesCbcStream {
                    key: &key,
                    iv: &mut iv,
                    data: InOutBuf::from(&mut data[..]),
                }],
            );
            let ran = [0, 1, 2, 3, 4].map(|i| counters[i].get() - before[i]);
            let expected = match backend.name() {
                "permute-avx512" => [1, 0, 0, 0, 0],
                "nibbles-avx2" => [0, 0, 0, 0, 1],
                "nibbles-ssse3" => [0, 0, 0, 1, 0],
                // The rest of a pass is decrypted in words.
                "sse2" if !is_decryption => [0, 0, 1, 0, 0],
                _ => [0, 1, 0, 0, 0],
            };
            assert_eq!(ran, expected, "{}, {is_decryption}", backend.name());
        }
    }
    let preferred = |cpu| CbcBackend::preferred(cpu).name();
    if cpu.has(Feature::Vbmi) && cpu.has(Feature::Gfni) {
        assert_eq!(preferred(cpu), "permute-avx512");
    }
    for feature in [Feature::Vbmi, Feature::Gfni, Feature::Avx512] {
        let expected = if cpu.has(Feature::Avx2) {
            "nibbles-avx2"
        } else if cpu.has(Feature::Ssse3) {
            "nibbles-ssse3"
        } else {
            "sse2"
        };
        assert_eq!(preferred(cpu.without(feature)), expected);
    }
    assert_eq!(preferred(cpu.without(Feature::Ssse3)), "sse2");
}
