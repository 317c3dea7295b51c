//! The board: memory on which processes with the same key compute together.
//!
//! A request occupies a slot. Its stage and the count of the slot's uses are one number, a futex(2):
//!
//! ```text
//! free -> claimed -> waiting -> running -> done -> free
//!                                 |    `-> left -> free
//!                                 `-> abandoned -> free
//! ```
//!
//! Its owner claims the slot, writes the number and marks it as waiting. The owner that fills the lanes, or is the first to
//! have waited long enough, takes the waiting requests: its own and others'. It computes them, writes the powers and wakes
//! the owners. Each change of a stage is a compare-and-swap on the whole number, so of two processes that want a request
//! only one gets it.
//!
//! A process may end at any point and leave a slot as it is. When no slot is free, one that has been in use for longer than
//! any request takes is reused. Its former process may only have been stopped, and may still write there. Other processes
//! might reach the memory without having the key. So each number and each power carries a MAC over its content and this use
//! of the slot, with a secret derived from the private key. A process ignores a number or a power whose MAC is wrong.

mod bare;
mod memory;
mod pace;
mod seal;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::time::Duration;

use oarlock::rsa::AcceleratedRsa;
use rustix::thread::futex;
use rustix::time::{ClockId, Timespec, clock_gettime};
use zeroize::Zeroizing;

pub use self::bare::{BareBoard, BareRequest, Place};
pub(crate) use self::memory::Owner;
use self::memory::{Memory, SLOTS, Shared, Slot, WORDS};
use self::pace::Pace;
use self::seal::{Seal, Sealer};

/// A board, as mapped by one process.
pub(crate) struct Board {
    memory: Memory,
    sealer: Sealer,
    /// The number of requests that fills the lanes.
    full: u32,
    /// The slot at which the search for a free one begins.
    next: AtomicUsize,
}

/// The outcome of a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The power, computed together with others.
    Power(Zeroizing<Vec<u8>>),
    /// No other process was there; the caller is to compute the request.
    Alone,
    /// All slots are in use; the caller is to compute the request.
    Full,
    /// The process that took the request failed or did not finish in time; the caller is to compute it.
    Failed,
}

/// A request of this process.
#[derive(Clone, Copy)]
struct Request<'a> {
    own: Held<'a>,
    number: &'a [u8],
    seal: Seal,
}

/// A request that waits on the board.
struct Asked<'a> {
    shared: &'a Shared,
    pace: Pace<'a>,
    request: Request<'a>,
    /// Whether no other request was waiting.
    is_first: bool,
}

/// A slot that this process holds, with its state as this process set it.
#[derive(Clone, Copy)]
struct Held<'a> {
    slot: &'a Slot,
    place: usize,
    state: u32,
}

const FREE: u32 = 0;
const CLAIMED: u32 = 1;
const WAITING: u32 = 2;
const RUNNING: u32 = 3;
const DONE: u32 = 4;
/// The owner is to compute the request itself.
const LEFT: u32 = 5;
/// The owner has stopped waiting. The process that computes the request frees the slot.
const ABANDONED: u32 = 6;
/// The bits of a state for the stage; the others count the uses.
const STAGE: u32 = 7;

/// The longest wait for a request that another process has taken, in ns: that process may have to wait for a CPU.
const PATIENCE: u64 = 250_000_000;
/// The time of use after which a slot counts as lost by its process, in ns.
const LOST: u64 = 10_000_000_000;

const BYTES_MAX: usize = 8 * WORDS;

impl Board {
    /// Creates the file of a new board.
    pub(crate) fn create() -> io::Result<OwnedFd> {
        Memory::create()
    }

    /// Maps a board for processes that know `secret`; `full` requests fill the lanes.
    pub(crate) fn map(file: impl AsFd, full: usize, secret: &[u8; 32]) -> io::Result<Self> {
        Ok(Self {
            memory: Memory::map(file)?,
            sealer: Sealer::new(secret),
            full: full.clamp(1, SLOTS) as u32,
            next: AtomicUsize::new(rustix::process::getpid().as_raw_nonzero().get() as usize),
        })
    }

