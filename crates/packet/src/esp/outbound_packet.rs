//! A packet to send, and the fields around its payload.

use std::ops::Range;

use super::frame::Frame;
use super::suite::{BLOCK_BYTES, HEADER_BYTES, TRAILER_BYTES};
use crate::PacketError;

/// A packet to seal, in a buffer with room around its payload.
#[derive(Debug)]
pub struct OutboundPacket<'a> {
    buffer: &'a mut [u8],
    sequence: u64,
    state: Result<(), PacketError>,
    // The fields below fill one cache line with those above: a helper fetches it from the caller's core.
    start: u32,
    end: u32,
    tfc_bytes: u32,
    next_header: u8,
    /// The bytes before the payload in the suite's layout, once the packet has a number.
    before: u8,
    icv_bytes: u8,
    align: u8,
}

impl<'a> OutboundPacket<'a> {
    /// Creates a packet whose payload is at `payload` in `buffer`. The buffer has
    /// [`Suite::before_bytes`](super::Suite::before_bytes) of room before it and up to
    /// [`Suite::behind_bytes_max`](super::Suite::behind_bytes_max) after it. `next_header` is the payload's protocol: 4
    /// for IPv4 and 41 for IPv6 in tunnel mode, 59 for a dummy packet.
    #[inline]
    pub fn new(buffer: &'a mut [u8], payload: Range<usize>, next_header: u8) -> Self {
        // No packet has 4 GiB (RFC 2675). A payload past that limit counts as having no room.
        let place = |at: usize| u32::try_from(at).ok();
        let (start, end) = (place(payload.start).zip(place(payload.end))).unwrap_or((1, 0));
        Self {
            buffer,
            sequence: 0,
            state: Err(PacketError::Pending),
            start,
            end,
            tfc_bytes: 0,
            next_header,
            before: 0,
            icv_bytes: 0,
            align: 1,
        }
    }

    /// Adds `bytes` of TFC padding after the payload, to hide its length (RFC 4303, 2.7). The receiver finds the
    /// payload's end from the payload's own header. The buffer needs `bytes` more room after the payload.
    #[must_use]
    pub fn traffic_flow_padding(mut self, bytes: usize) -> Self {
        self.tfc_bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self
    }

    /// Returns the packet to send.
    ///
    /// # Errors
    /// Why the packet was not sealed. Nothing in its buffer may then be sent.
    pub fn sealed(&self) -> Result<&[u8], PacketError> {
        match &self.state {
            Ok(()) => Ok(&self.buffer[self.place()]),
            Err(error) => Err(error.clone()),
        }
    }

    /// Returns the sequence number, or 0 if there is none.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Assigns the number after `last` and the packet's place, if there is room. Returns the sealed length, or 0. It
    /// does not touch the buffer, which the sealing thread writes.
    #[inline]
    pub(super) fn number(&mut self, frame: Frame, last: &mut u64) -> usize {
        self.state = self.try_number(frame, last);
        match self.state {
            Ok(()) => self.place().len(),
            Err(_) => 0,
        }
    }

    #[inline]
    fn try_number(&mut self, frame: Frame, last: &mut u64) -> Result<(), PacketError> {
        let Frame {
            extended, layout, ..
        } = frame;
        self.before = layout.before() as u8;
        self.icv_bytes = layout.icv_bytes as u8;
        self.align = layout.align as u8;
        let (start, end) = (self.start as usize, self.end as usize);
        let (before, behind) = (layout.before(), self.behind());
        let room = self.buffer.len();
        if start > end || end > room || start < before || room - end < behind {
            return Err(PacketError::NoRoom { before, behind });
        }
        let most = if extended {
            u64::MAX
        } else {
            u64::from(u32::MAX)
        };
        if *last >= most {
            return Err(PacketError::SequenceExhausted);
        }
        *last += 1;
        self.sequence = *last;
        Ok(())
    }

    /// Returns the packet from its SPI to the end of its ICV, if it has a number.
    #[inline]
    pub(super) fn numbered(&mut self) -> Option<&mut [u8]> {
        let place = self.state.is_ok().then(|| self.place())?;
        Some(&mut self.buffer[place])
    }

    pub(super) fn refuse(&mut self, error: PacketError) {
        self.state = Err(error);
    }

    /// Returns the place of a packet that has a number.
    #[inline]
    fn place(&self) -> Range<usize> {
        let start = self.start as usize - usize::from(self.before);
        start..self.end as usize + self.behind()
    }

    /// Returns the bytes after the payload: TFC padding, padding, trailer and ICV.
    #[inline]
    fn behind(&self) -> usize {
        let tfc_bytes = self.tfc_bytes as usize;
        let payload_bytes =
            (self.end.saturating_sub(self.start) as usize).saturating_add(tfc_bytes);
        // Alignments are powers of two.
        let align = usize::from(self.align);
        let padding = (payload_bytes.wrapping_add(TRAILER_BYTES)).wrapping_neg() & (align - 1);
        tfc_bytes.saturating_add(padding + TRAILER_BYTES + usize::from(self.icv_bytes))
    }
}

/// The IVs of a batch.
#[derive(Clone, Copy)]
pub(super) struct Ivs<'a> {
    /// The number of the first packet.
    first: u64,
    /// An IV for each number, if the cipher requires random ones.
    random: Option<&'a [[u8; BLOCK_BYTES]]>,
}

impl<'a> Ivs<'a> {
    pub(super) fn new(first: u64, random: Option<&'a [[u8; BLOCK_BYTES]]>) -> Self {
        Self { first, random }
    }

    /// Returns the random IV of a numbered packet.
    #[inline]
    pub(super) fn random(self, sequence: u64) -> Option<&'a [u8; BLOCK_BYTES]> {
        let place = sequence.checked_sub(self.first)?;
        self.random?.get(place as usize)
    }
}

impl Frame {
    /// Writes all fields around the payload of a numbered packet.
    pub(super) fn write(self, ivs: Ivs<'_>, packet: &mut OutboundPacket<'_>) {
        let payload_bytes = packet.end.wrapping_sub(packet.start) as usize;
        let (sequence, next_header) = (packet.sequence, packet.next_header);
        let tfc_bytes = packet.tfc_bytes as usize;
        let layout = self.layout;
        let Some(sealed) = packet.numbered() else {
            return;
        };
        let body_end = sealed.len() - layout.icv_bytes;
        let (head, body) = sealed[..body_end].split_at_mut(layout.before());
        head[..4].copy_from_slice(&self.spi.to_be_bytes());
        head[4..HEADER_BYTES].copy_from_slice(&(sequence as u32).to_be_bytes());
        match ivs.random(sequence) {
            Some(iv) => head[HEADER_BYTES..].copy_from_slice(&iv[..layout.iv_bytes]),
            // The counter is unique under the key (RFC 4106, 3.1; RFC 7634, 2; RFC 3686, 3.1).
            None => {
                head[HEADER_BYTES..].copy_from_slice(&sequence.to_be_bytes()[..layout.iv_bytes])
            }
        }
        let (tfc, trailer) = body[payload_bytes..].split_at_mut(tfc_bytes);
        tfc.fill(0);
        let padding = trailer.len() - TRAILER_BYTES;
        for (byte, value) in trailer[..padding].iter_mut().zip(1..) {
            *byte = value;
        }
        trailer[padding] = padding as u8;
        trailer[padding + 1] = next_header;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_a_line_of_the_cache() {
        assert_eq!(size_of::<OutboundPacket<'_>>(), 64);
    }
}
