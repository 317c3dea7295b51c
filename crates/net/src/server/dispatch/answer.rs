//! What a request is answered with.

use std::sync::Arc;
use std::time::Duration;

use oarlock::Error;
use tonic::{Code, Status};
use zeroize::Zeroizing;

/// Why a request was not carried out, as its client is told. No secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Of gRPC.
    pub code: Code,
    /// What was wrong, and what to do.
    pub message: String,
}

impl Refusal {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, message }
    }

    pub(crate) fn status(&self) -> Status {
        Status::new(self.code, self.message.clone())
    }
}

/// Takes the answer to a request.
pub(super) type Responder = Box<dyn FnOnce(Answered) + Send>;

/// An answer, and how it came about.
pub struct Answered {
    /// Signature, message, or number.
    pub outcome: Result<Zeroizing<Vec<u8>>, Refusal>,
    /// From arrival to the beginning of work; or to the end of waiting, where it was not begun.
    pub waited: Duration,
    /// In the device, with the others of its batch.
    pub served: Duration,
    /// The device's name, if it was given to one.
    pub device: Option<Arc<str>>,
}

impl Answered {
    pub(crate) fn refused(refusal: Refusal, waited: Duration) -> Self {
        Self {
            outcome: Err(refusal),
            waited,
            served: Duration::ZERO,
            device: None,
        }
    }
}

/// What a request was refused with by the library.
pub(crate) fn refusal_of(error: Error) -> Refusal {
    let code = match &error {
        Error::InvalidKey(_) | Error::InvalidInput(_) | Error::DecryptionFailed => {
            Code::InvalidArgument
        }
        Error::DeadlinePassed => Code::DeadlineExceeded,
        Error::Cancelled | Error::DeviceFailed { .. } => Code::Unavailable,
        _ => Code::Internal,
    };
    Refusal::new(code, error.to_string())
}
