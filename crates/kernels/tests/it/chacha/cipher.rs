//! ChaCha20 alone.

use ::chacha20::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
use inout::InOutBuf;
use oarlock_kernels::chacha20::{Backend, InvalidKeyLength};
use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::{
    IETF_SUBMISSION, JABBERWOCKY, SUNSCREEN, aead, at_the_edges_of_pages, cipher, counter,
    for_every_backend, unhex,
};
use crate::{random_bytes, with_others};

for_every_backend!(
    rfc8439_block,
    rfc8439_encryption,
    cipher_random_calls,
    cipher_counter_wraps,
    cipher_every_length,
    cipher_any_alignment,
    cipher_any_split,
    cipher_ends_at_a_page,
    cipher_keys,
);

/// Sections 2.3.2 and A.1: the keystream of single blocks.
fn rfc8439_block(backend: Backend) {
    let ordered: Vec<u8> = (0..32).collect();
    let last_one = [&[0; 31][..], &[1]].concat();
    let second_ff = [&[0, 0xff][..], &[0; 30]].concat();
    for (key, nonce, block, keystream) in [
        (
            &ordered[..],
            "000000090000004a00000000",
            1,
            "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e
             d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e",
        ),
        (
            &[0; 32],
            "000000000000000000000000",
            0,
            "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7
             da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586",
        ),
        (
            &[0; 32],
            "000000000000000000000000",
            1,
            "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed
             29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f",
        ),
        (
            &last_one,
            "000000000000000000000000",
            1,
            "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a
             8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0",
        ),
        (
            &second_ff,
            "000000000000000000000000",
            2,
            "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca
             13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7374f4872e99f096",
        ),
        (
            &[0; 32],
            "000000000000000000000002",
            0,
            "c2c64d378cd536374ae204b9ef933fcd1a8b2288b3dfa49672ab765b54ee27c7
             8a970e0e955c14f3a88e741b97c286f75f8fc299e8148362fa198a39531bed6d",
        ),
    ] {
        let mut data = [0; 64];
        let cipher = cipher(backend, key);
        cipher.apply(counter(&unhex(nonce), block), 0, (&mut data[..]).into());
        assert_eq!(data[..], unhex(keystream), "{backend:?}");
    }
}

/// Sections 2.4.2 and A.2.
fn rfc8439_encryption(backend: Backend) {
    let ordered: Vec<u8> = (0..32).collect();
    let last_one = [&[0; 31][..], &[1]].concat();
    let key_3 = unhex("1c9240a5eb55d38af333888604f6b5f0473917c1402b80099dca5cbc207075c0");
    for (key, nonce, block, plain, cipher_text) in [
        (
            &ordered[..],
            "000000000000004a00000000",
            1,
            SUNSCREEN,
            "6e2e359a2568f98041ba0728dd0d6981e97e7aec1d4360c20a27afccfd9fae0b
             f91b65c5524733ab8f593dabcd62b3571639d624e65152ab8f530c359f0861d8
             07ca0dbf500d6a6156a38e088a22b65e52bc514d16ccf806818ce91ab7793736
             5af90bbf74a35be6b40b8eedf2785e42874d",
        ),
        (
            &[0; 32],
            "000000000000000000000000",
            0,
            &[0; 64],
            "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7
             da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586",
        ),
        (
            &last_one,
            "000000000000000000000002",
            1,
            IETF_SUBMISSION,
            "a3fbf07df3fa2fde4f376ca23e82737041605d9f4f4f57bd8cff2c1d4b7955ec
             2a97948bd3722915c8f3d337f7d370050e9e96d647b7c39f56e031ca5eb6250d
             4042e02785ececfa4b4bb5e8ead0440e20b6e8db09d881a7c6132f420e527950
             42bdfa7773d8a9051447b3291ce1411c680465552aa6c405b7764d5e87bea85a
             d00f8449ed8f72d0d662ab052691ca66424bc86d2df80ea41f43abf937d3259d
             c4b2d0dfb48a6c9139ddd7f76966e928e635553ba76c5c879d7b35d49eb2e62b
             0871cdac638939e25e8a1e0ef9d5280fa8ca328b351c3c765989cbcf3daa8b6c
             cc3aaf9f3979c92b3720fc88dc95ed84a1be059c6499b9fda236e7e818b04b0b
             c39c1e876b193bfe5569753f88128cc08aaa9b63d1a16f80ef2554d7189c411f
             5869ca52c5b83fa36ff216b9c1d30062bebcfd2dc5bce0911934fda79a86f6e6
             98ced759c3ff9b6477338f3da4f9cd8514ea9982ccafb341b2384dd902f3d1ab
             7ac61dd29c6f21ba5b862f3730e37cfdc4fd806c22f221",
        ),
        (
            &key_3,
            "000000000000000000000002",
            42,
            JABBERWOCKY,
            "62e6347f95ed87a45ffae7426f27a1df5fb69110044c0d73118effa95b01e5cf
             166d3df2d721caf9b21e5fb14c616871fd84c54f9d65b283196c7fe4f60553eb
             f39c6402c42234e32a356b3e764312a61a5532055716ead6962568f87d3f3f77
             04c6a8d1bcd1bf4d50d6154b6da731b187b58dfd728afa36757a797ac188d1",
        ),
    ] {
        let mut data = plain.to_vec();
        let cipher = cipher(backend, key);
        let counter = counter(&unhex(nonce), block);
        cipher.apply(counter, 0, data.as_mut_slice().into());
        assert_eq!(hex::encode(&data), hex::encode(unhex(cipher_text)));
        cipher.apply(counter, 0, data.as_mut_slice().into());
        assert_eq!(data, plain);
    }
}

