//! The adapter to the framework for devices of public keys, including tokens.

use std::sync::Arc;
use std::time::Duration;

use super::error::DeviceError;
use super::public_key::PublicKeyDevice;
use super::queued::{BlockingDevice, QueueOffer, Task};
use crate::work::operation::Service;
use crate::work::request::PublicKeyRequest;

/// A [`PublicKeyDevice`] as a [`BlockingDevice`], called from a fixed number of threads.
///
/// ```
/// use std::sync::Arc;
/// use oarlock::Accelerator;
/// use oarlock::device::{Cpu, PublicKeyRequest, PublicKeys, SoftwareDevice};
/// use oarlock::framework::{Blocking, Check, Framework, Place};
/// use oarlock::rsa::RsaPrivateKey;
///
/// let framework = Framework::new(&Accelerator::builder().build()?);
/// # struct Named(SoftwareDevice);
/// # impl oarlock::device::PublicKeyDevice for Named {
/// #     fn name(&self) -> &str { "token" }
/// #     fn offer(&self, shape: &oarlock::device::Shape) -> Option<oarlock::device::PublicKeyOffer> { self.0.offer(shape) }
/// #     fn run(&self, batch: &[&PublicKeyRequest], answer: &mut oarlock::device::Answer<'_>) { self.0.run(batch, answer) }
/// # }
/// # let token = Named(SoftwareDevice::new());
/// framework.register(Arc::new(Blocking::new(Arc::new(PublicKeys::new(Arc::new(token), 4)))), Check::Sample(0))?;
/// let key = RsaPrivateKey::from_pem(include_str!("../../../oarlock/tests/keys/rsa1024.pem"))?;
/// let request = PublicKeyRequest::raw_private(&key, &[2])?;
/// let Ok(job) = framework.submit_public_key(request, Place::Device) else { panic!("the queue is full") };
/// assert_eq!(job.wait()?.power.len(), 128);
/// # Ok::<(), oarlock::Error>(())
/// ```
pub struct PublicKeys {
    device: Arc<dyn PublicKeyDevice>,
    threads: usize,
}

impl PublicKeys {
    /// Creates the adapter. `threads` should be the number of calls that the device accepts at once.
    pub fn new(device: Arc<dyn PublicKeyDevice>, threads: usize) -> Self {
        Self { device, threads }
    }
}

impl BlockingDevice for PublicKeys {
    fn name(&self) -> &str {
        self.device.name()
    }

    fn capacity(&self) -> usize {
        self.threads
    }

    fn offer(&self, _: Service) -> Option<QueueOffer> {
        None
    }

    fn offer_public_key(&self, request: &PublicKeyRequest) -> Option<QueueOffer> {
        let offer = self.device.offer(&request.shape())?;
        let per_request = Duration::try_from_secs_f64(1.0 / offer.per_second).unwrap_or_default();
        Some(QueueOffer {
            latency: offer.latency.saturating_sub(per_request),
            per_request,
            key_setup: Duration::ZERO,
            bytes_per_second: u64::MAX,
        })
    }

    fn run(&self, task: Task) {
        let mut power = Err(DeviceError("it gave no answer".into()));
        if let Some(request) = task.public_key() {
            let mut is_due = true;
            self.device.run(&[request], &mut |place, result| {
                if place == 0 && std::mem::replace(&mut is_due, false) {
                    power = result;
                }
            });
        }
        task.complete_power(power);
    }
}
