//! Reads the file that a process publishes. It is untrusted input: its owner may have written anything.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::costs::rows;
use crate::costs::stats::PublicKeyStats;
use crate::work::algorithm::Direction;
use oarlock_threads::mapped::text;
use oarlock_threads::page::{
    CLEARED, DeviceFigure, DevicePage, Gauge, LENGTH, MAGIC, Page, Seat, TAKEN, VERSION_AND_LENGTH,
};

/// A snapshot of the figures of a process and its forked children. All counts are totals since the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figures {
    /// The name of the program: printable ASCII, at most 32 characters.
    pub program: String,
    /// The process ID.
    pub process: u32,
    /// The time at which counting began, since boot.
    pub began: Duration,
    /// The PID namespace of the process: an inode, or 0 if unknown.
    pub namespace: u64,
    /// The address of a cryptoserver's metrics page.
    pub metrics: Option<SocketAddr>,
    /// Public-key requests of jobs and callers. The time that groups saved is not published, and 0 here.
    pub public_key: PublicKeyStats,
    /// OpenSSL jobs whose connection closed while they were paused (ASYNC_start_job(3)). OpenSSL never frees
    /// their stacks of 32 KiB.
    pub abandoned: u64,
    /// Requests of frameworks that have no answer yet.
    pub in_flight: u64,
    /// Jobs and requests refused for lack of room.
    pub refused: u64,
    /// Devices of frameworks, in order of registration.
    pub devices: Vec<DeviceFigures>,
    /// Requests by process; the process of the file comes first.
    pub processes: Vec<ProcessFigures>,
    /// The most recently forked child and its time, if no process has counted anything yet. It may continue in the
    /// background.
    pub(super) heir: Option<(u32, Duration)>,
}

/// The figures of a framework's device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceFigures {
    /// Its name: printable ASCII, at most 32 characters.
    pub name: String,
    /// Whether it gets requests.
    pub state: DeviceState,
    /// Requests that the device has now.
    pub in_flight: u64,
    /// Its requests by outcome.
    pub counts: Counts,
    /// Bytes of completed requests.
    pub bytes: u64,
}

/// Counts of a device's requests, by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests given to the device.
    pub given: u64,
    /// Requests that the device completed.
    pub done: u64,
    /// Requests that the device failed or computed wrongly.
    pub failed: u64,
    /// Requests taken away because the device stalled.
    pub stalled: u64,
    /// Answers to requests already taken away, and second answers.
    pub late: u64,
    /// Wrong results, and writes past the end.
    pub breaches: u64,
    /// Times that the breaker opened.
    pub opened: u64,
}

/// Whether a device gets requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[repr(u64)]
pub enum DeviceState {
    /// It gets requests.
    Closed = 1,
    /// It gets none for a while, after failures.
    Open = 2,
    /// It gets one at a time, on trial.
    HalfOpen = 3,
    /// It was withdrawn.
    Left = 4,
}

/// Requests of one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessFigures {
    /// The process ID.
    pub process: u32,
    /// The earliest start of a thread that still counts, since boot.
    pub began: Duration,
    /// Running threads that have counted something.
    pub threads: usize,
    /// Counts by operation and direction.
    pub operations: Vec<OperationFigures>,
}

/// Requests of one operation and direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationFigures {
    /// The name of the algorithm, or `hmac`, `hash`, `cipher+hmac`, `random`, `public-key` or `private-key`.
    pub name: &'static str,
    /// The direction.
    pub direction: Direction,
    /// Requests.
    pub requests: u64,
    /// Bytes of all requests.
    pub bytes: u64,
}

impl Figures {
    /// The length of a file in bytes.
    pub const FILE_BYTES: usize = LENGTH;

    /// Returns the first bytes of a file of this version, for tests of readers.
    pub fn file_begin() -> [u8; 16] {
        let mut begin = [0; 16];
        begin[..8].copy_from_slice(&MAGIC.to_ne_bytes());
        begin[8..].copy_from_slice(&VERSION_AND_LENGTH.to_ne_bytes());
        begin
    }

