//! What senders produce, and what receivers find in it.

use oarlock::Strategy;
use oarlock::packet::PacketError;
use oarlock::packet::tls::{
    ContentType, Cut, End, InboundRecord, OutboundRecord, Padding, Suite, key_update,
};
use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::{BEFORE, BEHIND, DATA, MASKS, keys, opened, opened_one, pair, reference, sealed};
use crate::common::{accelerator, accelerator_by, random_bytes, striped};

/// Returns the inner plaintext (RFC 8446, 5.2).
fn inner(content: &[u8], content_type: ContentType, padding: usize) -> Vec<u8> {
    [content, &[content_type.0], &vec![0; padding]].concat()
}

#[test]
fn every_suite_and_length_is_as_put_together_by_hand() {
    let mut random = StdRng::seed_from_u64(30);
    for mask in MASKS {
        let accelerator = accelerator_by(mask, Strategy::Auto);
        for suite in Suite::ALL {
            let secret = reference::secret(*suite);
            let (mut outbound, mut inbound) = pair(&accelerator, &keys(*suite, &secret));
            let lengths = (0..70).chain([127, 128, 255, 511, 1399, 4096, 16_383, 16_384]);
            for (length, sequence) in lengths.zip(0..) {
                let content = random_bytes(&mut random, length);
                let record = sealed(&mut outbound, &content, DATA);
                let by_hand =
                    reference::record(*suite, &secret, sequence, &inner(&content, DATA, 0));
                assert_eq!(record, by_hand, "{suite:?} {mask} {length}");
                assert_eq!(opened_one(&mut inbound, &record), Ok((content, DATA)));
            }
        }
    }
}

/// Random batches, record by record or from a long buffer, arrive in randomly cut pieces.
#[test]
fn random_batches_are_as_put_together_by_hand() {
    let mut random = StdRng::seed_from_u64(31);
    for round in 0..120 {
        let suite = Suite::ALL[round % 3];
        let secret = reference::secret(suite);
        let mask = MASKS[random.random_range(0..MASKS.len())];
        let strategy = [Strategy::Auto, Strategy::Inline, Strategy::Stripe][round % 3];
        let accelerator = accelerator_by(mask, strategy);
        let first = random.random_range(0..1 << 20);
        let keys = keys(suite, &secret).sequence(first);
        let (mut outbound, mut inbound) = pair(&accelerator, &keys);
        let mut expected = Vec::new();
        let mut stream = Vec::new();

        let count = random.random_range(0..80);
        let mut buffers = Vec::new();
        for _ in 0..count {
            let length = random.random_range(0..[40, 1500, 16_000][round % 3]);
            let padding = random.random_range(0..3) * random.random_range(0..100);
            let content = random_bytes(&mut random, length);
            let buffer = [&[1; BEFORE][..], &content, &vec![2; padding + BEHIND]].concat();
            buffers.push((buffer, length, padding));
            expected.push((content, padding));
        }
        let mut records: Vec<_> = (buffers.iter_mut())
            .map(|(buffer, length, padding)| {
                OutboundRecord::new(buffer, BEFORE..BEFORE + *length, DATA).padding(*padding)
            })
            .collect();
        outbound.seal(&mut records);
        for record in &records {
            stream.extend_from_slice(record.sealed().unwrap());
        }

        let limit = random.random_range(64..3000);
        outbound.set_cut(Cut::record_size_limit(limit).unwrap());
        let length = random.random_range(0..200_000);
        let data = random_bytes(&mut random, length);
        let mut to = vec![0; outbound.cut().sealed_bytes(length).unwrap() + 7];
        let bytes = outbound.seal_stream(DATA, &data, &mut to).unwrap();
        assert_eq!(bytes + 7, to.len());
        assert_eq!(to[bytes..], [0; 7]);
        stream.extend_from_slice(&to[..bytes]);
        let pieces = data.chunks(usize::from(limit) - 1);
        expected.extend(pieces.map(|piece| (piece.to_vec(), 0)));

        let by_hand: Vec<_> = (expected.iter().zip(first..))
            .flat_map(|((content, padding), sequence)| {
                reference::record(suite, &secret, sequence, &inner(content, DATA, *padding))
            })
            .collect();
        assert!(stream == by_hand, "{suite:?} {mask}");

        let mut buffer = Vec::new();
        let mut found = Vec::new();
        let mut left = &stream[..];
        while !left.is_empty() {
            let (piece, rest) = left.split_at(random.random_range(1..=left.len()));
            left = rest;
            buffer.extend_from_slice(piece);
            let mut records = vec![InboundRecord::default(); random.random_range(1..100)];
            loop {
                let opened = inbound.open(&mut buffer, &mut records);
                for record in &records[..opened.records] {
                    assert_eq!(record.sequence(), first + found.len() as u64);
                    found.push(buffer[record.content()].to_vec());
                }
                buffer.drain(..opened.bytes);
                if opened.end == Ok(End::Incomplete) {
                    break;
                }
                assert_eq!((opened.end, opened.records), (Ok(End::Full), records.len()));
            }
        }
        assert!(buffer.is_empty());
        let contents = expected.into_iter().map(|(content, _)| content);
        assert!(found.into_iter().eq(contents));
    }
}

