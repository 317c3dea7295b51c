//! Costs: tables by processor family, calibrations of one machine, measured times of requests, and ratios to OpenSSL's
//! own implementations; also counts of completed work, and the part of them that other processes see.

#[cfg(feature = "rsa")]
pub(crate) mod began;
pub(crate) mod calibration;
pub(crate) mod choice;
pub(crate) mod class;
pub(crate) mod cost;
#[cfg(feature = "rsa")]
pub(crate) mod lanes;
pub(crate) mod live;
pub(crate) mod lookup;
pub mod openssl;
mod performed;
#[cfg(test)]
pub(crate) mod processors;
pub mod published;
pub(crate) mod rows;
pub(crate) mod stats;
mod table;
mod tables;
pub(crate) mod usage;

pub use calibration::{AlgorithmCost, Calibration, MachineCosts};
pub use class::CpuClass;
pub use cost::Cost;
pub use lookup::CostSource;
pub use performed::Performed;
pub use stats::{AlgorithmStats, PublicKeyStats, Stats};
pub use usage::{
    Computed, ContextEvent, Counted, CountedContexts, CountedLine, CountedOperations,
    PrivateOperations, Usage,
};
