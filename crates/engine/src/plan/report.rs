//! Reports what the plan would do, in figures and words for people.
//!
//! The sizes are found by asking the decisions themselves.

use std::time::{Duration, Instant};

use super::ahead::{LOOKS, RING_SHARE};
use super::engine::Engine;
use super::helpers::{Helpers, HelpersOf};
use super::pace::{Pace, Way};
use crate::Error;
use crate::costs::cost::{Cost, Machine};
use crate::costs::lookup::CostSource;
use crate::device::CipherDevice;
use crate::device::ciphers::not_offered;
use crate::options::Strategy;
use crate::work::algorithm::{Algorithm, Kind};

/// How a new session of an algorithm is planned, from `Accelerator::plan`.
///
/// ```
/// use oarlock::{Accelerator, Algorithm};
///
/// let report = Accelerator::builder().build()?.plan(Algorithm::Aes128Ctr)?;
/// assert!(report.bytes_per_second > 0);
/// # Ok::<(), oarlock::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PlanReport {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The device on which it opens.
    pub device: String,
    /// The backend of the device that serves it.
    pub backend: String,
    /// The fixed cost of a request in nanoseconds, on top of that of its bytes.
    pub setup_ns: u64,
    /// The rate of one thread.
    pub bytes_per_second: u64,
    /// Where the setup time and the rate come from.
    pub source: CostSource,
    /// Pool threads that may help with one request.
    pub helpers: usize,
    /// Requests of this many bytes and more may each read the clock and the pool; shorter ones of a stream cipher do so
    /// together now and then. `None`: no request does.
    pub looked_at_from: Option<usize>,
    /// Requests of this many bytes and more are cut into stripes if helpers are awake.
    pub striped_from_if_awake: Option<usize>,
    /// The same if helpers sleep and nothing suggests that more requests follow soon.
    pub striped_from_if_asleep: Option<usize>,
    /// Whether keystream is made ahead.
    pub made_ahead: MadeAhead,
}

/// Whether keystream is made ahead, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MadeAhead {
    /// Requests of this many bytes and more use it; `None`: none does.
    pub from: Option<usize>,
    /// In words, such as "no: aes-128-ctr at 27 GB/s gains too little: keystream comes from another core at
    /// 36 GB/s, of which making more of it leaves 9.0 GB/s".
    pub why: String,
}

impl PlanReport {
    #[doc(hidden)]
    pub fn of(engine: &Engine, algorithm: Algorithm) -> Result<Self, Error> {
        let offers = engine.offers(algorithm);
        let offer = offers.first().ok_or_else(|| not_offered(algorithm))?;
        let (device, backend, cost) = (offer.device, offer.backend, offer.cost);
        let source = engine
            .ciphers
            .costs
            .of(algorithm, device.name(), backend)
            .map_or(CostSource::Offered, |(_, source)| source);
        let strategy = engine.options().strategy;
        let helpers = engine.helpers_max().min(engine.live.cipher_threads());
        let view = View {
            engine,
            algorithm,
            cost,
            machine: engine.machine.get(),
            strategy,
            helpers,
        };
        let may_stripe = helpers > 0
            && matches!(strategy, Strategy::Auto | Strategy::Stripe)
            && knows_parts(device, algorithm);
        let striped_from = |awake| {
            if may_stripe {
                view.striped_from(awake)
            } else {
                None
            }
        };
        let made_ahead = view.made_ahead();
        Ok(Self {
            algorithm,
            device: device.name().into(),
            backend: backend.into(),
            setup_ns: cost.setup_ns as u64,
            bytes_per_second: cost.bytes_per_second(),
            source,
            helpers,
            looked_at_from: match strategy {
                Strategy::Auto if may_stripe || made_ahead.from.is_some() => {
                    Some(Pace::new(cost).long_bytes())
                }
                _ => None,
            },
            striped_from_if_awake: striped_from(helpers),
            striped_from_if_asleep: striped_from(0),
            made_ahead,
        })
    }
}

/// The inputs of the report.
struct View<'a> {
    engine: &'a Engine,
    algorithm: Algorithm,
    cost: Cost,
    machine: Machine,
    strategy: Strategy,
    helpers: usize,
}

