use inout::InOutBuf;
use oarlock_kernels::aes::Ctr;
use oarlock_kernels::batch::{CtrPacket, apply_ctr, dispatch};
use oarlock_kernels::cpu::Cpu;
use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::{Guarded, lengths};
use crate::{alone, random_bytes, with_others};

fn keyed(key: &[u8]) -> Ctr {
    Ctr::new(key, Cpu::PORTABLE).unwrap()
}

/// Packets of any lengths, each under its own key; the counters of some wrap at 2^32 or 2^128. The oracle is the portable
/// kernel, which other tests compare with RustCrypto's.
#[test]
fn batches_of_any_lengths() {
    let _guard = with_others();
    for backend in Cpu::detect().aes_backends() {
        let mut rng = StdRng::seed_from_u64(11);
        for count in (0..=40).chain(0..=40) {
            let unit = [1, 7, 16, 64][count % 4];
            let lengths = lengths(&mut rng, count, unit);
            let keys: Vec<Ctr> = (0..count)
                .map(|i| keyed(&random_bytes(&mut rng, 16 + 8 * (i % 3))))
                .collect();
            let counters: Vec<u128> = (0..count)
                .map(|i| match i % 5 {
                    0 => u128::from(u32::MAX) - 2,
                    1 => u128::MAX,
                    _ => rng.random(),
                })
                .collect();
            let plain: Vec<Vec<u8>> = lengths
                .iter()
                .map(|bytes| random_bytes(&mut rng, *bytes))
                .collect();
            let mut expected = plain.clone();
            for ((key, counter), data) in keys.iter().zip(&counters).zip(&mut expected) {
                key.apply(*counter, 0, data.as_mut_slice().into());
            }
            for in_place in [true, false] {
                let mut output = Guarded::new(&lengths);
                let packets = keys.iter().zip(&counters).zip(output.buffers());
                let mut packets: Vec<_> = packets
                    .zip(&plain)
                    .map(|(((key, counter), output), plain)| {
                        let data = if in_place {
                            output.copy_from_slice(plain);
                            InOutBuf::from(output)
                        } else {
                            InOutBuf::new(plain, output).unwrap()
                        };
                        CtrPacket {
                            key,
                            counter: *counter,
                            data,
                        }
                    })
                    .collect();
                apply_ctr(backend, &mut packets);
                drop(packets);
                assert!(
                    output.buffers() == expected,
                    "{backend:?}, in place {in_place}, {lengths:?}"
                );
            }
        }
    }
}

#[test]
fn the_kernel_that_was_asked_for_ran() {
    let _guard = alone();
    let counters = [
        ("aes-ni", &dispatch::CTR_AES_NI),
        ("vaes-256", &dispatch::CTR_VAES256),
        ("vaes-512", &dispatch::CTR_VAES512),
    ];
    let key = keyed(&[1; 16]);
    for backend in Cpu::detect().aes_backends() {
        let before = counters.map(|(_, counter)| counter.get());
        let mut data = [0; 64];
        let mut packets = [CtrPacket {
            key: &key,
            counter: 0,
            data: InOutBuf::from(&mut data[..]),
        }];
        apply_ctr(backend, &mut packets);
        for ((name, counter), before) in counters.into_iter().zip(before) {
            let ran = u64::from(name == backend.name());
            assert_eq!(counter.get() - before, ran, "{backend:?}: {name}");
        }
    }
}
