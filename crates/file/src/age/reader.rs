//! The plaintext of a file at any position, for callers that bring buffers.
//!
//! ```text
//! requests that follow each other   a chunk that is ready in the ring is copied; another is read and opened in the
//!                                   caller's buffer. Pool threads fill the ring with the chunks after the request
//! other requests                    the caller and pool threads share the chunks of the request
//! ```
//!
//! The ring is that of keystream made ahead ([`oarlock_threads::prefetch`]): nobody waits for a thread that fills it. A chunk
//! that cannot be read or is not authentic leaves a mark in the ring, and fails when the caller reaches it.

use std::fs::File;
use std::io::{BufReader, IoSliceMut};
use std::sync::{Arc, Mutex};

use ::age::Identity;
use oarlock::Accelerator;
use oarlock_engine::PrefetchWorker;
use oarlock_threads::prefetch::{self, RingSize, Source};
use oarlock_threads::process;
use rustix::io::Errno;
use zeroize::Zeroizing;

use super::shared::each;
use super::{CHUNK_BYTES, Decryptor, Payload, SEALED_CHUNK_BYTES, TAG_BYTES, armored};
use crate::Error;
use crate::pipeline::lock;

/// A reader of the plaintext of an age file in a regular file. Threads may share it, and a forked child may go on with it.
/// Its memory is bounded, and wiped on drop: 4 MiB in use by requests that follow each other, a chunk otherwise.
pub struct Reader {
    sealed: Arc<Sealed>,
    state: Mutex<State>,
}

impl Reader {
    /// Reads the header, finds the file key, and authenticates the length of the plaintext. What is in an armored file is
    /// kept in memory: up to 256 MiB, of ciphertext.
    ///
    /// # Errors
    /// Those of [`Decryptor::new`] and [`Payload::check_length`]; [`Error::Armor`], [`Error::LongArmor`].
    pub fn new(
        file: File,
        identities: &[&dyn Identity],
        accelerator: &Accelerator,
    ) -> Result<Self, Error> {
        let file = match armored::is_armored(&file)? {
            true => armored::in_memory(&file)?,
            false => file,
        };
        let end = file
            .metadata()
            .map_err(|error| Error::Read { at: 0, error })?
            .len();
        let Decryptor {
            prologue_bytes: start,
            payload,
        } = Decryptor::new(&mut BufReader::new(&file), identities, accelerator.cpu())?;
        let plain_bytes = payload.check_length(&file, start, end)?;
        let sealed = Sealed {
            chunks: (end - start).div_ceil(SEALED_CHUNK_BYTES as u64),
            file,
            payload,
            start,
            plain_bytes,
        };
        Ok(Self {
            sealed: Arc::new(sealed),
            state: Mutex::default(),
        })
    }

    /// Returns the length of the plaintext in bytes, which is authentic.
    pub fn plain_bytes(&self) -> u64 {
        self.sealed.plain_bytes
    }

    /// Fills `buffer` with plaintext from a position. Returns the number of bytes, less than its length only at the end of
    /// the file.
    ///
    /// # Errors
    /// [`Error::Authentication`] and [`Error::Trailing`] for a chunk within the request; [`Error::CutShort`],
    /// [`Error::Read`]. The part of `buffer` that was to be filled is then zeros.
    pub fn read_at(
        &self,
        accelerator: &Accelerator,
        position: u64,
        buffer: &mut [u8],
    ) -> Result<usize, Error> {
        let left = self.sealed.plain_bytes.saturating_sub(position);
        let bytes = usize::try_from(left).map_or(buffer.len(), |left| left.min(buffer.len()));
        let buffer = &mut buffer[..bytes];
        if bytes == 0 {
            return Ok(0);
        }
        // A thread that finds another one reading does without the state. So does a child that was forked in the middle of
        // a request, in which nobody releases it.
        let read = match self.state.try_lock() {
            Ok(mut state) => state.read(&self.sealed, accelerator, position, buffer),
            Err(_) => State::default().read_apart(&self.sealed, accelerator, position, buffer),
        };
        match read {
            Ok(()) => Ok(bytes),
            Err(error) => {
                // What was opened before the chunk that failed is not authentic as a whole.
                buffer.fill(0);
                Err(error)
            }
        }
    }
}

/// The chunks in the file.
struct Sealed {
    file: File,
    payload: Payload,
    /// Where the chunks begin, and how many there are.
    start: u64,
    chunks: u64,
    plain_bytes: u64,
}

/// A part of a request, within one chunk.
struct Piece<'a> {
    chunk: u64,
    /// The first byte of the chunk's plaintext that is wanted.
    skip: usize,
    output: &'a mut [u8],
}

/// A chunk of which a request did not want the end.
struct Kept {
    chunk: u64,
    plain: Zeroizing<Vec<u8>>,
}

