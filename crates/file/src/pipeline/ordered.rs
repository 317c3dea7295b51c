//! From any input to any output, with reading, processing and writing overlapped.
//!
//! ```text
//! each thread   lock the input:  take the next ticket, read what has arrived;  unlock
//!               seal or open its chunks, in a chained format when the ticket's turn comes
//!               wait for the ticket's turn;  write;  pass the turn on
//! ```
//!
//! A single thread does the same in sequence. A chunk is the last one if nothing follows it. So at least one byte is read
//! beyond the chunks that are passed on, and it begins the next ticket's.

use std::io::{Seek as _, SeekFrom};
use std::os::fd::AsFd as _;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use oarlock::Direction;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::buffer::Buffer;
use super::format::Format;
use super::shared::{Helpers, Shared, lock};
use crate::Error;
use crate::waiting::{Watch, Writer};

/// A part of the plaintext.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// The first byte, counted from the start of the plaintext.
    pub from: u64,
    /// The length in bytes, at least one. The range must not extend beyond the end of the plaintext.
    pub bytes: u64,
    /// The length of the whole plaintext in bytes, authenticated
    /// ([`Payload::check_length`](crate::age::Payload::check_length)).
    pub of: u64,
}

/// Processes all chunks of `span`. The first begins at the position of the input.
pub(super) fn run<F: Format, W: Watch>(
    shared: &Shared<'_, F, W>,
    helpers: &Helpers<'_>,
    span: Span,
) -> Result<(), Error> {
    let reader = begin(shared, span)?;
    let turns = (Turns::default(), Turns::default());
    shared.run(helpers, &|| {
        // If a thread fails or panics, no other waits for its turn.
        let ends = (EndsTurns(&turns.0), EndsTurns(&turns.1));
        work(
            shared,
            &span,
            &reader,
            &turns,
            &mut Buffer::new(shared.format),
        )?;
        std::mem::forget(ends);
        Ok(())
    })?;
    end(shared)
}

/// Processes all chunks of the file on this thread.
pub(super) fn run_alone<F: Format, W: Watch>(
    shared: &Shared<'_, F, W>,
    buffer: &mut Buffer,
) -> Result<(), Error> {
    let span = Span::from_chunk(0);
    let reader = begin(shared, span)?;
    work(shared, &span, &reader, &Default::default(), buffer)?;
    end(shared)
}

/// The chunks to read, and the part of them to write.
#[derive(Clone, Copy)]
pub(super) struct Span {
    /// The number of the first chunk.
    chunk: u64,
    /// The most bytes to read.
    read_max: u64,
    /// Whether the file ends with the last of these chunks.
    reaches_end: bool,
    /// The first byte to write, counted in the output of the whole file.
    from: u64,
    /// The end of the bytes to write, counted in the same way.
    to: u64,
}

impl Span {
    /// Returns the span from `chunk` to the end of the file.
    pub(super) fn from_chunk(chunk: u64) -> Self {
        Self {
            chunk,
            read_max: u64::MAX,
            reaches_end: true,
            from: 0,
            to: u64::MAX,
        }
    }

    /// Returns the span of the chunks that contain `range`, for opening.
    pub(super) fn of_range(range: Range, format: &impl Format) -> Self {
        let (plain, sealed) = (format.plain_bytes() as u64, format.sealed_bytes() as u64);
        let to = range.from + range.bytes;
        let (chunk, end) = (range.from / plain, to.div_ceil(plain));
        Self {
            chunk,
            read_max: (end - chunk) * sealed,
            reaches_end: end >= range.of.div_ceil(plain),
            from: range.from,
            to,
        }
    }
}

/// Sets the length of a file that may end with a hole.
fn end<F: Format, W: Watch>(shared: &Shared<'_, F, W>) -> Result<(), Error> {
    if !shared.makes_holes() {
        return Ok(());
    }
    let mut output = shared.ends.output;
    let writing = |at| move |error| Error::Write { at, error };
    let at = output.stream_position().map_err(writing(0))?;
    output.set_len(at).map_err(writing(at))
}

fn begin<F: Format, W: Watch>(
    shared: &Shared<'_, F, W>,
    span: Span,
) -> Result<Mutex<Reader>, Error> {
    // A larger pipe means fewer turns for both sides. A failure does no harm: the file is no pipe, or a limit applies.
    if shared.ends.input_bytes.is_none() {
        let _ = rustix::pipe::fcntl_setpipe_size(shared.ends.input, PIPE_BYTES);
    }
    if !shared.ends.is_regular {
        let _ = rustix::pipe::fcntl_setpipe_size(shared.ends.output, PIPE_BYTES);
    }
    let mut reader = Reader {
        chunk: span.chunk,
        tickets: 0,
        is_at_end: false,
        reaches_end: span.reaches_end,
        left: span.read_max,
        begun: Vec::new(),
        overlap: vec![0; shared.format.overlap_bytes()],
        at: 0,
    };
    if span.chunk > 0 {
        reader.read_overlap(shared)?;
    }
    Ok(Mutex::new(reader))
}

