//! Devices for public-key requests: backends that raise numbers to powers.
//!
//! A padding is made around a number, and taken off a result, by this library, so that all that a
//! device is asked for is `base ^ exponent mod modulus`, by the numbers of a key, by numbers that
//! somebody sent, or by a key that it holds itself. [`complete`] stands between: it gives a device
//! operands in one form, checks what comes back, and answers each request once whatever the device
//! does.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use zeroize::Zeroizing;

use super::request::DeviceError;
use crate::Error;
use crate::work::request::PublicKeyRequest;
use crate::work::shape::Shape;

/// Something that raises numbers to powers. Any number of threads may call [`run`](Self::run) at
/// once.
///
/// A driver has nothing to do with paddings, signs, leading zeros or byte orders: every operand is
/// not negative, less than its modulus, as many bytes long and big-endian, and the modulus is odd.
/// An exponent may be longer than the modulus.
///
/// # Example
/// A device that has aws-lc compute, and counts:
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use oarlock::device::{
///     Answer, PublicKeyDevice, PublicKeyOffer, Shape, SoftwareDevice, complete,
/// };
/// use oarlock_kernels::cpu::Cpu;
/// use oarlock::device::PublicKeyRequest;
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
/// let key = RsaPrivateKey::from_pem(include_str!("../../tests/keys/rsa2048.pem"))?;
/// let scheme = SignatureScheme::Pkcs1(Hash::Sha256);
/// let request = PublicKeyRequest::sign(&key, scheme, b"a message")?;
/// complete(&counter, &[&request], &mut |_, signature| assert_eq!(signature.unwrap().len(), 256));
/// assert_eq!(counter.1.load(Ordering::Relaxed), 1);
/// # Ok::<(), oarlock::Error>(())
/// ```
pub trait PublicKeyDevice: Send + Sync {
    /// Its name in statistics and errors.
    fn name(&self) -> &str;

    /// What it offers for requests of a shape; `None` where it cannot serve them. It is asked often,
    /// and the offer may follow what requests have taken lately.
    fn offer(&self, shape: &Shape) -> Option<PublicKeyOffer>;

    /// Of `waiting` requests of a shape, how many are best given to one call of
    /// [`run`](Self::run). At least 1.
    fn batch_size(&self, _shape: &Shape, _waiting: usize) -> usize {
        1
    }

    /// Computes every request of `batch`, all of one shape, and answers each by its place, in any
    /// order, as soon as its result is there: a number as long as the modulus, big-endian. Blocks
    /// the calling thread until then.
    fn run(&self, batch: &[&PublicKeyRequest], answer: &mut Answer<'_>);

    /// Whether it checks the results of private keys with the public exponent itself. If not, they
    /// are checked behind it.
    fn checks_results(&self) -> bool {
        false
    }

    /// Whether it answers all requests of a batch at its end, and not one by one as they are done:
    /// a thread that waits for several is then woken once, and for some milliseconds with those of the next
    /// batch. Not for devices that may hang.
    fn answers_together(&self) -> bool {
        false
    }
}

/// Takes the result of the request at a place of the batch.
pub type Answer<'a> = dyn FnMut(usize, Result<Zeroizing<Vec<u8>>, DeviceError>) + 'a;

/// What a device offers for requests of a shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PublicKeyOffer {
    /// From request to result when it has nothing else to do.
    pub latency: Duration,
    /// Requests a second when it has as much to do as it can.
    pub per_second: f64,
}

/// Has `device` compute requests of one shape, and gives the result of each, by its place: what was
/// asked for, its padding taken off.
///
/// Each is answered once, whatever the device does: a second answer is not looked at, a missing one
/// and a panic are errors, and so is a result of a private key that does not agree with its public
/// half; it is not released, for it may betray the key (Boneh, DeMillo, Lipton 1997). Results of
/// [`PublicKeyOperation::Power`](super::PublicKeyOperation::Power) have nothing to be checked against.
///
/// # Errors
/// Given with the result: [`Error::DeviceFailed`], where another device may do better;
/// [`Error::DecryptionFailed`], where none will.
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
