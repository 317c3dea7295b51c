//! From an input to an output: reads chunks, processes them on several threads, and writes them in order.
//!
//! ```text
//! regular.rs   both ends are regular files: every thread reads, processes and writes chunks of its
//!              own, except the last ones
//! ordered.rs   everything else: a thread takes a ticket to read, and writes when its turn comes
//! buffer.rs    chunks side by side, each with room for its tag
//! ```
//!
//! A chunk is what a [`Format`] seals or opens by itself: 64 KiB in an age file, a block in CBC, a byte
//! under a stream cipher.
//!
//! Every thread has one buffer of some 1 MiB, and there is no other memory, however long the file.
//! Many files at a time take one thread each ([`run_alone`]).

mod buffer;
mod ordered;
mod regular;

use std::fs::File;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use oarlock::Accelerator;
use rustix::event::PollFlags;

use self::buffer::Buffer;
use crate::Error;

pub use buffer::{Done, Run};

/// How the chunks of a file are transformed.
pub trait Format: Sync {
    /// Whether it seals or opens.
    fn direction(&self) -> Direction;
    /// Bytes of plaintext in every chunk but the last.
    fn plain_bytes(&self) -> usize;
    /// Bytes of a whole sealed chunk: at least as many; the last one may have up to twice as many.
    fn sealed_bytes(&self) -> usize;
    /// Seals or opens chunks in place, in order. Nothing of a refused chunk is released.
    fn run(&self, run: &mut Run<'_>) -> Done;
    /// Chunks that one thread takes at a time.
    fn chunks_per_run(&self) -> usize {
        RUN_BYTES / self.plain_bytes()
    }
    /// Whether the last chunk differs from the others, so that none is processed before it is known
    /// whether another follows.
    fn has_last_chunk(&self) -> bool {
        true
    }
    /// Bytes of the input right before a chunk that its processing needs, for all chunks but the first.
    fn overlap_bytes(&self) -> usize {
        0
    }
    /// Whether a run must wait for the one before it; reading and writing overlap even so.
    fn is_chained(&self) -> bool {
        false
    }
}

/// Whether a file is sealed or opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From plaintext to a sealed file.
    Encrypt,
    /// From a sealed file to plaintext.
    Decrypt,
}

/// Input and output. Both are used from their present positions.
pub struct Ends<'a> {
    /// Read from its position on.
    pub input: &'a File,
    /// Set if the input is a regular file: its size in bytes.
    pub input_bytes: Option<u64>,
    /// Written from its position on.
    pub output: &'a File,
    /// The output is a regular file in which several threads may write, each at its own offset.
    pub is_positional: bool,
    /// Writes to the output never wait for a reader.
    pub is_regular: bool,
    /// Chunks of zeros become holes of a regular output.
    pub makes_holes: bool,
    /// How both are treated in the page cache.
    pub cache: Cache,
}

/// How regular files are treated in the page cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cache {
    /// They stay while there is room.
    Keep,
    /// They leave it after they have been read and written, so that other files stay.
    Drop,
}

impl Cache {
    /// [`Drop`](Self::Drop) for a file that does not fit in half of this machine's memory.
    pub fn for_file(bytes: u64) -> Self {
        let memory = rustix::system::sysinfo();
        let total = memory.totalram as u64 * u64::from(memory.mem_unit);
        if bytes > total / 2 {
            Self::Drop
        } else {
            Self::Keep
        }
    }
}

/// Supervises the work: checks for signals and draws progress.
pub trait Watch: Sync {
    /// Whether to end early.
    fn is_stopped(&self) -> bool;
    /// Waits until `file` is ready for `what`, or has ended; false to end early.
    fn wait(&self, file: BorrowedFd<'_>, what: PollFlags) -> bool;
    /// Reports that so many more bytes of plaintext have been written, or have been read and written sealed.
    fn advanced(&self, bytes: u64);
}

/// A part of the plaintext.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// Its first byte, counted from the first of the plaintext.
    pub from: u64,
    /// How many bytes it has: one at least, and none is beyond the end of the plaintext.
    pub bytes: u64,
    /// Of the whole plaintext.
    pub of: u64,
}

