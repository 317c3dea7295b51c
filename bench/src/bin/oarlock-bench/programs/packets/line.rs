//! A line: a batch, the sides that compute it, and its promises.

use oarlock::Accelerator;
use oarlock_kernels::cpu::Cpu;
use oarlock_measure::Error;

use crate::peers::batch::{Batch, Side};

/// A batch of packets that is measured at several lengths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    /// The name on the command line and in records. It begins with `packet-`.
    pub(crate) name: &'static str,
    /// The packets of a batch.
    pub(crate) packets: usize,
    /// Lengths are multiples of this.
    pub(crate) granule: usize,
    pub(crate) ours: Way,
    pub(crate) peers: &'static [Peer],
    pub(crate) promises: &'static [Promise],
}

/// Another library.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    /// Its interfaces for such a batch: the fastest counts, chosen again at each length.
    pub(crate) ways: &'static [Way],
}

/// Sets up keys and buffers for a batch.
///
/// # Errors
/// [`Error::Unavailable`] if the side is not on this machine or cannot compute the batch.
pub(crate) type Way = fn(&Batch) -> Result<Box<dyn Side>, Error>;

/// The least ratio of rates, ours over theirs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Promise {
    /// The bytes of a packet.
    pub(crate) bytes: usize,
    /// `over ` and the name of a peer.
    pub(crate) over: &'static str,
    pub(crate) required: f64,
    /// The letters of the CPU classes that it holds for.
    pub(crate) classes: &'static str,
}

impl Promise {
    /// Returns the peer's name.
    pub(crate) fn peer(&self) -> &'static str {
        self.over.strip_prefix("over ").unwrap_or(self.over)
    }
}

/// Returns this CPU without the features that `OARLOCK_CPU` hides.
pub(super) fn cpu() -> Result<Cpu, Error> {
    let built = Accelerator::builder().max_threads(0).build();
    built
        .map(|accelerator| accelerator.cpu())
        .map_err(|error| Error::Usage(error.to_string()))
}

/// Returns the error for a key that was refused although its length is right.
pub(super) fn refused(error: impl std::fmt::Display) -> Error {
    Error::Failed(format!("oarlock: {error}"))
}

/// The classes with AES instructions, below A.
pub(super) const BELOW_A: &str = "BCD";
/// At least as fast, with a margin for variation between runs.
pub(super) const NEVER_SLOWER: f64 = 0.97;