    /// Whether a request waits on the board.
    pub(crate) fn is_waited_at(&self) -> bool {
        let shared = self.memory.shared();
        shared.is_some_and(|shared| shared.waiting.load(Relaxed) != 0)
    }

    /// Computes `number` ^ d mod n together with the requests of others, all of which have the key `rsa`.
    pub(crate) fn power(&self, rsa: &AcceleratedRsa, number: &[u8]) -> Outcome {
        match self.asked(rsa, number) {
            Ok(asked) => self.answered(rsa, asked),
            Err(outcome) => outcome,
        }
    }

    /// Puts a request on the board and marks it as waiting.
    fn asked<'a>(&'a self, rsa: &AcceleratedRsa, number: &'a [u8]) -> Result<Asked<'a>, Outcome> {
        let shared = self.memory.shared().ok_or(Outcome::Failed)?;
        if number.len() > BYTES_MAX || rsa.key().public_key().bytes() > BYTES_MAX {
            return Err(Outcome::Alone);
        }
        let own = self.claimed(shared).ok_or(Outcome::Full)?;
        own.write(number);
        let seal = own.number_seal(&self.sealer, number);
        own.put(seal);
        let bits = rsa.key().public_key().bits();
        let pace = Pace::new(&shared.pace, self.full, bits);
        let own = own.to(WAITING).ok_or(Outcome::Failed)?;
        let is_first = shared.waiting.fetch_or(own.bit(), AcqRel) == 0;
        pace.came(now());
        Ok(Asked {
            shared,
            pace,
            request: Request { own, number, seal },
            is_first,
        })
    }

    /// Waits for the outcome of a request.
    fn answered(&self, rsa: &AcceleratedRsa, asked: Asked<'_>) -> Outcome {
        let Asked {
            shared,
            pace,
            request,
            is_first,
        } = asked;
        let outcome = self.meet(shared, &pace, rsa, request, is_first);
        request.own.free();
        outcome
    }

    /// Waits until there is an outcome. One of the waiting processes `keeps_time`; the others set their timers to the
    /// longest wait. Each timer shorter than a tick of the kernel is an extra one that a virtual machine has to request: a
    /// turn of two processes took 2.4 us with none, 6.5 with 500 us, 3.1 with 4 ms (Zen 4).
    fn meet(
        &self,
        shared: &Shared,
        pace: &Pace<'_>,
        rsa: &AcceleratedRsa,
        request: Request<'_>,
        mut keeps_time: bool,
    ) -> Outcome {
        let (own, began) = (request.own, now());
        loop {
            let state = own.slot.state.load(Acquire);
            let now = now();
            // This bounds the wait, whatever the memory contains and however often it changes.
            let left = began.saturating_add(PATIENCE).saturating_sub(now);
            if (state ^ own.state) & !STAGE != 0 || left == 0 && state & STAGE != DONE {
                // The slot was taken for lost, or is lost now.
                return Outcome::Failed;
            }
            let left = match state & STAGE {
                WAITING => {
                    let waiting = shared.waiting.load(Acquire).count_ones();
                    let left = pace.left(began, now, waiting);
                    if waiting >= self.full || left.is_zero() {
                        match self.lead(shared, pace, rsa, request) {
                            Some(outcome) => return outcome,
                            None => continue,
                        }
                    }
                    match keeps_time {
                        true => left,
                        false => pace.most_left(began, now),
                    }
                }
                RUNNING => Duration::from_nanos(left),
                DONE => {
                    let power = own.number();
                    let is_right = power.len() == rsa.key().public_key().bytes()
                        && own.has(own.power_seal(&self.sealer, request.seal, &power));
                    return match is_right {
                        true => Outcome::Power(power),
                        false => Outcome::Failed,
                    };
                }
                _ => return Outcome::Alone,
            };
            let timeout = Timespec {
                tv_sec: 0,
                tv_nsec: left.as_nanos() as i64,
            };
            // After any wake-up, late or spurious, the loop checks again.
            let _ = futex::wait(
                &own.slot.state,
                futex::Flags::empty(),
                state,
                Some(&timeout),
            );
            // The process that kept the time may have gone without taking this request.
            keeps_time = true;
        }
    }

