//! What went through the processes of one command, counted in a file that all of them map.
//!
//! ```text
//! 0   magic        8 bytes
//! 8   version      4    changes with the list of algorithms
//! 12  length       4    of the file
//! 16  processes    8    that opened it
//! 24  zero         40
//! 64  counters     by algorithm, direction and size class: requests 8, bytes 8
//! ```
//!
//! Numbers are in the machine's byte order, little-endian on all that Oarlock has kernels for; the file
//! never leaves its machine, and one in another order has another magic. Counters are relaxed atomics:
//! each is right by itself, and all are once the processes have ended.
#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::work::algorithm::{Algorithm, Direction};

/// Counters of requests that all processes of a command share, in a file.
///
/// ```
/// use oarlock::Algorithm;
/// use oarlock::Direction;
/// use oarlock::costs::Usage;
///
/// let path = std::env::temp_dir().join(format!("usage-{}", std::process::id()));
/// let ours = Usage::create(&path)?;
/// let theirs = Usage::open(&path)?; // in another process
/// theirs.record(Algorithm::Aes128Ctr, Direction::Encrypt, 5000);
///
/// let counted = ours.read();
/// assert_eq!(counted.processes, 1);
/// assert_eq!(counted.lines[0].size_class(), 4096);
/// assert_eq!(counted.lines[0].bytes, 5000);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Usage(NonNull<Layout>);

/// What was counted so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Processes that opened the file; forked children that did not are none.
    pub processes: u64,
    /// What is not zero, by algorithm, direction and size.
    pub lines: Vec<CountedLine>,
}

/// Requests of one algorithm, direction and size class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedLine {
    /// Of which algorithm.
    pub algorithm: Algorithm,
    /// Which way.
    pub direction: Direction,
    /// Requests.
    pub requests: u64,
    /// Bytes of all of them.
    pub bytes: u64,
    class: usize,
}

impl CountedLine {
    /// The least bytes of a request that counts here: a power of two, from 1 to 2^30, and 0 for those
    /// without any. Requests are shorter than twice that, but for the last class.
    pub fn size_class(&self) -> u64 {
        match self.class {
            0 => 0,
            class => 1 << (class - 1),
        }
    }
}

// SAFETY: it is a shared mapping of atomics, which any thread may touch, and which goes with the last
// reference.
unsafe impl Send for Usage {}
// SAFETY: through a shared reference, too, there is nothing but the mapping's atomics to be touched.
unsafe impl Sync for Usage {}

