//! IPsec's ESP, beside packets that are put together here byte by byte with RustCrypto's ciphers.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use aead::{AeadInOut, Key, KeyInit, Nonce};
use oarlock::packet::esp::{Association, Inbound, InboundPacket, Outbound, OutboundPacket, Suite};
use oarlock::packet::{PacketError, ReplayWindow};
use oarlock::{Accelerator, Error, Options, Strategy, Threads};
use rand::{RngExt, SeedableRng, rngs::StdRng};

use crate::common::{accelerator, accelerator_by, random_bytes, striped};

const KEY: [u8; 36] = *b"thirty-six bytes with a salt at the ";
const SPI: u32 = 0x0102_0304;
const MASKS: [&str; 6] = ["", "-face", "-avx512", "-vaes", "-aes", "-aes,-avx2"];
const BEFORE: usize = Outbound::BEFORE_BYTES;

/// A packet as RFC 4106 and RFC 7634 have it, of `body`: the payload, its padding and the trailer.
fn by_hand(suite: Suite, extended: bool, sequence: u64, iv: [u8; 8], body: &[u8]) -> Vec<u8> {
    fn seal<A: KeyInit + AeadInOut>(nonce: &[u8], aad: &[u8], key: &[u8], body: &mut Vec<u8>) {
        let aead = A::new(&Key::<A>::try_from(key).unwrap());
        let nonce = Nonce::<A>::try_from(nonce).unwrap();
        let tag = aead.encrypt_inout_detached(&nonce, aad, (&mut body[..]).into());
        body.extend_from_slice(&tag.unwrap());
    }
    type Aes192Gcm = aes_gcm::AesGcm<aes::Aes192, aead::consts::U12>;
    let (key, salt) = KEY[..suite.key_bytes()].split_last_chunk::<4>().unwrap();
    let spi = SPI.to_be_bytes();
    let low = (sequence as u32).to_be_bytes();
    let aad = if extended {
        [&spi[..], &sequence.to_be_bytes()].concat()
    } else {
        [spi, low].concat()
    };
    let nonce = [&salt[..], &iv].concat();
    let mut sealed = body.to_vec();
    match suite {
        Suite::Aes128Gcm => seal::<aes_gcm::Aes128Gcm>(&nonce, &aad, key, &mut sealed),
        Suite::Aes192Gcm => seal::<Aes192Gcm>(&nonce, &aad, key, &mut sealed),
        Suite::Aes256Gcm => seal::<aes_gcm::Aes256Gcm>(&nonce, &aad, key, &mut sealed),
        _ => seal::<chacha20poly1305::ChaCha20Poly1305>(&nonce, &aad, key, &mut sealed),
    }
    [&spi[..], &low, &iv, &sealed].concat()
}

/// With the padding and trailer that a sender adds.
fn body_of(payload: &[u8], next_header: u8) -> Vec<u8> {
    let mut body = payload.to_vec();
    let padding = (4 - (payload.len() + 2) % 4) % 4;
    body.extend((1..).take(padding));
    body.extend([padding as u8, next_header]);
    body
}

fn association(suite: Suite) -> Association<'static> {
    Association::new(SPI, suite, &KEY[..suite.key_bytes()])
}

fn pair(accelerator: &Accelerator, association: &Association<'_>) -> (Outbound, Inbound) {
    (
        accelerator.esp_outbound(association).unwrap(),
        accelerator.esp_inbound(association).unwrap(),
    )
}

/// What one packet carries, or why it was refused.
fn opened(inbound: &mut Inbound, packet: &[u8]) -> Result<(Vec<u8>, u8, u64), PacketError> {
    let mut packet = packet.to_vec();
    let mut packets = [InboundPacket::new(&mut packet)];
    inbound.open(&mut packets);
    let result = packets[0]
        .opened()
        .map(|it| (it.payload.to_vec(), it.next_header, it.sequence));
    if result.is_err() && packet.len() > 8 {
        assert!(packet[8..].iter().all(|byte| *byte == 0) || result_is_early(&result));
    }
    result
}

/// Whether a packet was refused before anything was decrypted.
fn result_is_early<T>(result: &Result<T, PacketError>) -> bool {
    !matches!(
        result,
        Err(PacketError::AuthenticationFailed | PacketError::InvalidPadding)
    )
}

fn sealed(outbound: &mut Outbound, payload: &[u8], next_header: u8) -> Vec<u8> {
    let mut buffer = vec![0xaa; BEFORE + payload.len() + Suite::BEHIND_BYTES_MAX];
    let range = BEFORE..BEFORE + payload.len();
    buffer[range.clone()].copy_from_slice(payload);
    let mut packets = [OutboundPacket::new(&mut buffer, range, next_header)];
    outbound.seal(&mut packets);
    packets[0].sealed().unwrap().to_vec()
}

