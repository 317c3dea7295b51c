//! The sender's side of SRTP.

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

/// Protects RTP and RTCP packets, from `Accelerator::srtp_outbound`.
pub struct Outbound {
    engine: Arc<Engine>,
    keys: Keys,
    /// The position of the key in use.
    key: usize,
    streams: Streams,
    rtcp_encrypted: bool,
}

impl Outbound {
    #[doc(hidden)]
    pub fn open(engine: &Arc<Engine>, policy: &Policy<'_>) -> Result<Self, Error> {
        Ok(Self {
            engine: engine.clone(),
            keys: Keys::derive(engine, policy, Direction::Encrypt)?,
            key: 0,
            streams: Streams::new(policy.streams_max, policy.window, policy.retransmissions),
            rtcp_encrypted: policy.rtcp_encrypted,
        })
    }

    /// Protects RTP packets in place. Sequence numbers continue from earlier ones: a number that is lower by more than
    /// half of the range counts as rolled over. A number that was used is refused, unless it is a
    /// [retransmission](Policy::retransmissions). A refused packet is not protected, and its
    /// [`protected`](OutboundPacket::protected) returns why; the others continue.
    pub fn protect(&mut self, packets: &mut [OutboundPacket<'_>]) {
        self.run(Protocol::Rtp, packets);
    }

    /// Protects RTCP packets, which may be compound, and numbers them in order.
    pub fn protect_rtcp(&mut self, packets: &mut [OutboundPacket<'_>]) {
        self.run(Protocol::Rtcp, packets);
    }

    /// Switches to the master key with this MKI. Numbers continue.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] if there is none.
    pub fn use_key(&mut self, mki: &[u8]) -> Result<(), Error> {
        self.key = self.keys.find(mki).ok_or_else(unknown_key)?;
        Ok(())
    }

    /// Adds a master key, under the rules of [`Policy::with_keys`].
    ///
    /// # Errors
    /// Those of `Accelerator::srtp_outbound`.
    pub fn add_key(&mut self, key: MasterKey<'_>) -> Result<(), Error> {
        self.keys.add(&self.engine, key)
    }

    /// Returns the highest index of a source's RTP packets, which is its roll-over counter and sequence number, or
    /// `None` before the first.
    pub fn index(&mut self, ssrc: u32) -> Option<u64> {
        let place = self.streams.find(ssrc)?;
        self.streams.get(place).rtp.highest().checked_sub(1)
    }

    /// Forgets a source that has ended, which makes room for another. A later source with the same SSRC would reuse
    /// numbers under the same key.
    pub fn remove(&mut self, ssrc: u32) -> bool {
        self.streams.remove(ssrc)
    }

    /// Returns everything that another context needs to continue under the same keys.
    pub fn state(&self) -> State {
        State::of(&self.keys, &self.streams)
    }

    /// Continues from the state of a context under the same keys, which replaces this context's own. The other context
    /// must protect no more packets.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if it names other keys, or more sources than the policy allows. Nothing is changed then.
    pub fn set_state(&mut self, state: &State) -> Result<(), Error> {
        state.put(&mut self.keys, &mut self.streams)
    }

    #[inline]
    pub(super) fn run(&mut self, protocol: Protocol, packets: &mut [OutboundPacket<'_>]) {
        match packets {
            [] => {}
            _ if self.keys.suite.aead().is_some() => self.run_aead(protocol, packets),
            [_] => self.run_mac::<1>(protocol, packets),
            _ => {
                for packets in packets.chunks_mut(TOGETHER) {
                    self.run_mac::<TOGETHER>(protocol, packets);
                }
            }
        }
    }

    /// Encrypts all packets, then authenticates them.
    fn run_mac<const N: usize>(&mut self, protocol: Protocol, packets: &mut [OutboundPacket<'_>]) {
        for packet in &mut *packets {
            packet.result = self.begin(protocol, packet);
        }
        let bytes: usize = packets.iter().map(|packet| packet.bytes).sum();
        let (count, bytes) = (packets.len() as u64, bytes as u64);
        self.engine.show_chained(Direction::Encrypt, count, bytes);
        let key = self.keys.get(self.key, protocol);
        if let Some(ctr) = key.ctr()
            && (protocol == Protocol::Rtp || self.rtcp_encrypted)
        {
            // One by one: packets under one key overlap without help as well as in the multi-packet kernel
            // (docs/internals/packets.md).
            for packet in &mut *packets {
                if packet.result.is_ok() {
                    let Plan {
                        ssrc, index, start, ..
                    } = packet.plan;
                    let data = &mut packet.buffer[start..packet.bytes];
                    ctr.apply(key.counter(ssrc, index), 0, data.into());
                }
            }
        }
        for packet in &mut *packets {
            if packet.result.is_ok() {
                let bytes = packet.bytes;
                packet.buffer[bytes..bytes + WORD_BYTES]
                    .copy_from_slice(&packet.plan.word.to_be_bytes());
            }
        }
        let mut digests = [[0; 20]; N];
        if let Some(mac) = key.mac() {
            digest(
                self.engine.cpu(),
                (packets.iter())
                    .filter(|packet| packet.result.is_ok())
                    .map(|packet| (mac, &packet.buffer[..packet.bytes + WORD_BYTES])),
                &mut digests,
            );
        }
        let mut digests: std::slice::Iter<'_, Digest> = digests.iter();
        for packet in packets {
            if packet.result.is_ok()
                && let Some(digest) = digests.next()
            {
                self.end_mac(protocol, packet, digest);
            }
        }
    }

    /// Writes the fields after the packet: MKI and tag. For RTCP, E and the index are there already.
    #[inline]
    fn end_mac(&mut self, protocol: Protocol, packet: &mut OutboundPacket<'_>, digest: &Digest) {
        let behind = match protocol {
            Protocol::Rtp => packet.bytes,
            Protocol::Rtcp => packet.bytes + WORD_BYTES,
        };
        let mki = &self.keys.all()[self.key].mki;
        let tag_bytes = self.keys.suite.tag_bytes(protocol);
        let (to_mki, to_tag) =
            packet.buffer[behind..behind + mki.len() + tag_bytes].split_at_mut(mki.len());
        to_mki.copy_from_slice(mki);
        to_tag.copy_from_slice(&digest[..tag_bytes]);
        packet.result = Ok(behind + mki.len() + tag_bytes);
        self.check_repeated(protocol, packet, digest);
    }

    /// Encrypts and authenticates each packet in one pass.
    fn run_aead(&mut self, protocol: Protocol, packets: &mut [OutboundPacket<'_>]) {
        let mut bytes = 0;
        for packet in &mut *packets {
            packet.result = self.begin(protocol, packet);
            if packet.result.is_ok() {
                bytes += packet.bytes;
            }
        }
        let key = self.keys.get(self.key, protocol);
        let Cipher::Aead(aead) = &key.cipher else {
            return;
        };
        let encrypted = self.rtcp_encrypted;
        self.keys.each(bytes, packets, &|packet| {
            if packet.result.is_err() {
                return;
            }
            let Plan { ssrc, index, .. } = packet.plan;
            let nonce = key.nonce(ssrc, index);
            let word = packet.plan.word.to_be_bytes();
            let start = packet.plan.start;
            let (text, behind) = packet.buffer.split_at_mut(packet.bytes);
            let tag = match protocol {
                Protocol::Rtp => {
                    let (header, payload) = text.split_at_mut(start);
                    aead.seal(&nonce, header, payload.into())
                }
                Protocol::Rtcp if encrypted => {
                    let (header, payload) = text.split_at_mut(RTCP_BYTES);
                    let mut aad = [0; RTCP_BYTES + WORD_BYTES];
                    aad[..RTCP_BYTES].copy_from_slice(header);
                    aad[RTCP_BYTES..].copy_from_slice(&word);
                    aead.seal(&nonce, &aad, payload.into())
                }
                Protocol::Rtcp => {
                    // RFC 7714, 9.3: everything is associated data, followed by E and the index.
                    behind[..WORD_BYTES].copy_from_slice(&word);
                    let aad = &packet.buffer[..packet.bytes + WORD_BYTES];
                    aead.seal(&nonce, aad, (&mut [][..]).into())
                }
            };
            match tag {
                Ok(tag) => {
                    packet.buffer[packet.bytes..][..AEAD_TAG_BYTES].copy_from_slice(&tag);
                }
                Err(error) => packet.result = Err(error.into()),
            }
        });
        for packet in packets {
            if packet.result.is_ok() {
                self.end_aead(protocol, packet);
            }
        }
    }

    fn end_aead(&mut self, protocol: Protocol, packet: &mut OutboundPacket<'_>) {
        let tag_end = packet.bytes + AEAD_TAG_BYTES;
        let mut end = tag_end;
        if protocol == Protocol::Rtcp {
            packet.buffer[end..end + WORD_BYTES].copy_from_slice(&packet.plan.word.to_be_bytes());
            end += WORD_BYTES;
        }
        let mki = &self.keys.all()[self.key].mki;
        packet.buffer[end..end + mki.len()].copy_from_slice(mki);
        packet.result = Ok(end + mki.len());
        let mut tag = [0; AEAD_TAG_BYTES];
        tag.copy_from_slice(&packet.buffer[packet.bytes..tag_end]);
        self.check_repeated(protocol, packet, &tag);
    }

    /// Refuses a repeated number unless the packet is the same, in which case its tag is too.
    #[inline]
    fn check_repeated(&mut self, protocol: Protocol, packet: &mut OutboundPacket<'_>, tag: &[u8]) {
        if protocol == Protocol::Rtcp {
            return;
        }
        let stream = self.streams.get(packet.plan.stream);
        if !packet.plan.is_repeated {
            stream.remember(packet.plan.index, tag);
        } else if !stream.has_sent(packet.plan.index, tag) {
            let end = packet.result.as_ref().map_or(0, |end| *end);
            packet.buffer[..end].fill(0);
            packet.result = Err(PacketError::Altered);
        }
    }

    /// Takes a number for the packet, or refuses it unchanged.
    #[inline]
    fn begin(
        &mut self,
        protocol: Protocol,
        packet: &mut OutboundPacket<'_>,
    ) -> Result<usize, PacketError> {
        let bytes = packet.bytes;
        let behind = self.keys.suite.tag_bytes(protocol)
            + self.keys.mki_bytes
            + match protocol {
                Protocol::Rtp => 0,
                Protocol::Rtcp => WORD_BYTES,
            };
        if bytes > PACKET_BYTES_MAX - behind {
            return Err(PacketError::InvalidLength { bytes });
        }
        if packet.buffer.len() < bytes + behind {
            return Err(PacketError::NoRoom { before: 0, behind });
        }
        let header = Header::parse(protocol, &packet.buffer[..bytes], bytes)?;
        let place = self.streams.find_or_add(header.ssrc)?;
        let stream = self.streams.get(place);
        let index = match protocol {
            Protocol::Rtp => stream.index(header.sequence)?,
            Protocol::Rtcp if stream.rtcp.highest() < RTCP_PACKETS_MAX => stream.rtcp.highest(),
            Protocol::Rtcp => return Err(PacketError::SequenceExhausted),
        };
        let is_repeated = !stream.window(protocol).accepts(index + 1);
        if is_repeated && (protocol == Protocol::Rtcp || !stream.remembers(index)) {
            return Err(PacketError::Replayed);
        }
        self.keys.count(self.key, protocol)?;
        stream.window(protocol).insert(index + 1);
        if protocol == Protocol::Rtp && !is_repeated {
            // The tag follows. Until then, no packet matches.
            stream.remember(index, &[]);
        }
        let word = match protocol {
            Protocol::Rtp => (index >> 16) as u32,
            Protocol::Rtcp if self.rtcp_encrypted => index as u32 | ENCRYPTED,
            Protocol::Rtcp => index as u32,
        };
        packet.plan = Plan {
            ssrc: header.ssrc,
            start: header.bytes,
            index,
            word,
            stream: place,
            is_repeated,
        };
        Ok(bytes)
    }
}

#[cfg(test)]
impl Outbound {
    /// Creates a context under `keys`, in which the first SRTCP packet of `ssrc` has the index `rtcp_index`.
    pub(super) fn with(
        engine: &Arc<Engine>,
        policy: &Policy<'_>,
        keys: Keys,
        ssrc: u32,
        rtcp_index: u64,
    ) -> Self {
        let mut outbound = Self {
            keys,
            ..Self::open(engine, policy).unwrap()
        };
        let place = outbound.streams.find_or_add(ssrc).unwrap();
        outbound.streams.get(place).rtcp.insert(rtcp_index);
        outbound
    }
}

impl fmt::Debug for Outbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbound")
            .field("suite", &self.keys.suite)
            .field("streams", &self.streams.all().len())
            .finish_non_exhaustive()
    }
}

/// An RTP or RTCP packet to protect, in a buffer with room after it.
#[derive(Debug)]
pub struct OutboundPacket<'a> {
    buffer: &'a mut [u8],
    bytes: usize,
    plan: Plan,
    /// The end of the protected packet.
    result: Result<usize, PacketError>,
}

/// What to compute for a packet.
#[derive(Clone, Copy, Debug, Default)]
struct Plan {
    ssrc: u32,
    /// The word authenticated after the packet: the roll-over counter of SRTP, or E and the index of SRTCP.
    word: u32,
    index: u64,
    start: usize,
    stream: usize,
    is_repeated: bool,
}

impl<'a> OutboundPacket<'a> {
    /// Creates a packet from the first `bytes` of `buffer`. It needs room after it for the tag, the MKI and, for RTCP,
    /// 4 bytes more: [`Suite::BEHIND_BYTES_MAX`](super::Suite::BEHIND_BYTES_MAX) is enough without an MKI.
    pub fn new(buffer: &'a mut [u8], bytes: usize) -> Self {
        Self {
            buffer,
            bytes,
            plan: Plan::default(),
            result: Err(PacketError::Pending),
        }
    }

    /// Returns the packet to send.
    ///
    /// # Errors
    /// Why the packet was not protected. Nothing in its buffer may then be sent.
    pub fn protected(&self) -> Result<&[u8], PacketError> {
        match &self.result {
            Ok(end) => Ok(&self.buffer[..*end]),
            Err(error) => Err(error.clone()),
        }
    }

    /// Returns the index: for RTP the roll-over counter and sequence number, for RTCP the number it carries.
    pub fn index(&self) -> u64 {
        self.plan.index
    }
}

#[cold]
fn unknown_key() -> Error {
    Error::InvalidKey("no master key has this MKI".into())
}

/// Indices have 31 bits (RFC 3711, 3.4).
const RTCP_PACKETS_MAX: u64 = 1 << 31;
