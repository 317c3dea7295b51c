//! A connection to a server, with one stream of requests and replies.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::Stream;
use hyper_util::rt::TokioIo;
use prost::Message as _;
use rustls_pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, Sleep, sleep, timeout};
use tokio_rustls::TlsConnector;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Streaming};
use tower::Service;
use zeroize::Zeroizing;

use super::handshake::{Watched, Witness};
use super::page::shown;
use super::settings::{Address, Settings};
use crate::proto::cryptoserver_client::CryptoserverClient;
use crate::proto::{self, reply};

/// The answer of a server, or the reason why there is none.
pub(super) type Outcome = Result<Answer, Fault>;

/// The result of a request.
pub(super) enum Answer {
    Bytes(Zeroizing<Vec<u8>>),
    /// The items of a request with several.
    Items(Vec<proto::Item>),
}

/// The reason why a request was not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The server refused it.
    Refused { code: Code, message: String },
    /// The connection broke before an answer arrived. The server may have computed it, which does no harm: operations have
    /// no side effects.
    Broken,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { message, .. } => f.write_str(message),
            Self::Broken => f.write_str("the connection broke before an answer arrived"),
        }
    }
}

impl std::error::Error for Fault {}

/// Opens a connection to one server. `witness` records TLS faults.
pub(super) async fn connect(
    address: &Address,
    settings: &Settings,
    witness: &Witness,
) -> Result<CryptoserverClient<Channel>, String> {
    let connector = Connector {
        address: address.clone(),
        settings: settings.clone(),
        witness: witness.clone(),
    };
    // This name becomes the `:authority` of requests; rustls checks the certificate against its own name.
    let endpoint = Endpoint::from_shared(format!("http://{}", address.authority()))
        .map_err(|error| error.to_string())?
        .initial_stream_window_size(WINDOW_BYTES)
        .initial_connection_window_size(WINDOW_BYTES)
        .http2_keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
        .keep_alive_while_idle(true);
    let connected = timeout(
        settings.connect_timeout,
        endpoint.connect_with_connector(connector),
    );
    let channel = connected
        .await
        .map_err(|_| {
            format!(
                "not connected within {} ms",
                settings.connect_timeout.as_millis()
            )
        })?
        .map_err(|error| innermost(&error))?;
    Ok(CryptoserverClient::new(channel).max_decoding_message_size(MESSAGE_BYTES_MAX))
}

/// Opens the socket of a connection, with TLS if the settings say so.
#[derive(Clone)]
struct Connector {
    address: Address,
    settings: Settings,
    witness: Witness,
}

impl Service<tonic::transport::Uri> for Connector {
    type Response = TokioIo<Box<dyn Socket>>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: tonic::transport::Uri) -> Self::Future {
        let Self {
            address,
            settings,
            witness,
        } = self.clone();
        Box::pin(async move {
            let socket = TcpStream::connect(address.socket).await?;
            socket.set_nodelay(true)?;
            let Some(tls) = settings.tls else {
                let watched = Watched::new(socket, witness, false);
                return Ok(TokioIo::new(Box::new(watched) as Box<dyn Socket>));
            };
            let name = settings.server_name.as_ref().unwrap_or(&address.host);
            let name = ServerName::try_from(name.clone()).map_err(|_| {
                let what = format!("{name:?} is neither a DNS name nor an IP address");
                io::Error::new(io::ErrorKind::InvalidInput, what)
            })?;
            let connecting = TlsConnector::from(tls.config()).connect(name, socket);
            let stream = connecting.await.inspect_err(|error| witness.note(error))?;
            let watched = Watched::new(stream, witness, true);
            Ok(TokioIo::new(Box::new(watched) as Box<dyn Socket>))
        })
    }
}

/// A socket with or without TLS.
trait Socket: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin {}
impl<T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin> Socket for T {}

/// An open stream of requests. Clones share it.
#[derive(Clone)]
pub(super) struct Exchange {
    outbox: mpsc::UnboundedSender<proto::Request>,
    pending: Arc<Mutex<Pending>>,
}