#[test]
fn every_suite_and_length_is_as_put_together_by_hand() {
    let mut random = StdRng::seed_from_u64(20);
    for mask in MASKS {
        let accelerator = accelerator_by(mask, Strategy::Auto);
        for &suite in Suite::ALL {
            for extended in [false, true] {
                let association = association(suite).extended_sequence_numbers(extended);
                let (mut outbound, mut inbound) = pair(&accelerator, &association);
                let lengths = (0..70).chain([127, 128, 255, 511, 1399, 1400, 9000, 65_000]);
                for (length, sequence) in lengths.zip(1_u64..) {
                    let payload = random_bytes(&mut random, length);
                    let packet = sealed(&mut outbound, &payload, 41);
                    let body = body_of(&payload, 41);
                    let expected =
                        by_hand(suite, extended, sequence, sequence.to_be_bytes(), &body);
                    assert_eq!(packet, expected, "{suite:?} {mask} {length}");
                    let back = opened(&mut inbound, &packet).unwrap();
                    assert_eq!(back, (payload, 41, sequence));
                }
            }
        }
    }
}

#[test]
fn the_example_of_rfc_7634_is_opened() {
    let hex = |text: &str| -> Vec<u8> {
        let digits: Vec<u8> = text
            .chars()
            .filter_map(|it| it.to_digit(16).map(|it| it as u8))
            .collect();
        digits.chunks(2).map(|it| it[0] << 4 | it[1]).collect()
    };
    let key: Vec<u8> = (0x80..=0x9f).chain([0xa0, 0xa1, 0xa2, 0xa3]).collect();
    let association = Association::new(0x0102_0304, Suite::ChaCha20Poly1305, &key);
    let mut inbound = accelerator().esp_inbound(&association).unwrap();
    // RFC 7634, appendix A: number 5, and an IV that is not its number.
    let packet = hex(
        "01020304 00000005 1011121314151617 24039428b97f417e3c13753a4f05087b67c352e6a7fab1b982d466ef407ae5c6
         14ee8099d52844eb61aa95dfab4c02f72aa71e7c4c4f64c9befe2facc638e8f3cbec163fac469b502773f6fb94e664da
         9165b82829f641e0 76aaa8266b7fb0f7b11b369907e1ad43",
    );
    let (payload, next_header, sequence) = opened(&mut inbound, &packet).unwrap();
    let expected = hex(
        "45000054a6f20000400 1e778c6336405c000020508005b7a3a080000553bec100007362708090a0b0c0d0e0f1011
         12131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f3031323334353637",
    );
    assert_eq!((payload, next_header, sequence), (expected, 4, 5));
}

