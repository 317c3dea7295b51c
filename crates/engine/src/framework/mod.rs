//! One framework over cores, tokens and boards: any request, on the device that is expected to finish it first.
//!
//! A [`Framework`] belongs to an `Accelerator`. Devices with queues of their own ([`Device`]) are registered with it
//! and may leave while it runs. A [`FrameworkSession`] is a key and a position; a request without one has keys of its own
//! ([`Framework::submit`]). Requests own their data. Each goes to the device whose queue, rate and latency promise the first
//! answer, or stays on the CPU. A device that fails, stalls, lies or leaves loses no request, and no partial result of it is
//! visible. docs/internals/framework.md has the design.
//!
//! ```
//! use oarlock::framework::{Framework, HashAlgorithm, Layout, Request, SessionSpec};
//! use oarlock::{Accelerator, Algorithm};
//!
//! let framework = Framework::new(&Accelerator::builder().build()?);
//! let session = framework.session(&SessionSpec::aead(Algorithm::Aes128Gcm, &[7; 16], &[9; 12]))?;
//! // 4 bytes of associated data, the message, room for the tag: in three segments.
//! let packet = vec![b"head".to_vec(), b"attack at dawn".to_vec(), vec![0; 16]];
//! let request = Request::encrypt(oarlock::framework::Buffers::scattered(packet)).with_layout(Layout::packet(4, 14));
//! let answer = session.submit(request)?.wait()?; // or `.await`, a callback, a CompletionQueue with an eventfd
//! answer.outcome?;
//! assert_ne!(answer.buffers.output().nth(1), Some(&b"attack at dawn"[..]));
//!
//! let mac = framework.session(&SessionSpec::hmac(HashAlgorithm::Sha256, b"key", 32))?;
//! let mut message = [&b"message"[..], &[0; 32]].concat();
//! mac.run(oarlock::Direction::Encrypt, Default::default(), Layout::packet(7, 0), &mut message)?;
//! mac.run(oarlock::Direction::Decrypt, Default::default(), Layout::packet(7, 0), &mut message)?; // verifies
//! # Ok::<(), oarlock::Error>(())
//! ```

// request.rs: requests and answers. session.rs: the interface to keys. parcel.rs: requests, keys and positions. core.rs:
// requests in flight. member.rs: a device. rates.rs: its speed. verdict.rs: what it answers. local.rs: the CPU's queue.
// watch.rs: the thread that polls devices. blocking.rs: devices without a queue.

mod blocking;
mod core;
mod local;
mod member;
mod parcel;
mod rates;
mod request;
mod session;
mod verdict;
mod watch;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, PoisonError};

pub use self::blocking::Blocking;
use self::core::{Closer, Core};
pub use self::member::Check;
use self::parcel::{Content, Flight, Inner, Parcel};
pub use self::request::{Answer, Iv, OperationStats, Place, Request, SessionSpec};
pub use self::session::FrameworkSession;
use self::session::InFlight;
use crate::Error;
pub use crate::costs::published::Counts;
pub use crate::device::BlockingDevice;
pub use crate::device::interface::{Device, QueueOffer, Task};
pub use crate::learn::BreakerState;
use crate::plan::engine::Engine;
pub use crate::work::buffers::Buffers;
pub use crate::work::operation::{ChainOrder, HashAlgorithm, IvBytes, Layout, Material, Service};
use crate::work::request::PublicKeyRequest;
use oarlock_threads::job::{Job, QueueFull};
use oarlock_threads::once::Slot;

/// The CPU and devices with queues, behind one handle: clones and sessions share everything. Dropping the last of them
/// answers what is in flight with [`Error::Cancelled`].
///
/// It belongs to the process that created it: a forked child creates its own.
#[derive(Clone)]
pub struct Framework(Arc<Closer>);

impl Framework {
    /// Creates a framework on the pool of `accelerator`, which computes requests where no device is faster. Up to 1024
    /// requests may be in flight.
    pub fn new(accelerator: &impl AsRef<Arc<Engine>>) -> Self {
        Self::with_in_flight_max(accelerator, IN_FLIGHT_MAX)
    }

