//! Intel's multi-buffer public-key operations, in the library that `cargo xtask peers` builds (`bench/peers/crypto_mb.c`).
//! Building this needs neither its headers nor the library.
//!
//! It computes the bare operations: messages are padded before the measured time, nothing is blinded, and no result is
//! checked. Requests are computed in order, up to eight at once, with numbers that were converted in advance.
#![allow(unsafe_code)]

mod library;

use std::sync::Arc;

use oarlock_measure::Error;
use oarlock_measure::cases::{Case, ModExpTasks, RsaOperation, RsaTasks, Tasks};
use oarlock_measure::cpu_class;
use oarlock_measure::peers::{
    LaneQueue, Lanes, Peer, PeerFactory, Presence, PublicKey, Results, Subject,
};

use library::{Functions, LANES, Number, RsaKey, Workspace};

/// The peer `crypto-mb`.
pub(crate) const PEER: PeerFactory = PeerFactory {
    name: "crypto-mb",
    presence: Presence::WhereAvailable,
    open: |_| {
        cpu_class::refuse_shown("crypto-mb")?;
        Ok(Box::new(CryptoMb(Arc::new(Functions::load()?))))
    },
};

struct CryptoMb(Arc<Functions>);

impl Peer for CryptoMb {
    fn version(&self) -> String {
        self.0.version()
    }

    fn subject(&self, _: &Case, _: &[u8]) -> Result<Subject, Error> {
        Err(Error::Unavailable(
            "it does public-key operations only".to_owned(),
        ))
    }

    fn public_key(&self, tasks: &Tasks, _: usize) -> Result<Box<dyn PublicKey>, Error> {
        match tasks {
            Tasks::Rsa(tasks) => Ok(LaneQueue::before(Rsa::new(&self.0, tasks)?)),
            Tasks::ModExp(tasks) => Ok(LaneQueue::before(ModExp::new(&self.0, tasks))),
        }
    }
}

struct Rsa {
    tasks: Arc<RsaTasks>,
    keys: Vec<RsaKey>,
    bytes: usize,
    work: Workspace,
    /// The results of public operations.
    numbers: [Vec<u8>; LANES],
}

impl Rsa {
    fn new(functions: &Arc<Functions>, tasks: &Arc<RsaTasks>) -> Result<Self, Error> {
        let keys = tasks
            .keys
            .iter()
            .map(|key| Ok(RsaKey::new(&key.numbers()?)));
        let bytes = tasks.requests.first().map_or(0, |one| one.number.len());
        Ok(Self {
            tasks: Arc::clone(tasks),
            keys: keys.collect::<Result<_, Error>>()?,
            bytes,
            work: Workspace::new(functions, 8 * bytes),
            numbers: [(); LANES].map(|()| vec![0; bytes]),
        })
    }
}

impl Lanes for Rsa {
    const LANES: usize = LANES;

    fn run(&mut self, requests: &[usize], results: &mut Results) {
        let asked = || requests.iter().map(|number| &self.tasks.requests[*number]);
        let keys = asked().map(|request| &self.keys[request.key]);
        let numbers = &mut self.numbers[..requests.len()];
        match self.tasks.operation {
            RsaOperation::Private | RsaOperation::Sign => {
                let operands = asked().map(|request| &request.number[..]);
                self.work.rsa_private(keys, operands, numbers);
                for (request, result) in requests.iter().zip(numbers) {
                    results.done(*request, self.bytes).copy_from_slice(result);
                }
            }
            RsaOperation::Verify => {
                let signatures = asked().map(|request| &request.signature[..]);
                self.work.rsa_public(keys, signatures, numbers);
                for (number, result) in requests.iter().zip(&*numbers) {
                    // Oarlock does the same: the expected padding is rebuilt, here in advance, and compared.
                    let is_right = *result == self.tasks.requests[*number].number;
                    results.done(*number, 1)[0] = u8::from(is_right);
                }
            }
        }
    }
}

struct ModExp {
    requests: Vec<[Number; 3]>,
    bytes: usize,
    work: Workspace,
    results: [Number; LANES],
}

impl ModExp {
    /// The library has no set-up form of a modulus: each call computes what it needs.
    fn new(functions: &Arc<Functions>, tasks: &ModExpTasks) -> Self {
        let bytes = tasks.bytes();
        let numbers = tasks.requests.iter().map(|request| {
            let modulus = &tasks.moduli[request.modulus];
            [&request.base, &request.exponent, modulus].map(|bytes| Number::new(bytes))
        });
        Self {
            requests: numbers.collect(),
            bytes,
            work: Workspace::new(functions, 8 * bytes),
            results: [(); LANES].map(|()| Number::new(&vec![0; bytes])),
        }
    }
}

impl Lanes for ModExp {
    const LANES: usize = LANES;

    fn run(&mut self, requests: &[usize], results: &mut Results) {
        let asked = requests.iter().map(|number| &self.requests[*number]);
        let powers = &mut self.results[..requests.len()];
        self.work.exp(asked, powers);
        for (number, power) in requests.iter().zip(powers) {
            power.write(results.done(*number, self.bytes));
        }
    }
}
