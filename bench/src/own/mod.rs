//! Oarlock as subject, and its parts as peers of itself.

mod kernels;
mod public_key;

use std::time::Duration;

use cipher::StreamCipher;
use inout::InOutBuf;
use oarlock::device::{Kind, Operation, visible_cpu};
use oarlock::{
    AcceleratedAead, AcceleratedCbc, AcceleratedCtr, Accelerator, AnyStream, Calibration, Strategy,
};

use crate::Error;
use crate::case::{Algorithm, Case, Direction};
use crate::peer::{Aead, Peer, PeerFactory, Presence, Sealed, Stream, Subject};
use crate::public_key::{PublicKey, Tasks};
use kernels::Kernels;
pub(crate) use public_key::Asked;
use public_key::Jobs;

/// Peers for the comparison with oneself.
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
        open: |_| {
            Ok(Box::new(Kernels(
                visible_cpu().map_err(oarlock::Error::from)?,
            )))
        },
    },
];

/// The one that has one thread for everything.
pub(crate) const ON_ONE_THREAD: &str = "inline";
/// The one whose public-key requests are jobs even one at a time.
pub(crate) const JOB: &str = "job";
/// Those that have as many threads as Oarlock; all others have one.
pub(crate) const HAS_THREADS: &[&str] = &["stripe", "prefetch"];

/// The public interface with the options of a measurement.
pub(crate) struct Oarlock {
    /// For ciphers: its helpers are beside the caller.
    ciphers: Accelerator,
    /// For public-key operations: the caller is beside its threads, of which there are as many as
    /// CPUs, and none where there is one CPU.
    public_key: Accelerator,
    strategy: Strategy,
}

impl Oarlock {
    /// `threads` counts the caller's.
    pub(crate) fn new(threads: usize, strategy: Strategy) -> Result<Self, Error> {
        Self::planned_by(threads, strategy, None)
    }

    pub(crate) fn planned_by(
        threads: usize,
        strategy: Strategy,
        calibration: Option<Calibration>,
    ) -> Result<Self, Error> {
        let helpers = threads - 1;
        let mut builder = Accelerator::builder()
            .max_threads(helpers)
            .cipher_threads(helpers.max(1))
            .strategy(strategy);
        if let Some(calibration) = calibration {
            builder = builder.calibration(calibration);
        }
        let public_key = Accelerator::builder().max_threads(if threads > 1 { threads } else { 0 });
        Ok(Self {
            ciphers: builder.build()?,
            public_key: public_key.build()?,
            strategy,
        })
    }

    fn aead(&self, operation: Operation, key: &[u8]) -> Result<Subject, Error> {
        Subject::aead(self.ciphers.aead(operation, key).map_err(no_device)?)
    }

    fn stream(&self, operation: Operation, key: &[u8]) -> Result<Subject, Error> {
        let Kind::Stream { iv_bytes, .. } = operation.kind() else {
            return Err(Error::Failed(format!("{operation} is no stream cipher")));
        };
        let stream = self
            .ciphers
            .stream(operation, key, &[0; 16][..iv_bytes])
            .map_err(no_device)?;
        Subject::stream(OfAnyBlock { stream, iv_bytes })
    }
}

impl Peer for Oarlock {
    fn version(&self) -> String {
        let features: Vec<_> = self
            .ciphers
            .cpu()
            .features()
            .map(|one| one.name())
            .collect();
        format!(
            "Oarlock {} ({})",
            env!("CARGO_PKG_VERSION"),
            features.join(" ")
        )
    }

    fn subject(&self, case: &Case, key: &[u8]) -> Result<Subject, Error> {
        match case.algorithm {
            Algorithm::AesCtr { .. } => Subject::stream(self.ciphers.ctr(key, &[0; 16])?),
            Algorithm::ChaCha20 => self.stream(Operation::ChaCha20, key),
            Algorithm::Camellia128Ctr => self.stream(Operation::Camellia128Ctr, key),
            Algorithm::TripleDesCtr => self.stream(Operation::TripleDesCtr, key),
            Algorithm::AesGcm { key_bytes: 16 } => self.aead(Operation::Aes128Gcm, key),
            Algorithm::AesGcm { .. } => self.aead(Operation::Aes256Gcm, key),
            Algorithm::ChaCha20Poly1305 => self.aead(Operation::ChaCha20Poly1305, key),
            Algorithm::AesCbc { .. } => Subject::stream(Cbc {
                chain: self.ciphers.cbc(key, &[0; 16])?,
                direction: case.direction,
            }),
        }
    }

    fn public_key(&self, tasks: &Tasks, depth: usize) -> Result<Box<dyn PublicKey>, Error> {
        self.one_caller(
            tasks,
            if depth == 1 {
                Asked::Calls
            } else {
                Asked::Jobs
            },
        )
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

/// CBC one way.
struct Cbc {
    chain: AcceleratedCbc,
    direction: Direction,
}

impl Stream for Cbc {
    #[inline]
    fn set_iv(&mut self, iv: &[u8; 16]) {
        let accepted = self.chain.set_iv(iv);
        debug_assert!(accepted.is_ok(), "16 bytes are an IV");
    }

    #[inline]
    fn apply(&mut self, data: &mut [u8]) {
        let done = match self.direction {
            Direction::Encrypt => self.chain.encrypt(data.into()),
            Direction::Decrypt => self.chain.decrypt(data.into()),
        };
        assert!(done.is_ok(), "the harness hands whole blocks");
    }
}

impl Aead for AcceleratedAead {
    #[inline]
    fn seal(&mut self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8]) -> [u8; 16] {
        AcceleratedAead::seal(self, nonce, aad, data.into())
            .unwrap_or_else(|error| panic!("a message of this length is sealed: {error}"))
    }

    #[inline]
    fn open(&mut self, message: &Sealed, aad: &[u8], data: &mut [u8]) -> bool {
        InOutBuf::new(&message.data, data).is_ok_and(|data| {
            AcceleratedAead::open(self, &message.nonce, aad, data, &message.tag).is_ok()
        })
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
