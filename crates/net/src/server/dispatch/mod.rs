//! Who computes what, and when: a bounded line of requests, and workers that take from it.
//!
//! ```text
//! receive   admit: room? a device for it? → line.rs, by client, priority and age
//! work      a thread of a device's workers takes what is next for that device, with others of the
//!           same shape if the device computes them together; nobody waits for a batch to fill
//! reply     each request is answered once, by its task.rs: by the worker; by `look_after`, where its
//!           deadline passes or its device hangs; or by the end of the server
//! ```
//!
//! A request whose device fails goes to another one that has not failed at it, if there is one. A
//! device that fails often, or hangs, is left alone for a while, and then tried with one request.
//!
//! Only work with the server's own keys is evidence against a device. Numbers that a client sent can
//! make any device fail: composite "primes" give a result that fails its check. [`Origin`] tells the
//! two apart. They are queued apart, so that they never share a batch, and a failure with a client's
//! numbers is answered with INVALID_ARGUMENT, counted against no device and tried on no other.

mod admit;
mod answer;
mod dispatcher;
mod health;
mod queue;
mod spin;
mod state;
mod task;
#[cfg(test)]
mod tests;
mod workers;

pub use self::admit::Submission;
pub(crate) use self::answer::refusal_of;
pub use self::answer::{Answered, Refusal};
pub use self::dispatcher::{DeviceStatus, Dispatcher};
pub use self::state::{Bounds, Origin};
pub use self::task::ClientId;
pub use super::devices::DeviceWorkers;
