//! SRTP and SRTCP, compared with packets that are put together byte by byte (`srtp_by_hand.rs`).

use oarlock::packet::PacketError;
use oarlock::packet::srtp::{
    Inbound, InboundPacket, MasterKey, Outbound, OutboundPacket, Policy, Suite,
};
use oarlock::{Accelerator, Strategy};
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};

use super::srtp_by_hand as by_hand;
use super::srtp_by_hand::{encrypts, is_gcm, key_of, tag_bytes};
use crate::common::{accelerator, accelerator_by, striped};

const MASKS: [&str; 7] = [
    "",
    "-face",
    "-avx512",
    "-vaes",
    "-aes",
    "-avx2",
    "-aes,-avx2",
];

pub type Back = Result<(Vec<u8>, u64), PacketError>;

/// Returns an RTP packet with random CSRCs, extension and padding, and the length of its header.
pub fn random_rtp(random: &mut StdRng, ssrc: u32, sequence: u16) -> (Vec<u8>, usize) {
    let csrcs = if random.random_bool(0.3) {
        random.random_range(0..16)
    } else {
        0
    };
    let extension = random.random_bool(0.3).then(|| random.random_range(0..20));
    let padded = random.random_bool(0.2);
    let first = 0x80 | u8::from(padded) << 5 | u8::from(extension.is_some()) << 4 | csrcs;
    let mut packet = vec![first, random.random_range(0..=255)];
    packet.extend(sequence.to_be_bytes());
    packet.extend(random.next_u32().to_be_bytes());
    packet.extend(ssrc.to_be_bytes());
    packet.extend((0..csrcs * 4).map(|_| 0xc5));
    if let Some(words) = extension {
        packet.extend([0xbe, 0xde]);
        packet.extend(u16::to_be_bytes(words));
        packet.extend((0..words * 4).map(|i| i as u8));
    }
    let header = packet.len();
    let payload = match random.random_range(0..10) {
        0 => random.random_range(0..3),
        1 => random.random_range(1000..1400),
        _ => random.random_range(0..250),
    };
    packet.extend((0..payload).map(|_| random.random_range(0..=255_u8)));
    if padded {
        packet.extend([0, 0, 0, 4]);
    }
    (packet, header)
}

/// Returns an RTCP packet of whole words.
pub fn random_rtcp(random: &mut StdRng, ssrc: u32) -> Vec<u8> {
    let words = random.random_range(0..60_u16);
    let mut packet = vec![0x80, 200];
    packet.extend((words + 1).to_be_bytes());
    packet.extend(ssrc.to_be_bytes());
    packet.extend((0..words * 4).map(|_| random.random_range(0..=255_u8)));
    packet
}

/// Returns a minimal RTP packet.
pub fn rtp(ssrc: u32, sequence: u16, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x80, 96];
    packet.extend(sequence.to_be_bytes());
    packet.extend([0; 4]);
    packet.extend(ssrc.to_be_bytes());
    packet.extend(payload);
    packet
}

