//! The figures of a board, its times for other lengths, and its faults.

use std::time::Duration;

use crate::work::shape::{PublicKeyOperation, Shape};

/// An accelerator board, by its times for RSA with 1024 bits.
///
/// For other lengths: a coprocessor multiplies numbers in time proportional to the square of their length, once for each bit
/// of the exponent. So without the primes the time grows as modulus² × exponent, and with the primes as modulus³. The host
/// only moves numbers: its share is proportional to the modulus, and its pauses are constant.
///
/// Any figure may be changed:
///
/// ```
/// use oarlock::device::SimulatedBoard;
/// let twice = SimulatedBoard { coprocessors: 16, ..SimulatedBoard::nfast300() };
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedBoard {
    /// Operations computed at once; at least 1.
    pub coprocessors: usize,
    /// The mean time of a power without the primes on an idle board, from request to result, including the host's share.
    pub latency: Duration,
    /// The same time with the two primes of a key. `None`: the board ignores them and needs [`latency`](Self::latency).
    pub latency_with_crt: Option<Duration>,
    /// The host's part of the latency, before a coprocessor begins.
    pub host: Host,
    /// The largest deviation of a coprocessor's time from its mean, as a fraction of it, 0 to 1; evenly distributed.
    pub jitter: f64,
    /// Faults. The first one that applies to a request takes effect.
    pub faults: Vec<Injection>,
    /// The seed. Jitter, pauses and fault rates depend only on it and the request's number.
    pub seed: u64,
}

/// The single CPU in front of a board, with its driver. It serves one request after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Host {
    /// Its time for a request of 1024 bits.
    pub share: Duration,
    /// Occasional delays.
    pub pauses: Option<Pauses>,
}

/// Random pauses of a host. Each also delays all later requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pauses {
    /// One request in `one_in` has a pause; at least 1.
    pub one_in: u32,
    /// The length of a pause.
    pub length: Duration,
}

/// A fault in some requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Injection {
    /// The fault.
    pub fault: Fault,
    /// The requests that have it.
    pub when: When,
}

/// The kinds of fault. In each case the coprocessor is free after the request's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// A wrong number as the result.
    WrongResult,
    /// The call returns without an answer.
    NoAnswer,
    /// The call does not return or answer before [`SimulatedDevice::release`](super::SimulatedDevice::release).
    Hang,
    /// An error instead of the result.
    Error,
    /// The result, twice.
    TwoAnswers,
    /// The result, late by this time.
    Late(Duration),
    /// This request and all later ones fail, as do those under way, as by
    /// [`SimulatedDevice::kill`](super::SimulatedDevice::kill).
    Death,
    /// The board restarts: all its requests fail, its keys are gone, and it accepts nothing for this time. Only boards with
    /// a queue have this fault ([`SimulatedEngine`](super::SimulatedEngine)); for others it is `Error`.
    Reset(Duration),
    /// The result, with a byte after the end of its memory changed. Only boards with a queue have this fault; for others it
    /// is `WrongResult`.
    Overrun,
    /// Half of the result, and an error. Only boards with a queue have this fault; for others it is `Error`.
    Half,
}

/// The requests of a device that have a fault, counted from 1 in order of arrival.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum When {
    /// Only the request with this number.
    Once(u64),
    /// Requests whose number is a multiple of this; none if 0.
    Every(u64),
    /// Each request with this probability, 0 to 1.
    Rate(f64),
}

impl SimulatedBoard {
    /// An Atalla AXL200 of 2000: 26 coprocessors, which ignore the primes. One thread reaches 10.85 operations per second,
    /// 25 threads 266 (docs/internals/simulated-boards.md).
    pub fn axl200() -> Self {
        Self {
            coprocessors: 26,
            latency: Duration::from_micros(92_190),
            latency_with_crt: None,
            host: ULTRA_10,
            jitter: 0.02,
            faults: Vec::new(),
            seed: 200,
        }
    }

    /// An nCipher nFast 300 of 2000: 8 coprocessors. With the primes, one thread reaches 37 operations per second, 10
    /// threads 289 and 32 threads 300; without them, one thread reaches 11.7 and many 93
    /// (docs/internals/simulated-boards.md).
    pub fn nfast300() -> Self {
        Self {
            coprocessors: 8,
            latency: Duration::from_micros(85_680),
            latency_with_crt: Some(Duration::from_micros(27_030)),
            host: ULTRA_10,
            jitter: 0.02,
            faults: Vec::new(),
            seed: 300,
        }
    }

    /// Returns the mean time of a request of a shape on an idle board. The board's figures must have passed `check`.
    pub(super) fn latency_of(&self, shape: &Shape) -> Duration {
        self.host_share(shape) + self.mean_of_pauses() + self.coprocessor_time(shape)
    }

