//! Lets connections in: accepts them, does their handshakes, and hands on those of clients who are
//! known, with who they are.
//!
//! Handshakes go on beside each other, 256 at most; when that many are under way, the
//! next ones wait in the system's queue, so that clients who begin one and say no more delay others
//! by the time that is allowed for one, and take none of the places of connections that are done.

use std::cell::Cell;
use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::io::{self, ErrorKind, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use socket2::{Domain, SockRef, Socket, TcpKeepalive, Type};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::time::{Instant, Sleep, sleep, sleep_until, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_stream::Stream;
use tonic::transport::server::Connected;

use super::config::Limits;
use crate::tls::{Identity, ServerTls};

/// Sockets that listen.
#[derive(Debug)]
pub struct Listener {
    sockets: Vec<TcpListener>,
}

impl Listener {
    /// Listens on all of `addresses`. One of IPv6 takes connections of IPv6 alone.
    ///
    /// # Errors
    /// Which address cannot be had, and why.
    pub fn bind(addresses: &[SocketAddr]) -> Result<Self, ListenError> {
        let bound = |address: &SocketAddr| {
            bind(*address).map_err(|error| ListenError {
                address: *address,
                error,
            })
        };
        let sockets = addresses.iter().map(bound).collect::<Result<_, _>>()?;
        Ok(Self { sockets })
    }

    /// Where it listens, with the ports that the system chose.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        let sockets = self.sockets.iter();
        sockets.filter_map(|it| it.local_addr().ok()).collect()
    }

    /// Connections from now on, by mutual TLS, or in plaintext where `tls` is `None`. Once `stop`
    /// is ready, no more are accepted, handshakes are broken off, and the stream ends.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn incoming(
        self,
        tls: Option<Arc<ServerTls>>,
        limits: &Limits,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Incoming {
        let (done, connections) = mpsc::channel(1);
        let (stopping, stopped) = watch::channel(false);
        let counts = Arc::new(Counts::default());
        let handshakes_max = HANDSHAKES_MAX.min(limits.connections_max);
        let door = Arc::new(Door {
            tls,
            handshake_timeout: limits.handshake_timeout,
            idle_timeout: limits.idle_timeout,
            handshakes: Arc::new(Semaphore::new(handshakes_max)),
            places: Arc::new(Semaphore::new(limits.connections_max)),
            client_connections_max: limits.client_connections_max,
            done: done.clone(),
            stopped,
            counts: Arc::clone(&counts),
            refusals: Told::default(),
            failures: Told::default(),
        });
        for socket in self.sockets {
            tokio::spawn(Arc::clone(&door).accept(socket));
        }
        tokio::spawn(async move {
            tokio::select! {
                () = stop => {}
                () = done.closed() => {}
            }
            // Nobody is left to be told if that fails.
            let _ = stopping.send(true);
        });
        Incoming {
            connections,
            counts,
        }
    }
}

/// Connections as they come, for `tonic::transport::Server::serve_with_incoming`.
#[derive(Debug)]
pub struct Incoming {
    connections: mpsc::Receiver<Connection>,
    counts: Arc<Counts>,
}

impl Incoming {
    /// How many there were.
    pub fn counts(&self) -> Arc<Counts> {
        Arc::clone(&self.counts)
    }
}

impl Stream for Incoming {
    type Item = Result<Connection, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.connections
            .poll_recv(cx)
            .map(|connection| connection.map(Ok))
    }
}

/// How many connections there were.
#[derive(Debug, Default)]
pub struct Counts {
    open: AtomicU64,
    /// Of these, by client.
    of_client: Mutex<HashMap<Identity, usize>>,
    admitted: AtomicU64,
    refused: AtomicU64,
}

impl Counts {
    /// Connections that are there now, their handshakes done.
    pub fn open(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }

    /// Connections that were let in since the start.
    pub fn admitted(&self) -> u64 {
        self.admitted.load(Ordering::Relaxed)
    }

    /// Connections that were not, for their handshakes or for want of a place.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}

/// Who is at the other end of a connection.
#[derive(Clone, Debug)]
pub struct ConnectionInfo {
    /// Where from.
    pub peer: SocketAddr,
    /// By its certificate; [`Identity::anonymous`] in plaintext.
    pub identity: Identity,
    /// Lets it wait.
    pub pace: Arc<Pace>,
}

/// When a connection is read from again. To refuse requests takes time from those that were let in,
/// and less of it when many are refused at once.
#[derive(Debug)]
pub struct Pace {
    since: Instant,
    /// Microseconds from then on.
    rests_until: AtomicU64,
}

impl Pace {
    fn new() -> Self {
        Self {
            since: Instant::now(),
            rests_until: AtomicU64::new(0),
        }
    }

