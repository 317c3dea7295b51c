//! A board that processes share, each through its own queue, like virtual functions (SR-IOV), ring pairs and virtio queues.
//!
//! ```text
//! 0        magic, version and number of queues, figures of the board, whose turn it is
//! 512      until when each unit is busy, in ns of the monotonic clock
//! 4096     queue 0: epoch and head; from 64 on, 1024 slots of two numbers: state, arrival
//! 24576    queue 1 ...
//! ```
//!
//! No hardware drives the board, so each polling process does ([`Queue::advance`]): when a unit is free, the next queue in
//! turn that has a request gets it, from the time at which the unit was free or the request arrived. Nothing is lost while
//! no process polls, since times are those of the board and not of the poll. Requests of a stopped or ended process are
//! served by the polls of others. No process takes a lock, since one that dies or stops while it holds a lock would stop the
//! board for all:
//!
//! ```text
//! 1. take the unit      busy until: free -> end           else start over
//! 2. start the request  state: waiting -> started, end    else another process did: give the unit back
//! 3. move the head on   head -> head + 1                  else another process did
//! ```
//!
//! A process that stops after step 1 wastes the time of one request. A state holds a count, so that a later request in the
//! same slot is not mistaken for an earlier one. A head holds an epoch, which its owner increments to start over.
//!
//! Values from another process's queue are not trusted: times are bounded, and an arrival in the future counts as now. A
//! process notices when its own queue was overwritten, and starts over.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{
    AtomicU64, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};
use std::time::Duration;

use crate::Error;
use oarlock_threads::mapped::{Claims, Mapped};
use oarlock_threads::process;

/// The figures of a board that its sharers need.
#[derive(Clone)]
pub(super) struct Figures {
    pub(super) units: usize,
    /// The depth of one process's queue.
    pub(super) depth: usize,
    /// Other figures that all processes must agree on.
    pub(super) others: [u64; FIGURES.end - FIGURES.start - 1],
}

impl Figures {
    fn agreed(&self) -> impl Iterator<Item = u64> {
        [self.units as u64].into_iter().chain(self.others)
    }

    fn check(&self, path: &Path, queues: usize) -> Result<(), Error> {
        let (queues_right, units_right) = (1..=QUEUES_MAX, 1..=UNITS_MAX);
        if queues_right.contains(&queues)
            && units_right.contains(&self.units)
            && self.depth <= TASKS_MAX
        {
            return Ok(());
        }
        Err(wrong(
            path,
            &format!(
                "a board that is shared has 1 to {QUEUES_MAX} queues of up to {TASKS_MAX} tasks, and up to {UNITS_MAX} units"
            ),
        ))
    }
}

/// Creates the file of a board with `queues` queues.
pub(super) fn create(path: &Path, board: &Figures, queues: usize) -> Result<(), Error> {
    board.check(path, queues)?;
    let file =
        Mapped::create(path, numbers(queues)).map_err(|error| wrong(path, &error.to_string()))?;
    for (number, figure) in file.numbers()[FIGURES].iter().zip(board.agreed()) {
        number.store(figure, Relaxed);
    }
    file.numbers()[VERSION_AND_QUEUES].store(u64::from(VERSION) << 32 | queues as u64, Relaxed);
    file.numbers()[MAGIC].store(MAGIC_NUMBER, Release);
    Ok(())
}

/// A queue of a shared board, and the board as seen from it.
pub(super) struct Queue {
    file: Mapped,
    _claims: Claims,
    queues: usize,
    units: usize,
    number: usize,
    epoch: u64,
    /// The next slot to be filled.
    tail: u64,
    /// The first slot whose request is not known to have been started.
    head: u64,
    /// The states of the requests from `head` to `tail`.
    waiting: VecDeque<u64>,
    count: u64,
    /// The fork generation at opening: in a forked child the queue belongs to the parent.
    generation: usize,
}

/// The error for a queue that some process has overwritten.
#[derive(Debug)]
pub(super) struct WrittenOver;

