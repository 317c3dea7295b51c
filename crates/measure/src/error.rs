//! Errors, grouped by what the user can do about them.

use std::fmt;
use std::process::ExitCode;

/// The reason why there is no measurement. Each message is one line.
#[derive(Debug)]
pub enum Error {
    /// The command line asks for something that does not exist.
    Usage(String),
    /// A peer is not on this machine or does not support the case; the message says what would help.
    Unavailable(String),
    /// Oarlock leaves the operation to OpenSSL on this CPU, so there is nothing to compare.
    NotOffered(String),
    /// A subject's output is wrong.
    Mismatch(String),
    /// Another failure.
    Failed(String),
}

impl Error {
    /// Returns 2 for a wrong command line, otherwise 1.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(if matches!(self, Self::Usage(_)) { 2 } else { 1 })
    }

    /// Returns a function that adds `doing` to an input or output error.
    pub fn io(doing: impl fmt::Display) -> impl FnOnce(std::io::Error) -> Self {
        move |error| Self::Failed(format!("{doing}: {error}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Usage(what)
        | Self::Unavailable(what)
        | Self::NotOffered(what)
        | Self::Mismatch(what)
        | Self::Failed(what)) = self;
        f.write_str(what)
    }
}

impl std::error::Error for Error {}

impl From<oarlock::Error> for Error {
    fn from(error: oarlock::Error) -> Self {
        match error {
            oarlock::Error::Options(error) => Self::Usage(error.to_string()),
            other => Self::Failed(other.to_string()),
        }
    }
}