#[test]
fn whatever_is_altered_is_refused_and_zeroed() {
    let accelerator = accelerator();
    for &suite in Suite::ALL {
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
                // The number 0 is never sent.
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
        let longer = [&packet[..], &[0; 4]].concat();
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
        let association = association(Suite::Aes128Gcm).replay_window(256);
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

#[test]
fn numbers_are_accepted_once_within_the_window() {
    let accelerator = accelerator();
    for window in [1, 64, 1024, ReplayWindow::SIZE_MAX] {
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

#[test]
fn of_two_with_one_number_in_a_call_the_first_is_accepted() {
    let (mut outbound, mut inbound) = pair(&striped(), &association(Suite::Aes256Gcm));
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

#[test]
fn extended_numbers_pass_the_end_of_the_lower_half() {
    let accelerator = accelerator();
    let extended = association(Suite::Aes128Gcm).extended_sequence_numbers(true);
    let (mut outbound, mut inbound) = pair(&accelerator, &extended);
    let mut window = ReplayWindow::new(64);
    window.insert(u64::from(u32::MAX) - 20);
    inbound.set_window(window);
    outbound.set_sequence(u64::from(u32::MAX) - 20);
    let mut sent: Vec<_> = (0..40).map(|_| sealed(&mut outbound, b"ours", 4)).collect();
    // They arrive the other way round, and so across the end.
    sent.reverse();
    for (packet, back) in sent.iter().zip(0..) {
        let number = u64::from(u32::MAX) + 20 - back;
        assert_eq!(opened(&mut inbound, packet).unwrap().2, number);
        assert_eq!(opened(&mut inbound, packet), Err(PacketError::Replayed));
    }
}

#[test]
fn numbers_that_are_used_up_seal_nothing() {
    let accelerator = accelerator();
    for (extended, last) in [(false, u64::from(u32::MAX)), (true, u64::MAX)] {
        let association = association(Suite::Aes128Gcm).extended_sequence_numbers(extended);
        let (mut outbound, _) = pair(&accelerator, &association);
        outbound.set_sequence(last - 1);
        let mut buffers = [[0; 64]; 3];
        let mut packets: Vec<_> = buffers
            .iter_mut()
            .map(|it| OutboundPacket::new(it, 16..20, 4))
            .collect();
        outbound.seal(&mut packets);
        assert!(packets[0].sealed().is_ok());
        for packet in &packets[1..] {
            assert_eq!(packet.sealed(), Err(PacketError::SequenceExhausted));
        }
        assert_eq!(outbound.sequence(), last);
    }
}

#[test]
fn a_buffer_without_room_takes_no_number() {
    let (mut outbound, mut inbound) = pair(&accelerator(), &association(Suite::Aes128Gcm));
    let mut buffers = [[7; 64]; 6];
    // Too little room before, behind, a range that ends beyond the buffer or begins behind its end.
    let ranges = [
        15..20,
        16..47,
        16..65,
        Range { start: 30, end: 20 },
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

#[test]
fn traffic_flow_padding_hides_the_length() {
    let (mut outbound, mut inbound) = pair(&accelerator(), &association(Suite::Aes128Gcm));
    for tfc in [0, 1, 100, 1000] {
        let mut buffer = vec![9; 16 + 50 + tfc + Suite::BEHIND_BYTES_MAX];
        let packet = OutboundPacket::new(&mut buffer, 16..66, 4).traffic_flow_padding(tfc);
        let mut packets = [packet];
        outbound.seal(&mut packets);
        let (payload, ..) = opened(&mut inbound, packets[0].sealed().unwrap()).unwrap();
        assert_eq!(payload, [vec![9; 50], vec![0; tfc]].concat());
    }
    let mut buffer = [0; 100];
    let packet = OutboundPacket::new(&mut buffer, 16..60, 4).traffic_flow_padding(usize::MAX);
    let mut packets = [packet];
    outbound.seal(&mut packets);
    assert!(matches!(
        packets[0].sealed(),
        Err(PacketError::NoRoom { .. })
    ));
}

#[test]
fn wrong_padding_under_a_right_key_is_refused() {
    let suite = Suite::Aes256Gcm;
    let mut inbound = accelerator().esp_inbound(&association(suite)).unwrap();
    // With the payload, or without where the padding is wrong.
    let bodies: [(&[u8], Option<&[u8]>); 7] = [
        (&[1, 2, 2, 4], Some(&[])),
        (&[8, 8, 0, 4], Some(&[8, 8])),
        // Longer than it need be, as RFC 4303 allows.
        (&[8, 1, 2, 3, 4, 5, 5, 4], Some(&[8])),
        (&[2, 1, 2, 4], None),
        (&[1, 1, 2, 4], None),
        (&[1, 2, 3, 4], None),
        (&[1, 2, 255, 4], None),
    ];
    for ((body, expected), sequence) in bodies.into_iter().zip(1..) {
        let packet = by_hand(suite, false, sequence, [3; 8], body);
        let found = opened(&mut inbound, &packet).map(|it| it.0);
        let expected = expected.map(<[u8]>::to_vec);
        assert_eq!(
            found,
            expected.ok_or(PacketError::InvalidPadding),
            "{body:?}"
        );
        // Its number is used up all the same: it was the sender's.
        assert_eq!(opened(&mut inbound, &packet), Err(PacketError::Replayed));
    }
}

#[test]
fn associations_that_cannot_be_are_refused() {
    let accelerator = accelerator();
    for &suite in Suite::ALL {
        for bytes in [0, 3, 4, suite.key_bytes() - 1, suite.key_bytes() + 1] {
            let association = Association::new(SPI, suite, &[7; 64][..bytes]);
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

#[test]
fn workers_change_while_packets_flow() {
    let accelerator = accelerator_by("", Strategy::Stripe);
    let (mut outbound, mut inbound) = pair(&accelerator, &association(Suite::Aes128Gcm));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = StdRng::seed_from_u64(22);
            let mut changes = 0;
            while changes < 1000 || !done.load(Ordering::Relaxed) {
                let options = Options {
                    max_threads: Threads::Exactly(random.random_range(0..6)),
                    cipher_threads: random.random_range(1..6),
                    ..accelerator.options()
                };
                accelerator.set_options(options).unwrap();
                changes += 1;
            }
        });
        let mut sequence = 0;
        for round in 0..200 {
            let mut buffers = vec![[round as u8; 1450]; 64];
            let mut packets: Vec<_> = buffers
                .iter_mut()
                .map(|it| OutboundPacket::new(it, 16..1416, 4))
                .collect();
            outbound.seal(&mut packets);
            let mut sent: Vec<_> = packets
                .iter()
                .map(|it| it.sealed().unwrap().to_vec())
                .collect();
            let mut packets: Vec<_> = sent.iter_mut().map(|it| InboundPacket::new(it)).collect();
            inbound.open(&mut packets);
            for packet in &packets {
                sequence += 1;
                let opened = packet.opened().unwrap();
                assert_eq!(
                    (opened.sequence, opened.payload),
                    (sequence, &[round as u8; 1400][..])
                );
            }
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn no_packets_are_no_work() {
    let (mut outbound, mut inbound) = pair(&striped(), &association(Suite::Aes128Gcm));
    outbound.seal(&mut []);
    inbound.open(&mut []);
    assert_eq!((outbound.sequence(), inbound.window().highest()), (0, 0));
}
