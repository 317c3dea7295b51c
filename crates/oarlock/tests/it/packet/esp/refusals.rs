//! Packets that receivers refuse.

use oarlock::device::CipherDevice;
use oarlock::packet::esp::{Association, InboundPacket, OutboundPacket, Suite};
use oarlock::packet::{PacketError, ReplayWindow};
use oarlock::{Accelerator, Error};
use rand::{SeedableRng, rngs::StdRng};

use super::reference::by_hand;
use super::{KEY, SPI, association, is_cbc, opened, pair, sealed, suites};
use crate::common::{accelerator, random_bytes, striped};

#[test]
fn whatever_is_altered_is_refused_and_zeroed() {
    let accelerator = accelerator();
    for suite in suites() {
        let association = association(suite).extended_sequence_numbers(true);
        let (mut outbound, mut inbound) = pair(&accelerator, &association);
        let packet = sealed(&mut outbound, b"a payload of some length", 4);
        for place in 0..packet.len() {
            let mut altered = packet.clone();
            altered[place] ^= 1;
            let expected = match place {
                0..4 => PacketError::OtherAssociation {
                    spi: u32::from_be_bytes(altered[..4].try_into().unwrap()),
                },
                // The sequence number 0 is never sent.
                7 => PacketError::Replayed,
                _ => PacketError::AuthenticationFailed,
            };
            assert_eq!(
                opened(&mut inbound, &altered),
                Err(expected),
                "byte {place}"
            );
        }
        for length in 0..packet.len() {
            let cut = opened(&mut inbound, &packet[..length]).unwrap_err();
            let bytes = length;
            let is_cut = cut == PacketError::InvalidLength { bytes };
            assert!(
                is_cut || cut == PacketError::AuthenticationFailed,
                "{length}: {cut}"
            );
        }
        let longer = [&packet[..], &[0; 16]].concat();
        assert_eq!(
            opened(&mut inbound, &longer),
            Err(PacketError::AuthenticationFailed)
        );
        assert!(
            opened(&mut inbound, &packet).is_ok(),
            "none of these moved the window"
        );
    }
}

#[test]
fn one_bad_packet_stops_no_other() {
    let mut random = StdRng::seed_from_u64(21);
    for accelerator in [accelerator(), striped()] {
        for suite in suites() {
            let association = association(suite).replay_window(256);
            let (mut outbound, mut inbound) = pair(&accelerator, &association);
            let payload = random_bytes(&mut random, 700);
            let mut sent: Vec<_> = (0..200)
                .map(|_| sealed(&mut outbound, &payload, 4))
                .collect();
            let spoilt = [0, 17, 18, 199];
            for place in spoilt {
                sent[place][100] ^= 0x80;
            }
            let mut packets: Vec<_> = sent.iter_mut().map(|it| InboundPacket::new(it)).collect();
            inbound.open(&mut packets);
            for (place, packet) in packets.iter().enumerate() {
                if spoilt.contains(&place) {
                    assert_eq!(packet.opened(), Err(PacketError::AuthenticationFailed));
                } else {
                    assert_eq!(packet.opened().unwrap().payload, payload);
                }
            }
            drop(packets);
            for place in spoilt {
                assert!(sent[place][8..].iter().all(|byte| *byte == 0));
            }
        }
    }
}

#[test]
fn numbers_are_accepted_once_within_the_window() {
    let accelerator = accelerator();
    for window in [1, 64, 65, 1024, ReplayWindow::SIZE_MAX] {
        let association = association(Suite::ChaCha20Poly1305).replay_window(window);
        let (mut outbound, mut inbound) = pair(&accelerator, &association);
        let size = inbound.window().size();
        let sent: Vec<_> = (0..size + 2)
            .map(|_| sealed(&mut outbound, b"x", 4))
            .collect();
        let last = sent.len() - 1;
        assert_eq!(opened(&mut inbound, &sent[last]).unwrap().2, size + 2);
        for (place, packet) in sent.iter().enumerate() {
            let found = opened(&mut inbound, packet).map(|it| it.2);
            let number = place as u64 + 1;
            let is_new = place != last && number > 2;
            let expected = is_new.then_some(number).ok_or(PacketError::Replayed);
            assert_eq!(found, expected, "window {window}, number {number}");
        }
    }
}

/// The same in one call: a packet that the window has passed by its turn is refused.
#[test]
fn numbers_count_in_the_order_of_the_packets_of_a_call() {
    for suite in suites() {
        let (mut outbound, mut inbound) = pair(&striped(), &association(suite).replay_window(64));
        let sent: Vec<_> = (0..200).map(|_| sealed(&mut outbound, b"x", 4)).collect();
        // 1, 200, 199, ... 137, then the older ones.
        let order: Vec<usize> = [0].into_iter().chain((1..200).rev()).collect();
        let mut copies: Vec<_> = order.iter().map(|place| sent[*place].clone()).collect();
        let mut packets: Vec<_> = copies.iter_mut().map(|it| InboundPacket::new(it)).collect();
        inbound.open(&mut packets);
        for (packet, place) in packets.iter().zip(order) {
            let number = place as u64 + 1;
            let is_new = number == 1 || number > 200 - 64;
            let expected = is_new.then_some(number).ok_or(PacketError::Replayed);
            assert_eq!(packet.opened().map(|it| it.sequence), expected, "{suite:?}");
        }
        drop(packets);
        assert!(copies[199][8..].iter().all(|byte| *byte == 0));
    }
}

