//! The state shared by the threads that process one file.

use std::io::ErrorKind;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use oarlock::{Accelerator, Direction};

use super::ends::Ends;
use super::format::Format;
use crate::Error;
use crate::waiting::Watch;

/// The accelerator's threads that work with the calling one.
pub(super) struct Helpers<'a> {
    pub(super) accelerator: &'a Accelerator,
    pub(super) count: usize,
}

/// The shared state of a run.
pub(super) struct Shared<'a, F, W> {
    pub(super) ends: &'a Ends<'a>,
    pub(super) format: &'a F,
    pub(super) watch: &'a W,
    failure: Mutex<Option<Error>>,
    is_stopped: AtomicBool,
}

impl<'a, F: Format, W: Watch> Shared<'a, F, W> {
    pub(super) fn new(ends: &'a Ends<'a>, format: &'a F, watch: &'a W) -> Self {
        Self {
            ends,
            format,
            watch,
            failure: Mutex::new(None),
            is_stopped: AtomicBool::new(false),
        }
    }

    pub(super) fn makes_holes(&self) -> bool {
        self.ends.makes_holes && self.ends.is_positional
    }

    /// Returns the bytes of a whole chunk as it is read, and as it is written.
    pub(super) fn chunk_bytes(&self) -> (usize, usize) {
        let (plain, sealed) = (self.format.plain_bytes(), self.format.sealed_bytes());
        match self.format.direction() {
            Direction::Encrypt => (plain, sealed),
            Direction::Decrypt => (sealed, plain),
        }
    }

    /// Fills `overlap` with the bytes of the input right before byte `end`.
    pub(super) fn read_overlap(&self, overlap: &mut [u8], end: u64) -> Result<(), Error> {
        let start = end - overlap.len() as u64;
        let read = self.ends.input.read_exact_at(overlap, start);
        read.map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => Error::CutShort { at: start },
            _ => Error::Read { at: start, error },
        })
    }

    /// Runs `work` on this thread and its `helpers`. The first failure stops all of them.
    pub(super) fn run(
        &self,
        helpers: &Helpers<'_>,
        work: &(dyn Fn() -> Result<(), Error> + Sync),
    ) -> Result<(), Error> {
        helpers.accelerator.work_together(helpers.count, &|| {
            if let Err(error) = work() {
                self.fail(error);
                self.is_stopped.store(true, Ordering::Relaxed);
            }
        });
        lock(&self.failure).take().map_or(Ok(()), Err)
    }

    /// Keeps the first failure until the work has ended.
    fn fail(&self, error: Error) {
        lock(&self.failure).get_or_insert(error);
    }

    /// Whether another thread has failed. Fails if the watch stops the work.
    pub(super) fn should_end(&self) -> Result<bool, Error> {
        if self.watch.is_stopped() {
            return Err(Error::Stopped);
        }
        Ok(self.is_stopped.load(Ordering::Relaxed))
    }
}

/// Locks `mutex` even if it is poisoned: a thread that panics ends the whole command, and its data is not used again.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
