//! Compares the default provider and ours call by call: random sequences must look the same.

use std::collections::BTreeMap;
use std::ptr::null_mut;

use oarlock_testing::seeded_noise as noise;

use crate::driver::script::meant::{LISTS_OF_CHACHA20_POLY1305, LOOKS_FOR_KEYS};
use crate::driver::script::{Algorithm, Difference, copies};
use crate::driver::{Cipher, Context, NAMES, Param, ctrl, libcrypto, rounds};

/// The first releases that apply a length to the IV it comes with; earlier ones apply it to the next IV (CVE-2023-5363).
const TAKES_LENGTHS_FIRST: [[u32; 3]; 3] = [[3, 0, 12], [3, 1, 4], [3, 2, 0]];
/// Library and reason: PROV_R_NO_KEY_SET.
const NO_KEY: [(u32, u32); 1] = [(57, 114)];

#[test]
fn descriptions_are_the_default_providers() {
    for name in NAMES {
        let [default, ours] =
            ["default", "oarlock"].map(|provider| libcrypto().fetch(name, provider));
        assert_eq!(ours.description(), default.description(), "{name}");
        assert_eq!(ours.names(), default.names(), "{name}");
        let mut listed = ours.listed();
        if name == "ChaCha20" && libcrypto().release() < (3, 6) {
            // 3.6 added it; see docs/internals/openssl-differences.md.
            listed[1].retain(|(key, _)| key != "updated-iv");
        }
        let mut expected = default.listed();
        if name == "ChaCha20-Poly1305" && !libcrypto().has(&LISTS_OF_CHACHA20_POLY1305) {
            expected[2].retain(|(key, _)| key != "tlsivinv");
            expected[2].push(("keylen".to_owned(), Param::UNSIGNED_INTEGER));
            expected[2].sort();
        }
        for (key, data_type) in &mut expected[1] {
            // 4.0 lists octets, but still returns a pointer to them.
            if key == "tls-mac" {
                *data_type = Param::OCTET_PTR;
            }
        }
        assert_eq!(listed, expected, "{name}");
    }
}

#[test]
fn random_sequences_look_the_same() {
    let rounds = rounds(1500);
    let mut differences: BTreeMap<String, (usize, Difference)> = BTreeMap::new();
    let mut excused: BTreeMap<&str, usize> = BTreeMap::new();
    let mut calls = 0;
    for name in NAMES {
        let is_striped = name.starts_with("CAMELLIA");
        let ways = [is_striped, true].map(|has_stripes| Algorithm::new(name, has_stripes));
        for round in 0..rounds {
            let algorithm = &ways[usize::from(round % 4 == 3)];
            let script = noise(round, 4 + (round as usize * 7) % 160);
            match algorithm.run(&script) {
                Ok(end) => {
                    calls += end.calls;
                    for reason in end.reasons {
                        *excused.entry(reason).or_default() += 1;
                    }
                }
                Err(difference) => {
                    let last = difference.calls.last().unwrap();
                    let kind = format!(
                        "{name} {last:?} {} {} {:?} {:?}",
                        difference.expected.done,
                        difference.found.done,
                        difference.expected.errors,
                        difference.found.errors
                    );
                    let kind: String = kind.chars().filter(|c| !c.is_ascii_digit()).collect();
                    let entry = differences.entry(kind);
                    let entry = entry.or_insert_with(|| (0, *difference));
                    entry.0 += 1;
                }
            }
        }
    }
    println!("{calls} calls; differences that are meant: {excused:#?}");
    for (count, difference) in differences.values() {
        println!("{count} times, {difference}");
    }
    assert!(
        differences.is_empty(),
        "{} kinds of differences",
        differences.len()
    );
    assert!(calls > 10_000, "{calls}");
}

