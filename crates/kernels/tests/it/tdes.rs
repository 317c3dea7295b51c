//! Triple DES in counter mode: every backend compared with RustCrypto's, and published results.

use core::mem::MaybeUninit;

use cipher::{KeyIvInit, StreamCipher};
use inout::InOutBuf;
use oarlock_kernels::cpu::{Cpu, Feature};
use oarlock_kernels::tdes::{Backend, Ctr, dispatch};
use oarlock_kernels::testing;

use super::memory::words;
use super::pages::{Pages, assert_is_wiped};
use super::{alone, with_others};

const KEY: &[u8; 24] = b"three keys of DES, eight";

fn ctr(backend: Backend, key: &[u8; 24]) -> Ctr {
    let mut ctr = Ctr::unkeyed(backend);
    ctr.set_key(key);
    ctr
}

fn expected(key: &[u8; 24], counter: u64, bytes: usize) -> Vec<u8> {
    let mut data = vec![0; bytes];
    let iv = counter.to_be_bytes();
    ctr::Ctr64BE::<des::TdesEde3>::new(key.into(), (&iv).into()).apply_keystream(&mut data);
    data
}

#[test]
fn each_backend_is_rustcryptos_at_every_length_and_wrap() {
    let _guard = with_others();
    // Low, and so near to a wrap of 8, 32 and 64 bits that it occurs within the pass.
    for counter in [0, 0xf3, 0xffff_ff9b, 0x0123_4567_89ab_cdef, u64::MAX - 77] {
        let expected = expected(KEY, counter, 9008);
        for backend in Cpu::detect().tdes_backends() {
            let ctr = ctr(backend, KEY);
            for bytes in (0..9000).step_by(7) {
                let skip = bytes % 8;
                let mut data = vec![0; bytes];
                ctr.apply(counter, skip, data.as_mut_slice().into());
                assert!(
                    data == expected[skip..][..bytes],
                    "{}, {bytes} bytes from {counter:#x}",
                    backend.name()
                );
            }
        }
    }
}

#[test]
fn keys_differ_in_every_bit_but_parity() {
    let _guard = with_others();
    for backend in Cpu::detect().tdes_backends() {
        let plain = ctr(backend, KEY);
        for bit in 0..192 {
            let mut key = *KEY;
            key[bit / 8] ^= 1 << (bit % 8);
            let mut data = [0; 24];
            ctr(backend, &key).apply(5, 0, (&mut data[..]).into());
            assert_eq!(data[..], expected(&key, 5, 24), "{} {bit}", backend.name());
            let mut same = [0; 24];
            plain.apply(5, 0, (&mut same[..]).into());
            assert_eq!(same == data, bit % 8 == 0, "{} {bit}", backend.name());
        }
    }
}

/// Uses blocks as counters whose keystream is the ciphertext.
fn check(key: &[u8; 24], plain: u64, cipher: u64) {
    for backend in Cpu::detect().tdes_backends() {
        let mut data = [0; 8];
        ctr(backend, key).apply(plain, 0, (&mut data[..]).into());
        assert_eq!(
            u64::from_be_bytes(data),
            cipher,
            "{} {plain:016x}",
            backend.name()
        );
    }
}

/// SP 800-67, appendix B.1.
#[test]
fn sp800_67() {
    let _guard = with_others();
    let mut key = [0; 24];
    hex::decode_to_slice("0123456789abcdef23456789abcdef01456789abcdef0123", &mut key).unwrap();
    check(&key, 0x5468652071756663, 0xa826fd8ce53b855f);
    check(&key, 0x6b2062726f776e20, 0xcce21c8112256fe6);
    check(&key, 0x666f78206a756d70, 0x68d5c05dd9b6b900);
}

/// SP 800-17, table 4: with three equal keys, these use every entry of every S-box.
#[test]
fn sp800_17_substitution_tables() {
    let _guard = with_others();
    for [key, plain, cipher] in [
        [
            0x7ca110454a1a6e57_u64,
            0x01a1d6d039776742,
            0x690f5b0d9a26939b,
        ],
        [0x0131d9619dc1376e, 0x5cd54ca83def57da, 0x7a389d10354bd271],
        [0x07a1133e4a0b2686, 0x0248d43806f67172, 0x868ebb51cab4599a],
        [0x3849674c2602319e, 0x51454b582ddf440a, 0x7178876e01f19b2a],
        [0x04b915ba43feb5b6, 0x42fd443059577fa2, 0xaf37fb421f8c4095],
        [0x0113b970fd34f2ce, 0x059b5e0851cf143a, 0x86a560f10ec6d85b],
        [0x0170f175468fb5e6, 0x0756d8e0774761d2, 0x0cd3da020021dc09],
        [0x43297fad38e373fe, 0x762514b829bf486a, 0xea676b2cb7db2b7a],
        [0x07a7137045da2a16, 0x3bdd119049372802, 0xdfd64a815caf1a0f],
        [0x04689104c2fd3b2f, 0x26955f6835af609a, 0x5c513c9c4886c088],
        [0x37d06bb516cb7546, 0x164d5e404f275232, 0x0a2aeeae3ff4ab77],
        [0x1f08260d1ac2465e, 0x6b056e18759f5cca, 0xef1bf03e5dfa575a],
        [0x584023641aba6176, 0x004bd6ef09176062, 0x88bf0db6d70dee56],
        [0x025816164629b007, 0x480d39006ee762f2, 0xa1f9915541020b56],
        [0x49793ebc79b3258f, 0x437540c8698f3cfa, 0x6fbf1cafcffd0556],
        [0x4fb05e1515ab73a7, 0x072d43a077075292, 0x2f22e49bab7ca1ac],
        [0x49e95d6d4ca229bf, 0x02fe55778117f12a, 0x5a6b612cc26cce4a],
        [0x018310dc409b26d6, 0x1d9d5c5018f728c2, 0x5f4c038ed12b2e41],
        [0x1c587f1c13924fef, 0x305532286d6f295a, 0x63fac0d034d9f793],
    ] {
        let key = [key.to_be_bytes(); 3].concat();
        check(key.as_slice().try_into().unwrap(), plain, cipher);
    }
}

