//! How long records are.

use super::keys::TAG_BYTES;
use oarlock_engine::Error;

/// How long the records of a sender are, and how a long buffer is cut into them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    content_bytes_max: usize,
    padding: Padding,
}

/// What hides the lengths of records (RFC 8446, 5.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Padding {
    /// Nothing.
    #[default]
    None,
    /// Content and padding are a multiple of this many bytes, or have the greatest length of a record.
    Multiple(u16),
    /// Every record is as long as one may be.
    Full,
}

impl Default for Cut {
    /// 16,384 bytes a record, and no padding.
    fn default() -> Self {
        Self {
            content_bytes_max: CONTENT_BYTES_MAX,
            padding: Padding::None,
        }
    }
}

impl Cut {
    /// Records as long as the peer takes them (RFC 8449): `limit` is its `record_size_limit`, 64 to 16,385
    /// bytes, of which one is the content type. One of more is that of a later version, and counts as
    /// 16,385.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] below 64, which no peer may send.
    pub fn record_size_limit(limit: u16) -> Result<Self, Error> {
        if limit < LIMIT_MIN {
            return Err(Error::InvalidInput(format!(
                "a record_size_limit is at least {LIMIT_MIN} (RFC 8449, 4); this one is {limit}"
            )));
        }
        Ok(Self {
            content_bytes_max: CONTENT_BYTES_MAX.min(usize::from(limit) - 1),
            ..Self::default()
        })
    }

    /// Has records padded.
    #[must_use]
    pub fn padding(mut self, padding: Padding) -> Self {
        self.padding = padding;
        self
    }

    /// The most bytes of content and padding that a record has.
    pub fn content_bytes_max(&self) -> usize {
        self.content_bytes_max
    }

    /// The bytes of padding of a record with so much content.
    #[inline]
    pub fn padding_bytes(&self, content_bytes: usize) -> usize {
        let padded_bytes = match self.padding {
            Padding::None => content_bytes,
            Padding::Multiple(bytes) => content_bytes.next_multiple_of(usize::from(bytes).max(1)),
            Padding::Full => self.content_bytes_max,
        };
        (padded_bytes.min(self.content_bytes_max)).saturating_sub(content_bytes)
    }

    /// The bytes of the record of TLS that so much content becomes.
    #[inline]
    pub fn record_bytes(&self, content_bytes: usize) -> usize {
        HEADER_BYTES + content_bytes + self.padding_bytes(content_bytes) + BEHIND_BYTES
    }

    /// The bytes that `bytes` of content become, cut into records of TLS; `None` where they are more than
    /// memory has.
    pub fn sealed_bytes(&self, bytes: usize) -> Option<usize> {
        let whole = (bytes / self.content_bytes_max)
            .checked_mul(self.record_bytes(self.content_bytes_max))?;
        match bytes % self.content_bytes_max {
            0 => Some(whole),
            rest => whole.checked_add(self.record_bytes(rest)),
        }
    }
}

/// The header of TLS: type, version, length.
pub(super) const HEADER_BYTES: usize = 5;
/// The content type and the tag.
pub(super) const BEHIND_BYTES: usize = 1 + TAG_BYTES;
/// RFC 8446, 5.1.
pub(super) const CONTENT_BYTES_MAX: usize = 1 << 14;
/// RFC 8449, 4.
const LIMIT_MIN: u16 = 64;
