//! Devices for public-key requests: backends that raise numbers to powers.
//!
//! This library adds and removes paddings, so a device computes `base ^ exponent mod modulus` and nothing
//! else: by the numbers of a key, by numbers that a caller gives, or by a key that it holds itself.
//! [`complete`] stands between: it gives a device operands in one form, checks its results, and answers
//! each request once whatever the device does.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use zeroize::Zeroizing;

use super::request::DeviceError;
use crate::Error;
use crate::work::request::PublicKeyRequest;
use crate::work::shape::Shape;

/// A backend that raises numbers to powers, for RSA and modular exponentiation. Any number of threads
/// may call [`run`](Self::run) at once.
///
/// A driver sees no paddings, signs, leading zeros or byte orders: the modulus is odd; every base is not
/// negative, less than the modulus, as many bytes long, and big-endian. An exponent may be longer than
/// the modulus.
///
/// Give requests to it with [`complete`], or make keys of it with
/// [`RsaPrivateKey::held`](crate::rsa::RsaPrivateKey::held) if it holds them.
///
/// # Example
/// A device that leaves the computation to aws-lc and counts requests:
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use oarlock::device::{
///     Answer, Cpu, PublicKeyDevice, PublicKeyOffer, PublicKeyRequest, Shape, SoftwareDevice, complete,
/// };
/// use oarlock::rsa::{Hash, RsaPrivateKey, SignatureScheme};
///
/// struct Counter(SoftwareDevice, AtomicUsize);
///
/// impl PublicKeyDevice for Counter {
///     fn name(&self) -> &str { "counter" }
///     fn offer(&self, shape: &Shape) -> Option<PublicKeyOffer> { self.0.offer(shape) }
///     fn run(&self, batch: &[&PublicKeyRequest], answer: &mut Answer<'_>) {
///         self.1.fetch_add(batch.len(), Ordering::Relaxed);
///         self.0.run(batch, answer);
///     }
/// }
///
/// let counter = Counter(SoftwareDevice::new(Cpu::detect()), AtomicUsize::new(0));
/// let key = RsaPrivateKey::from_pem(include_str!("../../../oarlock/tests/keys/rsa2048.pem"))?;
/// let scheme = SignatureScheme::Pkcs1(Hash::Sha256);
/// let request = PublicKeyRequest::sign(&key, scheme, b"a message")?;
/// complete(&counter, &[&request], &mut |_, signature| assert_eq!(signature.unwrap().len(), 256));
/// assert_eq!(counter.1.load(Ordering::Relaxed), 1);
/// # Ok::<(), oarlock::Error>(())
/// ```
pub trait PublicKeyDevice: Send + Sync {
    /// Its name in statistics and errors.
    fn name(&self) -> &str;

    /// What it offers for requests of a shape; `None` if it cannot serve them. It is asked often, and
    /// the offer may follow the times of recent requests.
    fn offer(&self, shape: &Shape) -> Option<PublicKeyOffer>;

    /// How many of `waiting` requests of a shape one call of [`run`](Self::run) should get: at least 1,
    /// which is the default.
    fn batch_size(&self, _shape: &Shape, _waiting: usize) -> usize {
        1
    }

    /// Computes every request of `batch`, all of one shape, and answers each by its place as soon as
    /// its result is ready, in any order. A result is as long as the modulus and big-endian. Blocks the
    /// calling thread until all are answered.
    fn run(&self, batch: &[&PublicKeyRequest], answer: &mut Answer<'_>);

    /// Whether it checks the results of private keys with the public exponent itself. If not, the
    /// default, this library does.
    fn checks_results(&self) -> bool {
        false
    }

    /// Whether it answers all requests of a batch at its end instead of one by one: a thread that waits
    /// for several is then woken once, and for some milliseconds with those of the next batch. Not for
    /// devices that may hang. `false` by default.
    fn answers_together(&self) -> bool {
        false
    }
}

/// Takes the result of the request at a place of the batch.
pub type Answer<'a> = dyn FnMut(usize, Result<Zeroizing<Vec<u8>>, DeviceError>) + 'a;

/// What a device offers for requests of a shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PublicKeyOffer {
    /// Time from request to result when it has nothing else to do.
    pub latency: Duration,
    /// Requests a second under full load.
    pub per_second: f64,
}

/// Has `device` compute requests of one shape, and calls `answer` with the place and the result of each,
/// without its padding.
///
/// Each request is answered once, whatever the device does. A second answer is ignored. A missing answer
/// and a panic are errors, and so is a result of a private key that does not agree with its public half:
/// it is not released, because it may reveal the key (Boneh, DeMillo, Lipton 1997). Results of
/// [`PublicKeyOperation::Power`](super::PublicKeyOperation::Power) cannot be checked.
///
/// # Errors
/// `answer` gets [`Error::DeviceFailed`] if another device may succeed, and
/// [`Error::DecryptionFailed`] if none will.
pub fn complete(
    device: &dyn PublicKeyDevice,
    batch: &[&PublicKeyRequest],
    answer: &mut dyn FnMut(usize, Result<Zeroizing<Vec<u8>>, Error>),
) {
    let mut is_due = vec![true; batch.len()];
    let failed = |reason: String| Error::DeviceFailed {
        device: device.name().to_owned(),
        reason,
    };
    let run = AssertUnwindSafe(|| {
        device.run(batch, &mut |place, power| {
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
    });
    let reason = match catch_unwind(run) {
        Ok(()) => "it gave no answer",
        Err(panic) => {
            // Its drop may panic in its turn.
            std::mem::forget(panic);
            "its driver panicked"
        }
    };
    for (place, is_due) in is_due.iter().enumerate() {
        if *is_due {
            answer(place, Err(failed(reason.to_owned())));
        }
    }
}
