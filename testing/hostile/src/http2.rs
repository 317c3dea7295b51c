//! Frames of HTTP/2 (RFC 9113, 4.1 and 6), written by hand, and a connection that sends any of them
//! in any order.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustls::ClientConfig;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::{Course, Target};

pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

// Types of frames (RFC 9113, 6).
pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const PRIORITY: u8 = 2;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

// Flags.
pub(crate) const END_STREAM: u8 = 1;
pub(crate) const ACK: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

// Settings (RFC 9113, 6.5.2).
pub(crate) const INITIAL_WINDOW_SIZE: u16 = 4;

/// The longest payload that every peer accepts.
pub(crate) const PAYLOAD_MAX: usize = 16_384;

pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(9 + payload.len());
    frame.extend_from_slice(&(payload.len() as u32).to_be_bytes()[1..]);
    frame.extend_from_slice(&[kind, flags]);
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

pub(crate) fn setting(name: u16, value: u32) -> Vec<u8> {
    let mut setting = name.to_be_bytes().to_vec();
    setting.extend_from_slice(&value.to_be_bytes());
    setting
}

/// A header that is not compressed and not remembered (RFC 7541, 6.2.2).
pub(crate) fn header(name: &[u8], value: &[u8]) -> Vec<u8> {
    let mut field = vec![0];
    for text in [name, value] {
        put_length(&mut field, text.len());
        field.extend_from_slice(text);
    }
    field
}

/// The same, remembered in the table of the peer (RFC 7541, 6.2.1).
pub(crate) fn remembered_header(name: &[u8], value: &[u8]) -> Vec<u8> {
    let mut field = header(name, value);
    field[0] = 0x40;
    field
}

/// An integer with a prefix of seven bits (RFC 7541, 5.1).
fn put_length(field: &mut Vec<u8>, length: usize) {
    if length < 127 {
        field.push(length as u8);
        return;
    }
    field.push(127);
    let mut rest = length - 127;
    while rest >= 128 {
        field.push(rest as u8 | 128);
        rest >>= 7;
    }
    field.push(rest as u8);
}

/// The headers of a gRPC call.
pub(crate) fn grpc_headers(path: &str) -> Vec<u8> {
    [
        (":method", "POST"),
        (":scheme", "https"),
        (":path", path),
        (":authority", "localhost"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ]
    .map(|(name, value)| header(name.as_bytes(), value.as_bytes()))
    .concat()
}

/// What a connection does with what the server sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reading {
    /// Reads all of it, and opens the windows for more.
    Everything,
    /// Reads it, and never opens a window. The server's PINGs get their answers.
    NoMore,
    /// A byte now and then, after the settings.
    Slowly,
    /// Reads nothing from the socket after the settings.
    Nothing,
}

/// A connection with the preface and the settings sent.
pub(crate) struct Peer {
    course: Arc<Course>,
    frames: mpsc::Sender<Vec<u8>>,
    flow: Arc<Flow>,
    next_stream: u32,
    // Aborted with it.
    _tasks: JoinSet<()>,
}

impl Peer {
    /// As the hostile client itself, with an initial window of this many bytes for each stream.
    pub(crate) async fn open(
        target: &Target,
        course: &Arc<Course>,
        reading: Reading,
        window: u32,
    ) -> io::Result<Self> {
        Self::open_as(target, course, &target.client, reading, window).await
    }

    pub(crate) async fn open_as(
        target: &Target,
        course: &Arc<Course>,
        client: &Arc<ClientConfig>,
        reading: Reading,
        window: u32,
    ) -> io::Result<Self> {
        let (read, write) = tokio::io::split(target.connect(client).await?);
        let (frames, to_write) = mpsc::channel(1);
        let (replies, to_reply) = mpsc::unbounded_channel();
        let flow = Arc::new(Flow::new());
        let mut tasks = JoinSet::new();
        tasks.spawn(write_all(write, to_write, to_reply, Arc::clone(&flow)));
        tasks.spawn(read_all(read, replies, Arc::clone(&flow), reading));
        let peer = Self {
            course: Arc::clone(course),
            frames,
            flow,
            next_stream: 1,
            _tasks: tasks,
        };
        let mut beginning = PREFACE.to_vec();
        beginning.extend(frame(SETTINGS, 0, 0, &setting(INITIAL_WINDOW_SIZE, window)));
        if reading == Reading::Everything {
            beginning.extend(frame(WINDOW_UPDATE, 0, 0, &WINDOW_BYTES.to_be_bytes()));
        }
        peer.send(beginning).await?;
        Ok(peer)
    }