/// The unanswered requests of a stream.
#[derive(Default)]
struct Pending {
    by_id: HashMap<u64, oneshot::Sender<Outcome>>,
    last_id: u64,
    is_broken: bool,
    /// The end of the pause after an UNAVAILABLE; until then the server receives no requests.
    rests_until: Option<Instant>,
}

impl Exchange {
    /// Opens the stream. The returned future receives replies until the stream breaks.
    pub(super) async fn open(
        client: &mut CryptoserverClient<Channel>,
    ) -> Result<(Self, impl Future<Output = String> + Send + use<>), String> {
        let (outbox, requests) = mpsc::unbounded_channel();
        let inbound = client
            .exchange(Requests(requests))
            .await
            .map_err(|status| said(&status))?
            .into_inner();
        let pending = Arc::new(Mutex::new(Pending::default()));
        let exchange = Self {
            outbox,
            pending: Arc::clone(&pending),
        };
        Ok((exchange, receive(inbound, Break(pending))))
    }

    fn locked(&self) -> MutexGuard<'_, Pending> {
        lock(&self.pending)
    }
}

/// Hands replies to their callers, and returns why the stream ended.
async fn receive(mut inbound: Streaming<proto::ReplyBatch>, pending: Break) -> String {
    loop {
        match inbound.message().await {
            Ok(Some(batch)) => {
                let mut locked = lock(&pending.0);
                for reply in batch.replies {
                    // The caller has gone, or the server answered an unknown request.
                    let Some(sender) = locked.by_id.remove(&reply.id) else {
                        continue;
                    };
                    let outcome = outcome(reply);
                    if let Err(Fault::Refused { code, .. }) = &outcome
                        && *code == Code::Unavailable
                    {
                        locked.rests_until = Some(Instant::now() + REST);
                    }
                    let _ = sender.send(outcome);
                }
            }
            Ok(None) => return "the server closed the stream".into(),
            Err(status) => return said(&status),
        }
    }
}

/// Fails the remaining requests when the stream ends or its receiver is dropped.
struct Break(Arc<Mutex<Pending>>);

impl Drop for Break {
    fn drop(&mut self) {
        let left = {
            let mut pending = lock(&self.0);
            pending.is_broken = true;
            std::mem::take(&mut pending.by_id)
        };
        for sender in left.into_values() {
            let _ = sender.send(Err(Fault::Broken));
        }
    }
}

/// A stream as one target of the balancer.
pub(super) struct Balanced {
    pub(super) exchange: Exchange,
    rest: Option<Pin<Box<Sleep>>>,
}

impl Balanced {
    pub(super) fn new(exchange: Exchange) -> Self {
        Self {
            exchange,
            rest: None,
        }
    }
}

impl Service<proto::Request> for Balanced {
    type Response = Answer;
    type Error = Fault;
    type Future = Waiting;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        let until = {
            let mut pending = self.exchange.locked();
            if pending.is_broken {
                return Poll::Ready(Err(Fault::Broken));
            }
            pending.rests_until.take()
        };
        if let Some(until) = until {
            self.rest = Some(Box::pin(sleep(
                until.saturating_duration_since(Instant::now()),
            )));
        }
        if let Some(rest) = &mut self.rest {
            ready!(rest.as_mut().poll(context));
            self.rest = None;
        }
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: proto::Request) -> Waiting {
        let (sender, receiver) = oneshot::channel();
        let mut pending = self.exchange.locked();
        if pending.is_broken {
            let _ = sender.send(Err(Fault::Broken));
            return Waiting {
                receiver,
                forget: None,
            };
        }
        pending.last_id += 1;
        request.id = pending.last_id;
        pending.by_id.insert(request.id, sender);
        drop(pending);
        let forget = (Arc::clone(&self.exchange.pending), request.id);
        // If the stream has just broken, `Break` answers.
        let _ = self.exchange.outbox.send(request);
        Waiting {
            receiver,
            forget: Some(forget),
        }
    }
}

