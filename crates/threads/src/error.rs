//! Errors, one variant for each party that must act.

use std::fmt;

/// The reason why a request was not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The key does not fit the algorithm; the text says what is wrong and what fits.
    InvalidKey(String),
    /// Another argument does not fit; the text says which, and what fits.
    InvalidInput(String),
    /// The tag does not belong to this message: it was altered, or nonce, associated data or key differ
    /// from those it was sealed with. No plaintext was released.
    AuthenticationFailed,
    /// The padding of a message is wrong: the key or IV is another one, or the ciphertext was altered. The error does not
    /// say where. Even revealing this error to a sender can be too much: see `AcceleratedCbc::decrypt_padded`.
    InvalidPadding,
    /// The signature does not belong to this message under this key and scheme.
    InvalidSignature,
    /// The ciphertext was made for another key or scheme, or was altered. The error does not say what is wrong with it,
    /// which would be an oracle (RFC 8017, 7.1.2).
    DecryptionFailed,
    /// The number of waiting jobs has reached `Builder::jobs_max`, 1024 by default. Methods that submit a job return
    /// [`QueueFull`](crate::job::QueueFull) instead, which returns the buffers; `?` converts that to this error.
    QueueFull,
    /// The job was cancelled, its accelerator was dropped, or it was submitted before a fork and this
    /// is the child. It has no result.
    Cancelled,
    /// The job's deadline passed before it began.
    DeadlinePassed,
    /// An option is unknown or has a value outside its range.
    Options(OptionsError),
    /// Under `reservation=exclusive`, other ciphers hold so much of `max_threads` that fewer than `cipher_threads` threads
    /// are left for this one.
    NoThreadsFree {
        /// Threads that this cipher would reserve.
        wanted: usize,
        /// Threads that no cipher has reserved.
        free: usize,
    },
    /// A device failed to do what it had offered, or no device offers the algorithm.
    DeviceFailed {
        /// The device's name; empty if none offers the algorithm.
        device: String,
        /// The device's own message.
        reason: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidKey(what) | Self::InvalidInput(what) => f.write_str(what),
            Self::AuthenticationFailed => f.write_str(
                "authentication failed: the message was altered, or nonce, associated data or key \
                 are not those it was sealed with",
            ),
            Self::InvalidPadding => f.write_str(
                "the padding is wrong: check key and IV, and whether the ciphertext was altered",
            ),
            Self::InvalidSignature => f.write_str(
                "the signature is wrong: check the key and the scheme, and whether the message was \
                 altered",
            ),
            Self::DecryptionFailed => f.write_str(
                "decryption failed: check the key and the scheme, and whether the ciphertext was \
                 altered",
            ),
            Self::QueueFull => f.write_str(
                "the queue of jobs is full: submit it again when some are done, or raise jobs_max",
            ),
            Self::Cancelled => f.write_str("the job was cancelled before it began"),
            Self::DeadlinePassed => {
                f.write_str("the job's deadline passed before it began: submit it earlier or again")
            }
            Self::Options(error) => error.fmt(f),
            Self::NoThreadsFree { wanted, free } => write!(
                f,
                "this cipher would keep {wanted} threads and {free} are free: \
                 raise max_threads, lower cipher_threads or set reservation=shared"
            ),
            Self::DeviceFailed { device, reason } if device.is_empty() => f.write_str(reason),
            Self::DeviceFailed { device, reason } => write!(f, "device {device} failed: {reason}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<OptionsError> for Error {
    fn from(error: OptionsError) -> Self {
        Self::Options(error)
    }
}

/// An option is unknown, or its value is not allowed. The text names the option, the value, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionsError(String);

impl OptionsError {
    /// Creates an error with this text.
    #[doc(hidden)]
    pub fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }

    /// Prefixes the text with the source of the option.
    #[doc(hidden)]
    #[must_use]
    pub fn from(self, source: &str) -> Self {
        Self(format!("{source}: {}", self.0))
    }
}

impl fmt::Display for OptionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for OptionsError {}