/// With an IV and no key, every call fails with the default provider's error and leaves the output unchanged, in a copy too.
/// The IV is kept until the key is set.
#[test]
fn an_iv_waits_for_its_key() {
    for name in NAMES {
        let ciphers = fetched(name);
        let key = noise(1, ciphers[0].key_bytes());
        let iv = noise(2, if is_aead(name) { 12 } else { 16 });
        for (bytes, encrypts) in [0, 16, 1 << 10, 1 << 20]
            .into_iter()
            .flat_map(|bytes| [(bytes, 0), (bytes, 1)])
        {
            let input = noise(3, bytes);
            let run = |context: &Context, output: &mut [u8], call: u32| {
                let (place, mut made) = (output.as_mut_ptr(), -7);
                let done = match call {
                    0 => context.update(place, &mut made, input.as_ptr(), bytes as i32),
                    1 => context.cipher(place, input.as_ptr(), bytes),
                    _ => context.finish(place, &mut made),
                };
                (done, made, libcrypto().errors())
            };
            let [default, ours] = [0, 1].map(|provider| {
                let context = ciphers[provider].context();
                assert_eq!(context.init(None, None, Some(&iv), encrypts), 1);
                let (copy, done) = context.copy();
                let copies = provider == 1 || copies(name);
                assert_eq!(done == 1, copies, "a copy of {name}, {provider}");
                libcrypto().errors();
                let mut unkeyed = Vec::new();
                // Earlier releases compute without a key.
                let looks = provider == 1 || libcrypto().has(&LOOKS_FOR_KEYS);
                let contexts = [&copy, &context].into_iter().filter(|_| looks);
                for context in contexts {
                    for call in 0..3 {
                        let mut output = vec![0xaa; bytes + 32];
                        unkeyed.push(run(context, &mut output, call));
                        // The default provider's ChaCha20-Poly1305 encrypts under zeros.
                        let is_untouched = output.iter().all(|byte| *byte == 0xaa);
                        assert!(is_untouched || provider == 0, "{name}, {call}");
                    }
                }
                // A failed call of an AEAD may use up the IV.
                let iv = is_aead(name).then_some(&iv[..]);
                assert_eq!(context.init(None, Some(&key), iv, encrypts), 1);
                let mut output = vec![0xaa; bytes + 32];
                (unkeyed, run(&context, &mut output, 0), output)
            });
            let what = format!("{name}, {bytes} bytes, {encrypts}");
            let is_chacha = name == "ChaCha20-Poly1305";
            let is_refused = |(done, _, errors): &(i32, i32, Vec<_>)| {
                *done < 1 && (is_aead(name) || *errors == NO_KEY)
            };
            if !libcrypto().has(&LOOKS_FOR_KEYS) {
                assert!(
                    is_chacha || bytes == 0 || ours.0.iter().all(is_refused),
                    "{what}: {:?}",
                    ours.0
                );
            } else if !is_chacha {
                assert_eq!(ours.0, default.0, "{what}");
            }
            assert_eq!(ours.1, default.1, "{what}");
            assert!(ours.2 == default.2, "{what}");
        }
    }
}

/// Whole messages with the default provider's tag, which both providers open in pieces: the tag is right, truncated or
/// wrong.
#[test]
fn messages_open_with_the_right_tag_alone() {
    for name in NAMES.iter().filter(|name| is_aead(name)) {
        let [default, ours] = fetched(name);
        let key = noise(1, default.key_bytes());
        for bytes in [
            0,
            1,
            15,
            16,
            17,
            63,
            64,
            65,
            255,
            1000,
            1024,
            16 << 10,
            100_003,
        ] {
            for round in 0..12u64 {
                let seed = round + bytes as u64;
                let iv = noise(seed, 12);
                let aad = noise(seed, [0, 1, 13, 16, 200][round as usize % 5]);
                let plaintext = noise(seed, bytes);
                let sealed =
                    [&default, &ours].map(|cipher| seal(cipher, &key, &iv, &aad, &plaintext));
                assert_eq!(sealed[1], sealed[0], "{name}, {bytes} bytes");
                let [(ciphertext, tag), _] = sealed;
                for (tag_bytes, flipped) in
                    [(16, 0), (16, 1), (12, 0), (12, 1), (4, 0), (1, 0), (1, 1)]
                {
                    let mut tag = tag[..tag_bytes].to_vec();
                    tag[round as usize % tag_bytes] ^= flipped;
                    let opened = [&default, &ours]
                        .map(|cipher| open(cipher, &key, &iv, &aad, &ciphertext, &tag, seed));
                    assert_eq!(
                        opened[1], opened[0],
                        "{name}, {bytes} bytes, tag of {tag_bytes}"
                    );
                    assert_eq!(opened[1].0 == 1, flipped == 0, "{name}, {bytes} bytes");
                    assert_eq!(opened[1].1, plaintext, "{name}, {bytes} bytes");
                }
            }
        }
    }
}

