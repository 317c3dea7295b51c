//! Intended differences between the provider and the default provider of OpenSSL 3.0 (docs/internals/openssl-differences.md), which
//! the other tests skip.

use std::ptr::{null, null_mut};

use oarlock_testing::seeded_noise as noise;

use crate::driver::{Context, NAMES, Param, ctrl, libcrypto};

#[test]
fn chacha20_poly1305_without_a_key_encrypts_nothing() {
    let context = ours("ChaCha20-Poly1305");
    assert_eq!(context.init(None, None, Some(&noise(1, 12)), 1), 1);
    assert_eq!(update(&context, &[1; 20]), None);
    assert_eq!(libcrypto().errors(), [(PROV, NO_KEY_SET)]);
    assert_eq!(context.init(None, Some(&noise(2, 32)), None, 1), 1);
    let sealed = update(&context, &[1; 20]);
    assert_eq!(sealed, update(&keyed("ChaCha20-Poly1305", 1), &[1; 20]));
}

#[test]
fn num_stays() {
    let context = keyed("AES-128-CTR", 1);
    let stream = update(&keyed("AES-128-CTR", 1), &[0; 40]).unwrap();
    assert_eq!(update(&context, &[0; 5]).unwrap(), stream[..5]);
    assert_eq!(context.set_num(6), 0);
    assert_eq!(context.set_num(0), 0);
    assert_eq!(context.set_num(5), 1);
    assert_eq!(update(&context, &[0; 35]).unwrap(), stream[5..]);
}

/// The behaviour of 3.0.22; earlier releases accept any number.
#[test]
fn num_of_cbc_is_within_a_block() {
    let context = keyed("AES-128-CBC", 1);
    for num in [16, 17, i32::MAX, -1] {
        assert_eq!(context.set_num(num), 0, "{num}");
        assert_eq!(context.numbers()[4], 0, "{num}");
    }
    assert_eq!(context.set_num(15), 1);
    assert_eq!(context.numbers()[4], 15);
}

#[test]
fn associated_data_come_before_data() {
    let context = keyed("ChaCha20-Poly1305", 1);
    assert!(aad(&context, &[1; 20]));
    assert!(update(&context, &[1; 20]).is_some());
    assert!(!aad(&context, &[1; 20]));
    // GCM does the same with both providers.
    let context = keyed("AES-128-GCM", 1);
    assert!(update(&context, &[1; 20]).is_some());
    assert!(!aad(&context, &[1; 20]));
}

#[test]
fn evp_cipher_takes_whole_blocks_of_cbc() {
    let context = keyed("AES-256-CBC", 1);
    let mut output = [0xaa; 64];
    assert_eq!(
        context.cipher(output.as_mut_ptr(), [0; 17].as_ptr(), 17),
        -1
    );
    assert_eq!(output, [0xaa; 64]);
    assert_eq!(
        context.cipher(output.as_mut_ptr(), [0; 32].as_ptr(), 32),
        32
    );
}

#[test]
fn a_key_of_cbc_serves_both_directions() {
    let expected = update(&keyed("AES-192-CBC", 1), &[7; 64]).unwrap();
    let context = keyed("AES-192-CBC", 0);
    assert_eq!(context.init(None, None, None, 1), 1);
    assert_eq!(update(&context, &[7; 64]).unwrap(), expected);
    assert_eq!(context.init(None, None, None, 0), 1);
    context.set_padding(0);
    assert_eq!(update(&context, &expected).unwrap(), [7; 64]);
}

#[test]
fn the_updated_iv_of_chacha20_is_that_of_the_next_block() {
    let context = ours("ChaCha20");
    let key = noise(2, 32);
    for (counter, bytes, expected) in [(0u32, 0, 0u32), (5, 64, 6), (5, 65, 7), (5, 1, 6)] {
        let mut iv = noise(1, 16);
        iv[..4].copy_from_slice(&counter.to_le_bytes());
        assert_eq!(context.init(None, Some(&key), Some(&iv), 1), 1);
        update(&context, &vec![0; bytes]).unwrap();
        let mut updated = [0; 16];
        assert_eq!(context.updated_iv(&mut updated), 1);
        iv[..4].copy_from_slice(&expected.to_le_bytes());
        assert_eq!(updated[..], iv, "{bytes} bytes from {counter}");
    }
}

