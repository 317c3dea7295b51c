//! The errors of encrypting and decrypting files.

use std::{fmt, io};

use oarlock::packet::PacketError;

use crate::words;

/// The reason why a file could not be encrypted or decrypted.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The input could not be read at this byte.
    Read {
        /// The byte, from the input's start.
        at: u64,
        /// The system's error.
        error: io::Error,
    },
    /// The output could not be written at this byte.
    Write {
        /// The byte, from where writing began.
        at: u64,
        /// The system's error.
        error: io::Error,
    },
    /// The input is shorter than it was when it was opened.
    CutShort {
        /// The byte at which it ended.
        at: u64,
    },
    /// A chunk is not authentic: it was changed or moved, or the key belongs to another file.
    Authentication {
        /// The number of the chunk, from 0 on. All chunks before it are authentic.
        chunk: u64,
    },
    /// The input ended within the header.
    Truncated {
        /// The byte at which it ended.
        at: u64,
    },
    /// The input ended within a chunk, or after an authentic chunk that is not the last. Such a chunk is still written.
    Incomplete {
        /// The number of the chunk.
        chunk: u64,
    },
    /// Data follows the chunk that was sealed as the last, which is still written.
    Trailing {
        /// The number of the chunk.
        chunk: u64,
    },
    /// The file has another format, or a part of its header is malformed.
    Header(&'static str),
    /// The text of an armored file is malformed.
    Armor {
        /// The number of the line, from 1 on.
        line: u64,
        /// The fault of the line.
        what: &'static str,
    },
    /// The file is armored, and too long to be kept in memory.
    LongArmor,
    /// The input does not begin with `Salted__`, as a file of `openssl enc` with a passphrase does.
    NotSalted,
    /// The padding of the last block is wrong: the key is wrong, or the file was changed.
    Padding,
    /// The ciphertext is empty, or does not consist of whole blocks.
    PartialBlock,
    /// The header was changed: its MAC does not match the file key.
    HeaderMac,
    /// No identity matches.
    NoMatchingIdentity,
    /// The file was encrypted with a passphrase, which is not among the identities.
    NeedsPassphrase,
    /// The file was encrypted with another passphrase.
    WrongPassphrase,
    /// The passphrase requires more than 2 to this power rounds of scrypt, or the number is missing.
    ExcessiveWork(u8),
    /// An identity failed, with the `age` crate's reason.
    #[cfg(feature = "age")]
    Identity(::age::DecryptError),
    /// A recipient failed, with the `age` crate's reason.
    #[cfg(feature = "age")]
    Recipient(::age::EncryptError),
    /// A post-quantum recipient was given together with one that is not, through which a quantum computer could open
    /// the file.
    MixedPostQuantum,
    /// The system returned no random bytes for a key.
    Random(io::Error),
    /// No recipient was given.
    NoRecipient,
    /// There are more chunks than a file may have.
    TooLong,
    /// The [`Watch`](crate::Watch) stopped the work.
    Stopped,
    /// The engine refused the operation.
    Engine(oarlock::Error),
    /// A TLS record could not be sealed.
    Record(PacketError),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { at, error } => {
                write!(f, "reading at byte {at}: {}", words::reason(error))
            }
            Self::Write { at, error } => {
                write!(f, "writing at byte {at}: {}", words::reason(error))
            }
            Self::CutShort { at } => {
                write!(f, "the input was cut short at byte {at} while it was read")
            }
            Self::Authentication { chunk } => write!(
                f,
                "chunk {chunk} is not authentic: the file was changed or cut short after it was encrypted"
            ),
            Self::Truncated { at } => {
                write!(f, "incomplete: it ends within the header, at byte {at}")
            }
            Self::Incomplete { chunk } => {
                write!(f, "incomplete: its end is missing, after chunk {chunk}")
            }
            Self::Trailing { chunk } => {
                write!(
                    f,
                    "something follows its last chunk, {chunk}: it was appended later"
                )
            }
            Self::Header(what) => write!(f, "not an age file, or a damaged one: {what}"),
            Self::Armor { line, what } => write!(f, "damaged text: line {line} {what}"),
            Self::LongArmor => f.write_str(
                "armored and longer than 256 MiB, which only `oarlock decrypt` reads",
            ),
            Self::NotSalted => f.write_str(
                "not a file of `openssl enc` with a passphrase: it does not begin with `Salted__`",
            ),
            Self::Padding => f.write_str(
                "bad padding in its last block: a wrong passphrase, key, IV or cipher, or the file was changed",
            ),
            Self::PartialBlock => {
                f.write_str("incomplete: it is not one or more whole blocks of 16 bytes")
            }
            Self::HeaderMac => f.write_str(words::HEADER_CHANGED),
            Self::NoMatchingIdentity => f.write_str(words::NO_IDENTITY_FITS),
            Self::NeedsPassphrase => f.write_str("it was encrypted with a passphrase, which was not given"),
            Self::WrongPassphrase => f.write_str("it was encrypted with another passphrase"),
            Self::ExcessiveWork(most) => f.write_str(&words::excessive(*most)),
            #[cfg(feature = "age")]
            Self::Identity(error) => f.write_str(&words::age::of_identity(error)),
            #[cfg(feature = "age")]
            Self::Recipient(error) => f.write_str(&words::age::of_recipient(error)),
            Self::MixedPostQuantum => f.write_str(
                "post-quantum recipients are mixed with others, through which a quantum computer could open the file: \
                 give those of one kind only",
            ),
            Self::Random(error) => {
                write!(f, "no random bytes for a key: {}", words::reason(error))
            },
            Self::NoRecipient => f.write_str(words::NO_RECIPIENT),
            Self::TooLong => f.write_str("too long: the format has no more chunk numbers"),
            Self::Stopped => f.write_str("stopped before the end"),
            Self::Engine(error) => error.fmt(f),
            Self::Record(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read { error, .. } | Self::Write { error, .. } | Self::Random(error) => {
                Some(error)
            }
            #[cfg(feature = "age")]
            Self::Identity(error) => Some(error),
            #[cfg(feature = "age")]
            Self::Recipient(error) => Some(error),
            Self::Engine(error) => Some(error),
            Self::Record(error) => Some(error),
            _ => None,
        }
    }
}
