use inout::InOutBuf;
use oarlock_kernels::aes::Backend;
use oarlock_kernels::batch::{CbcStream, dispatch, encrypt_cbc};
use oarlock_kernels::cbc::Cbc;
use oarlock_kernels::cpu::Cpu;
use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::{Guarded, lengths};
use crate::{alone, cbc::oracle_encrypt, with_others};

fn for_every_backend(body: impl Fn(Backend)) {
    let _guard = with_others();
    Cpu::detect().aes_backends().for_each(body);
}

fn expanded(key: &[u8]) -> Cbc {
    Cbc::new(key, Cpu::PORTABLE).unwrap()
}

/// RFC 3602, section 4, cases 1 to 4.
#[test]
fn rfc3602() {
    const CASES: [[&str; 4]; 4] = [
        [
            "06a9214036b8a15b512e03d534120006",
            "3dafba429d9eb430b422da802c9fac41",
            "53696e676c6520626c6f636b206d7367",
            "e353779c1079aeb82708942dbe77181a",
        ],
        [
            "c286696d887c9aa0611bbb3e2025a45a",
            "562e17996d093d28ddb3ba695a2e6f58",
            "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
            "d296cd94c2cccf8a3a863028b5e1dc0a7586602d253cfff91b8266bea6d61ab1",
        ],
        [
            "6c3ea0477630ce21a2ce334aa746c2cd",
            "c782dc4c098c66cbd9cd27d825682c81",
            "5468697320697320612034382d62797465206d6573736167652028657861637\
             46c7920332041455320626c6f636b7329",
            "d0a02b3836451753d493665d33f0e8862dea54cdb293abc7506939276772f8d5\
             021c19216bad525c8579695d83ba2684",
        ],
        [
            "56e47a38c5598974bc46903dba290349",
            "8ce82eefbea0da3c44699ed7db51b7d9",
            "a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebf\
             c0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedf",
            "c30e32ffedc0774e6aff6af0869f71aa0f3af07a9a31a9c684db207eb0ef8e4e\
             35907aa632c3ffdf868bb7b29d3d46ad83ce9f9a102ee99d49a53e87f4c3da55",
        ],
    ];
    for_every_backend(|backend| {
        let decode = |i: usize| CASES.map(|case| hex::decode(case[i]).unwrap());
        let keys = decode(0).map(|key| expanded(&key));
        let mut ivs = decode(1).map(|iv| <[u8; 16]>::try_from(iv).unwrap());
        let mut data = decode(2);
        let mut streams: Vec<_> = keys
            .iter()
            .zip(&mut ivs)
            .zip(&mut data)
            .map(|((key, iv), data)| CbcStream {
                key,
                iv,
                data: InOutBuf::from(data.as_mut_slice()),
            })
            .collect();
        encrypt_cbc(backend, &mut streams);
        assert_eq!(data, decode(3), "{backend:?}");
        for (iv, data) in ivs.iter().zip(data) {
            assert!(data.ends_with(iv));
        }
    });
}

/// Batches with so many streams that they fill no register, some, all, or more than all; each stream has its own key, and
/// any length.
#[test]
fn batches_of_any_lengths() {
    for_every_backend(|backend| {
        let mut rng = StdRng::seed_from_u64(8);
        for count in (0..=40).chain(0..=40) {
            let lengths = lengths(&mut rng, count, 16);
            let one_size = rng.random_bool(0.5);
            let keys: Vec<Vec<u8>> = (0..count)
                .map(|i| {
                    let bytes = if one_size { 16 } else { 16 + 8 * (i % 3) };
                    crate::random_bytes(&mut rng, bytes)
                })
                .collect();
            let expanded: Vec<Cbc> = keys.iter().map(|key| expanded(key)).collect();
            let ivs: Vec<[u8; 16]> = (0..count).map(|_| rng.random()).collect();
            let plain: Vec<Vec<u8>> = lengths
                .iter()
                .map(|bytes| crate::random_bytes(&mut rng, *bytes))
                .collect();
            let mut cipher = plain.clone();
            for ((key, iv), data) in keys.iter().zip(&ivs).zip(&mut cipher) {
                oracle_encrypt(key, *iv, data);
            }
            for in_place in [true, false] {
                let mut output = Guarded::new(&lengths);
                let mut next = ivs.clone();
                let streams = expanded.iter().zip(&mut next).zip(output.buffers());
                let mut streams: Vec<_> = streams
                    .zip(&plain)
                    .map(|(((key, iv), output), plain)| {
                        let data = if in_place {
                            output.copy_from_slice(plain);
                            InOutBuf::from(output)
                        } else {
                            InOutBuf::new(plain, output).unwrap()
                        };
                        CbcStream { key, iv, data }
                    })
                    .collect();
                encrypt_cbc(backend, &mut streams);
                drop(streams);
                let what = || format!("{backend:?}, in place {in_place}, {lengths:?}");
                assert!(output.buffers() == cipher, "{}", what());
                for ((next, iv), cipher) in next.iter().zip(&ivs).zip(&cipher) {
                    assert_eq!(next, cipher.last_chunk().unwrap_or(iv), "{}", what());
                }
            }
        }
    });
}

