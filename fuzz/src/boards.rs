//! The file of a board that processes share, from arbitrary bytes, and with a process that writes into it: no panic,
//! nothing answered twice or sooner than a unit can be done, and queues that go on once it has stopped.
//!
//! Time is what the target says, so that an input does the same each time. What is written between two steps of one look
//! is left to tests with processes.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use arbitrary::Arbitrary;
use oarlock_engine::device::BareQueue;

fuzz_target!(|input: Input| {
    match input {
        Input::File { units, bytes } => {
            let file = File::new();
            std::fs::write(&file.0, bytes).unwrap();
            opened(&file, units.into());
        }
        Input::Edited {
            units,
            queues,
            edits,
        } => {
            let (file, queues) = (File::new(), usize::from(queues % 16) + 1);
            let units = usize::from(units % 3) + 1;
            BareQueue::create(&file.0, units, queues).unwrap();
            let bytes = {
                let queue = BareQueue::open(&file.0, units).unwrap();
                for (at, number) in edits {
                    write(&queue, 0..queue.file().len(), at, number, START_NS);
                }
                // As it is when its process is killed, not as it leaves.
                std::fs::read(&file.0).unwrap()
            };
            std::fs::write(&file.0, bytes).unwrap();
            opened(&file, units);
        }
        Input::Beside {
            units,
            everywhere,
            acts,
        } => beside(usize::from(units % 3) + 1, everywhere, acts),
    }
});

#[derive(Arbitrary, Debug)]
enum Input {
    File {
        units: u16,
        bytes: Vec<u8>,
    },
    /// A board, but for some numbers.
    Edited {
        units: u8,
        queues: u8,
        edits: Vec<(u16, Number)>,
    },
    Beside {
        units: u8,
        /// Not only into its own queue.
        everywhere: bool,
        acts: Vec<Act>,
    },
}

#[derive(Arbitrary, Debug)]
enum Act {
    Push {
        second: bool,
        time_us: u16,
    },
    Look {
        second: bool,
    },
    Pass {
        us: u32,
    },
    Write {
        at: u16,
        number: Number,
    },
    /// All of its own slots.
    Fill {
        state: Number,
        arrival: Number,
    },
}

/// Numbers that mean something in the file, and others.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Number {
    Any(u64),
    /// A request's state: its kind, its time, and a count.
    State {
        kind: u8,
        value: u32,
        count: u32,
    },
    /// What is there, but for one bit.
    Flipped(u8),
    /// What is there, and this much more or less.
    Moved(i16),
    /// The time, and this number of ns more or less.
    Around(i32),
}

/// The board's file, removed with it.
struct File(PathBuf);