/// A length that is passed with key and IV applies to that IV (CVE-2023-5363).
#[test]
fn the_length_of_an_iv_may_come_with_it() {
    for name in NAMES.iter().filter(|name| name.ends_with("GCM")) {
        let ciphers = fetched(name);
        let (key, plaintext) = (noise(1, ciphers[0].key_bytes()), noise(2, 100));
        for bytes in [1, 8, 11, 12, 13, 16, 128] {
            let iv = noise(3, bytes);
            // Earlier releases pass us the IV first, when it does not have the new length yet.
            let takes_length_first = libcrypto().has(&TAKES_LENGTHS_FIRST);
            let sealed = ciphers.each_ref().map(|cipher| {
                [takes_length_first, false].map(|comes_with_it| {
                    let context = Context::empty(libcrypto());
                    let mut length = bytes;
                    let place = std::ptr::from_mut(&mut length).cast();
                    let param = Param::new(c"ivlen", Param::UNSIGNED_INTEGER, place, 8);
                    let params = [param, Param::END];
                    if comes_with_it {
                        let (key, iv) = (Some(&key[..]), Some(&iv[..]));
                        let done = context.init_with(Some(cipher), key, iv, 1, params.as_ptr());
                        assert_eq!(done, 1, "{name}, {bytes} bytes");
                    } else {
                        let [param, _] = params;
                        assert_eq!(context.init(Some(cipher), None, None, 1), 1);
                        assert_eq!(context.set(param), 1);
                        assert_eq!(context.init(None, Some(&key), Some(&iv), 1), 1);
                    }
                    let (mut output, mut tag, mut made) = ([0; 100], [0; 16], 0);
                    let place = output.as_mut_ptr();
                    assert_eq!(context.update(place, &mut made, plaintext.as_ptr(), 100), 1);
                    assert_eq!(context.finish(place, &mut made), 1);
                    let done = context.ctrl(ctrl::AEAD_GET_TAG, 16, tag.as_mut_ptr());
                    assert_eq!(done, 1);
                    (output, tag)
                })
            });
            let what = format!("{name}, {bytes} bytes");
            assert!(sealed[0] == sealed[1], "{what}");
            assert!(sealed[1][0] == sealed[1][1], "{what}");
        }
    }
}

