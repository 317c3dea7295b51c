//! What receivers and senders refuse.

use oarlock::Error;
use oarlock::packet::PacketError;
use oarlock::packet::tls::{ContentType, End, Keys, OutboundRecord, Suite};

use super::{BEFORE, BEHIND, DATA, keys, opened, opened_one, pair, reference, sealed, try_sealed};
use crate::common::{accelerator, striped};

#[test]
fn whatever_is_altered_ends_the_connection() {
    let accelerator = accelerator();
    for suite in Suite::ALL {
        let secret = reference::secret(*suite);
        let (mut outbound, _) = pair(&accelerator, &keys(*suite, &secret));
        let record = sealed(&mut outbound, b"a record of some length", DATA);
        let next = sealed(&mut outbound, b"the next one", DATA);
        for place in 0..record.len() {
            let mut altered = record.clone();
            altered[place] ^= 1;
            let (_, mut inbound) = pair(&accelerator, &keys(*suite, &secret));
            let found = opened(&mut inbound, &[&altered[..], &next].concat());
            let error = match place {
                0 => PacketError::InvalidHeader,
                // A greater length: the record is not complete.
                3 => PacketError::Pending,
                // The version is authenticated; with a smaller length, the record is another one.
                _ => PacketError::AuthenticationFailed,
            };
            if place == 3 {
                assert_eq!(found.end, Ok(End::Incomplete));
                continue;
            }
            assert_eq!(found.end, Err(error.clone()), "byte {place}");
            assert_eq!((found.records.len(), found.bytes), (0, 0));
            let end = if place == 4 {
                altered.len() - 1
            } else {
                altered.len()
            };
            if error == PacketError::AuthenticationFailed && place != 4 {
                assert!(found.buffer[5..end].iter().all(|byte| *byte == 0));
                assert_eq!(found.buffer[end..], next, "untouched");
            }
            // Even a valid record comes too late.
            assert_eq!(opened_one(&mut inbound, &record), Err(error));
        }
    }
}

/// Records before the forged one count, and those after it do not, whatever the threads had opened.
#[test]
fn a_forged_record_is_fatal_for_all_behind_it() {
    for accelerator in [accelerator(), striped()] {
        for suite in Suite::ALL {
            let secret = reference::secret(*suite);
            let (mut outbound, mut inbound) = pair(&accelerator, &keys(*suite, &secret));
            let mut stream: Vec<_> = (0..50)
                .flat_map(|number| sealed(&mut outbound, &[number; 2000], DATA))
                .collect();
            let record_bytes = 2000 + BEFORE + BEHIND;
            let forged = 33 * record_bytes..34 * record_bytes;
            stream[forged.start + 100] ^= 4;
            let found = opened(&mut inbound, &stream);
            assert_eq!(found.end, Err(PacketError::AuthenticationFailed));
            assert_eq!((found.records.len(), found.bytes), (33, forged.start));
            assert!(
                found.buffer[forged.start + 5..forged.end]
                    .iter()
                    .all(|byte| *byte == 0)
            );
            assert!(found.buffer[forged.end..] == stream[forged.end..]);
        }
    }
}

#[test]
fn records_out_of_order_or_twice_are_refused() {
    let suite = Suite::Aes256GcmSha384;
    let secret = reference::secret(suite);
    let (mut outbound, _) = pair(&accelerator(), &keys(suite, &secret));
    let [one, two] = [&b"one"[..], b"two"].map(|content| sealed(&mut outbound, content, DATA));
    for (stream, accepted) in [
        ([&one[..], &one].concat(), 1),
        ([&two[..], &one].concat(), 0),
        ([&one[..], &two, &two].concat(), 2),
    ] {
        let (_, mut inbound) = pair(&accelerator(), &keys(suite, &secret));
        let found = opened(&mut inbound, &stream);
        assert_eq!(found.end, Err(PacketError::AuthenticationFailed));
        assert_eq!(found.records.len(), accepted);
    }
}