fn run_out(
    outbound: &mut Outbound,
    packets: &[Vec<u8>],
    behind: usize,
    run: fn(&mut Outbound, &mut [OutboundPacket<'_>]),
) -> Vec<Result<Vec<u8>, PacketError>> {
    let mut buffers: Vec<_> = (packets.iter())
        .map(|packet| [&packet[..], &vec![0xaa; behind]].concat())
        .collect();
    let mut all: Vec<_> = (buffers.iter_mut())
        .map(|buffer| {
            let bytes = buffer.len() - behind;
            OutboundPacket::new(buffer, bytes)
        })
        .collect();
    run(outbound, &mut all);
    all.iter()
        .map(|packet| packet.protected().map(<[u8]>::to_vec))
        .collect()
}

/// Protects all packets in one call.
pub fn protected(
    outbound: &mut Outbound,
    packets: &[Vec<u8>],
) -> Vec<Result<Vec<u8>, PacketError>> {
    run_out(outbound, packets, 40, |outbound, packets| {
        outbound.protect(packets)
    })
}

pub fn protected_rtcp(
    outbound: &mut Outbound,
    packets: &[Vec<u8>],
) -> Vec<Result<Vec<u8>, PacketError>> {
    run_out(outbound, packets, 40, |outbound, packets| {
        outbound.protect_rtcp(packets)
    })
}

fn run_in(
    inbound: &mut Inbound,
    packets: &[Vec<u8>],
    run: fn(&mut Inbound, &mut [InboundPacket<'_>]),
) -> Vec<Back> {
    let mut buffers = packets.to_vec();
    let mut all: Vec<_> = buffers
        .iter_mut()
        .map(|it| InboundPacket::new(it))
        .collect();
    run(inbound, &mut all);
    let results: Vec<_> = (all.iter())
        .map(|packet| {
            packet
                .unprotected()
                .map(|it| (it.packet.to_vec(), it.index))
        })
        .collect();
    for ((result, buffer), packet) in results.iter().zip(&buffers).zip(packets) {
        match result {
            Ok(_) => {}
            Err(PacketError::AuthenticationFailed) => {
                assert!(
                    buffer.iter().all(|byte| *byte == 0),
                    "a forged packet stays"
                );
            }
            Err(_) => assert!(
                buffer == packet || buffer.iter().all(|byte| *byte == 0),
                "something of a refused packet is left"
            ),
        }
    }
    results
}

/// Unprotects all packets in one call.
pub fn unprotected(inbound: &mut Inbound, packets: &[Vec<u8>]) -> Vec<Back> {
    run_in(inbound, packets, |inbound, packets| {
        inbound.unprotect(packets)
    })
}

pub fn unprotected_rtcp(inbound: &mut Inbound, packets: &[Vec<u8>]) -> Vec<Back> {
    run_in(inbound, packets, |inbound, packets| {
        inbound.unprotect_rtcp(packets)
    })
}

pub fn pair(accelerator: &Accelerator, policy: &Policy<'_>) -> (Outbound, Inbound) {
    (
        accelerator.srtp_outbound(policy).unwrap(),
        accelerator.srtp_inbound(policy).unwrap(),
    )
}

pub fn protect_one(outbound: &mut Outbound, packet: &[u8]) -> Vec<u8> {
    let mut results = protected(outbound, &[packet.to_vec()]);
    results.remove(0).unwrap()
}

pub fn unprotect_one(inbound: &mut Inbound, packet: &[u8]) -> Back {
    unprotected(inbound, &[packet.to_vec()]).remove(0)
}

#[test]
fn every_suite_and_length_is_as_put_together_by_hand() {
    let mut random = StdRng::seed_from_u64(30);
    for mask in MASKS {
        let accelerator = accelerator_by(mask, Strategy::Auto);
        for &suite in Suite::ALL {
            let key = key_of(suite, 1);
            let (mut outbound, mut inbound) = pair(&accelerator, &Policy::new(suite, &key));
            let mut index = 65_500;
            let lengths = (0..70).chain([127, 128, 255, 511, 1399, 1400, 9000, 65_000]);
            let packets: Vec<_> = lengths
                .map(|length| {
                    index += 1;
                    let payload: Vec<u8> =
                        (0..length).map(|_| random.random_range(0..=255)).collect();
                    rtp(77, index as u16, &payload)
                })
                .collect();
            let ours = protected(&mut outbound, &packets);
            let mut sent = Vec::new();
            for ((ours, packet), index) in ours.into_iter().zip(&packets).zip(65_501..) {
                let expected = by_hand::rtp(suite, &key, &[], index, packet, 12);
                assert_eq!(ours.unwrap(), expected, "{suite:?} {mask} {index}");
                sent.push(expected);
            }
            for (back, (packet, index)) in (unprotected(&mut inbound, &sent).into_iter())
                .zip(packets.into_iter().zip(65_501..))
            {
                assert_eq!(back.unwrap(), (packet, index), "{suite:?} {mask}");
            }
        }
    }
}

#[test]
fn csrcs_extensions_and_padding_are_left_or_encrypted_as_they_must_be() {
    let mut random = StdRng::seed_from_u64(31);
    for &suite in Suite::ALL {
        let key = key_of(suite, 2);
        let (mut outbound, mut inbound) = pair(&accelerator(), &Policy::new(suite, &key));
        let packets: Vec<_> = (1..500_u16)
            .map(|sequence| random_rtp(&mut random, 1, sequence))
            .collect();
        let plain: Vec<_> = packets.iter().map(|it| it.0.clone()).collect();
        let sent = protected(&mut outbound, &plain);
        let sent: Vec<_> = sent.into_iter().map(Result::unwrap).collect();
        for ((sent, (packet, header)), index) in sent.iter().zip(&packets).zip(1..) {
            let expected = by_hand::rtp(suite, &key, &[], index, packet, *header);
            assert_eq!(*sent, expected, "{suite:?}");
        }
        for (back, packet) in unprotected(&mut inbound, &sent).into_iter().zip(plain) {
            assert_eq!(back.unwrap().0, packet);
        }
    }
}

#[test]
fn rtcp_is_as_put_together_by_hand_encrypted_or_not() {
    let mut random = StdRng::seed_from_u64(32);
    for &suite in Suite::ALL {
        for encrypted in [true, false] {
            let key = key_of(suite, 3);
            let policy = Policy::new(suite, &key).encrypt_rtcp(encrypted);
            let (mut outbound, mut inbound) = pair(&accelerator(), &policy);
            let packets: Vec<_> = (0..100).map(|_| random_rtcp(&mut random, 6)).collect();
            let sent = protected_rtcp(&mut outbound, &packets);
            let sent: Vec<_> = sent.into_iter().map(Result::unwrap).collect();
            for ((sent, packet), index) in sent.iter().zip(&packets).zip(0..) {
                let expected = by_hand::rtcp(suite, &key, &[], index, encrypted, packet);
                assert_eq!(*sent, expected, "{suite:?} {encrypted}");
            }
            let other = policy.encrypt_rtcp(!encrypted);
            if encrypts(suite) {
                let mut inbound = accelerator().srtp_inbound(&other).unwrap();
                for back in unprotected_rtcp(&mut inbound, &sent) {
                    assert_eq!(back, Err(PacketError::EncryptionMismatch));
                }
            }
            for ((back, packet), index) in (unprotected_rtcp(&mut inbound, &sent).into_iter())
                .zip(packets)
                .zip(0..)
            {
                assert_eq!(back.unwrap(), (packet, index), "{suite:?} {encrypted}");
            }
            for back in unprotected_rtcp(&mut inbound, &sent) {
                assert_eq!(back, Err(PacketError::Replayed));
            }
        }
    }
}

#[test]
fn whatever_is_altered_or_cut_is_refused() {
    for &suite in Suite::ALL {
        let key = key_of(suite, 4);
        let (mut outbound, mut inbound) = pair(&accelerator(), &Policy::new(suite, &key));
        let mut packet = rtp(3, 1000, b"a payload of some length");
        packet[0] |= 0x11;
        packet.splice(12..12, [1, 2, 3, 4, 0xbe, 0xde, 0, 1, 9, 9, 9, 9]);
        let sent = protect_one(&mut outbound, &packet);
        for place in 0..sent.len() {
            for bit in 0..8 {
                let mut altered = sent.clone();
                altered[place] ^= 1 << bit;
                let refused = unprotect_one(&mut inbound, &altered).unwrap_err();
                let is_header = refused == PacketError::InvalidHeader && place < 20;
                assert!(
                    is_header || refused == PacketError::AuthenticationFailed,
                    "{suite:?} byte {place}: {refused}"
                );
            }
        }
        for length in 0..sent.len() {
            let refused = unprotect_one(&mut inbound, &sent[..length]).unwrap_err();
            let early = [
                PacketError::InvalidLength { bytes: length },
                PacketError::InvalidHeader,
                PacketError::AuthenticationFailed,
            ];
            assert!(early.contains(&refused), "{suite:?} {length}: {refused}");
            let fixed = 12 + tag_bytes(suite);
            assert_eq!(refused == early[0], length < fixed, "{suite:?} {length}");
        }
        let longer = [&sent[..], &[0]].concat();
        let refused = unprotect_one(&mut inbound, &longer);
        assert_eq!(refused, Err(PacketError::AuthenticationFailed));
        let other = key_of(suite, 5);
        let mut stranger = accelerator()
            .srtp_inbound(&Policy::new(suite, &other))
            .unwrap();
        let refused = unprotect_one(&mut stranger, &sent);
        assert_eq!(refused, Err(PacketError::AuthenticationFailed));
        assert_eq!(unprotect_one(&mut inbound, &sent), Ok((packet, 1000)));
    }
}

#[test]
fn headers_that_cannot_be_are_refused_unchanged() {
    let suite = Suite::AesCm128HmacSha1_80;
    let key = key_of(suite, 6);
    let (mut outbound, mut inbound) = pair(&accelerator(), &Policy::new(suite, &key));
    let with_first = |first: u8, bytes: usize| {
        let mut packet = rtp(1, 1, &vec![0xff; bytes - 12]);
        packet[0] = first;
        packet
    };
    for packet in [
        with_first(0x00, 40),
        with_first(0x40, 40),
        with_first(0xc0, 40),
        // 15 CSRCs need 60 bytes more; an extension needs 4 and as many words as it declares.
        with_first(0x8f, 71),
        with_first(0x90, 15),
        with_first(0x90, 200),
    ] {
        let refused = protected(&mut outbound, std::slice::from_ref(&packet));
        assert_eq!(refused, [Err(PacketError::InvalidHeader)]);
        let tagged = [&packet[..], &[0; 10]].concat();
        let refused = unprotect_one(&mut inbound, &tagged);
        assert_eq!(refused, Err(PacketError::InvalidHeader));
    }
    for length in 0..12 {
        let refused = protected(&mut outbound, &[vec![0x80; length]]);
        assert_eq!(refused, [Err(PacketError::InvalidLength { bytes: length })]);
    }
    for length in 0..8 {
        let refused = protected_rtcp(&mut outbound, &[vec![0x80; length]]);
        assert_eq!(refused, [Err(PacketError::InvalidLength { bytes: length })]);
        let refused = unprotected_rtcp(&mut inbound, &[vec![0x80; length + 14]]);
        assert_eq!(
            refused,
            [Err(PacketError::InvalidLength { bytes: length + 14 })]
        );
    }
    let refused = protected_rtcp(&mut outbound, &[vec![0x40; 8]]);
    assert_eq!(refused, [Err(PacketError::InvalidHeader)]);

    // The longest packet, and packets that are a byte longer.
    let longest = rtp(1, 1, &vec![7; 65_535 - 12 - 10]);
    let sent = protect_one(&mut outbound, &longest);
    assert_eq!(sent.len(), 65_535);
    assert_eq!(unprotect_one(&mut inbound, &sent).unwrap().0, longest);
    let bytes = longest.len() + 1;
    let refused = protected(&mut outbound, &[[longest, vec![7]].concat()]);
    assert_eq!(refused, [Err(PacketError::InvalidLength { bytes })]);
    let refused = unprotect_one(&mut inbound, &[sent, vec![7]].concat());
    assert_eq!(refused, Err(PacketError::InvalidLength { bytes: 65_536 }));
}

#[test]
fn a_buffer_may_end_where_the_packet_must() {
    for &suite in Suite::ALL {
        let key = key_of(suite, 7);
        let mki = [5; 7];
        let named = [MasterKey {
            mki: &mki,
            key: &key,
        }];
        for (policy, mki_bytes) in [
            (Policy::new(suite, &key), 0),
            (Policy::with_keys(suite, &named), 7),
        ] {
            let (mut outbound, mut inbound) = pair(&accelerator(), &policy);
            let behind = tag_bytes(suite) + mki_bytes;
            let packets: Vec<_> = (0..40)
                .map(|i| rtp(1, i, &vec![i as u8; i.into()]))
                .collect();
            let refused = run_out(&mut outbound, &packets, behind - 1, Outbound::protect);
            for refused in refused {
                assert_eq!(refused, Err(PacketError::NoRoom { before: 0, behind }));
            }
            let sent = run_out(&mut outbound, &packets, behind, Outbound::protect);
            let sent: Vec<_> = sent.into_iter().map(Result::unwrap).collect();
            for (back, packet) in unprotected(&mut inbound, &sent).into_iter().zip(&packets) {
                assert_eq!(back.unwrap().0, *packet, "{suite:?}");
            }
            let behind = behind.max(mki_bytes + if is_gcm(suite) { 16 } else { 10 }) + 4;
            let packets: Vec<_> = (0..20)
                .map(|i| [&[0x80, 201, 0, 1, 0, 0, 0, 9][..], &vec![i; i.into()]].concat())
                .collect();
            let refused = run_out(&mut outbound, &packets, behind - 1, Outbound::protect_rtcp);
            for refused in refused {
                assert_eq!(refused, Err(PacketError::NoRoom { before: 0, behind }));
            }
            let sent = run_out(&mut outbound, &packets, behind, Outbound::protect_rtcp);
            let sent: Vec<_> = sent.into_iter().map(Result::unwrap).collect();
            for (back, packet) in unprotected_rtcp(&mut inbound, &sent)
                .into_iter()
                .zip(&packets)
            {
                assert_eq!(back.unwrap().0, *packet, "{suite:?}");
            }
        }
    }
}

#[test]
fn one_bad_packet_stops_no_other() {
    for accelerator in [accelerator(), striped()] {
        for suite in [Suite::AesCm128HmacSha1_32, Suite::Aes256Gcm] {
            let key = key_of(suite, 8);
            let (mut outbound, mut inbound) = pair(&accelerator, &Policy::new(suite, &key));
            let packets: Vec<_> = (0..200).map(|i| rtp(4, i, &[9; 700])).collect();
            let mut sent: Vec<_> = protected(&mut outbound, &packets)
                .into_iter()
                .map(Result::unwrap)
                .collect();
            let spoilt = [0, 17, 18, 63, 64, 199];
            for place in spoilt {
                sent[place][100] ^= 0x80;
            }
            // The same packet twice in one call: the first is accepted.
            sent[40] = sent[39].clone();
            for (place, back) in unprotected(&mut inbound, &sent).into_iter().enumerate() {
                if spoilt.contains(&place) {
                    assert_eq!(back, Err(PacketError::AuthenticationFailed));
                } else if place == 40 {
                    assert_eq!(back, Err(PacketError::Replayed));
                } else {
                    assert_eq!(back.unwrap().0, packets[place]);
                }
            }
        }
    }
}

#[test]
fn numbers_are_accepted_once_within_the_window() {
    for suite in [Suite::AesCm128HmacSha1_80, Suite::Aes128Gcm] {
        for window in [64_u16, 128, 1024, 4096] {
            let key = key_of(suite, 9);
            let policy = Policy::new(suite, &key).replay_window(window.into());
            let (mut outbound, mut inbound) = pair(&accelerator(), &policy);
            let first = u16::MAX - window / 2;
            let packets: Vec<_> = (0..window + 2)
                .map(|i| rtp(4, first.wrapping_add(i), b"x"))
                .collect();
            let sent: Vec<_> = protected(&mut outbound, &packets)
                .into_iter()
                .map(Result::unwrap)
                .collect();
            // The last packet's sequence number has rolled over, which the receiver has to know.
            inbound.expect_roll_over_counter(4, 1).unwrap();
            let last = usize::from(window) + 1;
            let index = u64::from(first) + last as u64;
            let found = unprotect_one(&mut inbound, &sent[last]);
            assert_eq!(found.map(|it| it.1), Ok(index));
            assert_eq!(inbound.index(4), Some(index));
            for (place, back) in unprotected(&mut inbound, &sent).into_iter().enumerate() {
                let expected = match place {
                    0 | 1 => Err(PacketError::Replayed),
                    place if place == last => Err(PacketError::Replayed),
                    place => Ok((packets[place].clone(), u64::from(first) + place as u64)),
                };
                assert_eq!(back, expected, "{window} {place}");
            }
        }
    }
}

#[test]
fn a_call_gives_what_packets_one_by_one_give() {
    let mut random = StdRng::seed_from_u64(33);
    for suite in [Suite::AesCm256HmacSha1_80, Suite::Aes128Gcm] {
        let key = key_of(suite, 10);
        for round in 0..100 {
            let policy = Policy::new(suite, &key).streams_max(12);
            let (_, mut together) = pair(&accelerator(), &policy);
            let (_, mut one_by_one) = pair(&accelerator(), &policy);
            // Jumps of any size; most packets have the index that a receiver derives for them, some are forged.
            let mut indices: [u64; 14] = [0_u64; 14].map(|_| random.random_range(0..0x1_8000));
            let sent: Vec<_> = (0..400)
                .map(|_| {
                    let source = random.random_range(0..indices.len());
                    let ahead = match random.random_range(0..10) {
                        0 => random.random_range(0..0xc000),
                        1 => random.random_range(0..0x4100),
                        _ => random.random_range(0..5),
                    };
                    indices[source] += ahead;
                    let index = indices[source].saturating_sub(random.random_range(0..4));
                    let packet = rtp(source as u32, index as u16, &[1; 30]);
                    let mut sent = by_hand::rtp(suite, &key, &[], index, &packet, 12);
                    if random.random_bool(0.1) {
                        sent[20] ^= 1;
                    }
                    sent
                })
                .collect();
            let single: Vec<_> = sent
                .iter()
                .map(|it| unprotect_one(&mut one_by_one, it))
                .collect();
            assert!(
                single.iter().filter(|it| it.is_ok()).count() > 30,
                "round {round}"
            );
            // A packet that is both forged and replayed, or from a source too many, may be refused for either reason.
            let found = unprotected(&mut together, &sent);
            for (place, (one, other)) in found.iter().zip(&single).enumerate() {
                assert_eq!(
                    one.as_ref().ok(),
                    other.as_ref().ok(),
                    "{suite:?} {round} {place}"
                );
            }
            assert_eq!(together.state().to_bytes(), one_by_one.state().to_bytes());
        }
    }
}

#[test]
fn the_sender_rolls_over_and_uses_no_number_twice() {
    for suite in [Suite::AesCm128HmacSha1_80, Suite::Aes256Gcm] {
        let key = key_of(suite, 11);
        let (mut outbound, _) = pair(&accelerator(), &Policy::new(suite, &key));
        let steps = [
            (65_530, Some(65_530)),
            (65_535, Some(65_535)),
            (0, Some(0x1_0000)),
            (65_534, Some(65_534)),
            (7, Some(0x1_0007)),
            (3, Some(0x1_0003)),
            // Equally far ahead and behind: it counts as ahead while the last number is in the lower half.
            (0x8007, Some(0x1_8007)),
            // Behind, beyond the window.
            (10_000, None),
            (65_535, Some(0x1_ffff)),
            (0, Some(0x2_0000)),
        ];
        for (sequence, index) in steps {
            let packet = rtp(8, sequence, b"payload");
            let sent = protected(&mut outbound, std::slice::from_ref(&packet)).remove(0);
            let expected = index.map(|index| by_hand::rtp(suite, &key, &[], index, &packet, 12));
            assert_eq!(sent, expected.ok_or(PacketError::Replayed), "{sequence}");
        }
        assert_eq!(outbound.index(8), Some(0x2_0000));
    }
}

#[test]
fn a_number_is_used_again_for_the_same_packet_alone() {
    for &suite in Suite::ALL {
        let key = key_of(suite, 12);
        let strict = Policy::new(suite, &key);
        let (mut outbound, _) = pair(&accelerator(), &strict);
        let packet = rtp(8, 5, b"payload");
        let other = rtp(8, 5, b"paylaod");
        // In one call and in another.
        let results = protected(
            &mut outbound,
            &[packet.clone(), packet.clone(), other.clone()],
        );
        assert!(results[0].is_ok());
        assert_eq!(
            results[1..],
            [Err(PacketError::Replayed), Err(PacketError::Replayed)]
        );
        let refused = protected(&mut outbound, std::slice::from_ref(&packet));
        assert_eq!(refused, [Err(PacketError::Replayed)]);

        let lenient = strict.retransmissions(16);
        let (mut outbound, _) = pair(&accelerator(), &lenient);
        let results = protected(
            &mut outbound,
            &[packet.clone(), packet.clone(), other.clone()],
        );
        assert_eq!(results[0], results[1]);
        assert_eq!(results[2], Err(PacketError::Altered));
        for sequence in 6..40 {
            protect_one(&mut outbound, &rtp(8, sequence, b"payload"));
        }
        let again = |outbound: &mut Outbound, sequence| {
            protected(outbound, &[rtp(8, sequence, b"payload")]).remove(0)
        };
        assert_eq!(
            again(&mut outbound, 23),
            Err(PacketError::Replayed),
            "too long ago"
        );
        assert!(again(&mut outbound, 24).is_ok() && again(&mut outbound, 39).is_ok());
        let mut header = rtp(8, 39, b"payload");
        header[1] ^= 0x80;
        let mut buffer = [&header[..], &[0; 40]].concat();
        let mut packets = [OutboundPacket::new(&mut buffer, header.len())];
        outbound.protect(&mut packets);
        assert_eq!(packets[0].protected(), Err(PacketError::Altered));
        assert!(
            buffer[..header.len()].iter().all(|byte| *byte == 0),
            "nothing of it is left"
        );
        // The new context does not know what another has sent.
        let (mut moved, _) = pair(&accelerator(), &lenient);
        moved.set_state(&outbound.state()).unwrap();
        assert_eq!(again(&mut moved, 39), Err(PacketError::Replayed));
        assert!(again(&mut moved, 40).is_ok());
    }
}