    /// Takes the waiting requests, with `own` among them, and computes them if that pays. `None` if another process has
    /// taken `own`.
    fn lead(
        &self,
        shared: &Shared,
        pace: &Pace<'_>,
        rsa: &AcceleratedRsa,
        request: Request<'_>,
    ) -> Option<Outcome> {
        let own = request.own.taken(shared)?;
        let (mut batch, mut numbers, mut seals) = (vec![own], Vec::new(), Vec::new());
        let others = shared.waiting.load(Acquire) & !own.bit();
        for place in 0..SLOTS {
            if batch.len() == self.full as usize {
                break;
            }
            if others >> place & 1 == 1 {
                let slot = &shared.slots[place];
                let state = slot.state.load(Acquire);
                let other = Held { slot, place, state };
                if let Some(other) = other.taken(shared) {
                    let number = other.number();
                    let seal = other.number_seal(&self.sealer, &number);
                    match other.has(seal) {
                        true => {
                            batch.push(other);
                            numbers.push(number);
                            seals.push(seal);
                        }
                        false => other.end(LEFT),
                    }
                }
            }
        }
        let left_over = shared.waiting.load(Acquire);
        if let Some(slot) = shared.slots.get(left_over.trailing_zeros() as usize) {
            let _ = futex::wake(&slot.state, futex::Flags::empty(), 1);
        }
        pace.taken(batch.len() as u32);
        let size = batch.len();
        if size < 2 || rsa.best_batch(size) < size {
            // Each owner computes its own, all at the same time.
            for other in &batch[1..] {
                other.end(LEFT);
            }
            own.end(LEFT);
            return Some(Outcome::Alone);
        }
        // Its own number does not come from the memory, where another process could have changed it undetected.
        let own_number = std::iter::once(request.number);
        let borrowed: Vec<&[u8]> = own_number
            .chain(numbers.iter().map(|number| &number[..]))
            .collect();
        pace.begins(now());
        let mut powers = rsa.raw_private_together(&borrowed).into_iter();
        pace.ends(now());
        let first = powers.next();
        for ((other, seal), power) in batch[1..].iter().zip(seals).zip(powers) {
            match power {
                Ok(power) => {
                    other.write(&power);
                    other.put(other.power_seal(&self.sealer, seal, &power));
                    other.end(DONE);
                }
                Err(_) => other.end(LEFT),
            }
        }
        own.end(DONE);
        Some(match first {
            Some(Ok(power)) => Outcome::Power(power),
            _ => Outcome::Failed,
        })
    }

    /// Claims a slot for this process.
    fn claimed<'a>(&self, shared: &'a Shared) -> Option<Held<'a>> {
        let begin = self.next.fetch_add(1, Relaxed);
        let places = || (0..SLOTS).map(|at| (begin + at) % SLOTS);
        let claim = |place: usize, state: u32| {
            let slot = &shared.slots[place];
            let claimed = (state & !STAGE).wrapping_add(STAGE + 1) | CLAIMED;
            slot.state
                .compare_exchange(state, claimed, AcqRel, Relaxed)
                .ok()?;
            slot.since.store(now(), Relaxed);
            let state = claimed;
            Some(Held { slot, place, state })
        };
        let free = places().find_map(|place| {
            let state = shared.slots[place].state.load(Relaxed);
            (state & STAGE == FREE).then(|| claim(place, state))?
        });
        free.or_else(|| {
            places().find_map(|place| {
                let slot = &shared.slots[place];
                let state = slot.state.load(Acquire);
                let age = now().saturating_sub(slot.since.load(Relaxed));
                (age > LOST).then(|| claim(place, state))?
            })
        })
    }
}

