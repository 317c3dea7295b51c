//! What a device with a queue of its own is to the framework.
//!
//! A task owns its data: a copy of the request's, with guard bytes behind it. So a device that answers
//! late, or fails half-way, has written nothing that anyone else sees; and a task is used up by its
//! answer, so that a driver in Rust cannot answer twice.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use zeroize::Zeroizing;

use super::request::DeviceError;
use crate::work::algorithm::Direction;
use crate::work::operation::{Layout, Material, Service, Step};
use crate::work::request::PublicKeyRequest;
use oarlock_threads::wiped::Wiped;

/// A backend with a queue: an accelerator board, or anything else that takes requests now and answers
/// later. Any number of threads may call it at once.
///
/// # Example
/// A device that answers at once:
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use oarlock::Accelerator;
/// use oarlock::framework::{
///     Check, Framework, Iv, QueueOffer, QueuedDevice, Request, Service, SessionSpec, Task,
/// };
/// use oarlock::{Algorithm, cipher::StreamCipher};
///
/// struct Direct(Accelerator);
///
/// impl QueuedDevice for Direct {
///     fn name(&self) -> &str { "direct" }
///     fn depth(&self) -> usize { 16 }
///     fn offer(&self, service: Service) -> Option<QueueOffer> {
///         (service == Service::Cipher(Algorithm::Aes128Ctr)).then_some(QueueOffer {
///             latency: Duration::ZERO,
///             per_request: Duration::ZERO,
///             key_setup: Duration::ZERO,
///             bytes_per_second: 1_000_000_000_000,
///         })
///     }
///     fn submit(&self, mut task: Task) -> Result<(), Task> {
///         let (iv, range) = (task.iv().to_vec(), task.layout().encrypted.clone());
///         let Ok(mut cipher) = self.0.ctr(task.material().cipher_key(), &iv) else {
///             return Err(task);
///         };
///         let skip = task.skip();
///         cipher.apply_keystream(&mut vec![0; skip]);
///         cipher.apply_keystream(&mut task.data_mut()[range]);
///         task.complete(Ok(()));
///         Ok(())
///     }
/// }
///
/// let accelerator = Accelerator::builder().build()?;
/// let framework = Framework::new(&accelerator);
/// framework.register(Arc::new(Direct(accelerator.clone())), Check::All)?;
/// let session = framework.session(&SessionSpec::cipher(Algorithm::Aes128Ctr, &[7; 16], &[9; 16]))?;
/// let answer = session.submit(Request::encrypt(vec![0; 100_000]))?.wait()?;
/// answer.outcome?;
/// let mut expected = vec![0; 100_000];
/// accelerator.ctr(&[7; 16], &[9; 16])?.apply_keystream(&mut expected);
/// assert_eq!(answer.buffers.into_output(), expected);
/// # Ok::<(), oarlock::Error>(())
/// ```
pub trait QueuedDevice: Send + Sync {
    /// Its name in statistics and errors. Each device of a framework has a name of its own.
    fn name(&self) -> &str;

    /// How many tasks it holds at once, at least 1. More are not given to it.
    fn depth(&self) -> usize;

    /// What it offers for such requests; `None` if it cannot serve them. It is asked once, when it is
    /// registered, and for each service when that is first used.
    fn offer(&self, service: Service) -> Option<QueueOffer>;

    /// What it offers for public-key requests of this shape.
    fn offer_public_key(&self, _request: &PublicKeyRequest) -> Option<QueueOffer> {
        None
    }

    /// Takes a task, or gives it back whole where it has no room just now. It is answered by
    /// [`Task::complete`], here or later, by any thread. Must not wait.
    fn submit(&self, task: Task) -> Result<(), Task>;

    /// For devices that must be asked: answers tasks that are done, and says when to ask again. `None`,
    /// the default, where there are none, or the device answers by itself.
    fn poll(&self) -> Option<Duration> {
        None
    }
}

