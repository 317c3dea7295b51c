//! Memory that processes share: a file of 64-bit numbers that each of them maps.
//!
//! Numbers are in the machine's byte order; such a file never leaves its machine. They are atomics, since any process
//! that maps the file may change any of them at any time: what is read from here must be treated like any other input.
#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::ops::Range;
use std::ops::RangeInclusive;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU64;

/// A mapped file, of a length that does not change. It keeps no descriptor open, which a host might close.
#[derive(Debug)]
pub struct Mapped {
    first: NonNull<AtomicU64>,
    count: usize,
}

// SAFETY: it is a shared mapping of atomics, which any thread may touch, and which goes with the last
// reference.
unsafe impl Send for Mapped {}
// SAFETY: through a shared reference, too, there is nothing but the mapping's atomics to be touched.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// Makes a file of `count` zeros, for this user alone: another process that may write to it could truncate it,
    /// which kills the processes that map it.
    ///
    /// # Errors
    /// There is one of that name, or no file can be made there.
    pub fn create(path: &Path, count: usize) -> io::Result<Self> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        // Written, not left as a hole: a full disk is told here, and not by a signal later.
        file.write_all(&vec![0; count * BYTES])?;
        Self::map(&file, count)
    }

    /// Maps a file that [`create`](Self::create) made. `None` if there is no file of `count` numbers.
    ///
    /// # Errors
    /// It cannot be opened for writing.
    pub fn open(path: &Path, count: usize) -> io::Result<Option<Self>> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW)
            .open(path)?;
        Self::of(&file, count..=count)
    }

    /// Maps an open file, if the count of its numbers is in `counts`.
    fn of(file: &File, counts: RangeInclusive<usize>) -> io::Result<Option<Self>> {
        let metadata = file.metadata()?;
        let bytes = usize::try_from(metadata.len()).unwrap_or(usize::MAX);
        let count = bytes / BYTES;
        if !metadata.is_file() || bytes % BYTES != 0 || !counts.contains(&count) {
            return Ok(None);
        }
        Self::map(file, count).map(Some)
    }

    /// `file` has that length.
    fn map(file: &File, count: usize) -> io::Result<Self> {
        // SAFETY: a new shared mapping wherever the kernel likes, of a file that is open for reading
        // and writing.
        let place = unsafe {
            libc::mmap(
                ptr::null_mut(),
                count * BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if place == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let first = NonNull::new(place.cast());
        let first = first.ok_or_else(|| io::Error::other("mapped at address 0"))?;
        Ok(Self { first, count })
    }

    /// The numbers of the file.
    #[inline]
    pub fn numbers(&self) -> &[AtomicU64] {
        // SAFETY: the mapping has so many numbers and stays as long as self; pages are aligned for them, any
        // bytes are a value of them, and they are atomics, which others may change.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.count) }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: `map` made it, of this length, and nobody refers to it any more.
        unsafe { libc::munmap(self.first.as_ptr().cast(), self.count * BYTES) };
    }
}

/// What one owner has claimed of such a file, until it is dropped or its process ends, in whatever way.
#[derive(Debug)]
pub struct Claims(File);

impl Claims {
    /// Opens the file for one more owner, also within a process.
    pub fn open(path: &Path) -> io::Result<Self> {
        OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW)
            .open(path)
            .map(Self)
    }

    /// Maps the numbers of the same file, even if another file has taken its name in the meantime. `None` if the count
    /// of numbers is not in `counts`.
    pub fn map(&self, counts: RangeInclusive<usize>) -> io::Result<Option<Mapped>> {
        Mapped::of(&self.0, counts)
    }

    /// Whether `user` made it and nobody else may write to it: a process that may write could truncate it.
    pub fn is_private(&self, user: u32) -> io::Result<bool> {
        let metadata = self.0.metadata()?;
        Ok(metadata.uid() == user && metadata.mode() & 0o022 == 0)
    }

    /// Claims numbers by their places. Returns whether no other owner has one of them. Forked children have
    /// what their parent had.
    pub fn claim(&self, range: Range<usize>) -> bool {
        // SAFETY: plain numbers, which are filled in below.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = libc::F_WRLCK as libc::c_short;
        lock.l_whence = libc::SEEK_SET as libc::c_short;
        lock.l_start = (range.start * BYTES) as libc::off_t;
        lock.l_len = (range.len() * BYTES) as libc::off_t;
        // SAFETY: the descriptor is open, and the lock is filled in. It belongs to the open file, not to the
        // process, so that two of one process are two owners.
        unsafe { libc::fcntl(self.0.as_raw_fd(), libc::F_OFD_SETLK, &lock) == 0 }
    }
}

const BYTES: usize = size_of::<AtomicU64>();

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn what_one_writes_the_other_reads_and_claims_end_with_their_owner() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("numbers");
        let one = Mapped::create(&path, 1000).unwrap();
        assert!(Mapped::create(&path, 1000).is_err());
        let two = Mapped::open(&path, 1000).unwrap().unwrap();
        one.numbers()[999].store(7, Ordering::Relaxed);
        assert_eq!(two.numbers()[999].load(Ordering::Relaxed), 7);
        assert!(Mapped::open(&path, 999).unwrap().is_none());
        assert!(Mapped::open(&folder.path().join("none"), 1).is_err());

        let [one, two] = [(); 2].map(|()| Claims::open(&path).unwrap());
        assert!(one.claim(10..20));
        assert!(!two.claim(19..21) && two.claim(20..30));
        drop(one);
        assert!(two.claim(10..20));
    }

    #[test]
    fn what_is_claimed_is_what_is_mapped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("numbers");
        let first = Mapped::create(&path, 10).unwrap();
        let claims = Claims::open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        Mapped::create(&path, 10).unwrap();
        let mapped = claims.map(1..=10).unwrap().unwrap();
        first.numbers()[3].store(5, Ordering::Relaxed);
        assert_eq!(mapped.numbers()[3].load(Ordering::Relaxed), 5);
        assert!(claims.map(1..=9).unwrap().is_none());
        std::fs::write(&path, [0; 12]).unwrap();
        assert!(Claims::open(&path).unwrap().map(1..=9).unwrap().is_none());
        let user = crate::process::user();
        assert!(claims.is_private(user).unwrap() && !claims.is_private(user + 1).unwrap());
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o620);
        std::fs::set_permissions(&path, mode).unwrap();
        assert!(!Claims::open(&path).unwrap().is_private(user).unwrap());
    }
}
