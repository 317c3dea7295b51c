//! Serpent in counter mode: every backend compared with RustCrypto's, and published vectors.

use core::mem::MaybeUninit;

use cipher::{InnerIvInit, KeyInit, StreamCipher, StreamCipherCoreWrapper};
use inout::InOutBuf;
use oarlock_kernels::cpu::{Cpu, Feature};
use oarlock_legacy::serpent::{Backend, Ctr, dispatch};
use oarlock_legacy::{InvalidKeyLength, testing};

use super::pages::{Pages, assert_is_wiped};
use super::{alone, with_others};

const KEY: &[u8] = b"thirty-two bytes of a secret key";

fn ctr(backend: Backend, key: &[u8]) -> Ctr {
    let mut ctr = Ctr::unkeyed(backend);
    ctr.set_key(key).unwrap();
    ctr
}

fn expected(key: &[u8], counter: u128, bytes: usize) -> Vec<u8> {
    let mut data = vec![0; bytes];
    let iv = counter.to_be_bytes();
    // RustCrypto's trait fixes one key length; the cipher itself accepts all.
    let cipher = serpent::Serpent::new_from_slice(key).unwrap();
    let core = ctr::CtrCore::inner_iv_init(cipher, (&iv).into());
    StreamCipherCoreWrapper::<ctr::CtrCore<_, ctr::flavors::Ctr128BE>>::from_core(core)
        .apply_keystream(&mut data);
    data
}

#[test]
fn each_backend_is_rustcryptos_at_every_length_and_wrap() {
    let _guard = with_others();
    // Low, and close enough to a wrap of 8, 32, 64 and 128 bits that the data crosses it.
    for counter in [
        0,
        0xf3,
        0xffff_ff9b,
        u128::from(u64::MAX) - 77,
        u128::MAX - 77,
    ] {
        let expected = expected(KEY, counter, 9016);
        for backend in Backend::all(Cpu::detect()) {
            let ctr = ctr(backend, KEY);
            for bytes in (0..9000).step_by(7) {
                let skip = bytes % 16;
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
fn keys_have_16_24_or_32_bytes() {
    let _guard = with_others();
    for backend in Backend::all(Cpu::detect()) {
        for bytes in 0..40 {
            let mut ctr = Ctr::unkeyed(backend);
            let key: Vec<u8> = (1..=bytes).collect();
            let result = ctr.set_key(&key);
            if !matches!(bytes, 16 | 24 | 32) {
                assert_eq!(result, Err(InvalidKeyLength(bytes.into())));
                continue;
            }
            result.unwrap();
            let mut data = vec![0; 100];
            ctr.apply(7, 0, data.as_mut_slice().into());
            assert_eq!(data, expected(&key, 7, 100), "{}", backend.name());
        }
    }
}

/// The first variable-key vectors of the submission to the AES competition.
#[test]
fn the_submissions_vectors() {
    let _guard = with_others();
    for (key, cipher) in [
        (
            "80000000000000000000000000000000",
            "264e5481eff42a4606abda06c0bfda3d",
        ),
        (
            "8000000000000000000000000000000000000000000000000000000000000000",
            "a223aa1288463c0e2be38ebd825616c0",
        ),
    ] {
        for backend in Backend::all(Cpu::detect()) {
            let mut data = [0; 16];
            ctr(backend, &hex::decode(key).unwrap()).apply(0, 0, (&mut data[..]).into());
            assert_eq!(hex::encode(data), cipher, "{}", backend.name());
        }
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
    ];
    for backend in Backend::all(Cpu::detect()) {
        let before = counters.map(|(_, counter)| counter.get());
        ctr(backend, KEY).apply(0, 0, (&mut [0; 100][..]).into());
        for ((name, counter), before) in counters.iter().zip(before) {
            let ran = counter.get() - before;
            assert_eq!(ran, u64::from(*name == backend.name()), "{name}");
        }
    }
}

#[test]
fn a_mask_hides_backends() {
    let name = |cpu| Backend::preferred(cpu).name();
    let cpu = Cpu::detect();
    let expected = if cpu.has(Feature::Avx512) {
        "avx512"
    } else if cpu.has(Feature::Avx2) {
        "avx2"
    } else {
        "sse2"
    };
    assert_eq!(name(cpu), expected);
    if cpu.has(Feature::Avx2) {
        assert_eq!(name(cpu.without(Feature::Avx512)), "avx2");
    }
    assert_eq!(name(cpu.without(Feature::Avx2)), "sse2");
}

#[test]
fn nothing_beyond_a_page_is_touched() {
    let _guard = with_others();
    let (input, output) = (Pages::new(3), Pages::new(3));
    for backend in Backend::all(Cpu::detect()) {
        let ctr = ctr(backend, KEY);
        for length in (0..=40).chain([511, 1023, 1024, 2047, 4096, 4099, 8191, 12_288]) {
            for at in [0, input.bytes() - length] {
                // SAFETY: both ranges lie within pages to which there is no other reference.
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
    for backend in Backend::all(Cpu::detect()) {
        let mut place = MaybeUninit::<Ctr>::zeroed();
        let ctr = place.write(Ctr::unkeyed(backend));
        ctr.set_key(KEY).unwrap();
        ctr.apply(1, 5, (&mut [0; 1000][..]).into());
        let secrets = testing::serpent_keys(ctr).as_flattened().to_vec();
        assert_is_wiped(&mut place, &secrets);
    }
}
