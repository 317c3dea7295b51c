//! The measured costs of a machine.

use crate::Error;
use crate::work::algorithm::Algorithm;

/// A measurement of one machine, from `Accelerator::calibrate`. It is valid only for that machine, its CPU features and
/// this version of the library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calibration {
    /// The costs of moving work and data between cores.
    pub machine: MachineCosts,
    /// The costs of each algorithm on each device.
    pub algorithms: Vec<AlgorithmCost>,
}

/// The costs of moving work and keystream between cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachineCosts {
    /// Nanoseconds to post work, start it on a helper that is awake, and complete it.
    pub handoff_ns: u64,
    /// Nanoseconds until a sleeping helper starts.
    pub wake_ns: u64,
    /// Bytes per second at which keystream from another core's cache is XORed to data.
    pub other_core_bytes_per_second: u64,
    /// Bytes per second at which keystream from this core's cache is XORed to data.
    pub own_core_bytes_per_second: u64,
}

/// The cost of an algorithm on one backend of a device, for one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlgorithmCost {
    /// The algorithm that was measured.
    pub algorithm: Algorithm,
    /// The device's name.
    pub device: String,
    /// The name of the device's backend.
    pub backend: String,
    /// The fixed cost of a request in nanoseconds, added to the cost of its bytes.
    pub setup_ns: u64,
    /// Bytes per second.
    pub bytes_per_second: u64,
}

impl Calibration {
    /// Checks that every figure is one that a real machine can produce.
    #[doc(hidden)]
    pub fn validate(&self) -> Result<(), Error> {
        let MachineCosts {
            handoff_ns,
            wake_ns,
            other_core_bytes_per_second,
            own_core_bytes_per_second,
        } = self.machine;
        let rates = self.algorithms.iter().map(|one| one.bytes_per_second);
        let is_possible = (1..=NS_MAX).contains(&handoff_ns)
            && (1..=NS_MAX).contains(&wake_ns)
            && rates
                .chain([other_core_bytes_per_second, own_core_bytes_per_second])
                .all(|rate| (1..=BYTES_PER_SECOND_MAX).contains(&rate))
            && self.algorithms.iter().all(|one| one.setup_ns <= NS_MAX);
        if is_possible {
            Ok(())
        } else {
            Err(Error::InvalidInput(
                "no machine gives such a calibration: a cost is 0 or beyond all bounds".into(),
            ))
        }
    }
}

/// Values beyond these limits are errors, and could overflow in arithmetic.
const NS_MAX: u64 = 1_000_000_000;
const BYTES_PER_SECOND_MAX: u64 = 1 << 50;