    /// Parses the bytes of a file.
    ///
    /// # Errors
    /// A message: the length is wrong, the version differs, or it is no file of figures.
    ///
    /// ```
    /// use oarlock_engine::costs::published::Figures;
    ///
    /// assert!(Figures::parse(b"oarlive").is_err());
    /// ```
    pub fn parse(bytes: &[u8]) -> Result<Self, &'static str> {
        let (words, rest) = bytes.as_chunks();
        let mut numbers = Vec::new();
        // A host low on memory must not fail because of this file.
        if numbers.try_reserve_exact(words.len()).is_err() {
            return Err("no memory to read it");
        }
        numbers.extend(
            words
                .iter()
                .map(|it| AtomicU64::new(u64::from_ne_bytes(*it))),
        );
        if numbers.first().map(get) != Some(MAGIC) {
            return Err("no file of live figures");
        }
        let is_ours = |page: &&Page| get(&page.version_and_length) == VERSION_AND_LENGTH;
        let page = Page::of(&numbers).filter(|_| rest.is_empty());
        let page = page.filter(is_ours);
        let page = page.ok_or("live figures of another version of Oarlock")?;
        let gauge = |gauge: Gauge| get(&page.gauges[gauge as usize]);
        // Levels are kept by additions and subtractions, which a killed process may leave unbalanced.
        let level = |of: Gauge| u64::try_from(gauge(of) as i64).unwrap_or(0);
        let mut figures = Self {
            program: printable(&page.program),
            process: get(&page.process) as u32,
            began: Duration::from_nanos(get(&page.began_ns)),
            namespace: get(&page.namespace),
            metrics: printable(&page.address).parse().ok(),
            public_key: PublicKeyStats {
                waiting: level(Gauge::Waiting) as usize,
                ..PublicKeyStats::of(gauge)
            },
            abandoned: gauge(Gauge::Abandoned),
            in_flight: level(Gauge::InFlight),
            refused: gauge(Gauge::Refused),
            devices: page.devices.iter().filter_map(DeviceFigures::of).collect(),
            processes: Vec::new(),
            heir: None,
        };
        figures.add_process(figures.process, figures.began);
        let [seats @ .., nobodys] = &page.seats;
        for seat in seats {
            let owner = get(&seat.process);
            if owner != 0 && owner & CLEARED == 0 {
                let began = Duration::from_nanos(get(&seat.began_ns));
                let process = figures.add_process(owner as u32, began);
                process.began = process.began.min(began);
                process.add_seat(seat);
            }
        }
        figures.processes[0].add_seat(nobodys);
        let youngest = get(&page.youngest.process) as u32;
        let began = Duration::from_nanos(get(&page.youngest.began_ns));
        let has_counted = |one: &ProcessFigures| !one.operations.is_empty();
        if youngest != 0 && !figures.processes.iter().any(has_counted) {
            figures.heir = Some((youngest, began));
        }
        Ok(figures)
    }

    fn add_process(&mut self, process: u32, began: Duration) -> &mut ProcessFigures {
        let known = self
            .processes
            .iter()
            .position(|one| one.process == process)
            .unwrap_or_else(|| {
                self.processes.push(ProcessFigures {
                    process,
                    began,
                    threads: 0,
                    operations: Vec::new(),
                });
                self.processes.len() - 1
            });
        &mut self.processes[known]
    }
}

impl ProcessFigures {
    fn add_seat(&mut self, seat: &Seat) {
        self.threads += usize::from(get(&seat.process) & TAKEN != 0);
        for (counter, (name, direction)) in seat.rows.iter().zip(rows::all()) {
            let (requests, bytes) = (get(&counter.requests), get(&counter.bytes));
            if requests > 0 {
                self.add(name, direction, requests, bytes);
            }
        }
    }

    fn add(&mut self, name: &'static str, direction: Direction, requests: u64, bytes: u64) {
        let mut known = self.operations.iter_mut();
        match known.find(|one| (one.name, one.direction) == (name, direction)) {
            Some(one) => {
                one.requests = one.requests.wrapping_add(requests);
                one.bytes = one.bytes.wrapping_add(bytes);
            }
            None => self.operations.push(OperationFigures {
                name,
                direction,
                requests,
                bytes,
            }),
        }
    }
}

impl DeviceFigures {
    fn of(page: &DevicePage) -> Option<Self> {
        let state = match get(&page.state) {
            1 => DeviceState::Closed,
            2 => DeviceState::Open,
            3 => DeviceState::HalfOpen,
            4 => DeviceState::Left,
            _ => return None,
        };
        let figure = |figure: DeviceFigure| get(&page.figures[figure as usize]);
        Some(Self {
            name: printable(&page.name),
            state,
            in_flight: figure(DeviceFigure::InFlight),
            counts: Counts {
                given: figure(DeviceFigure::Given),
                done: figure(DeviceFigure::Done),
                failed: figure(DeviceFigure::Failed),
                stalled: figure(DeviceFigure::Stalled),
                late: figure(DeviceFigure::Late),
                breaches: figure(DeviceFigure::Breaches),
                opened: figure(DeviceFigure::Opened),
            },
            bytes: figure(DeviceFigure::Bytes),
        })
    }
}

fn get(number: &AtomicU64) -> u64 {
    number.load(Ordering::Relaxed)
}

/// Returns the text, with question marks for bytes outside printable ASCII, since a terminal might act on them.
fn printable(place: &[AtomicU64]) -> String {
    let printable = |byte: &u8| match byte {
        b' '..=b'~' => char::from(*byte),
        _ => '?',
    };
    text(place).iter().map(printable).collect()
}