#[test]
fn of_two_with_one_number_in_a_call_the_first_is_accepted() {
    for suite in suites() {
        let (mut outbound, mut inbound) = pair(&striped(), &association(suite));
        let packet = sealed(&mut outbound, b"once", 4);
        let mut copies = vec![packet; 40];
        let mut packets: Vec<_> = copies.iter_mut().map(|it| InboundPacket::new(it)).collect();
        inbound.open(&mut packets);
        assert_eq!(packets[0].opened().unwrap().payload, b"once");
        for packet in &packets[1..] {
            assert_eq!(packet.opened(), Err(PacketError::Replayed));
        }
        drop(packets);
        assert!(
            copies[1..]
                .iter()
                .all(|it| it[8..].iter().all(|byte| *byte == 0))
        );
    }
}

#[test]
fn extended_numbers_pass_the_end_of_the_lower_half() {
    let accelerator = accelerator();
    for suite in suites() {
        let extended = association(suite).extended_sequence_numbers(true);
        let (mut outbound, mut inbound) = pair(&accelerator, &extended);
        let mut window = ReplayWindow::new(64);
        window.insert(u64::from(u32::MAX) - 20);
        inbound.set_window(window);
        outbound.set_sequence(u64::from(u32::MAX) - 20);
        let mut sent: Vec<_> = (0..40).map(|_| sealed(&mut outbound, b"ours", 4)).collect();
        // The packets arrive in reverse order, and so across the end.
        sent.reverse();
        for (packet, back) in sent.iter().zip(0..) {
            let number = u64::from(u32::MAX) + 20 - back;
            assert_eq!(opened(&mut inbound, packet).unwrap().2, number);
            assert_eq!(opened(&mut inbound, packet), Err(PacketError::Replayed));
        }
    }
}

/// A receiver that assumes another upper half computes another ICV.
#[test]
fn a_packet_of_another_upper_half_is_refused() {
    for suite in suites() {
        let extended = association(suite).extended_sequence_numbers(true);
        let (mut outbound, mut inbound) = pair(&accelerator(), &extended);
        outbound.set_sequence(1 << 32);
        let packet = sealed(&mut outbound, b"ours", 4);
        assert_eq!(
            opened(&mut inbound, &packet),
            Err(PacketError::AuthenticationFailed)
        );
        let mut window = ReplayWindow::new(64);
        window.insert(1 << 32);
        inbound.set_window(window);
        assert_eq!(opened(&mut inbound, &packet).unwrap().2, (1 << 32) + 1);
    }
}

#[test]
fn numbers_that_are_used_up_seal_nothing() {
    let accelerator = accelerator();
    for suite in suites() {
        for (extended, last) in [(false, u64::from(u32::MAX)), (true, u64::MAX)] {
            let association = association(suite).extended_sequence_numbers(extended);
            let (mut outbound, _) = pair(&accelerator, &association);
            outbound.set_sequence(last - 1);
            let mut buffers = [[0; 100]; 3];
            let mut packets: Vec<_> = buffers
                .iter_mut()
                .map(|it| OutboundPacket::new(it, 24..28, 4))
                .collect();
            outbound.seal(&mut packets);
            assert!(packets[0].sealed().is_ok());
            for packet in &packets[1..] {
                assert_eq!(packet.sealed(), Err(PacketError::SequenceExhausted));
            }
            assert_eq!(outbound.sequence(), last);
        }
    }
}

#[test]
fn wrong_padding_under_a_right_key_is_refused() {
    for suite in suites().filter(|suite| !is_cbc(*suite)) {
        let mut inbound = accelerator().esp_inbound(&association(suite)).unwrap();
        // Each body with its payload, or `None` if the padding is wrong.
        let bodies: [(&[u8], Option<&[u8]>); 7] = [
            (&[1, 2, 2, 4], Some(&[])),
            (&[8, 8, 0, 4], Some(&[8, 8])),
            // Longer padding than needed, which RFC 4303 allows.
            (&[8, 1, 2, 3, 4, 5, 5, 4], Some(&[8])),
            (&[2, 1, 2, 4], None),
            (&[1, 1, 2, 4], None),
            (&[1, 2, 3, 4], None),
            (&[1, 2, 255, 4], None),
        ];
        for ((body, expected), sequence) in bodies.into_iter().zip(1..) {
            let packet = {
                let iv = &[3; 8][..suite.before_bytes() - 8];
                by_hand(suite, &KEY[..suite.key_bytes()], false, sequence, iv, body)
            };
            let found = opened(&mut inbound, &packet).map(|it| it.0);
            let expected = expected.map(<[u8]>::to_vec);
            assert_eq!(
                found,
                expected.ok_or(PacketError::InvalidPadding),
                "{body:?}"
            );
            // The packet's number is used up nevertheless: the sender did send it.
            assert_eq!(opened(&mut inbound, &packet), Err(PacketError::Replayed));
        }
    }
}

