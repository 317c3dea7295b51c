//! The state of an SRTP context (keys, sources, indices), also when it moves.

use oarlock::Error;
use oarlock::packet::PacketError;
use oarlock::packet::srtp::{Inbound, MasterKey, Outbound, Policy, State, Suite};

use super::srtp::{
    pair, protect_one, protected, protected_rtcp, rtp, unprotect_one, unprotected, unprotected_rtcp,
};
use super::srtp_by_hand as by_hand;
use super::srtp_by_hand::key_of;
use crate::common::accelerator;

const RTCP: [u8; 12] = [0x81, 201, 0, 2, 0, 0, 0, 9, 1, 2, 3, 4];

#[test]
fn each_packet_names_its_master_key() {
    for &suite in Suite::ALL {
        let keys: Vec<_> = (0..3).map(|i| key_of(suite, i * 50)).collect();
        let mkis: Vec<_> = (0..3).map(|i| vec![i as u8; 4]).collect();
        let named: Vec<_> = (mkis.iter().zip(&keys))
            .map(|(mki, key)| MasterKey { mki, key })
            .collect();
        let policy = Policy::with_keys(suite, &named[..2]);
        let (mut outbound, mut inbound) = pair(&accelerator(), &policy);
        outbound.add_key(named[2]).unwrap();
        assert!(matches!(
            outbound.use_key(&[9; 4]),
            Err(Error::InvalidKey(_))
        ));

        let mut sent = Vec::new();
        let mut sent_rtcp = Vec::new();
        let packets: Vec<_> = (0..90).map(|i| rtp(1, i, &[3; 50])).collect();
        for (packet, index) in packets.iter().zip(0..) {
            let key = index as usize % 3;
            outbound.use_key(&mkis[key]).unwrap();
            sent.push(protect_one(&mut outbound, packet));
            let expected = by_hand::rtp(suite, &keys[key], &mkis[key], index, packet, 12);
            assert_eq!(sent.last(), Some(&expected), "{suite:?}");
            let rtcp = protected_rtcp(&mut outbound, &[RTCP.to_vec()]).remove(0);
            let index = index as u32;
            let expected = by_hand::rtcp(suite, &keys[key], &mkis[key], index, true, &RTCP);
            assert_eq!(rtcp, Ok(expected.clone()), "{suite:?}");
            sent_rtcp.push(expected);
        }
        // Two keys are known, then three.
        for known in [2, 3] {
            for (place, back) in unprotected(&mut inbound, &sent).into_iter().enumerate() {
                let expected = match place % 3 {
                    key if key >= known => Err(PacketError::UnknownKey),
                    key if known == 3 && key < 2 => Err(PacketError::Replayed),
                    _ => Ok((packets[place].clone(), place as u64)),
                };
                assert_eq!(back, expected, "{suite:?} {place}");
            }
            for (place, back) in unprotected_rtcp(&mut inbound, &sent_rtcp)
                .into_iter()
                .enumerate()
            {
                let expected = match place % 3 {
                    key if key >= known => Err(PacketError::UnknownKey),
                    key if known == 3 && key < 2 => Err(PacketError::Replayed),
                    _ => Ok((RTCP.to_vec(), place as u64)),
                };
                assert_eq!(back, expected, "{suite:?} {place}");
            }
            if known == 2 {
                inbound.add_key(named[2]).unwrap();
            }
        }
        // The right MKI before the wrong tag.
        let mut swapped = protect_one(&mut outbound, &rtp(1, 90, &[3; 50]));
        let mki_end = swapped.len()
            - if by_hand::is_gcm(suite) {
                0
            } else {
                by_hand::tag_bytes(suite)
            };
        swapped[mki_end - 4..mki_end].copy_from_slice(&mkis[0]);
        let refused = unprotect_one(&mut inbound, &swapped);
        assert_eq!(refused, Err(PacketError::AuthenticationFailed));
    }
}