#[test]
fn no_block_of_chacha20_is_taken_twice() {
    let stream = update(&keyed("ChaCha20", 1), &[0; 300]).unwrap();
    for bytes in [1, 8, 63, 64, 100] {
        let context = keyed("ChaCha20", 1);
        update(&context, &vec![0; bytes]).unwrap();
        assert_eq!(context.init(None, Some(&noise(2, 32)), None, -1), 1);
        let next = bytes.next_multiple_of(64);
        assert_eq!(update(&context, &[0; 50]).unwrap(), stream[next..next + 50]);
    }
}

#[test]
fn a_new_key_of_gcm_begins_its_message_again() {
    let context = keyed("AES-128-GCM", 1);
    assert!(aad(&context, &[1; 20]));
    update(&context, &[1; 20]).unwrap();
    assert_eq!(context.init(None, Some(&noise(2, 16)), None, -1), 1);
    let expected = update(&keyed("AES-128-GCM", 1), &[1; 20]);
    assert_eq!(update(&context, &[1; 20]), expected);
}

#[test]
fn what_follows_a_wrong_tag_is_refused() {
    let context = keyed("AES-128-GCM", 0);
    update(&context, &[1; 20]).unwrap();
    assert_eq!(
        context.ctrl(ctrl::AEAD_SET_TAG, 16, [0; 16].as_mut_ptr()),
        1
    );
    let (mut end, mut made) = ([0; 16], 0);
    assert_eq!(context.finish(end.as_mut_ptr(), &mut made), 0);
    assert_eq!(update(&context, &[1; 20]), None);
    assert_eq!(context.init(None, None, Some(&noise(1, 12)), -1), 1);
    assert!(update(&context, &[1; 20]).is_some());
}

#[test]
fn a_fixed_iv_begins_a_message() {
    let context = keyed("ChaCha20-Poly1305", 1);
    let expected = update(&context, &[1; 90]);
    let mut fixed = noise(1, 12);
    assert_eq!(
        context.ctrl(ctrl::AEAD_SET_IV_FIXED, 12, fixed.as_mut_ptr()),
        1
    );
    assert_eq!(update(&context, &[1; 90]), expected);
}

#[test]
fn data_of_no_bytes_end_no_associated_data() {
    let whole = keyed("AES-256-GCM", 1);
    assert!(aad(&whole, &[1; 40]));
    let parted = keyed("AES-256-GCM", 1);
    assert!(aad(&parted, &[1; 10]));
    assert_eq!(parted.cipher([0; 16].as_mut_ptr(), [0; 16].as_ptr(), 0), 0);
    assert!(aad(&parted, &[1; 30]));
    assert_eq!(tag(&parted), tag(&whole));
}

/// In 3.0, EVP_Cipher without data ignores a wrong tag of ChaCha20-Poly1305 (CVE-2026-75803).
#[test]
fn evp_cipher_without_data_looks_at_the_tag() {
    for name in AEADS {
        for (aad_bytes, bytes) in [(0, 0), (20, 0), (0, 20), (20, 20)] {
            let begun = |encrypts, data: &[u8]| {
                let context = keyed(name, encrypts);
                assert!(aad(&context, &vec![1; aad_bytes]));
                (update(&context, data).unwrap(), context)
            };
            let (sealed, context) = begun(1, &vec![2; bytes]);
            let expected = tag(&context);
            for output in [[0xaa; 16].as_mut_ptr(), null_mut()] {
                let (_, context) = begun(1, &vec![2; bytes]);
                let mut found = [0; 16];
                assert_eq!(context.cipher(output, null(), 0), 0);
                assert_eq!(context.ctrl(ctrl::AEAD_GET_TAG, 16, found.as_mut_ptr()), 1);
                assert_eq!(found, expected, "{name}");
                for damage in 0..=16 {
                    let (opened, context) = begun(0, &sealed);
                    assert_eq!(opened, vec![2; bytes]);
                    let mut tag = expected;
                    if let Some(byte) = tag.get_mut(damage) {
                        *byte ^= 1;
                    }
                    assert_eq!(context.ctrl(ctrl::AEAD_SET_TAG, 16, tag.as_mut_ptr()), 1);
                    let done = context.cipher(output, null(), 0);
                    let expected = if damage == 16 { 0 } else { -1 };
                    assert_eq!(done, expected, "{name}, {damage}");
                    libcrypto().errors();
                }
            }
        }
    }
}

