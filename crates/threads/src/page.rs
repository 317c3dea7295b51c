//! Counters of this process in a file that others may read while it runs. A process and the children that it forks share one
//! file, since a child in a sandbox could open none.
//!
//! ```text
//! 0     header   magic 8, version and length 8, process 8, boot time 8, namespace 8, members 8, gauges
//! 128   texts    program 32, address 64
//! 256   devices  DEVICES of 128 bytes: name 32, state 8, counters
//! 2304  seats    SEATS: process 8, boot time 8, requests and bytes by row
//! ```
//!
//! A seat belongs to one thread, which adds without a locked instruction: a load, an addition and a store, in a cache line
//! that no other thread writes to. The last seat is shared, with locked additions, by all threads that find none free. A
//! seat keeps its counts when its thread ends, for the next thread of its process. A seat of a process that has ended is
//! cleared and goes to another process.
//!
//! The process leaves its file behind: by the time it ends it may have confined itself, and a filter of system calls may
//! kill a process that removes a file, or that asks whether others that count in it still run. OpenSSH's kills for both. The
//! next process that looks at the folder removes the file (`costs::published`).
#![allow(unsafe_code)]
#![allow(missing_docs)] // a layout, drawn above: the names say what is where

use std::cell::Cell;
use std::io;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use super::mapped::{Mapped, put_text, text};
use super::process::{self, Youngest};

/// The contents of the file. It consists of atomics only, so any bytes are a valid value.
#[repr(C)]
pub struct Page {
    pub magic: AtomicU64,
    pub version_and_length: AtomicU64,
    pub process: AtomicU64,
    pub began_ns: AtomicU64,
    pub namespace: AtomicU64,
    _unused: AtomicU64,
    pub gauges: [AtomicU64; Gauge::COUNT],
    _reserved: [AtomicU64; 8 - Gauge::COUNT],
    pub youngest: Youngest,
    pub program: [AtomicU64; PROGRAM_BYTES / 8],
    pub address: [AtomicU64; ADDRESS_BYTES / 8],
    _reserved_too: [AtomicU64; 4],
    pub devices: [DevicePage; DEVICES],
    /// The last one is shared.
    pub seats: [Seat; SEATS],
}

/// A figure of the whole process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Gauge {
    /// Public-key requests that were computed alone, those computed in groups, the groups, and wrong results.
    Alone,
    InGroups,
    Groups,
    Faults,
    /// Jobs and requests of a framework: those that wait, and those in progress.
    Waiting,
    InFlight,
    /// Requests that were refused because a queue was full.
    Refused,
    /// OpenSSL jobs that were paused and never resumed.
    Abandoned,
}

impl Gauge {
    pub const COUNT: usize = 8;
}

/// The state and counters of a device.
#[repr(C)]
pub struct DevicePage {
    pub name: [AtomicU64; NAME_BYTES / 8],
    /// 0 if no device has this entry.
    pub state: AtomicU64,
    pub figures: [AtomicU64; DeviceFigure::COUNT],
    _reserved: [AtomicU64; 11 - DeviceFigure::COUNT],
}

/// A figure of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum DeviceFigure {
    Given,
    Done,
    Failed,
    Stalled,
    Late,
    Breaches,
    Opened,
    Bytes,
    InFlight,
}

impl DeviceFigure {
    pub const COUNT: usize = 9;
}

/// Counters of one thread.
#[repr(C)]
pub struct Seat {
    /// 0 if the seat is free for any process. [`TAKEN`] is set while its thread lives.
    pub process: AtomicU64,
    pub began_ns: AtomicU64,
    _reserved: [AtomicU64; 6],
    /// By operation and direction.
    pub rows: [Counter; ROWS],
}

#[repr(C)]
pub struct Counter {
    pub requests: AtomicU64,
    pub bytes: AtomicU64,
}

impl Seat {
    /// Clears the seat for a thread of `process`, which has taken it.
    fn begin(&self, process: u64) {
        for cell in &self.rows {
            cell.requests.store(0, Ordering::Relaxed);
            cell.bytes.store(0, Ordering::Relaxed);
        }
        self.began_ns
            .store(process::boot_time_ns(), Ordering::Relaxed);
        self.process.store(process | TAKEN, Ordering::Release);
    }
}