impl File {
    fn new() -> Self {
        use std::sync::atomic::AtomicU64;
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Relaxed);
        let name = format!("oarlock-fuzz-board-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_file(&path);
        Self(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Opens what may be none, and uses it if it is one.
fn opened(file: &File, units: usize) {
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&file.0, mode).unwrap();
    let Ok(queue) = BareQueue::open(&file.0, units) else {
        return;
    };
    goes_on(&mut [Honest::new(queue)], &mut { START_NS });
}

fn beside(units: usize, everywhere: bool, acts: Vec<Act>) {
    let file = File::new();
    BareQueue::create(&file.0, units, 3).unwrap();
    let open = || BareQueue::open(&file.0, units).unwrap();
    let mut honest = [(); 2].map(|()| Honest::new(open()));
    let attacker = open();
    let (first, count) = attacker.place();
    let place = match everywhere {
        true => 0..attacker.file().len(),
        false => first..first + count,
    };
    let mut now_ns = START_NS;
    for act in acts {
        match act {
            Act::Push { second, time_us } => {
                honest[usize::from(second)].push(now_ns, time_us.into());
            }
            Act::Look { second } => {
                let honest = &mut honest[usize::from(second)];
                honest.queue.look(now_ns);
                honest.take(now_ns, everywhere);
            }
            Act::Pass { us } => now_ns += 1000 * u64::from(us),
            Act::Write { at, number } => write(&attacker, place.clone(), at, number, now_ns),
            Act::Fill { state, arrival } => {
                for at in (SLOTS_FROM..count - 1).step_by(2) {
                    let slot = first + at;
                    write(&attacker, slot..slot + 1, 0, state, now_ns);
                    write(&attacker, slot + 1..slot + 2, 0, arrival, now_ns);
                }
            }
        }
    }
    if !everywhere {
        // The requests that are there take this long, however many other processes there are.
        let waiting: usize = honest.iter().map(|one| one.given.len()).sum();
        for _ in 0..waiting + 2 {
            now_ns += STEP_NS;
            honest[0].queue.look(now_ns);
            honest.iter_mut().for_each(|one| one.take(now_ns, false));
        }
        assert!(honest.iter().all(|one| one.given.is_empty()), "starved");
        let busy: u64 = honest.iter().map(|one| one.busy_ns).sum();
        let last = honest.iter().map(|one| one.last_ns).max();
        let time = last.unwrap_or_default().saturating_sub(START_NS);
        assert!(busy <= units as u64 * time, "faster than its units");
    }
    goes_on(&mut honest, &mut now_ns);
}

/// Checks that all goes on once nobody writes: what is submitted now is done, but for what its queue loses as it
/// starts over.
fn goes_on(queues: &mut [Honest], now_ns: &mut u64) {
    for at in 0..queues.len() {
        let is_done = (0..TRIES).any(|_| {
            let before = queues[at].done;
            queues[at].push(*now_ns, 100);
            let waiting: usize = queues.iter().map(|one| one.given.len()).sum();
            for _ in 0..waiting + 2 {
                *now_ns += STEP_NS;
                queues[at].queue.look(*now_ns);
                for one in queues.iter_mut() {
                    one.take(*now_ns, true);
                }
                if let Some(next) = queues[at].queue.next_end_min(*now_ns) {
                    assert!(next <= *now_ns + 2 * STEP_NS, "asleep for {next}");
                }
            }
            queues[at].done > before && queues[at].given.is_empty()
        });
        assert!(is_done, "stuck");
    }
}

/// A queue, and what its owner knows of it.
struct Honest {
    queue: BareQueue,
    /// When each came, and what it takes.
    given: VecDeque<(u64, u64)>,
    done: usize,
    busy_ns: u64,
    last_ns: u64,
}

impl Honest {
    fn new(queue: BareQueue) -> Self {
        Self {
            queue,
            given: VecDeque::new(),
            done: 0,
            busy_ns: 0,
            last_ns: 0,
        }
    }

    fn push(&mut self, now_ns: u64, time_us: u64) {
        if self.queue.push(now_ns, Duration::from_micros(time_us)) {
            self.given.push_back((now_ns, 1000 * time_us));
        } else {
            assert!(self.given.len() >= FULL, "refused {}", self.given.len());
        }
    }

    fn take(&mut self, now_ns: u64, may_lose: bool) {
        loop {
            match self.queue.next_started(now_ns) {
                Some(Some(end)) => {
                    let (arrival, time) = self.given.pop_front().expect("answered twice");
                    assert!(end <= now_ns + STEP_NS, "{end} at {now_ns}");
                    assert!(may_lose || end >= arrival + time, "done before it began");
                    self.done += 1;
                    self.busy_ns += time;
                    self.last_ns = self.last_ns.max(end);
                }
                Some(None) => return,
                None => {
                    assert!(may_lose, "written over by nobody");
                    self.given.clear();
                    return;
                }
            }
        }
    }
}

fn write(queue: &BareQueue, place: std::ops::Range<usize>, at: u16, number: Number, now_ns: u64) {
    let numbers = &queue.file()[place];
    let number_at = &numbers[usize::from(at) % numbers.len()];
    let there = number_at.load(Relaxed);
    let value = match number {
        Number::Any(value) => value,
        Number::State { kind, value, count } => {
            u64::from(kind) << 62 | u64::from(value >> 2) << 32 | u64::from(count)
        }
        Number::Flipped(bit) => there ^ 1 << (bit % 64),
        Number::Moved(by) => there.wrapping_add_signed(by.into()),
        Number::Around(by) => now_ns.wrapping_add_signed(by.into()),
    };
    number_at.store(value, Relaxed);
}

const START_NS: u64 = 10_000_000_000;
/// More than two of the longest requests take, and than a unit may say to be busy for.
const STEP_NS: u64 = 4_000_000_000;
/// A queue that is written over behind what it holds finds out when it comes there.
const TRIES: usize = 4;
const FULL: usize = 1023;
/// Where the slots of a queue begin, counted in numbers.
const SLOTS_FROM: usize = 8;
