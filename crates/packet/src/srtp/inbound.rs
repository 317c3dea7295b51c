//! The receiver's side of SRTP.

use std::fmt;
use std::sync::Arc;

use super::keys::{Cipher, Keys};
use super::mac::{Digest, TOGETHER, digest};
use super::streams::Streams;
use super::wire::{ENCRYPTED, Header, RTCP_BYTES};
use super::{AEAD_TAG_BYTES, MasterKey, PACKET_BYTES_MAX, Policy, Protocol, State, WORD_BYTES};
use crate::PacketError;
use oarlock_engine::Direction;
use oarlock_engine::Error;
use oarlock_engine::plan::Engine;
use oarlock_kernels::aead::{TAG_BYTES, tags_match};

/// Authenticates and decrypts SRTP and SRTCP packets, from `Accelerator::srtp_inbound`.
pub struct Inbound {
    engine: Arc<Engine>,
    keys: Keys,
    streams: Streams,
    rtcp_encrypted: bool,
}

impl Inbound {
    #[doc(hidden)]
    pub fn open(engine: &Arc<Engine>, policy: &Policy<'_>) -> Result<Self, Error> {
        Ok(Self {
            engine: engine.clone(),
            keys: Keys::derive(engine, policy, Direction::Decrypt)?,
            streams: Streams::new(policy.streams_max, policy.window, 0),
            rtcp_encrypted: policy.rtcp_encrypted,
        })
    }

