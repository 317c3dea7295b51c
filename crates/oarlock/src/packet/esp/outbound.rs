//! The sender's side.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::random::RandomIvs;
use super::suite::{BLOCK_BYTES, HEADER_BYTES, Suite, TRAILER_BYTES};
use super::{Association, Frame, Parts, Workers};
use crate::Error;
use crate::packet::PacketError;
use crate::plan::engine::Engine;

/// Seals packets of one association, from [`Accelerator::esp_outbound`](crate::Accelerator::esp_outbound).
pub struct Outbound {
    parts: Parts,
    /// Where the cipher must have them.
    random_ivs: Option<RandomIvs>,
    /// The number of the last packet.
    last: u64,
}

impl Outbound {
    /// Bytes that a packet of any suite needs before its payload;
    /// [`Suite::before_bytes`](super::Suite::before_bytes) are enough for one of that suite.
    pub const BEFORE_BYTES: usize = Suite::BEFORE_BYTES_MAX;

    pub(crate) fn open(engine: &Arc<Engine>, association: &Association<'_>) -> Result<Self, Error> {
        let parts = Parts::open(engine, association)?;
        let wants_random_ivs = parts.protection.wants_random_ivs();
        Ok(Self {
            parts,
            random_ivs: wants_random_ivs.then(RandomIvs::new),
            last: 0,
        })
    }

    /// Seals each of `packets` where it lies, and numbers them in their order. One that cannot be sealed
    /// takes no number; its [`sealed`](OutboundPacket::sealed) says why.
    pub fn seal(&mut self, packets: &mut [OutboundPacket<'_>]) {
        let mut bytes = 0;
        for packet in &mut *packets {
            packet.sealed = self.number(packet);
            bytes += packet.sealed.as_ref().map_or(0, ExactSizeIterator::len);
        }
        let Parts {
            frame,
            protection,
            flow,
        } = &mut self.parts;
        flow.run(bytes, packets, &|run| protection.seal(*frame, run));
        self.parts.hand_in_what_was_shared();
    }

    /// How many threads may take part, to be changed while packets flow.
    pub fn workers(&self) -> &Workers {
        self.parts.flow.workers()
    }

    /// The number of the last packet; 0 before the first.
    pub fn sequence(&self) -> u64 {
        self.last
    }

    /// Goes on behind the packet of this number: for an association that another machine or process
    /// began. No number may be used twice under one key.
    pub fn set_sequence(&mut self, last: u64) {
        self.last = last;
    }

    /// Gives a packet that has room its number and its place. Leaves its buffer alone: whoever seals it
    /// writes there.
    fn number(&mut self, packet: &mut OutboundPacket<'_>) -> Result<Range<usize>, PacketError> {
        let Frame {
            extended, layout, ..
        } = self.parts.frame;
        let Range { start, end } = packet.payload;
        let before = layout.before();
        let payload_bytes = end.saturating_sub(start).saturating_add(packet.tfc_bytes);
        let padding = layout.pad_bytes(payload_bytes);
        let behind = packet
            .tfc_bytes
            .saturating_add(padding + TRAILER_BYTES + layout.icv_bytes);
        let room = packet.buffer.len();
        if start > end || end > room || start < before || room - end < behind {
            return Err(PacketError::NoRoom { before, behind });
        }
        let last = if extended {
            u64::MAX
        } else {
            u64::from(u32::MAX)
        };
        if self.last >= last {
            return Err(PacketError::SequenceExhausted);
        }
        self.last += 1;
        packet.sequence = self.last;
        packet.iv = match &mut self.random_ivs {
            Some(ivs) => ivs.next(),
            // Unique under the key, as counters are (RFC 4106, 3.1; RFC 7634, 2; RFC 3686, 3.1).
            None => (u128::from(self.last) << 64).to_be_bytes(),
        };
        Ok(start - before..end + behind)
    }
}

impl Frame {
    /// Writes everything around the payload of a packet that has a number.
    pub(super) fn write(self, packet: &mut OutboundPacket<'_>) {
        let layout = self.layout;
        let Range { start, end } = packet.payload;
        let (iv, next_header, tfc_bytes) = (packet.iv, packet.next_header, packet.tfc_bytes);
        let low = (packet.sequence as u32).to_be_bytes();
        let Some(sealed) = packet.numbered() else {
            return;
        };
        let body_end = sealed.len() - layout.icv_bytes;
        let (head, body) = sealed[..body_end].split_at_mut(layout.before());
        head[..4].copy_from_slice(&self.spi.to_be_bytes());
        head[4..HEADER_BYTES].copy_from_slice(&low);
        head[HEADER_BYTES..].copy_from_slice(&iv[..layout.iv_bytes]);
        let (tfc, trailer) = body[end - start..].split_at_mut(tfc_bytes);
        tfc.fill(0);
        let padding = trailer.len() - TRAILER_BYTES;
        for (byte, value) in trailer[..padding].iter_mut().zip(1..) {
            *byte = value;
        }
        trailer[padding] = padding as u8;
        trailer[padding + 1] = next_header;
    }
}

impl fmt::Debug for Outbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbound")
            .field("spi", &self.parts.frame.spi)
            .field("sequence", &self.last)
            .finish_non_exhaustive()
    }
}