/// The future of an answer. Dropping it discards the answer.
pub(super) struct Waiting {
    receiver: oneshot::Receiver<Outcome>,
    forget: Option<(Arc<Mutex<Pending>>, u64)>,
}

impl Future for Waiting {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome> {
        let outcome = ready!(Pin::new(&mut self.receiver).poll(context));
        self.forget = None;
        Poll::Ready(outcome.unwrap_or(Err(Fault::Broken)))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some((pending, id)) = self.forget.take() {
            lock(&pending).by_id.remove(&id);
        }
    }
}

/// The outgoing messages. Each one carries all requests that are ready when it is built, up to `BATCH_BYTES_MAX`.
struct Requests(mpsc::UnboundedReceiver<proto::Request>);

impl Stream for Requests {
    type Item = proto::RequestBatch;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(first) = ready!(self.0.poll_recv(context)) else {
            return Poll::Ready(None);
        };
        let mut bytes = first.encoded_len();
        let mut requests = vec![first];
        while bytes < BATCH_BYTES_MAX
            && let Ok(next) = self.0.try_recv()
        {
            bytes += next.encoded_len();
            requests.push(next);
        }
        Poll::Ready(Some(proto::RequestBatch { requests }))
    }
}

pub(super) fn outcome(mut reply: proto::Reply) -> Outcome {
    match reply.outcome.take() {
        Some(reply::Outcome::Result(bytes)) => Ok(Answer::Bytes(Zeroizing::new(bytes))),
        Some(reply::Outcome::Items(items)) => Ok(Answer::Items(items.items)),
        Some(reply::Outcome::Failure(failure)) => Err(Fault::Refused {
            code: Code::from(failure.code),
            message: shown(&failure.message, MESSAGE_MAX),
        }),
        None => Err(Fault::Refused {
            code: Code::Internal,
            message: "the server sent a reply without an outcome".into(),
        }),
    }
}

/// Returns the message of a status, or that of its innermost cause. A server may have sent any text, and the message goes to
/// logs and terminals.
pub(super) fn said(status: &tonic::Status) -> String {
    match std::error::Error::source(status) {
        Some(source) => shown(&innermost(source), MESSAGE_MAX),
        None => shown(status.message(), MESSAGE_MAX),
    }
}

/// Returns the text of the innermost cause, the only one that says what happened.
fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

fn lock(pending: &Mutex<Pending>) -> MutexGuard<'_, Pending> {
    pending.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The most characters kept of a server's text; no Oarlock server sends a longer one.
const MESSAGE_MAX: usize = 500;
/// The size from which a message receives no more requests.
const BATCH_BYTES_MAX: usize = 64 << 10;
/// The longest message accepted from a server: 64 KiB and one more reply, which may be random bytes.
const MESSAGE_BYTES_MAX: usize = 1 << 20;
const WINDOW_BYTES: u32 = 1 << 20;
/// The idle time before a ping. The client notices a vanished server after this plus `KEEP_ALIVE_TIMEOUT`.
const KEEP_ALIVE: Duration = Duration::from_secs(5);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(3);
/// The time without requests for a server that answered UNAVAILABLE, if there are others.
const REST: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    /// Covers every text of a server: a failed reply, the end of a stream, and the status of another call.
    #[test]
    fn what_a_server_says_is_one_short_line() {
        let hostile = format!("no\n2026 forged\x1b[2J\u{202e}{}", "x".repeat(1 << 20));
        let failure = proto::Failure {
            message: hostile.clone(),
            ..proto::Failure::default()
        };
        let reply = proto::Reply {
            id: 0,
            outcome: Some(reply::Outcome::Failure(failure)),
        };
        let refused = outcome(reply).err().unwrap().to_string();
        let status = said(&tonic::Status::unavailable(hostile));
        for said in [refused, status] {
            assert!(said.starts_with("no?2026 forged?[2J?xxx"), "{said}");
            assert_eq!(said.len(), MESSAGE_MAX);
        }
        let honest = said(&tonic::Status::not_found("no key \"web\": ask (its owner)"));
        assert_eq!(honest, "no key \"web\": ask (its owner)");
    }
}
