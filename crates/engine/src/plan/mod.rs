//! Chooses how a request is served: by expected time, not by bytes.
//!
//! ```text
//! inline                      setup + bytes / rate
//! stripe, helpers awake       hand-offs + inline / (helpers + 1)
//! stripe, helpers asleep      calls + wake-up + (inline - wake-up) / (helpers + 1)
//! keystream made ahead        see docs/internals/prefetch.md
//! ```
//!
//! The costs come from [`costs`](crate::costs); from there on the plan follows the session's own measurements of the
//! rate and the hand-off. Not every request is sampled: reading the clock and the pool takes 50 ns if they are in the
//! cache and up to 2 µs if not.

pub(crate) mod ahead;
#[cfg(feature = "rsa")]
pub(crate) mod batches;
pub(crate) mod context_route;
pub(crate) mod cores;
mod crowd;
mod cut;
pub(crate) mod engine;
mod fan_out;
pub(crate) mod first_look;
mod helpers;
pub(crate) mod long;
pub(crate) mod many;
pub(crate) mod openssl;
pub(crate) mod pace;
pub(crate) mod prefetch;
#[cfg(test)]
mod processors;
pub(crate) mod report;
pub(crate) mod route;
mod setup;
pub(crate) mod shared_key;
mod strategy;
mod stripe;
mod wake;

pub use engine::Engine;
pub use many::{Flow, Workers};
pub use openssl::{Provided, ProvidedPrimitive, Withheld, provided, provided_primitives};
pub use report::{MadeAhead, PlanReport};
pub use setup::Setup;