/// A backend whose calls return when the work is done. [`Blocking`](crate::framework::Blocking) makes a device with a
/// queue of it.
pub trait BlockingDevice: Send + Sync + 'static {
    /// As [`QueuedDevice::name`].
    fn name(&self) -> &str;

    /// How many calls it takes at once; at least 1.
    fn capacity(&self) -> usize;

    /// As [`QueuedDevice::offer`].
    fn offer(&self, service: Service) -> Option<QueueOffer>;

    /// As [`QueuedDevice::offer_public_key`].
    fn offer_public_key(&self, _request: &PublicKeyRequest) -> Option<QueueOffer> {
        None
    }

    /// Does a task, and answers it.
    fn run(&self, task: Task);
}

/// What a device offers for requests of a service, before they are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueOffer {
    /// The time from submission to answer, in addition to all the times below.
    pub latency: Duration,
    /// The time for which each request keeps the device from others.
    pub per_request: Duration,
    /// In addition, where it does not have the session's key yet.
    pub key_setup: Duration,
    /// Bytes a second under full load.
    pub bytes_per_second: u64,
}

impl QueueOffer {
    /// How long a request keeps the device from others.
    pub(crate) fn service_time(&self, bytes: usize) -> Duration {
        let ns = bytes as f64 * 1e9 / (self.bytes_per_second.max(1) as f64);
        self.per_request + Duration::from_nanos(ns as u64)
    }
}

/// A request as a device gets it: its keys, and a copy of its data, which is changed in place. One that is dropped counts as failed.
pub struct Task {
    what: What,
    /// The data, then the guard.
    bounce: Zeroizing<Vec<u8>>,
    sink: Option<Arc<dyn Sink>>,
}

#[derive(Clone)]
pub(crate) enum What {
    Data { material: Arc<Material>, step: Step },
    PublicKey(Arc<PublicKeyRequest>),
}

/// The receiver of a task's answer.
pub(crate) trait Sink: Send + Sync {
    fn answer(&self, bounce: Bounce, result: Result<(), DeviceError>);
}

/// What a device has made.
pub(crate) struct Bounce {
    bytes: Zeroizing<Vec<u8>>,
}

impl Bounce {
    /// What is between the front and the guard; `None` where the device has written behind its end.
    pub(crate) fn checked(&mut self) -> Option<&mut [u8]> {
        let len = self.bytes.len().checked_sub(GUARD.len())?;
        let (data, guard) = self.bytes.split_at_mut(len);
        (guard == GUARD).then_some(data)
    }

    /// The result of a public-key request.
    pub(crate) fn into_result(mut self) -> Zeroizing<Vec<u8>> {
        std::mem::take(&mut self.bytes)
    }
}

impl Drop for Bounce {
    fn drop(&mut self) {
        drop(Wiped::from(std::mem::take(&mut *self.bytes)));
    }
}

impl Task {
    /// One with room for `bytes` of data, which `fill` puts there.
    pub(crate) fn new(
        what: What,
        bytes: usize,
        fill: impl FnOnce(&mut [u8]),
        sink: Arc<dyn Sink>,
    ) -> Self {
        let mut bounce = Zeroizing::new(vec![0; bytes + GUARD.len()]);
        fill(&mut bounce[..bytes]);
        bounce[bytes..].copy_from_slice(&GUARD);
        let sink = Some(sink);
        Self { what, bounce, sink }
    }

    /// What is to be computed.
    pub fn service(&self) -> Service {
        match &self.what {
            What::Data { material, .. } => material.service(),
            What::PublicKey(_) => Service::PublicKey,
        }
    }

    /// The session's keys.
    ///
    /// # Panics
    /// For a public-key request, which has its own.
    pub fn material(&self) -> &Material {
        self.data_step().0
    }

    /// Either way the tag is computed and written to its place: of what is encrypted, or of what is
    /// decrypted. The framework compares it with the one that a message came with, which the device is
    /// not told.
    ///
    /// # Panics
    /// For a public-key request.
    pub fn direction(&self) -> Direction {
        self.data_step().1.direction
    }

