//! DTLS 1.3 records, compared with records put together by hand.

use oarlock::Error;
use oarlock::packet::PacketError;
use oarlock::packet::tls::dtls::{ConnectionId, Format, Inbound, Outbound};
use oarlock::packet::tls::{ContentType, Keys, OutboundRecord, Suite};
use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::reference::{Look, datagram, expand, secret};
use super::{BEHIND, DATA, MASKS, keys};
use crate::common::{accelerator, accelerator_by, random_bytes, striped};
use oarlock::{Accelerator, Strategy};

const PLAIN: Look<'_> = Look {
    id: &[],
    long_numbers: true,
    length: true,
};

fn looks() -> impl Iterator<Item = Look<'static>> {
    [&b""[..], b"\x07", b"connection"]
        .into_iter()
        .flat_map(|id| {
            [(true, true), (true, false), (false, true), (false, false)].map(
                |(long_numbers, length)| Look {
                    id,
                    long_numbers,
                    length,
                },
            )
        })
}

fn pair(accelerator: &Accelerator, suite: Suite, look: Look<'_>) -> (Outbound, Inbound) {
    let secret = secret(suite);
    let keys = keys(suite, &secret);
    let mut outbound = accelerator.dtls_outbound(3, &keys).unwrap();
    let mut inbound = accelerator.dtls_inbound(3, &keys).unwrap();
    outbound.set_format(Format {
        long_numbers: look.long_numbers,
        length: look.length,
    });
    let id = ConnectionId::new(look.id).unwrap();
    outbound.set_connection_id(id);
    inbound.set_connection_id(id);
    (outbound, inbound)
}

fn sealed(outbound: &mut Outbound, content: &[u8], padding: usize) -> Vec<u8> {
    let before = outbound.before_bytes();
    let mut buffer = vec![0xaa; before + content.len() + padding + BEHIND];
    let range = before..before + content.len();
    buffer[range.clone()].copy_from_slice(content);
    let mut records = [OutboundRecord::new(&mut buffer, range, DATA).padding(padding)];
    outbound.seal(&mut records);
    records[0].sealed().unwrap().to_vec()
}

type Found = Result<(Vec<u8>, u64, u64), PacketError>;

/// Returns the content of each record of a datagram, and the datagram's buffer after the call.
fn opened(inbound: &mut Inbound, datagram: &[u8]) -> (Vec<Found>, Vec<u8>) {
    let mut datagram = datagram.to_vec();
    let mut records: Vec<_> = inbound.split(&mut datagram).collect();
    inbound.open(&mut records);
    let found = records.iter().map(|record| {
        let opened = record.opened()?;
        Ok((opened.content.to_vec(), opened.epoch, opened.sequence))
    });
    let found = found.collect();
    drop(records);
    (found, datagram)
}

fn opened_one(inbound: &mut Inbound, datagram: &[u8]) -> Found {
    let (mut found, _) = opened(inbound, datagram);
    assert_eq!(found.len(), 1);
    found.remove(0)
}

#[test]
fn every_header_and_suite_is_as_put_together_by_hand() {
    let mut random = StdRng::seed_from_u64(40);
    for mask in MASKS {
        let accelerator = accelerator_by(mask, Strategy::Auto);
        for suite in Suite::ALL {
            for look in looks() {
                let (mut outbound, mut inbound) = pair(&accelerator, *suite, look);
                let lengths = (0..20).chain([100, 1400, 16_384]);
                for (length, sequence) in lengths.zip(0..) {
                    let content = random_bytes(&mut random, length);
                    let padding = if length < 100 { length % 3 } else { 0 };
                    let record = sealed(&mut outbound, &content, padding);
                    let inner = [&content[..], &[23], &vec![0; padding]].concat();
                    let at = (3, sequence);
                    let by_hand = datagram(*suite, &secret(*suite), look, at, &inner);
                    assert_eq!(record, by_hand, "{suite:?} {mask} {look:?}");
                    let found = opened_one(&mut inbound, &record);
                    assert_eq!(found, Ok((content, 3, sequence)));
                }
            }
        }
    }
}