    /// Creates a framework with another limit on requests in flight.
    pub fn with_in_flight_max(accelerator: &impl AsRef<Arc<Engine>>, count: usize) -> Self {
        Self(Arc::new(Closer(Core::new(
            Arc::clone(accelerator.as_ref()),
            count,
        ))))
    }

    /// Adds a device, which may get requests submitted from now on. It inherits the health of an earlier device of this
    /// name.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if the name is taken; `cpu` and `software` always are.
    pub fn register(&self, device: Arc<dyn Device>, check: Check) -> Result<(), Error> {
        self.0.0.register(device, check)
    }

    /// Removes a device and moves its requests to others. Returns whether it was registered.
    pub fn withdraw(&self, name: &str) -> bool {
        self.0.0.withdraw(name)
    }

    /// Returns the names of the devices, in order of registration.
    pub fn devices(&self) -> Vec<String> {
        let members = self.0.0.members();
        members
            .iter()
            .map(|member| member.name.to_string())
            .collect()
    }

    /// Creates a session with the keys of `spec`.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] and [`Error::InvalidInput`] for wrong lengths.
    pub fn session(&self, spec: &SessionSpec<'_>) -> Result<FrameworkSession, Error> {
        let engine = &self.0.0.engine;
        Ok(FrameworkSession {
            inner: Arc::new(Inner::new(&engine.ciphers, spec, false)?),
            core: Arc::clone(&self.0),
        })
    }

