use ::aes::{Aes128, Aes192, Aes256};
use cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
use inout::InOutBuf;
use oarlock_kernels::aes::{Ctr, InvalidKeyLength, dispatch};
use oarlock_kernels::cpu::Cpu;
#[cfg(target_arch = "x86_64")]
use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::{Way, alone, for_every_way, with_others};

for_every_way!(
    random_calls,
    counter_wraps,
    counter_wraps_32,
    around_the_table,
    nonces_and_keys_come_and_go,
    every_length,
    every_alignment,
    any_split_into_calls,
    wrong_key_lengths_leave_the_key,
);

fn random_calls(way: Way) {
    let mut rng = StdRng::seed_from_u64(1);
    for round in 0..300 {
        let key = &rng.random::<[u8; 32]>()[..16 + 8 * (round % 3)];
        let mut subject = way.subject_with(key).unwrap();
        let mut counter: u128 = rng.random();
        if round % 4 == 0 {
            counter |= u128::from(u32::MAX - rng.random_range(0..600u32));
        }
        let length = rng.random_range(0..if round % 5 == 0 { 40_000 } else { 1000 });
        let skip = rng.random_range(0..16);
        let mut data = vec![0; length];
        rng.fill(&mut data[..]);
        let mut expected = data.clone();
        oracle::<Wide>(key, counter, skip, &mut expected);
        subject.apply(counter, skip, data.as_mut_slice().into());
        assert!(
            data == expected,
            "{way:?}, {}-byte key, counter {counter:#x}, skip {skip}, {length} bytes",
            key.len()
        );
    }
}

fn counter_wraps(way: Way) {
    for key in [&[1; 16][..], &[2; 24], &[3; 32]] {
        let mut subject = way.subject_with(key).unwrap();
        for bits in [8, 16, 32, 40, 64, 96, 128] {
            let last = if bits == 128 {
                u128::MAX
            } else {
                (0x5a << 120) | ((1 << bits) - 1)
            };
            for blocks_before in [0, 1, 2, 3, 6, 15, 63, 64, 255, 256, 300] {
                let counter = last - blocks_before;
                for (skip, length) in [(0, 33), (7, 700), (0, 1024), (15, 9000)] {
                    let mut data = vec![0xc3; length];
                    let mut expected = data.clone();
                    oracle::<Wide>(key, counter, skip, &mut expected);
                    subject.apply(counter, skip, data.as_mut_slice().into());
                    assert!(
                        data == expected,
                        "{way:?}, counter {counter:#x}, skip {skip}, {length} bytes"
                    );
                }
            }
        }
    }
}

/// The form used by GCM: only the low 32 bits count.
fn counter_wraps_32(way: Way) {
    let key = [9; 32];
    let subject = way.subject_with(&key).unwrap();
    for upper in [0, u128::MAX << 32, 0x0102_0304_0506_0708_090a_0b0c << 32] {
        for low in [0, 1, u32::MAX - 300, u32::MAX - 64, u32::MAX - 3, u32::MAX] {
            let counter = upper | u128::from(low);
            for (skip, length) in [(0, 16), (3, 100), (0, 2048), (9, 5000)] {
                let mut data = vec![0x3c; length];
                let mut expected = data.clone();
                oracle::<Low32>(&key, counter, skip, &mut expected);
                subject
                    .ctr()
                    .apply32(counter, skip, data.as_mut_slice().into());
                assert!(
                    data == expected,
                    "{way:?}, counter {counter:#x}, skip {skip}, {length} bytes"
                );
            }
        }
    }
}

/// A FACE table has 256 entries and registers of 4; this covers every start in it, and every way to leave it.
fn around_the_table(way: Way) {
    let key = [0x77; 16];
    let nonce = 0x0011_2233_4455_6677_8899_aabb << 40;
    for low in (0..9).chain(250..262) {
        for length in [512, 4080, 4096, 4097, 6143, 6144, 8192, 8255] {
            let mut subject = way.subject_with(&key).unwrap();
            let mut counter = nonce | low;
            // The first call or two fill the table, and the others find it filled.
            for _ in 0..3 {
                let mut data = vec![0; length];
                let mut expected = data.clone();
                oracle::<Wide>(&key, counter, 0, &mut expected);
                subject.apply(counter, 0, data.as_mut_slice().into());
                assert!(
                    data == expected,
                    "{way:?}, counter {counter:#x}, {length} bytes"
                );
                counter += length as u128 / 16 + 1;
            }
        }
    }
}