/// Records arrive late, twice, damaged or not at all, independently of each other.
#[test]
fn random_batches_arrive_in_any_order() {
    let mut random = StdRng::seed_from_u64(41);
    for round in 0..60 {
        let suite = Suite::ALL[round % 3];
        let accelerator = if round % 2 == 0 {
            striped()
        } else {
            accelerator()
        };
        let (mut outbound, mut inbound) = pair(&accelerator, suite, PLAIN);
        inbound.set_replay_window(1024);
        let mut arriving = Vec::new();
        for sequence in 0..random.random_range(0..200) {
            let length = random.random_range(0..1500);
            let content = random_bytes(&mut random, length);
            let record = sealed(&mut outbound, &content, 0);
            if random.random_ratio(1, 10) {
                continue;
            }
            let mut damaged = record.clone();
            let at = random.random_range(5..damaged.len());
            damaged[at] ^= 1;
            if random.random_ratio(1, 5) {
                arriving.push((damaged, sequence, Err(PacketError::AuthenticationFailed)));
            }
            if random.random_ratio(1, 5) {
                arriving.push((record.clone(), sequence, Ok(content.clone())));
            }
            arriving.push((record, sequence, Ok(content)));
        }
        for place in 1..arriving.len() {
            arriving.swap(place, random.random_range(0..=place));
        }
        let mut seen = std::collections::BTreeSet::new();
        let mut buffers: Vec<_> = arriving.iter().map(|it| it.0.clone()).collect();
        let mut records: Vec<_> = buffers
            .iter_mut()
            .flat_map(|it| inbound.split(it))
            .collect();
        inbound.open(&mut records);
        for (record, (_, sequence, content)) in records.iter().zip(&arriving) {
            let found = record.opened();
            match content {
                Ok(_) if seen.contains(sequence) => assert_eq!(found, Err(PacketError::Replayed)),
                Ok(content) => {
                    let found = found.unwrap();
                    assert_eq!((found.content, found.sequence), (&content[..], *sequence));
                    assert_eq!((found.epoch, found.content_type), (3, DATA));
                    seen.insert(*sequence);
                }
                Err(error) => assert_eq!(found, Err(error.clone())),
            }
        }
    }
}

#[test]
fn a_datagram_has_many_records_and_the_last_may_lack_a_length() {
    let suite = Suite::ChaCha20Poly1305Sha256;
    let look = Look { id: b"id", ..PLAIN };
    let (mut outbound, mut inbound) = pair(&accelerator(), suite, look);
    let mut all: Vec<_> = (0..3)
        .flat_map(|n| sealed(&mut outbound, &[n; 9], 0))
        .collect();
    // Records after the first may omit the ID (RFC 9147, 4).
    outbound.set_connection_id(ConnectionId::default());
    all.extend(sealed(&mut outbound, b"without", 0));
    outbound.set_format(Format {
        length: false,
        ..Format::default()
    });
    all.extend(sealed(&mut outbound, b"to the end", 0));
    let (found, _) = opened(&mut inbound, &all);
    let contents: Vec<_> = found.into_iter().map(|found| found.unwrap().0).collect();
    assert_eq!(
        contents,
        [&[0; 9][..], &[1; 9], &[2; 9], b"without", b"to the end"]
    );
    // At the beginning of a datagram the ID must be there, and be ours.
    for (id, expected) in [
        (&b""[..], PacketError::OtherConnection),
        (b"di", PacketError::OtherConnection),
    ] {
        let other = datagram(
            suite,
            &secret(suite),
            Look { id, ..PLAIN },
            (3, 77),
            b"x\x17",
        );
        assert_eq!(opened_one(&mut inbound, &other), Err(expected));
    }
    let (mut without, mut inbound) = pair(&accelerator(), suite, PLAIN);
    assert_eq!(
        opened_one(&mut inbound, &all),
        Err(PacketError::OtherConnection)
    );
    assert!(opened_one(&mut inbound, &sealed(&mut without, b"", 0)).is_ok());
    assert!(matches!(
        ConnectionId::new(&[0; 33]),
        Err(Error::InvalidInput(_))
    ));
}

#[test]
fn whatever_is_altered_or_cut_is_refused_and_stops_no_other() {
    for suite in Suite::ALL {
        for look in looks().filter(|look| look.length) {
            let (mut outbound, mut inbound) = pair(&accelerator(), *suite, look);
            let record = sealed(&mut outbound, b"a record of some length", 3);
            let header_bytes = outbound.before_bytes();
            for place in 0..record.len() {
                for bit in 0..8 {
                    let mut altered = record.clone();
                    altered[place] ^= 1 << bit;
                    let (found, buffer) = opened(&mut inbound, &altered);
                    assert!(found[0].is_err(), "byte {place}");
                    if let Err(PacketError::AuthenticationFailed) = found[0]
                        && place >= header_bytes
                    {
                        assert_eq!(buffer[..header_bytes], altered[..header_bytes]);
                        assert!(buffer[header_bytes..].iter().all(|byte| *byte == 0));
                    }
                }
            }
            for length in 1..record.len() {
                let cut = opened_one(&mut inbound, &record[..length]);
                assert!(
                    matches!(cut, Err(PacketError::InvalidLength { .. })),
                    "{length}: {cut:?}"
                );
            }
            assert!(opened(&mut inbound, b"").0.is_empty());
            assert!(
                opened_one(&mut inbound, &record).is_ok(),
                "none of these moved the window"
            );
            assert_eq!(
                opened_one(&mut inbound, &record),
                Err(PacketError::Replayed)
            );
            assert!(inbound.forgeries() > 0);
        }
    }
}

