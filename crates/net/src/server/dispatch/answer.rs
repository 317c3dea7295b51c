//! What a request is answered with.

use std::sync::Arc;
use std::time::Duration;

use oarlock::Error;
use tonic::{Code, Status};
use zeroize::Zeroizing;

use super::super::outbox::Outgoing;

/// Why a request failed, as its client is told. Holds no secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The gRPC status code.
    pub code: Code,
    /// What was wrong, and what to do.
    pub message: String,
    /// The text for the audit, if the message repeats what the client sent.
    pub in_short: Option<&'static str>,
}

impl Refusal {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            in_short: None,
        }
    }

    /// A refusal whose message repeats what the client sent.
    pub(crate) fn repeating(code: Code, message: String, in_short: &'static str) -> Self {
        Self {
            code,
            message,
            in_short: Some(in_short),
        }
    }

    pub(crate) fn status(&self) -> Status {
        Status::new(self.code, self.message.clone())
    }
}

/// Receives the answer to a request, and what goes out with it.
pub type Responder = Box<dyn FnOnce(Answered, &mut Outgoing) + Send>;

/// An answer, and how it came about.
pub struct Answered {
    /// The signature, message or number.
    pub outcome: Result<Zeroizing<Vec<u8>>, Refusal>,
    /// From arrival until work began, or until waiting ended for a request that was never begun.
    pub waited: Duration,
    /// Time in the device, together with the rest of its batch.
    pub served: Duration,
    /// The name of the device, if one was given the request.
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

/// What a client is told about an error of the library.
pub(crate) fn refusal_of(error: Error) -> Refusal {
    let code = match &error {
        Error::InvalidKey(_) | Error::InvalidInput(_) | Error::DecryptionFailed => {
            Code::InvalidArgument
        }
        Error::DeadlinePassed => Code::DeadlineExceeded,
        Error::QueueFull => Code::ResourceExhausted,
        Error::Cancelled | Error::DeviceFailed { .. } => Code::Unavailable,
        _ => Code::Internal,
    };
    Refusal::new(code, error.to_string())
}
