//! The plaintext of an authentic record (RFC 8446, 5.2 and 5.4).

use std::ops::Range;

use super::suite::ContentType;
use crate::PacketError;

/// Returns the content of an inner plaintext, and its type, which is the last byte other than 0. The time depends on
/// the length of the padding, as RFC 8446 expects (appendix E.3).
#[inline]
pub(super) fn content_of(
    inner: &[u8],
    content_bytes_max: usize,
) -> Result<(Range<usize>, ContentType), PacketError> {
    let bytes = inner.len();
    if bytes > content_bytes_max + 1 {
        return Err(PacketError::InvalidLength { bytes });
    }
    let Some(end) = inner.iter().rposition(|byte| *byte != 0) else {
        return Err(PacketError::InvalidPadding);
    };
    let content_type = ContentType(inner[end]);
    if !content_type.may_have(end) {
        return Err(PacketError::InvalidContent {
            content_type: content_type.0,
        });
    }
    Ok((0..end, content_type))
}
