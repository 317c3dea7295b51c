//! The interface between the framework and devices with queues of their own.
//!
//! A task owns its data: a copy of the request's, followed by guard bytes. So a device that answers late or fails half-way
//! has written nothing that others see. Answering consumes the task, so a driver in Rust cannot answer twice.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use zeroize::Zeroizing;

use super::error::DeviceError;
use crate::work::algorithm::Direction;
use crate::work::operation::{Layout, Material, Service, Step};
use crate::work::request::PublicKeyRequest;
use oarlock_threads::wiped::Wiped;

/// A backend with a queue, such as an accelerator board, that accepts requests now and answers later. Any number of threads
/// may call it at once.
///
/// # Example
/// A device that answers at once:
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use oarlock::Accelerator;
/// use oarlock::framework::{
///     Check, Framework, Iv, QueueOffer, Device, Request, Service, SessionSpec, Task,
/// };
/// use oarlock::{Algorithm, cipher::StreamCipher};
///
/// struct Direct(Accelerator);
///
/// impl Device for Direct {
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
pub trait Device: Send + Sync {
    /// The device's name in statistics and errors, unique in a framework.
    fn name(&self) -> &str;

    /// Returns how many tasks the device holds at once, at least 1. It is never given more.
    fn depth(&self) -> usize;

    /// Returns the offer for requests of a service, or `None` if the device cannot serve them. It is called at registration,
    /// and once for each service when that is first used.
    fn offer(&self, service: Service) -> Option<QueueOffer>;

    /// Returns the offer for public-key requests of this shape.
    fn offer_public_key(&self, _request: &PublicKeyRequest) -> Option<QueueOffer> {
        None
    }

    /// Accepts a task, or returns it whole if there is no room. Any thread may answer it by [`Task::complete`], now or
    /// later. Must not wait.
    fn submit(&self, task: Task) -> Result<(), Task>;

    /// Answers finished tasks of a device that must be polled, and returns the time until the next poll. `None`, the
    /// default, means that no task is left or that the device answers without polls.
    fn poll(&self) -> Option<Duration> {
        None
    }
}

/// A device's offer for requests of a service, used until they are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueOffer {
    /// The time from submission to answer, besides all the times below.
    pub latency: Duration,
    /// The time that each request occupies the device.
    pub per_request: Duration,
    /// The additional time to load a key that the device does not have.
    pub key_setup: Duration,
    /// Bytes per second under full load.
    pub bytes_per_second: u64,
}

impl QueueOffer {
    /// Returns how long a request occupies the device.
    pub(crate) fn service_time(&self, bytes: usize) -> Duration {
        let ns = bytes as f64 * 1e9 / (self.bytes_per_second.max(1) as f64);
        self.per_request + Duration::from_nanos(ns as u64)
    }
}

/// A request as a device gets it: its keys, and a copy of its data, which is changed in place. Dropping it fails the
/// request.
pub struct Task {
    what: What,
    /// The data, followed by the guard.
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

/// A task's data after its answer.
pub(crate) struct Bounce {
    bytes: Zeroizing<Vec<u8>>,
}

impl Bounce {
    /// Returns the data, or `None` if the device has overwritten the guard.
    pub(crate) fn checked(&mut self) -> Option<&mut [u8]> {
        let len = self.bytes.len().checked_sub(GUARD.len())?;
        let (data, guard) = self.bytes.split_at_mut(len);
        (guard == GUARD).then_some(data)
    }

    /// Returns the result of a public-key request.
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
    /// Creates a task of `bytes` bytes of data, which `fill` writes.
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

    /// Returns the service to compute.
    pub fn service(&self) -> Service {
        match &self.what {
            What::Data { material, .. } => material.service(),
            What::PublicKey(_) => Service::PublicKey,
        }
    }

    /// Returns the session's keys.
    ///
    /// # Panics
    /// For a public-key request, which has its own keys.
    pub fn material(&self) -> &Material {
        self.data_step().0
    }

    /// Returns the direction. In both directions the device computes the tag, over the encrypted or the decrypted data, and
    /// writes it to its place. The framework compares it with the message's tag, which the device does not get.
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

    /// Returns, for stream ciphers, how many bytes of the first block are used up.
    ///
    /// # Panics
    /// For a public-key request.
    pub fn skip(&self) -> usize {
        self.data_step().1.skip
    }

    /// Returns which bytes of the data are authenticated, encrypted and the tag.
    ///
    /// # Panics
    /// For a public-key request.
    pub fn layout(&self) -> &Layout {
        &self.data_step().1.layout
    }

    /// Returns the public-key request, or `None` for other services.
    pub fn public_key(&self) -> Option<&PublicKeyRequest> {
        match &self.what {
            What::PublicKey(request) => Some(request),
            What::Data { .. } => None,
        }
    }

    /// Returns the public-key request, to be kept while the task is answered.
    pub(crate) fn shared_public_key(&self) -> Option<Arc<PublicKeyRequest>> {
        match &self.what {
            What::PublicKey(request) => Some(Arc::clone(request)),
            What::Data { .. } => None,
        }
    }

    /// Returns the data, to be changed in place.
    pub fn data_mut(&mut self) -> &mut [u8] {
        let len = self.bytes();
        &mut self.bounce[..len]
    }

    /// Returns the number of bytes of data.
    pub fn bytes(&self) -> usize {
        self.bounce.len() - GUARD.len()
    }

    /// Returns the data followed by the guard bytes, for drivers that pass the memory to hardware. The guard is checked when
    /// the task is answered; a device that has changed it is no longer trusted.
    pub fn memory(&mut self) -> &mut [u8] {
        &mut self.bounce
    }

    /// Answers the task.
    pub fn complete(mut self, result: Result<(), DeviceError>) {
        self.answer(result);
    }

    /// Answers a public-key request with a power as long as the modulus, big-endian.
    pub fn complete_power(mut self, power: Result<Zeroizing<Vec<u8>>, DeviceError>) {
        match power {
            Ok(power) => {
                self.bounce = power;
                self.answer(Ok(()));
            }
            Err(error) => self.answer(Err(error)),
        }
    }

    /// Returns the parts that [`compute`](super::compute) needs.
    #[cfg(feature = "simulated")]
    pub(crate) fn parts(&mut self) -> Option<(&Arc<Material>, &Step, &mut [u8])> {
        let len = self.bytes();
        match &self.what {
            What::Data { material, step } => Some((material, step, &mut self.bounce[..len])),
            What::PublicKey(_) => None,
        }
    }

    /// Returns a second task for the same request, to simulate a driver that answers twice.
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

    /// Ends the task without an answer: the device did not accept it.
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

/// Omits the data.
impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task")
            .field("service", &self.service())
            .field("bytes", &self.bytes())
            .finish_non_exhaustive()
    }
}

/// Neither 0 nor 0xff, the usual values of an overrun.
const GUARD: [u8; 32] = {
    let mut guard = [0; 32];
    let mut at = 0;
    while at < guard.len() {
        guard[at] = 0x5a ^ (at as u8).wrapping_mul(11);
        at += 1;
    }
    guard
};
