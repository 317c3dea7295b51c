//! Packet protection, many packets in one call.
//!
//! One packet is too short to gain from several threads or wide registers, so each call takes a batch. Each packet has
//! its own buffer, number and result: one that fails does not stop the others, nothing is allocated per packet, and the
//! batch keeps its order.
//!
//! [`esp`] is IPsec, [`srtp`] is secure RTP, and [`tls`] holds the records of TLS 1.3 and DTLS 1.3.

pub mod esp;
mod replay;
pub mod srtp;
pub mod tls;

use std::fmt;

pub use self::replay::ReplayWindow;
use oarlock_engine::Error;

/// Why a packet was not processed. If its payload had been decrypted, it is zeroed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PacketError {
    /// The packet was not passed in yet.
    Pending,
    /// The buffer lacks room before or after the payload.
    NoRoom {
        /// Bytes needed before the payload.
        before: usize,
        /// Bytes needed after the payload.
        behind: usize,
    },
    /// The packet is too short, or has a length that no sender produces.
    InvalidLength {
        /// Length of the packet in bytes.
        bytes: usize,
    },
    /// The packet belongs to another association.
    OtherAssociation {
        /// The SPI in the packet.
        spi: u32,
    },
    /// The sequence number has been seen, or is older than the window.
    Replayed,
    /// The packet was altered, or sealed under another key.
    AuthenticationFailed,
    /// The packet is authentic, but its padding is invalid.
    InvalidPadding,
    /// The association has no sequence numbers left: it needs new keys.
    SequenceExhausted,
    /// The header has another version or type, or is longer than the packet.
    InvalidHeader,
    /// The packet names an unknown master key.
    UnknownKey,
    /// The packet is encrypted and must not be, or the reverse.
    EncryptionMismatch,
    /// The packet's source is new, and no more sources are allowed.
    TooManyStreams {
        /// The most sources allowed.
        max: usize,
    },
    /// The sequence number was used for another packet.
    Altered,
    /// The content type is never protected, or the content is an empty alert or handshake message.
    InvalidContent {
        /// The content type.
        content_type: u8,
    },
    /// The key has protected as many records as it may, and must be updated.
    KeyExhausted {
        /// The most records that the key may protect.
        records_max: u64,
    },
    /// The record has another connection ID, or lacks a required one.
    OtherConnection,
    /// The device failed, and no other took over.
    Failed(Box<Error>),
}

impl fmt::Display for PacketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pending => f.write_str("the packet was not handed in yet"),
            Self::NoRoom { before, behind } => write!(
                f,
                "the buffer lacks room: {before} bytes are needed before the payload and {behind} behind it"
            ),
            Self::InvalidLength { bytes } => {
                write!(f, "no packet of this association has {bytes} bytes")
            }
            Self::OtherAssociation { spi } => {
                write!(f, "the packet belongs to another association, {spi:#010x}")
            }
            Self::Replayed => {
                f.write_str("the sequence number has been seen or is older than the window")
            }
            Self::AuthenticationFailed => Error::AuthenticationFailed.fmt(f),
            Self::InvalidPadding => {
                f.write_str("the packet is authentic, but its padding is wrong")
            }
            Self::SequenceExhausted => {
                f.write_str("no sequence numbers are left: negotiate new keys")
            }
            Self::InvalidHeader => {
                f.write_str("the header is of another version or kind, or longer than the packet")
            }
            Self::UnknownKey => f.write_str("the packet names an unknown master key"),
            Self::EncryptionMismatch => {
                f.write_str("whether the packet is encrypted is not as agreed")
            }
            Self::TooManyStreams { max } => {
                write!(f, "there are {max} sources already, and no more may be")
            }
            Self::Altered => f.write_str("the number has been used for another packet"),
            Self::InvalidContent { content_type } => write!(
                f,
                "a protected record may not carry this content, which is of type {content_type}"
            ),
            Self::KeyExhausted { records_max } => write!(
                f,
                "the key has protected {records_max} records, as many as it may: update it"
            ),
            Self::OtherConnection => {
                f.write_str("the record does not carry the ID of this connection")
            }
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PacketError {}

impl From<Error> for PacketError {
    fn from(error: Error) -> Self {
        match error {
            Error::AuthenticationFailed => Self::AuthenticationFailed,
            error => Self::Failed(Box::new(error)),
        }
    }
}

/// Returns the name of a value in a table of all values, which tests check; nothing if it is missing.
fn name_in<T: PartialEq + Copy>(all: &[(&'static str, T)], value: T) -> &'static str {
    let found = all.iter().find(|(_, one)| *one == value);
    found.map_or("", |(name, _)| name)
}
