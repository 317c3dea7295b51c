//! One end of a file, read or written on the calling thread.

use std::fs::File;
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::{error, fmt};

use rustix::event::PollFlags;
use rustix::io::{Errno, ReadWriteFlags};

/// A supervisor of the work, which checks for signals and draws progress.
pub trait Watch: Sync {
    /// Whether to end early.
    fn is_stopped(&self) -> bool;
    /// Waits until `file` is ready for `what`, or has ended; returns false to end early.
    fn wait(&self, file: BorrowedFd<'_>, what: PollFlags) -> bool;
    /// Reports `bytes` more of plaintext, which have been written, or have been read and written sealed.
    fn advanced(&self, bytes: u64);
}

/// A file that is read or written, with waits that a [`Watch`] can end: a signal is noticed even while no input arrives, or
/// while the output is not read.
pub struct Waiting<'a, W> {
    file: &'a File,
    watch: &'a W,
    is_regular: bool,
    writer: Writer,
}

impl<'a, W: Watch> Waiting<'a, W> {
    /// Reads or writes at the position of `file`. `is_regular` means that it never waits.
    pub fn new(file: &'a File, is_regular: bool, watch: &'a W) -> Self {
        Self {
            file,
            watch,
            is_regular,
            writer: Writer::default(),
        }
    }

    /// Calls `what` until it neither waits nor is interrupted.
    fn patiently(
        &mut self,
        event: PollFlags,
        mut what: impl FnMut(&mut Self) -> rustix::io::Result<usize>,
    ) -> io::Result<usize> {
        loop {
            if !self.is_regular && !self.watch.wait(self.file.as_fd(), event) {
                return Err(io::Error::other(Stopped));
            }
            match what(self) {
                Err(Errno::INTR | Errno::AGAIN) => {}
                result => return Ok(result?),
            }
        }
    }
}

impl<W: Watch> Read for Waiting<'_, W> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.patiently(PollFlags::IN, |this| {
            rustix::io::read(this.file, &mut *buffer)
        })
    }
}

impl<W: Watch> Write for Waiting<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let slices = [IoSlice::new(bytes)];
        self.patiently(PollFlags::OUT, |this| match this.is_regular {
            true => rustix::io::write(this.file, bytes),
            false => this.writer.write_what_fits(this.file, &slices),
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A writer to a pipe or similar.
pub(crate) struct Writer {
    /// Whether a write can be asked to fail instead of waiting.
    may_refuse: bool,
}

impl Default for Writer {
    fn default() -> Self {
        Self { may_refuse: true }
    }
}

impl Writer {
    /// Writes without waiting for a reader, so that a signal is noticed. O_NONBLOCK is no alternative: other programs may
    /// share the descriptor and would not expect it.
    pub(crate) fn write_what_fits(
        &mut self,
        output: &File,
        slices: &[IoSlice<'_>],
    ) -> rustix::io::Result<usize> {
        if self.may_refuse {
            match rustix::io::pwritev2(output, slices, HERE, ReadWriteFlags::NOWAIT) {
                Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::SPIPE | Errno::INVAL) => {
                    self.may_refuse = false;
                }
                result => return result,
            }
        }
        rustix::io::writev(output, slices)
    }
}

/// The watch's request to stop, as an I/O error.
#[derive(Debug)]
pub(crate) struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::Error::Stopped.fmt(f)
    }
}

impl error::Error for Stopped {}

/// pwritev2's value for the file's own position, which a pipe does not have.
const HERE: u64 = u64::MAX;
