//! Errors, by what must be done about them.

use std::fmt;
use std::process::ExitCode;

/// Why there is no measurement. Each is one line.
#[derive(Debug)]
pub enum Error {
    /// The command line asks for something that does not exist.
    Usage(String),
    /// A peer is not on this machine or does not support the case; the message says what would help.
    Unavailable(String),
    /// Oarlock leaves it to OpenSSL on this CPU, so there is nothing to compare.
    NotOffered(String),
    /// A subject's output is wrong.
    Mismatch(String),
    /// Something else went wrong.
    Failed(String),
}

impl Error {
    /// 2 for a wrong command line, else 1.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(if matches!(self, Self::Usage(_)) { 2 } else { 1 })
    }

    /// Says what was being done when an input or output error came.
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
