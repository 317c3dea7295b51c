//! Files in memory, and what waits for them.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::os::fd::BorrowedFd;

use oarlock_file::Watch;
use rustix::event::PollFlags;

/// A file of these bytes, at its beginning.
pub(crate) fn memory(bytes: &[u8]) -> File {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::memfd_create("fuzz", flags).expect("memory"));
    file.write_all(bytes).expect("memory");
    file.rewind().expect("memory");
    file
}

/// All that is in it.
pub(crate) fn contents(file: &mut File) -> Vec<u8> {
    let mut bytes = Vec::new();
    file.rewind().expect("memory");
    file.read_to_end(&mut bytes).expect("memory");
    bytes
}

/// Bytes with some of them changed.
pub(crate) fn edited(bytes: &[u8], edits: &[(u16, u8)]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for (place, value) in edits {
        let place = usize::from(*place) % bytes.len().max(1);
        bytes
            .get_mut(place)
            .into_iter()
            .for_each(|old| *old = *value);
    }
    bytes
}

/// Never stops anything.
pub(crate) struct Never;

impl Watch for Never {
    fn is_stopped(&self) -> bool {
        false
    }
    fn wait(&self, _: BorrowedFd<'_>, _: PollFlags) -> bool {
        true
    }
    fn advanced(&self, _: u64) {}
}