/// Records made and opened as by libssl (RFC 5288 and 7905), with contexts of both providers, each also opening the other's;
/// both refuse broken ones.
#[test]
fn tls_records_of_aeads_are_the_same() {
    for name in NAMES.iter().filter(|name| is_aead(name)) {
        let ciphers = fetched(name);
        let key = noise(2, ciphers[0].key_bytes());
        let is_gcm = name.ends_with("GCM");
        let explicit = if is_gcm { 8 } else { 0 };
        let fixed = noise(3, if is_gcm { 4 } else { 12 });
        let contexts = |encrypts| {
            ciphers.each_ref().map(|cipher| {
                let context = cipher.context();
                assert_eq!(context.init(None, Some(&key), None, encrypts), 1);
                let mut fixed = fixed.clone();
                let bytes = fixed.len() as i32;
                assert_eq!(
                    context.ctrl(ctrl::AEAD_SET_IV_FIXED, bytes, fixed.as_mut_ptr()),
                    1
                );
                context
            })
        };
        let writers = contexts(1);
        if is_gcm {
            // Both sides get the same IV: -1 sets all of it, so nothing is random.
            for writer in &writers {
                let mut iv = noise(4, 12);
                iv[..4].copy_from_slice(&fixed);
                // The count crosses the end of a byte.
                iv[11] = 0xfe;
                assert_eq!(writer.ctrl(ctrl::AEAD_SET_IV_FIXED, -1, iv.as_mut_ptr()), 1);
            }
        }
        let readers = contexts(0);
        for sequence in 0..300u64 {
            let bytes = match sequence {
                0..150 => sequence as usize,
                _ => noise(sequence, 2)
                    .iter()
                    .fold(0, |all, byte| all << 6 | usize::from(*byte)),
            };
            let aad = |bytes: usize| {
                let mut aad = [0; 13];
                aad[..8].copy_from_slice(&sequence.to_be_bytes());
                aad[8..11].copy_from_slice(&[23, 3, 3]);
                aad[11..].copy_from_slice(&(bytes as u16).to_be_bytes());
                aad
            };
            let whole = explicit + bytes + 16;
            let written = writers.each_ref().map(|writer| {
                let mut aad = aad(explicit + bytes);
                assert_eq!(
                    writer.ctrl(ctrl::AEAD_TLS1_AAD, 13, aad.as_mut_ptr()),
                    16,
                    "{name}"
                );
                let mut record = vec![0; whole];
                record[explicit..explicit + bytes].copy_from_slice(&noise(sequence, bytes));
                let (place, mut made) = (record.as_mut_ptr(), 0);
                let done = match sequence % 2 {
                    0 => writer.cipher(place, place, whole),
                    _ => writer.update(place, &mut made, place, whole as i32) * made,
                };
                assert_eq!(done, whole as i32, "{name}, {bytes} bytes");
                record
            });
            assert_eq!(
                written[1], written[0],
                "{name}, record {sequence} of {bytes} bytes"
            );
            // Sometimes broken, or with a length other than announced.
            let damage = sequence % 7;
            let opened = readers.each_ref().map(|reader| {
                let mut aad = aad(whole);
                assert_eq!(
                    reader.ctrl(ctrl::AEAD_TLS1_AAD, 13, aad.as_mut_ptr()),
                    16,
                    "{name}"
                );
                let mut record = written[0].clone();
                let mut given = whole;
                match damage {
                    1 => record[sequence as usize % whole] ^= 4,
                    2 => given -= 1,
                    3 => given = 15,
                    _ => {}
                }
                let (place, mut made) = (record.as_mut_ptr(), 0);
                let done = match sequence % 2 {
                    0 => reader.cipher(place, place, given),
                    _ => reader.update(place, &mut made, place, given as i32),
                };
                (done, made, record, libcrypto().errors())
            });
            assert_eq!(
                opened[1], opened[0],
                "{name}, record {sequence} of {bytes} bytes"
            );
            match damage {
                1..=3 => assert!(opened[1].0 <= 0, "{name}, record {sequence}"),
                _ => {
                    assert!(opened[1].0 > 0 || bytes == 0, "{name}, record {sequence}");
                    if sequence % 2 == 1 {
                        assert_eq!(opened[1].1, bytes as i32, "{name}, record {sequence}");
                    }
                    let content = &opened[1].2[explicit..explicit + bytes];
                    assert_eq!(content, noise(sequence, bytes), "{name}, record {sequence}");
                }
            }
        }
    }
}