#[test]
fn lengths_that_no_record_has_are_refused_by_their_header() {
    let suite = Suite::Aes128GcmSha256;
    let secret = reference::secret(suite);
    for (length, is_refused) in [
        (0, true),
        (15, true),
        (16, false),
        (16_384 + 256, false),
        (16_384 + 257, true),
        (u16::MAX, true),
    ] {
        let (_, mut inbound) = pair(&accelerator(), &keys(suite, &secret));
        let header = [&[23, 3, 3], &length.to_be_bytes()[..]].concat();
        let found = opened(&mut inbound, &header);
        let bytes = usize::from(length) + 5;
        let expected = match is_refused {
            true => Err(PacketError::InvalidLength { bytes }),
            false => Ok(End::Incomplete),
        };
        assert_eq!(found.end, expected);
    }
    for content_type in [0, 20, 21, 22, 24, 255] {
        let (_, mut inbound) = pair(&accelerator(), &keys(suite, &secret));
        let found = opened(&mut inbound, &[content_type]);
        assert_eq!(found.end, Err(PacketError::InvalidHeader));
    }
}

/// The records are authentic, but no sender may produce them (RFC 8446, 5.1, 5.2, 5.4).
#[test]
fn odd_contents_are_refused() {
    let long = [vec![9; 16_385], vec![23]].concat();
    let padded = [vec![9, 23], vec![0; 16_384]].concat();
    let padding_too_long = padded.len();
    for suite in Suite::ALL {
        let secret = reference::secret(*suite);
        for (inner, expected) in [
            (&b""[..], PacketError::InvalidPadding),
            (&[0], PacketError::InvalidPadding),
            (&[0; 16_385], PacketError::InvalidPadding),
            (&long, PacketError::InvalidLength { bytes: 16_386 }),
            (
                &padded,
                PacketError::InvalidLength {
                    bytes: padding_too_long,
                },
            ),
            (&[20], PacketError::InvalidContent { content_type: 20 }),
            (
                &[1, 20, 0],
                PacketError::InvalidContent { content_type: 20 },
            ),
            (&[21, 0], PacketError::InvalidContent { content_type: 21 }),
            (&[22], PacketError::InvalidContent { content_type: 22 }),
        ] {
            let (_, mut inbound) = pair(&accelerator(), &keys(*suite, &secret));
            let record = reference::record(*suite, &secret, 0, inner);
            let found = opened(&mut inbound, &record);
            assert_eq!(found.end, Err(expected));
            assert!(found.buffer[5..].iter().all(|byte| *byte == 0));
        }
        for (inner, content, content_type) in [
            (&[23][..], &[][..], 23),
            (&[23, 0, 0], &[], 23),
            (&[0, 0, 23, 0], &[0, 0], 23),
            (&[1, 99], &[1], 99),
        ] {
            let (_, mut inbound) = pair(&accelerator(), &keys(*suite, &secret));
            let record = reference::record(*suite, &secret, 0, inner);
            let found = opened_one(&mut inbound, &record);
            assert_eq!(found, Ok((content.to_vec(), ContentType(content_type))));
        }
    }
}

#[test]
fn a_limit_of_ones_own_holds_for_what_comes() {
    let suite = Suite::Aes128GcmSha256;
    let secret = reference::secret(suite);
    for (content_bytes, is_accepted) in [(99, true), (100, false), (5_000, false)] {
        let (mut outbound, mut inbound) = pair(&accelerator(), &keys(suite, &secret));
        inbound.set_record_size_limit(100);
        let record = sealed(&mut outbound, &vec![7; content_bytes], DATA);
        let found = opened_one(&mut inbound, &record);
        let bytes = record.len();
        match is_accepted {
            true => assert_eq!(found.unwrap().0.len(), content_bytes),
            false => assert_eq!(found, Err(PacketError::InvalidLength { bytes })),
        }
    }
}