    /// Turns SRTP packets into RTP packets in place, with the results of processing them one by one. A packet is zeroed
    /// if it is not authentic, or if its number occurred earlier in the batch. A packet refused before any cryptography
    /// is unchanged. The others continue, and [`unprotected`](InboundPacket::unprotected) returns why a packet was
    /// refused; if there are two reasons, it may be either.
    pub fn unprotect(&mut self, packets: &mut [InboundPacket<'_>]) {
        self.run(Protocol::Rtp, packets);
    }

    /// Does the same for SRTCP.
    pub fn unprotect_rtcp(&mut self, packets: &mut [InboundPacket<'_>]) {
        self.run(Protocol::Rtcp, packets);
    }

    /// Adds a master key, under the rules of [`Policy::with_keys`].
    ///
    /// # Errors
    /// Those of `Accelerator::srtp_inbound`.
    pub fn add_key(&mut self, key: MasterKey<'_>) -> Result<(), Error> {
        self.keys.add(&self.engine, key)
    }

    /// Returns the highest index of a source, which is its roll-over counter and sequence number, or `None` before its
    /// first RTP packet.
    pub fn index(&mut self, ssrc: u32) -> Option<u64> {
        let place = self.streams.find(ssrc)?;
        self.streams.get(place).rtp.highest().checked_sub(1)
    }

    /// Sets the roll-over counter of a source's first packet, for a receiver that joins a session after the first
    /// roll-over (RFC 3711, 3.3.1). After the first RTP packet it has no effect.
    ///
    /// # Errors
    /// [`PacketError::TooManyStreams`].
    pub fn expect_roll_over_counter(&mut self, ssrc: u32, counter: u32) -> Result<(), PacketError> {
        let place = self.streams.find_or_add(ssrc)?;
        self.streams.get(place).first_roc = counter;
        Ok(())
    }

    /// Forgets a source that has ended, which makes room for another. Its old packets are accepted again.
    pub fn remove(&mut self, ssrc: u32) -> bool {
        self.streams.remove(ssrc)
    }

    /// Returns everything that another context needs to continue under the same keys.
    pub fn state(&self) -> State {
        State::of(&self.keys, &self.streams)
    }

    /// Continues from the state of a context under the same keys, which replaces this context's own.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if it names other keys, or more sources than the policy allows. Nothing is changed then.
    pub fn set_state(&mut self, state: &State) -> Result<(), Error> {
        state.put(&mut self.keys, &mut self.streams)
    }

    #[inline]
    pub(super) fn run(&mut self, protocol: Protocol, packets: &mut [InboundPacket<'_>]) {
        let is_aead = self.keys.suite.aead().is_some();
        let mut left = packets;
        while !left.is_empty() {
            let together = if is_aead { usize::MAX } else { TOGETHER };
            let count = self.begin_some(protocol, left, together);
            let (now, later) = left.split_at_mut(count);
            match now {
                _ if is_aead => self.run_aead(protocol, now),
                [_] => self.run_mac::<1>(protocol, now),
                _ => self.run_mac::<TOGETHER>(protocol, now),
            }
            left = later;
        }
    }

    /// Begins up to `max` packets from the front, and returns how many. It stops before a packet whose index could
    /// depend on which of the earlier packets are authentic.
    #[inline]
    fn begin_some(
        &mut self,
        protocol: Protocol,
        packets: &mut [InboundPacket<'_>],
        max: usize,
    ) -> usize {
        let mut new = News::default();
        for (count, packet) in packets.iter_mut().enumerate() {
            if count == max {
                return count;
            }
            packet.result = self.begin(protocol, packet);
            // A number that is too old now may have a new index after the packets before it.
            let has_index = matches!(packet.result, Ok(()) | Err(PacketError::Replayed));
            if !has_index || protocol == Protocol::Rtcp {
                continue;
            }
            let Plan { ssrc, index, .. } = packet.plan;
            let highest = (packet.plan.stream)
                .and_then(|place| self.streams.get(place).rtp.highest().checked_sub(1));
            let is_sure = match highest {
                Some(highest) => highest.abs_diff(index) < NEAR,
                None => new.is_sure(ssrc, index),
            };
            if !is_sure {
                // The next round starts with it, and knows the results of this one.
                return count.max(1);
            }
        }
        packets.len()
    }

    /// Authenticates all packets, then decrypts the authentic ones.
    fn run_mac<const N: usize>(&mut self, protocol: Protocol, packets: &mut [InboundPacket<'_>]) {
        let tag_bytes = self.keys.suite.tag_bytes(protocol);
        let mut tags = [[0; TAG_BYTES]; N];
        for (packet, tag) in packets.iter_mut().zip(&mut tags) {
            if packet.result.is_err() {
                continue;
            }
            let tag_start = packet.buffer.len() - tag_bytes;
            tag[..tag_bytes].copy_from_slice(&packet.buffer[tag_start..]);
            if protocol == Protocol::Rtp {
                // The roll-over counter is authenticated after the packet, and fits in the place of MKI and tag.
                let end = packet.plan.end;
                packet.buffer[end..end + WORD_BYTES]
                    .copy_from_slice(&packet.plan.word.to_be_bytes());
            }
        }
        let bytes: usize = packets.iter().map(|packet| packet.buffer.len()).sum();
        let (count, bytes) = (packets.len() as u64, bytes as u64);
        self.engine.show_chained(Direction::Decrypt, count, bytes);
        let mut digests = [[0; 20]; N];
        digest(
            self.engine.cpu(),
            packets
                .iter()
                .filter(|packet| packet.result.is_ok())
                .filter_map(|packet| {
                    let mac = self.keys.get(packet.plan.key, protocol).mac()?;
                    Some((mac, &packet.buffer[..packet.plan.end + WORD_BYTES]))
                }),
            &mut digests,
        );
        let mut digests: std::slice::Iter<'_, Digest> = digests.iter();
        for (packet, tag) in packets.iter_mut().zip(&tags) {
            if packet.result.is_err() {
                continue;
            }
            let mut expected = [0; TAG_BYTES];
            if let Some(digest) = digests.next() {
                expected[..tag_bytes].copy_from_slice(&digest[..tag_bytes]);
            }
            let accepted = if tags_match(&expected, tag) {
                self.accept(protocol, packet)
            } else {
                Err(PacketError::AuthenticationFailed)
            };
            if let Err(error) = accepted {
                packet.refuse(error);
            }
        }
        if self.keys.suite.encrypts() && (protocol == Protocol::Rtp || self.rtcp_encrypted) {
            for packet in packets {
                let Plan {
                    ssrc,
                    index,
                    start,
                    end,
                    ..
                } = packet.plan;
                let key = self.keys.get(packet.plan.key, protocol);
                if packet.result.is_ok()
                    && let Some(ctr) = key.ctr()
                {
                    let data = &mut packet.buffer[start..end];
                    ctr.apply(key.counter(ssrc, index), 0, data.into());
                }
            }
        }
    }

    /// Authenticates and decrypts each packet in one pass.
    fn run_aead(&mut self, protocol: Protocol, packets: &mut [InboundPacket<'_>]) {
        let mut left = &mut *packets;
        while let Some(first) = left.first() {
            // Packets under the same key.
            let place = first.plan.key;
            let count = (left.iter())
                .take_while(|packet| packet.result.is_err() || packet.plan.key == place)
                .count();
            let (now, later) = left.split_at_mut(count);
            let key = self.keys.get(place, protocol);
            let encrypted = self.rtcp_encrypted;
            if let Cipher::Aead(aead) = &key.cipher {
                let bytes = (now.iter())
                    .filter(|packet| packet.result.is_ok())
                    .map(|packet| packet.buffer.len())
                    .sum();
                self.keys.each(bytes, now, &|packet| {
                    if packet.result.is_err() {
                        return;
                    }
                    let Plan {
                        ssrc,
                        index,
                        start,
                        end,
                        word,
                        ..
                    } = packet.plan;
                    let nonce = key.nonce(ssrc, index);
                    let (text, behind) = packet.buffer.split_at_mut(end);
                    let mut tag = [0; AEAD_TAG_BYTES];
                    tag.copy_from_slice(&behind[..AEAD_TAG_BYTES]);
                    let word = word.to_be_bytes();
                    let opened = match protocol {
                        Protocol::Rtp => {
                            let (header, payload) = text.split_at_mut(start);
                            aead.open_or_zero(&nonce, header, payload.into(), &tag)
                        }
                        Protocol::Rtcp if encrypted => {
                            let (header, payload) = text.split_at_mut(RTCP_BYTES);
                            let mut aad = [0; RTCP_BYTES + WORD_BYTES];
                            aad[..RTCP_BYTES].copy_from_slice(header);
                            aad[RTCP_BYTES..].copy_from_slice(&word);
                            aead.open_or_zero(&nonce, &aad, payload.into(), &tag)
                        }
                        Protocol::Rtcp => {
                            // Restore the order in which it was sealed: E and the index before the tag.
                            behind[..WORD_BYTES].copy_from_slice(&word);
                            let aad = &packet.buffer[..end + WORD_BYTES];
                            aead.open_or_zero(&nonce, aad, (&mut [][..]).into(), &tag)
                        }
                    };
                    if let Err(error) = opened {
                        packet.refuse(error.into());
                    }
                });
            }
            left = later;
        }
        for packet in packets {
            if packet.result.is_ok()
                && let Err(error) = self.accept(protocol, packet)
            {
                packet.refuse(error);
            }
        }
    }

    /// Refuses packets that cannot be authentic before any cryptography.
    #[inline]
    fn begin(
        &mut self,
        protocol: Protocol,
        packet: &mut InboundPacket<'_>,
    ) -> Result<(), PacketError> {
        let bytes = packet.buffer.len();
        let invalid = PacketError::InvalidLength { bytes };
        let tag_bytes = self.keys.suite.tag_bytes(protocol);
        let mki_bytes = self.keys.mki_bytes;
        let word_bytes = match protocol {
            Protocol::Rtp => 0,
            Protocol::Rtcp => WORD_BYTES,
        };
        let Some(end) = bytes.checked_sub(tag_bytes + mki_bytes + word_bytes) else {
            return Err(invalid);
        };
        if bytes > PACKET_BYTES_MAX {
            return Err(invalid);
        }
        let header = Header::parse(protocol, &packet.buffer[..end], bytes)?;
        let is_aead = self.keys.suite.aead().is_some();
        let mki_end = if is_aead { bytes } else { bytes - tag_bytes };
        let mki_start = mki_end - mki_bytes;
        let key = if mki_bytes == 0 {
            0
        } else {
            (self.keys.find(&packet.buffer[mki_start..mki_end])).ok_or(PacketError::UnknownKey)?
        };
        let stream = self.streams.find(header.ssrc);
        let (index, word) = match protocol {
            Protocol::Rtp => {
                let index = match stream {
                    Some(place) => self.streams.get(place).index(header.sequence)?,
                    None => u64::from(header.sequence),
                };
                (index, (index >> 16) as u32)
            }
            Protocol::Rtcp => {
                let mut word = [0; WORD_BYTES];
                word.copy_from_slice(&packet.buffer[mki_start - WORD_BYTES..mki_start]);
                let word = u32::from_be_bytes(word);
                if (word & ENCRYPTED != 0) != self.rtcp_encrypted {
                    return Err(PacketError::EncryptionMismatch);
                }
                (u64::from(word & !ENCRYPTED), word)
            }
        };
        packet.plan = Plan {
            ssrc: header.ssrc,
            word,
            index,
            start: header.bytes,
            end,
            key,
            stream,
        };
        match stream {
            Some(place) if !self.streams.get(place).window(protocol).accepts(index + 1) => {
                return Err(PacketError::Replayed);
            }
            Some(_) => {}
            None if self.streams.is_full() => return Err(self.streams.full()),
            None => {}
        }
        Ok(())
    }

    /// Marks the number of an authentic packet as seen, or refuses a replay.
    #[inline]
    fn accept(
        &mut self,
        protocol: Protocol,
        packet: &InboundPacket<'_>,
    ) -> Result<(), PacketError> {
        let Plan {
            ssrc,
            index,
            key,
            stream,
            ..
        } = packet.plan;
        let place = match stream {
            Some(place) => place,
            None => self.streams.find_or_add(ssrc)?,
        };
        let window = self.streams.get(place).window(protocol);
        if !window.accepts(index + 1) {
            return Err(PacketError::Replayed);
        }
        self.keys.count(key, protocol)?;
        window.insert(index + 1);
        Ok(())
    }
}

#[cfg(test)]
impl Inbound {
    pub(super) fn with(engine: &Arc<Engine>, policy: &Policy<'_>, keys: Keys) -> Self {
        Self {
            keys,
            ..Self::open(engine, policy).unwrap()
        }
    }
}

impl fmt::Debug for Inbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbound")
            .field("suite", &self.keys.suite)
            .field("streams", &self.streams.all().len())
            .finish_non_exhaustive()
    }
}

/// An SRTP or SRTCP packet to unprotect.
#[derive(Debug)]
pub struct InboundPacket<'a> {
    buffer: &'a mut [u8],
    plan: Plan,
    result: Result<(), PacketError>,
}

/// What to compute for a packet.
#[derive(Clone, Copy, Debug, Default)]
struct Plan {
    ssrc: u32,
    /// The word authenticated with the packet: the roll-over counter of SRTP, or E and the index of SRTCP.
    word: u32,
    index: u64,
    /// The start of the encrypted part, which ends at `end`.
    start: usize,
    end: usize,
    /// The position of the master key.
    key: usize,
    /// The position of the source, if it is known.
    stream: Option<usize>,
}

impl<'a> InboundPacket<'a> {
    /// Wraps a received packet: what follows the UDP header.
    pub fn new(buffer: &'a mut [u8]) -> Self {
        Self {
            buffer,
            plan: Plan::default(),
            result: Err(PacketError::Pending),
        }
    }

    /// Returns the packet as it was before protection.
    ///
    /// # Errors
    /// Why the packet was not accepted. Its buffer then holds no plaintext.
    pub fn unprotected(&self) -> Result<Unprotected<'_>, PacketError> {
        match &self.result {
            Ok(()) => Ok(Unprotected {
                packet: &self.buffer[..self.plan.end],
                ssrc: self.plan.ssrc,
                index: self.plan.index,
            }),
            Err(error) => Err(error.clone()),
        }
    }

    fn refuse(&mut self, error: PacketError) {
        self.buffer.fill(0);
        self.result = Err(error);
    }
}

/// An authentic packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unprotected<'a> {
    /// The RTP or RTCP packet, from its first byte.
    pub packet: &'a [u8],
    /// The synchronization source.
    pub ssrc: u32,
    /// The index: for RTP the roll-over counter and sequence number, for RTCP the number it carries.
    pub index: u64,
}

/// New sources in a round, with the index of each one's first packet.
#[derive(Default)]
struct News {
    first: [(u32, u64); NEWS_MAX],
    count: usize,
}

impl News {
    fn is_sure(&mut self, ssrc: u32, index: u64) -> bool {
        let known = self.first[..self.count].iter().find(|it| it.0 == ssrc);
        if let Some((_, first)) = known {
            return first.abs_diff(index) < NEAR / 2;
        }
        let is_room = self.count < NEWS_MAX;
        if is_room {
            self.first[self.count] = (ssrc, index);
            self.count += 1;
        }
        is_room
    }
}

const NEWS_MAX: usize = 8;
/// An index changes if its number is 2^15 or more from the highest. If a round moves the highest by less than half of
/// that, every index within the other half stays the same.
const NEAR: u64 = 1 << 14;
