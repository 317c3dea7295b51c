//! ChaCha20 and ChaCha20-Poly1305, by every backend.

use ::chacha20::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
use chacha20poly1305::aead::{AeadInOut, KeyInit};
use inout::InOutBuf;
use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::memory::Pages;
use super::{alone, with_others};
use crate::aead::{AeadError, tags_match};
use crate::chacha20::{Backend, ChaCha20, InvalidKeyLength, dispatch};
use crate::chacha20_poly1305::{Ahead, ChaCha20Poly1305, DATA_BYTES_MAX};
use crate::cpu::Cpu;
use crate::poly1305::{Element, OneTimeKey};

/// Makes each `fn body(backend: Backend)` a test that every backend of the machine runs.
macro_rules! for_every_backend {
    ($($body:ident),+ $(,)?) => {
        mod every_backend {
            $(#[test]
            fn $body() {
                let _guard = crate::tests::with_others();
                for backend in crate::chacha20::Backend::all(crate::cpu::Cpu::detect()) {
                    super::$body(backend);
                }
            })+
        }
    };
}

for_every_backend!(
    rfc8439_block,
    rfc8439_encryption,
    rfc8439_one_time_keys,
    rfc8439_aead,
    cipher_random_calls,
    cipher_counter_wraps,
    cipher_every_length,
    cipher_any_split,
    cipher_ends_at_a_page,
    cipher_keys,
    aead_random_messages,
    aead_every_length,
    aead_any_split,
    aead_parts_of_one_length,
    aead_any_stripes,
    aead_keystream_ahead,
    aead_forgeries,
    aead_ends_at_a_page,
    aead_limits,
);

fn unhex(text: &str) -> Vec<u8> {
    let digits: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    hex::decode(digits).unwrap()
}

fn cipher(backend: Backend, key: &[u8]) -> ChaCha20 {
    let mut cipher = ChaCha20::unkeyed(backend);
    cipher.set_key(key).unwrap();
    cipher
}

fn aead(backend: Backend, key: &[u8]) -> ChaCha20Poly1305 {
    let mut aead = ChaCha20Poly1305::unkeyed(backend);
    aead.set_key(key).unwrap();
    aead
}

fn counter(nonce: &[u8], block: u32) -> u128 {
    let mut bytes = [0; 16];
    bytes[..12].copy_from_slice(nonce);
    u128::from_be_bytes(bytes) | u128::from(block)
}

fn random_bytes(rng: &mut StdRng, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    rng.fill(&mut bytes[..]);
    bytes
}

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

const SUNSCREEN: &[u8] = b"Ladies and Gentlemen of the class of '99: If I could offer you only \
    one tip for the future, sunscreen would be it.";
const IETF_SUBMISSION: &[u8] = b"Any submission to the IETF intended by the Contributor for \
    publication as all or part of an IETF Internet-Draft or RFC and any statement made within the \
    context of an IETF activity is considered an \"IETF Contribution\". Such statements include \
    oral statements in IETF sessions, as well as written and electronic communications made at any \
    time or place, which are addressed to";
const JABBERWOCKY: &[u8] = b"'Twas brillig, and the slithy toves\nDid gyre and gimble in the \
    wabe:\nAll mimsy were the borogoves,\nAnd the mome raths outgrabe.";

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

/// Sections 2.6.2 and A.4: block 0 comes first in the keystream made ahead.
fn rfc8439_one_time_keys(backend: Backend) {
    let key_1: Vec<u8> = (0x80..0xa0).collect();
    let key_3 = [&[0; 31][..], &[1]].concat();
    let key_4 = unhex("1c9240a5eb55d38af333888604f6b5f0473917c1402b80099dca5cbc207075c0");
    for (key, nonce, one_time) in [
        (
            &key_1[..],
            "000000000001020304050607",
            "8ad5a08b905f81cc815040274ab29471a833b637e3fd0da508dbb8e2fdd1a646",
        ),
        (
            &[0; 32],
            "000000000000000000000000",
            "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7",
        ),
        (
            &key_3,
            "000000000000000000000002",
            "ecfa254f845f647473d3cb140da9e87606cb33066c447b87bc2666dde3fbb739",
        ),
        (
            &key_4,
            "000000000000000000000002",
            "965e3bc6f9ec7ed9560808f4d229f94b137ff275ca9b3fcbdd59deaad23310ae",
        ),
    ] {
        let mut keystream = [0xee; 32];
        let aead = aead(backend, key);
        aead.keystream(&unhex(nonce), &mut keystream).unwrap();
        assert_eq!(hex::encode(keystream), one_time);
    }
}

