//! The clock: alternating samples of two contestants.
//!
//! ```text
//! round 1   A B      each sample: key set up, some calls unmeasured, then the clock
//! round 2   B A      runs over as many calls as take `sample` (found out beforehand)
//! round 3   A B      after idle: some calls, sleep, once more, then the clock runs over one call
//!                    burst: the same, over as many calls as the burst has
//!                    prefilled: keystream computed ahead, then the clock runs over one call
//! ```
//!
//! Each sample sets its keys up again, at another place of the heap. With sessions created once, the same code measured
//! against itself had ratios of 0.73 and 0.65 in single processes, and of 0.97 at 1 MiB in all of them; with new keys
//! they are 0.98 to 1.02 at 64 bytes and 0.99 to 1.01 above (20 processes, Zen 4). To see which differences a machine
//! can resolve, run `--peer inline` with one thread, which is that comparison. A side is dropped before the other has
//! its turn: keystream that helpers compute ahead for one must not take the other's core.

use std::time::{Duration, Instant};

use super::buffer::Buffer;
use super::statistics::Summary;
use crate::error::Error;
use crate::peers::{Nonces, Sealed, Subject};

/// The timed work.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    /// The bytes of a request; in [`Mode::Burst`], those of the burst.
    pub(crate) bytes: usize,
    pub(crate) fresh_nonce: bool,
    pub(crate) mode: Mode,
    pub(crate) rounds: usize,
    pub(crate) sample: Duration,
    /// The fewest bytes of consecutive calls, both before the clock runs and while it does: several times the
    /// prefetched keystream of a cipher. Otherwise keystream computed before the clock started would count as speed.
    pub(crate) bytes_min: usize,
    /// The messages to open, if the case opens; each has [`Work::call_bytes`].
    pub(crate) messages: Vec<Sealed>,
}

impl Work {
    fn calls_min(&self) -> usize {
        self.bytes_min.div_ceil(self.bytes.max(1)).max(1)
    }

    pub(crate) fn call_bytes(&self) -> usize {
        match self.mode {
            Mode::Burst { call_bytes, .. } => call_bytes.min(self.bytes),
            _ => self.bytes,
        }
    }
}

/// The pattern in which calls follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    BackToBack,
    /// Each call follows a pause of this number of milliseconds.
    AfterIdle(u64),
    /// Several calls in a row follow a pause.
    Burst {
        idle_ms: u64,
        call_bytes: usize,
    },
    /// The caller computes the keystream of each call ahead, outside the clock.
    Prefilled,
}

/// One side of a comparison, with a subject for each stream; their number is the depth.
pub(crate) struct Contestant {
    pub(crate) name: &'static str,
    pub(crate) subjects: Vec<Subject>,
    /// Whether it computes keystream ahead if the mode asks for it. Oarlock's own peers could too, but do not.
    pub(crate) prefills: bool,
    nonces: Nonces,
    opened: usize,
}

impl Contestant {
    pub(crate) fn new(name: &'static str, subjects: Vec<Subject>) -> Self {
        Self {
            name,
            subjects,
            prefills: false,
            nonces: Nonces::default(),
            opened: 0,
        }
    }

    fn restart(&mut self) {
        for (number, subject) in self.subjects.iter_mut().enumerate() {
            if let Subject::Stream(stream) = subject {
                stream.set_iv(&stream_iv(number));
            }
        }
    }

    /// Runs `calls` requests on each stream, alternating between streams; in a burst, `calls` bursts.
    fn run(&mut self, buffers: &mut [Buffer], calls: usize, work: &Work) {
        let call_bytes = work.call_bytes();
        let by_turns = self.subjects.len() > 1 || call_bytes < work.bytes;
        let turns = if by_turns { calls } else { 1 };
        for _ in 0..turns {
            for (subject, buffer) in self.subjects.iter_mut().zip(&mut *buffers) {
                for data in buffer.bytes_mut().chunks_mut(call_bytes) {
                    let calls = calls / turns;
                    match subject {
                        Subject::Stream(stream) if work.fresh_nonce => {
                            stream.apply_times_fresh(data, calls, &mut self.nonces);
                        }
                        Subject::Stream(stream) => stream.apply_times(data, calls),
                        Subject::Aead(aead) if work.messages.is_empty() => {
                            std::hint::black_box(aead.seal_times(data, calls, &mut self.nonces));
                        }
                        Subject::Aead(aead) => {
                            let right = aead.open_times(&work.messages, self.opened, data, calls);
                            assert!(right, "{}: what opened before opens again", self.name);
                            self.opened += calls;
                        }
                    }
                }
            }
        }
    }

    fn timed(&mut self, buffers: &mut [Buffer], calls: usize, work: &Work) -> Duration {
        let began = Instant::now();
        self.run(buffers, calls, work);
        began.elapsed().max(Duration::from_nanos(1))
    }

