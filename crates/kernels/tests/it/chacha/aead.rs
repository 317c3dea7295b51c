//! ChaCha20-Poly1305.

use chacha20poly1305::aead::{AeadInOut, KeyInit};
use inout::InOutBuf;
use oarlock_kernels::aead::{AeadError, tags_match};
use oarlock_kernels::chacha20::Backend;
use oarlock_kernels::chacha20_poly1305::{Ahead, ChaCha20Poly1305, DATA_BYTES_MAX, Due, Message};
use oarlock_kernels::testing::chacha20_poly1305_bytes;
use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::{SUNSCREEN, aead, at_the_edges_of_pages, for_every_backend, unhex};
use crate::random_bytes;
use crate::with_others;

for_every_backend!(
    rfc8439_one_time_keys,
    rfc8439_aead,
    aead_random_messages,
    aead_every_length,
    aead_any_alignment,
    aead_any_split,
    aead_any_first_part,
    aead_associated_data_alone,
    aead_parts_of_one_length,
    aead_parts_beside_what_comes_next,
    aead_any_stripes,
    aead_keystream_ahead,
    aead_forgeries,
    aead_ends_at_a_page,
    aead_limits,
);

/// Sections 2.6.2 and A.4: block 0 comes first in keystream computed ahead.
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

/// Returns ciphertext and tag.
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
    key: [u8; 32],
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
            key,
            nonce,
            aad,
            plain,
            sealed,
            tag,
        }
    }

    /// Returns a message with as much of the associated data as it takes, in pieces, and the rest of the associated data.
    fn due(&self, rng: &mut StdRng) -> (Due, &[u8]) {
        let mut due = Due::new(&self.nonce).unwrap();
        let mut rest = &self.aad[..];
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(rng.random_range(0..=rest.len().min(50)));
            if !due.takes(piece) {
                break;
            }
            rest = behind;
        }
        (due, rest)
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

        // With the one-time key computed before there is data.
        let mut data = self.plain.clone();
        let mut message = aead.begin(nonce, aad).unwrap();
        aead.seal_next(&mut message, data.as_mut_slice().into())
            .unwrap();
        assert!(data == self.sealed, "seal in one part {}", what());
        assert!(aead.finish(message) == *tag, "{}", what());
        let mut message = aead.begin(nonce, aad).unwrap();
        aead.open_next(&mut message, data.as_mut_slice().into())
            .unwrap();
        assert!(data == self.plain, "open in one part {}", what());
        assert!(aead.finish(message) == *tag, "{}", what());
    }
}

impl Case {
    /// With keystream computed ahead. Sometimes it serves a copy that is behind the message.
    fn check_parts(&self, rng: &mut StdRng, parts: &[usize], opens: bool) {
        let (from, expected) = match opens {
            false => (&self.plain, &self.sealed),
            true => (&self.sealed, &self.plain),
        };
        let next =
            |message: &mut Message, data: InOutBuf<'_, '_, u8>, ahead: &mut Ahead| match opens {
                false => self.aead.seal_next_ahead(message, data, ahead).unwrap(),
                true => self.aead.open_next_ahead(message, data, ahead).unwrap(),
            };
        let mut message = self.aead.begin(&self.nonce, &self.aad).unwrap();
        let mut ahead = Ahead::default();
        let mut at = 0;
        for (i, bytes) in parts.iter().enumerate() {
            let what = || format!("part {i} of {parts:?}, opens: {opens}");
            let (from, expected) = (&from[at..at + bytes], &expected[at..at + bytes]);
            let copy = message.clone();
            let mut data = from.to_vec();
            if rng.random() {
                next(&mut message, data.as_mut_slice().into(), &mut ahead);
            } else {
                data.fill(0xa5);
                next(
                    &mut message,
                    InOutBuf::new(from, &mut data).unwrap(),
                    &mut ahead,
                );
            }
            assert!(data == expected, "{}", what());
            if rng.random_ratio(1, 8) {
                message = copy;
                data.copy_from_slice(from);
                next(&mut message, data.as_mut_slice().into(), &mut ahead);
                assert!(data == expected, "of a copy: {}", what());
            }
            at += bytes;
            if rng.random_ratio(1, 4) {
                let (_, tag) = self.of_first(at);
                assert_eq!(self.aead.finish(message.clone()), tag, "{}", what());
            }
        }
        assert_eq!(
            self.aead.finish(message),
            self.tag,
            "{parts:?}, opens: {opens}"
        );
    }