impl Sealed {
    /// Returns the bytes of plaintext in a chunk; 0 after the last.
    fn chunk_bytes(&self, chunk: u64) -> usize {
        let left = self.plain_bytes.saturating_sub(chunk * CHUNK_BYTES as u64);
        usize::try_from(left).map_or(CHUNK_BYTES, |left| left.min(CHUNK_BYTES))
    }

    /// Reads a chunk and opens it in `output`, which is as long as its plaintext.
    fn open(&self, chunk: u64, output: &mut [u8]) -> Result<(), Error> {
        let mut tag = [0; TAG_BYTES];
        let at = self.start + chunk * SEALED_CHUNK_BYTES as u64;
        let mut places = [IoSliceMut::new(output), IoSliceMut::new(&mut tag)];
        let (mut rest, mut at) = (&mut places[..], at);
        IoSliceMut::advance_slices(&mut rest, 0);
        while !rest.is_empty() {
            match rustix::io::preadv(&self.file, rest, at) {
                Ok(0) => return Err(Error::CutShort { at }),
                Ok(count) => {
                    at += count as u64;
                    IoSliceMut::advance_slices(&mut rest, count);
                }
                Err(Errno::INTR) => {}
                Err(error) => {
                    let error = error.into();
                    return Err(Error::Read { at, error });
                }
            }
        }
        let is_last = chunk + 1 == self.chunks;
        self.payload.open_apart(chunk, is_last, output, &tag)
    }

    /// Fills a part of a request. Returns the chunk if more of it may be wanted.
    fn read_piece(&self, piece: Piece<'_>) -> Result<Option<Kept>, Error> {
        let bytes = self.chunk_bytes(piece.chunk);
        if piece.output.len() == bytes {
            self.open(piece.chunk, piece.output)?;
            return Ok(None);
        }
        let mut plain = Zeroizing::new(vec![0; bytes]);
        self.open(piece.chunk, &mut plain)?;
        let end = piece.skip + piece.output.len();
        piece.output.copy_from_slice(&plain[piece.skip..end]);
        let chunk = piece.chunk;
        Ok((end < bytes).then_some(Kept { chunk, plain }))
    }
}

/// Cuts a request into pieces.
fn pieces(position: u64, buffer: &mut [u8]) -> impl Iterator<Item = Piece<'_>> {
    let (mut position, mut rest) = (position, buffer);
    std::iter::from_fn(move || {
        let chunk = position / CHUNK_BYTES as u64;
        let skip = (position % CHUNK_BYTES as u64) as usize;
        let bytes = rest.len().min(CHUNK_BYTES - skip);
        let (output, after) = std::mem::take(&mut rest).split_at_mut(bytes);
        rest = after;
        position += bytes as u64;
        (bytes > 0).then_some(Piece {
            chunk,
            skip,
            output,
        })
    })
}

/// The state that each request hands to the next.
#[derive(Default)]
struct State {
    kept: Option<Kept>,
    /// The end of the last request.
    end: Option<u64>,
    ahead: Option<Ahead>,
}

impl State {
    fn read(
        &mut self,
        sealed: &Arc<Sealed>,
        accelerator: &Accelerator,
        position: u64,
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        let end = position + buffer.len() as u64;
        let follows = self.end.replace(end) == Some(position);
        if let Some(ahead) = &self.ahead
            && ahead.fork_generation != process::fork_generation()
        {
            // Threads that were filling the ring are not here.
            self.ahead = None;
        }
        if follows && buffer.len() <= AHEAD_BYTES_MAX && accelerator.parallelism() > 1 {
            if self.ahead.is_none() {
                self.ahead = Ahead::new(sealed, accelerator);
            }
            if let Some(ahead) = &mut self.ahead {
                return ahead.read(&mut self.kept, sealed, accelerator, position, buffer);
            }
        }
        if let Some(ahead) = &mut self.ahead {
            ahead.stop();
        }
        self.read_apart(sealed, accelerator, position, buffer)
    }

    /// Reads chunks on this thread and, if that pays for waking them, on others.
    fn read_apart(
        &mut self,
        sealed: &Sealed,
        accelerator: &Accelerator,
        position: u64,
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        let kept = self.kept.take();
        let last: Mutex<Option<Kept>> = Mutex::new(None);
        let bytes = buffer.len();
        let read = each(accelerator, bytes, pieces(position, buffer), |piece| {
            let Some(piece) = read_kept(&kept, piece) else {
                return Ok(());
            };
            if let Some(new) = sealed.read_piece(piece)? {
                // Of the first chunk and the last one, the last one.
                let mut last = lock(&last);
                if last.as_ref().is_none_or(|old| old.chunk < new.chunk) {
                    *last = Some(new);
                }
            }
            Ok(())
        });
        self.kept = lock(&last).take().or(kept);
        read
    }
}

