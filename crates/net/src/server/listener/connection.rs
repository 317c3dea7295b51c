//! A connection after its handshake.

use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::io::{self, ErrorKind, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep, sleep_until};
use tokio_rustls::server::TlsStream;
use tonic::transport::server::Connected;

use super::super::allowance::Allowance;
use super::activity::Activity;
use super::counts::Place;
use super::debt::Debt;
use super::slice::{Frames, Slice};
use super::standing::Stay;
use crate::tls::Identity;

/// The client at the other end of a connection.
#[derive(Clone, Debug)]
pub struct ConnectionInfo {
    /// The client's address.
    pub peer: SocketAddr,
    /// The client's identity, from its certificate; [`Identity::anonymous`] in plaintext.
    pub identity: Identity,
    /// The back-off that delays reading from it.
    pub backoff: Arc<Backoff>,
    /// The time of its last request or reply, and its maximum age.
    pub activity: Arc<Activity>,
    /// The memory that its calls may make the server hold, on all connections of the identity.
    pub allowance: Arc<Allowance>,
    /// The thread time that it owes, on all connections of the identity.
    pub debt: Arc<Debt>,
}

impl ConnectionInfo {
    /// Records an arrived request or an outgoing reply.
    pub fn touch(&self) {
        self.activity.touch();
        self.debt.touch();
    }
}

/// The time until which a connection is not read. Refusing requests takes time from admitted ones, and less of it when many
/// are refused at once.
#[derive(Debug)]
pub struct Backoff {
    since: Instant,
    /// The end of the pause, in microseconds since `since`; 0 for none.
    until: AtomicU64,
    debt: Arc<Debt>,
}

impl Backoff {
    fn new(debt: &Arc<Debt>) -> Self {
        Self {
            debt: Arc::clone(debt),
            since: Instant::now(),
            until: AtomicU64::new(0),
        }
    }

    /// Stops reading from the connection for this long. If all clients are refused, the thread handles their bytes
    /// [together](moderate); otherwise one that is not refused would have to wait.
    pub fn begin(&self, pause: Duration) {
        if self.debt.refuse() {
            MODERATED_UNTIL.set(Instant::now().checked_add(pause));
        }
        let until = self.since.elapsed().saturating_add(pause).as_micros();
        let until = u64::try_from(until).unwrap_or(u64::MAX);
        self.until.store(until, Ordering::Relaxed);
    }

    fn until(&self) -> Option<Instant> {
        let until = match self.until.load(Ordering::Relaxed) {
            0 => return None,
            until => self.since.checked_add(Duration::from_micros(until))?,
        };
        if until > Instant::now() {
            return Some(until);
        }
        self.until.store(0, Ordering::Relaxed);
        None
    }
}

/// A connection after its handshake. It fails with [`ErrorKind::TimedOut`] after `idle_timeout_ms` without
/// [activity](ConnectionInfo::touch) or some time after `connection_age_ms`, and with [`ErrorKind::ConnectionAborted`] once
/// its client's certificate has expired or was revoked.
pub struct Connection {
    io: Io,
    info: ConnectionInfo,
    idle: Idle,
    rest: Option<Pin<Box<Sleep>>>,
    has_had_its_turn: bool,
    slice: Slice,
    frames: Frames,
    /// The time limit for the client to close, set once everything was written.
    farewell: Option<Pin<Box<Sleep>>>,
    _place: Place,
    _stay: Option<Stay>,
}

pub(super) enum Io {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Io {
    fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(io) => Pin::new(io).poll_read(cx, buffer),
            Self::Tls(io) => Pin::new(io).poll_read(cx, buffer),
        }
    }
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
        let this = &mut *self;
        ready!(this.poll_rest(cx));
        ready!(this.slice.poll(cx));
        let poll = this.poll_piece(cx, buffer);
        this.idle.watch(cx, poll)
    }
}