impl Page {
    /// Creates the file, readable by this user only, and counts in it from now on. If this process has a page already,
    /// returns that one, wherever it is.
    ///
    /// # Errors
    /// No file can be created there.
    pub fn publish(path: &Path, namespace: u64) -> io::Result<&'static Self> {
        if let Some(page) = Self::current() {
            return Ok(page);
        }
        process::watch_forks();
        let mapped = Self::create(path, namespace)?;
        let place = mapped.numbers().as_ptr().cast_mut().cast();
        let before =
            PAGE.compare_exchange(ptr::null_mut(), place, Ordering::AcqRel, Ordering::Acquire);
        match before {
            // It stays mapped from now on.
            Ok(_) => std::mem::forget(mapped),
            // Another thread was faster. Its file is used; this one is removed.
            Err(_) => drop(std::fs::remove_file(path)),
        }
        let page = Self::current().ok_or_else(|| io::Error::other("no page"))?;
        process::note_children(&page.youngest);
        Ok(page)
    }

    /// Returns the page that a file's numbers are; `None` if their count is another.
    pub fn of(numbers: &[AtomicU64]) -> Option<&Self> {
        // SAFETY: a page consists of 64-bit atomics, has their alignment, and is as long as the slice; any bytes are a valid
        // page.
        (size_of_val(numbers) == LENGTH).then(|| unsafe { &*numbers.as_ptr().cast() })
    }

    /// Returns the page of this process, or of the one that forked it.
    #[inline]
    pub fn current() -> Option<&'static Self> {
        // SAFETY: null, or a mapping of the page's length that is never unmapped.
        unsafe { PAGE.load(Ordering::Acquire).as_ref() }
    }

    /// Counts requests of `bytes` together, in a row below [`ROWS`].
    #[inline(never)]
    pub fn count(&self, row: usize, requests: u64, bytes: u64) {
        let (generation, seat) = SEAT.get();
        let add = |counter: &AtomicU64, more: u64| {
            let sum = counter.load(Ordering::Relaxed).wrapping_add(more);
            counter.store(sum, Ordering::Relaxed);
        };
        if generation == process::fork_generation() + 1 && seat < SEATS - 1 {
            let cell = &self.seats[seat].rows[row % ROWS];
            add(&cell.requests, requests);
            add(&cell.bytes, bytes);
        } else {
            self.count_without_a_seat(row, requests, bytes);
        }
    }

    #[cold]
    fn count_without_a_seat(&self, row: usize, requests: u64, bytes: u64) {
        let generation = process::fork_generation() + 1;
        if SEAT.get().0 != generation {
            let seat = process::keeping_errno(|| self.take_seat());
            SEAT.set((generation, seat));
        }
        // Locked even in the thread's own seat, this once: it happens rarely.
        let seat = SEAT.get().1.min(SEATS - 1);
        let cell = &self.seats[seat].rows[row % ROWS];
        cell.requests.fetch_add(requests, Ordering::Relaxed);
        cell.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Takes a seat for the calling thread until it ends, or else returns the shared one.
    fn take_seat(&self) -> usize {
        let nobodys = SEATS - 1;
        // A thread that is ending gets no seat, as it could not give it back.
        if LEAVE.try_with(|leave| leave.0.set(true)).is_err() {
            return nobodys;
        }
        let own = u64::from(process::id());
        let take = |seat: &Seat, from: u64, to: u64| {
            let taken =
                seat.process
                    .compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed);
            taken.is_ok()
        };
        let seats = &self.seats[..nobodys];
        // A seat that a thread of this process has left.
        if let Some(at) = seats.iter().position(|seat| take(seat, own, own | TAKEN)) {
            return at;
        }
        let take_empty = |is_free: &dyn Fn(u64) -> bool| {
            seats.iter().position(|seat| {
                let owner = seat.process.load(Ordering::Acquire);
                // While it is being cleared it belongs to nobody.
                let is_taken = is_free(owner) && take(seat, owner, CLEARED | TAKEN | own);
                if is_taken {
                    seat.begin(own);
                }
                is_taken
            })
        };
        // System calls come last, when no seat was ever free: a filter may not allow them.
        take_empty(&|owner| owner == 0)
            .or_else(|| {
                let may_ask = !process::is_sandboxed_by_now();
                let has_ended = |owner: u64| process::has_ended((owner & !TAKEN & !CLEARED) as u32);
                may_ask.then(|| take_empty(&has_ended)).flatten()
            })
            .unwrap_or(nobodys)
    }

    pub fn add(&self, gauge: Gauge, more: i64) {
        // In two's complement.
        self.gauges[gauge as usize].fetch_add(more as u64, Ordering::Relaxed);
    }

    /// Sets the name by which this process calls itself, truncated to [`PROGRAM_BYTES`].
    pub fn set_program(&self, name: &str) {
        put_text(&self.program, name.as_bytes());
    }

    /// Sets the address where this process serves its metrics, truncated to [`ADDRESS_BYTES`].
    pub fn set_address(&self, address: &str) {
        put_text(&self.address, address.as_bytes());
    }

    /// Returns the entry of the device of that name; an earlier device of that name may have used it before. `None` if all
    /// are taken.
    pub fn device(&'static self, name: &str) -> Option<&'static DevicePage> {
        let name = &name.as_bytes()[..name.len().min(NAME_BYTES)];
        let is_named = |device: &&DevicePage| {
            device.state.load(Ordering::Acquire) != 0 && text(&device.name) == name
        };
        if let Some(device) = self.devices.iter().find(is_named) {
            return Some(device);
        }
        let is_taken = |device: &&DevicePage| {
            let state = &device.state;
            let taken = state.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed);
            taken.is_ok()
        };
        let device = self.devices.iter().find(is_taken)?;
        put_text(&device.name, name);
        Some(device)
    }

    /// Creates the file under a temporary name until it says which process it belongs to: if the process is killed
    /// before that, no file is left that cannot be attributed.
    fn create(path: &Path, namespace: u64) -> io::Result<Mapped> {
        let unfinished = path.with_extension(UNFINISHED);
        let made = Mapped::create(&unfinished, LENGTH / 8).and_then(|mapped| {
            if let Some(page) = Self::of(mapped.numbers()) {
                page.begin(namespace);
            }
            std::fs::rename(&unfinished, path).map(|()| mapped)
        });
        if made.is_err() {
            let _ = std::fs::remove_file(&unfinished);
        }
        made
    }

    /// Makes this the page of the calling process.
    fn begin(&self, namespace: u64) {
        self.process.store(process::id().into(), Ordering::Relaxed);
        self.began_ns
            .store(process::boot_time_ns(), Ordering::Relaxed);
        self.namespace.store(namespace, Ordering::Relaxed);
        self.version_and_length
            .store(VERSION_AND_LENGTH, Ordering::Relaxed);
        self.magic.store(MAGIC, Ordering::Release);
    }
}