#[test]
fn no_message_opens_without_a_tag() {
    for name in AEADS {
        for by_cipher in [false, true] {
            let sealing = keyed(name, 1);
            let sealed = update(&sealing, &[1; 20]).unwrap();
            let mut tag = tag(&sealing);
            let opening = keyed(name, 0);
            assert_eq!(update(&opening, &sealed).unwrap(), [1; 20]);
            libcrypto().errors();
            assert!(!end(&opening, by_cipher), "{name}");
            if name == "ChaCha20-Poly1305" {
                assert_eq!(libcrypto().errors(), [(PROV, TAG_NOT_SET)]);
            }
            // The tag may still be set.
            assert_eq!(opening.ctrl(ctrl::AEAD_SET_TAG, 16, tag.as_mut_ptr()), 1);
            assert!(end(&opening, by_cipher), "{name}");
        }
    }
}

#[test]
fn a_nonce_serves_one_message() {
    for name in AEADS {
        for encrypts in [1, 0] {
            let context = keyed(name, encrypts);
            let first = update(&context, &[1; 20]).unwrap();
            if encrypts == 0 {
                let mut tag = [0; 16];
                assert_eq!(context.ctrl(ctrl::AEAD_SET_TAG, 16, tag.as_mut_ptr()), 1);
            }
            assert_eq!(end(&context, false), encrypts == 1, "{name}");
            let (copy, done) = context.copy();
            assert_eq!(done, 1);
            for ended in [&context, &copy] {
                is_refused(name, ended);
                // Neither the key nor the nonce is new.
                assert_eq!(ended.init(None, None, None, 1 - encrypts), 1);
                is_refused(name, ended);
                assert_eq!(ended.init(None, None, Some(&noise(1, 12)), encrypts), 1);
                assert_eq!(update(ended, &[1; 20]).unwrap(), first, "{name}");
            }
        }
    }
    // A new key starts over, as do a fixed IV and a record's sequence number.
    let name = "ChaCha20-Poly1305";
    let context = keyed(name, 1);
    let first = update(&context, &[1; 20]).unwrap();
    tag(&context);
    assert_eq!(context.init(None, Some(&noise(3, 32)), None, 1), 1);
    assert_ne!(update(&context, &[1; 20]).unwrap(), first);
    tag(&context);
    is_refused(name, &context);
    let mut fixed = noise(1, 12);
    assert_eq!(
        context.ctrl(ctrl::AEAD_SET_IV_FIXED, 12, fixed.as_mut_ptr()),
        1
    );
    let mut sealed = Vec::new();
    for sequence in [0, 1] {
        let mut aad = [0, 0, 0, 0, 0, 0, 0, sequence, 23, 3, 3, 0, 20];
        assert_eq!(context.ctrl(ctrl::AEAD_TLS1_AAD, 13, aad.as_mut_ptr()), 16);
        // A record has its tag.
        assert_eq!(
            context.cipher([0; 16].as_mut_ptr(), [0; 16].as_ptr(), 0),
            -1
        );
        let mut record = [1; 36];
        let place = record.as_mut_ptr();
        assert_eq!(context.cipher(place, place, 36), 36);
        sealed.push(record);
        is_refused(name, &context);
    }
    assert_ne!(sealed[0], sealed[1]);
}

