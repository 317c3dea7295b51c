//! Published vectors, computed as programs would: through EVP, with the provider.

use std::ptr::null_mut;

use oarlock_vectors::{AeadVector, CbcVector, Padding, cavp, short, wycheproof};

use crate::driver::{Cipher, Context, ctrl, libcrypto};

/// The bytes of successive calls, repeated cyclically; 0 for all.
const PIECES: [&[usize]; 4] = [&[0], &[1], &[16], &[3, 61, 7, 100, 16, 33]];

#[test]
fn aes_ctr() {
    let blocks = cavp::aes_blocks().unwrap().into_iter();
    let blocks = blocks.map(|block| {
        // A counter's keystream block is the encrypted counter.
        let zeros = vec![0; 16];
        (
            block.source,
            block.key,
            block.plaintext,
            zeros,
            block.ciphertext.to_vec(),
        )
    });
    let vectors = [
        short::sp_800_38a(),
        short::rfc_3686(),
        cavp::aes_ctr().unwrap(),
    ];
    let vectors = vectors.into_iter().flatten();
    let vectors = vectors.map(|v| (v.source, v.key, v.counter_block, v.plaintext, v.ciphertext));
    let mut count = 0;
    for (source, key, iv, plaintext, ciphertext) in vectors.chain(blocks) {
        let name = format!("AES-{}-CTR", 8 * key.len());
        check_stream(&name, &source, &key, &iv, &plaintext, &ciphertext);
        count += 1;
    }
    assert!(count > 2000, "{count}");
}

/// RFC 3713, appendix A: its blocks are used as counters.
#[test]
fn camellia_ctr() {
    let key = "0123456789abcdeffedcba98765432100011223344556677 8899aabbccddeeff";
    let key = octets(&key.replace(' ', ""));
    for (bits, ciphertext) in [
        (128, "67673138549669730857065648eabe43"),
        (192, "b4993401b3e996f84ee5cee7d79b09b9"),
        (256, "9acc237dff16d76c20ef7c919e3a7509"),
    ] {
        let name = format!("CAMELLIA-{bits}-CTR");
        let (key, ciphertext) = (&key[..bits / 8], octets(ciphertext));
        check_stream(&name, "RFC 3713", key, &key[..16], &[0; 16], &ciphertext);
    }
}

#[test]
fn chacha20() {
    for vector in cavp::chacha20().unwrap() {
        let mut iv = vector.counter.to_le_bytes().to_vec();
        iv.extend(vector.nonce);
        let (from, to) = (&vector.plaintext, &vector.ciphertext);
        check_stream("ChaCha20", &vector.source, &vector.key, &iv, from, to);
    }
}

#[test]
fn aes_cbc() {
    let mut vectors = short::sp_800_38a_cbc();
    vectors.extend(cavp::aes_cbc().unwrap());
    vectors.extend(wycheproof::aes_cbc_pkcs7().unwrap());
    assert!(vectors.len() > 1000, "{}", vectors.len());
    vectors.iter().for_each(check_cbc);
}

#[test]
fn aes_cbc_monte_carlo() {
    for vector in short::cbc_monte_carlo() {
        let cipher = cipher("CBC", &vector.key);
        let output = vector.run(|key, iv| {
            let context = cipher.context();
            assert_eq!(
                context.init(None, Some(key), Some(&iv), vector.encrypts.into()),
                1
            );
            context.set_padding(0);
            move |block| {
                let (mut made, mut output) = (0, [0; 16]);
                let place = output.as_mut_ptr();
                assert_eq!(context.update(place, &mut made, block.as_ptr(), 16), 1);
                assert_eq!(made, 16);
                output
            }
        });
        assert_eq!(output, vector.output, "{}", vector.source);
    }
}

#[test]
fn aes_gcm() {
    let mut vectors = cavp::aes_gcm().unwrap();
    vectors.extend(wycheproof::aes_gcm().unwrap());
    assert!(vectors.len() > 5000, "{}", vectors.len());
    for vector in &vectors {
        check_aead(&format!("AES-{}-GCM", 8 * vector.key.len()), vector);
    }
}

#[test]
fn chacha20_poly1305() {
    let mut vectors = cavp::chacha20_poly1305().unwrap();
    vectors.extend(short::rfc_8439());
    vectors.extend(wycheproof::chacha20_poly1305().unwrap());
    assert!(vectors.len() > 300, "{}", vectors.len());
    vectors
        .iter()
        .for_each(|vector| check_aead("ChaCha20-Poly1305", vector));
}

fn check_stream(name: &str, source: &str, key: &[u8], iv: &[u8], from: &[u8], to: &[u8]) {
    let cipher = libcrypto().fetch(name, "oarlock");
    for pieces in PIECES {
        for (encrypts, from, to) in [(1, from, to), (0, to, from)] {
            let context = cipher.context();
            assert_eq!(
                context.init(None, Some(key), Some(iv), encrypts),
                1,
                "{source}"
            );
            let made = updated(&context, from, pieces);
            assert_eq!(made.as_deref(), Some(to), "{source}, {pieces:?}");
        }
    }
}