    /// Submits a request that has [its own keys](Request::with_keys). They are set up on the device that computes it and
    /// wiped afterwards. For several requests with the same keys, use a session, which sets them up once.
    ///
    /// ```
    /// use oarlock::framework::{Framework, Request, SessionSpec};
    /// use oarlock::{Accelerator, Algorithm};
    ///
    /// let framework = Framework::new(&Accelerator::builder().build()?);
    /// let keys = [[7; 16], [8; 16]];
    /// let with = |key| SessionSpec::aead(Algorithm::Aes128Gcm, key, &[9; 12]);
    /// // The message, and room for the tag.
    /// let message = || [&b"attack at dawn"[..], &[0; 16]].concat();
    /// let sealed = framework.submit(Request::encrypt(message()).with_keys(&with(&keys[0])))?.wait()?;
    /// sealed.outcome?;
    /// let opened = Request::decrypt(sealed.buffers).with_keys(&with(&keys[0]));
    /// assert_eq!(framework.submit(opened)?.wait()?.outcome, Ok(()));
    ///
    /// // A batch, each with its own.
    /// let batch = keys.iter().map(|key| Request::encrypt(message()).with_keys(&with(key)));
    /// let answers = framework.run_each(batch.collect());
    /// assert_ne!(answers[0].buffers, answers[1].buffers);
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`QueueFull`] returns the request unchanged, as [`FrameworkSession::submit`] does. A missing key or one of the wrong
    /// length is an error in the answer.
    #[allow(clippy::result_large_err)] // The request goes back unchanged.
    pub fn submit(&self, request: Request) -> Result<Job<Answer>, QueueFull<Request>> {
        let core = &self.0.0;
        session::submit(core, request, |keys| {
            let keys = keys.ok_or_else(|| {
                Error::InvalidInput(
                    "the request has no keys: give it some, or submit it to a session".into(),
                )
            })?;
            let engine = &core.engine;
            let inner = Inner::new(&engine.ciphers, &keys.spec(), true)?;
            Ok(Arc::new(inner))
        })
    }

    /// Submits a public-key request. Its answer has the raw result, without padding, and no buffers.
    ///
    /// # Errors
    /// [`QueueFull`] returns the request.
    #[allow(clippy::result_large_err)] // The request goes back unchanged.
    pub fn submit_public_key(
        &self,
        request: PublicKeyRequest,
        place: Place,
    ) -> Result<Job<Answer>, QueueFull<PublicKeyRequest>> {
        let core = &self.0.0;
        if !core.reserve() {
            return Err(QueueFull(request));
        }
        let flight = Arc::new(Flight {
            slot: Slot::default(),
        });
        let parcel = Parcel::new(Content::PublicKey(Arc::new(request)), place, core.now());
        core.dispatch(&flight, parcel);
        let core = Arc::clone(core);
        Ok(Job::new(Box::new(InFlight { flight, core })))
    }

    /// Computes a batch, helped by the calling thread, and returns the answers in the order of the requests. The CPU
    /// computes requests together where that is faster. The batch may exceed the limit on requests in flight.
    ///
    /// # Errors
    /// Each answer has the error of its request.
    #[allow(clippy::result_large_err)] // The request goes back unchanged.
    pub fn run_all(&self, batch: Vec<(&FrameworkSession, Request)>) -> Vec<Answer> {
        self.run_batch(batch, |session, request| session.submit(request))
    }

    /// Computes a batch as [`run_all`](Self::run_all) does, of requests that have [their own keys](Request::with_keys).
    ///
    /// # Errors
    /// Each answer has the error of its request.
    #[allow(clippy::result_large_err)] // The request goes back unchanged.
    pub fn run_each(&self, batch: Vec<Request>) -> Vec<Answer> {
        let batch = batch.into_iter().map(|request| ((), request));
        self.run_batch(batch.collect(), |(), request| self.submit(request))
    }

    fn run_batch<T: Copy>(
        &self,
        batch: Vec<(T, Request)>,
        submit: impl Fn(T, Request) -> Result<Job<Answer>, QueueFull<Request>>,
    ) -> Vec<Answer> {
        let mut answers: Vec<Option<Answer>> = batch.iter().map(|_| None).collect();
        let mut jobs = VecDeque::new();
        let take = |(place, job): (usize, Job<Answer>), answers: &mut Vec<Option<Answer>>| {
            answers[place] = Some(job.wait().unwrap_or_else(Answer::failed));
        };
        for (place, (session, mut request)) in batch.into_iter().enumerate() {
            if request.place == Place::Auto {
                request.place = Place::Together;
            }
            loop {
                match submit(session, request) {
                    Ok(job) => {
                        jobs.push_back((place, job));
                        break;
                    }
                    Err(QueueFull(back)) => {
                        request = back;
                        match jobs.pop_front() {
                            Some(job) => take(job, &mut answers),
                            // The requests in flight belong to other callers.
                            None if !self.0.0.local.help() => std::thread::yield_now(),
                            None => {}
                        }
                    }
                }
            }
        }
        while let Some(job) = jobs.pop_front() {
            take(job, &mut answers);
        }
        let cancelled = || Answer::failed(Error::Cancelled);
        answers
            .into_iter()
            .map(|answer| answer.unwrap_or_else(cancelled))
            .collect()
    }

    /// Returns the number of requests without an answer.
    pub fn in_flight(&self) -> usize {
        self.0.0.in_flight()
    }

    /// Returns counts by device and service.
    pub fn stats(&self) -> BTreeMap<(String, Service), OperationStats> {
        self.0.0.totals()
    }

    /// Returns the health of every device ever registered, by name.
    pub fn health(&self) -> BTreeMap<String, DeviceHealth> {
        let core = &self.0.0;
        let known = core.known_devices().into_iter();
        known
            .filter_map(|name| {
                let health = core.health_of(&name)?;
                let health = health.lock().unwrap_or_else(PoisonError::into_inner);
                let seen = DeviceHealth {
                    state: health.state(),
                    counts: health.counts,
                };
                drop(health);
                Some((name, seen))
            })
            .collect()
    }
}

impl fmt::Debug for Framework {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Framework")
            .field("devices", &self.devices())
            .field("in_flight", &self.in_flight())
            .finish_non_exhaustive()
    }
}

/// The health of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceHealth {
    /// Whether the device gets requests.
    pub state: BreakerState,
    /// Counts since its first registration.
    pub counts: Counts,
}

const IN_FLIGHT_MAX: usize = 1024;