/// Checks that neither data nor an end is accepted.
fn is_refused(name: &str, context: &Context) {
    let (mut output, mut made) = ([0xaa; 64], 0);
    let data = [1; 36];
    for bytes in [20, 36] {
        let done = context.update(output.as_mut_ptr(), &mut made, data.as_ptr(), bytes);
        assert_eq!((done, made), (0, 0), "{name}");
        let done = context.cipher(output.as_mut_ptr(), data.as_ptr(), bytes as usize);
        assert_eq!(done, -1, "{name}");
    }
    assert!(!aad(context, &[1; 20]), "{name}");
    assert!(!end(context, false), "{name}");
    assert!(!end(context, true), "{name}");
    assert_eq!(output, [0xaa; 64], "{name}");
    libcrypto().errors();
}

#[test]
fn a_message_under_way_has_no_tag() {
    for name in AEADS {
        let context = keyed(name, 1);
        let get = |context: &Context| {
            let mut tag = [0xaa; 16];
            let done = context.ctrl(ctrl::AEAD_GET_TAG, 16, tag.as_mut_ptr());
            assert_eq!(done == 1, tag != [0xaa; 16], "{name}");
            (done == 1).then_some(tag)
        };
        assert_eq!(get(&context), None, "{name}: before the first message");
        update(&context, &[1; 20]).unwrap();
        assert_eq!(get(&context), None, "{name}: within the first message");
        let first = tag(&context);
        assert_eq!(get(&context), Some(first), "{name}");
        assert_eq!(get(&context.copy().0), Some(first), "{name}: a copy");
        assert_eq!(context.init(None, None, Some(&noise(4, 12)), 1), 1);
        update(&context, &[1; 20]).unwrap();
        assert_eq!(get(&context), None, "{name}: within the second message");
        assert_eq!(get(&context.copy().0), None, "{name}: a copy");
        assert_ne!(tag(&context), first, "{name}");
        libcrypto().errors();
    }
}

#[test]
fn without_a_key_nothing_is_written() {
    for name in NAMES {
        for encrypts in [1, 0] {
            let context = ours(name);
            assert_eq!(context.init(None, None, Some(&noise(1, 16)), encrypts), 1);
            let (copy, done) = context.copy();
            assert_eq!(done, 1);
            for context in [&context, &copy] {
                let (mut output, mut made) = ([0xaa; 96], 0);
                let data = [1; 64];
                let place = output.as_mut_ptr();
                assert_eq!(
                    context.update(place, &mut made, data.as_ptr(), 64),
                    0,
                    "{name}"
                );
                assert_eq!(context.cipher(place, data.as_ptr(), 64), -1, "{name}");
                assert!(!end(context, false), "{name}");
                assert_eq!(output, [0xaa; 96], "{name}");
                if AEADS.contains(&name) {
                    assert!(!aad(context, &[1; 20]), "{name}");
                    assert!(!end(context, true), "{name}");
                }
                libcrypto().errors();
            }
        }
    }
}

/// OpenSSL 3.0 reads and writes where there is no buffer.
#[test]
fn what_3_0_does_not_look_at_is_refused() {
    let context = keyed("AES-128-GCM", 1);
    for bytes in [13, 100, 1 << 20] {
        let mut fixed = noise(1, 1 << 20);
        assert_eq!(
            context.ctrl(ctrl::AEAD_SET_IV_FIXED, bytes, fixed.as_mut_ptr()),
            0
        );
    }
    assert_eq!(context.ctrl(ctrl::AEAD_SET_IV_FIXED, 4, null_mut()), 0);
    assert_eq!(context.ctrl(ctrl::AEAD_TLS1_AAD, 13, null_mut()), 0);
    let context = keyed("AES-128-GCM", 0);
    assert_eq!(
        context.ctrl(ctrl::AEAD_SET_IV_FIXED, 4, noise(1, 4).as_mut_ptr()),
        1
    );
    let mut long = noise(1, 100);
    assert_eq!(context.ctrl(ctrl::GCM_SET_IV_INV, 13, long.as_mut_ptr()), 0);
    // An IV without room for a number: no record, and nothing is counted.
    let short = ours("AES-128-GCM");
    assert_eq!(short.init(None, Some(&noise(2, 16)), None, 1), 1);
    assert_eq!(short.ctrl(ctrl::AEAD_SET_IV_BYTES, 4, null_mut()), 1);
    assert_eq!(
        short.ctrl(ctrl::AEAD_SET_IV_FIXED, -1, noise(1, 4).as_mut_ptr()),
        1
    );
    let mut aad = [0; 13];
    aad[12] = 16;
    assert_eq!(short.ctrl(ctrl::AEAD_TLS1_AAD, 13, aad.as_mut_ptr()), 16);
    let mut record = [0; 32];
    let place = record.as_mut_ptr();
    assert_eq!(short.cipher(place, place, 32), -1);
    // ChaCha20-Poly1305 writes its tag to null.
    let context = keyed("ChaCha20-Poly1305", 1);
    let mut param = Param::new(c"tag", Param::OCTET_STRING, null_mut(), 16);
    assert_eq!(context.get(&mut param), 1);
    assert_eq!(context.ctrl(ctrl::AEAD_TLS1_AAD, 13, null_mut()), 0);
}

