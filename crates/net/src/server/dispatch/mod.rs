//! The dispatcher: a bounded queue of requests, and worker threads that feed them to devices.
//!
//! ```text
//! admit     checks for room and for a device; the queue orders by client, priority and age
//! work      a worker takes the next request for its device, and others of the same shape if the
//!           device computes them together; it never waits for a batch to fill
//! answer    each request is answered once: by the worker; by `enforce_deadlines`, if its deadline
//!           passes; or when the server ends
//! ```
//!
//! A power of 4096 bits may take a CPU two hundred times as long as a signature. So devices on the CPUs of this machine have
//! separate threads for long requests: the operating system schedules them with the others, and a short request never waits
//! until a long one is done. Long requests begin when it is their client's turn, as all others do. A client pays for the
//! time that its requests took.
//!
//! A request whose device fails goes to another device that has not failed at it, if there is one. A device that fails
//! often, or hangs, is down for a while and then tried with one request. A panic of what a worker computes itself is no
//! failure of a device: it would occur on the next one too, so its request is refused at once.
//!
//! No device computes a signature with a key other than RSA, which takes some ten to some hundred microseconds: the workers
//! of devices on this machine's CPUs compute it themselves, as they do parts of requests with several items.
//!
//! Only work with the server's own keys is evidence against a device. Numbers that a client sent can make any device fail:
//! composite "primes" produce a result that fails its check. [`Origin`] tells the two apart. They are queued separately, so
//! they never share a batch. A failure with a client's numbers is answered with INVALID_ARGUMENT, counts against no device
//! and is tried on no other. A worker checks such numbers, so that the check costs their client's share.

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
pub use self::answer::{Answered, Output, Refusal, Responder};
pub use self::dispatcher::{DeviceStatus, Dispatcher};
pub use self::state::{Bounds, Origin};
pub use self::task::{ClientId, Request, Work};
pub use super::devices::DeviceWorkers;
pub use super::outbox::Outgoing;