    /// Nothing is read from it for so long.
    pub fn rest(&self, pause: Duration) {
        MODERATED_UNTIL.set(Instant::now().checked_add(pause));
        let until = self.since.elapsed().saturating_add(pause).as_micros();
        let until = u64::try_from(until).unwrap_or(u64::MAX);
        self.rests_until.store(until, Ordering::Relaxed);
    }

    fn rests_until(&self) -> Option<Instant> {
        let until = match self.rests_until.load(Ordering::Relaxed) {
            0 => return None,
            until => self.since.checked_add(Duration::from_micros(until))?,
        };
        if until > Instant::now() {
            return Some(until);
        }
        self.rests_until.store(0, Ordering::Relaxed);
        None
    }
}

/// A connection whose handshake is done. It fails with [`ErrorKind::TimedOut`] when nothing has been
/// sent or received for `idle_timeout_ms`.
pub struct Connection {
    io: Io,
    info: ConnectionInfo,
    idle: Idle,
    rest: Option<Pin<Box<Sleep>>>,
    _place: Place,
}

enum Io {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Connected for Connection {
    type ConnectInfo = ConnectionInfo;

    fn connect_info(&self) -> ConnectionInfo {
        self.info.clone()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_rest(cx));
        let poll = match &mut self.io {
            Io::Plain(io) => Pin::new(io).poll_read(cx, buffer),
            Io::Tls(io) => Pin::new(io).poll_read(cx, buffer),
        };
        self.idle.watch(cx, poll)
    }
}

thread_local! {
    /// Until when connections rest that this thread has let rest.
    static MODERATED_UNTIL: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// For `tokio::runtime::Builder::on_thread_park`: while connections rest, what comes for them would
/// wake the thread each time, only to be left where it is. It sleeps for a moment instead, and then
/// looks at everything at once (as network drivers moderate interrupts).
pub fn moderate() {
    if let Some(until) = MODERATED_UNTIL.get() {
        if Instant::now() < until {
            std::thread::sleep(MODERATION);
        } else {
            MODERATED_UNTIL.set(None);
        }
    }
}

impl Connection {
    /// Ready when it may be read from.
    fn poll_rest(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while let Some(until) = self.info.pace.rests_until() {
            let rest = self
                .rest
                .get_or_insert_with(|| Box::pin(sleep_until(until)));
            if rest.deadline() != until {
                rest.as_mut().reset(until);
            }
            ready!(rest.as_mut().poll(cx));
        }
        Poll::Ready(())
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let poll = match &mut self.io {
            Io::Plain(io) => Pin::new(io).poll_write(cx, bytes),
            Io::Tls(io) => Pin::new(io).poll_write(cx, bytes),
        };
        self.idle.watch(cx, poll)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let poll = match &mut self.io {
            Io::Plain(io) => Pin::new(io).poll_write_vectored(cx, slices),
            Io::Tls(io) => Pin::new(io).poll_write_vectored(cx, slices),
        };
        self.idle.watch(cx, poll)
    }

    fn is_write_vectored(&self) -> bool {
        match &self.io {
            Io::Plain(io) => io.is_write_vectored(),
            Io::Tls(io) => io.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.io {
            Io::Plain(io) => Pin::new(io).poll_flush(cx),
            // What is left to be sent is data, whose reader may be gone.
            Io::Tls(io) => match Pin::new(io).poll_flush(cx) {
                Poll::Pending => self.idle.poll(cx),
                ready => ready,
            },
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let poll = match &mut self.io {
            Io::Plain(io) => Pin::new(io).poll_shutdown(cx),
            Io::Tls(io) => Pin::new(io).poll_shutdown(cx),
        };
        match poll {
            Poll::Pending => self.idle.poll(cx),
            ready => ready,
        }
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("info", &self.info)
            .finish_non_exhaustive()
    }
}

/// An address that cannot be listened on.
#[derive(Debug)]
pub struct ListenError {
    address: SocketAddr,
    error: io::Error,
}

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hint = match self.error.kind() {
            ErrorKind::AddrInUse => ": stop who listens there, or choose another port",
            ErrorKind::AddrNotAvailable => ": choose an address of this machine",
            ErrorKind::PermissionDenied => ": choose a port from 1024 on",
            _ => "",
        };
        write!(f, "cannot listen on {}: {}{hint}", self.address, self.error)
    }
}

impl std::error::Error for ListenError {}

/// What all sockets have in common.
struct Door {
    tls: Option<Arc<ServerTls>>,
    handshake_timeout: Duration,
    idle_timeout: Duration,
    handshakes: Arc<Semaphore>,
    places: Arc<Semaphore>,
    client_connections_max: usize,
    done: mpsc::Sender<Connection>,
    stopped: watch::Receiver<bool>,
    counts: Arc<Counts>,
    refusals: Told,
    failures: Told,
}

impl Door {
    async fn accept(self: Arc<Self>, socket: TcpListener) {
        let mut stopped = self.stopped.clone();
        loop {
            let next = async {
                let turn = Arc::clone(&self.handshakes).acquire_owned().await;
                (turn, socket.accept().await)
            };
            let (turn, accepted) = tokio::select! {
                biased;
                _ = stopped.wait_for(|is_stopped| *is_stopped) => return,
                next = next => next,
            };
            match accepted {
                Ok((stream, peer)) => {
                    tokio::spawn(Arc::clone(&self).admit(stream, peer, turn.ok()));
                }
                // Of one connection, that has ended in the queue.
                Err(error) if is_of_connection(error.kind()) => {}
                // Of this process or the machine, as of too many descriptors: others end, and the
                // connection waits in the queue.
                Err(error) => {
                    self.failures.tell(|untold| {
                        tracing::warn!(
                            "no connections can be accepted: {error}; trying again{untold}"
                        );
                    });
                    tokio::select! {
                        biased;
                        _ = stopped.wait_for(|is_stopped| *is_stopped) => return,
                        () = sleep(ACCEPT_PAUSE) => {}
                    }
                }
            }
        }
    }

    /// Does the handshake, and hands the connection on.
    async fn admit(
        self: Arc<Self>,
        stream: TcpStream,
        peer: SocketAddr,
        turn: Option<OwnedSemaphorePermit>,
    ) {
        let mut stopped = self.stopped.clone();
        let admitted = tokio::select! {
            biased;
            _ = stopped.wait_for(|is_stopped| *is_stopped) => return,
            admitted = self.greet(stream, peer) => admitted,
        };
        drop(turn);
        match admitted {
            Ok(connection) => {
                self.counts.admitted.fetch_add(1, Ordering::Relaxed);
                tokio::select! {
                    biased;
                    _ = stopped.wait_for(|is_stopped| *is_stopped) => {}
                    // It fails where nobody takes connections any more.
                    _ = self.done.send(connection) => {}
                }
            }
            Err(refusal) => {
                self.counts.refused.fetch_add(1, Ordering::Relaxed);
                if refusal.is_silent {
                    tracing::debug!(%peer, "{}", refusal.reason);
                } else {
                    self.refusals.tell(|untold| {
                        tracing::warn!(%peer, "connection refused: {}{untold}", refusal.reason);
                    });
                }
            }
        }
    }

    async fn greet(&self, stream: TcpStream, peer: SocketAddr) -> Result<Connection, Refusal> {
        set_options(&stream).map_err(|error| Refusal::new(error.to_string()))?;
        let (io, identity) = match &self.tls {
            None => (Io::Plain(stream), Identity::anonymous()),
            Some(tls) => {
                let accepting = TlsAcceptor::from(tls.current()).accept(stream);
                let stream = timeout(self.handshake_timeout, accepting)
                    .await
                    .map_err(|_| {
                        let ms = self.handshake_timeout.as_millis();
                        Refusal::new(format!("no handshake within {ms} ms"))
                    })?
                    .map_err(|error| Refusal::of(&error))?;
                let (_, session) = stream.get_ref();
                let certificate = session.peer_certificates().and_then(<[_]>::first);
                let identity = certificate.and_then(Identity::of).ok_or_else(|| {
                    Refusal::new("the client's certificate names nobody: it needs a URI, a DNS name or a common name")
                })?;
                (Io::Tls(Box::new(stream)), identity)
            }
        };
        let permit = Arc::clone(&self.places).try_acquire_owned().map_err(|_| {
            Refusal::new("too many connections: raise connections_max, or have clients share one")
        })?;
        let place = Place::new(permit, &self.counts, identity.clone());
        if self.tls.is_some() && place.of_client > self.client_connections_max {
            return Err(Refusal::new(format!(
                "too many connections of {identity}: raise client_connections_max, or have it share one"
            )));
        }
        tracing::debug!(%peer, %identity, "connected");
        Ok(Connection {
            io,
            info: ConnectionInfo {
                peer,
                identity,
                pace: Arc::new(Pace::new()),
            },
            idle: Idle::new(self.idle_timeout),
            rest: None,
            _place: place,
        })
    }
}

/// Why a connection was not let in.
struct Refusal {
    reason: String,
    /// Nothing that anybody has to know: a look whether the port is open, as balancers take one.
    is_silent: bool,
}

impl Refusal {
    fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            is_silent: false,
        }
    }