fn check_cbc(vector: &CbcVector) {
    let source = &vector.source;
    let cipher = cipher("CBC", &vector.key);
    let is_padded = vector.padding == Padding::Pkcs7;
    for pieces in PIECES {
        for encrypts in [1, 0] {
            let context = cipher.context();
            let iv = Some(&vector.iv[..]);
            assert_eq!(
                context.init(None, Some(&vector.key), iv, encrypts),
                1,
                "{source}"
            );
            context.set_padding(is_padded.into());
            let (from, to) = match encrypts {
                1 => (&vector.plaintext, &vector.ciphertext),
                _ => (&vector.ciphertext, &vector.plaintext),
            };
            let mut output = updated(&context, from, pieces).unwrap();
            let (mut end, mut made) = ([0; 16], 0);
            let done = context.finish(end.as_mut_ptr(), &mut made);
            output.extend(&end[..made as usize]);
            if vector.is_valid {
                assert_eq!((done, &output), (1, to), "{source}, {pieces:?}");
            } else if encrypts == 0 {
                assert_eq!(done, 0, "{source}, {pieces:?}");
            }
        }
    }
}

fn check_aead(name: &str, vector: &AeadVector) {
    let source = &vector.source;
    let cipher = libcrypto().fetch(name, "oarlock");
    for pieces in PIECES {
        for encrypts in [1, 0] {
            let context = cipher.context();
            assert_eq!(
                context.init(None, Some(&vector.key), None, encrypts),
                1,
                "{source}"
            );
            let bytes = vector.nonce.len() as i32;
            let is_taken = context.ctrl(ctrl::AEAD_SET_IV_BYTES, bytes, null_mut()) == 1;
            // OpenSSL's GCM accepts up to 128 bytes, ChaCha20-Poly1305 only 12.
            let may_be = match name {
                "ChaCha20-Poly1305" => bytes == 12,
                _ => (1..=128).contains(&bytes),
            };
            assert_eq!(is_taken, may_be, "{source}");
            if !is_taken {
                continue;
            }
            assert_eq!(
                context.init(None, None, Some(&vector.nonce), -1),
                1,
                "{source}"
            );
            for piece in cut(&vector.aad, pieces) {
                let (from, mut made) = (piece.as_ptr(), 0);
                let done = context.update(null_mut(), &mut made, from, piece.len() as i32);
                assert_eq!((done, made as usize), (1, piece.len()), "{source}");
            }
            let (mut end, mut made) = ([0; 16], 0);
            match (encrypts, &vector.plaintext) {
                (1, Some(plaintext)) if vector.is_valid => {
                    let ciphertext = updated(&context, plaintext, pieces).unwrap();
                    assert_eq!(ciphertext, vector.ciphertext, "{source}, {pieces:?}");
                    assert_eq!(context.finish(end.as_mut_ptr(), &mut made), 1, "{source}");
                    let mut tag = vec![0; vector.tag.len()];
                    let bytes = tag.len() as i32;
                    assert_eq!(context.ctrl(ctrl::AEAD_GET_TAG, bytes, tag.as_mut_ptr()), 1);
                    assert_eq!(tag, vector.tag, "{source}, {pieces:?}");
                }
                (1, _) => {}
                (_, plaintext) => {
                    let mut tag = vector.tag.clone();
                    let bytes = tag.len() as i32;
                    assert_eq!(context.ctrl(ctrl::AEAD_SET_TAG, bytes, tag.as_mut_ptr()), 1);
                    let opened = updated(&context, &vector.ciphertext, pieces).unwrap();
                    let done = context.finish(end.as_mut_ptr(), &mut made) == 1;
                    assert_eq!(done, vector.is_valid, "{source}, {pieces:?}");
                    if done {
                        assert_eq!(Some(&opened), plaintext.as_ref(), "{source}, {pieces:?}");
                    }
                }
            }
        }
    }
}

fn cipher(mode: &str, key: &[u8]) -> Cipher {
    libcrypto().fetch(&format!("AES-{}-{mode}", 8 * key.len()), "oarlock")
}

/// Returns the output for `input`, passed in `pieces`; `None` if a call is refused.
fn updated(context: &Context, input: &[u8], pieces: &[usize]) -> Option<Vec<u8>> {
    let mut output = Vec::new();
    for piece in cut(input, pieces) {
        let mut place = vec![0; piece.len() + 32];
        let mut made = 0;
        let bytes = piece.len() as i32;
        if context.update(place.as_mut_ptr(), &mut made, piece.as_ptr(), bytes) != 1 {
            return None;
        }
        output.extend(&place[..made as usize]);
    }
    Some(output)
}

fn cut<'a>(mut input: &'a [u8], pieces: &'a [usize]) -> impl Iterator<Item = &'a [u8]> {
    let mut lengths = pieces.iter().cycle();
    std::iter::from_fn(move || {
        let length = match lengths.next()? {
            0 => input.len(),
            length => input.len().min(*length),
        };
        let (piece, rest) = input.split_at(length);
        input = rest;
        (!piece.is_empty()).then_some(piece)
    })
}

fn octets(text: &str) -> Vec<u8> {
    let octet = |at| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(octet).collect()
}