/// The buffer of one thread, some 1 MiB, for one file after the other. Wiped on drop.
#[derive(Default)]
pub struct Workspace(Option<Buffer>);

/// Processes all chunks of the input on this thread and up to `helpers` of the accelerator's. Afterwards
/// both files are positioned behind the bytes that were read and written.
///
/// # Errors
/// The first failure. An output that is not positional has received all authentic chunks before it, and
/// nothing more.
pub fn run(
    accelerator: &Accelerator,
    helpers: usize,
    ends: &Ends<'_>,
    format: &impl Format,
    watch: &impl Watch,
) -> Result<(), Error> {
    let shared = Shared::new(ends, format, watch);
    let together = Together {
        accelerator,
        helpers,
    };
    let chunks = regular::run(&shared, &together)?;
    ordered::run(&shared, &together, ordered::Span::from_chunk(chunks))
}

/// The same on this thread alone: for many files at once, each on one thread.
///
/// # Errors
/// As [`run`].
pub fn run_alone(
    workspace: &mut Workspace,
    ends: &Ends<'_>,
    format: &impl Format,
    watch: &impl Watch,
) -> Result<(), Error> {
    let shared = Shared::new(ends, format, watch);
    let buffer = match &mut workspace.0 {
        Some(buffer) if buffer.fits(format) => buffer,
        other => other.insert(Buffer::new(format)),
    };
    ordered::run_alone(&shared, buffer)
}

/// Opens only the chunks that contain `range`, and writes that part of the plaintext. The input is
/// positioned at the chunk with its first byte.
///
/// # Errors
/// As [`run`].
pub fn run_range(
    accelerator: &Accelerator,
    helpers: usize,
    ends: &Ends<'_>,
    format: &impl Format,
    watch: &impl Watch,
    range: Range,
) -> Result<(), Error> {
    let shared = Shared::new(ends, format, watch);
    let together = Together {
        accelerator,
        helpers,
    };
    let span = ordered::Span::of_range(range, format);
    ordered::run(&shared, &together, span)
}

/// The threads that work.
struct Together<'a> {
    accelerator: &'a Accelerator,
    helpers: usize,
}

/// What the threads share.
struct Shared<'a, F, W> {
    ends: &'a Ends<'a>,
    format: &'a F,
    watch: &'a W,
    failure: Mutex<Option<Error>>,
    is_stopped: AtomicBool,
}

impl<'a, F: Format, W: Watch> Shared<'a, F, W> {
    fn new(ends: &'a Ends<'a>, format: &'a F, watch: &'a W) -> Self {
        Self {
            ends,
            format,
            watch,
            failure: Mutex::new(None),
            is_stopped: AtomicBool::new(false),
        }
    }

    fn makes_holes(&self) -> bool {
        self.ends.makes_holes && self.ends.is_positional
    }

    /// Bytes of a whole chunk as it is read, and as it is written.
    fn chunk_bytes(&self) -> (usize, usize) {
        let (plain, sealed) = (self.format.plain_bytes(), self.format.sealed_bytes());
        match self.format.direction() {
            Direction::Encrypt => (plain, sealed),
            Direction::Decrypt => (sealed, plain),
        }
    }

    /// Runs `work` on this thread and its helpers; the first failure of any stops the others.
    fn together(
        &self,
        who: &Together<'_>,
        work: &(dyn Fn() -> Result<(), Error> + Sync),
    ) -> Result<(), Error> {
        who.accelerator.work_together(who.helpers, &|| {
            if let Err(error) = work() {
                self.fail(error);
                self.is_stopped.store(true, Ordering::Relaxed);
            }
        });
        lock(&self.failure).take().map_or(Ok(()), Err)
    }

    /// Keeps a failure, if it is the first, for when the work has ended.
    fn fail(&self, error: Error) {
        lock(&self.failure).get_or_insert(error);
    }

    /// Fails when the watch wants an end; true when another thread has failed.
    fn should_end(&self) -> Result<bool, Error> {
        if self.watch.is_stopped() {
            return Err(Error::Stopped);
        }
        Ok(self.is_stopped.load(Ordering::Relaxed))
    }
}

/// A thread that panics ends the whole command; what it held is not looked at again.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Of plaintext, that one thread takes at a time.
const RUN_BYTES: usize = 1 << 20;
