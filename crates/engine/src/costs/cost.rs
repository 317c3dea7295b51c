//! The expected time of a request, and the costs of moving work between cores.

use super::calibration::MachineCosts;

/// The expected time of a request on one thread: a fixed part and a part per byte.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// The fixed time of a request in nanoseconds.
    pub setup_ns: f64,
    /// The rate in bytes per nanosecond.
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

/// The costs of moving work and data between cores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Machine {
    /// Posting work, starting it on a helper that is awake, and completing it.
    pub(crate) handoff_ns: f64,
    /// The time until a sleeping helper starts.
    pub(crate) wake_ns: f64,
    /// The rate of XORing keystream from another core's cache to data.
    pub(crate) other_core_bytes_per_ns: f64,
    /// The rate of XORing keystream that this core computed some time ago to data.
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

/// The cost of a cipher supplied by a caller, and of anything else that no table lists.
pub(crate) const UNKNOWN: Cost = Cost {
    setup_ns: 20.0,
    bytes_per_ns: 0.15,
};
/// The least rate, one kilobyte per second: below the slowest row of any table, so that no row is rounded up to it and
/// no cost is infinite.
pub(super) const BYTES_PER_NS_MIN: f64 = 1e-6;