    /// Returns the message that ends after this many bytes.
    fn of_first(&self, bytes: usize) -> (Vec<u8>, [u8; 16]) {
        aead_oracle(&self.key, &self.nonce, &self.aad, &self.plain[..bytes])
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
    let near_chunks = (3..=8).flat_map(|n| 1024 * n - 66..=1024 * n + 66);
    for length in (0..=2200).chain(near_chunks) {
        Case::random(backend, &mut rng, length).check();
    }
}

/// Input and output at any two distances from a cache line.
fn aead_any_alignment(backend: Backend) {
    let (ours, reference) = (aead(backend, &[5; 32]), aead(Backend::Portable, &[5; 32]));
    let input: Vec<u8> = (0..1300u32).map(|i| (i * 11) as u8).collect();
    for length in 0..=1100 {
        let (from, to) = (length * 7 % 64, length * 29 % 64);
        let plain = &input[from..from + length];
        let (mut sealed, mut expected) = ([0xa5; 1300], [0xa5; 1300]);
        let [tag, expected_tag] =
            [(&ours, &mut sealed), (&reference, &mut expected)].map(|(aead, output)| {
                let data = InOutBuf::new(plain, &mut output[to..to + length]).unwrap();
                aead.seal(&[6; 12], b"aad", data).unwrap()
            });
        let what = || format!("{backend:?}, {length} bytes, {from} to {to}");
        assert!(sealed == expected && tag == expected_tag, "{}", what());
        let mut opened = [0xa5; 1300];
        let place = &mut opened[from..from + length];
        let data = InOutBuf::new(&sealed[to..to + length], place).unwrap();
        assert_eq!(
            ours.open(&[6; 12], b"aad", data, &tag),
            Ok(()),
            "{}",
            what()
        );
        assert!(opened[from..from + length] == *plain, "{}", what());
        assert!(opened[from + length..].iter().all(|byte| *byte == 0xa5));
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

/// Parts of a message that begins with its first data, in place or not, and of its copies.
fn aead_any_first_part(backend: Backend) {
    let mut rng = StdRng::seed_from_u64(16);
    let mut first_parts = [0; 2];
    let lengths = (0..=1300).chain([2047, 2048, 2049, 3072, 4090, 9001]);
    for length in lengths {
        let case = Case::random(backend, &mut rng, length);
        let (due, rest) = case.due(&mut rng);
        first_parts[usize::from(rest.is_empty())] += 1;
        let due = if rng.random() { due.clone() } else { due };
        let mut cuts = vec![0, length];
        for _ in 0..rng.random_range(0..3) {
            cuts.push(rng.random_range(0..=length));
        }
        cuts.sort_unstable();
        for opens in [false, true] {
            let (from, expected) = match opens {
                false => (&case.plain, &case.sealed),
                true => (&case.sealed, &case.plain),
            };
            let mut data = from.clone();
            let mut message = None::<Message>;
            if !rest.is_empty() {
                let mut begun = case.aead.begin_due(&due);
                case.aead.aad_next(&mut begun, rest);
                message = Some(begun);
            }
            for cut in cuts.windows(2) {
                let mut elsewhere = vec![0xa5; cut[1] - cut[0]];
                let is_in_place = rng.random();
                let place = &mut data[cut[0]..cut[1]];
                let part = match is_in_place {
                    true => place.into(),
                    false => InOutBuf::new(&from[cut[0]..cut[1]], &mut elsewhere).unwrap(),
                };
                match (&mut message, opens) {
                    (None, false) => case.aead.seal_first(&mut message, &due, part),
                    (None, true) => case.aead.open_first(&mut message, &due, part),
                    (Some(message), false) => case.aead.seal_next(message, part),
                    (Some(message), true) => case.aead.open_next(message, part),
                }
                .unwrap();
                if !is_in_place {
                    data[cut[0]..cut[1]].copy_from_slice(&elsewhere);
                }
                if rng.random() {
                    message = message.clone();
                }
            }
            assert!(data == *expected, "{length} by {cuts:?}, opens: {opens}");
            let tag = case.aead.finish(message.unwrap());
            assert_eq!(tag, case.tag, "{length} by {cuts:?}, opens: {opens}");
        }
    }
    assert!(first_parts.iter().all(|count| *count > 100));
}

fn aead_associated_data_alone(backend: Backend) {
    let mut rng = StdRng::seed_from_u64(17);
    for _ in 0..100 {
        let case = Case::random(backend, &mut rng, 0);
        let (due, rest) = case.due(&mut rng);
        let mut message = case.aead.begin_due(&due);
        case.aead.aad_next(&mut message, rest);
        assert_eq!(case.aead.finish(message), case.tag);
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
                // Sometimes another length, and a copy that continues alone.
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

/// A message cut once at every position near the lengths that are absorbed during rounds, between parts that compute powers
/// and leave keystream; in place or not, with all kinds of copies and ends.
fn aead_parts_beside_what_comes_next(backend: Backend) {
    let mut rng = StdRng::seed_from_u64(27);
    let befores: [&[usize]; 6] = [
        &[512, 512],
        &[1024, 1024],
        &[256, 256, 256],
        &[64, 64, 640],
        &[1000, 24, 512],
        &[256, 256, 768, 256],
    ];
    let lengths = [
        16, 64, 192, 240, 255, 256, 257, 272, 320, 496, 511, 512, 513, 528, 576, 768, 1008, 1023,
        1024, 1025, 1088, 1280, 1535, 1536, 1537, 2048, 2560,
    ];
    for before in befores {
        for (i, first) in lengths.into_iter().enumerate() {
            for second in [lengths[(i * 5 + 2) % lengths.len()], 256, 512, 1024] {
                let parts = [before, &[first, second, first, 256, 256]].concat();
                let case = Case::random(backend, &mut rng, parts.iter().sum());
                for opens in [false, true] {
                    case.check_parts(&mut rng, &parts, opens);
                }
            }
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
        // The last first: the order of processing does not matter.
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
            let opened = (case.aead).open_or_zero(nonce, aad, data.as_mut_slice().into(), tag);
            assert_eq!(opened, Err(AeadError::AuthenticationFailed));
            assert!(data.iter().all(|byte| *byte == 0), "not zeroed");
        };
        let mut opened = case.sealed.clone();
        let buffer = opened.as_mut_slice().into();
        let result = (case.aead).open_or_zero(&case.nonce, &case.aad, buffer, &case.tag);
        assert!(result == Ok(()) && opened == case.plain);
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
        assert_eq!(Due::new(&nonce).unwrap_err(), refused);
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
        *chacha20_poly1305_bytes(&mut message) = before;
        let mut data = vec![7; bytes];
        for open in [false, true] {
            let buffer = data.as_mut_slice().into();
            let done = match open {
                false => aead.seal_next(&mut message, buffer),
                true => aead.open_next(&mut message, buffer),
            };
            if fits {
                assert_eq!(done, Ok(()));
                *chacha20_poly1305_bytes(&mut message) = before;
            } else {
                let bytes_max = DATA_BYTES_MAX;
                assert_eq!(done, Err(AeadError::MessageTooLong { bytes_max }));
                assert!(data.iter().all(|byte| *byte == 7));
            }
        }
    }
}

#[test]
#[should_panic = "a keystream of 163 bytes is too short for 100 bytes of data"]
fn a_keystream_too_short_panics() {
    let _guard = with_others();
    let aead = aead(Backend::Portable, &[0; 32]);
    let _ = aead.seal_with_keystream(b"", (&mut [0; 100][..]).into(), &[0; 163]);
}
