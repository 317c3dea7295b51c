//! Shared by both: an accelerator, pipes, files, and a watch that stops nothing.

use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::LazyLock;

use oarlock::Accelerator;
use oarlock_file::Watch;
use rustix::event::PollFlags;

pub fn accelerator() -> &'static Accelerator {
    static ACCELERATOR: LazyLock<Accelerator> =
        LazyLock::new(|| Accelerator::builder().max_threads(4).build().unwrap());
    &ACCELERATOR
}

/// A watch that never stops a run.
pub struct Never;

impl Watch for Never {
    fn is_stopped(&self) -> bool {
        false
    }
    fn wait(&self, file: BorrowedFd<'_>, what: PollFlags) -> bool {
        let mut watched = [rustix::event::PollFd::from_borrowed_fd(file, what)];
        rustix::event::poll(&mut watched, None).is_ok()
    }
    fn advanced(&self, _: u64) {}
}

pub fn pipe() -> (File, File) {
    let (reader, writer) = std::io::pipe().unwrap();
    (OwnedFd::from(reader).into(), OwnedFd::from(writer).into())
}

pub fn file_with(data: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(data).unwrap();
    file.rewind().unwrap();
    file
}
