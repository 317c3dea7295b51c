//! ring, whose RSA signs messages rather than digests, with keys of 2048 bits and more: it hashes the
//! 32 bytes of each under the clock, which takes less than a thousandth of the time of a signature
//! and a hundredth of that of a verification.

use std::sync::Arc;

use oarlock_bench::Error;
use oarlock_bench::cases::{Case, RsaOperation, RsaTasks, Tasks};
use oarlock_bench::peers::{Lanes, Line, Peer, PeerFactory, Presence, PublicKey, Results, Subject};
use ring::rand::SystemRandom;
use ring::rsa::{KeyPair, PublicKeyComponents};
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256};

/// The peer `ring`.
pub(crate) const PEER: PeerFactory = PeerFactory {
    name: "ring",
    presence: Presence::Always,
    open: |_| Ok(Box::new(Ring)),
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
                Ok(Line::before(Rsa::new(tasks)?))
            }
            Tasks::Rsa(_) | Tasks::ModExp(_) => Err(Error::Unavailable(
                "it does no operation without padding".to_owned(),
            )),
        }
    }
}

struct Rsa {
    tasks: Arc<RsaTasks>,
    keys: Vec<KeyPair>,
    public_keys: Vec<PublicKeyComponents<Vec<u8>>>,
    /// For blinding.
    random: SystemRandom,
}

impl Rsa {
    fn new(tasks: &Arc<RsaTasks>) -> Result<Self, Error> {
        let keys = tasks.keys.iter().map(|key| {
            KeyPair::from_der(key.der.as_bytes())
                .map_err(|error| Error::Failed(format!("ring: the key is refused: {error}")))
        });
        let keys = keys.collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            tasks: Arc::clone(tasks),
            public_keys: keys.iter().map(|key| key.public().into()).collect(),
            keys,
            random: SystemRandom::new(),
        })
    }
}

impl Lanes for Rsa {
    const LANES: usize = 1;

    fn run(&mut self, requests: &[usize], results: &mut Results) {
        for number in requests {
            let request = &self.tasks.requests[*number];
            if self.tasks.operation == RsaOperation::Verify {
                // It has no form of a public key that is set up: each verification reads it anew.
                let is_right = self.public_keys[request.key].verify(
                    &RSA_PKCS1_2048_8192_SHA256,
                    &request.message,
                    &request.signature,
                );
                results.done(*number, 1)[0] = u8::from(is_right.is_ok());
            } else {
                let signed = self.keys[request.key].sign(
                    &RSA_PKCS1_SHA256,
                    &self.random,
                    &request.message,
                    results.done(*number, request.number.len()),
                );
                assert!(signed.is_ok(), "ring signs");
            }
        }
    }
}
