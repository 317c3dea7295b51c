//! A received packet: early checks, padding and result.

use std::hint::black_box;
use std::ops::Range;

use super::frame::Frame;
use super::suite::{HEADER_BYTES, TRAILER_BYTES};
use crate::{PacketError, ReplayWindow};

/// A packet to open, from its SPI to the end of its ICV.
#[derive(Debug)]
pub struct InboundPacket<'a> {
    buffer: &'a mut [u8],
    opened: Result<Content, PacketError>,
}

#[derive(Clone, Debug)]
struct Content {
    sequence: u64,
    /// All encrypted bytes, until [`InboundPacket::unpad`] finds the payload.
    payload: Range<u32>,
    next_header: u8,
    is_padded: bool,
}

impl Content {
    fn place(&self) -> Range<usize> {
        self.payload.start as usize..self.payload.end as usize
    }
}

impl<'a> InboundPacket<'a> {
    /// Wraps a received packet: what follows the IP or UDP header.
    pub fn new(buffer: &'a mut [u8]) -> Self {
        Self {
            buffer,
            opened: Err(PacketError::Pending),
        }
    }

    /// Returns the packet's content.
    ///
    /// # Errors
    /// Why the packet was not accepted. Its buffer then holds no plaintext.
    pub fn opened(&self) -> Result<Opened<'_>, PacketError> {
        match &self.opened {
            Ok(content) => Ok(Opened {
                payload: &self.buffer[content.place()],
                next_header: content.next_header,
                sequence: content.sequence,
            }),
            Err(error) => Err(error.clone()),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.buffer.len()
    }

    /// Refuses packets that cannot be authentic before any cryptography.
    pub(super) fn begin(&mut self, frame: Frame, window: &ReplayWindow) {
        self.opened = frame.begin(window, self.buffer);
    }

    /// Returns the sequence number and the whole packet, unless it was refused.
    pub(super) fn candidate(&mut self) -> Option<(u64, &mut [u8])> {
        let content = self.opened.as_ref().ok()?;
        Some((content.sequence, self.buffer))
    }

    pub(super) fn refuse(&mut self, error: PacketError) {
        self.buffer[HEADER_BYTES..].fill(0);
        self.opened = Err(error);
    }

    /// Finds the end of an authentic packet's payload (RFC 4303, 2.4). Padding bytes are 1, 2, 3 and so on, which the
    /// receiver should check. The result depends only on bytes that the sender authenticated, and no comparison ends
    /// early.
    pub(super) fn unpad(&mut self) {
        let Ok(content) = &mut self.opened else {
            return;
        };
        let body = &self.buffer[content.place()];
        let Some((body, trailer)) = body.split_last_chunk::<TRAILER_BYTES>() else {
            return;
        };
        let [padding, next_header] = *trailer;
        let Some(payload_bytes) = body.len().checked_sub(padding.into()) else {
            return;
        };
        let differing = (body[payload_bytes..].iter())
            .zip(1..=u8::MAX)
            .fold(0, |bits, (byte, expected)| bits | (byte ^ expected));
        content.is_padded = black_box(differing) == 0;
        content.next_header = next_header;
        content.payload.end = content.payload.start + payload_bytes as u32;
    }

    /// Marks the number of an authentic packet as seen, and refuses a replayed or badly padded packet.
    pub(super) fn accept(&mut self, window: &mut ReplayWindow) {
        let Ok(content) = &self.opened else {
            return;
        };
        if !window.accepts(content.sequence) {
            return self.refuse(PacketError::Replayed);
        }
        window.insert(content.sequence);
        if !content.is_padded {
            self.refuse(PacketError::InvalidPadding);
        }
    }
}

/// The content of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened<'a> {
    /// The payload, followed by the sender's TFC padding, if any.
    pub payload: &'a [u8],
    /// The protocol of the payload.
    pub next_header: u8,
    /// The packet's sequence number.
    pub sequence: u64,
}

impl Opened<'_> {
    /// Whether the packet only hides traffic and must be dropped (RFC 4303, 2.6).
    pub fn is_dummy(&self) -> bool {
        self.next_header == NO_NEXT_HEADER
    }
}

impl Frame {
    /// Parses a packet, and returns its content if it may be authentic.
    fn begin(self, window: &ReplayWindow, packet: &[u8]) -> Result<Content, PacketError> {
        let layout = self.layout;
        let bytes = packet.len();
        let invalid = || PacketError::InvalidLength { bytes };
        let encrypted = bytes.checked_sub(layout.before() + layout.icv_bytes);
        if encrypted.is_none_or(|it| it == 0 || !it.is_multiple_of(layout.align)) {
            return Err(invalid());
        }
        let (spi, rest) = packet.split_first_chunk().ok_or_else(invalid)?;
        let low = rest.first_chunk().ok_or_else(invalid)?;
        let (spi, low) = (u32::from_be_bytes(*spi), u32::from_be_bytes(*low));
        if spi != self.spi {
            return Err(PacketError::OtherAssociation { spi });
        }
        let sequence = if self.extended {
            window.extended(low).ok_or(PacketError::Replayed)?
        } else {
            u64::from(low)
        };
        if !window.accepts(sequence) {
            return Err(PacketError::Replayed);
        }
        let end = u32::try_from(bytes - layout.icv_bytes).map_err(|_| invalid())?;
        Ok(Content {
            sequence,
            payload: layout.before() as u32..end,
            next_header: 0,
            is_padded: false,
        })
    }
}

/// The next header of a dummy packet (RFC 4303, 2.6).
const NO_NEXT_HEADER: u8 = 59;