#[test]
fn the_backend_of_that_name_runs() {
    let _guard = alone();
    let counters = [
        ("portable", &dispatch::PORTABLE),
        ("sse2", &dispatch::SSE2),
        ("avx2", &dispatch::AVX2),
        ("avx512", &dispatch::AVX512),
        ("permute-avx512", &dispatch::PERMUTE_AVX512),
    ];
    for backend in Cpu::detect().tdes_backends() {
        let before = counters.map(|(_, counter)| counter.get());
        ctr(backend, KEY).apply(0, 0, (&mut [0; 100][..]).into());
        for ((name, counter), before) in counters.iter().zip(before) {
            let ran = counter.get() - before;
            assert_eq!(ran, u64::from(*name == backend.name()), "{name}");
        }
    }
}

/// Whole passes are bitsliced. A short rest uses look-ups, a longer one another pass.
#[cfg(target_arch = "x86_64")]
#[test]
fn short_requests_and_rests_are_looked_up() {
    let _guard = alone();
    for backend in Cpu::detect().tdes_backends() {
        let ctr = ctr(backend, KEY);
        let (pass, short) = (ctr.pass_bytes(), ctr.looked_up_bytes());
        if short == 0 {
            continue;
        }
        for (skip, bytes, ran) in [
            (0, 1, [0, 1]),
            (0, short, [0, 1]),
            (1, short, [1, 0]),
            (0, pass, [1, 0]),
            (7, pass - 7, [1, 0]),
            (7, pass, [1, 1]),
            (0, 2 * pass + short, [1, 1]),
            (0, 2 * pass + short + 1, [1, 0]),
        ] {
            let counters = || [dispatch::AVX512.get(), dispatch::PERMUTE_AVX512.get()];
            let before = counters();
            let mut data = vec![0; bytes];
            ctr.apply(u64::MAX - 600, skip, data.as_mut_slice().into());
            let after = counters();
            assert_eq!([0, 1].map(|i| after[i] - before[i]), ran, "{skip} {bytes}");
            assert_eq!(data, expected(KEY, u64::MAX - 600, skip + bytes)[skip..]);
        }
    }
}

#[test]
fn a_mask_hides_backends() {
    let name = |cpu| Backend::preferred(cpu).name();
    let cpu = Cpu::detect();
    let looks_up = cpu.has(Feature::Vbmi) && cpu.has(Feature::Gfni);
    let expected = if looks_up {
        "permute-avx512"
    } else if cpu.has(Feature::Avx512) {
        "avx512"
    } else if cpu.has(Feature::Avx2) {
        "avx2"
    } else {
        "sse2"
    };
    assert_eq!(name(cpu), expected);
    if cpu.has(Feature::Avx512) {
        assert_eq!(name(cpu.without(Feature::Vbmi)), "avx512");
        assert_eq!(name(cpu.without(Feature::Gfni)), "avx512");
    }
    if cpu.has(Feature::Avx2) {
        assert_eq!(name(cpu.without(Feature::Avx512)), "avx2");
    }
    assert_eq!(name(cpu.without(Feature::Avx2)), "sse2");
}

#[test]
fn nothing_beyond_a_page_is_touched() {
    let _guard = with_others();
    let (input, output) = (Pages::new(3), Pages::new(3));
    for backend in Cpu::detect().tdes_backends() {
        let ctr = ctr(backend, KEY);
        for length in (0..=40).chain([511, 1023, 1024, 2047, 4096, 4099, 8191, 12_288]) {
            for at in [0, input.bytes() - length] {
                // SAFETY: both ranges lie within pages to which nothing else refers.
                let data = unsafe {
                    let (from, to) = (input.start().add(at), output.start().add(at));
                    core::slice::from_raw_parts_mut(from, length).fill(0x3e);
                    ctr.apply(9, 3, InOutBuf::from_raw(from, to, length));
                    ctr.apply(9, 3, InOutBuf::from_raw(to, from, length));
                    core::slice::from_raw_parts(from, length)
                };
                let name = backend.name();
                assert!(data.iter().all(|byte| *byte == 0x3e), "{name}, {length}");
            }
        }
    }
}

#[test]
fn a_dropped_key_is_wiped() {
    let _guard = with_others();
    for backend in Cpu::detect().tdes_backends() {
        let mut place = MaybeUninit::<Ctr>::zeroed();
        let ctr = place.write(Ctr::unkeyed(backend));
        ctr.set_key(KEY);
        ctr.apply(1, 5, (&mut [0; 1000][..]).into());
        let [masks, rounds] = testing::tdes_keys(ctr).map(<[u64]>::to_vec);
        let secrets: Vec<u32> = masks
            .iter()
            .chain(rounds.iter().filter(|round| **round != 0))
            .flat_map(|mask| words(&mask.to_le_bytes()))
            .collect();
        assert_is_wiped(&mut place, &secrets);
    }
}
