use ::aes;
use aes::{Aes128, Aes192, Aes256};
use cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
use rand::{RngExt, SeedableRng, rngs::StdRng};

use crate::aes::{CachedCtr, Ctr, Face};
use crate::cpu::Cpu;

/// Something that XORs keystream from a position: each backend, and the cached form.
type Apply = Box<dyn FnMut(u128, usize, &mut [u8])>;

fn subjects(key: &[u8]) -> Vec<(String, Apply)> {
    let mut subjects: Vec<(String, Apply)> = Vec::new();
    for backend in Cpu::detect().aes_backends() {
        let mut ctr = Ctr::unkeyed(backend);
        ctr.set_key(key).unwrap();
        subjects.push((
            backend.name().into(),
            Box::new(move |counter, skip, data| ctr.apply(counter, skip, data.into())),
        ));
    }
    if let Some(face) = Face::new(Cpu::detect()) {
        let mut ctr = Box::new(CachedCtr::unkeyed(face));
        ctr.set_key(key).unwrap();
        subjects.push((
            "face".into(),
            Box::new(move |counter, skip, data| ctr.apply(counter, skip, data.into())),
        ));
        let mut ctr = Box::new(CachedCtr::unkeyed(face));
        ctr.set_key(key).unwrap();
        subjects.push((
            "face, shared".into(),
            Box::new(move |counter, skip, data| {
                ctr.prepare(counter);
                ctr.apply_shared(counter, skip, data.into());
            }),
        ));
    }
    subjects
}

fn oracle(key: &[u8], counter: u128, skip: usize, data: &mut [u8]) {
    fn run<C: KeyIvInit + StreamCipher + StreamCipherSeek>(
        key: &[u8],
        counter: u128,
        skip: usize,
        data: &mut [u8],
    ) {
        let mut ctr = C::new_from_slices(key, &counter.to_be_bytes()).unwrap();
        ctr.seek(skip);
        ctr.apply_keystream(data);
    }
    match key.len() {
        16 => run::<ctr::Ctr128BE<Aes128>>(key, counter, skip, data),
        24 => run::<ctr::Ctr128BE<Aes192>>(key, counter, skip, data),
        _ => run::<ctr::Ctr128BE<Aes256>>(key, counter, skip, data),
    }
}

#[test]
fn random_lengths_and_counters_agree_with_rustcrypto() {
    let mut rng = StdRng::seed_from_u64(1);
    for key_bytes in [16, 24, 32] {
        let mut key = vec![0; key_bytes];
        for round in 0..200 {
            if round % 50 == 0 {
                rng.fill(&mut key[..]);
            }
            let mut counter: u128 = rng.random();
            if round % 3 == 0 {
                counter |= u128::from(u32::MAX - rng.random_range(0..600u32));
            }
            let length = rng.random_range(0..if round % 4 == 0 { 40_000 } else { 1000 });
            let skip = rng.random_range(0..16);
            let mut plain = vec![0; length];
            rng.fill(&mut plain[..]);
            let mut expected = plain.clone();
            oracle(&key, counter, skip, &mut expected);
            for (name, mut apply) in subjects(&key) {
                let mut data = plain.clone();
                apply(counter, skip, &mut data);
                assert!(
                    data == expected,
                    "{name}, {key_bytes}-byte key, counter {counter:#x}, skip {skip}, {length} bytes"
                );
            }
        }
    }
}