fn nonces_and_keys_come_and_go(way: Way) {
    let mut rng = StdRng::seed_from_u64(2);
    let mut subject = way.subject_with(&[0; 16]).unwrap();
    let mut key = vec![0; 16];
    // They differ in one of the bytes that a table depends on, or in one that it does not depend on.
    let nonces = [0, 1 << 120, 1 << 80, 1 << 40, 1 << 112, 1 << 39, 1 << 32];
    for round in 0..200 {
        if round % 10 == 9 {
            key = rng.random::<[u8; 32]>()[..16 + 8 * (round % 3)].to_vec();
            subject.set_key(&key).unwrap();
        }
        let nonce = nonces[rng.random_range(0..nonces.len())];
        let counter = nonce + rng.random_range(0..1000u128);
        let mut data = vec![0; rng.random_range(0..10_000)];
        let mut expected = data.clone();
        oracle::<Wide>(&key, counter, 0, &mut expected);
        subject.apply(counter, 0, data.as_mut_slice().into());
        assert!(
            data == expected,
            "{way:?}, round {round}, counter {counter:#x}"
        );
    }
}

fn every_length(way: Way) {
    let mut rng = StdRng::seed_from_u64(3);
    let lengths = (0..=1100).chain(4090..=4170).chain(8180..=8200);
    for (key, stride) in [(&[4; 16][..], 1), (&[5; 24], 7), (&[6; 32], 3)] {
        let mut subject = way.subject_with(key).unwrap();
        for length in lengths.clone().step_by(stride) {
            let counter = rng.random_range(0..1 << 16);
            let (from, to) = (rng.random_range(0..64), rng.random_range(0..64));
            check_in_both_forms(way, &mut subject, key, counter, [from, to], length);
        }
    }
}

fn every_alignment(way: Way) {
    let key = [0xee; 16];
    let mut subject = way.subject_with(&key).unwrap();
    for from in 0..64 {
        for to in 0..64 {
            let counter = (from * 64 + to) as u128;
            let length = 500 + (from + to) % 150;
            check_in_both_forms(way, &mut subject, &key, counter, [from, to], length);
        }
    }
}

/// From buffer to buffer and in place; the bytes around the buffers are unchanged.
fn check_in_both_forms(
    way: Way,
    subject: &mut super::Subject,
    key: &[u8],
    counter: u128,
    [from, to]: [usize; 2],
    length: usize,
) {
    #[repr(C, align(64))]
    struct Aligned([u8; 8448]);
    const GUARD: u8 = 0xa5;

    let what = || format!("{way:?}, counter {counter:#x}, {length} bytes at {from} and {to}");
    let mut input = Aligned([GUARD; 8448]);
    let mut output = Aligned([GUARD; 8448]);
    let (from, to) = (64 + from..64 + from + length, 64 + to..64 + to + length);
    for (i, byte) in input.0[from.clone()].iter_mut().enumerate() {
        *byte = i as u8;
    }
    let mut expected = input.0[from.clone()].to_vec();
    oracle::<Wide>(key, counter, 0, &mut expected);

    let before = input.0;
    let data = InOutBuf::new(&input.0[from.clone()], &mut output.0[to.clone()]).unwrap();
    subject.apply(counter, 0, data);
    assert!(output.0[to.clone()] == expected, "{}", what());
    assert!(input.0 == before, "input changed: {}", what());
    subject.apply(counter, 0, (&mut input.0[from.clone()]).into());
    assert!(input.0[from.clone()] == expected, "in place: {}", what());
    for (buffer, range) in [(&input.0, from), (&output.0, to)] {
        let untouched = buffer[..range.start].iter().chain(&buffer[range.end..]);
        assert!(untouched.copied().all(|byte| byte == GUARD), "{}", what());
    }
}

fn any_split_into_calls(way: Way) {
    const BYTES: usize = 30_000;
    let mut rng = StdRng::seed_from_u64(4);
    for longest in [1, 20, 200, 3000, 9000, BYTES] {
        let key: [u8; 32] = rng.random();
        let counter = rng.random::<u128>() | u128::from(u32::MAX - 900);
        let mut expected = vec![0; if longest == 1 { 2000 } else { BYTES }];
        let mut data = expected.clone();
        oracle::<Wide>(&key, counter, 0, &mut expected);
        let mut subject = way.subject_with(&key).unwrap();
        let mut at = 0;
        while at < data.len() {
            let end = data.len().min(at + rng.random_range(1..=longest));
            let counter = counter.wrapping_add(at as u128 / 16);
            subject.apply(counter, at % 16, (&mut data[at..end]).into());
            at = end;
        }
        assert!(data == expected, "{way:?}, pieces of up to {longest}");
    }
}

fn wrong_key_lengths_leave_the_key(way: Way) {
    let mut subject = way.subject_with(&[8; 24]).unwrap();
    let mut expected = [0; 100];
    oracle::<Wide>(&[8; 24], 1, 0, &mut expected);
    for length in (0..=65).filter(|length| ![16, 24, 32].contains(length)) {
        let error = subject.set_key(&vec![1; length]).unwrap_err();
        assert_eq!(error, InvalidKeyLength(length));
        assert!(error.to_string().ends_with(&format!("has {length}")));
    }
    let mut data = [0; 100];
    subject.apply(1, 0, (&mut data[..]).into());
    assert_eq!(data, expected);
}