#[test]
fn a_sender_makes_no_record_that_none_may_receive() {
    let suite = Suite::Aes128GcmSha256;
    let secret = reference::secret(suite);
    let (mut outbound, _) = pair(&accelerator(), &keys(suite, &secret));
    for (content, content_type, error) in [
        (
            vec![],
            ContentType::ALERT,
            PacketError::InvalidContent { content_type: 21 },
        ),
        (
            vec![],
            ContentType::HANDSHAKE,
            PacketError::InvalidContent { content_type: 22 },
        ),
        (
            vec![1],
            ContentType(20),
            PacketError::InvalidContent { content_type: 20 },
        ),
        (
            vec![1],
            ContentType(0),
            PacketError::InvalidContent { content_type: 0 },
        ),
        (
            vec![1; 16_385],
            DATA,
            PacketError::InvalidLength { bytes: 16_385 },
        ),
    ] {
        assert_eq!(
            try_sealed(&mut outbound, &content, content_type),
            Err(error)
        );
    }
    let mut buffer = vec![0; 40_000];
    let record = OutboundRecord::new(&mut buffer, 5..10, DATA).padding(16_380);
    let mut records = [record];
    outbound.seal(&mut records);
    assert_eq!(
        records[0].sealed(),
        Err(PacketError::InvalidLength { bytes: 16_385 })
    );
    assert_eq!(outbound.sequence(), 0);
}

#[test]
fn a_key_protects_no_more_records_than_it_may() {
    for suite in Suite::ALL {
        let secret = reference::secret(*suite);
        let records_max = suite.records_max();
        let (last, error) = match records_max {
            u64::MAX => (u64::MAX - 1, PacketError::SequenceExhausted),
            _ => (records_max - 1, PacketError::KeyExhausted { records_max }),
        };
        let keys = keys(*suite, &secret).sequence(last);
        let (mut outbound, mut inbound) = pair(&accelerator(), &keys);
        assert_eq!(outbound.records_left(), 1);
        let mut room = vec![0; 100_000];
        let refused = outbound.seal_stream(DATA, &[1; 20_000], &mut room);
        assert_eq!(refused, Err(error.clone()), "two records");
        let record = sealed(&mut outbound, b"the last", DATA);
        assert_eq!(try_sealed(&mut outbound, b"one more", DATA), Err(error));
        assert_eq!(opened_one(&mut inbound, &record).unwrap().0, b"the last");
        if records_max == u64::MAX {
            let more = opened(&mut inbound, &record);
            assert_eq!(more.end, Err(PacketError::SequenceExhausted));
        }
        outbound.update().unwrap();
        assert!(try_sealed(&mut outbound, b"one more", DATA).is_ok());
    }
}

#[test]
fn keys_of_other_lengths_are_refused() {
    let accelerator = accelerator();
    for suite in Suite::ALL {
        for bytes in [0, suite.secret_bytes() - 1, suite.secret_bytes() + 1] {
            let secret = vec![1; bytes];
            let refused = accelerator.tls_outbound(&keys(*suite, &secret));
            assert!(matches!(refused, Err(Error::InvalidKey(_))));
        }
        for bytes in [0, suite.key_bytes() - 1, suite.key_bytes() + 1] {
            let key = vec![1; bytes];
            let refused = accelerator.tls_inbound(&Keys::new(*suite, &key, &[0; 12]));
            assert!(matches!(refused, Err(Error::InvalidKey(_))));
        }
        let key = vec![1; suite.key_bytes()];
        let mut outbound = (accelerator.tls_outbound(&Keys::new(*suite, &key, &[0; 12]))).unwrap();
        assert!(matches!(outbound.update(), Err(Error::InvalidInput(_))));
        assert!(try_sealed(&mut outbound, b"goes on", DATA).is_ok());
    }
    assert_eq!(Suite::from_id(0x1302), Some(Suite::Aes256GcmSha384));
    assert_eq!(Suite::from_id(0x1304), None);
}
