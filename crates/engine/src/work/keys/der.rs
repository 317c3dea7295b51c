//! Detects the structure of a DER key by the tags of its first two elements.

use pkcs8::der::asn1::{AnyRef, SequenceRef};
use pkcs8::der::{self, Decode, Reader, SliceReader, Tag};

/// Returns a reader of the elements of a sequence that fills all of `der`.
pub(super) fn elements(der: &[u8]) -> Result<SliceReader<'_>, der::Error> {
    SliceReader::new(<&SequenceRef>::from_der(der)?.as_bytes())
}

/// Returns the tags of the first two elements of a sequence, if it has two.
pub(super) fn first_tags(der: &[u8]) -> Option<(Tag, Tag)> {
    let mut reader = elements(der).ok()?;
    let first = Tag::peek(&reader).ok()?;
    reader.decode::<AnyRef<'_>>().ok()?;
    Some((first, Tag::peek(&reader).ok()?))
}

/// Returns the next element if it has the context-specific tag `number`.
pub(super) fn tagged<'a>(
    reader: &mut SliceReader<'a>,
    number: u32,
) -> Result<Option<AnyRef<'a>>, der::Error> {
    match (!reader.is_finished()).then(|| Tag::peek(reader)) {
        Some(Ok(Tag::ContextSpecific { number: found, .. })) if found.value() == number => {
            let field: der::asn1::ContextSpecific<AnyRef<'_>> = reader.decode()?;
            Ok(Some(field.value))
        }
        _ => Ok(None),
    }
}
