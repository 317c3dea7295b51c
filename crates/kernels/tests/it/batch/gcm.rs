use inout::InOutBuf;
use oarlock_kernels::aead::AeadError;
use oarlock_kernels::aes::Backend;
use oarlock_kernels::batch::{GcmPacket, dispatch, open_gcm, seal_gcm};
use oarlock_kernels::cpu::Cpu;
use oarlock_kernels::gcm::Gcm;
use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::{Guarded, lengths};
use crate::{alone, random_bytes, with_others};

fn keyed(backend: Backend, key: &[u8]) -> Gcm {
    let mut gcm = Gcm::unkeyed(backend);
    gcm.set_key(key).unwrap();
    gcm
}

/// Packets of any lengths, each under its own key. The oracle is the portable kernel, which other tests compare with the
/// published vectors. Each key is used several times, so that all its tables of powers occur.
#[test]
fn batches_of_any_lengths_are_sealed_and_opened() {
    let _guard = with_others();
    for backend in Cpu::detect().aes_backends() {
        let mut rng = StdRng::seed_from_u64(13);
        for count in 0..=24 {
            let unit = [1, 7, 16, 64][count % 4];
            let mut lengths = lengths(&mut rng, count, unit);
            for (number, bytes) in lengths.iter_mut().enumerate() {
                match number % 4 {
                    0 => *bytes = rng.random_range(257..=4_200),
                    1 => *bytes = [320, 321, 512, 513, 1_400, 1_536, 4_048, 4_049][count % 8],
                    _ => {}
                }
            }
            let secrets: Vec<Vec<u8>> = (0..count)
                .map(|i| random_bytes(&mut rng, 16 + 8 * (i % 3)))
                .collect();
            let keys: Vec<Gcm> = secrets.iter().map(|key| keyed(backend, key)).collect();
            let aads: Vec<Vec<u8>> = (0..count)
                .map(|i| random_bytes(&mut rng, [0, 8, 12, 16, 17, 40][i % 6]))
                .collect();
            let plain: Vec<Vec<u8>> = lengths
                .iter()
                .map(|bytes| random_bytes(&mut rng, *bytes))
                .collect();
            for (time, in_place) in [true, false, true, false].into_iter().enumerate() {
                let nonces: Vec<[u8; 12]> = (0..count).map(|_| rng.random()).collect();
                let mut expected = plain.clone();
                let all = secrets.iter().zip(&nonces).zip(&aads).zip(&mut expected);
                let expected_tags: Vec<[u8; 16]> = all
                    .map(|(((key, nonce), aad), data)| {
                        let oracle = Gcm::new(key, Cpu::PORTABLE).unwrap();
                        oracle.seal(nonce, aad, data.as_mut_slice().into()).unwrap()
                    })
                    .collect();
                let run = |input: &[Vec<u8>], tags: &mut [[u8; 16]], open: bool| {
                    let mut output = Guarded::new(&lengths);
                    let mut packets: Vec<_> = (keys.iter().zip(&nonces).zip(&aads))
                        .zip(output.buffers().into_iter().zip(input).zip(tags))
                        .map(|(((key, nonce), aad), ((output, input), tag))| GcmPacket {
                            key,
                            nonce,
                            aad,
                            data: if in_place {
                                output.copy_from_slice(input);
                                InOutBuf::from(output)
                            } else {
                                InOutBuf::new(input, output).unwrap()
                            },
                            tag,
                            result: Err(AeadError::InvalidNonceLength(0)),
                        })
                        .collect();
                    if open {
                        open_gcm(&mut packets);
                    } else {
                        seal_gcm(&mut packets);
                    }
                    let results: Vec<_> = packets.iter().map(|packet| packet.result).collect();
                    drop(packets);
                    let output: Vec<Vec<u8>> =
                        output.buffers().iter().map(|data| data.to_vec()).collect();
                    (output, results)
                };
                let what = format!("{backend:?}, time {time}, {lengths:?}");
                let mut tags = vec![[0; 16]; count];
                let (sealed, results) = run(&plain, &mut tags, false);
                assert!(results.iter().all(Result::is_ok), "{what}");
                assert!(sealed == expected, "{what}");
                assert_eq!(tags, expected_tags, "{what}");
                // Every third tag has a wrong bit.
                for tag in tags.iter_mut().skip(1).step_by(3) {
                    tag[rng.random_range(0..16)] ^= 1 << rng.random_range(0..8);
                }
                let (opened, results) = run(&sealed, &mut tags, true);
                for (number, (data, result)) in opened.iter().zip(results).enumerate() {
                    if number % 3 == 1 {
                        assert_eq!(result, Err(AeadError::AuthenticationFailed), "{what}");
                        assert!(data.iter().all(|byte| *byte == 0), "{what}");
                    } else {
                        assert_eq!(result, Ok(()), "{what}");
                        assert!(*data == plain[number], "{what}");
                    }
                }
            }
        }
    }
}

#[test]
fn long_ends_go_through_the_kernel_for_many() {
    let _guard = alone();
    for backend in Cpu::detect().aes_backends() {
        let key = keyed(backend, &[1; 16]);
        for (bytes, taken) in [
            (64, 0),
            (512, 0),
            (1_100, 0),
            (1_400, 1),
            (320, 1),
            (8_000, 0),
        ] {
            let before = dispatch::GCM_VAES512.get();
            let (mut data, mut tag) = (vec![0; bytes], [0; 16]);
            seal_gcm(&mut [GcmPacket {
                key: &key,
                nonce: &[0; 12],
                aad: &[],
                data: data.as_mut_slice().into(),
                tag: &mut tag,
                result: Ok(()),
            }]);
            let ran = if backend.name() == "vaes-512" {
                taken
            } else {
                0
            };
            assert_eq!(
                dispatch::GCM_VAES512.get() - before,
                ran,
                "{backend:?} {bytes}"
            );
        }
    }
}
