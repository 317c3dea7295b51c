//! Accepts connections and performs their handshakes.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use rustls::server::Acceptor as TlsAcceptor;
use rustls_pki_types::CertificateDer;
use socket2::{Domain, SockRef, Socket, TcpKeepalive, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::task::yield_now;
use tokio::time::{sleep, sleep_until, timeout};
use tokio_rustls::LazyConfigAcceptor;
use tokio_stream::Stream;

use super::super::config::Limits;
use super::super::log_limit::LogLimit;
use super::activity::Activity;
use super::connection::{Connection, Io};
use super::counts::{Allowed, Counts, Place};
use super::crowd::{Bounds, Crowd, Member, Stage};
use super::descriptors::{are_out, share_of};
use super::refusal::Refusal;
use super::standing::{Standing, Stay};
use super::turns::Turns;
use crate::tls::{Identity, ServerTls, expiry};

/// The listening sockets.
#[derive(Debug)]
pub struct Listener {
    sockets: Vec<TcpListener>,
}

impl Listener {
    /// Listens on all of `addresses`. An IPv6 address accepts IPv6 connections only.
    ///
    /// # Errors
    /// The address that cannot be used, and the reason.
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

    /// Returns the addresses it listens on, with the ports the system chose.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        let sockets = self.sockets.iter();
        sockets.filter_map(|it| it.local_addr().ok()).collect()
    }

    /// Returns the stream of connections, with mutual TLS, or in plaintext if `tls` is `None`. Once `stop` is ready it
    /// accepts no more, aborts handshakes, and ends the stream.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn incoming(
        self,
        tls: Option<Arc<ServerTls>>,
        limits: &Limits,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Incoming {
        let (done, connections) = mpsc::channel(1);
        let (stopping, stopped) = watch::channel(false);
        let threads = Handle::current().metrics().num_workers();
        let counts = Arc::new(Counts::new(Allowed::of(limits), threads));
        let standing = Arc::new(Standing::default());
        let handshakes_max = limits.connections_max.min(share_of(HANDSHAKES_PART));
        let acceptor = Arc::new(Acceptor {
            tls,
            handshake_timeout: limits.handshake_timeout,
            idle_timeout: limits.idle_timeout,
            connection_age: limits.connection_age,
            handshakes: Crowd::new(HANDSHAKES.at_most(handshakes_max)),
            turns: Turns::new(),
            places: Arc::new(Semaphore::new(limits.connections_max)),
            client_connections_max: limits.client_connections_max,
            done: done.clone(),
            stopped,
            counts: Arc::clone(&counts),
            standing: Arc::clone(&standing),
            refusals: LogLimit::default(),
            failures: LogLimit::default(),
        });
        for socket in self.sockets {
            tokio::spawn(Arc::clone(&acceptor).accept(socket));
        }
        tokio::spawn(async move {
            tokio::select! {
                () = stop => {}
                () = done.closed() => {}
            }
            // This fails only if no receiver is left.
            let _ = stopping.send(true);
        });
        Incoming {
            connections,
            counts,
            standing,
        }
    }
}

/// A stream of connections for `tonic::transport::Server::serve_with_incoming`.
#[derive(Debug)]
pub struct Incoming {
    connections: mpsc::Receiver<Connection>,
    counts: Arc<Counts>,
    standing: Arc<Standing>,
}

impl Incoming {
    /// Returns the counts of its connections.
    pub fn counts(&self) -> Arc<Counts> {
        Arc::clone(&self.counts)
    }

    /// Returns its open connections with certificates.
    pub fn standing(&self) -> Arc<Standing> {
        Arc::clone(&self.standing)
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

/// An address that cannot be listened on.
#[derive(Debug)]
pub struct ListenError {
    address: SocketAddr,
    error: io::Error,
}

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hint = match self.error.kind() {
            ErrorKind::AddrInUse => ": stop the program that uses it, or choose another port",
            ErrorKind::AddrNotAvailable => ": choose an address of this machine",
            ErrorKind::PermissionDenied => ": choose a port of 1024 or above",
            _ => "",
        };
        write!(f, "cannot listen on {}: {}{hint}", self.address, self.error)
    }
}

impl std::error::Error for ListenError {}

/// The state that all sockets share.
struct Acceptor {
    tls: Option<Arc<ServerTls>>,
    handshake_timeout: Duration,
    idle_timeout: Duration,
    connection_age: Duration,
    handshakes: Arc<Crowd>,
    turns: Turns,
    places: Arc<Semaphore>,
    client_connections_max: usize,
    done: mpsc::Sender<Connection>,
    stopped: watch::Receiver<bool>,
    counts: Arc<Counts>,
    standing: Arc<Standing>,
    refusals: LogLimit,
    failures: LogLimit,
}