/// A lane that ended when the next stream begins repeats another lane, not that one.
#[test]
fn streams_side_by_side_in_one_buffer() {
    for_every_backend(|backend| {
        for blocks in 1..=6 {
            let key = expanded(&[7; 16]);
            let mut data = vec![3; 16 * (17 * blocks + 16)];
            let mut expected = data.clone();
            let mut ivs = [[9; 16]; 33];
            let mut streams = Vec::new();
            let (mut rest, mut rest_expected) = (&mut data[..], &mut expected[..]);
            for (i, iv) in ivs.iter_mut().enumerate() {
                let bytes = 16 * if i % 2 == 0 { blocks } else { 1 };
                let (piece, after) = rest.split_at_mut(bytes);
                let (piece_expected, after_expected) = rest_expected.split_at_mut(bytes);
                oracle_encrypt(&[7; 16], *iv, piece_expected);
                let data = InOutBuf::from(piece);
                streams.push(CbcStream {
                    key: &key,
                    iv,
                    data,
                });
                (rest, rest_expected) = (after, after_expected);
            }
            encrypt_cbc(backend, &mut streams);
            drop(streams);
            assert!(data == expected, "{backend:?}, {blocks} blocks");
        }
    });
}

#[test]
fn a_stream_that_is_not_whole_stops_all() {
    let key = expanded(&[1; 16]);
    let mut data = [[5; 48], [5; 48]];
    let mut ivs = [[0; 16]; 2];
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let [first, second] = &mut data;
        let [one, two] = &mut ivs;
        let stream = |iv, data| CbcStream {
            key: &key,
            iv,
            data,
        };
        let mut streams = [
            stream(one, InOutBuf::from(&mut first[..])),
            stream(two, InOutBuf::from(&mut second[..47])),
        ];
        encrypt_cbc(Backend::preferred(Cpu::detect()), &mut streams);
    }));
    assert!(result.is_err());
    assert_eq!((data, ivs), ([[5; 48]; 2], [[0; 16]; 2]));
}

#[test]
fn the_kernel_that_was_asked_for_ran() {
    let _guard = alone();
    let counters = [
        ("aes-ni", &dispatch::CBC_AES_NI),
        ("vaes-256", &dispatch::CBC_VAES256),
        ("vaes-512", &dispatch::CBC_VAES512),
    ];
    for backend in Cpu::detect().aes_backends() {
        let before = counters.map(|(_, counter)| counter.get());
        let key = expanded(&[1; 16]);
        let (mut ivs, mut data) = ([[0; 16]; 3], [[0; 64]; 3]);
        let streams = ivs.iter_mut().zip(&mut data).map(|(iv, data)| CbcStream {
            key: &key,
            iv,
            data: InOutBuf::from(&mut data[..]),
        });
        encrypt_cbc(backend, &mut streams.collect::<Vec<_>>());
        for ((name, counter), before) in counters.into_iter().zip(before) {
            let ran = u64::from(name == backend.name());
            assert_eq!(counter.get() - before, ran, "{backend:?}: {name}");
        }
    }
}