/// Fills a piece with what is kept. Returns one of another chunk.
fn read_kept<'a>(kept: &Option<Kept>, piece: Piece<'a>) -> Option<Piece<'a>> {
    match kept {
        Some(kept) if kept.chunk == piece.chunk => {
            let wanted = &kept.plain[piece.skip..][..piece.output.len()];
            piece.output.copy_from_slice(wanted);
            None
        }
        _ => Some(piece),
    }
}

/// Chunks that pool threads read and open before they are wanted.
struct Ahead {
    reader: prefetch::Reader,
    /// `None` while requests do not follow each other.
    sequence: Option<Sequence>,
    fork_generation: usize,
}

/// Where a sequence of requests began.
#[derive(Clone, Copy)]
struct Sequence {
    chunk: u64,
    /// The number of the granule of that chunk.
    granule: u64,
}

impl Sequence {
    /// Returns the number of a chunk's granule.
    fn granule(self, chunk: u64) -> u64 {
        self.granule + (chunk - self.chunk)
    }
}

impl Ahead {
    /// Returns `None` if the rings of the accelerator take all the memory that they may.
    fn new(sealed: &Arc<Sealed>, accelerator: &Accelerator) -> Option<Self> {
        let size = RingSize {
            granule_bytes: GRANULE_BYTES,
            segment: 1,
            streams: GRANULES,
        };
        let source = Box::new(Chunks(Arc::clone(sealed)));
        Some(Self {
            reader: accelerator.as_ref().ring(size, source)?,
            sequence: None,
            fork_generation: process::fork_generation(),
        })
    }

    /// Has nobody fill the ring any more: the next request is elsewhere.
    fn stop(&mut self) {
        if let Some(sequence) = self.sequence.take() {
            self.reader.claim(sequence.granule + NEVER);
        }
    }

    fn read(
        &mut self,
        kept: &mut Option<Kept>,
        sealed: &Sealed,
        accelerator: &Accelerator,
        position: u64,
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        let chunk = position / CHUNK_BYTES as u64;
        let sequence = *self.sequence.get_or_insert_with(|| Sequence {
            chunk,
            granule: self.reader.restart(chunk.into()),
        });
        let end = position + buffer.len() as u64;
        let chunks_end = end.div_ceil(CHUNK_BYTES as u64);
        self.reader.claim(sequence.granule(chunks_end));
        self.fill(accelerator);
        let mut missing = Vec::new();
        for piece in pieces(position, buffer) {
            let ready = match read_kept(kept, piece) {
                Some(piece) => self.read_ready(sequence, piece),
                None => None,
            };
            missing.extend(ready);
        }
        // From the back: threads are in the middle of the first of them.
        while let Some(piece) = missing.pop() {
            if let Some(piece) = self.read_ready(sequence, piece)
                && let Some(new) = sealed.read_piece(piece)?
            {
                *kept = Some(new);
            }
        }
        // A chunk of which a part is wanted stays.
        self.reader
            .release(sequence.granule(end / CHUNK_BYTES as u64));
        self.fill(accelerator);
        Ok(())
    }

    /// Fills a piece with what is ready. Returns one that is not.
    fn read_ready<'a>(&self, sequence: Sequence, piece: Piece<'a>) -> Option<Piece<'a>> {
        match self.reader.granule(sequence.granule(piece.chunk)) {
            Some(granule) if granule[CHUNK_BYTES] == OPENED => {
                let wanted = &granule[piece.skip..][..piece.output.len()];
                piece.output.copy_from_slice(wanted);
                None
            }
            _ => Some(piece),
        }
    }

    fn fill(&self, accelerator: &Accelerator) {
        let engine = accelerator.as_ref();
        engine.fill(self.reader.ring(), PrefetchWorker::Pool);
    }
}

/// The contents of the ring: the plaintext of a chunk, and [`OPENED`] after it if the chunk is authentic.
struct Chunks(Arc<Sealed>);

impl Source for Chunks {
    fn make(&self, base: u128, index: u64, granule: &mut [u8]) {
        let Self(sealed) = self;
        let (plain, mark) = granule.split_at_mut(CHUNK_BYTES);
        // It began as the number of a chunk.
        let chunk = base as u64 + index;
        let bytes = sealed.chunk_bytes(chunk);
        let is_opened = chunk < sealed.chunks && sealed.open(chunk, &mut plain[..bytes]).is_ok();
        if !is_opened {
            plain[..bytes].fill(0);
        }
        mark[0] = if is_opened { OPENED } else { 0 };
    }
}

/// A chunk and its mark, in whole cache lines.
const GRANULE_BYTES: usize = CHUNK_BYTES + 64;
const OPENED: u8 = 1;
/// The chunks of a ring: 4 MiB.
const GRANULES: usize = 64;
/// The longest request that the ring serves: half of it. Longer ones gain more from threads that work on the request.
const AHEAD_BYTES_MAX: usize = GRANULES / 2 * CHUNK_BYTES;
/// More granules than any ring has.
const NEVER: u64 = 1 << 32;