impl Queue {
    /// Opens the first free queue.
    pub(super) fn open(path: &Path, board: &Figures) -> Result<Self, Error> {
        let of_io = |error: std::io::Error| wrong(path, &error.to_string());
        let claims = Claims::open(path).map_err(of_io)?;
        if !claims.is_private(process::user()).map_err(of_io)? {
            return Err(wrong(
                path,
                "another user may write to it, who could end this process: it must belong to you, with a mode of 0600",
            ));
        }
        let file = claims.map(numbers(1)..=numbers(QUEUES_MAX));
        let file = file.map_err(of_io)?;
        let file = file.ok_or_else(|| wrong(path, "it is no board"))?;
        let header = file.numbers();
        let is_board = header[MAGIC].load(Acquire) == MAGIC_NUMBER;
        let version_and_queues = header[VERSION_AND_QUEUES].load(Relaxed);
        // Other processes may change the file's contents at any time, but not its length.
        let queues = (header.len() - HEADER) / QUEUE;
        if !is_board
            || version_and_queues != u64::from(VERSION) << 32 | queues as u64
            || numbers(queues) != header.len()
        {
            return Err(wrong(
                path,
                "it is no board, or one of another version of Oarlock",
            ));
        }
        board.check(path, queues)?;
        let said = header[FIGURES].iter().map(|number| number.load(Relaxed));
        if !said.eq(board.agreed()) {
            return Err(wrong(
                path,
                "it is a board with other figures: open it with those that it was made with",
            ));
        }
        let number = (0..queues)
            .find(|number| claims.claim(place(*number)))
            .ok_or_else(|| {
                wrong(
                    path,
                    &format!("each of its {queues} queues belongs to somebody"),
                )
            })?;
        let mut queue = Self {
            file,
            _claims: claims,
            queues,
            units: board.units,
            number,
            epoch: 0,
            tail: 0,
            head: 0,
            waiting: VecDeque::new(),
            count: now_ns(),
            generation: process::fork_generation(),
        };
        queue.begin_anew();
        Ok(queue)
    }

    /// Returns the queue's byte range in the file.
    pub(super) fn place(&self) -> Range<u64> {
        let range = place(self.number);
        8 * range.start as u64..8 * range.end as u64
    }

    /// Empties the queue, whatever it contains.
    pub(super) fn begin_anew(&mut self) {
        let queue = self.queue(self.number);
        let epoch = (queue[HEAD].load(Acquire) >> 32).wrapping_add(1) & 0xffff_ffff;
        // Empty the slots first: the old head then finds nothing in them.
        for slot in 0..SLOTS as u64 {
            slot_of(queue, slot).0.store(EMPTY, Release);
        }
        queue[HEAD].store(epoch << 32, Release);
        (self.epoch, self.head, self.tail) = (epoch, 0, 0);
        self.waiting.clear();
    }

    /// Submits a request that keeps a unit busy for `time`. Returns whether there was room.
    pub(super) fn push(&mut self, now_ns: u64, time: Duration) -> bool {
        if self.tail - self.head >= TASKS_MAX as u64 {
            return false;
        }
        self.count = self.count.wrapping_add(1);
        let state = waiting(time, self.count);
        let (place, arrival) = slot_of(self.queue(self.number), self.tail);
        arrival.store(now_ns, Relaxed);
        place.store(state, Release);
        self.tail += 1;
        self.waiting.push_back(state);
        true
    }