#[test]
fn what_is_not_protected_ends_its_datagram() {
    let suite = Suite::Aes128GcmSha256;
    let (mut outbound, mut inbound) = pair(&accelerator(), suite, PLAIN);
    let mut all = sealed(&mut outbound, b"one", 0);
    all.extend([22, 254, 253, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    all.extend(sealed(&mut outbound, b"two", 0));
    let (found, _) = opened(&mut inbound, &all);
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].as_ref().unwrap().0, b"one");
    assert_eq!(found[1], Err(PacketError::InvalidHeader));
}

#[test]
fn odd_contents_are_refused_and_their_numbers_seen() {
    let suite = Suite::Aes256GcmSha384;
    let (_, mut inbound) = pair(&accelerator(), suite, PLAIN);
    let long = [vec![9; 16_385], vec![23]].concat();
    for (sequence, (inner, expected)) in (0..).zip([
        (&b""[..], PacketError::InvalidPadding),
        (&[0; 9], PacketError::InvalidPadding),
        (&[1, 20], PacketError::InvalidContent { content_type: 20 }),
        (&[21], PacketError::InvalidContent { content_type: 21 }),
        (&long, PacketError::InvalidLength { bytes: 16_386 }),
    ]) {
        let record = datagram(suite, &secret(suite), PLAIN, (3, sequence), inner);
        let (found, buffer) = opened(&mut inbound, &record);
        assert_eq!(found, [Err(expected)]);
        assert!(buffer[5..].iter().all(|byte| *byte == 0));
        assert_eq!(
            opened_one(&mut inbound, &record),
            Err(PacketError::Replayed)
        );
    }
    let ack = datagram(suite, &secret(suite), PLAIN, (3, 9), &[0, 0, 26]);
    let mut ack = ack;
    let mut records: Vec<_> = inbound.split(&mut ack).collect();
    inbound.open(&mut records);
    assert_eq!(records[0].opened().unwrap().content_type, ContentType::ACK);
}

/// Sequence numbers are reconstructed from earlier ones, across every wrap of their bits.
#[test]
fn numbers_are_completed_behind_gaps_and_wraps() {
    let suite = Suite::Aes128GcmSha256;
    for (long_numbers, gap) in [(false, 126), (true, 32_000)] {
        let look = Look {
            long_numbers,
            ..PLAIN
        };
        let (_, mut inbound) = pair(&accelerator(), suite, look);
        let mut sequence = 0;
        for _ in 0..20 {
            let record = datagram(suite, &secret(suite), look, (3, sequence), b"x\x17");
            assert_eq!(opened_one(&mut inbound, &record).unwrap().2, sequence);
            sequence += gap;
        }
        // After a gap that is too long, the number is mistaken for another.
        sequence += 3 * gap;
        let record = datagram(suite, &secret(suite), look, (3, sequence), b"x\x17");
        assert!(opened_one(&mut inbound, &record).is_err());
    }
    // More records in a call than a byte can count.
    let look = Look {
        long_numbers: false,
        ..PLAIN
    };
    let (mut outbound, mut inbound) = pair(&striped(), suite, look);
    let mut sent: Vec<_> = (0..1000)
        .map(|_| sealed(&mut outbound, b"short", 0))
        .collect();
    let mut records: Vec<_> = sent.iter_mut().flat_map(|it| inbound.split(it)).collect();
    inbound.open(&mut records);
    for (record, sequence) in records.iter().zip(0..) {
        assert_eq!(record.opened().unwrap().sequence, sequence);
    }
}

#[test]
fn epochs_follow_each_other_and_overlap() {
    for suite in Suite::ALL {
        let (mut outbound, mut inbound) = pair(&accelerator(), *suite, PLAIN);
        let mut secret = secret(*suite);
        let mut sent = Vec::new();
        for epoch in 3..9 {
            let record = sealed(&mut outbound, &[epoch as u8], 0);
            let by_hand = datagram(*suite, &secret, PLAIN, (epoch, 0), &[epoch as u8, 23]);
            assert_eq!(record, by_hand);
            sent.push((record, sealed(&mut outbound, b"late", 0)));
            outbound.update().unwrap();
            secret = expand(*suite, "dtls13", &secret, "traffic upd", secret.len());
        }
        assert_eq!(outbound.epoch(), 9);
        for (epoch, (record, _)) in (3..).zip(&sent) {
            assert_eq!(inbound.newest_epoch(), epoch);
            let found = opened_one(&mut inbound, record);
            assert_eq!(found, Ok((vec![epoch as u8], epoch, 0)));
            inbound.update().unwrap();
        }
        // 9 is the newest: 6, 7 and 8 are still known.
        let late: Vec<_> = (sent.iter())
            .map(|(_, late)| opened_one(&mut inbound, late))
            .collect();
        let is_known: Vec<_> = late.iter().map(Result::is_ok).collect();
        assert_eq!(is_known, [false, false, false, true, true, true]);
        inbound.forget_epochs_before(8);
        assert_eq!(
            opened_one(&mut inbound, &sent[3].0),
            Err(PacketError::UnknownKey)
        );
        assert_eq!(
            opened_one(&mut inbound, &sent[5].0),
            Err(PacketError::Replayed)
        );
        inbound.forget_epochs_before(u64::MAX);
        assert_eq!(inbound.newest_epoch(), 9);
    }
}

