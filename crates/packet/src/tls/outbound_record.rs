//! A record to send.

use std::ops::Range;

use super::cut::{BEHIND_BYTES, Cut, HEADER_BYTES};
use super::keys::{KeySet, TAG_BYTES};
use super::suite::ContentType;
use crate::PacketError;

/// A record to seal, in a buffer with room around its content.
#[derive(Debug)]
pub struct OutboundRecord<'a> {
    buffer: &'a mut [u8],
    content: Range<usize>,
    padding_bytes: usize,
    content_type: ContentType,
    sequence: u64,
    state: Result<(), PacketError>,
}

impl<'a> OutboundRecord<'a> {
    /// Bytes of room that a TLS record needs before its content.
    pub const BEFORE_BYTES: usize = HEADER_BYTES;
    /// Bytes of room that a record needs after its content and padding.
    pub const BEHIND_BYTES: usize = BEHIND_BYTES;

    /// Creates a record whose content is at `content` in `buffer`. The buffer has [`BEFORE_BYTES`](Self::BEFORE_BYTES)
    /// of room before it (DTLS: [`Outbound::before_bytes`](super::dtls::Outbound::before_bytes)), and
    /// [`BEHIND_BYTES`](Self::BEHIND_BYTES) and the padding after it.
    #[inline]
    pub fn new(buffer: &'a mut [u8], content: Range<usize>, content_type: ContentType) -> Self {
        Self {
            buffer,
            content,
            padding_bytes: 0,
            content_type,
            sequence: 0,
            state: Err(PacketError::Pending),
        }
    }

    /// Adds `bytes` of padding after the content, to hide its length (RFC 8446, 5.4).
    #[must_use]
    #[inline]
    pub fn padding(mut self, bytes: usize) -> Self {
        self.padding_bytes = bytes;
        self
    }

    /// Returns the record to send.
    ///
    /// # Errors
    /// Why the record was not sealed. Nothing in its buffer may then be sent.
    pub fn sealed(&self) -> Result<&[u8], PacketError> {
        match &self.state {
            // The range was checked when the record got its number.
            Ok(()) => Ok(&self.buffer[self.content.clone()]),
            Err(error) => Err(error.clone()),
        }
    }

    /// Returns the sequence number, once the record is sealed.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Assigns the number and the range of the whole record, if it has room and may be sent. Returns the sealed length,
    /// or 0.
    #[inline]
    pub(super) fn number(
        &mut self,
        before: usize,
        cut: &Cut,
        keys: &mut KeySet,
        sequence_max: u64,
    ) -> usize {
        self.state = self.try_number(before, cut, keys, sequence_max);
        match self.state {
            Ok(()) => self.content.len(),
            Err(_) => 0,
        }
    }

    #[inline]
    fn try_number(
        &mut self,
        before: usize,
        cut: &Cut,
        keys: &mut KeySet,
        sequence_max: u64,
    ) -> Result<(), PacketError> {
        let Range { start, end } = self.content;
        let room = self.buffer.len();
        let behind = self.padding_bytes.saturating_add(BEHIND_BYTES);
        if start > end || end > room || start < before || room - end < behind {
            return Err(PacketError::NoRoom { before, behind });
        }
        let bytes = (end - start) + self.padding_bytes;
        if bytes > cut.content_bytes_max() {
            return Err(PacketError::InvalidLength { bytes });
        }
        if !self.content_type.may_have(end - start) {
            return Err(PacketError::InvalidContent {
                content_type: self.content_type.0,
            });
        }
        self.sequence = keys.take(1, sequence_max)?;
        self.content = start - before..end + behind;
        Ok(())
    }

    /// Returns the whole record, from its header to the end of its tag, if it has a number.
    #[inline]
    pub(super) fn numbered(&mut self) -> Option<Numbered<'_>> {
        self.state.is_ok().then(|| Numbered {
            record: &mut self.buffer[self.content.clone()],
            sequence: self.sequence,
            content_type: self.content_type,
            padding_bytes: self.padding_bytes,
        })
    }

    pub(super) fn refuse(&mut self, error: PacketError) {
        self.state = Err(error);
    }
}

/// A record with a number, and with its content in place.
pub(super) struct Numbered<'a> {
    pub(super) record: &'a mut [u8],
    pub(super) sequence: u64,
    pub(super) content_type: ContentType,
    pub(super) padding_bytes: usize,
}

impl Numbered<'_> {
    /// Writes the content type and the padding after the content.
    #[inline]
    pub(super) fn finish_content(&mut self) {
        let end = self.record.len() - TAG_BYTES;
        let (content, padding) = self.record[..end].split_at_mut(end - self.padding_bytes);
        if let Some(last) = content.last_mut() {
            *last = self.content_type.0;
        }
        padding.fill(0);
    }

    /// Turns it into a TLS record (RFC 8446, 5.2).
    #[inline]
    pub(super) fn seal(mut self, keys: &KeySet) -> Result<(), PacketError> {
        self.finish_content();
        let sealed_bytes = self.record.len() - HEADER_BYTES;
        let (header, rest) = self.record.split_at_mut(HEADER_BYTES);
        header.copy_from_slice(&header_of(sealed_bytes));
        let (body, tag) = rest.split_at_mut(sealed_bytes - TAG_BYTES);
        keys.seal(self.sequence, header, body, tag)
    }
}

/// Returns the header of RFC 8446, 5.2, which always looks like application data of TLS 1.2.
#[inline]
fn header_of(sealed_bytes: usize) -> [u8; HEADER_BYTES] {
    let [high, low] = (sealed_bytes as u16).to_be_bytes();
    [ContentType::APPLICATION_DATA.0, 3, 3, high, low]
}
