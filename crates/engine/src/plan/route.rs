//! What every session keeps around its key, once: where the key lives and moves when its device
//! fails, which way its requests go, and what is counted.

use std::sync::Arc;

use inout::InOutBuf;

use super::engine::{Engine, Reserved};
use super::pace::Pace;
use super::strategy::FollowedStrategy;
use crate::Error;
use crate::costs::published::Shown;
use crate::costs::stats::AlgorithmStats;
use crate::device::SessionParams;
use crate::device::keyed::Keyed;
use crate::device::session::Session;
use crate::options::{Options, Strategy};
use crate::work::algorithm::Algorithm;

/// A session and what is known of its ways, for one thread at a time.
pub(crate) struct Route<K> {
    pub(crate) session: Session<K>,
    pub(crate) strategy: FollowedStrategy,
    pub(crate) pace: Pace,
    /// Since they were handed in last.
    pub(crate) counts: AlgorithmStats,
    /// What others see of it.
    pub(crate) shown: Shown,
    _reserved: Option<Reserved>,
}

impl<K: Keyed> Route<K> {
    /// Opens a session where the plan expects it to be served soonest.
    pub(crate) fn open(
        engine: &Arc<Engine>,
        algorithm: Algorithm,
        key: &[u8],
    ) -> Result<Self, Error> {
        let reserved = engine.reserve()?;
        let session = open(engine, algorithm, key)?;
        Ok(Self {
            shown: engine.shown,
            ..Self::new(session, reserved)
        })
    }

    pub(crate) fn new(session: Session<K>, reserved: Option<Reserved>) -> Self {
        Self {
            strategy: FollowedStrategy::default(),
            pace: Pace::new(session.cost),
            session,
            counts: AlgorithmStats::default(),
            shown: Shown::default(),
            _reserved: reserved,
        }
    }

    /// Takes another session in place of this one, with another key, of the same engine.
    pub(crate) fn replace(&mut self, engine: Option<&Engine>, session: Session<K>) {
        self.hand_in(engine);
        self.pace.begin_anew(session.cost);
        self.session = session;
    }

    /// From which length on a request gets a look at clock and pool. Stripes have at least
    /// `stripe_bytes_min`.
    pub(crate) fn long_bytes(&self, stripe_bytes_min: usize) -> usize {
        match self.strategy.get() {
            Strategy::Stripe => 2 * stripe_bytes_min,
            _ => self.pace.long_bytes(),
        }
    }

    /// After how many bytes a stream reads the clock and asks the pool. Stripes have at least `stripe_bytes_min`.
    pub(crate) fn unseen_bytes_max(&self, stripe_bytes_min: usize) -> usize {
        match self.strategy.get() {
            Strategy::Stripe => 2 * stripe_bytes_min,
            _ => self.pace.unseen_bytes_max(),
        }
    }

    /// Follows the options if they have changed. Returns them if they have.
    pub(crate) fn follow_options(&mut self, engine: &Engine) -> Option<Options> {
        let version = engine.live.version();
        if version == self.strategy.version() {
            return None;
        }
        let options = engine.options();
        self.strategy.follow(version, options.strategy);
        Some(options)
    }

    /// Hands in what was counted.
    pub(crate) fn hand_in(&mut self, engine: Option<&Engine>) {
        if let Some(engine) = engine
            && self.counts != AlgorithmStats::default()
        {
            let counts = std::mem::take(&mut self.counts);
            let algorithm = self.session.params().algorithm;
            engine.totals.add(self.session.device(), algorithm, counts);
        }
    }

    /// Moves from device to device until one has done what `run` says with `data`; at the end are the
    /// kernels, which cannot fail.
    #[cold]
    #[inline(never)]
    pub(crate) fn elsewhere<'a>(
        &mut self,
        engine: Option<&Engine>,
        mut data: InOutBuf<'a, 'a, u8>,
        mut run: impl FnMut(&mut K, InOutBuf<'a, 'a, u8>) -> Result<(), InOutBuf<'a, 'a, u8>>,
    ) {
        // No device is asked twice, or two that fail would send the request to and fro without end.
        let mut failed = Vec::new();
        loop {
            self.hand_in(engine);
            self.session.move_away(&mut failed);
            self.pace.begin_anew(self.session.cost);
            match run(&mut self.session.keyed, data) {
                Ok(()) => return,
                Err(again) => data = again,
            }
        }
    }
}

/// Opens a session where the plan expects it to be served soonest.
pub(crate) fn open<K: Keyed>(
    engine: &Engine,
    algorithm: Algorithm,
    key: &[u8],
) -> Result<Session<K>, Error> {
    let params = SessionParams { algorithm };
    Session::open(&engine.registry, engine.cpu, params, key)
}
