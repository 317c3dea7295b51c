//! The unified header (RFC 9147, 4).

use std::fmt;

use crate::PacketError;
use oarlock_engine::Error;

/// The optional parts of a sender's headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Whether numbers have 16 bits instead of 8. With 8, a receiver loses synchronization after a gap of 128 records.
    pub long_numbers: bool,
    /// Whether there is a length. A record without one is the last in its datagram.
    pub length: bool,
}

impl Default for Format {
    /// Numbers of 16 bits, and a length.
    fn default() -> Self {
        Self {
            long_numbers: true,
            length: true,
        }
    }
}

/// A connection ID of up to [`BYTES_MAX`](Self::BYTES_MAX) bytes, which distinguishes the records of connections (RFC
/// 9147, 9). An empty ID means none.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct ConnectionId {
    bytes: [u8; Self::BYTES_MAX],
    length: u8,
}

impl ConnectionId {
    /// The longest ID that this library supports; DTLS allows 255 bytes.
    pub const BYTES_MAX: usize = 32;

    /// Creates a connection ID.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if `id` is too long.
    pub fn new(id: &[u8]) -> Result<Self, Error> {
        let mut bytes = [0; Self::BYTES_MAX];
        let Some(place) = bytes.get_mut(..id.len()) else {
            return Err(Error::InvalidInput(format!(
                "a connection ID has at most {} bytes, this one has {}",
                Self::BYTES_MAX,
                id.len()
            )));
        };
        place.copy_from_slice(id);
        Ok(Self {
            bytes,
            length: id.len() as u8,
        })
    }

    /// Returns the bytes of the ID.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl fmt::Debug for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConnectionId({:02x?})", self.as_bytes())
    }
}

impl Format {
    pub(super) fn header_bytes(self, id: &ConnectionId) -> usize {
        1 + id.as_bytes().len() + self.number_bytes() + if self.length { LENGTH_BYTES } else { 0 }
    }

    fn number_bytes(self) -> usize {
        if self.long_numbers { 2 } else { 1 }
    }

    /// Writes the header of a record with its number unencrypted, and returns the place of the number.
    #[inline]
    pub(super) fn write(
        self,
        id: &ConnectionId,
        epoch: u64,
        sequence: u64,
        sealed_bytes: usize,
        header: &mut [u8],
    ) -> Number {
        let id = id.as_bytes();
        let number = Number {
            start: 1 + id.len(),
            bytes: self.number_bytes(),
        };
        header[0] = FIXED | (epoch as u8 & EPOCH);
        for (is_there, bit) in [
            (!id.is_empty(), HAS_ID),
            (self.long_numbers, HAS_LONG_NUMBER),
            (self.length, HAS_LENGTH),
        ] {
            if is_there {
                header[0] |= bit;
            }
        }
        header[1..=id.len()].copy_from_slice(id);
        let low = sequence.to_be_bytes();
        number
            .of(header)
            .copy_from_slice(&low[low.len() - number.bytes..]);
        if self.length {
            let behind = &mut header[number.start + number.bytes..];
            behind.copy_from_slice(&(sealed_bytes as u16).to_be_bytes());
        }
        number
    }
}

/// The place of a number in a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number {
    start: usize,
    /// The length of the number: 1 or 2.
    bytes: usize,
}

impl Number {
    #[inline]
    fn of(self, record: &mut [u8]) -> &mut [u8] {
        &mut record[self.start..][..self.bytes]
    }

    /// Encrypts or decrypts the number.
    #[inline]
    pub(super) fn mask(self, record: &mut [u8], mask: [u8; 2]) {
        for (byte, mask) in self.of(record).iter_mut().zip(mask) {
            *byte ^= mask;
        }
    }

    /// Returns the number nearest to `expected` that ends with these bytes (RFC 9147, 4.2.2).
    #[inline]
    pub(super) fn full(self, record: &[u8], expected: u64) -> u64 {
        let low = (record[self.start..][..self.bytes].iter())
            .fold(0, |number, byte| number << 8 | u64::from(*byte));
        let span = 1_u64 << (8 * self.bytes);
        let found = expected & !(span - 1) | low;
        let half = span / 2;
        if found.saturating_add(half) <= expected {
            found.checked_add(span).unwrap_or(found)
        } else if found > expected.saturating_add(half) {
            found.checked_sub(span).unwrap_or(found)
        } else {
            found
        }
    }

