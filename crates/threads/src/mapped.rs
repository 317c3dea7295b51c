//! Memory that processes share: a file of 64-bit numbers that each of them maps.
//!
//! Numbers are in the machine's byte order, as such a file never leaves its machine. They are atomics, since any process
//! that maps the file may change any of them at any time: treat what is read here like any other input.
#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::ops::Range;
use std::ops::RangeInclusive;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

/// A mapped file of fixed length. It keeps no descriptor open, since a host might close it.
#[derive(Debug)]
pub struct Mapped {
    first: NonNull<AtomicU64>,
    count: usize,
}

// SAFETY: it is a shared mapping of atomics, which any thread may access, and which is unmapped with the last reference.
unsafe impl Send for Mapped {}
// SAFETY: a shared reference also gives access to nothing but the mapping's atomics.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// Creates a file of `count` zeros that only this user may access: another process that may write to it could truncate
    /// it, which kills the processes that map it.
    ///
    /// # Errors
    /// A file of that name exists, or none can be created there.
    pub fn create(path: &Path, count: usize) -> io::Result<Self> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        // Written, not left as a hole: a full disk is reported here, and not by a signal later. In pieces from the stack: a
        // host near its memory limit must not end because of it.
        io::copy(&mut io::repeat(0).take((count * BYTES) as u64), &mut file)?;
        Self::map(&file, count)
    }

    /// Maps a file that [`create`](Self::create) made. `None` if there is no file of `count` numbers.
    ///
    /// # Errors
    /// The file cannot be opened for writing.
    pub fn open(path: &Path, count: usize) -> io::Result<Option<Self>> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW)
            .open(path)?;
        Self::of(&file, count..=count)
    }

    /// Maps an open file if its count of numbers is in `counts`.
    fn of(file: &File, counts: RangeInclusive<usize>) -> io::Result<Option<Self>> {
        let metadata = file.metadata()?;
        let bytes = usize::try_from(metadata.len()).unwrap_or(usize::MAX);
        let count = bytes / BYTES;
        if !metadata.is_file() || bytes % BYTES != 0 || !counts.contains(&count) {
            return Ok(None);
        }
        Self::map(file, count).map(Some)
    }

    /// Maps `file`, which has that length.
    fn map(file: &File, count: usize) -> io::Result<Self> {
        // SAFETY: a new shared mapping at an address that the kernel chooses, of a file that is open for reading and
        // writing.
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
        // SAFETY: the mapping holds `count` numbers and lives as long as self; pages are aligned for them, any bytes are
        // valid values, and they are atomics, which other processes may change.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.count) }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: `map` created it with this length, and no reference to it is left.
        unsafe { libc::munmap(self.first.as_ptr().cast(), self.count * BYTES) };
    }
}

/// Stores `text` in `place`, truncated or padded with zeros.
pub fn put_text(place: &[AtomicU64], text: &[u8]) {
    let mut pieces = text.chunks(BYTES);
    for number in place {
        let mut eight = [0; BYTES];
        let piece = pieces.next().unwrap_or_default();
        eight[..piece.len()].copy_from_slice(piece);
        number.store(u64::from_le_bytes(eight), Ordering::Relaxed);
    }
}

/// Returns the text in `place`, up to the first zero.
pub fn text(place: &[AtomicU64]) -> Vec<u8> {
    let bytes = place.iter();
    let bytes = bytes.flat_map(|number| number.load(Ordering::Relaxed).to_le_bytes());
    bytes.take_while(|byte| *byte != 0).collect()
}

/// The parts of such a file that one owner has claimed, until it is dropped or its process ends in any way.
#[derive(Debug)]
pub struct Claims(File);

impl Claims {
    /// Opens the file for another owner, which may be in the same process.
    pub fn open(path: &Path) -> io::Result<Self> {
        OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW)
            .open(path)
            .map(Self)
    }

    /// Maps the numbers of the same file, even if another file has taken its name since. `None` if the count of numbers is
    /// not in `counts`.
    pub fn map(&self, counts: RangeInclusive<usize>) -> io::Result<Option<Mapped>> {
        Mapped::of(&self.0, counts)
    }

    /// Whether the file belongs to `user` and nobody else may write to it: a process that may write could truncate it.
    pub fn is_private(&self, user: u32) -> io::Result<bool> {
        let metadata = self.0.metadata()?;
        Ok(metadata.uid() == user && metadata.mode() & 0o022 == 0)
    }

    /// Claims the numbers at these indices. Returns false if another owner holds one of them. Forked children share the
    /// claims of their parent.
    pub fn claim(&self, range: Range<usize>) -> bool {
        // SAFETY: plain numbers, which are filled in below.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = libc::F_WRLCK as libc::c_short;
        lock.l_whence = libc::SEEK_SET as libc::c_short;
        lock.l_start = (range.start * BYTES) as libc::off_t;
        lock.l_len = (range.len() * BYTES) as libc::off_t;
        // SAFETY: the descriptor is open, and the lock is filled in. The lock belongs to the open file, not to the process,
        // so two in one process are two owners.
        unsafe { libc::fcntl(self.0.as_raw_fd(), libc::F_OFD_SETLK, &lock) == 0 }
    }
}

const BYTES: usize = size_of::<AtomicU64>();

#[cfg(test)]
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
        put_text(&one.numbers()[..2], b"more than sixteen bytes");
        assert_eq!(text(&two.numbers()[..2]), b"more than sixtee");
        put_text(&one.numbers()[..2], b"fewer");
        assert_eq!(text(&two.numbers()[..2]), b"fewer");
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
