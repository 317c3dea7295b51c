//! The receiver's side.

use std::fmt;
use std::sync::Arc;

use super::{ALIGN, Association, HEADER_BYTES, IV_BYTES, NO_NEXT_HEADER, Parts, TRAILER_BYTES};
use crate::Error;
use crate::aead::TAG_BYTES;
use crate::packet::{PacketError, ReplayWindow};
use crate::plan::engine::Engine;

/// Opens packets of one association, from [`Accelerator::esp_inbound`](crate::Accelerator::esp_inbound).
pub struct Inbound {
    parts: Parts,
    window: ReplayWindow,
}

impl Inbound {
    pub(crate) fn open_association(
        engine: &Arc<Engine>,
        association: &Association<'_>,
    ) -> Result<Self, Error> {
        Ok(Self {
            parts: Parts::open(engine, association)?,
            window: ReplayWindow::new(association.window),
        })
    }

    /// Opens each of `packets` where it lies. One that is not authentic, or whose number the window
    /// refuses, is zeroed; the others go on, and its [`opened`](InboundPacket::opened) says why. Of two
    /// with the same number, the first is accepted.
    pub fn open(&mut self, packets: &mut [InboundPacket<'_>]) {
        let mut bytes = 0;
        for packet in &mut *packets {
            packet.opened = self.begin(packet);
            if packet.opened.is_ok() {
                bytes += packet.buffer.len();
            }
        }
        let parts = &self.parts;
        parts.aead.each(bytes, packets, &|_, packet| {
            if packet.opened.is_ok()
                && let Err(error) = decrypt(parts, packet)
            {
                packet.refuse(error);
            }
        });
        for packet in packets {
            if let Ok(Content { sequence, .. }) = packet.opened {
                let content = self.accept(packet, sequence);
                match content {
                    Ok(content) => packet.opened = Ok(content),
                    Err(error) => packet.refuse(error),
                }
            }
        }
    }

    /// Numbers that are still accepted.
    pub fn window(&self) -> &ReplayWindow {
        &self.window
    }

    /// Goes on with what another machine or process has seen of this association.
    pub fn set_window(&mut self, window: ReplayWindow) {
        self.window = window;
    }

    /// Refuses what cannot be authentic before anything is computed for it.
    fn begin(&self, packet: &InboundPacket<'_>) -> Result<Content, PacketError> {
        let bytes = packet.buffer.len();
        let invalid = PacketError::InvalidLength { bytes };
        let encrypted = bytes.checked_sub(HEADER_BYTES + IV_BYTES + TAG_BYTES);
        if encrypted.is_none_or(|it| it < ALIGN || !it.is_multiple_of(ALIGN)) {
            return Err(invalid);
        }
        let (spi, rest) = packet.buffer.split_first_chunk().ok_or(invalid.clone())?;
        let low = rest.first_chunk().ok_or(invalid)?;
        let (spi, low) = (u32::from_be_bytes(*spi), u32::from_be_bytes(*low));
        if spi != self.parts.spi {
            return Err(PacketError::OtherAssociation { spi });
        }
        let sequence = if self.parts.extended {
            self.window.extended(low).ok_or(PacketError::Replayed)?
        } else {
            u64::from(low)
        };
        if !self.window.accepts(sequence) {
            return Err(PacketError::Replayed);
        }
        Ok(Content {
            sequence,
            payload_bytes: 0,
            next_header: 0,
        })
    }

    /// An authentic packet: its number counts as seen from now on.
    fn accept(
        &mut self,
        packet: &InboundPacket<'_>,
        sequence: u64,
    ) -> Result<Content, PacketError> {
        if !self.window.accepts(sequence) {
            return Err(PacketError::Replayed);
        }
        self.window.insert(sequence);
        let body = packet.body();
        let (body, trailer) = body
            .split_last_chunk::<TRAILER_BYTES>()
            .ok_or(PacketError::InvalidPadding)?;
        let [padding, next_header] = *trailer;
        let payload_bytes = body
            .len()
            .checked_sub(padding.into())
            .ok_or(PacketError::InvalidPadding)?;
        // RFC 4303, 2.4: 1, 2, 3 and so on, which the receiver should inspect.
        let is_counted = (body[payload_bytes..].iter())
            .zip(1..=u8::MAX)
            .all(|(byte, expected)| *byte == expected);
        if !is_counted {
            return Err(PacketError::InvalidPadding);
        }
        Ok(Content {
            sequence,
            payload_bytes,
            next_header,
        })
    }
}

fn decrypt(parts: &Parts, packet: &mut InboundPacket<'_>) -> Result<(), PacketError> {
    let Ok(Content { sequence, .. }) = packet.opened else {
        return Ok(());
    };
    let too_short = PacketError::InvalidLength {
        bytes: packet.buffer.len(),
    };
    let rest = &mut packet.buffer[HEADER_BYTES..];
    let (iv, rest) = rest.split_first_chunk_mut().ok_or(too_short.clone())?;
    let (body, icv) = rest.split_last_chunk_mut().ok_or(too_short)?;
    let nonce = parts.nonce(*iv);
    parts.with_aad(sequence, |aad| {
        parts.aead.open_one(&nonce, aad, body.into(), icv)
    })?;
    Ok(())
}

impl fmt::Debug for Inbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbound")
            .field("spi", &self.parts.spi)
            .field("highest", &self.window.highest())
            .finish_non_exhaustive()
    }
}

/// A packet to open: from its SPI to the end of its ICV.
#[derive(Debug)]
pub struct InboundPacket<'a> {
    buffer: &'a mut [u8],
    opened: Result<Content, PacketError>,
}

#[derive(Clone, Copy, Debug)]
struct Content {
    sequence: u64,
    payload_bytes: usize,
    next_header: u8,
}

impl<'a> InboundPacket<'a> {
    /// The packet as it came: what follows the IP or UDP header.
    pub fn new(buffer: &'a mut [u8]) -> Self {
        Self {
            buffer,
            opened: Err(PacketError::Pending),
        }
    }

    /// What it carries.
    ///
    /// # Errors
    /// Why it was not accepted. Its buffer holds no plaintext then.
    pub fn opened(&self) -> Result<Opened<'_>, PacketError> {
        match &self.opened {
            Ok(content) => Ok(Opened {
                payload: &self.body()[..content.payload_bytes],
                next_header: content.next_header,
                sequence: content.sequence,
            }),
            Err(error) => Err(error.clone()),
        }
    }

    /// What was encrypted.
    fn body(&self) -> &[u8] {
        &self.buffer[HEADER_BYTES + IV_BYTES..self.buffer.len() - TAG_BYTES]
    }

    fn refuse(&mut self, error: PacketError) {
        self.buffer[HEADER_BYTES..].fill(0);
        self.opened = Err(error);
    }
}

/// What a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened<'a> {
    /// The payload, with the sender's TFC padding behind it if there is any.
    pub payload: &'a [u8],
    /// Its protocol.
    pub next_header: u8,
    /// The packet's number.
    pub sequence: u64,
}

impl Opened<'_> {
    /// Whether it only hides traffic: it is to be dropped then (RFC 4303, 2.6).
    pub fn is_dummy(&self) -> bool {
        self.next_header == NO_NEXT_HEADER
    }
}