#[test]
fn wrong_padding_of_cbc_under_a_right_key_is_refused() {
    let body = |padding: &[u8], next_header| {
        let mut body = vec![7; 64];
        body.extend_from_slice(padding);
        body.extend([padding.len() as u8, next_header]);
        body
    };
    let counted: Vec<u8> = (1..=255).collect();
    for suite in suites().filter(|suite| is_cbc(*suite)) {
        let mut inbound = accelerator().esp_inbound(&association(suite)).unwrap();
        let mut sequence = 0;
        for bytes in [14, 30, 46, 238, 254] {
            for spoilt in [None, Some(0), Some(bytes / 2), Some(bytes - 1)] {
                let mut padding = counted[..bytes].to_vec();
                if let Some(at) = spoilt {
                    padding[at] ^= 0x10;
                }
                sequence += 1;
                let key = &KEY[..suite.key_bytes()];
                let packet = by_hand(
                    suite,
                    key,
                    false,
                    sequence,
                    &[9; 16][..suite.before_bytes() - 8],
                    &body(&padding, 4),
                );
                let found = opened(&mut inbound, &packet).map(|it| it.0);
                let expected = match spoilt {
                    None => Ok(vec![7; 64]),
                    Some(_) => Err(PacketError::InvalidPadding),
                };
                assert_eq!(found, expected, "{suite:?} {bytes} {spoilt:?}");
            }
        }
        // More padding than there are bytes.
        let mut body = vec![7; 14];
        body.extend([15, 4]);
        let key = &KEY[..suite.key_bytes()];
        let packet = by_hand(
            suite,
            key,
            false,
            sequence + 1,
            &[9; 16][..suite.before_bytes() - 8],
            &body,
        );
        assert_eq!(
            opened(&mut inbound, &packet),
            Err(PacketError::InvalidPadding)
        );
    }
}

/// A forged packet is not decrypted: the buffer then holds zeros, not plaintext.
#[test]
fn a_forged_packet_leaves_zeros() {
    let mut random = StdRng::seed_from_u64(24);
    for suite in suites() {
        let mut inbound = accelerator().esp_inbound(&association(suite)).unwrap();
        for bytes in [16, 32, 48, 1408] {
            let rest = suite.before_bytes() - 8 + bytes + super::icv_bytes(suite);
            let noise = random_bytes(&mut random, rest);
            let mut packet = [&SPI.to_be_bytes()[..], &[0, 0, 0, 1], &noise].concat();
            let mut packets = [InboundPacket::new(&mut packet)];
            inbound.open(&mut packets);
            assert_eq!(packets[0].opened(), Err(PacketError::AuthenticationFailed));
            assert!(packet[8..].iter().all(|byte| *byte == 0));
        }
    }
}

#[test]
fn associations_that_cannot_be_are_refused() {
    let accelerator = accelerator();
    for &suite in Suite::ALL {
        for bytes in [0, 3, suite.key_bytes() - 1, suite.key_bytes() + 1] {
            let association = Association::new(SPI, suite, &[7; 128][..bytes]);
            let refused = accelerator.esp_outbound(&association).map(drop);
            assert!(
                matches!(refused, Err(Error::InvalidKey(_))),
                "{suite:?} {bytes}"
            );
        }
    }
    let local = Association::new(0, Suite::Aes128Gcm, &KEY[..20]);
    let refused = accelerator.esp_inbound(&local).map(drop);
    assert!(matches!(refused, Err(Error::InvalidInput(_))));
    let shown = format!("{:?}", association(Suite::Aes128Gcm));
    assert!(!shown.contains("key"), "{shown}");
}

/// aws-lc computes instead of this library's kernels.
#[cfg(feature = "aws-lc")]
#[test]
fn another_device_refuses_and_zeroes_as_well() {
    for suite in suites().filter(|suite| !super::is_chained(*suite)) {
        let builder = Accelerator::builder().cipher_device(CipherDevice::Software);
        let accelerator = builder.build().unwrap();
        let (mut outbound, mut inbound) = pair(&accelerator, &association(suite));
        let mut sent: Vec<_> = (0..20)
            .map(|_| sealed(&mut outbound, &[3; 500], 4))
            .collect();
        sent[7][300] ^= 1;
        let mut packets: Vec<_> = sent.iter_mut().map(|it| InboundPacket::new(it)).collect();
        inbound.open(&mut packets);
        for (place, packet) in packets.iter().enumerate() {
            let expected = match place {
                7 => Err(PacketError::AuthenticationFailed),
                _ => Ok(&[3; 500][..]),
            };
            assert_eq!(packet.opened().map(|it| it.payload), expected, "{suite:?}");
        }
        drop(packets);
        assert!(sent[7][8..].iter().all(|byte| *byte == 0));
    }
}
