//! A call: a request from its first attempt to its last.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use prost::Message as _;
use tokio::time::{sleep, timeout};
use tonic::Code;
use zeroize::Zeroizing;

use super::connection::{Answer, Fault};
use super::directory::{self, Directory};
use super::settings::{CallOptions, ClientError, Fallback, Settings};
use crate::proto;
use crate::proto::request::Operation;

/// A client of several servers. Clones share connections, which close with the last clone. The example program `remote_sign`
/// also verifies the signatures.
///
/// ```no_run
/// use std::time::Duration;
///
/// use oarlock_net::client::{CallOptions, Client, ClientError, Operation, Settings};
/// use oarlock_net::proto::{Sign, SignatureScheme};
///
/// async fn sign(settings: Settings, sha256: [u8; 32]) -> Result<Vec<u8>, ClientError> {
///     let client = Client::new(settings)?;
///     client.ready(Duration::from_secs(10)).await?;
///     let sign = Operation::Sign(Sign {
///         key_id: "web".into(),
///         scheme: SignatureScheme::RsaPssSha256.into(),
///         digest: sha256.to_vec(),
///     });
///     Ok(client.call(sign, CallOptions::default()).await?.to_vec())
/// }
/// ```
#[derive(Clone)]
pub struct Client(Arc<Directory>);

impl Client {
    /// Starts to connect, and keeps connecting while the client lives. Call it in a tokio runtime.
    ///
    /// # Errors
    /// INVALID_ARGUMENT if a server is not `host:port`, or the server name is not a valid name.
    pub fn new(settings: Settings) -> Result<Self, ClientError> {
        Directory::start(settings).map(Self)
    }

    /// Waits for a connection to any server.
    ///
    /// # Errors
    /// UNAVAILABLE after `patience`, with the faults of the servers; sooner if TLS failed and no other server is left to
    /// try.
    pub async fn ready(&self, patience: Duration) -> Result<(), ClientError> {
        match timeout(patience, self.0.until_settled()).await {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => Err(self.0.unreachable()),
        }
    }

    /// Sends an operation to one of the servers, and to another if the first fails.
    ///
    /// # Errors
    /// The code and message of the last server asked; UNAVAILABLE if no server can be reached, DEADLINE_EXCEEDED if time
    /// runs out.
    pub async fn call(
        &self,
        operation: Operation,
        options: CallOptions,
    ) -> Result<Zeroizing<Vec<u8>>, ClientError> {
        match self.ask(operation, options).await? {
            Answer::Bytes(bytes) => Ok(bytes),
            Answer::Items(_) => Err(ClientError {
                code: Code::InvalidArgument,
                message: "an operation with several items: use the method of its name".into(),
            }),
        }
    }

    /// Sends an operation of any kind, as [`call`](Self::call) does.
    pub(super) async fn ask(
        &self,
        operation: Operation,
        options: CallOptions,
    ) -> Result<Answer, ClientError> {
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
                public_key_sha256: options.public_key_sha256.map(Vec::from).unwrap_or_default(),
            };
            // An oversized message would break the stream, and every request on it would fail.
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
                return result.map(Answer::Bytes);
            }
            // The first retry is immediate, because it is likely to reach another server.
            if refusals > 0 {
                sleep(PAUSE_MIN * 2u32.pow(refusals.min(6) as u32)).await;
            }
            refusals += 1;
            last = Some(error);
        }
    }

    /// Lists the keys with a public half that this client may use, as the first server to answer reports them.
    ///
    /// # Errors
    /// The same as for [`call`](Self::call).
    pub async fn list_keys(&self) -> Result<Vec<proto::Key>, ClientError> {
        self.list(false).await
    }

    /// Lists them together with those that have no SubjectPublicKeyInfo: identities of age, and secret keys. The entry of a
    /// secret key has its algorithm and its version, and nothing of the key itself.
    ///
    /// # Errors
    /// The same as for [`call`](Self::call).
    pub async fn list_all_keys(&self) -> Result<Vec<proto::Key>, ClientError> {
        self.list(true).await
    }

    async fn list(&self, any_kind: bool) -> Result<Vec<proto::Key>, ClientError> {
        let deadline = self.0.settings().timeout;
        let asked = timeout(deadline, self.0.list_keys(any_kind));
        asked.await.map_err(|_| self.late())?
    }

    /// Returns the number of open connections.
    pub fn connected(&self) -> usize {
        self.0.connected()
    }

    pub(super) fn directory(&self) -> &Directory {
        &self.0
    }

    /// Returns the error for an answer that did not arrive in time.
    pub(super) fn late(&self) -> ClientError {
        if self.0.connected() == 0 {
            return self.0.unreachable();
        }
        ClientError {
            code: Code::DeadlineExceeded,
            message: "no answer within the time of the request: allow more time, or send fewer requests at once"
                .into(),
        }
    }

    /// Makes one attempt on one server. Returns `Err(None)` if there is no server.
    async fn attempt(
        &self,
        request: proto::Request,
        has_fallback: bool,
    ) -> Result<Answer, Option<Fault>> {
        let mut request = Some(request);
        loop {
            // Read this before polling, so that no change is missed.
            let changes = self.0.changes();
            let waiting = self.0.with_balance(|balance| {
                // A balance shared by many callers cannot tell which one to wake; `changes` does.
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
        Err(_) => Some(Err(failed("the local fallback failed".into()))),
    }
}

/// The most bytes of a request. With the batch it joins, it stays below what servers accept in one message by default.
const REQUEST_BYTES_MAX: usize = 512 << 10;
/// Half of the pause before the second retry. The pause doubles with each further retry, up to 64 times this.
const PAUSE_MIN: Duration = Duration::from_millis(2);