impl Usage {
    /// Makes the file, for this user alone: a process that may write to it could truncate it, which
    /// kills the processes that map it.
    ///
    /// # Errors
    /// There is one of that name, or no file can be made there.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        // Written, not left as a hole: a full disk is told here, and not by a signal later.
        file.write_all(&vec![0; LENGTH])?;
        let made = Self::map(&file)?;
        let header = &made.layout().header;
        header[VERSION_AND_LENGTH].store(version_and_length(), Ordering::Relaxed);
        header[MAGIC].store(MAGIC_NUMBER, Ordering::Release);
        Ok(made)
    }

    /// Opens one that [`create`](Self::create) made, and counts this process.
    ///
    /// # Errors
    /// It cannot be opened for writing; or it is no such file, or one of another version:
    /// [`io::ErrorKind::InvalidData`].
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW)
            .open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() || metadata.len() != LENGTH as u64 {
            return Err(not_ours());
        }
        let opened = Self::map(&file)?;
        let header = &opened.layout().header;
        if header[MAGIC].load(Ordering::Acquire) != MAGIC_NUMBER
            || header[VERSION_AND_LENGTH].load(Ordering::Relaxed) != version_and_length()
        {
            return Err(not_ours());
        }
        header[PROCESSES].fetch_add(1, Ordering::Relaxed);
        Ok(opened)
    }

    /// Counts a request of `bytes` bytes. Two atomic additions.
    #[inline]
    pub fn record(&self, algorithm: Algorithm, direction: Direction, bytes: usize) {
        let class = (usize::BITS - bytes.leading_zeros()) as usize;
        let counter =
            &self.layout().counters[algorithm as usize][direction as usize][class.min(CLASSES - 1)];
        counter.requests.fetch_add(1, Ordering::Relaxed);
        counter.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// What was counted so far, by every process.
    pub fn read(&self) -> Counted {
        let layout = self.layout();
        let mut counted = Counted {
            processes: layout.header[PROCESSES].load(Ordering::Relaxed),
            lines: Vec::new(),
        };
        for algorithm in Algorithm::ALL {
            for direction in [Direction::Encrypt, Direction::Decrypt] {
                let classes = &layout.counters[*algorithm as usize][direction as usize];
                for (class, counter) in classes.iter().enumerate() {
                    let line = CountedLine {
                        algorithm: *algorithm,
                        direction,
                        requests: counter.requests.load(Ordering::Relaxed),
                        bytes: counter.bytes.load(Ordering::Relaxed),
                        class,
                    };
                    if line.requests > 0 {
                        counted.lines.push(line);
                    }
                }
            }
        }
        counted
    }

    /// `file` has the length of the layout.
    fn map(file: &File) -> io::Result<Self> {
        // SAFETY: a new shared mapping wherever the kernel likes, of a file that is open for reading
        // and writing.
        let place = unsafe {
            libc::mmap(
                ptr::null_mut(),
                LENGTH,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if place == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        NonNull::new(place.cast())
            .map(Self)
            .ok_or_else(|| io::Error::other("mapped at address 0"))
    }

    fn layout(&self) -> &Layout {
        // SAFETY: the mapping is as long as the layout and stays as long as self; pages are aligned for
        // it; any bytes are a value of it, and it is made of atomics alone, which others may change.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Usage {
    fn drop(&mut self) {
        // SAFETY: `map` made it, of this length, and nobody refers to it any more.
        unsafe { libc::munmap(self.0.as_ptr().cast(), LENGTH) };
    }
}

/// What the file holds.
#[repr(C)]
struct Layout {
    header: [AtomicU64; 8],
    counters: [[[Counter; CLASSES]; 2]; Algorithm::ALL.len()],
}

#[repr(C)]
struct Counter {
    requests: AtomicU64,
    bytes: AtomicU64,
}

fn not_ours() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "no file of counters, or one of another version of Oarlock",
    )
}

fn version_and_length() -> u64 {
    u64::from(VERSION) | (LENGTH as u64) << 32
}

const MAGIC_NUMBER: u64 = u64::from_le_bytes(*b"oarlock\x01");
/// To be raised when an algorithm takes another's place in the list.
const VERSION: u32 = 1;
const MAGIC: usize = 0;
const VERSION_AND_LENGTH: usize = 1;
const PROCESSES: usize = 2;
const LENGTH: usize = size_of::<Layout>();
/// None, 1, 2 to 3, 4 to 7 ... and from 2^30 on.
const CLASSES: usize = 32;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_counted_in_their_classes() {
        let folder = tempfile::tempdir().unwrap();
        let usage = Usage::create(&folder.path().join("usage")).unwrap();
        let algorithm = Algorithm::Aes256Gcm;
        let sizes = [0, 1, 2, 3, 4, 4095, 4096, 8191, 1 << 30, (1 << 40) + 1];
        for bytes in sizes {
            usage.record(algorithm, Direction::Decrypt, bytes);
        }
        let counted = usage.read();
        assert_eq!(counted.processes, 0);
        let lines: Vec<_> = counted
            .lines
            .iter()
            .map(|line| (line.size_class(), line.requests, line.bytes))
            .collect();
        let expected = [
            (0, 1, 0),
            (1, 1, 1),
            (2, 2, 5),
            (4, 1, 4),
            (2048, 1, 4095),
            (4096, 2, 4096 + 8191),
            (1 << 30, 2, (1 << 30) + (1 << 40) + 1),
        ];
        assert_eq!(lines, expected);
        let is_that = |line: &CountedLine| {
            (line.algorithm, line.direction) == (algorithm, Direction::Decrypt)
        };
        assert!(counted.lines.iter().all(is_that));
    }

    #[test]
    fn every_operation_has_counters_of_its_own_and_threads_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("usage");
        let usage = Usage::create(&path).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let usage = Usage::open(&path).unwrap();
                    for (number, algorithm) in Algorithm::ALL.iter().enumerate() {
                        for direction in [Direction::Encrypt, Direction::Decrypt] {
                            for _ in 0..1000 {
                                usage.record(*algorithm, direction, 64 + number);
                            }
                        }
                    }
                });
            }
        });
        let counted = usage.read();
        assert_eq!(counted.processes, 2);
        assert_eq!(counted.lines.len(), 2 * Algorithm::ALL.len());
        for line in counted.lines {
            let bytes = 64 + line.algorithm as u64;
            assert_eq!((line.requests, line.bytes), (2000, 2000 * bytes));
        }
    }

    #[test]
    fn the_file_is_its_users_alone_and_the_first_of_its_name() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("usage");
        let _usage = Usage::create(&path).unwrap();
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let twice = Usage::create(&path).unwrap_err();
        assert_eq!(twice.kind(), io::ErrorKind::AlreadyExists);
    }

    #[test]
    fn other_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("usage");
        drop(Usage::create(&path).unwrap());
        let right = std::fs::read(&path).unwrap();
        let changed = |at: usize| {
            let mut bytes = right.clone();
            bytes[at] ^= 1;
            bytes
        };
        let longer = [&right[..], b"x"].concat();
        for bytes in [
            vec![],
            right[..right.len() - 1].to_vec(),
            longer,
            changed(0),
            changed(8),
            changed(12),
            vec![0; right.len()],
        ] {
            std::fs::write(&path, bytes).unwrap();
            let error = Usage::open(&path).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        }
        std::fs::write(&path, &right).unwrap();
        assert!(Usage::open(&path).is_ok());
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(Usage::open(&link).is_err(), "links are not followed");
        assert!(Usage::open(folder.path()).is_err());
        let missing = Usage::open(&folder.path().join("none")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
