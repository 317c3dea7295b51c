//! The memory of a board where processes with one key compute together, next to one that writes into it: no panic, no wrong
//! power, and no wait without end.
//!
//! What is written between two steps of one look is left to tests with threads and processes.

use std::time::{Duration, Instant};

use arbitrary::Arbitrary;
use oarlock::Accelerator;
use oarlock::rsa::{AcceleratedRsa, RsaPrivateKey};
use oarlock_local::{BareBoard, BareRequest, Place};

fuzz_target!(|input: Input| {
    thread_local!(static RSA: AcceleratedRsa = rsa());
    RSA.with(|rsa| run_on(rsa, input));
});

#[derive(Arbitrary, Debug)]
struct Input {
    full: u8,
    acts: Vec<Act>,
}

#[derive(Arbitrary, Debug)]
enum Act {
    /// A process with the key has a request wait.
    Ask {
        process: u8,
        number: u8,
    },
    /// The oldest request is waited for.
    Answer,
    Write {
        at: Kind,
        number: Number,
    },
    /// Into all slots.
    Fill {
        at: Kind,
        number: Number,
    },
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Kind {
    Waiting,
    Last,
    Busy,
    Gap,
    Missed,
    State(Slot),
    Bytes(Slot),
    Since(Slot),
    Seal(Slot, u8),
    Word(Slot, u8),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Slot {
    /// The slot of a request that waits.
    OfRequest(u8),
    Any(u8),
}

/// Numbers that mean something there, and others.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Number {
    Any(u64),
    /// A stage of what is there.
    Stage(u8),
    Flipped(u8),
    Moved(i16),
}

fn run_on(rsa: &AcceleratedRsa, input: Input) {
    let file = BareBoard::create().unwrap();
    let full = usize::from(input.full % 8) + 1;
    let boards: Vec<_> = (0..PROCESSES)
        .map(|_| BareBoard::map(&file, full, &[7; 32]).unwrap())
        .collect();
    // It need not know the secret.
    let hostile = BareBoard::map(&file, full, &[8; 32]).unwrap();
    let numbers: Vec<_> = (0..NUMBERS).map(|number| [number + 2; 100]).collect();
    let mut waiting: Vec<(BareRequest<'_>, usize)> = Vec::new();
    for act in input.acts.into_iter().take(ACTS_MAX) {
        match act {
            Act::Ask { process, number } => {
                let number = usize::from(number) % numbers.len();
                let board = &boards[usize::from(process) % boards.len()];
                let asked = board.ask(rsa, &numbers[number]);
                waiting.extend(asked.map(|asked| (asked, number)));
            }
            Act::Answer if waiting.is_empty() => {}
            Act::Answer => {
                let (request, number) = waiting.remove(0);
                answer(rsa, request, &numbers[number]);
            }
            Act::Write { at, number } => write(&hostile, at.place(&waiting, None), number),
            Act::Fill { at, number } => {
                for slot in 0..SLOTS {
                    write(&hostile, at.place(&waiting, Some(slot)), number);
                }
            }
        }
    }
    for (request, number) in waiting {
        answer(rsa, request, &numbers[number]);
    }
}

fn answer(rsa: &AcceleratedRsa, request: BareRequest<'_>, number: &[u8]) {
    let began = Instant::now();
    if let Some(power) = request.answer(rsa) {
        assert_eq!(power, rsa.raw_private(number).unwrap(), "a wrong power");
    }
    assert!(began.elapsed() < WAIT_MAX, "{:?}", began.elapsed());
}

impl Kind {
    fn place(self, waiting: &[(BareRequest<'_>, usize)], slot: Option<usize>) -> Place {
        let slot = |which: Slot| {
            slot.unwrap_or(match which {
                Slot::OfRequest(at) if !waiting.is_empty() => {
                    waiting[usize::from(at) % waiting.len()].0.place()
                }
                Slot::OfRequest(at) | Slot::Any(at) => at.into(),
            })
        };
        match self {
            Self::Waiting => Place::Waiting,
            Self::Last => Place::Last,
            Self::Busy => Place::Busy,
            Self::Gap => Place::Gap,
            Self::Missed => Place::Missed,
            Self::State(which) => Place::State(slot(which)),
            Self::Bytes(which) => Place::Bytes(slot(which)),
            Self::Since(which) => Place::Since(slot(which)),
            Self::Seal(which, half) => Place::Seal(slot(which), half.into()),
            Self::Word(which, word) => Place::Word(slot(which), word.into()),
        }
    }
}

fn write(board: &BareBoard, place: Place, number: Number) {
    board.change(place, |there| match number {
        Number::Any(value) => value,
        Number::Stage(stage) => there & !7 | u64::from(stage % 8),
        Number::Flipped(bit) => there ^ 1 << (bit % 64),
        Number::Moved(by) => there.wrapping_add_signed(by.into()),
    });
}

fn rsa() -> AcceleratedRsa {
    let key = include_str!("../../crates/oarlock/tests/keys/rsa1024.pem");
    let key = RsaPrivateKey::from_pem(key).unwrap();
    let accelerator = Accelerator::builder().max_threads(0).build().unwrap();
    accelerator.rsa(&key)
}

const PROCESSES: usize = 3;
const NUMBERS: u8 = 4;
const SLOTS: usize = 64;
const ACTS_MAX: usize = 24;
/// A request waits for 0.25 s at most; the machine may be busy.
const WAIT_MAX: Duration = Duration::from_secs(10);
