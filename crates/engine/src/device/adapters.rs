//! Adapters to the framework for the two older kinds of device: for ciphers, and for public keys, including tokens.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::interface::{Device, SessionParams};
use super::keyed::Opened;
use super::public_key::PublicKeyDevice;
use super::queued::{BlockingDevice, QueueOffer, Task};
use super::request::{AeadRequest, CbcRequest, CtrRequest, DeviceError, DeviceSession, Request};
use crate::work::algorithm::{Direction, Kind};
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
/// # let token = Named(SoftwareDevice::new(Cpu::detect()));
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

/// A [`Device`] as a [`BlockingDevice`] for ciphers and AEADs. It opens sessions on demand, which must come from the
/// device's own driver ([`OpenSession::from_driver`](super::OpenSession::from_driver)).
pub struct Ciphers {
    device: Arc<dyn Device>,
    sessions: Mutex<BTreeMap<u64, Arc<dyn DeviceSession>>>,
}

impl Ciphers {
    /// Creates the adapter, which calls the device from as many threads as its capacity.
    pub fn new(device: Arc<dyn Device>) -> Self {
        Self {
            device,
            sessions: Mutex::default(),
        }
    }

    fn session(&self, task: &Task) -> Result<Arc<dyn DeviceSession>, DeviceError> {
        let material = task.material();
        let locked = || self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = locked().get(&material.id()) {
            return Ok(Arc::clone(session));
        }
        let params = params(material.service())
            .ok_or_else(|| DeviceError("it has ciphers and AEADs alone".into()))?;
        let opened = self.device.open_session(&params, material.cipher_key())?;
        let Opened::Driver(session) = opened.0 else {
            return Err(DeviceError("it has no driver of its own".into()));
        };
        let session: Arc<dyn DeviceSession> = Arc::from(session);
        if material.is_of_one_request() {
            return Ok(session);
        }
        let mut sessions = locked();
        // Nothing says which session will be used again, so drop all.
        let is_full = sessions.len() >= SESSIONS_MAX;
        let dropped = is_full.then(|| std::mem::take(&mut *sessions));
        sessions.insert(material.id(), Arc::clone(&session));
        drop(sessions);
        drop(dropped);
        Ok(session)
    }

    fn crypt(&self, task: &mut Task) -> Result<(), DeviceError> {
        let session = self.session(task)?;
        let (layout, direction, skip) = (task.layout().clone(), task.direction(), task.skip());
        let kind = task.service().cipher().map(|cipher| cipher.kind());
        let iv = task.iv().to_vec();
        let mut block = [0; 16];
        block[..iv.len()].copy_from_slice(&iv);
        match kind {
            Some(Kind::Stream { .. }) => session.submit(&mut [Request::Keystream(CtrRequest {
                counter: u128::from_be_bytes(block),
                skip,
                data: (&mut task.data_mut()[layout.encrypted]).into(),
            })]),
            Some(Kind::Cbc) => {
                let request = CbcRequest {
                    iv: &mut block,
                    data: (&mut task.data_mut()[layout.encrypted]).into(),
                };
                session.submit(&mut [match direction {
                    Direction::Encrypt => Request::CbcEncrypt(request),
                    Direction::Decrypt => Request::CbcDecrypt(request),
                }])
            }
            _ => {
                let aad = task.data_mut()[layout.authenticated].to_vec();
                let mut tag = [0; 16];
                let request = AeadRequest {
                    nonce: &iv,
                    aad: &aad,
                    data: (&mut task.data_mut()[layout.encrypted]).into(),
                    tag: &mut tag,
                };
                session.submit(&mut [match direction {
                    Direction::Encrypt => Request::Seal(request),
                    Direction::Decrypt => Request::Open(request),
                }])?;
                task.data_mut()[layout.tag..layout.tag + tag.len()].copy_from_slice(&tag);
                Ok(())
            }
        }
    }
}

impl BlockingDevice for Ciphers {
    fn name(&self) -> &str {
        self.device.name()
    }

    fn capacity(&self) -> usize {
        self.device.capacity()
    }

    fn offer(&self, service: Service) -> Option<QueueOffer> {
        let params = params(service)?;
        let offer = self.device.probe(&params)?;
        Some(QueueOffer {
            latency: Duration::ZERO,
            per_request: Duration::from_nanos(self.device.setup_ns(&params)),
            key_setup: Duration::ZERO,
            bytes_per_second: offer.bytes_per_second.max(1),
        })
    }

    fn run(&self, mut task: Task) {
        let done = self.crypt(&mut task);
        task.complete(done);
    }
}

fn params(service: Service) -> Option<SessionParams> {
    match service {
        Service::Cipher(algorithm) | Service::Aead(algorithm) => Some(SessionParams { algorithm }),
        _ => None,
    }
}

/// The number of sessions that are kept open.
const SESSIONS_MAX: usize = 1024;