impl View<'_> {
    fn striped_from(&self, awake: usize) -> Option<usize> {
        let is_striped = |bytes: usize| {
            let mut pace = Pace::new(self.cost);
            if bytes <= pace.stripe_bytes(bytes, self.helpers + 1) {
                return false;
            }
            if self.strategy == Strategy::Stripe {
                return true;
            }
            let way = pace.choose(bytes, Instant::now(), &self.supposing(awake));
            bytes >= pace.long_bytes() && matches!(way, Way::Stripe { .. })
        };
        least(is_striped, 1, BYTES_MAX)
    }

    fn made_ahead(&self) -> MadeAhead {
        let no = |why: String| MadeAhead {
            from: None,
            why: format!("no: {why}"),
        };
        let algorithm = self.algorithm;
        let Kind::Stream { block_bytes, .. } = algorithm.kind() else {
            return no(match algorithm.kind() {
                Kind::Cbc => "chained blocks have no keystream".into(),
                _ => "what a message is encrypted with depends on its nonce".into(),
            });
        };
        match self.strategy {
            Strategy::Auto => {}
            Strategy::Prefetch => {
                return MadeAhead {
                    from: Some(1),
                    why: "yes: strategy=prefetch wants it from the first request on".into(),
                };
            }
            Strategy::Inline => return no("strategy=inline".into()),
            Strategy::Stripe => return no("strategy=stripe".into()),
        }
        if self.helpers == 0 {
            return no("there is no core for a helper, or no thread for it".into());
        }
        let options = self.engine.options();
        let ring_bytes = options.cipher_blocks * block_bytes * options.cipher_streams();
        if ring_bytes > options.prefetch_bytes {
            return no(format!(
                "its streams would take {ring_bytes} bytes and prefetch_bytes allows {}",
                options.prefetch_bytes
            ));
        }
        let rate = gigabytes(self.cost.bytes_per_ns);
        let ring_bytes_per_ns = RING_SHARE * self.machine.other_core_bytes_per_ns;
        // The machine's rate, as listed, and the share of it that is relied on.
        let keystream = format!(
            "keystream comes from another core at {}, of which making more of it leaves {}",
            gigabytes(self.machine.other_core_bytes_per_ns),
            gigabytes(ring_bytes_per_ns)
        );
        match self.made_ahead_from(ring_bytes) {
            Some(from) => MadeAhead {
                from: Some(from),
                why: format!(
                    "yes, from the third look on, where pauses leave a helper time: {algorithm} \
                     runs at {rate}, {keystream}"
                ),
            },
            None if 2.0 * self.cost.bytes_per_ns > ring_bytes_per_ns => no(format!(
                "{algorithm} at {rate} gains too little: {keystream}"
            )),
            None => no(format!(
                "{} helpers who share a request of {algorithm} at {rate} are done sooner",
                self.helpers
            )),
        }
    }

    /// Returns the length from which on keystream is made ahead, in a session with pauses that leave helpers all the
    /// time they need.
    fn made_ahead_from(&self, ring_bytes: usize) -> Option<usize> {
        let is_made_ahead = |bytes: usize| {
            let mut pace = Pace::new(self.cost);
            pace.may_make_ahead(ring_bytes);
            pace.ahead.looks = LOOKS.least as u32;
            pace.ahead.gap_ns = PAUSE.as_nanos() as f64;
            pace.choose(bytes, Instant::now(), &self.supposing(self.helpers));
            pace.wants_keystream_ahead()
        };
        // Beyond some size stripes may be better again: find the first power of two, then search below it.
        let first = (0..usize::BITS)
            .map(|bits| 1 << bits)
            .take_while(|bytes| *bytes <= ring_bytes)
            .find(|bytes| is_made_ahead(*bytes))?;
        least(is_made_ahead, first / 2, first)
    }

    fn supposing(&self, awake: usize) -> Supposed {
        Supposed {
            available: self
                .helpers
                .min(HelpersOf::of(self.engine, self.helpers).available()),
            awake,
            machine: self.machine,
        }
    }
}

/// A pool in a given state.
struct Supposed {
    available: usize,
    awake: usize,
    machine: Machine,
}

impl Helpers for Supposed {
    fn available(&self) -> usize {
        self.available
    }

    fn are_crowded(&self, _: Instant) -> bool {
        false
    }

    fn awake(&self) -> usize {
        self.awake
    }

    fn machine(&self) -> Machine {
        self.machine
    }
}

/// Whether several threads can share one request. aws-lc computes whole messages of AEADs.
fn knows_parts(device: CipherDevice, algorithm: Algorithm) -> bool {
    device == CipherDevice::Cpu || algorithm.kind() != Kind::Aead
}

/// Returns the least number from `low` to `high` for which `is_so`, which stays true from some number on.
fn least(is_so: impl Fn(usize) -> bool, low: usize, high: usize) -> Option<usize> {
    if !is_so(high) {
        return None;
    }
    let (mut low, mut high) = (low, high);
    while low < high {
        let middle = low + (high - low) / 2;
        if is_so(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(low)
}

/// Formats a rate with two digits.
fn gigabytes(bytes_per_ns: f64) -> String {
    match bytes_per_ns {
        ..0.1 => format!("{bytes_per_ns:.3} GB/s"),
        ..1.0 => format!("{bytes_per_ns:.2} GB/s"),
        ..10.0 => format!("{bytes_per_ns:.1} GB/s"),
        _ => format!("{bytes_per_ns:.0} GB/s"),
    }
}

/// No request is longer.
const BYTES_MAX: usize = 1 << 46;
const PAUSE: Duration = Duration::from_millis(10);
