//! Record lengths.

use super::keys::TAG_BYTES;
use oarlock_engine::Error;

/// How long a sender's records are, and how long buffers are cut into records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    content_bytes_max: usize,
    padding: Padding,
}

/// Padding that hides the lengths of records (RFC 8446, 5.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Padding {
    /// No padding.
    #[default]
    None,
    /// Content and padding fill a multiple of this many bytes, up to the longest record.
    Multiple(u16),
    /// Every record has the maximum length.
    Full,
}

impl Default for Cut {
    /// 16,384 bytes per record, and no padding.
    fn default() -> Self {
        Self {
            content_bytes_max: CONTENT_BYTES_MAX,
            padding: Padding::None,
        }
    }
}

impl Cut {
    /// Cuts records as long as the peer accepts (RFC 8449). `limit` is its `record_size_limit`, 64 to 16,385 bytes
    /// including one for the content type. A higher limit belongs to a later version and counts as 16,385.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] below 64, which a peer must not send.
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

    /// Sets the padding of records.
    #[must_use]
    pub fn padding(mut self, padding: Padding) -> Self {
        self.padding = padding;
        self
    }

    /// Returns the most bytes of content and padding in a record.
    pub fn content_bytes_max(&self) -> usize {
        self.content_bytes_max
    }

    /// Returns the bytes of padding in a record with `content_bytes` of content.
    #[inline]
    pub fn padding_bytes(&self, content_bytes: usize) -> usize {
        let padded_bytes = match self.padding {
            Padding::None => content_bytes,
            Padding::Multiple(bytes) => content_bytes.next_multiple_of(usize::from(bytes).max(1)),
            Padding::Full => self.content_bytes_max,
        };
        (padded_bytes.min(self.content_bytes_max)).saturating_sub(content_bytes)
    }

    /// Returns the length of the TLS record with `content_bytes` of content.
    #[inline]
    pub fn record_bytes(&self, content_bytes: usize) -> usize {
        HEADER_BYTES + content_bytes + self.padding_bytes(content_bytes) + BEHIND_BYTES
    }

    /// Returns the length of `bytes` of content after it is cut into TLS records, or `None` if that overflows.
    pub fn sealed_bytes(&self, bytes: usize) -> Option<usize> {
        let whole = (bytes / self.content_bytes_max)
            .checked_mul(self.record_bytes(self.content_bytes_max))?;
        match bytes % self.content_bytes_max {
            0 => Some(whole),
            rest => whole.checked_add(self.record_bytes(rest)),
        }
    }
}

/// The length of a TLS header: type, version, length.
pub(super) const HEADER_BYTES: usize = 5;
/// The length of content type and tag.
pub(super) const BEHIND_BYTES: usize = 1 + TAG_BYTES;
/// The longest content of a record (RFC 8446, 5.1).
pub(super) const CONTENT_BYTES_MAX: usize = 1 << 14;
/// The lowest limit (RFC 8449, 4).
const LIMIT_MIN: u16 = 64;