impl DevicePage {
    #[inline]
    pub fn set_state(&self, state: u64) {
        self.state.store(state, Ordering::Release);
    }

    pub fn set(&self, figure: DeviceFigure, value: u64) {
        self.figures[figure as usize].store(value, Ordering::Relaxed);
    }

    pub fn add(&self, figure: DeviceFigure, more: u64) {
        self.figures[figure as usize].fetch_add(more, Ordering::Relaxed);
    }
}

/// The extension of a file that is being created.
pub const UNFINISHED: &str = "new";

thread_local! {
    /// The fork generation, plus one, in which this thread has taken a seat, and the seat's index. It has no `Drop`, so
    /// reading it is a single load.
    static SEAT: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    static LEAVE: Leave = const { Leave(Cell::new(false)) };
}

/// Releases the thread's seat when the thread ends.
struct Leave(Cell<bool>);

impl Drop for Leave {
    fn drop(&mut self) {
        let (generation, seat) = SEAT.replace((process::fork_generation() + 1, SEATS));
        if generation == process::fork_generation() + 1
            && let Some(page) = Page::current()
            && seat < SEATS - 1
        {
            let owner = &page.seats[seat].process;
            owner.fetch_and(!TAKEN, Ordering::Release);
        }
    }
}

static PAGE: AtomicPtr<Page> = AtomicPtr::new(ptr::null_mut());

pub const MAGIC: u64 = u64::from_le_bytes(*b"oarlive\x01");
/// The version of the layout. Raise it when a field moves.
const VERSION: u64 = 1;
pub const LENGTH: usize = size_of::<Page>();
pub const VERSION_AND_LENGTH: u64 = VERSION | (LENGTH as u64) << 32;
/// Two for each of 48 operations, one for each direction.
pub const ROWS: usize = 96;
pub const SEATS: usize = 64;
pub const DEVICES: usize = 16;
pub const NAME_BYTES: usize = 32;
pub const PROGRAM_BYTES: usize = 32;
pub const ADDRESS_BYTES: usize = 64;
/// Flags in the owner of a seat, above the process ID.
pub const TAKEN: u64 = 1 << 32;
pub const CLEARED: u64 = 1 << 33;
