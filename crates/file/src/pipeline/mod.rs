//! From an input to an output: chunks are read, worked on by several threads, and written in order.
//!
//! ```text
//! regular.rs   both ends are regular files: every thread reads, does and writes chunks of its own,
//!              but for the last ones
//! ordered.rs   everything else: who reads takes a ticket, and writes when its turn comes
//! buffer.rs    chunks side by side, each with room for its tag
//! ```
//!
//! A chunk is what a [`Format`] seals or opens by itself: 64 KiB in an age file, a block in CBC, a byte
//! under a stream cipher.
//!
//! Every thread has one buffer of some 1 MiB; that is all the memory there is, however long the file.
//! Many files at a time are done each by one thread ([`run_alone`]).

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

/// What becomes of the chunks of a file.
pub trait Format: Sync {
    /// Which way.
    fn direction(&self) -> Direction;
    /// Bytes of plaintext in every chunk but the last.
    fn plain_bytes(&self) -> usize;
    /// Bytes of a whole chunk when it is sealed: at least as many, in the last one up to twice.
    fn sealed_bytes(&self) -> usize;
    /// Seals or opens chunks where they lie, in their order. Of a chunk that is refused nothing is
    /// released.
    fn run(&self, run: &mut Run<'_>) -> Done;
    /// Chunks that one thread takes at a time.
    fn chunks_per_run(&self) -> usize {
        RUN_BYTES / self.plain_bytes()
    }
    /// Whether the last chunk is unlike the others, so that none is done before it is known whether
    /// another one follows.
    fn has_last_chunk(&self) -> bool {
        true
    }
    /// Bytes of the input right before a chunk that it takes to do it, for all chunks but the first.
    fn overlap_bytes(&self) -> usize {
        0
    }
    /// Whether a run can only be done when the one before it is; reading and writing overlap even so.
    fn is_chained(&self) -> bool {
        false
    }
}

/// Which way a file goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From plaintext to a sealed file.
    Encrypt,
    /// Back.
    Decrypt,
}

/// Where bytes come from and where they go. Both are used from where they stand.
pub struct Ends<'a> {
    /// Read from its position on.
    pub input: &'a File,
    /// The input is a regular file, which had so many bytes from its start to its end.
    pub input_bytes: Option<u64>,
    /// Written from its position on.
    pub output: &'a File,
    /// The output is a regular file in which several threads may write, each where it says.
    pub is_positional: bool,
    /// Writes to the output do not wait for anybody who reads it.
    pub is_regular: bool,
    /// Chunks of zeros become holes of a regular output.
    pub makes_holes: bool,
    /// What becomes of both in memory.
    pub cache: Cache,
}

/// What becomes of regular files in the page cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cache {
    /// They stay, as long as there is room.
    Keep,
    /// They go when they have been read and written, and what others have there stays.
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

/// Who looks after the work: sees signals, and draws progress.
pub trait Watch: Sync {
    /// Whether to end early.
    fn is_stopped(&self) -> bool;
    /// Waits until `file` is ready for `what`, or has ended; false to end early.
    fn wait(&self, file: BorrowedFd<'_>, what: PollFlags) -> bool;
    /// So many bytes of plaintext have been written, or read and written sealed.
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

/// Has all chunks of the input written to the output, by this thread and up to `helpers` of the
/// accelerator's. Both files stand behind what was read and written then.
///
/// # Errors
/// The first failure. To an output that is not positional, all authentic chunks before it have been
/// written, and nothing behind them.
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

/// The same by this thread alone: for many files at once, each by one thread.
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

/// Opens no more chunks than `range` is in, and writes that part of the plaintext. The input stands at
/// the chunk that has its first byte.
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

/// Who works.
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

/// A thread that panics takes the whole command with it; what it held is not looked at again.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Of plaintext, that one thread takes at a time.
const RUN_BYTES: usize = 1 << 20;