    fn of(error: &io::Error) -> Self {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
        let Some(inner) = inner else {
            return Self {
                reason: format!("the handshake was broken off: {error}"),
                is_silent: matches!(
                    error.kind(),
                    ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset
                ),
            };
        };
        Self::new(match inner {
            rustls::Error::NoCertificatesPresented => "the client has no certificate".to_owned(),
            rustls::Error::InvalidCertificate(problem) => {
                format!("the client's certificate: {problem}")
            }
            rustls::Error::PeerIncompatible(problem) => {
                format!("TLS 1.3 is needed, and the client has none that fits: {problem:?}")
            }
            rustls::Error::AlertReceived(alert) => {
                format!("the client does not like the server's certificate, or its TLS: {alert:?}")
            }
            error => error.to_string(),
        })
    }
}

/// One of the places for connections, and its count.
struct Place {
    _permit: OwnedSemaphorePermit,
    counts: Arc<Counts>,
    identity: Identity,
    /// How many its client had when it came, this one with them.
    of_client: usize,
}

impl Place {
    fn new(permit: OwnedSemaphorePermit, counts: &Arc<Counts>, identity: Identity) -> Self {
        counts.open.fetch_add(1, Ordering::Relaxed);
        let mut clients = lock(&counts.of_client);
        let count = clients.entry(identity.clone()).or_default();
        *count += 1;
        Self {
            _permit: permit,
            counts: Arc::clone(counts),
            identity,
            of_client: *count,
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.counts.open.fetch_sub(1, Ordering::Relaxed);
        let mut clients = lock(&self.counts.of_client);
        if let Some(count) = clients.get_mut(&self.identity) {
            *count -= 1;
            if *count == 0 {
                clients.remove(&self.identity);
            }
        }
    }
}

/// How long nothing has happened. The alarm is set anew only when it rings, since every request
/// would have to do it otherwise.
struct Idle {
    limit: Duration,
    last: Instant,
    alarm: Pin<Box<Sleep>>,
}

impl Idle {
    fn new(limit: Duration) -> Self {
        Self {
            limit,
            last: Instant::now(),
            alarm: Box::pin(sleep(limit)),
        }
    }