/// Since 3.4, AES-GCM reports whether its IV is random; 4.0 generates a random one when asked for it.
#[test]
fn a_random_iv_is_told_and_given_as_in_this_release() {
    let release = libcrypto().release();
    for name in NAMES.iter().filter(|name| name.ends_with("GCM")) {
        let [default, ours] = fetched(name).map(|cipher| {
            let (key, iv) = (noise(1, cipher.key_bytes()), noise(2, 12));
            let told = |context: &Context| {
                let mut is_random = 7u32;
                let place = std::ptr::from_mut(&mut is_random).cast();
                let mut param = Param::new(c"iv-generated", Param::UNSIGNED_INTEGER, place, 4);
                (context.get(&mut param), is_random, param.return_bytes)
            };
            let fix = |context: &Context, bytes| {
                let mut fixed = noise(3, 12);
                context.ctrl(ctrl::AEAD_SET_IV_FIXED, bytes, fixed.as_mut_ptr())
            };
            let seal = |context: &Context| {
                let (mut output, mut made) = ([0; 16], 0);
                context.update(output.as_mut_ptr(), &mut made, [1; 16].as_ptr(), 16)
            };
            let given = |context: &Context| {
                let mut iv = [0; 12];
                let done = context.updated_iv(&mut iv);
                // Random IVs are never twelve zeros.
                (done, iv != [0; 12], libcrypto().errors())
            };
            let size_of_tag = |context: &Context| {
                let mut param = Param::new(c"tag", Param::OCTET_STRING, null_mut(), 0);
                (context.get(&mut param), libcrypto().errors())
            };

            let mut seen = Vec::new();
            let context = cipher.context();
            seen.push((told(&context), 0));
            assert_eq!(context.init(None, Some(&key), None, 1), 1);
            seen.push((told(&context), seal(&context)));
            seen.push((told(&context), context.init(None, None, None, 1)));
            let fixed = cipher.context();
            assert_eq!(fixed.init(None, Some(&key), Some(&iv), 1), 1);
            seen.push((told(&fixed), fix(&fixed, 4)));
            seen.push((told(&fixed), 0));
            let whole = cipher.context();
            assert_eq!(whole.init(None, Some(&key), None, 1), 1);
            seen.push((told(&whole), fix(&whole, -1)));
            seen.push((told(&whole), 0));
            // Earlier releases still report that a previous IV was random.
            if release >= (4, 0) {
                assert_eq!(fixed.init(None, None, Some(&iv), 1), 1);
                seen.push((told(&fixed), 0));
            }

            let mut asked = Vec::new();
            for encrypts in [1, 0] {
                let context = cipher.context();
                assert_eq!(context.init(None, Some(&key), None, encrypts), 1);
                asked.push((given(&context), given(&context)));
            }
            let sealing = cipher.context();
            assert_eq!(sealing.init(None, Some(&key), Some(&iv), 1), 1);
            let mut made = 0;
            let sizes = [
                size_of_tag(&sealing),
                (sealing.finish([0; 16].as_mut_ptr(), &mut made), Vec::new()),
                size_of_tag(&sealing),
            ];
            (seen, asked, sizes)
        });
        assert_eq!(ours, default, "{name}");
        let is_random: Vec<u32> = ours.0.iter().map(|((_, it, _), _)| *it).collect();
        let expected: &[u32] = match release {
            (3, 0..4) => &[7; 7],
            (3, _) => &[0, 0, 1, 0, 1, 0, 0],
            _ => &[0, 0, 1, 0, 1, 0, 0, 0],
        };
        assert_eq!(is_random, expected, "{name}");
    }
}

#[test]
fn a_block_held_back_comes_when_padding_is_switched_off() {
    for name in NAMES.iter().filter(|name| name.ends_with("CBC")) {
        let [default, ours] = fetched(name).map(|cipher| {
            let context = cipher.context();
            let (key, iv) = (noise(5, cipher.key_bytes()), noise(6, 16));
            assert_eq!(context.init(None, Some(&key), Some(&iv), 0), 1);
            let (mut output, mut made) = ([0xaa; 96], [0; 3]);
            let place = output.as_mut_ptr();
            let input = noise(7, 48);
            let first = context.update(place, &mut made[0], input.as_ptr(), 48);
            context.set_padding(0);
            let place = output[48..].as_mut_ptr();
            let second = context.update(place, &mut made[1], input.as_ptr(), 0);
            let place = output[64..].as_mut_ptr();
            let end = context.finish(place, &mut made[2]);
            ([first, second, end], made, output, libcrypto().errors())
        });
        assert_eq!(ours, default, "{name}");
        assert_eq!(ours.1, [32, 16, 0], "{name}");
    }
}

