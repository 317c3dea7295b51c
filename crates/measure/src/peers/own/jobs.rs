//! Public-key operations of Oarlock, as jobs and as calls.

use std::collections::VecDeque;
use std::sync::Arc;

use oarlock::job::{Job, JobOptions, QueueFull};
use oarlock::rsa::{
    AcceleratedModExp, AcceleratedRsa, Base, ByteOrder, Hash, RsaPrivateKey, SignatureScheme,
};
use oarlock::{Accelerator, Error as OarlockError};
use zeroize::Zeroizing;

use crate::cases::{ModExpTasks, RsaOperation, RsaRequest, RsaTasks, Tasks};
use crate::error::Error;
use crate::peers::public_key::{LaneQueue, Lanes, PublicKey, Results};

/// The style in which Oarlock is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CallStyle {
    /// Calls, which return when they are done.
    Calls,
    /// Jobs, which are waited for in order.
    Jobs,
}

/// Sets up the keys of `tasks` for `callers` threads.
pub(super) fn subjects(
    accelerator: &Accelerator,
    tasks: &Tasks,
    asked: CallStyle,
    callers: usize,
) -> Result<Vec<Box<dyn PublicKey>>, Error> {
    match tasks {
        Tasks::Rsa(tasks) => Ok(asked.by(&Rsa::new(accelerator, tasks)?, callers)),
        Tasks::ModExp(tasks) => Ok(asked.by(&Powers::new(accelerator, tasks)?, callers)),
    }
}

impl CallStyle {
    /// Creates `callers` subjects of this style, one for each caller.
    fn by<R: Requests + Clone + 'static>(
        self,
        requests: &R,
        callers: usize,
    ) -> Vec<Box<dyn PublicKey>> {
        let caller = |_| match self {
            Self::Calls => LaneQueue::before(Calls(requests.clone())),
            Self::Jobs => Box::new(InFlight {
                requests: requests.clone(),
                jobs: VecDeque::new(),
            }),
        };
        (0..callers).map(caller).collect()
    }
}

/// Requests of one kind.
trait Requests: Send {
    /// Executes a request, and returns its result.
    fn call(&self, number: usize) -> Vec<u8>;

    fn submit(&self, number: usize) -> Pending;
}

struct Calls<R>(R);

impl<R: Requests> Lanes for Calls<R> {
    const LANES: usize = 1;

    fn run(&mut self, requests: &[usize], results: &mut Results) {
        for number in requests {
            results.done_with(*number, self.0.call(*number));
        }
    }
}

/// Jobs that are waited for in order; each wait also takes the completed jobs behind it.
struct InFlight<R> {
    requests: R,
    jobs: VecDeque<(usize, Pending)>,
}

impl<R: Requests> PublicKey for InFlight<R> {
    fn submit(&mut self, number: usize) {
        self.jobs.push_back((number, self.requests.submit(number)));
    }

    fn finish(&mut self, results: &mut Results) {
        let mut is_oldest = true;
        while let Some((number, job)) = self
            .jobs
            .pop_front_if(|(_, job)| is_oldest || job.is_finished())
        {
            is_oldest = false;
            results.done_with(number, job.wait());
        }
    }

    fn abandon(&mut self) {
        self.jobs.retain(|(_, job)| !job.cancel());
        for (_, job) in self.jobs.drain(..) {
            job.wait();
        }
    }
}

#[derive(Clone)]
struct Rsa {
    tasks: Arc<RsaTasks>,
    keys: Vec<AcceleratedRsa>,
}

impl Rsa {
    fn new(accelerator: &Accelerator, tasks: &Arc<RsaTasks>) -> Result<Self, Error> {
        let keys = tasks.keys.iter().map(|key| {
            let key = RsaPrivateKey::from_der(key.der.as_bytes())?;
            Ok(accelerator.rsa(&key))
        });
        Ok(Self {
            tasks: Arc::clone(tasks),
            keys: keys.collect::<Result<_, Error>>()?,
        })
    }

    fn request(&self, number: usize) -> (&AcceleratedRsa, &RsaRequest) {
        let request = &self.tasks.requests[number];
        (&self.keys[request.key], request)
    }
}