fn cipher_oracle(key: &[u8], counter: u128, skip: usize, data: &mut [u8]) {
    let nonce = &counter.to_be_bytes()[..12];
    // The oracle refuses to wrap: two of them stand for one that does.
    let before_wrap = ((1u64 << 32) - u64::from(counter as u32)) * 64 - skip as u64;
    let (first, second) = data.split_at_mut(data.len().min(before_wrap as usize));
    for (data, at) in [
        (first, u64::from(counter as u32) * 64 + skip as u64),
        (second, 0),
    ] {
        // Its counter ends one block early, so blocks are computed one by one where needed.
        let mut at = at;
        let mut rest = data;
        while !rest.is_empty() {
            let bytes = rest.len().min(64 - (at % 64) as usize);
            let (piece, after) = rest.split_at_mut(bytes);
            block_oracle(key, nonce, (at / 64) as u32, (at % 64) as usize, piece);
            at += bytes as u64;
            rest = after;
        }
    }
}

fn block_oracle(key: &[u8], nonce: &[u8], block: u32, skip: usize, data: &mut [u8]) {
    if block == u32::MAX {
        let mut keystream = last_block(key, nonce);
        for (byte, keystream) in data.iter_mut().zip(&mut keystream[skip..]) {
            *byte ^= *keystream;
        }
        return;
    }
    let mut oracle = ::chacha20::ChaCha20::new_from_slices(key, nonce).unwrap();
    oracle.seek(u64::from(block) * 64 + skip as u64);
    oracle.apply_keystream(data);
}