/// Sections 2.8.2 and A.5.
fn rfc8439_aead(backend: Backend) {
    let key_1: Vec<u8> = (0x80..0xa0).collect();
    let key_2 = unhex("1c9240a5eb55d38af333888604f6b5f0473917c1402b80099dca5cbc207075c0");
    let draft =
        b"Internet-Drafts are draft documents valid for a maximum of six months and may be \
        updated, replaced, or obsoleted by other documents at any time. It is inappropriate to use \
        Internet-Drafts as reference material or to cite them other than as /\xe2\x80\x9cwork in \
        progress./\xe2\x80\x9d";
    for (key, nonce, aad, plain, sealed, tag) in [
        (
            &key_1[..],
            "070000004041424344454647",
            "50515253c0c1c2c3c4c5c6c7",
            SUNSCREEN,
            "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d6
             3dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b36
             92ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc
             3ff4def08e4b7a9de576d26586cec64b6116",
            "1ae10b594f09e26a7e902ecbd0600691",
        ),
        (
            &key_2,
            "000000000102030405060708",
            "f33388860000000000004e91",
            draft,
            "64a0861575861af460f062c79be643bd5e805cfd345cf389f108670ac76c8cb2
             4c6cfc18755d43eea09ee94e382d26b0bdb7b73c321b0100d4f03b7f355894cf
             332f830e710b97ce98c8a84abd0b948114ad176e008d33bd60f982b1ff37c855
             9797a06ef4f0ef61c186324e2b3506383606907b6a7c02b0f9f6157b53c867e4
             b9166c767b804d46a59b5216cde7a4e99040c5a40433225ee282a1b0a06c523e
             af4534d7f83fa1155b0047718cbc546a0d072b04b3564eea1b422273f548271a
             0bb2316053fa76991955ebd63159434ecebb4e466dae5a1073a6727627097a10
             49e617d91d361094fa68f0ff77987130305beaba2eda04df997b714d6c6f2c29
             a6ad5cb4022b02709b",
            "eead9d67890cbb22392336fea1851f38",
        ),
    ] {
        let aead = aead(backend, key);
        let (nonce, aad) = (unhex(nonce), unhex(aad));
        let mut data = plain.to_vec();
        let made = aead.seal(&nonce, &aad, data.as_mut_slice().into()).unwrap();
        assert_eq!(hex::encode(&data), hex::encode(unhex(sealed)));
        assert_eq!(hex::encode(made), tag);
        aead.open(&nonce, &aad, data.as_mut_slice().into(), &made)
            .unwrap();
        assert_eq!(data, plain);
    }
}

