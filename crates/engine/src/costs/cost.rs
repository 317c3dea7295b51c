//! The time of a request, and of the ways between cores.

use super::calibration::MachineCosts;

/// The time of a request: a part for itself and a part for its bytes, on one thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// The time of a request without bytes.
    pub setup_ns: f64,
    /// The rate of its bytes.
    pub bytes_per_ns: f64,
}

impl Cost {
    pub(crate) fn new(setup_ns: u64, bytes_per_second: u64) -> Self {
        Self {
            setup_ns: setup_ns as f64,
            bytes_per_ns: (bytes_per_second as f64 / 1e9).max(BYTES_PER_NS_MIN),
        }
    }

    pub(crate) fn ns(self, bytes: usize) -> f64 {
        self.setup_ns + bytes as f64 / self.bytes_per_ns
    }

    pub(crate) fn bytes_per_second(self) -> u64 {
        (self.bytes_per_ns * 1e9).round() as u64
    }
}

/// The ways between cores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Machine {
    /// Posting work, the start of a helper that is awake, and the end.
    pub(crate) handoff_ns: f64,
    /// Until a helper that sleeps has started.
    pub(crate) wake_ns: f64,
    /// Keystream that another core has made, XORed onto data.
    pub(crate) other_core_bytes_per_ns: f64,
    /// Keystream that this core has made some time ago.
    pub(crate) own_core_bytes_per_ns: f64,
}

impl From<MachineCosts> for Machine {
    fn from(costs: MachineCosts) -> Self {
        let rate = |bytes_per_second: u64| bytes_per_second as f64 / 1e9;
        Self {
            handoff_ns: costs.handoff_ns as f64,
            wake_ns: costs.wake_ns as f64,
            other_core_bytes_per_ns: rate(costs.other_core_bytes_per_second),
            own_core_bytes_per_ns: rate(costs.own_core_bytes_per_second),
        }
    }
}

impl From<Machine> for MachineCosts {
    fn from(machine: Machine) -> Self {
        let rate = |bytes_per_ns: f64| (bytes_per_ns * 1e9) as u64;
        Self {
            handoff_ns: machine.handoff_ns as u64,
            wake_ns: machine.wake_ns as u64,
            other_core_bytes_per_second: rate(machine.other_core_bytes_per_ns),
            own_core_bytes_per_second: rate(machine.own_core_bytes_per_ns),
        }
    }
}

/// A cipher that a caller brings, and what no table knows.
pub(crate) const UNKNOWN: Cost = Cost {
    setup_ns: 20.0,
    bytes_per_ns: 0.15,
};
/// A kilobyte a second: below the slowest row of any table, so that no cost is infinite and none is rounded up to it.
pub(super) const BYTES_PER_NS_MIN: f64 = 1e-6;
