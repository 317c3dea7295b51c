//! What a machine turned out to cost when it was measured.

use crate::Error;
use crate::work::algorithm::Algorithm;

/// A measurement of one machine, from `Accelerator::calibrate`.
/// It holds for that machine, its features and this version of the library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calibration {
    /// The ways between cores.
    pub machine: MachineCosts,
    /// By device and algorithm.
    pub algorithms: Vec<AlgorithmCost>,
}

/// The costs of handing work and keystream from core to core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachineCosts {
    /// Nanoseconds to post work, until a helper that is awake has begun, and to end it.
    pub handoff_ns: u64,
    /// Nanoseconds until a helper that sleeps has begun.
    pub wake_ns: u64,
    /// Keystream that another core has made, XORed onto data: bytes a second.
    pub other_core_bytes_per_second: u64,
    /// Keystream that this core has made, XORed onto data: bytes a second.
    pub own_core_bytes_per_second: u64,
}

/// The costs of an algorithm by one backend of a device, on one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlgorithmCost {
    /// The algorithm that was measured.
    pub algorithm: Algorithm,
    /// The device's name.
    pub device: String,
    /// The backend of the device that was measured.
    pub backend: String,
    /// The fixed cost of a request in nanoseconds, on top of that of its bytes.
    pub setup_ns: u64,
    /// Bytes a second.
    pub bytes_per_second: u64,
}

impl Calibration {
    /// Whether a machine could have given it.
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

/// Anything beyond is a mistake, and arithmetic on it might overflow.
const NS_MAX: u64 = 1_000_000_000;
const BYTES_PER_SECOND_MAX: u64 = 1 << 50;