#[test]
fn policies_that_cannot_be_are_refused() {
    let accelerator = accelerator();
    for &suite in Suite::ALL {
        for bytes in [0, 13, suite.key_bytes() - 1, suite.key_bytes() + 1] {
            let refused = accelerator.srtp_outbound(&Policy::new(suite, &[7; 64][..bytes]));
            assert!(
                matches!(refused, Err(Error::InvalidKey(_))),
                "{suite:?} {bytes}"
            );
        }
    }
    let key = [1; 30];
    let long = [1; MasterKey::MKI_BYTES_MAX + 1];
    let with_mki = |mki| MasterKey { mki, key: &key };
    let mkis: Vec<_> = (0..=Policy::KEYS_MAX as u8).map(|i| [i]).collect();
    let many: Vec<_> = mkis.iter().map(|mki| with_mki(mki)).collect();
    let suite = Suite::AesCm128HmacSha1_80;
    for keys in [
        &[][..],
        &[with_mki(&[])],
        &[with_mki(&long)],
        &[with_mki(&[1]), with_mki(&[1])],
        &[with_mki(&[1]), with_mki(&[1, 2])],
        &many,
    ] {
        let refused = accelerator.srtp_inbound(&Policy::with_keys(suite, keys));
        assert!(matches!(refused, Err(Error::InvalidInput(_))), "{keys:?}");
    }
    for keys in [&many[1..], &[with_mki(&long[1..])]] {
        assert!(
            accelerator
                .srtp_inbound(&Policy::with_keys(suite, keys))
                .is_ok()
        );
    }
    // A policy without an MKI has one key.
    let mut outbound = accelerator
        .srtp_outbound(&Policy::new(suite, &key))
        .unwrap();
    assert!(matches!(
        outbound.add_key(with_mki(&[1])),
        Err(Error::InvalidInput(_))
    ));
    assert!(matches!(
        outbound.add_key(with_mki(&[])),
        Err(Error::InvalidInput(_))
    ));
}

#[test]
fn forged_sources_take_no_room_and_authentic_ones_are_bounded() {
    for suite in [Suite::AesCm128HmacSha1_80, Suite::Aes128Gcm] {
        let key = key_of(suite, 1);
        let policy = Policy::new(suite, &key).streams_max(20);
        let (_, mut inbound) = pair(&accelerator(), &policy);
        let (mut outbound, _) = pair(&accelerator(), &Policy::new(suite, &key));
        let flood: Vec<_> = (0..5000).map(|ssrc| rtp(ssrc, 1, &[0; 40])).collect();
        for refused in unprotected(&mut inbound, &flood) {
            assert_eq!(refused, Err(PacketError::AuthenticationFailed));
        }
        let packets: Vec<_> = (0..50).map(|ssrc| rtp(ssrc, 1, b"x")).collect();
        let sent: Vec<_> = protected(&mut outbound, &packets)
            .into_iter()
            .map(Result::unwrap)
            .collect();
        for (place, back) in unprotected(&mut inbound, &sent).into_iter().enumerate() {
            let full = Err(PacketError::TooManyStreams { max: 20 });
            let expected = if place < 20 {
                Ok((packets[place].clone(), 1))
            } else {
                full
            };
            assert_eq!(back, expected);
        }
        assert!(inbound.remove(7) && !inbound.remove(7));
        assert!(unprotect_one(&mut inbound, &sent[30]).is_ok());
        assert!(unprotect_one(&mut inbound, &sent[31]).is_err());
        assert_eq!((inbound.index(30), inbound.index(7)), (Some(1), None));

        let (mut outbound, _) = pair(&accelerator(), &policy);
        let sent = protected(&mut outbound, &packets);
        assert!(sent[..20].iter().all(Result::is_ok));
        assert_eq!(sent[20], Err(PacketError::TooManyStreams { max: 20 }));
    }
}

#[test]
fn a_receiver_joins_behind_a_roll_over() {
    let suite = Suite::AesCm128HmacSha1_80;
    let key = key_of(suite, 2);
    let (_, mut inbound) = pair(&accelerator(), &Policy::new(suite, &key));
    let packet = rtp(4, 100, b"late");
    let index = 5 << 16 | 100;
    let sent = by_hand::rtp(suite, &key, &[], index, &packet, 12);
    let refused = unprotect_one(&mut inbound, &sent);
    assert_eq!(refused, Err(PacketError::AuthenticationFailed));
    inbound.expect_roll_over_counter(4, 5).unwrap();
    assert_eq!(inbound.index(4), None);
    assert_eq!(unprotect_one(&mut inbound, &sent), Ok((packet, index)));
    inbound.expect_roll_over_counter(4, 9).unwrap();
    let next = rtp(4, 101, b"later");
    let sent = by_hand::rtp(suite, &key, &[], index + 1, &next, 12);
    assert_eq!(unprotect_one(&mut inbound, &sent), Ok((next, index + 1)));
}