struct Reader {
    /// The number of the next chunk.
    chunk: u64,
    /// The number of tickets issued so far.
    tickets: u64,
    is_at_end: bool,
    /// Whether the file ends where reading ends.
    reaches_end: bool,
    /// The bytes that may still be read.
    left: u64,
    /// The bytes already read of the next piece, at most a chunk.
    begun: Vec<u8>,
    /// The input right before those bytes, if the format needs it.
    overlap: Vec<u8>,
    /// The number of bytes read so far.
    at: u64,
}

struct Piece {
    ticket: u64,
    chunk: u64,
    bytes: usize,
    is_end: bool,
}

/// Processes pieces on one thread, until none is left.
fn work<F: Format, W: Watch>(
    shared: &Shared<'_, F, W>,
    span: &Span,
    reader: &Mutex<Reader>,
    (works, writes): &(Turns, Turns),
    buffer: &mut Buffer,
) -> Result<(), Error> {
    let mut writer = Writer::default();
    while !shared.should_end()? {
        let read = lock(reader).read(shared, buffer);
        let piece = match read {
            Ok(Some(piece)) => piece,
            Ok(None) => break,
            Err(error) => {
                // Earlier input is written first.
                let ticket = lock(reader).tickets;
                writes.wait_for(ticket);
                return Err(error);
            }
        };
        let is_chained = shared.format.is_chained();
        if is_chained && !works.wait_for(piece.ticket) {
            break;
        }
        let done = buffer.run(shared.format, piece.chunk, piece.bytes, piece.is_end);
        if is_chained {
            works.pass();
        }
        if !writes.wait_for(piece.ticket) {
            break;
        }
        write_all(&mut writer, shared, span, buffer, piece.chunk, done.bytes)?;
        if let Some(failure) = done.failure {
            return Err(failure);
        }
        writes.pass();
        shared.watch.advanced(match shared.format.direction() {
            Direction::Encrypt => piece.bytes,
            Direction::Decrypt => done.bytes,
        } as u64);
    }
    Ok(())
}

impl Reader {
    /// Reads whole chunks, or the last ones; `None` after those. Data is passed on at once: reading continues only while it
    /// does not wait, or until one chunk is whole.
    fn read<F: Format, W: Watch>(
        &mut self,
        shared: &Shared<'_, F, W>,
        buffer: &mut Buffer,
    ) -> Result<Option<Piece>, Error> {
        if self.is_at_end {
            return Ok(None);
        }
        let piece = self.read_piece(shared, buffer);
        self.is_at_end |= piece.is_err();
        piece.map(Some)
    }

    fn read_piece<F: Format, W: Watch>(
        &mut self,
        shared: &Shared<'_, F, W>,
        buffer: &mut Buffer,
    ) -> Result<Piece, Error> {
        let (chunk_bytes, _) = shared.chunk_bytes();
        let run_bytes = shared.format.chunks_per_run() * chunk_bytes;
        // One byte more shows whether another chunk follows.
        let ahead = usize::from(shared.format.has_last_chunk());
        let mut bytes = self.begun.len();
        buffer.begin_with(chunk_bytes, &self.begun);
        let mut began = None;
        let is_regular = shared.ends.input_bytes.is_some();
        while bytes < run_bytes + ahead {
            if self.left == 0 {
                self.is_at_end = true;
                break;
            }
            if !is_regular {
                if bytes < chunk_bytes + ahead {
                    if !shared.watch.wait(shared.ends.input.as_fd(), PollFlags::IN) {
                        return Err(Error::Stopped);
                    }
                } else if began.get_or_insert_with(Instant::now).elapsed() > FILL_TIME
                    || !is_readable(shared.ends.input)
                {
                    break;
                }
            }
            let left = usize::try_from(self.left).unwrap_or(usize::MAX);
            let end = (run_bytes + ahead).min(bytes.saturating_add(left));
            let mut places = buffer.places(chunk_bytes, bytes, end);
            match rustix::io::readv(shared.ends.input, &mut places) {
                Ok(0) => {
                    self.is_at_end = true;
                    self.check_length(shared)?;
                    break;
                }
                Ok(count) => {
                    bytes += count;
                    self.at += count as u64;
                    self.left -= count as u64;
                }
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(error) => {
                    let (at, error) = (self.at, error.into());
                    return Err(Error::Read { at, error });
                }
            }
        }
        let whole = if self.is_at_end {
            bytes
        } else {
            (bytes - ahead) / chunk_bytes * chunk_bytes
        };
        self.begun = buffer.copy(chunk_bytes, whole, bytes);
        buffer.overlap.copy_from_slice(&self.overlap);
        if let Some(start) = whole.checked_sub(self.overlap.len()) {
            self.overlap = buffer.copy(chunk_bytes, start, whole);
        }
        let piece = Piece {
            ticket: self.tickets,
            chunk: self.chunk,
            bytes: whole,
            is_end: self.is_at_end && self.reaches_end,
        };
        self.tickets += 1;
        self.chunk += (whole / chunk_bytes) as u64;
        Ok(piece)
    }

