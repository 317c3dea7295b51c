//! A received record.

use std::ops::Range;

use super::epoch::Epoch;
use super::header::{ConnectionId, Header};
use crate::tls::inner::content_of;
use crate::tls::keys::TAG_BYTES;
use crate::tls::suite::ContentType;
use crate::{PacketError, ReplayWindow};

/// A whole record to open, from the first byte of its header. [`Inbound::split`](super::Inbound::split) returns it.
#[derive(Debug)]
pub struct InboundRecord<'a> {
    record: &'a mut [u8],
    header: Result<Header, PacketError>,
    state: Result<Content, PacketError>,
}

#[derive(Clone, Debug)]
struct Content {
    epoch: u64,
    sequence: u64,
    /// An authentic record may still have invalid content.
    inner: Result<(Range<usize>, ContentType), PacketError>,
}

/// The content of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened<'a> {
    /// The content, without padding.
    pub content: &'a [u8],
    /// The type of the content.
    pub content_type: ContentType,
    /// The epoch of the keys.
    pub epoch: u64,
    /// The sequence number in the epoch.
    pub sequence: u64,
}

impl InboundRecord<'_> {
    /// Returns the record's content.
    ///
    /// # Errors
    /// Why the record was not accepted. Its buffer then holds no plaintext.
    pub fn opened(&self) -> Result<Opened<'_>, PacketError> {
        let content = self.state.as_ref().map_err(PacketError::clone)?;
        let (place, content_type) = content.inner.clone()?;
        Ok(Opened {
            content: &self.record[place],
            content_type,
            epoch: content.epoch,
            sequence: content.sequence,
        })
    }

    pub(super) fn bytes(&self) -> usize {
        self.record.len()
    }

    pub(super) fn has_short_number(&self) -> bool {
        (self.header.as_ref()).is_ok_and(|header| !header.number.is_long())
    }

    /// Opens the record, unless its header was invalid.
    pub(super) fn open<'e>(
        &mut self,
        epochs: impl Iterator<Item = (&'e Epoch, &'e ReplayWindow)>,
        content_bytes_max: usize,
    ) {
        self.state = self.try_open(epochs, content_bytes_max);
    }

    fn try_open<'e>(
        &mut self,
        mut epochs: impl Iterator<Item = (&'e Epoch, &'e ReplayWindow)>,
        content_bytes_max: usize,
    ) -> Result<Content, PacketError> {
        let Header {
            number,
            epoch,
            header_bytes,
            ..
        } = self.header.clone()?;
        let bytes = self.record.len();
        let invalid = || PacketError::InvalidLength { bytes };
        let (header, sealed) = (self.record)
            .split_at_mut_checked(header_bytes)
            .ok_or_else(invalid)?;
        let sample = sealed.first_chunk().ok_or_else(invalid)?;
        let (epoch, window) = epochs
            .find(|(known, _)| known.number & 3 == u64::from(epoch))
            .ok_or(PacketError::UnknownKey)?;
        let mask = epoch.mask.of(sample);
        // The tag covers the unencrypted number. Encrypt it again afterwards.
        number.mask(header, mask);
        let opened = (|| {
            // Windows begin at 1.
            let sequence = number.full(header, window.highest());
            let seen = sequence.checked_add(1).ok_or(PacketError::Replayed)?;
            if !window.accepts(seen) {
                return Err(PacketError::Replayed);
            }
            let (body, tag) = sealed
                .split_last_chunk_mut::<TAG_BYTES>()
                .ok_or_else(invalid)?;
            epoch.keys.open_or_zero(sequence, header, body, tag)?;
            Ok((sequence, content_of(body, content_bytes_max)))
        })();
        number.mask(header, mask);
        // Forged records are zero except for the tag. Authentic ones may have content that must not be returned.
        if let Err(PacketError::AuthenticationFailed) | Ok((_, Err(_))) = opened {
            sealed.fill(0);
        }
        let (sequence, inner) = opened?;
        Ok(Content {
            epoch: epoch.number,
            sequence,
            inner: inner.map(|(place, content_type)| {
                (
                    header_bytes + place.start..header_bytes + place.end,
                    content_type,
                )
            }),
        })
    }

    /// Returns the epoch and the number of an authentic record, in the window's numbering.
    pub(super) fn authentic(&self) -> Option<(u64, u64)> {
        let content = self.state.as_ref().ok()?;
        Some((content.epoch, content.sequence + 1))
    }

    /// Returns the epoch bits of a record that is not authentic.
    pub(super) fn forged(&self) -> Option<u8> {
        let is_forged = matches!(self.state, Err(PacketError::AuthenticationFailed));
        self.header
            .as_ref()
            .ok()
            .filter(|_| is_forged)
            .map(|header| header.epoch)
    }

    pub(super) fn refuse(&mut self, error: PacketError) {
        if let Ok(header) = &self.header {
            self.record[header.header_bytes..].fill(0);
        }
        self.state = Err(error);
    }
}

/// The records of a datagram, from [`Inbound::split`](super::Inbound::split). If a header is invalid, the rest of the
/// datagram is the last record, which is refused when it is opened.
#[derive(Debug)]
pub struct Split<'a> {
    rest: &'a mut [u8],
    id: ConnectionId,
    is_first: bool,
}

impl<'a> Split<'a> {
    pub(super) fn new(datagram: &'a mut [u8], id: ConnectionId) -> Self {
        Self {
            rest: datagram,
            id,
            is_first: true,
        }
    }
}

impl<'a> Iterator for Split<'a> {
    type Item = InboundRecord<'a>;

    fn next(&mut self) -> Option<InboundRecord<'a>> {
        let rest = std::mem::take(&mut self.rest);
        if rest.is_empty() {
            return None;
        }
        let header = Header::read(rest, &self.id, self.is_first);
        self.is_first = false;
        let bytes = header
            .as_ref()
            .map_or(rest.len(), |header| header.record_bytes);
        let (record, rest) = rest.split_at_mut(bytes);
        self.rest = rest;
        Some(InboundRecord {
            record,
            header,
            state: Err(PacketError::Pending),
        })
    }
}
