//! A request, from its first attempt to its last.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use prost::Message as _;
use tokio::time::{sleep, timeout};
use tonic::Code;
use zeroize::Zeroizing;

use super::connection::Fault;
use super::directory::{self, Directory};
use super::settings::{CallOptions, ClientError, Fallback, Settings};
use crate::proto;
use crate::proto::request::Operation;

/// Servers that requests go to. Clones share connections, which are closed with the last of them.
#[derive(Clone)]
pub struct Client(Arc<Directory>);

impl Client {
    /// Begins to connect, and goes on to do so as long as it lives. To be called in a runtime of
    /// tokio.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for a server that is not `host:port`.
    pub fn new(settings: Settings) -> Result<Self, ClientError> {
        Directory::start(settings).map(Self)
    }

    /// Waits until there is a connection to any server.
    ///
    /// # Errors
    /// UNAVAILABLE after `patience`: what was wrong with the servers.
    pub async fn ready(&self, patience: Duration) -> Result<(), ClientError> {
        let connected = timeout(patience, self.0.until_connected());
        connected.await.map_err(|_| self.0.unreachable())
    }

    /// Carries out an operation on one of the servers; on another one where the first fails.
    ///
    /// # Errors
    /// What the last server that was asked said, with its code; UNAVAILABLE where none can be
    /// reached, DEADLINE_EXCEEDED where the time is over.
    pub async fn call(
        &self,
        operation: Operation,
        options: CallOptions,
    ) -> Result<Zeroizing<Vec<u8>>, ClientError> {
        let settings = self.0.settings();
        let deadline = Instant::now() + options.timeout.unwrap_or(settings.timeout);
        let mut last: Option<ClientError> = None;
        let mut refusals = 0;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(last.unwrap_or_else(|| self.late()));
            }
            let request = proto::Request {
                id: 0,
                timeout_ms: u32::try_from(left.as_millis().max(1)).unwrap_or(u32::MAX),
                priority: i32::from(options.is_urgent),
                operation: Some(operation.clone()),
            };
            // It would break the stream, and what others have on it.
            if request.encoded_len() > REQUEST_BYTES_MAX {
                return Err(ClientError {
                    code: Code::InvalidArgument,
                    message: format!(
                        "a request of {} bytes: at most {REQUEST_BYTES_MAX} can be sent",
                        request.encoded_len()
                    ),
                });
            }
            let attempt = timeout(left, self.attempt(request, settings.fallback.is_some()));
            let fault = match attempt.await {
                Err(_) => return Err(last.unwrap_or_else(|| self.late())),
                Ok(Ok(result)) => return Ok(result),
                Ok(Err(fault)) => fault,
            };
            let error = match fault {
                None => self.0.unreachable(),
                Some(fault @ Fault::Broken) => ClientError {
                    code: Code::Unavailable,
                    message: fault.to_string(),
                },
                Some(Fault::Refused { code, message }) => ClientError { code, message },
            };
            match error.code {
                Code::Unavailable => {}
                // Another server may have room.
                Code::ResourceExhausted if refusals + 1 < self.0.connected() => {}
                _ => return Err(error),
            }
            if let Some(fallback) = &settings.fallback
                && let Some(result) = compute_here(Arc::clone(fallback), operation.clone()).await
            {
                return result;
            }
            // At once at first: the next one is likely to be another.
            if refusals > 0 {
                sleep(PAUSE_MIN * 2u32.pow(refusals.min(6) as u32)).await;
            }
            refusals += 1;
            last = Some(error);
        }
    }

    /// The keys that this client may use, by any server that answers.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub async fn list_keys(&self) -> Result<Vec<proto::Key>, ClientError> {
        let deadline = self.0.settings().timeout;
        let asked = timeout(deadline, self.0.list_keys());
        asked.await.map_err(|_| self.late())?
    }

    /// Connections that are open.
    pub fn connected(&self) -> usize {
        self.0.connected()
    }

    /// Why there was no answer in time.
    fn late(&self) -> ClientError {
        if self.0.connected() == 0 {
            return self.0.unreachable();
        }
        ClientError {
            code: Code::DeadlineExceeded,
            message: "no answer within the time of the request: allow more, or send less at once"
                .into(),
        }
    }

    /// One request to one server. `None`: there is none.
    async fn attempt(
        &self,
        request: proto::Request,
        has_fallback: bool,
    ) -> Result<Zeroizing<Vec<u8>>, Option<Fault>> {
        let mut request = Some(request);
        loop {
            // Looked at before, so that no change is missed.
            let changes = self.0.changes();
            let waiting = self.0.with_balance(|balance| {
                // Whom to wake is not known to a balance that many ask; `changes` tells instead.
                let mut context = Context::from_waker(Waker::noop());
                match tower::Service::poll_ready(balance, &mut context) {
                    Poll::Ready(Ok(())) => Some(tower::Service::call(balance, request.take()?)),
                    Poll::Ready(Err(_)) | Poll::Pending => None,
                }
            });
            match waiting {
                Some(waiting) => return waiting.await.map_err(directory::fault).map_err(Some),
                None if has_fallback => return Err(None),
                None => self.0.until_changed(changes).await,
            }
        }
    }
}

async fn compute_here(
    fallback: Arc<dyn Fallback>,
    operation: Operation,
) -> Option<Result<Zeroizing<Vec<u8>>, ClientError>> {
    let computed = tokio::task::spawn_blocking(move || fallback.compute(&operation));
    let failed = |message| ClientError {
        code: Code::Internal,
        message,
    };
    match computed.await {
        Ok(result) => Some(result?.map_err(failed)),
        Err(_) => Some(Err(failed("the fallback panicked".into()))),
    }
}

/// With a batch that it is added to, it stays below what servers take in one message by default.
const REQUEST_BYTES_MAX: usize = 512 << 10;
/// Between attempts, doubled with each.
const PAUSE_MIN: Duration = Duration::from_millis(2);