thread_local! {
    /// The time until which connections of this thread back off.
    static MODERATED_UNTIL: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Sleeps briefly while all connections back off. Call it from `tokio::runtime::Builder::on_thread_park`. Bytes of those
/// connections would otherwise wake the thread each time without effect; after the sleep it handles everything at once (as
/// network drivers moderate interrupts).
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
    pub(super) fn new(
        io: Io,
        peer: SocketAddr,
        identity: Identity,
        idle: Duration,
        place: Place,
        activity: Arc<Activity>,
        stay: Option<Stay>,
    ) -> Self {
        Self {
            io,
            idle: Idle::new(idle, Arc::clone(&activity)),
            info: ConnectionInfo {
                peer,
                identity,
                backoff: Arc::new(Backoff::new(&place.debt)),
                activity,
                allowance: Arc::clone(&place.allowance),
                debt: Arc::clone(&place.debt),
            },
            rest: None,
            has_had_its_turn: false,
            slice: Slice::default(),
            frames: Frames::new(),
            farewell: None,
            _place: place,
            _stay: stay,
        }
    }

    /// Ready when the client has closed, or took too long. Closing a socket with unread bytes, or one that receives some
    /// later, resets the connection, and replies that the client has not read yet are lost (RFC 9112, section 9.6).
    fn poll_farewell(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let socket = match &mut self.io {
            Io::Plain(socket) => socket,
            Io::Tls(stream) => stream.get_mut().0,
        };
        let mut unread = [0; 4096];
        loop {
            let mut unread = ReadBuf::new(&mut unread);
            match Pin::new(&mut *socket).poll_read(cx, &mut unread) {
                Poll::Ready(Ok(())) if !unread.filled().is_empty() => {}
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => break,
            }
        }
        match &mut self.farewell {
            Some(farewell) => farewell.as_mut().poll(cx),
            None => Poll::Ready(()),
        }
    }

    /// Reads everything there is, or only a few requests while others wait: a connection may send hundreds at once.
    fn poll_piece(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if std::mem::replace(&mut self.has_had_its_turn, false) {
            self.slice.end(cx);
            return Poll::Pending;
        }
        let debt = &self.info.debt;
        let is_alone = !debt.is_shared();
        let owes = !debt.owed().is_zero();
        let most = match (is_alone, owes) {
            (true, _) => usize::MAX,
            (false, false) => PIECE_BYTES,
            (false, true) => TURN_BYTES,
        };
        let length = buffer.remaining().min(most);
        let mut piece = ReadBuf::new(buffer.initialize_unfilled_to(length));
        let (slice, io) = (&mut self.slice, &mut self.io);
        ready!(slice.read(debt, || io.poll_read(cx, &mut piece)))?;
        let begun = self.frames.follow(piece.filled());
        let length = piece.filled().len();
        buffer.advance(length);
        if !is_alone {
            self.slice.count(begun);
            self.has_had_its_turn = owes;
        }
        Poll::Ready(Ok(()))
    }

    fn rests_until(&self) -> Option<Instant> {
        self.info.backoff.until().max(self.info.debt.rests_until())
    }

    /// Ready when the connection may be read.
    fn poll_rest(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while let Some(until) = self.rests_until() {
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
        let this = &mut *self;
        ready!(this.slice.poll(cx));
        let io = &mut this.io;
        let poll = this.slice.write(&this.info.debt, || match io {
            Io::Plain(io) => Pin::new(io).poll_write(cx, bytes),
            Io::Tls(io) => Pin::new(io).poll_write(cx, bytes),
        });
        this.idle.watch(cx, poll)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        ready!(this.slice.poll(cx));
        let io = &mut this.io;
        let poll = this.slice.write(&this.info.debt, || match io {
            Io::Plain(io) => Pin::new(io).poll_write_vectored(cx, slices),
            Io::Tls(io) => Pin::new(io).poll_write_vectored(cx, slices),
        });
        this.idle.watch(cx, poll)
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
            // Unsent data remains, and the client may be gone.
            Io::Tls(io) => match Pin::new(io).poll_flush(cx) {
                Poll::Pending => self.idle.poll(cx),
                ready => ready,
            },
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.farewell.is_none() {
            let poll = match &mut self.io {
                Io::Plain(io) => Pin::new(io).poll_shutdown(cx),
                Io::Tls(io) => Pin::new(io).poll_shutdown(cx),
            };
            match poll {
                Poll::Pending => return self.idle.poll(cx),
                Poll::Ready(Ok(())) => self.farewell = Some(Box::pin(sleep(FAREWELL_MAX))),
                failed => return failed,
            }
        }
        self.poll_farewell(cx).map(Ok)
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("info", &self.info)
            .finish_non_exhaustive()
    }
}

/// Ends a connection that is idle, too old, or [ended](Activity::end). The alarm is reset only when it rings; resetting it
/// for every request would cost more.
struct Idle {
    limit: Duration,
    activity: Arc<Activity>,
    alarm: Pin<Box<Sleep>>,
}

impl Idle {
    fn new(limit: Duration, activity: Arc<Activity>) -> Self {
        let ends_at = activity.ends_at(limit);
        Self {
            limit,
            activity,
            alarm: Box::pin(sleep_until(ends_at)),
        }
    }

    /// Passes a result on unless the connection is over.
    fn watch<T>(&mut self, cx: &mut Context<'_>, poll: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        match poll {
            Poll::Ready(Ok(_)) if self.activity.is_ended() => {
                Poll::Ready(Err(ErrorKind::ConnectionAborted.into()))
            }
            // Uninterrupted bytes would keep the alarm from being polled. A request among them has a moment to be recorded.
            Poll::Ready(Ok(_))
                if self.activity.ends_at(self.limit + NOTED_WITHIN) <= Instant::now() =>
            {
                Poll::Ready(Err(ErrorKind::TimedOut.into()))
            }
            Poll::Ready(result) => Poll::Ready(result),
            Poll::Pending => self.poll(cx),
        }
    }

    /// Ready with an error when the connection is over.
    fn poll<T>(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if self.activity.is_ended_or_wakes(cx) {
            return Poll::Ready(Err(ErrorKind::ConnectionAborted.into()));
        }
        loop {
            ready!(self.alarm.as_mut().poll(cx));
            let due = self.activity.ends_at(self.limit);
            if due <= Instant::now() {
                return Poll::Ready(Err(ErrorKind::TimedOut.into()));
            }
            self.alarm.as_mut().reset(due);
        }
    }
}

const NOTED_WITHIN: Duration = Duration::from_secs(1);
/// The most bytes of a read while others wait: about ten requests. A client in debt ends its turn after `TURN_BYTES`.
const PIECE_BYTES: usize = 1024;
const TURN_BYTES: usize = 512;
/// The longest wait for the client to close. A client that has read everything closes at once.
const FAREWELL_MAX: Duration = Duration::from_secs(1);
const MODERATION: Duration = Duration::from_millis(2);