/// Sections 2.5.2 and A.3. What the AEAD never has, a last block that is not full, these have.
#[test]
fn rfc8439_poly1305() {
    let s = "36e5f6b5c5e06070f0efca96227a863e";
    let key_7 = "0200000000000000000000000000000000000000000000000000000000000000";
    let key_11 = "0100000000000000040000000000000000000000000000000000000000000000";
    let wrapping = "e33594d7505e43b900000000000000003394d7505e4379cd0100000000000000";
    let ones = "ffffffffffffffffffffffffffffffff";
    for (key, message, tag) in [
        (
            "85d6be7857556d337f4452fe42d506a80103808afb0db2fd4abff6af4149f51b",
            hex::encode(b"Cryptographic Forum Research Group"),
            "a8061dc1305136c6c22b8baf0c0127a9",
        ),
        (&"00".repeat(32), "00".repeat(64), &"00".repeat(16)),
        (&("00".repeat(16) + s), hex::encode(IETF_SUBMISSION), s),
        (
            &(s.to_owned() + &"00".repeat(16)),
            hex::encode(IETF_SUBMISSION),
            "f3477e7cd95417af89a6b8794c310cf0",
        ),
        (
            "1c9240a5eb55d38af333888604f6b5f0473917c1402b80099dca5cbc207075c0",
            hex::encode(JABBERWOCKY),
            "4541669a7eaaee61e708dc7cbcc5eb62",
        ),
        (
            key_7,
            ones.to_owned(),
            &("03".to_owned() + &"00".repeat(15)),
        ),
        (
            &("02".to_owned() + &"00".repeat(15) + ones),
            "02".to_owned() + &"00".repeat(15),
            &("03".to_owned() + &"00".repeat(15)),
        ),
        (
            &("01".to_owned() + &"00".repeat(31)),
            ones.to_owned() + "f0" + &"ff".repeat(15) + "11" + &"00".repeat(15),
            &("05".to_owned() + &"00".repeat(15)),
        ),
        (
            &("01".to_owned() + &"00".repeat(31)),
            ones.to_owned() + "fb" + &"fe".repeat(15) + &"01".repeat(16),
            &"00".repeat(16),
        ),
        (
            key_7,
            "fd".to_owned() + &"ff".repeat(15),
            &("fa".to_owned() + &"ff".repeat(15)),
        ),
        (
            key_11,
            wrapping.to_owned() + &"00".repeat(16) + "01" + &"00".repeat(15),
            "14000000000000005500000000000000",
        ),
        (
            key_11,
            wrapping.to_owned() + &"00".repeat(16),
            "13000000000000000000000000000000",
        ),
    ] {
        let message = unhex(&message);
        let key: [u8; 32] = unhex(key).try_into().unwrap();
        assert_eq!(hex::encode(poly1305_oracle(&key, &message)), tag, "typing");
        // The bit above a block that is not full stands lower than that of a full one: only those
        // with full blocks are what the AEAD computes.
        if message.len().is_multiple_of(16) {
            let one_time = OneTimeKey::new(&key);
            let value = Element::ZERO.absorb_padded(&one_time.r, &message);
            assert_eq!(hex::encode(one_time.tag(value)), tag);
        }
    }
}

fn poly1305_oracle(key: &[u8; 32], message: &[u8]) -> [u8; 16] {
    use poly1305::universal_hash::KeyInit;
    poly1305::Poly1305::new(key.into())
        .compute_unpadded(message)
        .into()
}

/// Limbs of all ones, of zero, and of random bits, so that carries go all the way.
#[test]
fn poly1305_edges() {
    let mut rng = StdRng::seed_from_u64(11);
    let word = |rng: &mut StdRng| match rng.random_range(0..5) {
        0 => 0,
        1 => u64::MAX,
        2 => u64::MAX - rng.random_range(0..6u64),
        3 => rng.random_range(0..6u64),
        _ => rng.random(),
    };
    for _ in 0..20_000 {
        let mut key = [0; 32];
        for bytes in key.as_chunks_mut::<8>().0 {
            *bytes = word(&mut rng).to_le_bytes();
        }
        let blocks = 2 * rng.random_range(0..12);
        let message: Vec<u8> = (0..blocks)
            .flat_map(|_| word(&mut rng).to_le_bytes())
            .collect();
        let one_time = OneTimeKey::new(&key);
        let value = Element::ZERO.absorb_padded(&one_time.r, &message);
        let tag = poly1305_oracle(&key, &message);
        assert_eq!(one_time.tag(value), tag, "{key:x?} {message:x?}");
        // The same in two parts.
        let (first, second) = message.split_at(16 * rng.random_range(0..=message.len() / 16));
        let power = Element::power(&one_time.r, second.len() as u64 / 16);
        let value = Element::ZERO
            .absorb_padded(&one_time.r, first)
            .times(power)
            .plus(Element::ZERO.absorb_padded(&one_time.r, second));
        assert_eq!(one_time.tag(value), tag, "{key:x?} {message:x?}");
    }
}