/// CBC records: padding and MAC are added and removed as by the default provider.
#[test]
fn tls_records_of_cbc_are_the_same() {
    let mut good = 0;
    for name in NAMES.iter().filter(|name| name.ends_with("CBC")) {
        let [default, ours] = fetched(name);
        let key = noise(5, default.key_bytes());
        for version in [0x300u32, 0x301, 0x302, 0x303, 0xfeff, 0xfefd, 0x100, 0x304] {
            for mac_bytes in [0usize, 20, 32, 48, 64, 65] {
                let context = |cipher: &Cipher, encrypts| {
                    let context = cipher.context();
                    let iv = noise(6, 16);
                    assert_eq!(context.init(None, Some(&key), Some(&iv), encrypts), 1);
                    assert_eq!(context.set_number(c"tls-version", version), 1);
                    assert_eq!(context.set_number(c"tls-mac-size", mac_bytes as u32), 1);
                    context
                };
                let writers = [&default, &ours].map(|cipher| context(cipher, 1));
                let readers = [&default, &ours].map(|cipher| context(cipher, 0));
                // Encrypts what the two pass to it, including padding.
                let raw = default.context();
                assert_eq!(raw.init(None, Some(&key), Some(&noise(6, 16)), 1), 1);
                raw.set_padding(0);
                for round in 0..60u64 {
                    let bytes = noise(round, 1)[0] as usize * 2 + 1;
                    let written = writers.each_ref().map(|writer| {
                        let mut record = noise(round, bytes + 64);
                        let mut made = 0;
                        let place = record.as_mut_ptr();
                        let done = writer.update(place, &mut made, place, bytes as i32);
                        (done, made, record, libcrypto().errors())
                    });
                    assert_eq!(written[1], written[0], "{name} {version:x} {bytes}");
                    // Padding of any length up to 255, or with one wrong byte.
                    let mut record = noise(round, 16 * (1 + bytes.div_ceil(16)) + 256);
                    let length = noise(round + 1000, 1)[0];
                    let padded_from = record.len() - usize::from(length) - 1;
                    record[padded_from..].fill(length);
                    let is_bad = round % 4 == 3;
                    if is_bad {
                        record[padded_from] ^= 1;
                    }
                    if round % 16 == 15 {
                        record.truncate([0, 16, 32, 48][round as usize / 16 % 4]);
                    }
                    let mut made = 0;
                    let mut sealed = record.clone();
                    if !record.is_empty() {
                        let from = record.as_ptr();
                        let done =
                            raw.update(sealed.as_mut_ptr(), &mut made, from, record.len() as i32);
                        assert_eq!((done, made as usize), (1, record.len()));
                    }
                    let what = format!("{name} {version:x} MAC {mac_bytes} {round}");
                    if record.len() <= 16 {
                        // 3.0 reads before a record that is at most an explicit IV.
                        let (place, mut made) = (sealed.as_mut_ptr(), 0);
                        let done =
                            context(&ours, 0).update(place, &mut made, place, record.len() as i32);
                        let is_empty = done == 1 && made == 0;
                        assert!(done == 0 || is_empty, "{what}: {made} bytes");
                        libcrypto().errors();
                        continue;
                    }
                    let opened = readers.each_ref().map(|reader| {
                        let mut record = sealed.clone();
                        record.reserve(64);
                        let mut made = 0x5a;
                        let place = record.as_mut_ptr();
                        let done = reader.update(place, &mut made, place, record.len() as i32);
                        let errors = libcrypto().errors();
                        let mut mac: *const u8 = std::ptr::null();
                        let mut param =
                            Param::new(c"tls-mac", Param::OCTET_PTR, (&raw mut mac).cast(), 8);
                        assert_eq!(reader.get(&mut param), 1);
                        assert_eq!(param.return_bytes, mac_bytes);
                        let mac = (!mac.is_null() && mac_bytes <= 64).then(|| {
                            // SAFETY: the context reports this number of bytes at `mac`.
                            unsafe { std::slice::from_raw_parts(mac, mac_bytes) }.to_vec()
                        });
                        (done, made, record, errors, mac)
                    });
                    let [default, ours] = opened;
                    assert_eq!((ours.0, ours.1), (default.0, default.1), "{what}");
                    assert_eq!(ours.3, default.3, "{what}");
                    assert_eq!(ours.4.is_some(), default.4.is_some(), "{what}");
                    if ours.0 == 1 {
                        assert_eq!(ours.2, default.2, "{what}");
                    }
                    // The MAC is random for a record with wrong padding, or more of it than fits.
                    let explicit = if version <= 0x301 && version != 0x100 {
                        0
                    } else {
                        16
                    };
                    let is_too_long = explicit + mac_bytes + usize::from(length) + 1 > record.len();
                    let is_bad = is_too_long
                        || is_bad && version != 0x300
                        || version == 0x300 && length > 15;
                    if !is_bad && ours.0 == 1 && round % 16 != 15 {
                        assert_eq!(ours.4, default.4, "{what}");
                        good += 1;
                    }
                }
            }
        }
    }
    assert!(good > 1000, "{good}");
}