    /// Reads the overlap of the first chunk, which is not the first of the file.
    fn read_overlap<F: Format, W: Watch>(
        &mut self,
        shared: &Shared<'_, F, W>,
    ) -> Result<(), Error> {
        let end = (&*shared.ends.input).stream_position();
        let end = end.map_err(|error| Error::Read { at: 0, error })?;
        shared.read_overlap(&mut self.overlap, end)
    }

    /// Fails if the file has become shorter. Some files of the kernel are shorter than their size says; those are whole.
    fn check_length<F: Format, W: Watch>(&self, shared: &Shared<'_, F, W>) -> Result<(), Error> {
        let mut input = shared.ends.input;
        let (Some(size), Ok(at)) = (shared.ends.input_bytes, input.stream_position()) else {
            return Ok(());
        };
        match input.metadata() {
            Ok(now) if at < size && now.len() < size => Err(Error::CutShort { at }),
            _ => Ok(()),
        }
    }
}

fn write_all<F: Format, W: Watch>(
    writer: &mut Writer,
    shared: &Shared<'_, F, W>,
    span: &Span,
    buffer: &Buffer,
    chunk: u64,
    bytes: usize,
) -> Result<(), Error> {
    let output = shared.ends.output;
    let (_, chunk_bytes) = shared.chunk_bytes();
    let start = chunk * chunk_bytes as u64;
    // `span` begins and ends within these bytes.
    let bytes = span.to.saturating_sub(start).min(bytes as u64) as usize;
    let mut written = span.from.saturating_sub(start).min(bytes as u64) as usize;
    while written < bytes {
        let mut end = bytes;
        if shared.makes_holes() {
            let (row_end, is_hole) = buffer.row(chunk_bytes, written, bytes);
            end = row_end;
            if is_hole {
                let forward = SeekFrom::Current((end - written) as i64);
                (&mut &*output).seek(forward).map_err(|error| {
                    let at = start + written as u64 - span.from;
                    Error::Write { at, error }
                })?;
                written = end;
                continue;
            }
        }
        let slices = buffer.slices(chunk_bytes, written, end);
        let result = if shared.ends.is_regular {
            rustix::io::writev(output, &slices)
        } else {
            if !shared.watch.wait(output.as_fd(), PollFlags::OUT) {
                return Err(Error::Stopped);
            }
            writer.write_what_fits(output, &slices)
        };
        match result {
            Ok(count) => written += count,
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => {
                let error = error.into();
                let at = start + written as u64 - span.from;
                return Err(Error::Write { at, error });
            }
        }
    }
    Ok(())
}

/// A queue in which one ticket after the other has its turn.
#[derive(Default)]
struct Turns {
    state: Mutex<Turn>,
    changed: Condvar,
}

#[derive(Default)]
struct Turn {
    ticket: u64,
    ended: bool,
}

impl Turns {
    /// Waits for the turn of `ticket`; false once there are no more turns.
    fn wait_for(&self, ticket: u64) -> bool {
        let mut state = lock(&self.state);
        while state.ticket != ticket && !state.ended {
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        !state.ended
    }

    fn pass(&self) {
        lock(&self.state).ticket += 1;
        self.changed.notify_all();
    }

    fn end(&self) {
        lock(&self.state).ended = true;
        self.changed.notify_all();
    }
}

struct EndsTurns<'a>(&'a Turns);

impl Drop for EndsTurns<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Whether a read would not wait.
fn is_readable(file: &std::fs::File) -> bool {
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let mut watched = [PollFd::new(file, PollFlags::IN)];
    matches!(poll(&mut watched, Some(&now)), Ok(1))
}

/// The largest size of a pipe that any user may request (/proc/sys/fs/pipe-max-size).
const PIPE_BYTES: usize = 1 << 20;
/// The time for which data that arrives in tiny pieces fills a buffer further.
const FILL_TIME: Duration = Duration::from_millis(1);
