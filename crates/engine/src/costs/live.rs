//! The costs of helpers as measured while requests run.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::cost::Machine;
use crate::learn::decayed;

/// A [`Machine`] whose helper costs are averaged over recent requests, within limits around the initial figures.
pub(crate) struct LiveMachine {
    /// The initial figures.
    base: Machine,
    handoff_ns: AtomicU32,
    wake_ns: AtomicU32,
}

impl LiveMachine {
    pub(crate) fn new(base: Machine) -> Self {
        Self {
            base,
            handoff_ns: AtomicU32::new(base.handoff_ns as u32),
            wake_ns: AtomicU32::new(base.wake_ns as u32),
        }
    }

    pub(crate) fn get(&self) -> Machine {
        Machine {
            handoff_ns: self.handoff_ns.load(Ordering::Relaxed).into(),
            wake_ns: self.wake_ns.load(Ordering::Relaxed).into(),
            ..self.base
        }
    }

    /// Whether the measured costs differ from the initial ones.
    pub(crate) fn has_learned(&self) -> bool {
        let Machine {
            handoff_ns,
            wake_ns,
            ..
        } = self.get();
        (handoff_ns, wake_ns) != (self.base.handoff_ns.trunc(), self.base.wake_ns.trunc())
    }

    /// Records that a helper, awake or asleep before, began `waited` after the request did. If two threads record at
    /// once, one sample may be lost.
    pub(crate) fn joined(&self, was_awake: bool, waited: Duration) {
        let waited_ns = waited.as_nanos() as f64;
        let (average, base_ns, seen_ns) = if was_awake {
            (
                &self.handoff_ns,
                self.base.handoff_ns,
                waited_ns * HANDOFF_PER_WAIT,
            )
        } else {
            (&self.wake_ns, self.base.wake_ns, waited_ns)
        };
        let (least, most) = (base_ns / DRIFT_MAX, base_ns * DRIFT_MAX);
        let old = f64::from(average.load(Ordering::Relaxed));
        // A single helper that was delayed by a scheduler tick predicts little about the next.
        let new = decayed(old, seen_ns.clamp(least, most), AVERAGED_OVER);
        average.store(new.round().clamp(least, most) as u32, Ordering::Relaxed);
    }
}

/// The caller's total cost of a hand-off, relative to the time until the helper begins.
const HANDOFF_PER_WAIT: f64 = 2.0;
/// The factor by which averages may differ from the initial costs. The limit lets figures from a busy machine recover
/// soon on an idle one.
const DRIFT_MAX: f64 = 4.0;
const AVERAGED_OVER: f64 = 32.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costs::tables;

    #[test]
    fn live_costs_follow_slowly_and_not_far() {
        let base = Machine::from(tables::GENERIC.machine);
        let live = LiveMachine::new(base);
        assert!(!live.has_learned());
        live.joined(false, Duration::from_secs(1));
        assert!(live.get().wake_ns < 1.2 * base.wake_ns, "one outlier");
        for _ in 0..1000 {
            live.joined(false, Duration::from_secs(1));
            live.joined(true, Duration::ZERO);
        }
        let now = live.get();
        assert!(live.has_learned());
        assert!((3.5 * base.wake_ns..=4.0 * base.wake_ns).contains(&now.wake_ns));
        assert!((base.handoff_ns / 4.0 - 1.0..base.handoff_ns / 2.0).contains(&now.handoff_ns));
        assert_eq!(now.other_core_bytes_per_ns, base.other_core_bytes_per_ns);
    }
}
