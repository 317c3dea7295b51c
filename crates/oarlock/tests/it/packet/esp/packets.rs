//! What senders produce, and what receivers find in it.

use oarlock::Strategy;
use oarlock::packet::PacketError;
use oarlock::packet::esp::{InboundPacket, OutboundPacket, Suite};
use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::reference::{body_of, by_hand};
use super::{BEFORE, KEY, MASKS, association, is_cbc, is_chained, opened, pair, sealed, suites};
use crate::common::{accelerator, accelerator_by, random_bytes, striped};

/// Returns a packet's IV.
fn iv_of(suite: Suite, packet: &[u8]) -> &[u8] {
    &packet[8..suite.before_bytes()]
}

#[test]
fn every_suite_and_length_is_as_put_together_by_hand() {
    let mut random = StdRng::seed_from_u64(20);
    for mask in MASKS {
        let accelerator = accelerator_by(mask, Strategy::Auto);
        for suite in suites() {
            for extended in [false, true] {
                let association = association(suite).extended_sequence_numbers(extended);
                let (mut outbound, mut inbound) = pair(&accelerator, &association);
                let short = if is_chained(suite) { 34 } else { 70 };
                let lengths = (0..short).chain([127, 128, 255, 511, 1399, 1400, 9000]);
                for (length, sequence) in lengths.zip(1_u64..) {
                    let payload = random_bytes(&mut random, length);
                    let packet = sealed(&mut outbound, &payload, 41);
                    let body = body_of(suite, &payload, 41);
                    let iv = iv_of(suite, &packet);
                    if !is_cbc(suite) && !iv.is_empty() {
                        assert_eq!(iv, sequence.to_be_bytes());
                    }
                    let key = &KEY[..suite.key_bytes()];
                    let expected = by_hand(suite, key, extended, sequence, iv, &body);
                    assert_eq!(packet, expected, "{suite:?} {mask} {length}");
                    let back = opened(&mut inbound, &packet).unwrap();
                    assert_eq!(back, (payload, 41, sequence));
                }
            }
        }
    }
}

/// Random batches, some of whose packets are damaged, in any order and around the end of the lower half of sequence numbers.
#[test]
fn random_batches_are_as_put_together_by_hand() {
    let mut random = StdRng::seed_from_u64(23);
    let suites: Vec<_> = suites().collect();
    for round in 0..150 {
        let suite = suites[round % suites.len()];
        let mask = MASKS[random.random_range(0..MASKS.len())];
        let strategy = [Strategy::Auto, Strategy::Inline, Strategy::Stripe][round % 3];
        let accelerator = accelerator_by(mask, strategy);
        let extended = random.random();
        let association = association(suite)
            .extended_sequence_numbers(extended)
            .replay_window(1024);
        let (mut outbound, mut inbound) = pair(&accelerator, &association);
        let before = match extended {
            true => (1_u64 << 32) - random.random_range(0..100),
            false => random.random_range(0..1 << 31),
        };
        outbound.set_sequence(before);
        let mut window = oarlock::packet::ReplayWindow::new(1024);
        window.insert(before.max(1));
        inbound.set_window(window);

        let count = random.random_range(0..100);
        let longest = [40, 300, 1500][random.random_range(0..3)];
        let payloads: Vec<_> = (0..count)
            .map(|_| {
                let bytes = random.random_range(0..longest);
                random_bytes(&mut random, bytes)
            })
            .collect();
        let mut buffers: Vec<_> = (payloads.iter())
            .map(|payload| {
                [
                    &[0xaa; BEFORE][..],
                    payload,
                    &[0xbb; Suite::BEHIND_BYTES_MAX],
                ]
                .concat()
            })
            .collect();
        let mut packets: Vec<_> = (buffers.iter_mut().zip(&payloads))
            .map(|(buffer, payload)| {
                OutboundPacket::new(buffer, BEFORE..BEFORE + payload.len(), 41)
            })
            .collect();
        outbound.seal(&mut packets);
        let mut arrived = Vec::new();
        for (place, (packet, payload)) in packets.iter().zip(&payloads).enumerate() {
            let sequence = before + 1 + place as u64;
            assert_eq!(packet.sequence(), sequence);
            let found = packet.sealed().unwrap();
            let (key, body) = (&KEY[..suite.key_bytes()], body_of(suite, payload, 41));
            let expected = by_hand(suite, key, extended, sequence, iv_of(suite, found), &body);
            assert_eq!(found, expected, "{suite:?} {mask} {}", payload.len());
            let mut found = found.to_vec();
            let is_damaged = random.random_ratio(1, 8);
            if is_damaged {
                // Not the sequence number: the new one may be older than the window.
                let at = random.random_range(8..found.len());
                found[at] ^= 1 << random.random_range(0..8);
            }
            arrived.push((found, sequence, is_damaged, payload));
        }
        for place in 1..arrived.len() {
            arrived.swap(place, random.random_range(0..=place));
        }
        let mut copies: Vec<_> = arrived.iter().map(|it| it.0.clone()).collect();
        let mut packets: Vec<_> = copies.iter_mut().map(|it| InboundPacket::new(it)).collect();
        inbound.open(&mut packets);
        for (packet, (_, sequence, is_damaged, payload)) in packets.iter().zip(&arrived) {
            if *is_damaged {
                assert_eq!(packet.opened(), Err(PacketError::AuthenticationFailed));
                continue;
            }
            let found = packet.opened().unwrap();
            assert_eq!((found.sequence, found.payload), (*sequence, &payload[..]));
        }
        drop(packets);
        for (copy, (_, _, is_damaged, _)) in copies.iter().zip(&arrived) {
            assert!(!is_damaged || copy[8..].iter().all(|byte| *byte == 0));
        }
    }
}

