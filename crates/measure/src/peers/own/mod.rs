//! Oarlock as a subject, and its parts as its own peers.
//!
//! ```text
//! oarlock.rs               the public interface      kernels.rs   the bare kernels
//! ciphers.rs   jobs.rs     its interfaces: ciphers; public-key requests, as jobs and as calls
//! ```

mod ciphers;
mod jobs;
mod kernels;
mod oarlock;

use ::oarlock::{Accelerator, Strategy};
use ::oarlock_kernels::cpu::Cpu;

use super::subject::{PeerFactory, Presence};
use crate::error::Error;
pub(crate) use jobs::CallStyle;
use kernels::Kernels;
use oarlock::Jobs;
pub(crate) use oarlock::Oarlock;

/// Oarlock's name on the command line and in records.
pub(crate) const OARLOCK: &str = "oarlock";

/// Oarlock's own parts, as peers.
pub(crate) const PEERS: &[PeerFactory] = &[
    PeerFactory {
        name: ON_ONE_THREAD,
        presence: Presence::ManyThreads,
        open: |_| Ok(Box::new(Oarlock::new(1, Strategy::Inline)?)),
    },
    PeerFactory {
        name: "stripe",
        presence: Presence::Named,
        open: |threads| Ok(Box::new(Oarlock::new(threads, Strategy::Stripe)?)),
    },
    PeerFactory {
        name: "prefetch",
        presence: Presence::Named,
        open: |threads| Ok(Box::new(Oarlock::new(threads, Strategy::Prefetch)?)),
    },
    PeerFactory {
        name: JOB,
        presence: Presence::Named,
        open: |threads| Ok(Box::new(Jobs(Oarlock::new(threads, Strategy::Auto)?))),
    },
    PeerFactory {
        name: "kernel",
        presence: Presence::Named,
        open: |_| Ok(Box::new(Kernels(masked_cpu()?))),
    },
];

/// The peer that has one thread for everything.
pub(crate) const ON_ONE_THREAD: &str = "inline";
/// The peer that submits public-key requests as jobs, even one at a time.
pub(crate) const JOB: &str = "job";
/// The peers with the same number of threads as Oarlock; all others have one.
pub(crate) const HAS_THREADS: &[&str] = &["stripe", "prefetch"];

/// Returns the CPU with the features that `OARLOCK_CPU` leaves, which only the builder reads.
fn masked_cpu() -> Result<Cpu, Error> {
    Ok(Accelerator::builder().max_threads(0).build()?.cpu())
}