#[test]
fn the_kernel_that_was_asked_for_ran() {
    let _guard = alone();
    let counts = || {
        [
            &dispatch::PORTABLE,
            &dispatch::AES_NI,
            &dispatch::VAES256,
            &dispatch::VAES512,
            &dispatch::FACE,
            &dispatch::FACE_FILL,
        ]
        .map(dispatch::Counter::get)
    };
    for way in Way::ALL {
        let Some(mut subject) = way.subject_with(&[1; 16]) else {
            continue;
        };
        for (bytes, long) in [(100, false), (10_000, true)] {
            let before = counts();
            subject.apply(0, 0, vec![0; bytes].as_mut_slice().into());
            let after = counts();
            let ran: Vec<u64> = after
                .iter()
                .zip(before)
                .map(|(after, b)| after - b)
                .collect();
            assert_eq!(
                ran,
                match way {
                    Way::Portable => [1, 0, 0, 0, 0, 0],
                    Way::AesNi => [0, 1, 0, 0, 0, 0],
                    Way::Vaes256 => [0, 0, 1, 0, 0, 0],
                    Way::Vaes512 => [0, 0, 0, 1, 0, 0],
                    Way::Face if long => [0, 0, 0, 0, 1, 1],
                    Way::FaceShared if long => [0, 0, 0, 0, 1, 0],
                    Way::Face | Way::FaceShared => [0, 0, 0, 1, 0, 0],
                },
                "{way:?}, {bytes} bytes"
            );
        }
    }
}

#[test]
fn short_runs_under_one_nonce_fill_the_table_at_last() {
    let _guard = alone();
    let Some(mut subject) = Way::Face.subject_with(&[1; 16]) else {
        return;
    };
    let mut expected = vec![0; 20 << 10];
    let mut data = expected.clone();
    oracle::<Wide>(&[1; 16], 0, 0, &mut expected);
    let before = dispatch::FACE.get();
    for (i, piece) in data.chunks_mut(1024).enumerate() {
        subject.apply(64 * i as u128, 0, piece.into());
        assert_eq!(dispatch::FACE.get() - before, (i as u64).saturating_sub(4));
    }
    assert!(data == expected);
}

#[test]
#[should_panic = "0 to 15, not 16"]
fn a_skip_of_a_whole_block_panics() {
    let _guard = with_others();
    let ctr = Ctr::new(&[0; 16], Cpu::PORTABLE).unwrap();
    ctr.apply(0, 16, (&mut [0; 4][..]).into());
}

#[test]
fn debug_output_shows_no_key() {
    let ctr = Ctr::new(&[0xab; 16], Cpu::PORTABLE).unwrap();
    let debug = format!("{ctr:?}");
    assert!(debug.contains("Aes128") && debug.contains("portable"));
    assert!(!debug.contains("171") && !debug.contains("abab"));
}

/// RustCrypto's CTR with a 128-bit counter.
struct Wide;
/// RustCrypto's CTR with a 32-bit counter.
struct Low32;

trait Flavor {
    fn apply(key: &[u8], iv: &[u8], skip: usize, data: &mut [u8]);
}

fn run<C: KeyIvInit + StreamCipher + StreamCipherSeek>(
    key: &[u8],
    iv: &[u8],
    skip: usize,
    data: &mut [u8],
) {
    let mut ctr = C::new_from_slices(key, iv).unwrap();
    ctr.seek(skip);
    ctr.apply_keystream(data);
}

impl Flavor for Wide {
    fn apply(key: &[u8], iv: &[u8], skip: usize, data: &mut [u8]) {
        match key.len() {
            16 => run::<ctr::Ctr128BE<Aes128>>(key, iv, skip, data),
            24 => run::<ctr::Ctr128BE<Aes192>>(key, iv, skip, data),
            _ => run::<ctr::Ctr128BE<Aes256>>(key, iv, skip, data),
        }
    }
}

impl Flavor for Low32 {
    fn apply(key: &[u8], iv: &[u8], skip: usize, data: &mut [u8]) {
        match key.len() {
            16 => run::<ctr::Ctr32BE<Aes128>>(key, iv, skip, data),
            24 => run::<ctr::Ctr32BE<Aes192>>(key, iv, skip, data),
            _ => run::<ctr::Ctr32BE<Aes256>>(key, iv, skip, data),
        }
    }
}

fn oracle<F: Flavor>(key: &[u8], counter: u128, skip: usize, data: &mut [u8]) {
    F::apply(key, &counter.to_be_bytes(), skip, data);
}
