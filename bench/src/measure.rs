//! The clock: samples of two contestants in turn.
//!
//! ```text
//! round 1   A B      each sample: IV set, a quarter of the calls unmeasured, then the clock
//! round 2   B A      runs over as many calls as take `sample` (found out beforehand)
//! round 3   A B      after idle: some calls, sleep, then the clock runs over one call
//! ```
//!
//! Each round sets its keys up anew, at other places of the heap. With sessions made once, the same
//! code measured against itself came to 0.73 and 0.65 in single processes and to 0.97 at 1 MiB in all
//! of them; so it comes to 0.98 to 1.02 at 64 bytes and 0.99 to 1.01 above (20 processes, Zen 4). To
//! see what a machine can tell apart: `--peer inline` with one thread, which is that very comparison.

use std::time::{Duration, Instant};

use crate::Error;
use crate::buffer::Buffer;
use crate::peer::{Nonces, Subject};

/// What is done under the clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    pub(crate) bytes: usize,
    pub(crate) fresh_nonce: bool,
    pub(crate) mode: Mode,
    pub(crate) rounds: usize,
    pub(crate) sample: Duration,
}

/// How calls follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    BackToBack,
    /// Each after a pause of so many milliseconds.
    AfterIdle(u64),
}

/// One side of a comparison: a subject for each stream, of which there are as many as the depth.
pub(crate) struct Contestant {
    pub(crate) name: &'static str,
    pub(crate) subjects: Vec<Box<dyn Subject>>,
    nonces: Nonces,
}

impl Contestant {
    pub(crate) fn new(name: &'static str, subjects: Vec<Box<dyn Subject>>) -> Self {
        Self {
            name,
            subjects,
            nonces: Nonces::default(),
        }
    }

    fn restart(&mut self) {
        for (number, subject) in self.subjects.iter_mut().enumerate() {
            subject.set_iv(&stream_iv(number));
        }
    }

    /// `calls` requests on each stream, the streams by turns.
    fn run(&mut self, buffers: &mut [Buffer], calls: usize, fresh_nonce: bool) {
        let turns = if self.subjects.len() == 1 { 1 } else { calls };
        for _ in 0..turns {
            for (subject, buffer) in self.subjects.iter_mut().zip(&mut *buffers) {
                let data = buffer.bytes_mut();
                if fresh_nonce {
                    subject.apply_times_fresh(data, calls / turns, &mut self.nonces);
                } else {
                    subject.apply_times(data, calls / turns);
                }
            }
        }
    }

    fn timed(&mut self, buffers: &mut [Buffer], calls: usize, fresh_nonce: bool) -> Duration {
        let began = Instant::now();
        self.run(buffers, calls, fresh_nonce);
        began.elapsed().max(Duration::from_nanos(1))
    }

    /// Calls that take about `work.sample`; warms up on the way.
    fn calibrate(&mut self, buffers: &mut [Buffer], work: &Work) -> usize {
        if let Mode::AfterIdle(_) = work.mode {
            self.run(buffers, 2, work.fresh_nonce);
            return 1;
        }
        let mut calls = 1;
        loop {
            self.restart();
            let took = self.timed(buffers, calls, work.fresh_nonce);
            let scale = work.sample.as_secs_f64() / took.as_secs_f64();
            if scale < 2.0 {
                return ((calls as f64 * scale).ceil() as usize).max(1);
            }
            calls *= if scale > 10.0 { 8 } else { 2 };
        }
    }

    /// One sample, in 10^9 bytes a second.
    fn sample(&mut self, buffers: &mut [Buffer], calls: usize, work: &Work) -> f64 {
        self.restart();
        match work.mode {
            Mode::BackToBack => self.run(buffers, (calls / 4).max(1), work.fresh_nonce),
            Mode::AfterIdle(ms) => {
                self.run(buffers, CALLS_BEFORE_IDLE, work.fresh_nonce);
                std::thread::sleep(Duration::from_millis(ms));
            }
        }
        let took = self.timed(buffers, calls, work.fresh_nonce);
        let bytes = calls * work.bytes * self.subjects.len();
        bytes as f64 / took.as_nanos() as f64
    }
}

/// The IV of one of several streams. Its last four bytes, which count blocks, are zero: at 1 GiB a
/// request none that is timed passes 2^32 blocks, which not every peer could.
pub(crate) fn stream_iv(number: usize) -> [u8; 16] {
    STREAM_IV.wrapping_mul(2 * number as u128 + 1).to_be_bytes()
}

/// Sets up the keys of one side.
pub(crate) type Maker<'a> = &'a dyn Fn() -> Result<Contestant, Error>;

/// Samples of what `a` and `b` make, in pairs.
pub(crate) fn in_turn(
    a_maker: Maker<'_>,
    b_maker: Maker<'_>,
    buffers: &mut [Buffer],
    work: &Work,
) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let a_calls = a_maker()?.calibrate(buffers, work);
    let b_calls = b_maker()?.calibrate(buffers, work);
    let mut places = Places(work.bytes as u64);
    let mut samples = (Vec::new(), Vec::new());
    for round in 0..work.rounds {
        let _place = places.next_gap();
        let (mut a, mut b);
        let _gap;
        if round % 4 < 2 {
            a = a_maker()?;
            _gap = places.next_gap();
            b = b_maker()?;
        } else {
            b = b_maker()?;
            _gap = places.next_gap();
            a = a_maker()?;
        }
        if round % 2 == 0 {
            samples.0.push(a.sample(buffers, a_calls, work));
            samples.1.push(b.sample(buffers, b_calls, work));
        } else {
            samples.1.push(b.sample(buffers, b_calls, work));
            samples.0.push(a.sample(buffers, a_calls, work));
        }
    }
    Ok(samples)
}

/// Gaps that move what is allocated next, by lines and by pages, with no pattern that one side
/// could be in step with.
struct Places(u64);

impl Places {
    fn next_gap(&mut self) -> Vec<u8> {
        // Knuth's MMIX generator; its upper bits are the good ones.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        vec![0; 64 * (self.0 >> 55) as usize]
    }
}

/// Before idleness: enough that a session has found its way.
const CALLS_BEFORE_IDLE: usize = 16;
const STREAM_IV: u128 = 0x0f1e_2d3c_4b5a_6978_8796_a5b4_0000_0000;