impl Requests for Rsa {
    fn call(&self, number: usize) -> Vec<u8> {
        let (key, request) = self.request(number);
        let RsaRequest {
            number,
            digest,
            signature,
            ..
        } = request;
        match self.tasks.operation {
            RsaOperation::Private => done(key.raw_private(number)).to_vec(),
            RsaOperation::Sign => done(key.sign_digest(SCHEME, digest)),
            RsaOperation::Verify => is_right(key.public().verify_digest(SCHEME, digest, signature)),
        }
    }

    fn submit(&self, number: usize) -> Pending {
        let (key, request) = self.request(number);
        let options = JobOptions::default();
        let digest = || request.digest.to_vec();
        match self.tasks.operation {
            RsaOperation::Private => Pending::Number(entered(
                key.submit_raw_private(request.number.clone(), options),
            )),
            RsaOperation::Sign => {
                Pending::Signature(entered(key.submit_sign_digest(SCHEME, digest(), options)))
            }
            RsaOperation::Verify => Pending::Verdict(entered(key.public().submit_verify_digest(
                SCHEME,
                digest(),
                request.signature.clone(),
                options,
            ))),
        }
    }
}

#[derive(Clone)]
struct Powers {
    tasks: Arc<ModExpTasks>,
    moduli: Vec<AcceleratedModExp>,
}

impl Powers {
    fn new(accelerator: &Accelerator, tasks: &Arc<ModExpTasks>) -> Result<Self, Error> {
        let moduli = tasks.moduli.iter();
        let moduli = moduli.map(|modulus| {
            let order = ByteOrder::BigEndian;
            Ok(accelerator.modexp(modulus, order)?)
        });
        Ok(Self {
            tasks: Arc::clone(tasks),
            moduli: moduli.collect::<Result<_, Error>>()?,
        })
    }
}

impl Requests for Powers {
    fn call(&self, number: usize) -> Vec<u8> {
        let request = &self.tasks.requests[number];
        let modulus = &self.moduli[request.modulus];
        done(modulus.power(Base::from(&request.base[..]), &request.exponent)).to_vec()
    }

    fn submit(&self, number: usize) -> Pending {
        let request = &self.tasks.requests[number];
        let base = Base::from(request.base.clone());
        let exponent = request.exponent.clone();
        let modulus = &self.moduli[request.modulus];
        Pending::Number(entered(modulus.submit_power(
            base,
            exponent,
            JobOptions::default(),
        )))
    }
}

enum Pending {
    Signature(Job<Vec<u8>>),
    Verdict(Job<()>),
    Number(Job<Zeroizing<Vec<u8>>>),
}

impl Pending {
    fn is_finished(&self) -> bool {
        match self {
            Self::Signature(job) => job.is_finished(),
            Self::Verdict(job) => job.is_finished(),
            Self::Number(job) => job.is_finished(),
        }
    }

    fn wait(self) -> Vec<u8> {
        match self {
            Self::Signature(job) => done(job.wait()),
            Self::Verdict(job) => is_right(job.wait()),
            Self::Number(job) => done(job.wait()).to_vec(),
        }
    }

    fn cancel(&self) -> bool {
        match self {
            Self::Signature(job) => job.cancel(),
            Self::Verdict(job) => job.cancel(),
            Self::Number(job) => job.cancel(),
        }
    }
}

fn done<T>(result: Result<T, OarlockError>) -> T {
    result.unwrap_or_else(|error| panic!("what is asked of participants can be done: {error}"))
}

fn is_right(result: Result<(), OarlockError>) -> Vec<u8> {
    match result {
        Ok(()) => vec![1],
        Err(OarlockError::InvalidSignature) => vec![0],
        Err(error) => panic!("a signature is right or wrong: {error}"),
    }
}

fn entered<T, R>(job: Result<T, QueueFull<R>>) -> T {
    job.unwrap_or_else(|full| panic!("{full}"))
}

const SCHEME: SignatureScheme = SignatureScheme::Pkcs1(Hash::Sha256);