#[test]
fn a_context_that_moves_goes_on() {
    for &suite in Suite::ALL {
        let key = key_of(suite, 3);
        let policy = Policy::new(suite, &key);
        let (mut outbound, mut inbound) = pair(&accelerator(), &policy);
        let mut sequence = 65_400_u16;
        let mut late = Vec::new();
        for _ in 0..8 {
            let mut packets = Vec::new();
            for ssrc in 0..3 {
                for _ in 0..60 {
                    sequence = sequence.wrapping_add(1);
                    packets.push(rtp(ssrc, sequence, &[1; 20]));
                }
            }
            let mut sent: Vec<_> = protected(&mut outbound, &packets)
                .into_iter()
                .map(Result::unwrap)
                .collect();
            late.push((sent.pop().unwrap(), packets.pop().unwrap()));
            for (back, packet) in unprotected(&mut inbound, &sent).into_iter().zip(packets) {
                assert_eq!(back.unwrap().0, packet);
            }
            let rtcp = protected_rtcp(&mut outbound, &[RTCP.to_vec(), RTCP.to_vec()]);
            let rtcp: Vec<_> = rtcp.into_iter().map(Result::unwrap).collect();
            assert_eq!(
                unprotected_rtcp(&mut inbound, &rtcp[..1])[0]
                    .as_ref()
                    .unwrap()
                    .0,
                RTCP
            );

            // Both contexts move, the receiver to one with a longer window.
            let state = State::from_bytes(&outbound.state().to_bytes()).unwrap();
            assert_eq!(state.to_bytes(), outbound.state().to_bytes());
            let (mut new_outbound, _) = pair(&accelerator(), &policy);
            new_outbound.set_state(&state).unwrap();
            let refused = protected(&mut new_outbound, &[rtp(2, sequence, b"another")]);
            assert_eq!(refused, [Err(PacketError::Replayed)]);
            let longer = policy.replay_window(1024);
            let (_, mut new_inbound) = pair(&accelerator(), &longer);
            new_inbound.set_state(&inbound.state()).unwrap();
            assert_eq!(new_inbound.index(2), inbound.index(2));
            for sent in &sent {
                assert_eq!(
                    unprotect_one(&mut new_inbound, sent),
                    Err(PacketError::Replayed)
                );
            }
            let found = unprotected_rtcp(&mut new_inbound, &rtcp);
            assert_eq!(found[0], Err(PacketError::Replayed));
            assert_eq!(found[1].as_ref().unwrap().0, RTCP);
            (outbound, inbound) = (new_outbound, new_inbound);
        }
        let (sent, packet) = late.pop().unwrap();
        assert_eq!(unprotect_one(&mut inbound, &sent).unwrap().0, packet);
        // What was older than the first window stays refused in the longer one.
        let (sent, _) = &late[0];
        assert_eq!(
            unprotect_one(&mut inbound, sent),
            Err(PacketError::Replayed)
        );
    }
}

#[test]
fn a_state_of_something_else_is_refused() {
    let suite = Suite::AesCm128HmacSha1_80;
    let key = key_of(suite, 4);
    let policy = Policy::new(suite, &key);
    let (mut outbound, mut inbound) = pair(&accelerator(), &policy);
    let packets: Vec<_> = (0..30).map(|ssrc| rtp(ssrc, 1, b"x")).collect();
    protected(&mut outbound, &packets);
    let bytes = outbound.state().to_bytes();
    for length in 0..bytes.len() {
        assert!(State::from_bytes(&bytes[..length]).is_err(), "{length}");
    }
    assert!(State::from_bytes(&[&bytes[..], &[0]].concat()).is_err());
    for place in 0..bytes.len().min(400) {
        for bit in 0..8 {
            let mut altered = bytes.clone();
            altered[place] ^= 1 << bit;
            // An altered state is refused or is another valid state; it neither panics nor allocates for missing data.
            if let Ok(state) = State::from_bytes(&altered) {
                assert_eq!(state.to_bytes(), altered, "{place}");
                let _ = inbound.set_state(&state);
            }
        }
    }
    let state = outbound.state();
    let other = key_of(Suite::Aes128Gcm, 4);
    let mkis = [MasterKey {
        mki: b"a",
        key: &key,
    }];
    for policy in [
        Policy::new(Suite::Aes128Gcm, &other),
        Policy::with_keys(suite, &mkis),
        policy.streams_max(29),
    ] {
        let (_, mut inbound) = pair(&accelerator(), &policy);
        assert!(matches!(
            inbound.set_state(&state),
            Err(Error::InvalidInput(_))
        ));
        assert_eq!(inbound.index(3), None);
    }
}

