//! The options of an accelerator, with their names and defaults.

use std::fmt;
use std::str::FromStr;

use crate::OptionsError;

/// The options of an `Accelerator`. [`FromStr`] parses them from `name=value,...`.
///
/// ```
/// let options: oarlock::Options = "max_threads=8,cipher_threads=4".parse()?;
/// assert_eq!(options.cipher_threads, 4);
/// assert_eq!(options.to_string(), "min_threads=0,max_threads=8,cipher_threads=4,\
///     cipher_blocks=4096,cipher_streams=8,reservation=shared,strategy=auto,spin=on,\
///     prefetch_bytes=67108864,prefetch_worker=pool,offer=auto,lanes=auto,publish=off");
/// # Ok::<(), oarlock::OptionsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The number of pool threads to keep from the start: 0 to 4096, at most `max_threads`. The default, 0, starts none
    /// until one is needed.
    pub min_threads: usize,
    /// The most threads of the pool: 0 to 4096, or `Auto`, the default: the number of CPUs. With 0, no thread is ever
    /// created.
    pub max_threads: Threads,
    /// Pool threads that one cipher may use at once, in addition to the calling thread: 0 to 4096. The default is 2.
    pub cipher_threads: usize,
    /// Blocks in a prefetch stream: a multiple of 16, at most 2^28. The default is 4096.
    pub cipher_blocks: usize,
    /// Prefetch streams of a cipher: 1 to 65536. The default is 2 × `cipher_threads`.
    pub cipher_streams: Option<usize>,
    /// Whether a cipher reserves its threads. If so, it reserves them once, from its creation until it is dropped, however
    /// often its keys change. The same applies to each direction of an ESP association, of a TLS or DTLS connection, and of
    /// SRTP.
    pub reservation: Reservation,
    /// The strategy for all requests.
    pub strategy: Strategy,
    /// Whether an idle pool thread may spin for up to 50 µs before it sleeps.
    pub spin: bool,
    /// The most memory in bytes for the prefetch streams of all ciphers together. The default is 64 MiB. A cipher that finds
    /// no room computes without prefetching.
    pub prefetch_bytes: usize,
    /// The threads that fill prefetch streams.
    pub prefetch_worker: PrefetchWorker,
    /// The operations that the OpenSSL provider offers. It has no effect elsewhere.
    pub offer: Offer,
    /// The private operations with RSA keys that the OpenSSL provider computes in lanes. It has no effect elsewhere.
    pub lanes: LaneUse,
    /// Whether the process shows live figures to `oarlock top` of the same user
    /// ([`costs::published`](crate::costs::published)). The default is no. It is read when an accelerator is built; changing
    /// it later has no effect.
    pub publish: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            min_threads: 0,
            max_threads: Threads::Auto,
            cipher_threads: 2,
            cipher_blocks: 4096,
            cipher_streams: None,
            reservation: Reservation::Shared,
            strategy: Strategy::Auto,
            spin: true,
            prefetch_bytes: 64 << 20,
            prefetch_worker: PrefetchWorker::Pool,
            offer: Offer::Auto,
            lanes: LaneUse::Auto,
            publish: false,
        }
    }
}

/// A number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// One thread for each CPU that this process may use (affinity and cgroup quota).
    Auto,
    /// This number of threads.
    Exactly(usize),
}

impl From<usize> for Threads {
    fn from(count: usize) -> Self {
        Self::Exactly(count)
    }
}

/// The way in which ciphers share the pool's threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reservation {
    /// All ciphers share them.
    Shared,
    /// Each cipher reserves `cipher_threads` threads. If none are left, creating a cipher fails with
    /// [`Error::NoThreadsFree`](crate::Error::NoThreadsFree).
    Exclusive,
}

/// The threads that fill prefetch streams, apart from [`prefill`](crate::cipher::AcceleratedCtr::prefill).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrefetchWorker {
    /// Pool threads, on other cores.
    Pool,
    /// One thread of the idle class (`SCHED_IDLE`) on the consumer's core, which runs when that core is otherwise idle. It
    /// suits a consumer that waits for input while no other core is free.
    Idle,
}