    /// Returns the IV: for stream ciphers the counter block of the first byte, for CBC the block before, for AEADs the
    /// nonce.
    ///
    /// # Panics
    /// For a public-key request.
    pub fn iv(&self) -> &[u8] {
        self.data_step().1.iv.as_slice()
    }

    /// Returns how many bytes of the first block are used up, for stream ciphers.
    ///
    /// # Panics
    /// For a public-key request.
    pub fn skip(&self) -> usize {
        self.data_step().1.skip
    }

    /// Which bytes of the data are what.
    ///
    /// # Panics
    /// For a public-key request.
    pub fn layout(&self) -> &Layout {
        &self.data_step().1.layout
    }

    /// The public-key request, if it is one.
    pub fn public_key(&self) -> Option<&PublicKeyRequest> {
        match &self.what {
            What::PublicKey(request) => Some(request),
            What::Data { .. } => None,
        }
    }

    /// The data, to be changed in place.
    pub fn data_mut(&mut self) -> &mut [u8] {
        let len = self.bytes();
        &mut self.bounce[..len]
    }

    /// How many bytes of data there are.
    pub fn bytes(&self) -> usize {
        self.bounce.len() - GUARD.len()
    }

    /// The data and the guard bytes behind them, for drivers that hand the memory to hardware. The guard
    /// is looked at when the task is answered; a device that has changed it is trusted no more.
    pub fn memory(&mut self) -> &mut [u8] {
        &mut self.bounce
    }

    /// Answers.
    pub fn complete(mut self, result: Result<(), DeviceError>) {
        self.answer(result);
    }

    /// Answers a public-key request: a power as long as the modulus, big-endian.
    pub fn complete_power(mut self, power: Result<Zeroizing<Vec<u8>>, DeviceError>) {
        match power {
            Ok(power) => {
                self.bounce = power;
                self.answer(Ok(()));
            }
            Err(error) => self.answer(Err(error)),
        }
    }

    /// What [`compute`](super::compute) takes of it.
    #[cfg(feature = "simulated")]
    pub(crate) fn parts(&mut self) -> Option<(&Arc<Material>, &Step, &mut [u8])> {
        let len = self.bytes();
        match &self.what {
            What::Data { material, step } => Some((material, step, &mut self.bounce[..len])),
            What::PublicKey(_) => None,
        }
    }

    /// A second task for the same request, as a driver that breaks the contract has one.
    #[cfg(feature = "simulated")]
    pub(crate) fn duplicate(&self) -> Self {
        Self {
            what: self.what.clone(),
            bounce: self.bounce.clone(),
            sink: self.sink.clone(),
        }
    }

    fn answer(&mut self, result: Result<(), DeviceError>) {
        if let Some(sink) = self.sink.take() {
            let bytes = std::mem::take(&mut self.bounce);
            sink.answer(Bounce { bytes }, result);
        }
    }

    fn data_step(&self) -> (&Material, &Step) {
        match &self.what {
            What::Data { material, step } => (material, step),
            What::PublicKey(_) => {
                panic!("a public-key request has no session: see Task::public_key")
            }
        }
    }

    /// Gives it up without an answer: the device did not take it.
    pub(crate) fn recall(mut self) {
        self.sink = None;
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.answer(Err(DeviceError(
            "it dropped the request without an answer".into(),
        )));
    }
}

/// Does not show the data.
impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task")
            .field("service", &self.service())
            .field("bytes", &self.bytes())
            .finish_non_exhaustive()
    }
}

/// Neither zeros nor ones, which overruns are mostly made of.
const GUARD: [u8; 32] = {
    let mut guard = [0; 32];
    let mut at = 0;
    while at < guard.len() {
        guard[at] = 0x5a ^ (at as u8).wrapping_mul(11);
        at += 1;
    }
    guard
};
