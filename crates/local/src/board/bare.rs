//! A board for the fuzzer, which changes its memory between the steps of a request, as any process that maps it can.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering::Relaxed;

use oarlock::rsa::AcceleratedRsa;
use zeroize::Zeroizing;

use super::memory::{SLOTS, WORDS};
use super::{Asked, Board, Outcome};

/// A board without a client. Not part of the interface.
#[doc(hidden)]
pub struct BareBoard(Board);

/// A request that waits on a bare board.
#[doc(hidden)]
pub struct BareRequest<'a> {
    board: &'a Board,
    asked: Asked<'a>,
}

/// A number in a board's memory. Indices of slots and words wrap around.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Place {
    Waiting,
    Last,
    Busy,
    Gap,
    Missed,
    State(usize),
    Bytes(usize),
    Since(usize),
    Seal(usize, usize),
    Word(usize, usize),
}

impl BareBoard {
    /// Creates the memory of a new board.
    pub fn create() -> io::Result<OwnedFd> {
        Board::create()
    }

    /// Maps a board for a process that knows `secret`; `full` requests fill its lanes.
    pub fn map(file: &OwnedFd, full: usize, secret: &[u8; 32]) -> io::Result<Self> {
        Board::map(file, full, secret).map(Self)
    }

    /// Puts a request with the key `rsa` on the board; `None` if the caller is to compute it.
    pub fn ask<'a>(&'a self, rsa: &AcceleratedRsa, number: &'a [u8]) -> Option<BareRequest<'a>> {
        let asked = self.0.asked(rsa, number).ok()?;
        let board = &self.0;
        Some(BareRequest { board, asked })
    }

    /// Applies `change` to the number at a place.
    pub fn change(&self, place: Place, change: impl FnOnce(u64) -> u64) {
        let Some(shared) = self.0.memory.shared() else {
            return;
        };
        let slot = |at: usize| &shared.slots[at % SLOTS];
        let short = match place {
            Place::Missed => Some(&shared.pace.missed),
            Place::State(at) => Some(&slot(at).state),
            Place::Bytes(at) => Some(&slot(at).bytes),
            _ => None,
        };
        if let Some(number) = short {
            return number.store(change(number.load(Relaxed).into()) as u32, Relaxed);
        }
        let number = match place {
            Place::Last => &shared.pace.last,
            Place::Busy => &shared.pace.busy,
            Place::Gap => &shared.pace.gap,
            Place::Since(at) => &slot(at).since,
            Place::Seal(at, half) => &slot(at).seal[half % 2],
            Place::Word(at, word) => &slot(at).words[word % WORDS],
            _ => &shared.waiting,
        };
        number.store(change(number.load(Relaxed)), Relaxed);
    }
}

impl BareRequest<'_> {
    /// Returns the number of its slot.
    pub fn place(&self) -> usize {
        self.asked.request.own.place
    }

    /// Returns the power; `None` if the caller is to compute it.
    pub fn answer(self, rsa: &AcceleratedRsa) -> Option<Zeroizing<Vec<u8>>> {
        match self.board.answered(rsa, self.asked) {
            Outcome::Power(power) => Some(power),
            Outcome::Alone | Outcome::Full | Outcome::Failed => None,
        }
    }
}