    /// Sends bytes, whatever they are. While the server does not read, the course notes that it is
    /// held back.
    ///
    /// # Errors
    /// The server has closed the connection.
    pub(crate) async fn send(&self, bytes: Vec<u8>) -> io::Result<()> {
        let sent = self.patiently(self.frames.send(bytes)).await;
        if sent.is_err() || self.flow.locked().is_closed {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        Ok(())
    }

    /// The number of a new stream, without its headers.
    ///
    /// # Errors
    /// The server has closed the connection.
    pub(crate) fn stream(&mut self) -> io::Result<u32> {
        let stream = self.next_stream;
        self.next_stream += 2;
        let mut flow = self.flow.locked();
        if flow.is_closed {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        let initial = flow.initial;
        flow.streams.insert(stream, initial);
        Ok(stream)
    }

    /// Opens a stream with these headers and waits while `open_max` are open.
    pub(crate) async fn begin(
        &mut self,
        headers: &[u8],
        open_max: usize,
        ends: bool,
    ) -> io::Result<u32> {
        self.until(|flow| flow.streams.len() < open_max).await?;
        let stream = self.stream()?;
        let flags = END_HEADERS | if ends { END_STREAM } else { 0 };
        self.send(frame(HEADERS, flags, stream, headers)).await?;
        Ok(stream)
    }

    /// Sends data as the windows allow. Returns false if the server has ended the stream.
    pub(crate) async fn data(&self, stream: u32, bytes: &[u8], ends: bool) -> io::Result<bool> {
        let mut parts = bytes.chunks(PAYLOAD_MAX).peekable();
        if parts.peek().is_none() {
            let flags = if ends { END_STREAM } else { 0 };
            self.send(frame(DATA, flags, stream, &[])).await?;
        }
        while let Some(part) = parts.next() {
            let length = part.len() as i64;
            // A stream that the server has ended takes no more.
            self.until(|flow| {
                let of_stream = flow.streams.get(&stream).copied();
                flow.connection >= length && of_stream.is_none_or(|credit| credit >= length)
            })
            .await?;
            {
                let mut flow = self.flow.locked();
                let Some(credit) = flow.streams.get_mut(&stream) else {
                    return Ok(false);
                };
                *credit -= length;
                flow.connection -= length;
            }
            let is_last = ends && parts.peek().is_none();
            let flags = if is_last { END_STREAM } else { 0 };
            self.send(frame(DATA, flags, stream, part)).await?;
        }
        Ok(true)
    }

    /// A whole call.
    pub(crate) async fn call(
        &mut self,
        headers: &[u8],
        message: &[u8],
        open_max: usize,
    ) -> io::Result<u32> {
        let stream = self.begin(headers, open_max, false).await?;
        self.data(stream, message, true).await?;
        Ok(stream)
    }

    /// Ends a stream from this side.
    pub(crate) async fn reset(&self, stream: u32) -> io::Result<()> {
        self.flow.locked().end(stream);
        // CANCEL.
        self.send(frame(RST_STREAM, 0, stream, &8u32.to_be_bytes()))
            .await
    }

    /// Waits until the server has ended all streams.
    pub(crate) async fn all_ended(&self) -> io::Result<()> {
        self.until(|flow| flow.streams.is_empty()).await
    }

    /// Whether the server has closed the connection.
    pub(crate) fn is_closed(&self) -> bool {
        self.flow.locked().is_closed
    }

    async fn until(&self, is_so: impl Fn(&Credit) -> bool) -> io::Result<()> {
        self.patiently(async {
            loop {
                let changed = self.flow.changed.notified();
                {
                    let flow = self.flow.locked();
                    if flow.is_closed {
                        return Err(io::ErrorKind::ConnectionReset.into());
                    }
                    if is_so(&flow) {
                        return Ok(());
                    }
                }
                changed.await;
            }
        })
        .await
    }

    async fn patiently<T>(&self, work: impl Future<Output = T>) -> T {
        patiently(&self.course, work).await
    }
}

/// Waits for `work`, and notes where that takes long.
pub(crate) async fn patiently<T>(course: &Course, work: impl Future<Output = T>) -> T {
    tokio::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return done,
            () = sleep(PATIENCE) => course.held_back(),
        }
    }
}

/// What may be sent.
struct Flow {
    credit: Mutex<Credit>,
    changed: Notify,
}

struct Credit {
    is_closed: bool,
    connection: i64,
    /// The flow-control credit of a new stream.
    initial: i64,
    /// Streams that the server has not ended.
    streams: HashMap<u32, i64>,
}

impl Flow {
    fn new() -> Self {
        let initial = 65_535;
        Self {
            credit: Mutex::new(Credit {
                is_closed: false,
                connection: initial,
                initial,
                streams: HashMap::new(),
            }),
            changed: Notify::new(),
        }
    }

    fn locked(&self) -> MutexGuard<'_, Credit> {
        self.credit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Credit)) {
        change(&mut self.locked());
        self.changed.notify_waiters();
    }
}

async fn write_all(
    mut write: impl AsyncWrite + Unpin,
    mut frames: mpsc::Receiver<Vec<u8>>,
    mut replies: mpsc::UnboundedReceiver<Vec<u8>>,
    flow: Arc<Flow>,
) {
    loop {
        let bytes = tokio::select! {
            biased;
            Some(reply) = replies.recv() => reply,
            bytes = frames.recv() => match bytes {
                Some(bytes) => bytes,
                None => break,
            },
        };
        if write.write_all(&bytes).await.is_err() || write.flush().await.is_err() {
            break;
        }
    }
    flow.change(|credit| credit.is_closed = true);
}

