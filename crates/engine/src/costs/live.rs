//! What helpers turn out to cost while requests run.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::cost::Machine;
use crate::learn::decayed;

/// [`Machine`] as helpers turn out to be: an average over many requests, never far from where it
/// began.
pub(crate) struct LiveMachine {
    /// As told by the costs.
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

    /// Whether helpers have turned out to be other than told.
    pub(crate) fn has_learned(&self) -> bool {
        let Machine {
            handoff_ns,
            wake_ns,
            ..
        } = self.get();
        (handoff_ns, wake_ns) != (self.base.handoff_ns.trunc(), self.base.wake_ns.trunc())
    }

    /// A helper that was awake, or asleep, began so long after the request did. Of two threads that
    /// say so at once one may go unheard.
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
        // One helper that the kernel kept waiting for a tick says little of the next.
        let new = decayed(old, seen_ns.clamp(least, most), AVERAGED_OVER);
        average.store(new.round().clamp(least, most) as u32, Ordering::Relaxed);
    }
}

/// What a hand-off costs the caller in all, over what it takes the helper to begin.
const HANDOFF_PER_WAIT: f64 = 2.0;
/// The factor by which averages may differ from the base costs, so that what was learned on a busy machine is soon
/// unlearned on an idle one.
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
