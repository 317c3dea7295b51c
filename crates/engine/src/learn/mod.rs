//! Learning from experience: the times of requests, the faster of two ways, and when to retry after failures.
//!
//! | part | for |
//! |---|---|
//! | [`Median`] | the usual time of a request, where an interruption must not count |
//! | [`decayed`] | a mean that follows what changes |
//! | [`Fading`] | a measured excess that is forgotten unless it is confirmed |
//! | [`BackOff`], [`Skips`] | trying again ever less often, by requests |
//! | [`Breaker`] | trying again ever less often, by time, and one at a time |
//! | [`Faster`] | which of two implementations takes less time for an operation |
//! | [`TwoWays`] | which of two methods gets more operations done in a second |
//!
//! Queries change nothing here; only recorded results do. Rules are constants of the callers, with the reason for each.
//! Counters are relaxed atomics: if two threads record at once, one result may be lost, which moves a figure by one
//! sample.

mod back_off;
mod breaker;
#[cfg(feature = "rsa")]
mod fading;
mod faster;
mod mean;
#[cfg(feature = "rsa")]
mod median;
mod two_ways;

pub use back_off::{BackOff, Skips};
pub use breaker::{Admission, Breaker, BreakerRule, BreakerState, Period};
#[cfg(feature = "rsa")]
pub use fading::Fading;
pub use faster::{Faster, Which};
pub use mean::decayed;
#[cfg(feature = "rsa")]
pub use median::Median;
pub use two_ways::TwoWays;