    /// Returns the number of calls that take about `work.sample`. Also warms up.
    fn calibrate(&mut self, buffers: &mut [Buffer], work: &Work) -> usize {
        if work.mode != Mode::BackToBack {
            self.run(buffers, 2, work);
            return 1;
        }
        let mut calls = 1;
        loop {
            self.restart();
            let took = self.timed(buffers, calls, work);
            let scale = work.sample.as_secs_f64() / took.as_secs_f64();
            if scale < 2.0 {
                return ((calls as f64 * scale).ceil() as usize).max(work.calls_min());
            }
            calls *= if scale > 10.0 { 8 } else { 2 };
        }
    }

    /// Takes one sample, in 10^9 bytes per second.
    fn sample(&mut self, buffers: &mut [Buffer], calls: usize, work: &Work) -> f64 {
        self.restart();
        let took = match work.mode {
            Mode::BackToBack => {
                self.run(buffers, (calls / 4).max(work.calls_min()), work);
                self.timed(buffers, calls, work)
            }
            Mode::AfterIdle(ms) => {
                for _ in 0..=PAUSES_BEFORE {
                    let began = Instant::now();
                    for _ in 0..CALLS_BEFORE_IDLE {
                        self.run(buffers, 1, work);
                        if began.elapsed() > BEFORE_IDLE_MAX {
                            break;
                        }
                    }
                    std::thread::sleep(Duration::from_millis(ms));
                }
                self.timed(buffers, calls, work)
            }
            Mode::Burst { idle_ms, .. } => {
                for _ in 0..BURSTS_BEFORE {
                    self.run(buffers, 1, work);
                    std::thread::sleep(Duration::from_millis(idle_ms));
                }
                self.timed(buffers, calls, work)
            }
            Mode::Prefilled => return self.sample_prefilled(buffers, work),
        };
        self.rate(took, calls, work)
    }

    /// Takes a sample as the median of several calls: one call is too short.
    fn sample_prefilled(&mut self, buffers: &mut [Buffer], work: &Work) -> f64 {
        let rates = [(); PREFILLS].map(|()| {
            for subject in &mut self.subjects {
                if let Subject::Stream(stream) = subject
                    && self.prefills
                {
                    stream.prefill(PREFILL_BUDGET);
                }
            }
            let took = self.timed(buffers, 1, work);
            self.rate(took, 1, work)
        });
        Summary::of(&rates).median
    }

    fn rate(&self, took: Duration, calls: usize, work: &Work) -> f64 {
        let bytes = calls * work.bytes * self.subjects.len();
        bytes as f64 / took.as_nanos() as f64
    }
}

/// Returns the IV of one of several streams. Its last four bytes, which count blocks, are zero: at 1 GiB a request no
/// timed stream passes 2^32 blocks, which not every peer supports.
pub(crate) fn stream_iv(number: usize) -> [u8; 16] {
    STREAM_IV.wrapping_mul(2 * number as u128 + 1).to_be_bytes()
}

/// Sets up the keys of one side.
pub(crate) type Maker<'a> = &'a dyn Fn() -> Result<Contestant, Error>;

/// Returns samples of the contestants of `a` and `b`, in pairs.
pub(crate) fn in_turn(
    a_maker: Maker<'_>,
    b_maker: Maker<'_>,
    buffers: &mut [Buffer],
    work: &Work,
) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let a_calls = a_maker()?.calibrate(buffers, work);
    let b_calls = b_maker()?.calibrate(buffers, work);
    let mut places = Places(work.bytes as u64);
    let mut sample = |maker: Maker<'_>, calls| {
        let _place = places.next_gap();
        let mut contestant = maker()?;
        Ok::<_, Error>(contestant.sample(buffers, calls, work))
    };
    let mut samples = (Vec::new(), Vec::new());
    for round in 0..work.rounds {
        if round % 2 == 0 {
            samples.0.push(sample(a_maker, a_calls)?);
            samples.1.push(sample(b_maker, b_calls)?);
        } else {
            samples.1.push(sample(b_maker, b_calls)?);
            samples.0.push(sample(a_maker, a_calls)?);
        }
    }
    Ok(samples)
}

/// Gaps that move later allocations by lines and by pages, without a pattern that could favour one side.
struct Places(u64);

impl Places {
    fn next_gap(&mut self) -> Vec<u8> {
        // Knuth's MMIX generator, whose upper bits are the good ones.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        vec![0; 64 * (self.0 >> 55) as usize]
    }
}

/// The calls before a pause: enough for a session to adapt, unless they take too long.
const CALLS_BEFORE_IDLE: usize = 16;
const BEFORE_IDLE_MAX: Duration = Duration::from_millis(50);
/// The pauses before the timed one, each after calls of its own: a plan can learn that a program pauses only after it
/// has.
const PAUSES_BEFORE: usize = 3;
/// The bursts before the timed one, each with its pause: enough for a plan to learn the pattern.
const BURSTS_BEFORE: usize = 2;
const PREFILLS: usize = 15;
/// The time for computing keystream ahead: more than any burst measured like this needs.
const PREFILL_BUDGET: Duration = Duration::from_millis(5);
const STREAM_IV: u128 = 0x0f1e_2d3c_4b5a_6978_8796_a5b4_0000_0000;