impl Acceptor {
    async fn accept(self: Arc<Self>, socket: TcpListener) {
        let mut stopped = self.stopped.clone();
        loop {
            let accepted = tokio::select! {
                biased;
                _ = stopped.wait_for(|is_stopped| *is_stopped) => return,
                accepted = socket.accept() => accepted,
            };
            match accepted {
                Ok((stream, peer)) => {
                    // The place is taken here, in the order of acceptance, which a spawned task would not keep.
                    let place = self.handshakes.join(peer.ip());
                    tokio::spawn(Arc::clone(&self).admit(stream, peer, place));
                    self.counts.newcomers.charge(ACCEPT_COST);
                    let rest = self.counts.newcomers.rests_until();
                    let rest = async {
                        match rest {
                            None => yield_now().await,
                            Some(until) => sleep_until(until).await,
                        }
                    };
                    tokio::select! {
                        biased;
                        _ = stopped.wait_for(|is_stopped| *is_stopped) => return,
                        () = rest => {}
                    }
                }
                // The connection ended while it was queued.
                Err(error) if is_of_connection(error.kind()) => {}
                // The waiting connection replaces a silent one.
                Err(error) if are_out(&error) && self.handshakes.make_room() => {
                    tokio::select! {
                        biased;
                        _ = stopped.wait_for(|is_stopped| *is_stopped) => return,
                        () = sleep(CLOSE_PAUSE) => {}
                    }
                }
                // The process or the machine lacks something, such as descriptors. The connection waits in the queue until
                // others end.
                Err(error) => {
                    self.failures.tell(|untold| {
                        tracing::warn!("cannot accept connections: {error}; trying again{untold}");
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

    /// Performs the handshake, and hands the connection on.
    async fn admit(
        self: Arc<Self>,
        stream: TcpStream,
        peer: SocketAddr,
        (place, displaced): (Member, oneshot::Receiver<()>),
    ) {
        let mut stopped = self.stopped.clone();
        let admitted = tokio::select! {
            biased;
            _ = stopped.wait_for(|is_stopped| *is_stopped) => return,
            admitted = self.counts.newcomers.timed(self.greet(stream, peer, &place)) => admitted,
            _ = displaced => Err(Refusal::new(
                "a newer connection displaced its handshake, since too many are under way",
            )),
        };
        drop(place);
        match admitted {
            Ok(connection) => {
                self.counts.admitted.fetch_add(1, Ordering::Relaxed);
                tokio::select! {
                    biased;
                    _ = stopped.wait_for(|is_stopped| *is_stopped) => {}
                    // This fails if the receiver of connections is gone.
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

    async fn greet(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        place: &Member,
    ) -> Result<Connection, Refusal> {
        set_options(&stream).map_err(|error| Refusal::new(error.to_string()))?;
        let activity = Arc::new(Activity::new(self.connection_age));
        let (io, identity, stay) = match &self.tls {
            None => (Io::Plain(stream), Identity::anonymous(), None),
            Some(tls) => {
                let config = tls.current();
                let accepting = async {
                    // A silent connection needs no turn.
                    place.begins(&stream).await?;
                    // The box saves a silent connection the room for this future.
                    let accepting = Box::pin(async {
                        let hello = LazyConfigAcceptor::new(TlsAcceptor::default(), stream).await?;
                        place.reaches(Stage::Heard);
                        hello.into_stream(Arc::clone(&config)).await
                    });
                    self.turns.run(accepting).await
                };
                let stream = timeout(self.handshake_timeout, accepting)
                    .await
                    .map_err(|_| {
                        let ms = self.handshake_timeout.as_millis();
                        Refusal::new(format!("no handshake within {ms} ms"))
                    })?
                    .map_err(|error| Refusal::of(&error, &tls.files()))?;
                let (_, session) = stream.get_ref();
                let chain = session.peer_certificates().unwrap_or_default();
                let identity = chain.first().and_then(Identity::of).ok_or_else(|| {
                    Refusal::new("the client's certificate has no name: it needs a URI, a DNS name or a common name")
                })?;
                let stay = self.enter(chain, &activity)?;
                // The files were replaced during the handshake.
                if !Arc::ptr_eq(&config, &tls.current()) && tls.withdraws(chain) {
                    return Err(Refusal::new("the client's certificate was withdrawn"));
                }
                (Io::Tls(Box::new(stream)), identity, Some(stay))
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
        Ok(Connection::new(
            io,
            peer,
            identity,
            self.idle_timeout,
            place,
            activity,
            stay,
        ))
    }

    /// Registers a connection, so that it ends when its certificates expire or are withdrawn.
    fn enter(
        &self,
        chain: &[CertificateDer<'_>],
        activity: &Arc<Activity>,
    ) -> Result<Stay, Refusal> {
        let expires = expiry(chain)
            .ok_or_else(|| Refusal::new("a certificate that the client sent cannot be read"))?;
        let chain = chain.iter().map(|it| it.clone().into_owned()).collect();
        Ok(self.standing.enter(chain, expires, Arc::clone(activity)))
    }
}

fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    // The connections of the previous server may still be in TIME_WAIT.
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

fn is_of_connection(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::Interrupted
    )
}

/// The most handshakes under way at the same time. A silent one takes a few hundred bytes and a socket, a begun one up to 64
/// KiB, the longest message of a handshake. To fill the last two stages in less than 0.1 s, a client would have to open more
/// than 5,000 and 10,000 connections a second.
const HANDSHAKES: Bounds = Bounds {
    silent: 4096,
    begun: 512,
    heard: 1024,
};
/// Each stage has at most an eighth of the descriptors.
const HANDSHAKES_PART: u64 = 8;

/// The time that a connection takes of a thread, without its handshake.
const ACCEPT_COST: Duration = Duration::from_micros(40);
/// The time after which a displaced connection is closed.
const CLOSE_PAUSE: Duration = Duration::from_millis(1);
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
const BACKLOG: i32 = 1024;
const KEEPALIVE_TIME: Duration = Duration::from_secs(60);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_RETRIES: u32 = 3;