/// Block 2^32 - 1, word by word as in RFC 8439, section 2.3.
fn last_block(key: &[u8], nonce: &[u8]) -> [u8; 64] {
    let input = [&b"expand 32-byte k"[..], key, &[0xff; 4], nonce].concat();
    let mut initial = [0; 16];
    for (word, bytes) in initial.iter_mut().zip(input.as_chunks().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    let mut x = initial;
    let mut quarter = |a: usize, b: usize, c: usize, d: usize| {
        for (to, by, on, bits) in [(a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)] {
            x[to] = x[to].wrapping_add(x[by]);
            x[on] = (x[on] ^ x[to]).rotate_left(bits);
        }
    };
    for _ in 0..10 {
        quarter(0, 4, 8, 12);
        quarter(1, 5, 9, 13);
        quarter(2, 6, 10, 14);
        quarter(3, 7, 11, 15);
        quarter(0, 5, 10, 15);
        quarter(1, 6, 11, 12);
        quarter(2, 7, 8, 13);
        quarter(3, 4, 9, 14);
    }
    let mut block = [0; 64];
    for ((bytes, x), initial) in block.as_chunks_mut().0.iter_mut().zip(x).zip(initial) {
        *bytes = x.wrapping_add(initial).to_le_bytes();
    }
    block
}

fn cipher_random_calls(backend: Backend) {
    let mut rng = StdRng::seed_from_u64(1);
    for round in 0..300 {
        let key: [u8; 32] = rng.random();
        let counter: u128 = rng.random();
        let skip = rng.random_range(0..64);
        let length = rng.random_range(0..if round % 5 == 0 { 20_000 } else { 3000 });
        let mut data = random_bytes(&mut rng, length);
        let mut expected = data.clone();
        cipher_oracle(&key, counter, skip, &mut expected);
        let input = data.clone();
        let mut output = vec![0xa5; length];
        let cipher = cipher(backend, &key);
        cipher.apply(counter, skip, InOutBuf::new(&input, &mut output).unwrap());
        assert!(
            output == expected,
            "{backend:?}, {counter:#x}, {skip}, {length} bytes"
        );
        cipher.apply(counter, skip, data.as_mut_slice().into());
        assert!(
            data == expected,
            "in place: {backend:?}, {counter:#x}, {skip}, {length} bytes"
        );
    }
}

fn cipher_counter_wraps(backend: Backend) {
    let key = [7; 32];
    let cipher = cipher(backend, &key);
    for nonce in [0, u128::MAX << 32] {
        for blocks_before in [0, 1, 2, 3, 7, 8, 14, 15, 16, 17, 31, 40] {
            for (skip, length) in [(0, 64), (63, 2), (5, 700), (0, 5000)] {
                let counter = nonce | u128::from(u32::MAX - blocks_before);
                let mut data = vec![0x3c; length];
                let mut expected = data.clone();
                cipher_oracle(&key, counter, skip, &mut expected);
                cipher.apply(counter, skip, data.as_mut_slice().into());
                assert!(
                    data == expected,
                    "{backend:?}, {counter:#x}, {skip}, {length} bytes"
                );
            }
        }
    }
}

fn cipher_every_length(backend: Backend) {
    let key = [0x42; 32];
    let cipher = cipher(backend, &key);
    let mut expected = vec![0; 2200];
    cipher_oracle(&key, 0, 0, &mut expected);
    for length in 0..=2200 {
        let mut output = vec![0xa5; length + 1];
        let input = vec![0; length];
        let data = InOutBuf::new(&input, &mut output[..length]).unwrap();
        cipher.apply(0, 0, data);
        assert!(output[..length] == expected[..length] && output[length] == 0xa5);
    }
}

/// Input and output at any two distances from a cache line.
fn cipher_any_alignment(backend: Backend) {
    let key = [0x24; 32];
    let (ours, reference) = (cipher(backend, &key), cipher(Backend::Portable, &key));
    let input: Vec<u8> = (0..1300u32).map(|i| (i * 7) as u8).collect();
    for length in 0..=1100 {
        let (from, to) = (length * 7 % 64, length * 29 % 64);
        let input = &input[from..from + length];
        let (mut output, mut expected) = ([0xa5; 1300], [0xa5; 1300]);
        for (cipher, output) in [(&ours, &mut output), (&reference, &mut expected)] {
            let data = InOutBuf::new(input, &mut output[to..to + length]).unwrap();
            cipher.apply(3, 0, data);
        }
        assert!(
            output == expected,
            "{backend:?}, {length} bytes, {from} to {to}"
        );
    }
}

fn cipher_any_split(backend: Backend) {
    let mut rng = StdRng::seed_from_u64(2);
    for longest in [1, 70, 1000, 4000] {
        let key: [u8; 32] = rng.random();
        let cipher = cipher(backend, &key);
        let first = rng.random::<u128>() & !0xff_ffff;
        let mut data = vec![0; if longest == 1 { 500 } else { 12_000 }];
        let mut expected = data.clone();
        cipher_oracle(&key, first, 0, &mut expected);
        let mut at = 0;
        while at < data.len() {
            let end = data.len().min(at + rng.random_range(1..=longest));
            let counter = first + at as u128 / 64;
            cipher.apply(counter, at % 64, (&mut data[at..end]).into());
            at = end;
        }
        assert!(data == expected, "{backend:?}, pieces of up to {longest}");
    }
}

fn cipher_ends_at_a_page(backend: Backend) {
    let cipher = cipher(backend, &[1; 32]);
    at_the_edges_of_pages(|data| cipher.apply(9, 3, data));
}

fn cipher_keys(backend: Backend) {
    let mut cipher = cipher(backend, &[3; 32]);
    let mut aead = aead(backend, &[3; 32]);
    for length in (0..=65).filter(|length| *length != 32) {
        assert_eq!(
            cipher.set_key(&vec![9; length]),
            Err(InvalidKeyLength(length))
        );
        assert_eq!(
            aead.set_key(&vec![9; length]),
            Err(InvalidKeyLength(length))
        );
    }
    let (mut data, mut expected) = ([0; 100], [0; 100]);
    cipher_oracle(&[3; 32], 5, 0, &mut expected);
    cipher.apply(5, 0, (&mut data[..]).into());
    assert_eq!(data, expected);
    let name = backend.name();
    assert_eq!(format!("{cipher:?}"), format!("ChaCha20({name:?})"));
    assert_eq!(format!("{aead:?}"), format!("ChaCha20Poly1305({name:?})"));
}

#[test]
#[should_panic = "0 to 63, not 64"]
fn a_skip_of_a_whole_block_panics() {
    let _guard = with_others();
    cipher(Backend::Portable, &[0; 32]).apply(0, 64, (&mut [0; 4][..]).into());
}