/// A record that is cut at any byte stays in the buffer until the rest arrives.
#[test]
fn every_cut_of_a_stream_is_waited_at() {
    let suite = Suite::Aes128GcmSha256;
    let secret = reference::secret(suite);
    let (mut outbound, _) = pair(&accelerator(), &keys(suite, &secret));
    let stream: Vec<_> = [&b"one"[..], b"", b"three"]
        .iter()
        .flat_map(|content| sealed(&mut outbound, content, DATA))
        .collect();
    for cut in 0..=stream.len() {
        let (_, mut inbound) = pair(&accelerator(), &keys(suite, &secret));
        let first = opened(&mut inbound, &stream[..cut]);
        assert_eq!(first.end, Ok(End::Incomplete));
        assert_eq!(
            first.buffer[first.bytes..],
            stream[first.bytes..cut],
            "untouched"
        );
        let second = opened(&mut inbound, &stream[first.bytes..]);
        let contents = first.records.into_iter().chain(second.records);
        let contents: Vec<_> = contents.map(|(content, _)| content).collect();
        assert_eq!(contents, [&b"one"[..], b"", b"three"], "{cut}");
    }
}

#[test]
fn padding_hides_lengths_and_is_removed() {
    let suite = Suite::ChaCha20Poly1305Sha256;
    let secret = reference::secret(suite);
    let (mut outbound, mut inbound) = pair(&accelerator(), &keys(suite, &secret));
    for (padding, expected) in [
        (Padding::None, 100),
        (Padding::Multiple(64), 128),
        (Padding::Multiple(100), 100),
        (Padding::Multiple(0), 100),
        (Padding::Multiple(u16::MAX), 16_384),
        (Padding::Full, 16_384),
    ] {
        let cut = Cut::default().padding(padding);
        outbound.set_cut(cut);
        let mut sealed = vec![0; cut.sealed_bytes(100).unwrap()];
        assert_eq!(sealed.len(), BEFORE + expected + BEHIND, "{padding:?}");
        outbound.seal_stream(DATA, &[7; 100], &mut sealed).unwrap();
        assert_eq!(opened_one(&mut inbound, &sealed), Ok((vec![7; 100], DATA)));
    }
}

#[test]
fn keys_of_both_ends_are_updated_together() {
    for suite in Suite::ALL {
        let secret = reference::secret(*suite);
        let (mut outbound, mut inbound) = pair(&accelerator(), &keys(*suite, &secret));
        let mut secret = secret;
        for generation in 0..3 {
            let mut stream = sealed(&mut outbound, b"before", DATA);
            let update = key_update(generation == 1);
            stream.extend(sealed(&mut outbound, &update, ContentType::HANDSHAKE));
            outbound.update().unwrap();
            assert_eq!(outbound.sequence(), 0);
            secret = reference::expand(*suite, "tls13 ", &secret, "traffic upd", secret.len());
            let behind = sealed(&mut outbound, b"behind", DATA);
            let by_hand = reference::record(*suite, &secret, 0, b"behind\x17");
            assert_eq!(behind, by_hand);
            let all = [stream.clone(), behind].concat();
            let found = opened(&mut inbound, &all);
            assert_eq!((found.end, found.bytes), (Ok(End::Message), stream.len()));
            assert_eq!(found.records[1].0, update);
            assert_eq!(
                found.buffer[found.bytes..],
                all[found.bytes..],
                "as it came"
            );
            inbound.update().unwrap();
            let behind = opened_one(&mut inbound, &all[found.bytes..]);
            assert_eq!(behind, Ok((b"behind".to_vec(), DATA)));
        }
    }
}