impl<'a> Held<'a> {
    fn bit(self) -> u64 {
        1 << self.place
    }

    /// Moves to the stage `stage`; `None` if another process has changed the state in between.
    fn to(self, stage: u32) -> Option<Self> {
        let state = self.state & !STAGE | stage;
        let changed = self
            .slot
            .state
            .compare_exchange(self.state, state, AcqRel, Relaxed);
        changed.ok().map(|_| Self { state, ..self })
    }

    /// Takes a waiting request for this process to compute.
    fn taken(self, shared: &Shared) -> Option<Self> {
        let taken = match self.state & STAGE {
            WAITING => self.to(RUNNING),
            _ => None,
        };
        // Also clear the bit of a request that no longer waits: its process has ended, or another was faster.
        shared.waiting.fetch_and(!self.bit(), AcqRel);
        taken
    }

    /// Tells the owner that the request has ended, or frees the slot if the owner has stopped waiting.
    fn end(self, stage: u32) {
        if self.to(stage).is_some() {
            let _ = futex::wake(&self.slot.state, futex::Flags::empty(), 1);
            return;
        }
        let state = self.state & !STAGE | ABANDONED;
        Held { state, ..self }.clear();
    }

    /// Frees the slot on behalf of its owner. If another process is computing the request, that process frees it, because it
    /// may still write to it.
    fn free(self) {
        let state = self.slot.state.load(Acquire);
        if (state ^ self.state) & !STAGE != 0 {
            return;
        }
        let now = Held { state, ..self };
        if state & STAGE == RUNNING && now.to(ABANDONED).is_some() {
            return;
        }
        // The request may have ended since the first check.
        let state = self.slot.state.load(Acquire);
        if (state ^ self.state) & !STAGE == 0 {
            Held { state, ..self }.clear();
        }
    }

    /// Wipes and frees the slot if it is still in this state: it may hold the number of a decryption.
    fn clear(self) {
        if self.slot.state.load(Acquire) == self.state {
            self.slot
                .words
                .iter()
                .for_each(|word| word.store(0, Relaxed));
            self.to(FREE);
        }
    }

    fn number_seal(self, sealer: &Sealer, number: &[u8]) -> Seal {
        sealer.number(self.state & !STAGE, self.place, number)
    }

    fn power_seal(self, sealer: &Sealer, number: Seal, power: &[u8]) -> Seal {
        sealer.power(self.state & !STAGE, number, power)
    }

    fn put(self, seal: Seal) {
        for (word, value) in self.slot.seal.iter().zip(seal) {
            word.store(value, Release);
        }
    }

    fn has(self, seal: Seal) -> bool {
        let words = self.slot.seal.iter().zip(seal);
        // All words are compared, however early they differ.
        words.fold(0, |differs, (word, value)| {
            differs | word.load(Acquire) ^ value
        }) == 0
    }

    fn write(self, bytes: &[u8]) {
        for (word, chunk) in self.slot.words.iter().zip(bytes.chunks(8)) {
            let mut padded = [0; 8];
            padded[..chunk.len()].copy_from_slice(chunk);
            word.store(u64::from_le_bytes(padded), Relaxed);
        }
        self.slot.bytes.store(bytes.len() as u32, Release);
    }

    fn bytes(self, length: usize) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(BYTES_MAX));
        for word in &self.slot.words[..length.div_ceil(8)] {
            bytes.extend_from_slice(&word.load(Relaxed).to_le_bytes());
        }
        bytes.truncate(length);
        bytes
    }

    fn number(self) -> Zeroizing<Vec<u8>> {
        let length = self.slot.bytes.load(Acquire) as usize;
        self.bytes(length.min(BYTES_MAX))
    }
}

/// Returns the time in ns, by a clock that all processes share.
fn now() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests;