    /// Notes what has happened, or that nothing has for too long.
    fn watch<T>(&mut self, cx: &mut Context<'_>, poll: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        match poll {
            Poll::Ready(result) => {
                self.last = Instant::now();
                Poll::Ready(result)
            }
            Poll::Pending => self.poll(cx),
        }
    }

    /// Ready, with an error, when nothing has happened for too long.
    fn poll<T>(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        loop {
            ready!(self.alarm.as_mut().poll(cx));
            let due = self.last + self.limit;
            if due <= Instant::now() {
                return Poll::Ready(Err(ErrorKind::TimedOut.into()));
            }
            self.alarm.as_mut().reset(due);
        }
    }
}

/// Tells the first few of a kind in every ten seconds, so that nobody fills a disk by
/// knocking, and counts the others.
#[derive(Default)]
struct Told(Mutex<Window>);

#[derive(Default)]
struct Window {
    since: Option<Instant>,
    told: u32,
    untold: u64,
}

impl Told {
    /// `say` gets what to add about those that were not told.
    fn tell(&self, say: impl FnOnce(String)) {
        let mut window = lock(&self.0);
        let now = Instant::now();
        if window.since.is_none_or(|since| now - since >= TOLD_WITHIN) {
            window.since = Some(now);
            window.told = 0;
        }
        if window.told == TOLD_MAX {
            window.untold += 1;
            return;
        }
        window.told += 1;
        let untold = match std::mem::take(&mut window.untold) {
            0 => String::new(),
            untold => format!(" ({untold} more before this were not told)"),
        };
        drop(window);
        say(untold);
    }
}

fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    // A server that is started again finds connections of the last one in their last state.
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

fn set_options(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let keepalive = TcpKeepalive::new()
        .with_time(KEEPALIVE_TIME)
        .with_interval(KEEPALIVE_INTERVAL)
        .with_retries(KEEPALIVE_RETRIES);
    SockRef::from(stream).set_tcp_keepalive(&keepalive)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_of_connection(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::Interrupted
    )
}

/// Handshakes under way at the same time; one takes less than a millisecond of a core.
const HANDSHAKES_MAX: usize = 256;

const MODERATION: Duration = Duration::from_millis(2);
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
const BACKLOG: i32 = 1024;
const KEEPALIVE_TIME: Duration = Duration::from_secs(60);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_RETRIES: u32 = 3;
const TOLD_MAX: u32 = 10;
const TOLD_WITHIN: Duration = Duration::from_secs(10);
