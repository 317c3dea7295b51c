//! Counts of the requests of one command's processes, in a file that all of them map.
//!
//! ```text
//! header       magic, version and length; processes that opened the file, and children of them that counted something
//!              RSA: private operations made here, those of them that lanes made, by another machine, and abandoned;
//!              nanoseconds that lanes saved, signed
//!              libraries 0: none yet, 1: several, or one that has no file; else a hash of the name of the only one
//!              the file of libcrypto, 512 bytes, ended by a zero
//! events       by algorithm and direction: contexts that were given a key, IVs without a key, copies
//! requests     by algorithm, direction and size class: requests, bytes
//! operations   by primitive: how often each of what it does was done
//! ```
//!
//! All but the file's name are 8-byte numbers in the machine's byte order, little-endian on all machines that Oarlock has
//! kernels for. The file never leaves its machine, and the other byte order has another magic. Counters are relaxed
//! atomics: each is right by itself, and all are consistent once the processes have ended.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::costs::performed::Performed;
use crate::costs::rows::{ALGORITHM_ROWS, row};
use crate::work::algorithm::{Algorithm, Direction};
use crate::work::primitive::Primitive;
use oarlock_threads::mapped::{Mapped, put_text, text};
use oarlock_threads::process;

/// Counters of requests in a file that all processes of a command share.
///
/// ```
/// use oarlock::Algorithm;
/// use oarlock::Direction;
/// use oarlock_engine::costs::Usage;
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
pub struct Usage {
    mapped: Mapped,
    /// The fork generation, plus one, in which this process was counted; 0 if it does not count itself.
    counted: AtomicUsize,
}

/// A snapshot of the counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Processes that opened the file, and their forked children that counted something.
    pub processes: u64,
    /// Counters above zero, by algorithm, direction and size class.
    pub lines: Vec<CountedLine>,
    /// Private operations with RSA keys: signatures and decryptions.
    pub private_operations: PrivateOperations,
    /// Events of contexts, by algorithm and direction, without rows of zeros.
    pub contexts: Vec<CountedContexts>,
    /// Operations of primitives, without rows of zeros. Those of a primitive follow each other.
    pub operations: Vec<CountedOperations>,
    /// The libcrypto of the processes, if all use the same file.
    pub library: Option<PathBuf>,
}

/// One operation of one primitive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedOperations {
    /// The primitive.
    pub primitive: Primitive,
    /// The operation.
    pub performed: Performed,
    /// The number of operations.
    pub count: u64,
}

/// Events of contexts of one algorithm in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedContexts {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The direction.
    pub direction: Direction,
    /// Contexts that got a key, which are usually new.
    pub keyed: u64,
    /// IVs set without a key.
    pub ivs: u64,
    /// Copies of contexts.
    pub copies: u64,
}

/// A counted event of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContextEvent {
    /// It got a key.
    Keyed,
    /// It got an IV without a key.
    Iv,
    /// It was copied.
    Copied,
}

/// Counts of private operations with RSA keys, by how they were computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrivateOperations {
    /// Operations computed alone.
    pub alone: u64,
    /// Operations in lanes, batched with others of this or other processes. A few run in lanes alone, to measure their
    /// time.
    pub in_lanes: u64,
    /// Operations computed by another machine.
    pub remotely: u64,
    /// Operations whose connection closed while their job was paused (ASYNC_start_job(3)). OpenSSL keeps the job's
    /// stack.
    pub abandoned: u64,
    /// Nanoseconds that lanes saved over the same operations alone, by times measured in the process itself.
    pub saved_ns: i64,
}

/// A counted event of private operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Computed {
    /// An operation was computed on this machine.
    Here,
    /// An operation was computed in lanes. The computing process counts it in addition to [`Here`](Self::Here).
    InLanes,
    /// An operation was computed by another machine.
    Remotely,
    /// An operation's job was never resumed.
    Abandoned,
}

/// Requests of one algorithm, direction and size class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedLine {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The direction.
    pub direction: Direction,
    /// Requests.
    pub requests: u64,
    /// Bytes of all requests.
    pub bytes: u64,
    class: usize,
}