fn is_aead(name: &str) -> bool {
    name.ends_with("GCM") || name.ends_with("Poly1305")
}

fn fetched(name: &str) -> [Cipher; 2] {
    ["default", "oarlock"].map(|provider| libcrypto().fetch(name, provider))
}

fn seal(cipher: &Cipher, key: &[u8], iv: &[u8], aad: &[u8], data: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let context = cipher.context();
    assert_eq!(context.init(None, Some(key), Some(iv), 1), 1);
    let mut made = 0;
    let done = context.update(null_mut(), &mut made, aad.as_ptr(), aad.len() as i32);
    assert_eq!(done, 1);
    let mut output = vec![0; data.len() + 16];
    let place = output.as_mut_ptr();
    assert_eq!(
        context.update(place, &mut made, data.as_ptr(), data.len() as i32),
        1
    );
    assert_eq!(context.finish(place.wrapping_add(data.len()), &mut made), 1);
    output.truncate(data.len());
    let mut tag = vec![0; 16];
    assert_eq!(context.ctrl(ctrl::AEAD_GET_TAG, 16, tag.as_mut_ptr()), 1);
    (output, tag)
}

/// Opens a record in pieces; returns whether the tag is right, the plaintext, and errors.
fn open(
    cipher: &Cipher,
    key: &[u8],
    iv: &[u8],
    aad: &[u8],
    data: &[u8],
    tag: &[u8],
    seed: u64,
) -> (i32, Vec<u8>, Vec<(u32, u32)>) {
    let context = cipher.context();
    assert_eq!(context.init(None, Some(key), Some(iv), 0), 1);
    let mut made = 0;
    for piece in aad.chunks(1 + seed as usize % 40) {
        let bytes = piece.len() as i32;
        assert_eq!(
            context.update(null_mut(), &mut made, piece.as_ptr(), bytes),
            1
        );
    }
    let mut output = data.to_vec();
    let mut rest = &mut output[..];
    for length in noise(seed, data.len()) {
        let piece_bytes = (usize::from(length) * (1 + seed as usize % 30)).min(rest.len());
        let (piece, after) = rest.split_at_mut(piece_bytes);
        let place = piece.as_mut_ptr();
        assert_eq!(
            context.update(place, &mut made, place, piece.len() as i32),
            1
        );
        rest = after;
    }
    let place = rest.as_mut_ptr();
    assert_eq!(
        context.update(place, &mut made, place, rest.len() as i32),
        1
    );
    let mut tag = tag.to_vec();
    assert_eq!(
        context.ctrl(ctrl::AEAD_SET_TAG, tag.len() as i32, tag.as_mut_ptr()),
        1
    );
    let mut end = [0; 16];
    let done = context.finish(end.as_mut_ptr(), &mut made);
    (done, output, libcrypto().errors())
}
