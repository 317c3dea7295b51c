//! What went through the processes of one command, counted in a file that all of them map.
//!
//! ```text
//! 0   magic        8 bytes
//! 8   version      4    changes with the list of algorithms
//! 12  length       4    of the file
//! 16  processes    8    that opened it
//! 24  RSA          24   private operations made here, those of them that lanes made, and by another machine
//! 48  zero         16
//! 64  counters     by algorithm, direction and size class: requests 8, bytes 8
//! ```
//!
//! Numbers are in the machine's byte order, little-endian on all that Oarlock has kernels for; the file
//! never leaves its machine, and one in another order has another magic. Counters are relaxed atomics:
//! each is right by itself, and all are once the processes have ended.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::threads::mapped::Mapped;
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
pub struct Usage(Mapped);

/// What was counted so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Processes that opened the file; forked children that did not are none.
    pub processes: u64,
    /// What is not zero, by algorithm, direction and size.
    pub lines: Vec<CountedLine>,
    /// Private operations with RSA keys: signatures and decryptions.
    pub private_operations: PrivateOperations,
}

/// Private operations with RSA keys, by how they were computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrivateOperations {
    /// One by itself.
    pub alone: u64,
    /// In lanes: with others of this process or of other ones, and now and then one, to know what that takes.
    pub in_lanes: u64,
    /// By another machine.
    pub remotely: u64,
    /// Whose connection was closed while their job was paused (ASYNC_start_job(3)): OpenSSL keeps the job's stack.
    pub abandoned: u64,
}

/// What is counted of private operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Computed {
    /// One was computed on this machine.
    Here,
    /// One of those was computed in lanes: counted by the process that computes, beside [`Here`](Self::Here).
    InLanes,
    /// One was computed by another machine.
    Remotely,
    /// The job that one was for never went on.
    Abandoned,
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

impl Usage {
    /// Makes the file, for this user alone: a process that may write to it could truncate it, which
    /// kills the processes that map it.
    ///
    /// # Errors
    /// There is one of that name, or no file can be made there.
    pub fn create(path: &Path) -> io::Result<Self> {
        let made = Self(Mapped::create(path, NUMBERS)?);
        made.header()[VERSION_AND_LENGTH].store(version_and_length(), Ordering::Relaxed);
        made.header()[MAGIC].store(MAGIC_NUMBER, Ordering::Release);
        Ok(made)
    }

    /// Opens one that [`create`](Self::create) made, and counts this process.
    ///
    /// # Errors
    /// It cannot be opened for writing; or it is no such file, or one of another version:
    /// [`io::ErrorKind::InvalidData`].
    pub fn open(path: &Path) -> io::Result<Self> {
        let opened = Self(Mapped::open(path, NUMBERS)?.ok_or_else(not_ours)?);
        let header = opened.header();
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
        let [requests, counted] = self.counter(algorithm, direction, class.min(CLASSES - 1));
        requests.fetch_add(1, Ordering::Relaxed);
        counted.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Counts private operations with RSA keys.
    #[inline]
    pub fn record_private(&self, computed: Computed, count: u64) {
        self.header()[PRIVATE + computed as usize].fetch_add(count, Ordering::Relaxed);
    }

    /// What was counted so far, by every process.
    pub fn read(&self) -> Counted {
        let mut counted = Counted {
            processes: self.header()[PROCESSES].load(Ordering::Relaxed),
            lines: Vec::new(),
            private_operations: self.private_operations(),
        };
        for algorithm in Algorithm::ALL {
            for direction in [Direction::Encrypt, Direction::Decrypt] {
                for class in 0..CLASSES {
                    let [requests, bytes] = self.counter(*algorithm, direction, class);
                    let line = CountedLine {
                        algorithm: *algorithm,
                        direction,
                        requests: requests.load(Ordering::Relaxed),
                        bytes: bytes.load(Ordering::Relaxed),
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

    fn private_operations(&self) -> PrivateOperations {
        let count = |computed: Computed| {
            let counter = &self.header()[PRIVATE + computed as usize];
            counter.load(Ordering::Relaxed)
        };
        let in_lanes = count(Computed::InLanes);
        PrivateOperations {
            alone: count(Computed::Here).saturating_sub(in_lanes),
            in_lanes,
            remotely: count(Computed::Remotely),
            abandoned: count(Computed::Abandoned),
        }
    }

    fn header(&self) -> &[AtomicU64] {
        &self.0.numbers()[..HEADER]
    }

    /// Requests, and bytes of them.
    #[inline]
    fn counter(&self, algorithm: Algorithm, direction: Direction, class: usize) -> [&AtomicU64; 2] {
        let row = 2 * algorithm as usize + direction as usize;
        let at = HEADER + 2 * (CLASSES * row + class);
        let numbers = self.0.numbers();
        [&numbers[at], &numbers[at + 1]]
    }
}

fn not_ours() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "no file of counters, or one of another version of Oarlock",
    )
}

fn version_and_length() -> u64 {
    let bytes = (NUMBERS * size_of::<AtomicU64>()) as u64;
    u64::from(VERSION) | bytes << 32
}

const MAGIC_NUMBER: u64 = u64::from_le_bytes(*b"oarlock\x01");
/// To be raised when an algorithm takes another's place in the list.
const VERSION: u32 = 1;
const MAGIC: usize = 0;
const VERSION_AND_LENGTH: usize = 1;
const PROCESSES: usize = 2;
/// The first of four.
const PRIVATE: usize = 3;
/// In numbers, as are all that follow.
const HEADER: usize = 8;
const NUMBERS: usize = HEADER + Algorithm::ALL.len() * 2 * CLASSES * 2;
/// None, 1, 2 to 3, 4 to 7 ... and from 2^30 on.
const CLASSES: usize = 32;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn private_operations_are_counted_by_how_they_were_computed() {
        let folder = tempfile::tempdir().unwrap();
        let usage = Usage::create(&folder.path().join("usage")).unwrap();
        for (computed, times) in [
            (Computed::Here, 3),
            (Computed::InLanes, 2),
            (Computed::Remotely, 3),
            (Computed::Abandoned, 4),
        ] {
            usage.record_private(computed, times);
        }
        let counted = usage.read();
        let expected = PrivateOperations {
            alone: 1,
            in_lanes: 2,
            remotely: 3,
            abandoned: 4,
        };
        assert_eq!(counted.private_operations, expected);
        assert!(counted.lines.is_empty());
    }

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
