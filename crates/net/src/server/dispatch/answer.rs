//! The answer to a request.

use std::sync::Arc;
use std::time::Duration;

use oarlock::Error;
use tonic::{Code, Status};
use zeroize::Zeroizing;

use super::super::items::Item;
use super::super::outbox::Outgoing;

/// The reason why a request failed, as sent to its client. Holds no secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The gRPC status code.
    pub code: Code,
    /// The fault, and what to do about it.
    pub message: String,
    /// The text for the audit, if the message repeats text from the client.
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

    /// Creates a refusal whose message repeats text from the client.
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

/// A callback for the answer to a request. It adds its reply to the [`Outgoing`] ones.
pub type Responder = Box<dyn FnOnce(Answered, &mut Outgoing) + Send>;

/// The result of a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Output {
    /// A signature, message or number, or random bytes.
    Bytes(Zeroizing<Vec<u8>>),
    /// The results of a request's items, or of those of a part of it.
    Items(Vec<Item>),
}

impl From<Zeroizing<Vec<u8>>> for Output {
    fn from(bytes: Zeroizing<Vec<u8>>) -> Self {
        Self::Bytes(bytes)
    }
}

/// An answer, with its times and its device.
pub struct Answered {
    /// The result, or the reason why the request failed.
    pub outcome: Result<Output, Refusal>,
    /// The time from arrival until work began, or until waiting ended for a request that no worker began.
    pub waited: Duration,
    /// The time in the device, together with the rest of its batch.
    pub served: Duration,
    /// The name of the device, if one received the request.
    pub device: Option<Arc<str>>,
}

impl Answered {
    /// Returns the numbers of items that have a result and that have failed, for a request with several.
    pub(crate) fn items(&self) -> Option<(u64, u64)> {
        let Ok(Output::Items(items)) = &self.outcome else {
            return None;
        };
        let right = items.iter().filter(|item| item.outcome.is_ok()).count();
        Some((right as u64, (items.len() - right) as u64))
    }

    pub(crate) fn refused(refusal: Refusal, waited: Duration) -> Self {
        Self {
            outcome: Err(refusal),
            waited,
            served: Duration::ZERO,
            device: None,
        }
    }
}

/// Returns the refusal that a client receives for an error of the library.
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