    /// Returns the end of the oldest request if it has been started, and removes it.
    pub(super) fn next_started(&mut self, now_ns: u64) -> Result<Option<u64>, WrittenOver> {
        let Some(written) = self.waiting.front() else {
            return Ok(None);
        };
        let queue = self.queue(self.number);
        let (place, _) = slot_of(queue, self.head);
        // Read the head before the slot: if the head has passed the slot, its request was started earlier.
        let head = queue[HEAD].load(Acquire);
        let state = place.load(Acquire);
        let at = self.unfolded(head);
        if head >> 32 != self.epoch || !(self.head..=self.tail).contains(&at) {
            return Err(WrittenOver);
        }
        if state == *written {
            // A waiting request behind the head would never be started.
            return match at == self.head {
                true => Ok(None),
                false => Err(WrittenOver),
            };
        }
        let end = state & VALUE;
        if state & KIND != STARTED || end > now_ns + 2 * TIME_NS_MAX {
            return Err(WrittenOver);
        }
        // Move the head on before the slot is emptied, or the board would wait at an empty slot.
        if at == self.head {
            let next = head_after(head);
            let _ = queue[HEAD].compare_exchange(head, next, AcqRel, Acquire);
        }
        place.store(EMPTY, Release);
        self.head += 1;
        self.waiting.pop_front();
        Ok(Some(end))
    }

    /// Returns the earliest possible end of a waiting request, without the latency back. If units claim to be busy for
    /// longer than any request takes, they are checked again by then.
    pub(super) fn next_end_min(&self, now_ns: u64) -> Option<u64> {
        let time = (self.waiting.front()? & VALUE) >> COUNT_BITS;
        Some(self.first_unit().1.min(now_ns + TIME_NS_MAX) + time)
    }

    /// Starts waiting requests on free units.
    pub(super) fn advance(&self, now_ns: u64) {
        let units = self.units();
        for unit in units {
            let free = unit.load(Acquire);
            // No request takes that long.
            if free > now_ns + 2 * TIME_NS_MAX {
                let _ = unit.compare_exchange(free, now_ns, AcqRel, Acquire);
            }
        }
        // Limit each queue to the requests that it can hold. Otherwise an owner that writes old requests of no time as fast
        // as they are started would get every turn, on a unit that never gets to the other queues.
        let mut left = [TASKS_MAX; QUEUES_MAX];
        for _ in 0..2 * SLOTS * self.queues {
            let (unit, free) = self.first_unit();
            if free > now_ns {
                return;
            }
            let Some(next) = self.next(free, now_ns, &left) else {
                return;
            };
            left[next.queue] -= 1;
            let end = free.max(next.arrival) + ((next.state & VALUE) >> COUNT_BITS);
            if units[unit]
                .compare_exchange(free, end, AcqRel, Acquire)
                .is_err()
            {
                continue;
            }
            let queue = self.queue(next.queue);
            let (place, _) = slot_of(queue, next.head);
            let started = STARTED | end & VALUE;
            if place
                .compare_exchange(next.state, started, AcqRel, Acquire)
                .is_err()
            {
                let _ = units[unit].compare_exchange(end, free, AcqRel, Acquire);
            }
            let _ = queue[HEAD].compare_exchange(next.head, head_after(next.head), AcqRel, Acquire);
            self.file.numbers()[TURN].store(next.queue as u64 + 1, Relaxed);
        }
    }

    /// Returns the next request for a unit that is free at `free`: the oldest of the next queue in turn that had one by
    /// then, or else the request that arrived first.
    fn next(&self, free: u64, now_ns: u64, left: &[usize; QUEUES_MAX]) -> Option<Next> {
        // Any value is safe: each queue still gets its turn.
        let turn = self.file.numbers()[TURN].load(Relaxed) as usize % self.queues;
        let mut first: Option<Next> = None;
        let turns = (0..self.queues).map(|at| (turn + at) % self.queues);
        for queue in turns.filter(|queue| left[*queue] > 0) {
            let numbers = self.queue(queue);
            // A process may have started a few without moving the head on.
            for _ in 0..HELP_MAX {
                let head = numbers[HEAD].load(Acquire);
                let (place, arrival) = slot_of(numbers, head);
                let state = place.load(Acquire);
                match state & KIND {
                    WAITING => {
                        let arrival = arrival.load(Relaxed).min(now_ns);
                        let next = Next {
                            queue,
                            head,
                            state,
                            arrival,
                        };
                        if arrival <= free {
                            return Some(next);
                        }
                        if first.as_ref().is_none_or(|first| arrival < first.arrival) {
                            first = Some(next);
                        }
                        break;
                    }
                    STARTED => {
                        let _ =
                            numbers[HEAD].compare_exchange(head, head_after(head), AcqRel, Acquire);
                    }
                    _ => break,
                }
            }
        }
        first
    }