impl CountedLine {
    /// Returns the least length of a request in this class: 0, or a power of two from 1 to 2^30. Each class but the
    /// last ends below twice that.
    pub fn size_class(&self) -> u64 {
        match self.class {
            0 => 0,
            class => 1 << (class - 1),
        }
    }
}

impl Usage {
    /// Creates the file with access for this user alone: a process that can write to it could truncate it, which would
    /// kill the processes that map it.
    ///
    /// # Errors
    /// The file exists or cannot be created.
    pub fn create(path: &Path) -> io::Result<Self> {
        let made = Self {
            mapped: Mapped::create(path, NUMBERS)?,
            counted: AtomicUsize::new(0),
        };
        made.header()[VERSION_AND_LENGTH].store(version_and_length(), Ordering::Relaxed);
        made.header()[MAGIC].store(MAGIC_NUMBER, Ordering::Release);
        Ok(made)
    }

    /// Opens a file that [`create`](Self::create) made, and counts this process.
    ///
    /// # Errors
    /// The file cannot be opened for writing. [`io::ErrorKind::InvalidData`]: it is no such file or has another
    /// version.
    pub fn open(path: &Path) -> io::Result<Self> {
        process::watch_forks();
        let opened = Self {
            mapped: Mapped::open(path, NUMBERS)?.ok_or_else(not_ours)?,
            counted: AtomicUsize::new(process::fork_generation() + 1),
        };
        let header = opened.header();
        if header[MAGIC].load(Ordering::Acquire) != MAGIC_NUMBER
            || header[VERSION_AND_LENGTH].load(Ordering::Relaxed) != version_and_length()
        {
            return Err(not_ours());
        }
        header[PROCESSES].fetch_add(1, Ordering::Relaxed);
        Ok(opened)
    }

    /// Records the libcrypto of this process, by file, or `None` if it has no name.
    pub fn record_library(&self, file: Option<&Path>) {
        let name = file.map_or(&[][..], |file| file.as_os_str().as_bytes());
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        let hash = match !name.is_empty() && name.len() < 8 * LIBRARY {
            true => hasher.finish() | NAMED,
            false => MORE_LIBRARIES,
        };
        let (state, order) = (&self.header()[LIBRARIES], Ordering::Relaxed);
        match state.compare_exchange(NO_LIBRARY, hash, order, order) {
            // Processes with the same library write the same bytes.
            Ok(_) => {}
            Err(other) if other == hash => {}
            Err(_) => return state.store(MORE_LIBRARIES, order),
        }
        put_text(&self.header()[HEADER_START..], name);
    }