/// A packet to seal, in a buffer with room around its payload.
#[derive(Debug)]
pub struct OutboundPacket<'a> {
    buffer: &'a mut [u8],
    payload: Range<usize>,
    next_header: u8,
    tfc_bytes: usize,
    sequence: u64,
    iv: [u8; BLOCK_BYTES],
    sealed: Result<Range<usize>, PacketError>,
}

impl<'a> OutboundPacket<'a> {
    /// The payload lies at `payload` of `buffer`, which has
    /// [`Suite::before_bytes`](super::Suite::before_bytes) of room before it and up to
    /// [`Suite::behind_bytes_max`](super::Suite::behind_bytes_max) behind it. `next_header` is its
    /// protocol: 4 for IPv4 and 41 for IPv6 in tunnel mode, 59 for a packet that only hides traffic.
    pub fn new(buffer: &'a mut [u8], payload: Range<usize>, next_header: u8) -> Self {
        Self {
            buffer,
            payload,
            next_header,
            tfc_bytes: 0,
            sequence: 0,
            iv: [0; BLOCK_BYTES],
            sealed: Err(PacketError::Pending),
        }
    }

    /// Adds as many bytes behind the payload, to hide its length (RFC 4303, 2.7). The receiver finds the
    /// end of the payload by the payload's own header; the buffer needs as many bytes more behind it.
    #[must_use]
    pub fn traffic_flow_padding(mut self, bytes: usize) -> Self {
        self.tfc_bytes = bytes;
        self
    }

    /// The packet as it is to be sent.
    ///
    /// # Errors
    /// Why it was not sealed; of its buffer, nothing may be sent then.
    pub fn sealed(&self) -> Result<&[u8], PacketError> {
        match &self.sealed {
            Ok(range) => Ok(&self.buffer[range.clone()]),
            Err(error) => Err(error.clone()),
        }
    }

    /// Its sequence number; 0 if it has none.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// From its SPI to the end of its ICV, if it has a number.
    pub(super) fn numbered(&mut self) -> Option<&mut [u8]> {
        self.numbered_with_iv().map(|(_, sealed)| sealed)
    }

    /// Its IV as well.
    pub(super) fn numbered_with_iv(&mut self) -> Option<(&[u8; BLOCK_BYTES], &mut [u8])> {
        let range = self.sealed.as_ref().ok()?.clone();
        Some((&self.iv, &mut self.buffer[range]))
    }

    pub(super) fn refuse(&mut self, error: PacketError) {
        self.sealed = Err(error);
    }
}
