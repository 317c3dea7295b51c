//! Many packets in one call.
//!
//! A packet is too short for several threads or for wide registers to gain on it alone, so these
//! interfaces take as many as are there. Each keeps its buffer, its number and its result; one that fails
//! does not stop the others, and nothing is allocated for a packet. Packets leave in the order in which
//! they came.
//!
//! [`esp`] is IPsec's, [`srtp`] is that of sound and video (RTP), [`tls`] has the records of TLS 1.3 and DTLS 1.3.

pub mod esp;
mod replay;
pub mod srtp;
pub mod tls;

use std::fmt;

pub use self::replay::ReplayWindow;
use oarlock_engine::Error;

/// Why a packet was not done. Its payload is zeroed where it had been decrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PacketError {
    /// It was not handed in yet.
    Pending,
    /// Its buffer lacks room before or behind the payload.
    NoRoom {
        /// Bytes that are needed before the payload.
        before: usize,
        /// Bytes that are needed behind it.
        behind: usize,
    },
    /// It is too short, or of a length that no sender makes.
    InvalidLength {
        /// Bytes that it has.
        bytes: usize,
    },
    /// It belongs to another association.
    OtherAssociation {
        /// The index that it carries.
        spi: u32,
    },
    /// Its number has been seen, or is older than the window.
    Replayed,
    /// It was altered, or sealed under another key.
    AuthenticationFailed,
    /// It is authentic, and its padding is not as the sender must make it.
    InvalidPadding,
    /// The association has no numbers left: it needs new keys.
    SequenceExhausted,
    /// Its header is of another version or kind, or longer than the packet.
    InvalidHeader,
    /// It names a master key that is not known.
    UnknownKey,
    /// It is encrypted and must not be, or the other way round.
    EncryptionMismatch,
    /// It is of one source more than there may be.
    TooManyStreams {
        /// How many there may be.
        max: usize,
    },
    /// Its number has been used for another packet.
    Altered,
    /// It is of a type that is never protected, or an empty alert or handshake message.
    InvalidContent {
        /// The type.
        content_type: u8,
    },
    /// The key has protected the most records that it may: it needs an update.
    KeyExhausted {
        /// How many it may protect.
        records_max: u64,
    },
    /// It carries another connection ID, or none where there must be one.
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
