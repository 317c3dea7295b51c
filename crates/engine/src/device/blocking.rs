//! Devices whose calls return when the work is done.
//!
//! This library adds and removes the paddings of public keys, so a device only computes `base ^ exponent mod modulus`:
//! with a key's numbers, with numbers that a caller passes, or with a key that it holds itself. [`complete`] mediates: it
//! passes operands in one form, checks results, and answers each request exactly once whatever the device does.

use std::time::Duration;

use zeroize::Zeroizing;

use super::error::DeviceError;
use super::interface::{QueueOffer, Task};
use crate::Error;
use crate::work::operation::Service;
use crate::work::request::PublicKeyRequest;
use crate::work::shape::Shape;
use oarlock_threads::caught::caught;

/// A backend whose calls return when the work is done. It computes requests of services, raises numbers to powers, or
/// both. [`Blocking`](crate::framework::Blocking) puts a queue in front of it for a framework. Any number of threads may
/// call it at once.
///
/// For public keys a driver handles no paddings, signs, leading zeros or byte orders: the modulus is odd, and each base is
/// big-endian, not negative, less than the modulus and of the same length in bytes. An exponent may be longer than the
/// modulus. Submit such requests to it with [`complete`], or create keys that it holds with
/// [`RsaPrivateKey::held`](crate::rsa::RsaPrivateKey::held).
///
/// # Example
/// A device that leaves the computation to aws-lc and counts requests:
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use oarlock::Accelerator;
/// use oarlock::device::{
///     Answer, BlockingDevice, PublicKeyOffer, PublicKeyRequest, Shape, SoftwareDevice, complete,
/// };
/// use oarlock::framework::{Blocking, Check, Framework, Place};
/// use oarlock::rsa::{Hash, RsaPrivateKey, SignatureScheme};
///
/// #[derive(Default)]
/// struct Counter(SoftwareDevice, AtomicUsize);
///
/// impl BlockingDevice for Counter {
///     fn name(&self) -> &str { "counter" }
///     fn offer_public_key(&self, shape: &Shape) -> Option<PublicKeyOffer> { self.0.offer_public_key(shape) }
///     fn run_public_key(&self, batch: &[&PublicKeyRequest], answer: &mut Answer<'_>) {
///         self.1.fetch_add(batch.len(), Ordering::Relaxed);
///         self.0.run_public_key(batch, answer);
///     }
/// }
///
/// let counter = Arc::new(Counter::default());
/// let key = RsaPrivateKey::from_pem(include_str!("../../../oarlock/tests/keys/rsa2048.pem"))?;
/// let scheme = SignatureScheme::Pkcs1(Hash::Sha256);
/// let request = PublicKeyRequest::sign(&key, scheme, b"a message")?;
/// complete(&*counter, &[&request], &mut |_, signature| assert_eq!(signature.unwrap().len(), 256));
/// assert_eq!(counter.1.load(Ordering::Relaxed), 1);
///
/// let framework = Framework::new(&Accelerator::builder().build()?);
/// framework.register(Arc::new(Blocking::new(counter)), Check::Sample(0))?;
/// let Ok(job) = framework.submit_public_key(request, Place::Device) else { panic!("the queue is full") };
/// assert_eq!(job.wait()?.power.len(), 256);
/// # Ok::<(), oarlock::Error>(())
/// ```
pub trait BlockingDevice: Send + Sync {
    /// The device's name in statistics and errors, unique in a framework.
    fn name(&self) -> &str;

    /// Returns how many calls the device accepts at once; at least 1, which is the default.
    fn capacity(&self) -> usize {
        1
    }

    /// Returns the offer for requests of a service other than public keys, or `None`, the default, if the device cannot
    /// serve them. It is called at registration, and once for each service when that is first used.
    fn offer(&self, _service: Service) -> Option<QueueOffer> {
        None
    }

    /// Computes a task of a service that it offers, and answers it. A task that is dropped fails.
    fn run(&self, _task: Task) {}

    /// Returns the offer for public-key requests of a shape, or `None`, the default, if the device cannot serve them. It is
    /// called often, and the offer may follow the times of recent requests.
    fn offer_public_key(&self, _shape: &Shape) -> Option<PublicKeyOffer> {
        None
    }

    /// Returns how many of `waiting` requests of a shape one call of [`run_public_key`](Self::run_public_key) should get: at
    /// least 1, which is the default. It is called under a lock, so it must not wait or submit requests.
    fn batch_size(&self, _shape: &Shape, _waiting: usize) -> usize {
        1
    }

    /// Computes every request of `batch`, all of one shape, and answers each by index as soon as its result is ready, in any
    /// order. A result is as long as the modulus and big-endian. Blocks the calling thread until all are answered. A request
    /// that is not answered fails.
    fn run_public_key(&self, _batch: &[&PublicKeyRequest], _answer: &mut Answer<'_>) {}

    /// Whether the device checks results of private keys with the public exponent. If not, which is the default, this
    /// library does.
    fn checks_results(&self) -> bool {
        false
    }

    /// Whether the device answers all requests of a batch at its end rather than one by one. A thread waiting for several is
    /// then woken once, and answers may be held for some milliseconds to go out with those of the next batch. Return
    /// `false`, the default, for devices that may hang.
    fn answers_together(&self) -> bool {
        false
    }
}

/// Receives the result of the request at an index of the batch.
pub type Answer<'a> = dyn FnMut(usize, Result<Zeroizing<Vec<u8>>, DeviceError>) + 'a;

/// A device's offer for requests of a shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PublicKeyOffer {
    /// Time from request to result on an idle device.
    pub latency: Duration,
    /// Requests per second under full load.
    pub per_second: f64,
}

/// Has `device` compute requests of one shape, and calls `answer` with the index and unpadded result of each.
///
/// Each request is answered once, whatever the device does. A second answer is ignored. A missing answer and a panic are
/// errors. So is a private-key result that does not match the public half: it is not released, because it may reveal the key
/// (Boneh, DeMillo, Lipton 1997). Results of [`PublicKeyOperation::Power`](super::PublicKeyOperation::Power) cannot be
/// checked.
///
/// # Errors
/// `answer` gets [`Error::DeviceFailed`] if another device may succeed, and [`Error::DecryptionFailed`] if none will.
pub fn complete(
    device: &dyn BlockingDevice,
    batch: &[&PublicKeyRequest],
    answer: &mut dyn FnMut(usize, Result<Zeroizing<Vec<u8>>, Error>),
) {
    let mut is_due = vec![true; batch.len()];
    let failed = |reason: String| Error::DeviceFailed {
        device: device.name().to_owned(),
        reason,
    };
    let reason = match caught(|| {
        device.run_public_key(batch, &mut |place, power| {
            let Some(is_due) = is_due.get_mut(place) else {
                log::error!(
                    "device {}: an answer to request {place} of {}",
                    device.name(),
                    batch.len()
                );
                return;
            };
            if !std::mem::replace(is_due, false) {
                log::error!("device {}: a second answer to a request", device.name());
                return;
            }
            let request = batch[place];
            let power = power.and_then(|power| {
                let is_trusted = device.checks_results();
                request.check(power, is_trusted).map_err(DeviceError)
            });
            let result = match power {
                Ok(power) => request.finish(power),
                Err(error) => Err(failed(error.0)),
            };
            answer(place, result);
        });
    }) {
        Some(()) => "it gave no answer",
        None => "its driver panicked",
    };
    for (place, is_due) in is_due.iter().enumerate() {
        if *is_due {
            answer(place, Err(failed(reason.to_owned())));
        }
    }
}