async fn read_all(
    mut read: impl AsyncRead + Unpin,
    replies: mpsc::UnboundedSender<Vec<u8>>,
    flow: Arc<Flow>,
    reading: Reading,
) {
    match reading {
        Reading::Nothing => {
            // An error is the end of the connection.
            if read_frames(&mut read, &replies, &flow, reading)
                .await
                .is_ok()
            {
                // Keeps its half, and with it the connection.
                std::future::pending::<()>().await;
            }
        }
        Reading::Slowly => {
            let _ = read_frames(&mut read, &replies, &flow, reading).await;
            while read.read_u8().await.is_ok() {
                sleep(SLOWLY).await;
            }
        }
        Reading::Everything | Reading::NoMore => {
            let _ = read_frames(&mut read, &replies, &flow, reading).await;
        }
    }
    flow.change(|credit| credit.is_closed = true);
}

/// Until the end of the connection; who then reads no more, until both sides know the other's
/// settings: before, the server's windows are too small for an attack.
async fn read_frames(
    read: &mut (impl AsyncRead + Unpin),
    replies: &mpsc::UnboundedSender<Vec<u8>>,
    flow: &Flow,
    reading: Reading,
) -> io::Result<()> {
    let mut payload = Vec::new();
    let mut unacknowledged = 0;
    // Fails if the writer is gone, which ends the connection by itself.
    let reply = |frame| {
        let _ = replies.send(frame);
    };
    loop {
        let mut head = [0; 9];
        read.read_exact(&mut head).await?;
        let [a, b, c, kind, flags, rest @ ..] = head;
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        let stream = u32::from_be_bytes(rest) & 0x7fff_ffff;
        payload.resize(length, 0);
        read.read_exact(&mut payload).await?;
        let number = |at: usize| {
            let bytes = payload
                .get(at..at + 4)
                .and_then(|some| some.try_into().ok());
            u32::from_be_bytes(bytes.unwrap_or_default())
        };
        match kind {
            DATA if reading == Reading::Everything => {
                unacknowledged += length as u32;
                if length > 0 && flags & END_STREAM == 0 {
                    let more = (length as u32).to_be_bytes();
                    reply(frame(WINDOW_UPDATE, 0, stream, &more));
                }
                if unacknowledged >= WINDOW_BYTES / 2 {
                    reply(frame(WINDOW_UPDATE, 0, 0, &unacknowledged.to_be_bytes()));
                    unacknowledged = 0;
                }
            }
            SETTINGS if flags & ACK == 0 => {
                for setting in payload.chunks_exact(6) {
                    if setting[..2] == INITIAL_WINDOW_SIZE.to_be_bytes() {
                        let value = [setting[2], setting[3], setting[4], setting[5]];
                        flow.change(|credit| credit.set_initial(u32::from_be_bytes(value)));
                    }
                }
                reply(frame(SETTINGS, ACK, 0, &[]));
            }
            SETTINGS if matches!(reading, Reading::Nothing | Reading::Slowly) => return Ok(()),
            PING if flags & ACK == 0 => reply(frame(PING, ACK, 0, &payload)),
            WINDOW_UPDATE => {
                let more = i64::from(number(0) & 0x7fff_ffff);
                flow.change(|credit| match stream {
                    0 => credit.connection += more,
                    stream => {
                        if let Some(credit) = credit.streams.get_mut(&stream) {
                            *credit += more;
                        }
                    }
                });
            }
            GOAWAY => return Ok(()),
            RST_STREAM => flow.change(|credit| credit.end(stream)),
            _ => {}
        }
        if matches!(kind, DATA | HEADERS) && flags & END_STREAM != 0 {
            flow.change(|credit| credit.end(stream));
        }
    }
}

impl Credit {
    fn end(&mut self, stream: u32) {
        self.streams.remove(&stream);
    }

    /// Changes the windows of open streams, too (RFC 9113, 6.9.2).
    fn set_initial(&mut self, initial: u32) {
        let change = i64::from(initial) - self.initial;
        self.initial += change;
        for credit in self.streams.values_mut() {
            *credit += change;
        }
    }
}

/// A window that no reply fills.
pub(crate) const WINDOW_BYTES: u32 = 16 << 20;
/// What a server that reads takes at most, for a hostile client to go on at its pace.
const PATIENCE: Duration = Duration::from_secs(1);
const SLOWLY: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_and_headers_are_those_of_the_standards() {
        assert_eq!(
            frame(WINDOW_UPDATE, 0, 3, &1u32.to_be_bytes()),
            [0, 0, 4, 8, 0, 0, 0, 0, 3, 0, 0, 0, 1]
        );
        // RFC 7541, C.2.1, and C.1.2 with a prefix of seven bits.
        let field = b"\x40\x0acustom-key\x0dcustom-header";
        assert_eq!(remembered_header(b"custom-key", b"custom-header"), field);
        let mut length = Vec::new();
        put_length(&mut length, 1337);
        assert_eq!(length, [127, 186, 9]);
    }
}
