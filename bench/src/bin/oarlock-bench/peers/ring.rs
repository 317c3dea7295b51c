//! ring, whose RSA signs messages rather than digests, with keys of at least 2048 bits: the measured time includes hashing
//! 32 bytes, which takes less than a thousandth of the time of a signature and a hundredth of that of a verification.

use oarlock_measure::Error;
use oarlock_measure::cases::{Case, RsaKey, RsaOperation, RsaRequest, Tasks};
use oarlock_measure::cpu_class;
use oarlock_measure::peers::{
    Peer, PeerFactory, Presence, PublicKey, SingleRsa, SingleRsaKey, Subject,
};
use ring::rand::SystemRandom;
use ring::rsa::{KeyPair, PublicKeyComponents};
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256};

/// The peer `ring`.
pub(crate) const PEER: PeerFactory = PeerFactory {
    name: "ring",
    presence: Presence::Always,
    open: |_| {
        cpu_class::refuse_shown("ring")?;
        Ok(Box::new(Ring))
    },
};

struct Ring;

impl Peer for Ring {
    fn version(&self) -> String {
        "ring 0.17".to_owned()
    }

    fn subject(&self, _: &Case, _: &[u8]) -> Result<Subject, Error> {
        Err(Error::Unavailable(
            "measured with public-key operations only".to_owned(),
        ))
    }

    fn public_key(&self, tasks: &Tasks, _: usize) -> Result<Box<dyn PublicKey>, Error> {
        match tasks {
            Tasks::Rsa(tasks) if tasks.operation != RsaOperation::Private => {
                SingleRsa::set_up(tasks, Key::new)
            }
            Tasks::Rsa(_) | Tasks::ModExp(_) => Err(Error::Unavailable(
                "it does no operation without padding".to_owned(),
            )),
        }
    }
}

struct Key {
    pair: KeyPair,
    public: PublicKeyComponents<Vec<u8>>,
    /// The random numbers for blinding.
    random: SystemRandom,
}

impl Key {
    fn new(key: &RsaKey) -> Result<Self, Error> {
        let pair = KeyPair::from_der(key.der.as_bytes())
            .map_err(|error| Error::Failed(format!("ring: the key is refused: {error}")))?;
        Ok(Self {
            public: pair.public().into(),
            pair,
            random: SystemRandom::new(),
        })
    }
}

impl SingleRsaKey for Key {
    fn sign(&mut self, _: RsaOperation, request: &RsaRequest, result: &mut [u8]) {
        let signed = self
            .pair
            .sign(&RSA_PKCS1_SHA256, &self.random, &request.message, result);
        assert!(signed.is_ok(), "ring signs");
    }

    fn verify(&mut self, request: &RsaRequest) -> bool {
        // ring cannot set up a public key in advance: each verification parses it again.
        let RsaRequest {
            message, signature, ..
        } = request;
        self.public
            .verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
            .is_ok()
    }
}
