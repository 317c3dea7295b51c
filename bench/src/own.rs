//! Oarlock as subject, and its parts as peers of itself.

use std::time::Duration;

use cipher::StreamCipher;
use oarlock::device::{Kind, Operation};
use oarlock::kernels::aes::{Backend, Ctr};
#[cfg(target_arch = "x86_64")]
use oarlock::kernels::aes::{CachedCtr, Face};
use oarlock::kernels::cpu::Cpu;
use oarlock::{AcceleratedCtr, Accelerator, AnyStream, Strategy};

use crate::Error;
use crate::case::{Algorithm, Case};
use crate::peer::{Peer, PeerFactory, Presence, Stream, Subject};

/// Peers for the comparison with oneself.
pub(crate) const PEERS: &[PeerFactory] = &[
    PeerFactory {
        name: "inline",
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
        name: "kernel",
        presence: Presence::Named,
        open: |_| Ok(Box::new(Kernels(masked_cpu()?))),
    },
];

/// Those that have as many threads as Oarlock; all others have one.
pub(crate) const HAS_THREADS: &[&str] = &["stripe", "prefetch"];

/// The public interface with the options of a measurement.
pub(crate) struct Oarlock(Accelerator);

impl Oarlock {
    /// `threads` counts the caller's.
    pub(crate) fn new(threads: usize, strategy: Strategy) -> Result<Self, Error> {
        let helpers = threads - 1;
        let accelerator = Accelerator::builder()
            .max_threads(helpers)
            .cipher_threads(helpers.max(1))
            .strategy(strategy)
            .build()?;
        Ok(Self(accelerator))
    }

    fn stream(&self, operation: Operation, key: &[u8]) -> Result<Subject, Error> {
        let Kind::Stream { iv_bytes, .. } = operation.kind() else {
            return Err(Error::Failed(format!("{operation} is no stream cipher")));
        };
        let stream = self
            .0
            .stream(operation, key, &[0; 16][..iv_bytes])
            .map_err(no_device)?;
        Subject::stream(OfAnyBlock { stream, iv_bytes })
    }
}

impl Peer for Oarlock {
    fn version(&self) -> String {
        let features: Vec<_> = self.0.cpu().features().map(|one| one.name()).collect();
        format!(
            "Oarlock {} ({})",
            env!("CARGO_PKG_VERSION"),
            features.join(" ")
        )
    }

    fn subject(&self, case: &Case, key: &[u8]) -> Result<Subject, Error> {
        match case.algorithm {
            Algorithm::AesCtr { .. } => Subject::stream(self.0.ctr(key, &[0; 16])?),
            Algorithm::ChaCha20 => self.stream(Operation::ChaCha20, key),
            Algorithm::Camellia128Ctr => self.stream(Operation::Camellia128Ctr, key),
            Algorithm::TripleDesCtr => self.stream(Operation::TripleDesCtr, key),
            _ => Err(Error::Unavailable("not in this version".to_owned())),
        }
    }
}

impl Stream for AcceleratedCtr {
    #[inline]
    fn set_iv(&mut self, iv: &[u8; 16]) {
        let accepted = AcceleratedCtr::set_iv(self, iv);
        debug_assert!(accepted.is_ok(), "16 bytes are an IV");
    }

    #[inline]
    fn apply(&mut self, data: &mut [u8]) {
        self.apply_keystream(data);
    }

    fn prefill(&mut self, budget: Duration) {
        AcceleratedCtr::prefill(self, budget);
    }
}

fn no_device(error: oarlock::Error) -> Error {
    match error {
        oarlock::Error::DeviceFailed { .. } => Error::Unavailable(error.to_string()),
        other => other.into(),
    }
}

/// A stream cipher that takes the first bytes of the harness's IV.
struct OfAnyBlock {
    stream: AcceleratedCtr<AnyStream>,
    iv_bytes: usize,
}

impl Stream for OfAnyBlock {
    #[inline]
    fn set_iv(&mut self, iv: &[u8; 16]) {
        let accepted = self.stream.set_iv(&iv[..self.iv_bytes]);
        debug_assert!(accepted.is_ok(), "as many bytes as it takes");
    }

    #[inline]
    fn apply(&mut self, data: &mut [u8]) {
        self.stream.apply_keystream(data);
    }

    fn prefill(&mut self, budget: Duration) {
        self.stream.prefill(budget);
    }
}

/// The kernels themselves: no session, no plan.
struct Kernels(Cpu);

/// The CPU as `OARLOCK_CPU` leaves it, which only the builder reads.
fn masked_cpu() -> Result<Cpu, Error> {
    Ok(Accelerator::builder().max_threads(0).build()?.cpu())
}

impl Peer for Kernels {
    fn version(&self) -> String {
        format!("kernel {}", Backend::preferred(self.0).name())
    }

    fn subject(&self, case: &Case, key: &[u8]) -> Result<Subject, Error> {
        let Algorithm::AesCtr { .. } = case.algorithm else {
            return Err(Error::Unavailable("counter mode of AES alone".to_owned()));
        };
        let wrong_key = |error| Error::Failed(format!("kernel: {error}"));
        #[cfg(target_arch = "x86_64")]
        if let Some(face) = Face::new(self.0) {
            let mut ctr = At::the_start_of(CachedCtr::unkeyed(face));
            ctr.kernel.set_key(key).map_err(wrong_key)?;
            return Subject::stream(ctr);
        }
        let ctr = Ctr::new(key, self.0).map_err(wrong_key)?;
        Subject::stream(At::the_start_of(ctr))
    }
}

/// A kernel and a position, which is the least that continues a stream.
struct At<K> {
    kernel: K,
    counter: u128,
    skip: usize,
}

impl<K> At<K> {
    fn the_start_of(kernel: K) -> Self {
        Self {
            kernel,
            counter: 0,
            skip: 0,
        }
    }

    #[inline]
    fn set_iv(&mut self, iv: &[u8; 16]) {
        (self.counter, self.skip) = (u128::from_be_bytes(*iv), 0);
    }

    #[inline]
    fn advance(&mut self, bytes: usize) {
        let end = self.skip + bytes;
        self.counter = self.counter.wrapping_add((end / 16) as u128);
        self.skip = end % 16;
    }
}

impl Stream for At<Ctr> {
    fn set_iv(&mut self, iv: &[u8; 16]) {
        At::set_iv(self, iv);
    }

    fn apply(&mut self, data: &mut [u8]) {
        let bytes = data.len();
        self.kernel.apply(self.counter, self.skip, data.into());
        self.advance(bytes);
    }
}

#[cfg(target_arch = "x86_64")]
impl Stream for At<CachedCtr> {
    fn set_iv(&mut self, iv: &[u8; 16]) {
        At::set_iv(self, iv);
    }

    fn apply(&mut self, data: &mut [u8]) {
        let bytes = data.len();
        self.kernel.apply(self.counter, self.skip, data.into());
        self.advance(bytes);
    }
}