#[test]
fn ivs_of_cbc_are_random_and_never_come_again() {
    let accelerator = accelerator();
    for suite in suites().filter(|suite| is_cbc(*suite)) {
        let (mut outbound, _) = pair(&accelerator, &association(suite));
        // More IVs than are fetched at once.
        let mut ivs: Vec<Vec<u8>> = (0..600)
            .map(|_| iv_of(suite, &sealed(&mut outbound, b"the same", 4)).to_vec())
            .collect();
        let set: u32 = ivs.iter().flatten().map(|byte| byte.count_ones()).sum();
        let share = f64::from(set) / (600.0 * 8.0 * ivs[0].len() as f64);
        // Eight standard deviations, or more.
        assert!((0.478..0.522).contains(&share), "{share}");
        ivs.sort_unstable();
        ivs.dedup();
        assert_eq!(ivs.len(), 600);
    }
}

#[test]
fn traffic_flow_padding_hides_the_length() {
    for suite in suites() {
        let (mut outbound, mut inbound) = pair(&accelerator(), &association(suite));
        for tfc in [0, 1, 100, 1000] {
            let mut buffer = vec![9; BEFORE + 50 + tfc + Suite::BEHIND_BYTES_MAX];
            let packet =
                OutboundPacket::new(&mut buffer, BEFORE..BEFORE + 50, 4).traffic_flow_padding(tfc);
            let mut packets = [packet];
            outbound.seal(&mut packets);
            let (payload, ..) = opened(&mut inbound, packets[0].sealed().unwrap()).unwrap();
            assert_eq!(payload, [vec![9; 50], vec![0; tfc]].concat());
        }
        let mut buffer = [0; 100];
        let packet =
            OutboundPacket::new(&mut buffer, BEFORE..60, 4).traffic_flow_padding(usize::MAX);
        let mut packets = [packet];
        outbound.seal(&mut packets);
        assert!(matches!(
            packets[0].sealed(),
            Err(PacketError::NoRoom { .. })
        ));
    }
}

#[test]
fn a_buffer_without_room_takes_no_number() {
    let suite = Suite::Aes128Gcm;
    let (mut outbound, mut inbound) = pair(&accelerator(), &association(suite));
    let mut buffers = [[7; 64]; 6];
    // Too little room before or after, a range that ends beyond the buffer, and one that begins after its end.
    let ranges = [
        15..20,
        16..47,
        16..65,
        std::ops::Range { start: 30, end: 20 },
        usize::MAX - 1..usize::MAX,
        16..44,
    ];
    let mut packets: Vec<_> = (buffers.iter_mut().zip(ranges))
        .map(|(it, range)| OutboundPacket::new(it, range, 4))
        .collect();
    outbound.seal(&mut packets);
    for packet in &packets[..5] {
        assert!(matches!(
            packet.sealed(),
            Err(PacketError::NoRoom { before: 16, .. })
        ));
    }
    let (payload, _, sequence) = opened(&mut inbound, packets[5].sealed().unwrap()).unwrap();
    assert_eq!((payload, sequence), (vec![7; 28], 1));
    drop(packets);
    assert!(
        buffers[..5].iter().all(|it| *it == [7; 64]),
        "nothing was written"
    );
}

/// The least room that a suite specifies is enough, and a byte less is not.
#[test]
fn the_room_that_a_suite_names_is_enough() {
    for suite in suites() {
        let (before, behind) = (suite.before_bytes(), suite.behind_bytes_max());
        let (mut outbound, mut inbound) = pair(&accelerator(), &association(suite));
        let mut most = 0;
        for bytes in 0..64 {
            let mut buffer = vec![5; before + bytes + behind];
            let mut packets = [OutboundPacket::new(&mut buffer, before..before + bytes, 4)];
            outbound.seal(&mut packets);
            let packet = packets[0].sealed().unwrap().to_vec();
            most = most.max(packet.len() - bytes);
            assert_eq!(opened(&mut inbound, &packet).unwrap().0, vec![5; bytes]);
            let mut buffer = vec![5; packet.len() - 1];
            let mut packets = [OutboundPacket::new(&mut buffer, before..before + bytes, 4)];
            outbound.seal(&mut packets);
            assert!(matches!(
                packets[0].sealed(),
                Err(PacketError::NoRoom { .. })
            ));
            let mut buffer = vec![5; before + bytes + behind];
            let mut packets = [OutboundPacket::new(
                &mut buffer,
                before - 1..before + bytes,
                4,
            )];
            outbound.seal(&mut packets);
            assert!(matches!(
                packets[0].sealed(),
                Err(PacketError::NoRoom { .. })
            ));
        }
        assert_eq!(most, before + behind, "{suite:?}");
    }
}

#[test]
fn no_packets_are_no_work() {
    for suite in suites() {
        let (mut outbound, mut inbound) = pair(&striped(), &association(suite));
        outbound.seal(&mut []);
        inbound.open(&mut []);
        assert_eq!((outbound.sequence(), inbound.window().highest()), (0, 0));
    }
}
