//! Which devices an accelerator has, in order of registration.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use super::{Device, SessionParams};
use crate::session::Keyed;
use crate::{Error, plan};

/// A device and whether it still may be used.
pub(crate) struct Registration {
    pub(crate) device: Arc<dyn Device>,
    withdrawn: AtomicBool,
}

impl Registration {
    /// Whether sessions should move away.
    #[inline]
    pub(crate) fn is_withdrawn(&self) -> bool {
        self.withdrawn.load(Ordering::Relaxed)
    }
}

#[derive(Default)]
pub(crate) struct Registry(RwLock<Vec<Arc<Registration>>>);

impl Registry {
    pub(crate) fn register(&self, device: Arc<dyn Device>) -> Result<(), Error> {
        let mut devices = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if devices
            .iter()
            .any(|other| other.device.name() == device.name())
        {
            return Err(Error::InvalidInput(format!(
                "a device named {:?} is registered already: withdraw it first",
                device.name()
            )));
        }
        devices.push(Arc::new(Registration {
            device,
            withdrawn: AtomicBool::new(false),
        }));
        Ok(())
    }

    pub(crate) fn withdraw(&self, name: &str) -> bool {
        let mut devices = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let Some(at) = devices.iter().position(|other| other.device.name() == name) else {
            return false;
        };
        devices.remove(at).withdrawn.store(true, Ordering::Relaxed);
        true
    }

    pub(crate) fn list(&self) -> Vec<Arc<Registration>> {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Opens a session where the plan expects it to be served soonest, passing over the device
    /// named `but`, which has just failed.
    pub(crate) fn open(
        &self,
        params: &SessionParams,
        key: &[u8],
        but: Option<&str>,
    ) -> Result<(Arc<Registration>, Keyed, u64), Error> {
        let mut offers: Vec<_> = self
            .list()
            .into_iter()
            .filter(|device| Some(device.device.name()) != but)
            .filter_map(|device| device.device.probe(params).map(|offer| (offer, device)))
            .collect();
        plan::order_offers(&mut offers);
        let mut failure = None;
        for (offer, device) in offers {
            match device.device.open_session(params, key) {
                Ok(session) => return Ok((device, session.0, offer.bytes_per_second)),
                Err(error) => {
                    failure = Some(Error::DeviceFailed {
                        device: device.device.name().into(),
                        reason: error.0,
                    });
                }
            }
        }
        Err(failure.unwrap_or_else(|| Error::DeviceFailed {
            device: but.unwrap_or("(none)").into(),
            reason: format!(
                "no other registered device offers {}",
                params.operation.name()
            ),
        }))
    }
}