/// Bytes after a message stay as they came, even if threads had opened them.
#[test]
fn nothing_behind_a_message_is_opened() {
    for accelerator in [accelerator(), striped()] {
        for suite in Suite::ALL {
            let secret = reference::secret(*suite);
            let (mut outbound, mut inbound) = pair(&accelerator, &keys(*suite, &secret));
            let mut stream = Vec::new();
            let mut ends = Vec::new();
            for number in 0..60 {
                let content_type = match number {
                    20 | 21 | 50 => ContentType::HANDSHAKE,
                    _ => DATA,
                };
                stream.extend(sealed(&mut outbound, &[number; 3000], content_type));
                if content_type != DATA {
                    ends.push(stream.len());
                }
            }
            let mut at = 0;
            for end in ends {
                let found = opened(&mut inbound, &stream[at..]);
                assert_eq!((found.end, at + found.bytes), (Ok(End::Message), end));
                assert!(found.buffer[found.bytes..] == stream[end..]);
                at = end;
            }
            let found = opened(&mut inbound, &stream[at..]);
            assert_eq!((found.end, found.records.len()), (Ok(End::Incomplete), 9));
        }
    }
}

/// The same for a record that is authentic and has no content: the call that reaches it says so.
#[test]
fn an_invalid_record_behind_a_message_is_refused_when_it_is_reached() {
    for accelerator in [accelerator(), striped()] {
        for suite in Suite::ALL {
            let secret = reference::secret(*suite);
            let (mut outbound, mut inbound) = pair(&accelerator, &keys(*suite, &secret));
            let mut stream = Vec::new();
            let mut end = 0;
            for number in 0..40_u8 {
                let content_type = if number == 20 {
                    ContentType::HANDSHAKE
                } else {
                    DATA
                };
                let record = sealed(&mut outbound, &[number; 3000], content_type);
                stream.extend(match number {
                    21 => reference::record(*suite, &secret, 21, &[0; 3000]),
                    _ => record,
                });
                if number == 20 {
                    end = stream.len();
                }
            }
            let found = opened(&mut inbound, &stream);
            assert_eq!((found.end, found.bytes), (Ok(End::Message), end));
            assert!(found.buffer[end..] == stream[end..]);
            let found = opened(&mut inbound, &stream[end..]);
            assert_eq!(found.end, Err(PacketError::InvalidPadding));
        }
    }
}

#[test]
fn a_buffer_without_room_takes_no_number() {
    let suite = Suite::Aes128GcmSha256;
    let secret = reference::secret(suite);
    let (mut outbound, mut inbound) = pair(&accelerator(), &keys(suite, &secret));
    let mut buffers = [[7; 64]; 6];
    let ranges = [
        4..20,
        5..48,
        5..65,
        std::ops::Range { start: 30, end: 20 },
        usize::MAX - 1..usize::MAX,
        5..47,
    ];
    let mut records: Vec<_> = (buffers.iter_mut().zip(ranges))
        .map(|(buffer, range)| OutboundRecord::new(buffer, range, DATA))
        .collect();
    outbound.seal(&mut records);
    for record in &records[..5] {
        let no_room = PacketError::NoRoom {
            before: BEFORE,
            behind: BEHIND,
        };
        assert_eq!(record.sealed(), Err(no_room));
    }
    assert_eq!(records[5].sequence(), 0);
    let record = records[5].sealed().unwrap().to_vec();
    assert_eq!(opened_one(&mut inbound, &record), Ok((vec![7; 42], DATA)));
    drop(records);
    assert!(
        buffers[..5].iter().all(|it| *it == [7; 64]),
        "nothing was written"
    );
    let mut short = vec![0; outbound.cut().sealed_bytes(50).unwrap() - 1];
    let refused = outbound.seal_stream(DATA, &[1; 50], &mut short);
    assert!(matches!(refused, Err(PacketError::NoRoom { .. })));
    assert_eq!(outbound.sequence(), 1);
}

/// Any number of threads, changed while records flow.
#[test]
fn workers_change_nothing_but_the_time() {
    let suite = Suite::Aes256GcmSha384;
    let secret = reference::secret(suite);
    let accelerator = striped();
    let (mut outbound, mut inbound) = pair(&accelerator, &keys(suite, &secret));
    let (mut alone, _) = pair(&crate::common::accelerator(), &keys(suite, &secret));
    let data = vec![9; 300_000];
    for workers in [None, Some(0), Some(1), Some(100)] {
        outbound.workers().set(workers);
        inbound.workers().set(workers);
        let mut sealed = vec![0; outbound.cut().sealed_bytes(data.len()).unwrap()];
        let mut by_one = sealed.clone();
        outbound.seal_stream(DATA, &data, &mut sealed).unwrap();
        alone.seal_stream(DATA, &data, &mut by_one).unwrap();
        assert!(sealed == by_one);
        let found = opened(&mut inbound, &sealed);
        assert_eq!(found.end, Ok(End::Incomplete));
        let contents: Vec<_> = found.records.into_iter().map(|it| it.0).collect();
        assert!(contents.concat() == data);
    }
}