    /// Returns the unit that is free first, and when.
    fn first_unit(&self) -> (usize, u64) {
        let units = self.units().iter().enumerate();
        let frees = units.map(|(unit, free)| (unit, free.load(Acquire)));
        frees.min_by_key(|(_, free)| *free).unwrap_or((0, u64::MAX))
    }

    fn units(&self) -> &[AtomicU64] {
        &self.file.numbers()[UNITS..UNITS + self.units]
    }

    fn queue(&self, number: usize) -> &[AtomicU64] {
        &self.file.numbers()[place(number)]
    }

    /// Expands the low 32 bits of a head to the place nearest to this queue's own head.
    fn unfolded(&self, head: u64) -> u64 {
        let ahead = (head as u32).wrapping_sub(self.head as u32);
        self.head.wrapping_add(ahead.into())
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        if self.generation == process::fork_generation() {
            self.begin_anew();
        }
    }
}

/// A request waiting in some queue.
struct Next {
    queue: usize,
    head: u64,
    state: u64,
    arrival: u64,
}

/// Returns the monotonic clock, which is the same in all processes.
pub(super) fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn waiting(time: Duration, count: u64) -> u64 {
    let time_ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    WAITING | time_ns.min(TIME_NS_MAX) << COUNT_BITS | count & ((1 << COUNT_BITS) - 1)
}

/// Returns the next head in the same epoch.
fn head_after(head: u64) -> u64 {
    head & !0xffff_ffff | head.wrapping_add(1) & 0xffff_ffff
}

fn slot_of(queue: &[AtomicU64], at: u64) -> (&AtomicU64, &AtomicU64) {
    let at = SLOTS_FROM + 2 * (at as usize % SLOTS);
    (&queue[at], &queue[at + 1])
}

/// Returns the place of a queue.
fn place(number: usize) -> Range<usize> {
    let first = HEADER + number * QUEUE;
    first..first + QUEUE
}

fn numbers(queues: usize) -> usize {
    HEADER + queues * QUEUE
}

fn wrong(path: &Path, what: &str) -> Error {
    Error::InvalidInput(format!("the shared board {}: {what}", path.display()))
}

const MAGIC_NUMBER: u64 = u64::from_le_bytes(*b"oarboard");
const VERSION: u32 = 1;
const QUEUES_MAX: usize = 16;
const UNITS_MAX: usize = 64;
const SLOTS: usize = 1024;
/// One slot stays empty, so that the head stops there and does not wrap round to started requests.
const TASKS_MAX: usize = SLOTS - 1;

// Places, in numbers of 8 bytes. The header and each queue start on their own pages.
const MAGIC: usize = 0;
const VERSION_AND_QUEUES: usize = 1;
const FIGURES: Range<usize> = 2..8;
const TURN: usize = 8;
const UNITS: usize = 64;
const HEADER: usize = 512;
const HEAD: usize = 0;
const SLOTS_FROM: usize = 8;
const QUEUE: usize = (SLOTS_FROM + 2 * SLOTS).next_multiple_of(512);

// A state has a kind and a value. The value of a waiting request is its time and a count.
const KIND: u64 = 0b11 << 62;
const VALUE: u64 = !KIND;
const EMPTY: u64 = 0;
const WAITING: u64 = 0b01 << 62;
const STARTED: u64 = 0b10 << 62;
const COUNT_BITS: u32 = 32;
/// 1 s. Longer requests are cut to it.
const TIME_NS_MAX: u64 = (1 << (62 - COUNT_BITS)) - 1;
const HELP_MAX: usize = 8;

mod bare;
#[cfg(test)]
mod tests;

#[doc(hidden)]
pub use self::bare::BareQueue;
