//! The errors of a server.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// The reason why a server does not serve.
#[derive(Debug)]
pub enum Error {
    /// Another server listens at this path.
    InUse(PathBuf),
    /// The descriptor passed in is not a listening socket of type SOCK_SEQPACKET.
    NoListener,
    /// A system call failed.
    System {
        /// The thing that failed, such as a path.
        what: String,
        /// The reason for it.
        error: io::Error,
    },
}

impl Error {
    pub(crate) fn system<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> Self {
        let what = what.into();
        |error| Self::System {
            what,
            error: error.into(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse(path) => write!(
                f,
                "{}: another daemon listens there: stop it, or give another path",
                path.display()
            ),
            Self::NoListener => f.write_str(
                "standard input is not a socket that listens (SOCK_SEQPACKET): see oarlock-local.socket",
            ),
            Self::System { what, error } => write!(f, "{what}: {error}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::System { error, .. } => Some(error),
            _ => None,
        }
    }
}