/// Values around p and 2^130, which a multiplier of 1 lets a message reach.
#[test]
fn poly1305_around_the_modulus() {
    let mut key = [0; 32];
    key[0] = 1;
    let one_time = OneTimeKey::new(&key);
    for low in (0..40u64).chain(u64::MAX - 40..=u64::MAX) {
        for last in [0u64, u64::MAX] {
            let mut message = [0xff; 48];
            message[32..40].copy_from_slice(&low.to_le_bytes());
            message[40..].copy_from_slice(&last.to_le_bytes());
            for from in [0, 16, 32] {
                let message = &message[from..];
                let value = Element::ZERO.absorb_padded(&one_time.r, message);
                assert_eq!(one_time.tag(value), poly1305_oracle(&key, message));
            }
        }
    }
}

fn cipher_oracle(key: &[u8], counter: u128, skip: usize, data: &mut [u8]) {
    let nonce = &counter.to_be_bytes()[..12];
    // The oracle refuses to wrap: two of it stand for one that does.
    let before_wrap = ((1u64 << 32) - u64::from(counter as u32)) * 64 - skip as u64;
    let (first, second) = data.split_at_mut(data.len().min(before_wrap as usize));
    for (data, at) in [
        (first, u64::from(counter as u32) * 64 + skip as u64),
        (second, 0),
    ] {
        // Its counter ends one block early, so blocks are taken one by one as needed.
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

/// Block 2^32 - 1, word by word as RFC 8439, section 2.3, has it.
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

fn aead_ends_at_a_page(backend: Backend) {
    let aead = aead(backend, &[1; 32]);
    at_the_edges_of_pages(|data| {
        aead.seal(&[2; 12], b"aad", data).unwrap();
    });
    at_the_edges_of_pages(|mut data| {
        let mut message = aead.begin(&[2; 12], b"aad").unwrap();
        aead.open_next(&mut message, data.reborrow()).unwrap();
    });
}

/// Buffers that end where a page without access begins, and such that begin where one ends; out of
/// place and in place.
fn at_the_edges_of_pages(run: impl Fn(InOutBuf<'_, '_, u8>)) {
    let (input, output) = (Pages::new(2), Pages::new(2));
    let lengths = (0..=300).chain([511, 512, 513, 1000, 1024, 1088, 2047, 3333, 8191, 8192]);
    for length in lengths {
        for at in [0, input.bytes() - length] {
            // SAFETY: both ranges lie within pages that nothing else refers to.
            unsafe {
                let (from, to) = (input.start().add(at), output.start().add(at));
                core::ptr::write_bytes(from, 0x11, length);
                run(InOutBuf::from_raw(from, to, length));
                run(core::slice::from_raw_parts_mut(from, length).into());
                let in_place = core::slice::from_raw_parts(from, length);
                assert!(
                    in_place == core::slice::from_raw_parts(to, length),
                    "{length} bytes"
                );
            }
        }
    }
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

/// Ciphertext and tag.
fn aead_oracle(key: &[u8; 32], nonce: &[u8; 12], aad: &[u8], plain: &[u8]) -> (Vec<u8>, [u8; 16]) {
    let oracle = chacha20poly1305::ChaCha20Poly1305::new(key.into());
    let mut data = plain.to_vec();
    let tag = oracle
        .encrypt_inout_detached(nonce.into(), aad, data.as_mut_slice().into())
        .unwrap();
    (data, tag.into())
}

struct Case {
    aead: ChaCha20Poly1305,
    nonce: [u8; 12],
    aad: Vec<u8>,
    plain: Vec<u8>,
    sealed: Vec<u8>,
    tag: [u8; 16],
}

impl Case {
    fn random(backend: Backend, rng: &mut StdRng, length: usize) -> Self {
        let (key, nonce): ([u8; 32], [u8; 12]) = (rng.random(), rng.random());
        let aad_length = match rng.random_range(0..4) {
            0 => 0,
            1 => rng.random_range(0..40),
            2 => 13,
            _ => rng.random_range(0..3000),
        };
        let aad = random_bytes(rng, aad_length);
        let plain = random_bytes(rng, length);
        let (sealed, tag) = aead_oracle(&key, &nonce, &aad, &plain);
        Self {
            aead: aead(backend, &key),
            nonce,
            aad,
            plain,
            sealed,
            tag,
        }
    }

    fn check(&self) {
        let what = || format!("{:?}, {} + {}", self.aead, self.aad.len(), self.plain.len());
        let (aead, nonce, aad, tag) = (&self.aead, &self.nonce, &self.aad, &self.tag);
        let mut data = self.plain.clone();
        let made = aead.seal(nonce, aad, data.as_mut_slice().into());
        assert!(
            made == Ok(*tag) && data == self.sealed,
            "seal in place {}",
            what()
        );
        let opened = aead.open(nonce, aad, data.as_mut_slice().into(), tag);
        assert!(
            opened == Ok(()) && data == self.plain,
            "open in place {}",
            what()
        );

        let mut output = vec![0xa5; self.plain.len()];
        let data = InOutBuf::new(&self.plain, &mut output).unwrap();
        assert!(aead.seal(nonce, aad, data) == Ok(*tag), "{}", what());
        assert!(output == self.sealed, "seal elsewhere {}", what());
        let data = InOutBuf::new(&self.sealed, &mut output).unwrap();
        assert!(aead.open(nonce, aad, data, tag) == Ok(()), "{}", what());
        assert!(output == self.plain, "open elsewhere {}", what());
    }
}

fn aead_random_messages(backend: Backend) {
    let mut rng = StdRng::seed_from_u64(3);
    for round in 0..300 {
        let length = rng.random_range(0..if round % 10 == 0 { 40_000 } else { 5000 });
        Case::random(backend, &mut rng, length).check();
    }
}

fn aead_every_length(backend: Backend) {
    let mut rng = StdRng::seed_from_u64(4);
    let near_chunks = (1..=8).flat_map(|n| 1024 * n - 66..=1024 * n + 66);
    for length in (0..=1100).chain(near_chunks) {
        Case::random(backend, &mut rng, length).check();
    }
}

fn aead_any_split(backend: Backend) {
    let mut rng = StdRng::seed_from_u64(5);
    for longest in [1, 5, 17, 64, 65, 300, 1500, 5000] {
        for _ in 0..20 {
            let length = rng.random_range(0..if longest < 20 { 400 } else { 5000 });
            let case = Case::random(backend, &mut rng, length);
            let mut sealing = case.aead.begin(&case.nonce, &case.aad).unwrap();
            let mut opening = case.aead.begin(&case.nonce, b"").unwrap();
            for piece in case.aad.chunks(rng.random_range(1..=40)) {
                case.aead.aad_next(&mut opening, piece);
            }
            let mut data = case.plain.clone();
            let mut at = 0;
            while at < length {
                let end = length.min(at + rng.random_range(0..=longest));
                let piece = &mut data[at..end];
                case.aead.seal_next(&mut sealing, piece.into()).unwrap();
                assert!(data[at..end] == case.sealed[at..end]);
                let piece = &mut data[at..end];
                case.aead.open_next(&mut opening, piece.into()).unwrap();
                assert!(data[at..end] == case.plain[at..end]);
                at = end;
            }
            assert!(tags_match(&case.aead.finish(sealing), &case.tag));
            assert!(tags_match(&case.aead.finish(opening), &case.tag));
        }
    }
}

fn aead_parts_of_one_length(backend: Backend) {
    let mut rng = StdRng::seed_from_u64(15);
    for part in [
        1, 16, 63, 64, 65, 128, 192, 256, 320, 384, 448, 512, 1000, 1024, 1088, 2048,
    ] {
        for _ in 0..4 {
            let length = rng.random_range(0..6 * part + 70);
            let case = Case::random(backend, &mut rng, length);
            let mut message = case.aead.begin(&case.nonce, b"").unwrap();
            case.aead.aad_next(&mut message, &case.aad);
            let mut ahead = Ahead::default();
            let mut opening = case.aead.begin(&case.nonce, &case.aad).unwrap();
            let mut ahead_of_opening = Ahead::default();
            let mut data = case.plain.clone();
            let mut at = 0;
            while at < length {
                // Now and then another length, and a copy that goes on alone.
                let bytes = if rng.random_ratio(1, 5) { 64 } else { part };
                let end = length.min(at + bytes);
                if rng.random_ratio(1, 4) {
                    let mut copy = message.clone();
                    let mut copied = data[at..end].to_vec();
                    case.aead
                        .seal_next(&mut copy, copied.as_mut_slice().into())
                        .unwrap();
                    assert!(copied == case.sealed[at..end]);
                }
                let piece = (&mut data[at..end]).into();
                case.aead
                    .seal_next_ahead(&mut message, piece, &mut ahead)
                    .unwrap();
                assert!(data[at..end] == case.sealed[at..end], "{part} at {at}");
                let piece = (&mut data[at..end]).into();
                case.aead
                    .open_next_ahead(&mut opening, piece, &mut ahead_of_opening)
                    .unwrap();
                assert!(data[at..end] == case.plain[at..end], "{part} at {at}");
                at = end;
            }
            assert!(tags_match(&case.aead.finish(message), &case.tag), "{part}");
            assert!(tags_match(&case.aead.finish(opening), &case.tag), "{part}");
        }
    }
}

fn aead_any_stripes(backend: Backend) {
    let mut rng = StdRng::seed_from_u64(6);
    for round in 0..60 {
        let length = rng.random_range(0..20_000);
        let case = Case::random(backend, &mut rng, length);
        let equal = 64 * rng.random_range(1..40);
        let mut cuts = vec![0];
        while cuts[cuts.len() - 1] < length {
            let stripe = if round % 2 == 0 {
                equal
            } else {
                64 * rng.random_range(1..80)
            };
            cuts.push(length.min(cuts[cuts.len() - 1] + stripe));
        }
        let ranges: Vec<_> = cuts.windows(2).map(|cut| cut[0]..cut[1]).collect();
        let mut data = case.plain.clone();

        let mut message = case.aead.begin(&case.nonce, &case.aad).unwrap();
        // The last first: the order in which they are done does not matter.
        let mut partials: Vec<_> = ranges
            .iter()
            .rev()
            .map(|range| {
                let piece = (&mut data[range.clone()]).into();
                case.aead.seal_stripe(&message, range.start as u64, piece)
            })
            .collect();
        for range in &ranges {
            let partial = partials.pop().unwrap();
            case.aead.append(&mut message, partial, range.len() as u64);
        }
        assert!(data == case.sealed);
        assert_eq!(case.aead.finish(message), case.tag);

        let mut message = case.aead.begin(&case.nonce, &case.aad).unwrap();
        let partials: Vec<_> = ranges
            .iter()
            .map(|range| {
                let piece = (&mut data[range.clone()]).into();
                case.aead.open_stripe(&message, range.start as u64, piece)
            })
            .collect();
        assert!(data == case.plain);
        for range in &ranges {
            let piece = (&mut data[range.clone()]).into();
            case.aead.crypt_stripe(&message, range.start as u64, piece);
        }
        assert!(data == case.sealed, "taken back");
        for (partial, range) in partials.into_iter().zip(&ranges) {
            case.aead.append(&mut message, partial, range.len() as u64);
        }
        assert_eq!(case.aead.finish(message), case.tag);
    }
}

fn aead_keystream_ahead(backend: Backend) {
    let mut rng = StdRng::seed_from_u64(7);
    for length in (0..200).chain([1000, 1024, 4096, 9999]) {
        let case = Case::random(backend, &mut rng, length);
        let spare = rng.random_range(0..100);
        let mut keystream = vec![0xee; ChaCha20Poly1305::KEYSTREAM_HEAD_BYTES + length + spare];
        case.aead.keystream(&case.nonce, &mut keystream).unwrap();
        let mut data = case.plain.clone();
        let buffer = data.as_mut_slice().into();
        let tag = case.aead.seal_with_keystream(&case.aad, buffer, &keystream);
        assert!(tag == Ok(case.tag) && data == case.sealed, "{length} bytes");

        let mut forged = case.tag;
        forged[length % 16] ^= 1;
        let buffer = data.as_mut_slice().into();
        let opened = case
            .aead
            .open_with_keystream(&case.aad, buffer, &keystream, &forged);
        assert!(opened == Err(AeadError::AuthenticationFailed) && data == case.sealed);
        let mut output = vec![0xa5; length];
        let buffer = InOutBuf::new(&data, &mut output).unwrap();
        let opened = case
            .aead
            .open_with_keystream(&case.aad, buffer, &keystream, &forged);
        assert!(opened == Err(AeadError::AuthenticationFailed));
        assert!(output.iter().all(|byte| *byte == 0));
        let buffer = data.as_mut_slice().into();
        let opened = case
            .aead
            .open_with_keystream(&case.aad, buffer, &keystream, &case.tag);
        assert!(opened == Ok(()) && data == case.plain);
    }
}

fn aead_forgeries(backend: Backend) {
    let mut rng = StdRng::seed_from_u64(8);
    for length in [0, 1, 16, 100, 448, 449, 1024, 3000] {
        let case = Case::random(backend, &mut rng, length);
        let refused = |nonce: &[u8], aad: &[u8], sealed: &[u8], tag: &[u8; 16]| {
            let mut data = sealed.to_vec();
            let opened = case.aead.open(nonce, aad, data.as_mut_slice().into(), tag);
            assert_eq!(opened, Err(AeadError::AuthenticationFailed));
            assert!(data == sealed, "in place, the ciphertext is back");
            let mut output = vec![0xa5; sealed.len()];
            let buffer = InOutBuf::new(sealed, &mut output).unwrap();
            let opened = case.aead.open(nonce, aad, buffer, tag);
            assert_eq!(opened, Err(AeadError::AuthenticationFailed));
            assert!(
                output.iter().all(|byte| *byte == 0),
                "elsewhere, nothing is"
            );
        };
        for bit in 0..128 {
            let mut tag = case.tag;
            tag[bit / 8] ^= 1 << (bit % 8);
            refused(&case.nonce, &case.aad, &case.sealed, &tag);
        }
        for _ in 0..20.min(length) {
            let mut sealed = case.sealed.clone();
            sealed[rng.random_range(0..length)] ^= 1 << rng.random_range(0..8);
            refused(&case.nonce, &case.aad, &sealed, &case.tag);
        }
        refused(
            &case.nonce,
            &[&case.aad[..], &[0]].concat(),
            &case.sealed,
            &case.tag,
        );
        refused(&[0; 12], &case.aad, &case.sealed, &case.tag);
    }
}

fn aead_limits(backend: Backend) {
    let aead = aead(backend, &[1; 32]);
    for length in (0..40).filter(|length| *length != 12) {
        let nonce = vec![0; length];
        let refused = AeadError::InvalidNonceLength(length);
        let mut data = [7; 20];
        assert_eq!(aead.begin(&nonce, b"").unwrap_err(), refused);
        assert_eq!(aead.seal(&nonce, b"", (&mut data[..]).into()), Err(refused));
        assert_eq!(
            aead.open(&nonce, b"", (&mut data[..]).into(), &[0; 16]),
            Err(refused)
        );
        assert_eq!(aead.keystream(&nonce, &mut data), Err(refused));
        assert_eq!(data, [7; 20]);
    }
    for (before, bytes, fits) in [
        (DATA_BYTES_MAX - 10, 10, true),
        (DATA_BYTES_MAX - 10, 11, false),
        (DATA_BYTES_MAX, 0, true),
        (DATA_BYTES_MAX, 1, false),
    ] {
        let mut message = aead.begin(&[0; 12], b"").unwrap();
        message.set_position(before);
        let mut data = vec![7; bytes];
        for open in [false, true] {
            let buffer = data.as_mut_slice().into();
            let done = match open {
                false => aead.seal_next(&mut message, buffer),
                true => aead.open_next(&mut message, buffer),
            };
            if fits {
                assert_eq!(done, Ok(()));
                message.set_position(before);
            } else {
                let bytes_max = DATA_BYTES_MAX;
                assert_eq!(done, Err(AeadError::MessageTooLong { bytes_max }));
                assert!(data.iter().all(|byte| *byte == 7));
            }
        }
    }
}

#[test]
fn the_kernel_that_was_asked_for_ran() {
    let _guard = alone();
    let counts = || {
        [
            &dispatch::PORTABLE,
            &dispatch::AVX2,
            &dispatch::AVX512,
            &dispatch::PORTABLE_AND_MAC,
            &dispatch::AVX2_AND_MAC,
            &dispatch::AVX512_AND_MAC,
        ]
        .map(crate::aes::dispatch::Counter::get)
    };
    for backend in Backend::all(Cpu::detect()) {
        let of_backend = ["portable", "avx2", "avx512"]
            .iter()
            .position(|name| *name == backend.name())
            .unwrap();
        let ran = |run: &dyn Fn()| {
            let before = counts();
            run();
            let after = counts();
            let ran: Vec<usize> = (0..6).filter(|i| after[*i] > before[*i]).collect();
            assert!(
                ran.iter().all(|i| i % 3 == of_backend),
                "{backend:?} {ran:?}"
            );
            ran
        };
        let cipher = cipher(backend, &[0; 32]);
        assert_eq!(
            ran(&|| cipher.apply(0, 0, (&mut [0; 100][..]).into())),
            [of_backend]
        );
        let aead = aead(backend, &[0; 32]);
        let with_mac = ran(&|| {
            aead.seal(&[0; 12], b"", (&mut [0; 5000][..]).into())
                .unwrap();
        });
        assert!(with_mac.contains(&(3 + of_backend)), "{backend:?}");

        let before = dispatch::KEPT_POWERS.get();
        let mut message = aead.begin(&[0; 12], b"").unwrap();
        let mut ahead = Ahead::default();
        for _ in 0..10 {
            let mut part = [0; 256];
            aead.seal_next_ahead(&mut message, (&mut part[..]).into(), &mut ahead)
                .unwrap();
        }
        // Powers are made with the second part.
        let parts = if backend.name() == "avx512" { 9 } else { 0 };
        assert_eq!(dispatch::KEPT_POWERS.get() - before, parts, "{backend:?}");
    }
}

#[test]
#[should_panic = "0 to 63, not 64"]
fn a_skip_of_a_whole_block_panics() {
    let _guard = with_others();
    cipher(Backend::Portable, &[0; 32]).apply(0, 64, (&mut [0; 4][..]).into());
}

#[test]
#[should_panic = "a keystream of 163 bytes is too short for 100 bytes of data"]
fn a_keystream_too_short_panics() {
    let _guard = with_others();
    let aead = aead(Backend::Portable, &[0; 32]);
    let _ = aead.seal_with_keystream(b"", (&mut [0; 100][..]).into(), &[0; 163]);
}

#[test]
fn backends_are_listed_best_first_and_end_with_the_portable_one() {
    let names = |cpu: Cpu| Backend::all(cpu).map(Backend::name).collect::<Vec<_>>();
    let here = names(Cpu::detect());
    assert!(["avx512", "avx2", "portable"].ends_with(&here));
    assert_eq!(names(Cpu::PORTABLE), ["portable"]);
    assert_eq!(Backend::preferred(Cpu::detect()).name(), here[0]);
}