    pub(super) fn is_long(self) -> bool {
        self.bytes == 2
    }
}

/// A parsed record header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) number: Number,
    /// The two low bits of the epoch.
    pub(super) epoch: u8,
    pub(super) header_bytes: usize,
    /// The length of the whole record. A record without a length field ends with its datagram.
    pub(super) record_bytes: usize,
}

impl Header {
    /// Reads the header of the first record of `datagram`. `id` is the receiver's ID, which a datagram's first record
    /// must carry (RFC 9147, 4).
    pub(super) fn read(
        datagram: &[u8],
        id: &ConnectionId,
        is_first: bool,
    ) -> Result<Self, PacketError> {
        let bytes = datagram.len();
        let Some(first) = datagram.first() else {
            return Err(PacketError::InvalidLength { bytes });
        };
        if first & FIXED_MASK != FIXED {
            return Err(PacketError::InvalidHeader);
        }
        let id = id.as_bytes();
        let has_id = first & HAS_ID != 0;
        if has_id && id.is_empty() || !has_id && !id.is_empty() && is_first {
            return Err(PacketError::OtherConnection);
        }
        let id_bytes = if has_id { id.len() } else { 0 };
        if has_id && datagram.get(1..=id_bytes).is_some_and(|found| found != id) {
            return Err(PacketError::OtherConnection);
        }
        let number = Number {
            start: 1 + id_bytes,
            bytes: if first & HAS_LONG_NUMBER != 0 { 2 } else { 1 },
        };
        let end = number.start + number.bytes;
        let (header_bytes, record_bytes) = if first & HAS_LENGTH == 0 {
            (end, bytes)
        } else {
            let length = datagram.get(end..).and_then(<[u8]>::first_chunk);
            let Some(length) = length else {
                return Err(PacketError::InvalidLength { bytes });
            };
            let sealed_bytes = usize::from(u16::from_be_bytes(*length));
            (end + LENGTH_BYTES, end + LENGTH_BYTES + sealed_bytes)
        };
        if record_bytes > bytes || header_bytes > record_bytes {
            return Err(PacketError::InvalidLength { bytes });
        }
        Ok(Self {
            number,
            epoch: first & EPOCH,
            header_bytes,
            record_bytes,
        })
    }
}

const FIXED: u8 = 0b0010_0000;
const FIXED_MASK: u8 = 0b1110_0000;
const HAS_ID: u8 = 0b1_0000;
const HAS_LONG_NUMBER: u8 = 0b1000;
const HAS_LENGTH: u8 = 0b100;
const EPOCH: u8 = 0b11;
const LENGTH_BYTES: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    /// The rule itself: of all numbers with this ending, the nearest; if two are, the higher one.
    fn nearest(low: u64, span: u64, expected: u64) -> u64 {
        let around = expected / span;
        (around.saturating_sub(1)..=around + 1)
            .map(|upper| upper * span + low)
            .min_by_key(|found| (found.abs_diff(expected), std::cmp::Reverse(*found)))
            .unwrap()
    }

    #[test]
    fn the_full_number_is_the_nearest() {
        for bytes in [1, 2] {
            let number = Number { start: 0, bytes };
            let span = 1_u64 << (8 * bytes);
            for expected in [
                0,
                1,
                127,
                128,
                129,
                255,
                256,
                300,
                32_768,
                65_535,
                65_536,
                1 << 40,
            ] {
                for low in (0..span).step_by(if bytes == 1 { 1 } else { 251 }) {
                    let wire = &low.to_be_bytes()[8 - bytes..];
                    let found = number.full(wire, expected);
                    assert_eq!(found, nearest(low, span, expected), "{low} near {expected}");
                }
            }
        }
    }

    #[test]
    fn numbers_at_the_end_do_not_wrap() {
        let number = Number { start: 0, bytes: 1 };
        assert_eq!(number.full(&[5], u64::MAX), u64::MAX - 250);
        assert_eq!(number.full(&[255], u64::MAX), u64::MAX);
        assert_eq!(number.full(&[255], 0), 255);
    }
}
