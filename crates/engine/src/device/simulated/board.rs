//! What a board is: figures, the rule for other lengths, and what goes wrong when.

use std::time::Duration;

use crate::work::shape::{PublicKeyOperation, Shape};

/// An accelerator board, by what it takes for RSA with 1024 bits.
///
/// For other lengths: a coprocessor multiplies numbers in a time that goes with the square of their
/// length, once for each bit of the exponent. So without primes it takes modulus² × exponent of what
/// it takes for 1024 bits, and by the primes modulus³. The host only moves numbers: its share goes
/// with the modulus, and its pauses are as they are.
///
/// Any figure may be changed:
/// ```
/// use oarlock::device::SimulatedBoard;
/// let twice = SimulatedBoard { coprocessors: 16, ..SimulatedBoard::nfast300() };
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedBoard {
    /// Operations that it works on at once; at least 1.
    pub coprocessors: usize,
    /// From request to result of a power without the primes, when there is nothing else to do; the
    /// mean, with the host's share.
    pub latency: Duration,
    /// The same by the two primes of a key. `None`: the board ignores them, and takes
    /// [`latency`](Self::latency).
    pub latency_with_crt: Option<Duration>,
    /// What of the latency is the host's, before a coprocessor begins.
    pub host: Host,
    /// By how much a coprocessor's times differ from their mean, evenly, as a part of it: 0 to 1.
    pub jitter: f64,
    /// The first that applies to a request is done to it.
    pub faults: Vec<Injection>,
    /// Jitter, pauses and rates of faults depend on it and on a request's number alone.
    pub seed: u64,
}

/// The CPU in front of a board, with its driver: one, which does one request after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Host {
    /// For each request of 1024 bits.
    pub share: Duration,
    /// Now and then it takes longer.
    pub pauses: Option<Pauses>,
}

/// Pauses of a host, at random in some requests. They hold up all requests behind as well.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pauses {
    /// One request in `one_in` has a pause; at least 1.
    pub one_in: u32,
    /// How long it lasts.
    pub length: Duration,
}

/// Something that goes wrong in some requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Injection {
    /// The fault.
    pub fault: Fault,
    /// The requests that it happens in.
    pub when: When,
}

/// What goes wrong. The coprocessor is free when the request's time is over, whatever it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// Another number in the place of the result.
    WrongResult,
    /// The call returns and has not answered.
    NoAnswer,
    /// The call does not return before [`SimulatedDevice::release`](super::SimulatedDevice::release);
    /// then it answers.
    Hang,
    /// An error in the place of the result.
    Error,
    /// The result, twice.
    TwoAnswers,
    /// The result, so much later.
    Late(Duration),
    /// From this request on all fail, and those under way with it, as by
    /// [`SimulatedDevice::kill`](super::SimulatedDevice::kill).
    Death,
    /// The board restarts: all that it has fails, its keys are gone, and it takes nothing for this long. Only boards
    /// with a queue do this ([`SimulatedEngine`](super::SimulatedEngine)); for others it is `Error`.
    Reset(Duration),
    /// The result, with a byte behind the end of its memory changed. Only boards with a queue do this; for others it is
    /// `WrongResult`.
    Overrun,
    /// Half of the result, and an error. Only boards with a queue do this; for others it is `Error`.
    Half,
}

/// The requests of a device that have a fault, counted from 1 in the order of their arrival.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum When {
    /// The one with this number alone.
    Once(u64),
    /// Requests whose number is a multiple of this; none if 0.
    Every(u64),
    /// Each with this probability, 0 to 1.
    Rate(f64),
}

impl SimulatedBoard {
    /// An Atalla AXL200 of 2000: 26 coprocessors, which ignore the primes. One thread gets 10.85
    /// operations a second out of it, 25 get 266 (docs/internals/simulated-boards.md).
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

    /// An nCipher nFast 300 of 2000: 8 coprocessors. One thread gets 37 operations a second out of
    /// it by the primes, 10 get 289 and 32 get 300; 11.7 and 93 without (docs/internals/simulated-boards.md).
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

    /// What a request of a shape takes when there is nothing else to do; the mean. Of a board that
    /// was checked.
    pub(super) fn latency_of(&self, shape: &Shape) -> Duration {
        self.host_share(shape) + self.mean_of_pauses() + self.coprocessor_time(shape)
    }

    /// What contradicts what.
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

    /// What happens to the request of a number.
    pub(super) fn fault(&self, number: u64) -> Option<Fault> {
        fault(&self.faults, self.seed, number)
    }

    /// What the host takes for a request of a number.
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

    /// And then a coprocessor.
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

    /// For 1024 bits.
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

/// What happens to the request of a number.
pub(super) fn fault(faults: &[Injection], seed: u64, number: u64) -> Option<Fault> {
    let mut faults = faults.iter().zip(FIRST_OF_FAULTS..);
    let found = faults.find(|(injection, purpose)| match injection.when {
        When::Once(only) => number == only,
        When::Every(nth) => nth != 0 && number.is_multiple_of(nth),
        When::Rate(rate) => draw(seed, number, *purpose) < rate,
    });
    found.map(|(injection, _)| injection.fault)
}

/// By what a time is multiplied that differs from its mean by up to `jitter` of it.
pub(super) fn jittered(jitter: f64, seed: u64, number: u64) -> f64 {
    1.0 + jitter * (2.0 * draw(seed, number, JITTER) - 1.0)
}

/// A number from 0 to 1, less than 1, for a purpose in a request: SplitMix64 (Steele, Lea, Flood
/// 2014), which makes good numbers of a counter.
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

/// The host of both boards in the paper, a Sun Ultra-10, as fitted.
const ULTRA_10: Host = Host {
    share: Duration::from_micros(100),
    pauses: Some(Pauses {
        one_in: 200,
        length: Duration::from_millis(40),
    }),
};

/// The longest of any time in a board: sums of such times, for numbers of any length, are far below what a `Duration`
/// holds.
const TIME_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// The length of the modulus that the figures are for.
const BITS: f64 = 1024.0;

// What numbers are drawn for.
const JITTER: u64 = 0;
const PAUSE: u64 = 1;
/// That of the first injection; each has its own.
const FIRST_OF_FAULTS: u64 = 2;
/// More than anyone injects.
const PURPOSES_MAX: u64 = 1 << 16;