#[test]
fn epochs_that_cannot_be_are_refused() {
    let suite = Suite::Aes128GcmSha256;
    let secret = secret(suite);
    let accelerator = accelerator();
    let refused = accelerator.dtls_outbound(0, &keys(suite, &secret));
    assert!(matches!(refused, Err(Error::InvalidInput(_))));
    let bare = Keys::new(suite, &[1; 16], &[0; 12]);
    assert!(matches!(
        accelerator.dtls_inbound(3, &bare),
        Err(Error::InvalidInput(_))
    ));
    let mut last = accelerator
        .dtls_outbound((1 << 48) - 1, &keys(suite, &secret))
        .unwrap();
    assert!(matches!(last.update(), Err(Error::InvalidInput(_))));
    let mut inbound = accelerator.dtls_inbound(2, &keys(suite, &secret)).unwrap();
    assert!(inbound.add_epoch(2, &keys(suite, &secret)).is_err());
    inbound.add_epoch(3, &keys(suite, &secret)).unwrap();
    let record = datagram(suite, &secret, PLAIN, (3, 5), b"x\x17");
    assert_eq!(opened_one(&mut inbound, &record), Ok((b"x".to_vec(), 3, 5)));
}

/// RFC 9147 has no examples. These records were sent by a client of BoringSSL (from the crate boring-sys 5.4.0) after a
/// handshake with BoringSSL's own server; the secret is `CLIENT_TRAFFIC_SECRET_0` of its key log.
#[test]
fn records_are_those_of_boringssl() {
    for (suite, secret, records) in [
        (
            Suite::Aes128GcmSha256,
            "8a18debfcf6de336ffcc1cb6c6b496f51022d97972609fd98724635143b7005d",
            [
                "2f59d1001603e0fd7394bc95bf7c78fea1a1772fe4f87b49d5afc9",
                "2f7d78001652d00ce69282732b3018bab218fccf86ae378da87536",
                "2fde5300132d76e01f3f9065067926f9b11e34b27cccd3d7",
            ],
        ),
        (
            Suite::Aes256GcmSha384,
            "c6d6701a7474c34bbd539f66a342e28d7ab4b74bd0f3537d2491702c2082ca70d0f93cc3f92999e2857a12705f63c02b",
            [
                "2f09ca0016c0a6364ea808f6c603917ce1c2f4e5edd38fb27bb7a1",
                "2f7f3700168487f54d5f1a31d3f7a302648384094942ada60b6dc5",
                "2f87f50013b9287794992366fb6ecbb6f21d118bd057f35e",
            ],
        ),
    ] {
        let secret = hex::decode(secret).unwrap();
        let accelerator = accelerator();
        let mut inbound = accelerator.dtls_inbound(3, &keys(suite, &secret)).unwrap();
        for (record, content) in records.into_iter().zip([&b"hello"[..], b"world", b"ab"]) {
            let record = hex::decode(record).unwrap();
            let (found, epoch, sequence) = opened_one(&mut inbound, &record).unwrap();
            assert_eq!((&found[..], epoch), (content, 3));
            let keys = keys(suite, &secret).sequence(sequence);
            let mut outbound = accelerator.dtls_outbound(3, &keys).unwrap();
            assert_eq!(sealed(&mut outbound, content, 0), record);
        }
    }
}

/// A receiver that takes over a connection does not know which records have been seen, and refuses all of them.
#[test]
fn a_receiver_that_takes_over_accepts_no_earlier_record() {
    let suite = Suite::Aes128GcmSha256;
    let (mut outbound, _) = pair(&accelerator(), suite, PLAIN);
    let sent: Vec<_> = (0..200)
        .map(|_| sealed(&mut outbound, b"sent", 0))
        .collect();
    let secret = secret(suite);
    for window in [None, Some(64), Some(4096)] {
        let keys = keys(suite, &secret).sequence(130);
        let mut inbound = accelerator().dtls_inbound(3, &keys).unwrap();
        if let Some(window) = window {
            inbound.set_replay_window(window);
        }
        for (number, record) in sent.iter().enumerate() {
            let found = opened_one(&mut inbound, record);
            assert_eq!(found.is_ok(), number >= 130, "{number} {found:?}");
        }
    }
}