/// The operations that the OpenSSL provider offers: see `Accelerator::provided`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// Operations at least as fast as OpenSSL's, by a calibration or the library's tables.
    Auto,
    /// All operations, for tests and benchmarks.
    All,
}

/// The private RSA operations that the OpenSSL provider computes in lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneUse {
    /// Operations that take less time in lanes, usually several at once.
    Auto,
    /// All operations of keys that have lanes, even single ones and whatever the time: for tests, so that other programs'
    /// suites exercise the lanes.
    Always,
}

/// The strategy for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Chosen by expected time.
    Auto,
    /// Computed on the calling thread.
    Inline,
    /// Split into stripes over the pool, however short the request.
    Stripe,
    /// Encrypted with prefetched keystream from the start, however fast the cipher. The calling thread computes keystream
    /// that is not ready. Algorithms without a keystream are computed inline.
    Prefetch,
}

impl Options {
    /// Returns the number of prefetch streams of a cipher: `cipher_streams`, or its default, which is at least 1.
    pub fn cipher_streams(&self) -> usize {
        self.cipher_streams
            .unwrap_or(self.cipher_threads.saturating_mul(2).max(1))
    }

    /// Sets one option, by name and value.
    ///
    /// # Errors
    /// An unknown name, or a value of the wrong kind. `Builder::build` and [`FromStr`] check ranges and combinations.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), OptionsError> {
        match name {
            "min_threads" => self.min_threads = number(name, value)?,
            "max_threads" if value == "auto" => self.max_threads = Threads::Auto,
            "max_threads" => self.max_threads = Threads::Exactly(number(name, value)?),
            "cipher_threads" => self.cipher_threads = number(name, value)?,
            "cipher_blocks" => self.cipher_blocks = number(name, value)?,
            "cipher_streams" => self.cipher_streams = Some(number(name, value)?),
            "reservation" => {
                self.reservation = choice(
                    name,
                    value,
                    &[
                        ("shared", Reservation::Shared),
                        ("exclusive", Reservation::Exclusive),
                    ],
                )?;
            }
            "strategy" => self.strategy = choice(name, value, &STRATEGIES)?,
            "spin" => self.spin = choice(name, value, &SWITCH)?,
            "prefetch_bytes" => self.prefetch_bytes = number(name, value)?,
            "prefetch_worker" => self.prefetch_worker = choice(name, value, &WORKERS)?,
            "offer" => self.offer = choice(name, value, &OFFERS)?,
            "lanes" => self.lanes = choice(name, value, &LANES)?,
            "publish" => self.publish = choice(name, value, &SWITCH)?,
            _ => {
                return Err(OptionsError::new(format!(
                    "unknown option {name:?}: the options are {}",
                    NAMES.join(", ")
                )));
            }
        }
        Ok(())
    }

    /// Sets the options in `text`, of the form `name=value,...`.
    ///
    /// # Errors
    /// Those of [`set`](Self::set), at the first faulty option. Earlier options are already set.
    pub fn set_all(&mut self, text: &str) -> Result<(), OptionsError> {
        for pair in text
            .split(',')
            .map(str::trim)
            .filter(|pair| !pair.is_empty())
        {
            let (name, value) = pair
                .split_once('=')
                .ok_or_else(|| OptionsError::new(format!("option {pair:?} is not NAME=VALUE")))?;
            self.set(name.trim(), value.trim())?;
        }
        Ok(())
    }

    /// Checks the ranges and combinations of all options.
    #[doc(hidden)]
    pub fn validate(&self) -> Result<(), OptionsError> {
        if self.cipher_blocks == 0 || !self.cipher_blocks.is_multiple_of(16) {
            return Err(OptionsError::new(format!(
                "cipher_blocks={} is not a positive multiple of 16",
                self.cipher_blocks
            )));
        }
        if self.cipher_streams == Some(0) {
            return Err(OptionsError::new(
                "cipher_streams=0: a cipher has at least 1 stream",
            ));
        }
        for (name, count) in [
            ("min_threads", self.min_threads),
            (
                "max_threads",
                if let Threads::Exactly(count) = self.max_threads {
                    count
                } else {
                    0
                },
            ),
            ("cipher_threads", self.cipher_threads),
        ] {
            if count > THREADS_MAX {
                return Err(OptionsError::new(format!(
                    "{name}={count} is more than {THREADS_MAX}"
                )));
            }
        }
        if self.cipher_blocks > BLOCKS_MAX || self.cipher_streams() > STREAMS_MAX {
            return Err(OptionsError::new(format!(
                "cipher_blocks={} or cipher_streams={} is more than {BLOCKS_MAX} or {STREAMS_MAX}",
                self.cipher_blocks,
                self.cipher_streams()
            )));
        }
        if let Threads::Exactly(max_threads) = self.max_threads
            && self.min_threads > max_threads
        {
            return Err(OptionsError::new(format!(
                "min_threads={} is more than max_threads={max_threads}",
                self.min_threads
            )));
        }
        Ok(())
    }
}