    /// Returns what is wrong with the figures.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.coprocessors == 0 {
            return Err("no coprocessors: give it 1 or more".into());
        }
        let is_part = |part: f64| (0.0..=1.0).contains(&part);
        let pause = self
            .host
            .pauses
            .map_or(Duration::ZERO, |pauses| pauses.length);
        let with_crt = self.latency_with_crt.unwrap_or_default();
        let mut longest = self.latency.max(with_crt).max(self.host.share).max(pause);
        if !is_part(self.jitter) {
            return Err(format!("a jitter of {}: 0 to 1 is one", self.jitter));
        }
        for Injection { fault, when } in &self.faults {
            if let When::Rate(rate) = when
                && !is_part(*rate)
            {
                return Err(format!("a fault at a rate of {rate}: 0 to 1 is one"));
            }
            if let Fault::Late(late_by) = fault {
                longest = longest.max(*late_by);
            }
        }
        if longest > TIME_MAX {
            return Err(format!(
                "a time of {longest:?}: {TIME_MAX:?} is the longest"
            ));
        }
        let pauses = self.host.pauses;
        if pauses.is_some_and(|pauses| pauses.one_in == 0) {
            return Err("a pause in one of 0 requests: give 1 or more".into());
        }
        let shortest = self
            .latency_with_crt
            .map_or(self.latency, |with| with.min(self.latency));
        if shortest <= self.mean_of_host() {
            return Err(format!(
                "a latency of {shortest:?}, of which the host has {:?}: nothing is left for a coprocessor",
                self.mean_of_host()
            ));
        }
        Ok(())
    }

    /// Returns the fault of a request, by number.
    pub(super) fn fault(&self, number: u64) -> Option<Fault> {
        fault(&self.faults, self.seed, number)
    }

    /// Returns the host's time for a request, by number.
    pub(super) fn host_time(&self, number: u64, shape: &Shape) -> Duration {
        let share = self.host_share(shape);
        match self.host.pauses {
            Some(Pauses { one_in, length })
                if self.draw(number, PAUSE) * f64::from(one_in) < 1.0 =>
            {
                share + length
            }
            _ => share,
        }
    }

    /// Returns the coprocessor's time for a request, by number.
    pub(super) fn coprocessor_time_of(&self, number: u64, shape: &Shape) -> Duration {
        self.coprocessor_time(shape)
            .mul_f64(jittered(self.jitter, self.seed, number))
    }

    fn coprocessor_time(&self, shape: &Shape) -> Duration {
        let modulus = shape.modulus_bits as f64 / BITS;
        let exponent = shape.exponent_bits as f64 / BITS;
        let (latency, times) = match (&shape.operation, self.latency_with_crt) {
            (PublicKeyOperation::PrivateByPrimes, Some(with_crt)) => (with_crt, modulus.powi(3)),
            _ => (self.latency, modulus.powi(2) * exponent),
        };
        latency.saturating_sub(self.mean_of_host()).mul_f64(times)
    }

    fn host_share(&self, shape: &Shape) -> Duration {
        self.host.share.mul_f64(shape.modulus_bits as f64 / BITS)
    }

    /// Returns the host's mean time for 1024 bits.
    fn mean_of_host(&self) -> Duration {
        self.host.share + self.mean_of_pauses()
    }

    fn mean_of_pauses(&self) -> Duration {
        let pauses = self.host.pauses;
        pauses.map_or(Duration::ZERO, |pauses| pauses.length / pauses.one_in)
    }

    fn draw(&self, number: u64, purpose: u64) -> f64 {
        draw(self.seed, number, purpose)
    }
}

/// Returns the fault of a request, by number.
pub(super) fn fault(faults: &[Injection], seed: u64, number: u64) -> Option<Fault> {
    let mut faults = faults.iter().zip(FIRST_OF_FAULTS..);
    let found = faults.find(|(injection, purpose)| match injection.when {
        When::Once(only) => number == only,
        When::Every(nth) => nth != 0 && number.is_multiple_of(nth),
        When::Rate(rate) => draw(seed, number, *purpose) < rate,
    });
    found.map(|(injection, _)| injection.fault)
}

/// Returns a random factor between `1 - jitter` and `1 + jitter`.
pub(super) fn jittered(jitter: f64, seed: u64, number: u64) -> f64 {
    1.0 + jitter * (2.0 * draw(seed, number, JITTER) - 1.0)
}

/// Returns a number in [0, 1) for one purpose in one request, by SplitMix64 (Steele, Lea, Flood 2014), which turns a counter
/// into well-distributed numbers.
fn draw(seed: u64, number: u64, purpose: u64) -> f64 {
    let counter = seed
        .wrapping_mul(0xd134_2543_de82_ef95)
        .wrapping_add(number.wrapping_mul(PURPOSES_MAX).wrapping_add(purpose));
    let mut mixed = counter.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    (mixed >> 11) as f64 / (1_u64 << 53) as f64
}

/// The host of both boards in the paper, a Sun Ultra-10, as fitted to its figures.
const ULTRA_10: Host = Host {
    share: Duration::from_micros(100),
    pauses: Some(Pauses {
        one_in: 200,
        length: Duration::from_millis(40),
    }),
};

/// The longest of any time in a board, so that sums of times for numbers of any length fit a `Duration`.
const TIME_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// The modulus length that the figures apply to.
const BITS: f64 = 1024.0;

// The purposes of random numbers.
const JITTER: u64 = 0;
const PAUSE: u64 = 1;
/// The purpose of the first injection; each injection has its own.
const FIRST_OF_FAULTS: u64 = 2;
/// More than any number of injections.
const PURPOSES_MAX: u64 = 1 << 16;