/// The default provider also generates it, so only its length can be compared.
#[test]
fn an_iv_of_gcm_that_was_not_set_is_random() {
    let mut ivs = Vec::new();
    for _ in 0..4 {
        let context = ours("AES-128-GCM");
        assert_eq!(context.init(None, Some(&noise(2, 16)), None, 1), 1);
        let sealed = update(&context, &[1; 20]).unwrap();
        let mut iv = [0; 12];
        assert_eq!(context.updated_iv(&mut iv), 1);
        let other = libcrypto().fetch("AES-128-GCM", "default").context();
        assert_eq!(other.init(None, Some(&noise(2, 16)), Some(&iv), 1), 1);
        assert_eq!(update(&other, &[1; 20]).unwrap(), sealed);
        assert!(!ivs.contains(&iv));
        ivs.push(iv);
    }
}

fn ours(name: &str) -> Context {
    libcrypto().fetch(name, "oarlock").context()
}

/// Returns a context with a fixed key and IV.
fn keyed(name: &str, encrypts: i32) -> Context {
    let cipher = libcrypto().fetch(name, "oarlock");
    let context = cipher.context();
    let (key, iv) = (noise(2, cipher.key_bytes()), noise(1, 16));
    assert_eq!(context.init(None, Some(&key), Some(&iv), encrypts), 1);
    context
}

fn update(context: &Context, data: &[u8]) -> Option<Vec<u8>> {
    let (mut output, mut made) = (vec![0; data.len() + 32], 0);
    let place = output.as_mut_ptr();
    let done = context.update(place, &mut made, data.as_ptr(), data.len() as i32);
    output.truncate(made as usize);
    (done == 1).then_some(output)
}

fn aad(context: &Context, aad: &[u8]) -> bool {
    let mut made = 0;
    context.update(null_mut(), &mut made, aad.as_ptr(), aad.len() as i32) == 1
}

fn tag(context: &Context) -> [u8; 16] {
    let (mut tag, mut made) = ([0; 16], 0);
    assert_eq!(context.finish(tag.as_mut_ptr(), &mut made), 1);
    assert_eq!(context.ctrl(ctrl::AEAD_GET_TAG, 16, tag.as_mut_ptr()), 1);
    tag
}

/// Ends a message, with the final call or with EVP_Cipher without data.
fn end(context: &Context, by_cipher: bool) -> bool {
    let (mut output, mut made) = ([0xaa; 64], 0);
    let done = match by_cipher {
        true => context.cipher(output.as_mut_ptr(), null(), 0) + 1,
        false => context.finish(output.as_mut_ptr(), &mut made),
    };
    done == 1
}

const AEADS: [&str; 4] = [
    "AES-128-GCM",
    "AES-192-GCM",
    "AES-256-GCM",
    "ChaCha20-Poly1305",
];

/// ERR_LIB_PROV and its reasons.
const PROV: u32 = 57;
const NO_KEY_SET: u32 = 114;
const TAG_NOT_SET: u32 = 119;