impl FromStr for Options {
    type Err = OptionsError;

    fn from_str(text: &str) -> Result<Self, OptionsError> {
        let mut options = Self::default();
        options.set_all(text)?;
        options.validate()?;
        Ok(options)
    }
}

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let max_threads = match self.max_threads {
            Threads::Auto => "auto".to_string(),
            Threads::Exactly(count) => count.to_string(),
        };
        let reservation = match self.reservation {
            Reservation::Shared => "shared",
            Reservation::Exclusive => "exclusive",
        };
        let strategy = STRATEGIES
            .iter()
            .find(|(_, value)| *value == self.strategy)
            .map_or("", |(name, _)| name);
        let worker = match self.prefetch_worker {
            PrefetchWorker::Pool => "pool",
            PrefetchWorker::Idle => "idle",
        };
        let offer = match self.offer {
            Offer::Auto => "auto",
            Offer::All => "all",
        };
        let lanes = match self.lanes {
            LaneUse::Auto => "auto",
            LaneUse::Always => "always",
        };
        write!(
            f,
            "min_threads={},max_threads={max_threads},cipher_threads={},cipher_blocks={},\
             cipher_streams={},reservation={reservation},strategy={strategy},spin={},\
             prefetch_bytes={},prefetch_worker={worker},offer={offer},\
             lanes={lanes},publish={}",
            self.min_threads,
            self.cipher_threads,
            self.cipher_blocks,
            self.cipher_streams(),
            if self.spin { "on" } else { "off" },
            self.prefetch_bytes,
            if self.publish { "on" } else { "off" },
        )
    }
}

fn number(name: &str, value: &str) -> Result<usize, OptionsError> {
    value
        .parse()
        .map_err(|_| OptionsError::new(format!("{name}={value} is not a whole number")))
}

fn choice<T: Copy>(name: &str, value: &str, choices: &[(&str, T)]) -> Result<T, OptionsError> {
    choices
        .iter()
        .find(|(word, _)| *word == value)
        .map(|(_, choice)| *choice)
        .ok_or_else(|| {
            let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
            OptionsError::new(format!("{name}={value} is none of {}", words.join(", ")))
        })
}

const SWITCH: [(&str, bool); 2] = [("on", true), ("off", false)];

const WORKERS: [(&str, PrefetchWorker); 2] = [
    ("pool", PrefetchWorker::Pool),
    ("idle", PrefetchWorker::Idle),
];

const OFFERS: [(&str, Offer); 2] = [("auto", Offer::Auto), ("all", Offer::All)];

const LANES: [(&str, LaneUse); 2] = [("auto", LaneUse::Auto), ("always", LaneUse::Always)];

const STRATEGIES: [(&str, Strategy); 4] = [
    ("auto", Strategy::Auto),
    ("inline", Strategy::Inline),
    ("stripe", Strategy::Stripe),
    ("prefetch", Strategy::Prefetch),
];

const NAMES: [&str; 13] = [
    "min_threads",
    "max_threads",
    "cipher_threads",
    "cipher_blocks",
    "cipher_streams",
    "reservation",
    "strategy",
    "spin",
    "prefetch_bytes",
    "prefetch_worker",
    "offer",
    "lanes",
    "publish",
];

/// 64 GiB of the smallest blocks. In practice `prefetch_bytes` is the limit.
const BLOCKS_MAX: usize = 1 << 28;
const STREAMS_MAX: usize = 1 << 16;
/// Far more than any machine needs: a typing error should not start a million threads.
const THREADS_MAX: usize = 4096;
