//! The sender's side.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::{Association, HEADER_BYTES, IV_BYTES, Parts, TRAILER_BYTES, pad_bytes};
use crate::Error;
use crate::aead::TAG_BYTES;
use crate::packet::PacketError;
use crate::plan::engine::Engine;

/// Seals packets of one association, from [`Accelerator::esp_outbound`](crate::Accelerator::esp_outbound).
pub struct Outbound {
    parts: Parts,
    /// The number of the last packet.
    last: u64,
}

impl Outbound {
    pub(crate) fn open(engine: &Arc<Engine>, association: &Association<'_>) -> Result<Self, Error> {
        Ok(Self {
            parts: Parts::open(engine, association)?,
            last: 0,
        })
    }

    /// Seals each of `packets` where it lies, and numbers them in their order. One that cannot be sealed
    /// takes no number; its [`sealed`](OutboundPacket::sealed) says why.
    pub fn seal(&mut self, packets: &mut [OutboundPacket<'_>]) {
        let mut bytes = 0;
        for packet in &mut *packets {
            packet.sealed = self.lay_out(packet);
            bytes += packet.sealed.as_ref().map_or(0, ExactSizeIterator::len);
        }
        let parts = &self.parts;
        parts.aead.each(bytes, packets, &|_, packet| {
            if let Ok(range) = packet.sealed.clone()
                && let Err(error) = encrypt(parts, packet, range)
            {
                packet.sealed = Err(error);
            }
        });
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

    /// Writes everything around the payload, and takes a number.
    fn lay_out(&mut self, packet: &mut OutboundPacket<'_>) -> Result<Range<usize>, PacketError> {
        let Range { start, end } = packet.payload;
        let before = HEADER_BYTES + IV_BYTES;
        let payload_bytes = end.saturating_sub(start).saturating_add(packet.tfc_bytes);
        let padding = pad_bytes(payload_bytes % super::ALIGN);
        let behind = packet
            .tfc_bytes
            .saturating_add(padding + TRAILER_BYTES + TAG_BYTES);
        let room = packet.buffer.len();
        if start > end || end > room || start < before || room - end < behind {
            return Err(PacketError::NoRoom { before, behind });
        }
        let last = if self.parts.extended {
            u64::MAX
        } else {
            u64::from(u32::MAX)
        };
        if self.last >= last {
            return Err(PacketError::SequenceExhausted);
        }
        self.last += 1;
        packet.sequence = self.last;

        let (head, rest) = packet.buffer[start - before..].split_at_mut(before);
        head[..4].copy_from_slice(&self.parts.spi.to_be_bytes());
        head[4..8].copy_from_slice(&(self.last as u32).to_be_bytes());
        // Unique under the key, as counters are (RFC 4106, 3.1; RFC 7634, 2).
        head[8..].copy_from_slice(&self.last.to_be_bytes());
        let trailer = &mut rest[end - start..][..behind - TAG_BYTES];
        let (tfc, trailer) = trailer.split_at_mut(packet.tfc_bytes);
        tfc.fill(0);
        for (byte, value) in trailer[..padding].iter_mut().zip(1..) {
            *byte = value;
        }
        trailer[padding] = padding as u8;
        trailer[padding + 1] = packet.next_header;
        Ok(start - before..end + behind)
    }
}

fn encrypt(
    parts: &Parts,
    packet: &mut OutboundPacket<'_>,
    range: Range<usize>,
) -> Result<(), PacketError> {
    let nonce = parts.nonce(packet.sequence.to_be_bytes());
    let sealed = &mut packet.buffer[range];
    let body_bytes = sealed.len() - TAG_BYTES;
    let (sealed, icv) = sealed.split_at_mut(body_bytes);
    let body = &mut sealed[HEADER_BYTES + IV_BYTES..];
    let tag = parts.with_aad(packet.sequence, |aad| {
        parts.aead.seal_one(&nonce, aad, body.into())
    })?;
    icv.copy_from_slice(&tag);
    Ok(())
}

impl fmt::Debug for Outbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbound")
            .field("spi", &self.parts.spi)
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
    sealed: Result<Range<usize>, PacketError>,
}

impl<'a> OutboundPacket<'a> {
    /// The payload lies at `payload` of `buffer`, which has [`Outbound::BEFORE_BYTES`] bytes of room
    /// before it and up to [`Suite::BEHIND_BYTES_MAX`](super::Suite::BEHIND_BYTES_MAX) behind it.
    /// `next_header` is its protocol: 4 for IPv4 and 41 for IPv6 in tunnel mode, 59 for a packet that only
    /// hides traffic.
    pub fn new(buffer: &'a mut [u8], payload: Range<usize>, next_header: u8) -> Self {
        Self {
            buffer,
            payload,
            next_header,
            tfc_bytes: 0,
            sequence: 0,
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
}

impl Outbound {
    /// Bytes that a packet needs before its payload.
    pub const BEFORE_BYTES: usize = HEADER_BYTES + IV_BYTES;
}
