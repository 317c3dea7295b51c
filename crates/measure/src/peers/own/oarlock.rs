//! Oarlock's public interface, with the options of a measurement.

use oarlock::{Accelerator, Strategy};
use oarlock_engine::costs::Calibration;

use super::ciphers;
use super::jobs::{self, CallStyle};
use crate::cases::{Case, Tasks};
use crate::error::Error;
use crate::peers::public_key::PublicKey;
use crate::peers::subject::{Peer, Subject};

/// The public interface with the options of a measurement.
pub(crate) struct Oarlock {
    /// The accelerator for ciphers. Its helpers come in addition to the caller.
    ciphers: Accelerator,
    /// The accelerator for public-key operations. The caller comes in addition to its threads, which are one per CPU,
    /// and none on a single CPU.
    public_key: Accelerator,
    strategy: Strategy,
}

impl Oarlock {
    /// Creates an accelerator with `threads` threads, the caller's included.
    pub(crate) fn new(threads: usize, strategy: Strategy) -> Result<Self, Error> {
        Self::planned_by(threads, strategy, None)
    }

    pub(crate) fn planned_by(
        threads: usize,
        strategy: Strategy,
        calibration: Option<Calibration>,
    ) -> Result<Self, Error> {
        let helpers = threads - 1;
        let mut builder = Accelerator::builder()
            .max_threads(helpers)
            .cipher_threads(helpers.max(1))
            .strategy(strategy);
        if let Some(calibration) = calibration {
            builder = builder.calibration(calibration);
        }
        let public_key = Accelerator::builder().max_threads(if threads > 1 { threads } else { 0 });
        Ok(Self {
            ciphers: builder.build()?,
            public_key: public_key.build()?,
            strategy,
        })
    }

    /// Sets up the same keys for `callers` threads.
    pub(crate) fn public_key_callers(
        &self,
        tasks: &Tasks,
        asked: CallStyle,
        callers: usize,
    ) -> Result<Vec<Box<dyn PublicKey>>, Error> {
        if matches!(self.strategy, Strategy::Stripe | Strategy::Prefetch) {
            return Err(Error::Unavailable("a strategy of ciphers".to_owned()));
        }
        jobs::subjects(&self.public_key, tasks, asked, callers)
    }

    /// Sets up keys for one caller.
    fn one_caller(&self, tasks: &Tasks, asked: CallStyle) -> Result<Box<dyn PublicKey>, Error> {
        let mut subjects = self.public_key_callers(tasks, asked, 1)?;
        subjects
            .pop()
            .ok_or_else(|| Error::Failed("one caller was asked for".to_owned()))
    }

    /// Returns the default style at a depth.
    pub(crate) fn call_style_at(depth: usize) -> CallStyle {
        if depth == 1 {
            CallStyle::Calls
        } else {
            CallStyle::Jobs
        }
    }
}

impl Peer for Oarlock {
    fn version(&self) -> String {
        let features: Vec<_> = self
            .ciphers
            .cpu()
            .features()
            .map(|one| one.name())
            .collect();
        format!(
            "Oarlock {} ({})",
            env!("CARGO_PKG_VERSION"),
            features.join(" ")
        )
    }

    fn subject(&self, case: &Case, key: &[u8]) -> Result<Subject, Error> {
        ciphers::subject(&self.ciphers, case, key)
    }

    fn public_key(&self, tasks: &Tasks, depth: usize) -> Result<Box<dyn PublicKey>, Error> {
        self.one_caller(tasks, Self::call_style_at(depth))
    }
}

/// Oarlock, called with jobs at every depth.
pub(super) struct Jobs(pub(super) Oarlock);

impl Peer for Jobs {
    fn version(&self) -> String {
        self.0.version()
    }

    fn subject(&self, _: &Case, _: &[u8]) -> Result<Subject, Error> {
        Err(Error::Unavailable(
            "requests of ciphers are no jobs".to_owned(),
        ))
    }

    fn public_key(&self, tasks: &Tasks, _: usize) -> Result<Box<dyn PublicKey>, Error> {
        self.0.one_caller(tasks, CallStyle::Jobs)
    }
}
