use ::aes::{Aes128, Aes192, Aes256};
use cipher::{Block, BlockModeDecrypt, BlockModeEncrypt, KeyIvInit};
use inout::InOutBuf;
use oarlock_kernels::aes::{Backend, InvalidKeyLength, dispatch};
use oarlock_kernels::cbc::Cbc;
use oarlock_kernels::cpu::Cpu;
use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::{alone, with_others};

/// Turns each `fn body(backend: Backend)` into a test that runs for every backend of this CPU.
macro_rules! for_every_backend {
    ($($body:ident),+ $(,)?) => {
        mod every_backend {
            $(#[test]
            fn $body() {
                let _guard = crate::with_others();
                oarlock_kernels::cpu::Cpu::detect().aes_backends().for_each(super::$body);
            })+
        }
    };
}

for_every_backend!(
    sp800_38a,
    random_calls,
    every_length_in_both_forms,
    any_split_into_calls,
    wrong_key_lengths_leave_the_key,
);

/// SP 800-38A, F.2.1 to F.2.6.
fn sp800_38a(backend: Backend) {
    const IV: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
    const PLAIN: &str = "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51\
         30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710";
    for (key, cipher) in [
        (
            "2b7e151628aed2a6abf7158809cf4f3c",
            "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2\
             73bed6b8e3c1743b7116e69e222295163ff1caa1681fac09120eca307586e1a7",
        ),
        (
            "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
            "4f021db243bc633d7178183a9fa071e8b4d9ada9ad7dedf4e5e738763f69145a\
             571b242012fb7ae07fa9baac3df102e008b0e27988598881d920a9e64f5615cd",
        ),
        (
            "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
            "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d\
             39f23369a9d9bacfa530e26304231461b2eb05e2c39be9fcda6c19078c6a9d1b",
        ),
    ] {
        let cbc = cbc(backend, &hex::decode(key).unwrap());
        let mut data = hex::decode(PLAIN).unwrap();
        let mut iv = IV;
        cbc.encrypt(&mut iv, data.as_mut_slice().into());
        assert_eq!(hex::encode(&data), cipher, "{backend:?}");
        assert_eq!(iv, data[48..]);
        iv = IV;
        cbc.decrypt(&mut iv, data.as_mut_slice().into());
        assert_eq!(hex::encode(&data), PLAIN, "{backend:?}");
        assert!(cipher.ends_with(&hex::encode(iv)));
    }
}

fn random_calls(backend: Backend) {
    let mut rng = StdRng::seed_from_u64(5);
    for round in 0..300 {
        let key = &rng.random::<[u8; 32]>()[..16 + 8 * (round % 3)];
        let cbc = cbc(backend, key);
        let iv = rng.random::<[u8; 16]>();
        let mut plain = vec![0; 16 * rng.random_range(0..if round % 5 == 0 { 2500 } else { 100 })];
        rng.fill(&mut plain[..]);
        check(&cbc, key, iv, &plain, [0, 0]);
    }
}

fn every_length_in_both_forms(backend: Backend) {
    let mut rng = StdRng::seed_from_u64(6);
    for key in [&[4; 16][..], &[5; 24], &[6; 32]] {
        let cbc = cbc(backend, key);
        for blocks in (0..=140).chain([255, 256, 257]) {
            let mut plain = vec![0; 16 * blocks];
            rng.fill(&mut plain[..]);
            let at = [rng.random_range(0..64), rng.random_range(0..64)];
            check(&cbc, key, rng.random(), &plain, at);
        }
    }
}

type Direction<'a> = &'a dyn Fn(&mut [u8; 16], InOutBuf<'_, '_, u8>);