/// Returns the state of a context near its end, with one source, and with the number of packets that its key has protected.
fn near_the_end(suite: Suite, used: [u64; 2], highest: [u64; 2]) -> State {
    let mut bytes = b"oarlock srtp 1\n".to_vec();
    bytes.push(Suite::ALL.iter().position(|it| *it == suite).unwrap() as u8);
    bytes.extend([1, 0]);
    used.iter()
        .for_each(|used| bytes.extend(used.to_be_bytes()));
    bytes.extend([0, 0, 0, 1]);
    bytes.extend(9_u32.to_be_bytes());
    bytes.extend([0; 4]);
    for highest in highest {
        bytes.extend(highest.to_be_bytes());
        bytes.extend(64_u16.to_be_bytes());
        bytes.extend(if highest > 0 {
            [0x80, 0, 0, 0, 0, 0, 0, 0]
        } else {
            [0; 8]
        });
    }
    State::from_bytes(&bytes).unwrap()
}

#[test]
fn no_index_and_no_key_is_used_beyond_its_end() {
    for suite in [Suite::AesCm128HmacSha1_80, Suite::Aes256Gcm] {
        let key = key_of(suite, 5);
        let (mut outbound, mut inbound) = pair(&accelerator(), &Policy::new(suite, &key));
        let exhausted = Err(PacketError::SequenceExhausted);
        // The last indices of a source: a window counts them from 1.
        let state = near_the_end(suite, [0, 0], [(1 << 48) - 1, (1 << 31) - 1]);
        outbound.set_state(&state).unwrap();
        inbound.set_state(&state).unwrap();
        let last = rtp(9, 0xffff, b"last");
        let sent = protected(&mut outbound, &[last.clone(), rtp(9, 0, b"none")]);
        let expected = by_hand::rtp(suite, &key, &[], (1 << 48) - 1, &last, 12);
        assert_eq!(sent, [Ok(expected.clone()), exhausted.clone()]);
        let back = unprotect_one(&mut inbound, &expected);
        assert_eq!(back, Ok((last, (1 << 48) - 1)));
        let beyond = by_hand::rtp(suite, &key, &[], 0, &rtp(9, 0, b"none"), 12);
        assert_eq!(
            unprotect_one(&mut inbound, &beyond),
            Err(PacketError::SequenceExhausted)
        );
        let sent = protected_rtcp(&mut outbound, &[RTCP.to_vec(), RTCP.to_vec()]);
        let expected = by_hand::rtcp(suite, &key, &[], (1 << 31) - 1, true, &RTCP);
        assert_eq!(sent, [Ok(expected.clone()), exhausted.clone()]);
        let back = unprotected_rtcp(&mut inbound, &[expected.clone(), expected]);
        assert_eq!(back[0], Ok((RTCP.to_vec(), (1 << 31) - 1)));
        assert_eq!(back[1], Err(PacketError::Replayed));

        // The last packets of a key, from any source.
        let state = near_the_end(suite, [(1 << 48) - 2, (1 << 31) - 1], [1, 1]);
        outbound.set_state(&state).unwrap();
        inbound.set_state(&state).unwrap();
        let packets: Vec<_> = (5..9).map(|ssrc| rtp(ssrc, 1, b"x")).collect();
        let sent = protected(&mut outbound, &packets);
        assert!(sent[0].is_ok() && sent[1].is_ok());
        assert_eq!(sent[2..], [exhausted.clone(), exhausted.clone()]);
        let sent = protected_rtcp(&mut outbound, &[RTCP.to_vec(), RTCP.to_vec()]);
        assert!(sent[0].is_ok());
        assert_eq!(sent[1], exhausted);
        let (mut fresh, _) = pair(&accelerator(), &Policy::new(suite, &key));
        let sent = protected(&mut fresh, &packets);
        let sent: Vec<_> = sent.into_iter().map(Result::unwrap).collect();
        let back = unprotected(&mut inbound, &sent);
        assert!(back[0].is_ok() && back[1].is_ok());
        for back in &back[2..] {
            assert_eq!(*back, Err(PacketError::SequenceExhausted));
        }
    }
}

#[test]
fn nothing_secret_is_shown() {
    let key = [0x5a; 30];
    let named = [MasterKey {
        mki: b"a",
        key: &key,
    }];
    let policy = Policy::with_keys(Suite::AesCm128HmacSha1_80, &named);
    let (outbound, inbound): (Outbound, Inbound) = pair(&accelerator(), &policy);
    for shown in [
        format!("{policy:?}"),
        format!("{:?}", named[0]),
        format!("{outbound:?}"),
        format!("{inbound:?}"),
    ] {
        assert!(
            !shown.contains("90, 90") && !shown.contains("5a5a"),
            "{shown}"
        );
    }
}