    /// Counts this process if it was forked since the file was opened.
    #[inline]
    fn count_process(&self) {
        let now = process::fork_generation() + 1;
        let counted = self.counted.load(Ordering::Relaxed);
        if counted != now && counted != 0 && self.counted.swap(now, Ordering::Relaxed) != now {
            self.header()[PROCESSES].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts an event of a context, by one atomic addition.
    #[inline]
    pub fn record_context(&self, algorithm: Algorithm, direction: Direction, event: ContextEvent) {
        self.count_process();
        EVENTS.row(&self.mapped, row(algorithm, direction))[event as usize]
            .fetch_add(1, Ordering::Relaxed);
    }

    /// Adds to the time that lanes saved, which may be negative.
    pub fn record_saved(&self, ns: i64) {
        // Two's complement makes the wrapping addition signed.
        self.header()[SAVED].fetch_add(ns as u64, Ordering::Relaxed);
    }

    /// Counts a request of `bytes` bytes, by two atomic additions.
    #[inline]
    pub fn record(&self, algorithm: Algorithm, direction: Direction, bytes: usize) {
        self.count_process();
        let class = (usize::BITS - bytes.leading_zeros()) as usize;
        let row = CLASSES * row(algorithm, direction) + class.min(CLASSES - 1);
        let [requests, counted] = REQUESTS.row(&self.mapped, row);
        requests.fetch_add(1, Ordering::Relaxed);
        counted.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Counts private operations with RSA keys.
    #[inline]
    pub fn record_private(&self, computed: Computed, count: u64) {
        self.count_process();
        self.header()[PRIVATE + computed as usize].fetch_add(count, Ordering::Relaxed);
    }

    /// Counts an operation of a primitive. One atomic addition.
    #[inline]
    pub fn record_operation(&self, primitive: Primitive, performed: Performed) {
        self.count_process();
        OPERATIONS.row(&self.mapped, primitive as usize)[performed as usize]
            .fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the counts of all processes so far.
    pub fn read(&self) -> Counted {
        let mut counted = Counted {
            processes: self.header()[PROCESSES].load(Ordering::Relaxed),
            private_operations: self.private_operations(),
            library: self.library(),
            ..Counted::default()
        };
        for &algorithm in Algorithm::ALL {
            for direction in [Direction::Encrypt, Direction::Decrypt] {
                let row = row(algorithm, direction);
                let [keyed, ivs, copies] = EVENTS.read(&self.mapped, row);
                if keyed + ivs + copies > 0 {
                    counted.contexts.push(CountedContexts {
                        algorithm,
                        direction,
                        keyed,
                        ivs,
                        copies,
                    });
                }
                for class in 0..CLASSES {
                    let [requests, bytes] = REQUESTS.read(&self.mapped, CLASSES * row + class);
                    if requests > 0 {
                        counted.lines.push(CountedLine {
                            algorithm,
                            direction,
                            requests,
                            bytes,
                            class,
                        });
                    }
                }
            }
        }
        for &primitive in Primitive::ALL {
            let counts = OPERATIONS.read(&self.mapped, primitive as usize);
            let all = Performed::ALL.into_iter().zip(counts);
            let some = all.filter(|(_, count)| *count > 0);
            counted
                .operations
                .extend(some.map(|(performed, count)| CountedOperations {
                    primitive,
                    performed,
                    count,
                }));
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
            saved_ns: self.header()[SAVED].load(Ordering::Relaxed) as i64,
        }
    }

    fn library(&self) -> Option<PathBuf> {
        let header = self.header();
        if header[LIBRARIES].load(Ordering::Relaxed) & NAMED == 0 {
            return None;
        }
        let name = text(&header[HEADER_START..]);
        Some(PathBuf::from(std::ffi::OsString::from_vec(name)))
    }

    fn header(&self) -> &[AtomicU64] {
        &self.mapped.numbers()[..HEADER]
    }
}

/// Rows of counters, and the place of the first.
struct Table<const COLUMNS: usize>(usize);

impl<const COLUMNS: usize> Table<COLUMNS> {
    /// Returns the place behind the table.
    const fn end(&self, rows: usize) -> usize {
        self.0 + COLUMNS * rows
    }

    #[inline]
    fn row<'a>(&self, file: &'a Mapped, row: usize) -> &'a [AtomicU64; COLUMNS] {
        &file.numbers()[self.0..].as_chunks().0[row]
    }

    fn read(&self, file: &Mapped, row: usize) -> [u64; COLUMNS] {
        self.row(file, row)
            .each_ref()
            .map(|it| it.load(Ordering::Relaxed))
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
/// The version of the format: raise it when an algorithm or a primitive takes another's place in the list.
const VERSION: u32 = 4;
const MAGIC: usize = 0;
const VERSION_AND_LENGTH: usize = 1;
const PROCESSES: usize = 2;
/// The first of four counters.
const PRIVATE: usize = 3;
const SAVED: usize = 7;
const LIBRARIES: usize = 8;
const NO_LIBRARY: u64 = 0;
const MORE_LIBRARIES: u64 = 1;
/// Set in every hash of a library's name.
const NAMED: u64 = 2;
/// This and the offsets below are in 8-byte numbers.
const HEADER_START: usize = 9;
const LIBRARY: usize = 64;
const HEADER: usize = HEADER_START + LIBRARY;
/// By algorithm and direction, in the order of [`ContextEvent`].
const EVENTS: Table<3> = Table(HEADER);
/// By algorithm, direction and size class.
const REQUESTS: Table<2> = Table(EVENTS.end(ALGORITHM_ROWS));
/// By primitive.
const OPERATIONS: Table<{ Performed::ALL.len() }> = Table(REQUESTS.end(ALGORITHM_ROWS * CLASSES));
const NUMBERS: usize = OPERATIONS.end(Primitive::ALL.len());
/// The size classes: 0 bytes, 1, 2 to 3, 4 to 7 and so on, and from 2^30 on.
const CLASSES: usize = 32;

#[cfg(test)]
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
        // Lanes may also lose time.
        usage.record_saved(300);
        usage.record_saved(-1000);
        let counted = usage.read();
        let expected = PrivateOperations {
            alone: 1,
            in_lanes: 2,
            remotely: 3,
            abandoned: 4,
            saved_ns: -700,
        };
        assert_eq!(counted.private_operations, expected);
        assert!(counted.lines.is_empty());
    }

    #[test]
    fn operations_are_counted_by_primitive() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("usage");
        let usage = Usage::create(&path).unwrap();
        assert!(usage.read().operations.is_empty());
        let theirs = Usage::open(&path).unwrap();
        // Each has its own count, so that no two can share a counter unnoticed.
        let all = Primitive::ALL
            .iter()
            .flat_map(|primitive| Performed::ALL.map(|performed| (*primitive, performed)));
        for (at, (primitive, performed)) in all.clone().enumerate() {
            for _ in 0..=at {
                theirs.record_operation(primitive, performed);
            }
        }
        let counted = usage.read();
        let times = |primitive, performed| {
            let mut all = all.clone();
            all.position(|it| it == (primitive, performed)).unwrap() as u64 + 1
        };
        assert_eq!(counted.operations.len(), all.clone().count());
        for it in &counted.operations {
            assert_eq!(it.count, times(it.primitive, it.performed));
        }
        assert!(counted.lines.is_empty() && counted.contexts.is_empty());
    }

    #[test]
    fn what_is_done_with_contexts_is_counted_apart() {
        let folder = tempfile::tempdir().unwrap();
        let usage = Usage::create(&folder.path().join("usage")).unwrap();
        let (gcm, cbc) = (Algorithm::Aes128Gcm, Algorithm::Aes256Cbc);
        let (encrypt, decrypt) = (Direction::Encrypt, Direction::Decrypt);
        usage.record_context(gcm, encrypt, ContextEvent::Keyed);
        usage.record_context(gcm, encrypt, ContextEvent::Iv);
        usage.record_context(gcm, encrypt, ContextEvent::Iv);
        usage.record_context(cbc, decrypt, ContextEvent::Copied);
        let counted = usage.read();
        assert!(counted.lines.is_empty());
        let mut found: Vec<_> = counted
            .contexts
            .iter()
            .map(|it| (it.algorithm, it.direction, it.keyed, it.ivs, it.copies))
            .collect();
        found.sort_by_key(|it| it.0 == cbc);
        assert_eq!(found, [(gcm, encrypt, 1, 2, 0), (cbc, decrypt, 0, 0, 1)]);
    }

    #[test]
    fn a_library_is_named_if_all_have_the_same_one_and_it_has_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (Path::new("/usr/lib/libcrypto.so.3"), Path::new("/opt/x"));
        let long = PathBuf::from("/".repeat(600));
        for (number, (files, expected)) in [
            (vec![], None),
            (vec![Some(one)], Some(one)),
            (vec![Some(one), Some(one)], Some(one)),
            (vec![Some(one), Some(other)], None),
            (vec![Some(one), None], None),
            (vec![None, Some(one)], None),
            (vec![Some(&*long)], None),
        ]
        .into_iter()
        .enumerate()
        {
            let path = folder.path().join(number.to_string());
            let usage = Usage::create(&path).unwrap();
            for file in files {
                usage.record_library(file);
            }
            assert_eq!(usage.read().library.as_deref(), expected, "{number}");
        }
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