/// Checks both directions, in place and from buffer to buffer at the offsets `at`; the input and the bytes around the
/// buffers are unchanged.
fn check(cbc: &Cbc, key: &[u8], iv: [u8; 16], plain: &[u8], at: [usize; 2]) {
    const GUARD: u8 = 0xa5;
    let mut cipher = plain.to_vec();
    oracle_encrypt(key, iv, &mut cipher);
    let mut last = iv;
    if let Some(block) = cipher.last_chunk::<16>() {
        last = *block;
    }
    let what = || format!("{cbc:?}, {} bytes at {at:?}", plain.len());
    let ways: [(&[u8], &[u8], Direction<'_>); 2] = [
        (plain, &cipher, &|iv, data| cbc.encrypt(iv, data)),
        (&cipher, plain, &|iv, data| cbc.decrypt(iv, data)),
    ];
    for (input, expected, run) in ways {
        let around = |bytes: &[u8], at| [&vec![GUARD; at], bytes, &[GUARD; 64]].concat();
        let [from, to] = at.map(|at| at..at + input.len());
        let source = around(input, at[0]);
        let mut output = around(&vec![0; input.len()], at[1]);
        let mut next = iv;
        let data = InOutBuf::new(&source[from.clone()], &mut output[to]).unwrap();
        run(&mut next, data);
        assert!(output == around(expected, at[1]), "{}", what());
        assert_eq!(next, last, "{}", what());

        let mut data = source;
        next = iv;
        run(&mut next, (&mut data[from]).into());
        assert!(data == around(expected, at[0]), "in place: {}", what());
        assert_eq!(next, last, "in place: {}", what());
    }
}

fn any_split_into_calls(backend: Backend) {
    const BLOCKS: usize = 2000;
    let mut rng = StdRng::seed_from_u64(7);
    for longest in [1, 3, 20, 200, BLOCKS] {
        let key: [u8; 32] = rng.random();
        let cbc = cbc(backend, &key);
        let iv = rng.random();
        let mut plain = vec![0; 16 * if longest == 1 { 50 } else { BLOCKS }];
        rng.fill(&mut plain[..]);
        let mut cipher = plain.clone();
        oracle_encrypt(&key, iv, &mut cipher);
        let mut data = plain.clone();
        let (mut next, mut rest) = (iv, &mut data[..]);
        while !rest.is_empty() {
            let (piece, after) = rest.split_at_mut(piece_bytes(&mut rng, longest, rest.len()));
            cbc.encrypt(&mut next, piece.into());
            rest = after;
        }
        assert!(data == cipher, "{backend:?}, up to {longest} blocks");
        (next, rest) = (iv, &mut data[..]);
        while !rest.is_empty() {
            let (piece, after) = rest.split_at_mut(piece_bytes(&mut rng, longest, rest.len()));
            cbc.decrypt(&mut next, piece.into());
            rest = after;
        }
        assert!(data == plain, "{backend:?}, up to {longest} blocks");
    }
}

fn piece_bytes(rng: &mut StdRng, blocks_max: usize, bytes_left: usize) -> usize {
    (16 * rng.random_range(0..=blocks_max)).min(bytes_left)
}

fn wrong_key_lengths_leave_the_key(backend: Backend) {
    let mut cbc = cbc(backend, &[8; 24]);
    for length in (0..=65).filter(|length| ![16, 24, 32].contains(length)) {
        let error = cbc.set_key(&vec![1; length]).unwrap_err();
        assert_eq!(error, InvalidKeyLength(length));
    }
    check(&cbc, &[8; 24], [3; 16], &[0; 160], [0, 0]);
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
        ]
        .map(dispatch::Counter::get)
    };
    for backend in Cpu::detect().aes_backends() {
        let cbc = cbc(backend, &[1; 16]);
        assert_eq!(cbc.backend(), backend);
        let ran = |bytes: usize, run: Direction<'_>| {
            let before = counts();
            run(&mut [0; 16], (&mut [0; 1040][..bytes]).into());
            let after = counts();
            [0, 1, 2, 3].map(|i| after[i] - before[i])
        };
        let only = |i: usize| core::array::from_fn(|j| u64::from(i == j));
        let (encrypts, decrypts): ([u64; 4], _) = match backend.name() {
            "portable" => (only(0), only(0)),
            "aes-ni" => (only(1), only(1)),
            "vaes-256" => (only(1), only(2)),
            "vaes-512" => (only(1), only(3)),
            name => panic!("no kernel is expected of {name}"),
        };
        let encrypt: Direction<'_> = &|iv, data| cbc.encrypt(iv, data);
        let decrypt: Direction<'_> = &|iv, data| cbc.decrypt(iv, data);
        assert_eq!(ran(1040, encrypt), encrypts, "{cbc:?}");
        assert_eq!(ran(1040, decrypt), decrypts, "{cbc:?}");
        assert_eq!(ran(64, decrypt), decrypts, "{cbc:?}");
    }
}

#[test]
#[should_panic = "whole blocks of 16 bytes, not 17 bytes"]
fn part_of_a_block_is_not_encrypted() {
    let _guard = with_others();
    cbc(Backend::Portable, &[0; 16]).encrypt(&mut [0; 16], (&mut [0; 17][..]).into());
}

#[test]
#[should_panic = "whole blocks of 16 bytes, not 15 bytes"]
fn part_of_a_block_is_not_decrypted() {
    let _guard = with_others();
    cbc(Backend::Portable, &[0; 16]).decrypt(&mut [0; 16], (&mut [0; 15][..]).into());
}

#[test]
fn debug_output_shows_no_key() {
    let debug = format!("{:?}", cbc(Backend::Portable, &[0xab; 16]));
    assert!(debug.contains("Aes128") && debug.contains("portable"));
    assert!(!debug.contains("171") && !debug.contains("abab"));
}

fn cbc(backend: Backend, key: &[u8]) -> Cbc {
    let mut cbc = Cbc::unkeyed(backend);
    cbc.set_key(key).unwrap();
    cbc
}

/// RustCrypto's CBC; also checks that it decrypts its own ciphertext.
pub(crate) fn oracle_encrypt(key: &[u8], iv: [u8; 16], data: &mut [u8]) {
    match key.len() {
        16 => oracle::<cbc::Encryptor<Aes128>, cbc::Decryptor<Aes128>>(key, &iv, data),
        24 => oracle::<cbc::Encryptor<Aes192>, cbc::Decryptor<Aes192>>(key, &iv, data),
        _ => oracle::<cbc::Encryptor<Aes256>, cbc::Decryptor<Aes256>>(key, &iv, data),
    }
}

fn oracle<E, D>(key: &[u8], iv: &[u8], data: &mut [u8])
where
    E: KeyIvInit + BlockModeEncrypt,
    D: KeyIvInit + BlockModeDecrypt,
{
    let plain = data.to_vec();
    let mut encryptor = E::new_from_slices(key, iv).unwrap();
    let (blocks, []) = Block::<E>::slice_as_chunks_mut(data) else {
        panic!("whole blocks");
    };
    encryptor.encrypt_blocks(blocks);
    let mut back = data.to_vec();
    let mut decryptor = D::new_from_slices(key, iv).unwrap();
    decryptor.decrypt_blocks(Block::<D>::slice_as_chunks_mut(&mut back).0);
    assert!(back == plain);
}
