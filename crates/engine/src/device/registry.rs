//! The devices of an accelerator, in order of registration.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use super::interface::{Device, Offer, SessionParams};
use super::keyed::Keyed;
use super::request::DeviceError;
use crate::Error;
use crate::costs::choice;
use crate::costs::cost::Cost;
use oarlock_threads::process;

/// A device and whether it may still be used.
pub(crate) struct Registration {
    pub(crate) device: Arc<dyn Device>,
    name: String,
    withdrawn: AtomicBool,
}

impl Registration {
    /// Returns the device's name at registration.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

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
        let name = device.name().to_string();
        let new = Arc::new(Registration {
            device,
            name,
            withdrawn: AtomicBool::new(false),
        });
        let is_new = process::undivided(|| {
            let mut devices = self.0.write().unwrap_or_else(PoisonError::into_inner);
            let is_new = devices.iter().all(|other| other.name != new.name);
            if is_new {
                devices.push(Arc::clone(&new));
            }
            is_new
        });
        if is_new {
            Ok(())
        } else {
            Err(Error::InvalidInput(format!(
                "a device named {:?} is registered already: withdraw it first",
                new.name
            )))
        }
    }

    pub(crate) fn withdraw(&self, name: &str) -> bool {
        let withdrawn = process::undivided(|| {
            let mut devices = self.0.write().unwrap_or_else(PoisonError::into_inner);
            let at = devices.iter().position(|other| other.name == name)?;
            Some(devices.remove(at))
        });
        // This may drop the device, which runs its own code, so the lock must be free.
        withdrawn.is_some_and(|device| {
            device.withdrawn.store(true, Ordering::Relaxed);
            true
        })
    }

    #[cfg(test)]
    pub(crate) fn with_lock_held<T>(&self, run: impl FnOnce() -> T) -> T {
        let _held = self.0.write();
        run()
    }

    pub(crate) fn list(&self) -> Vec<Arc<Registration>> {
        process::undivided(|| {
            self.0
                .read()
                .unwrap_or_else(PoisonError::into_inner)
                .clone()
        })
    }

    /// Returns the offers of all devices except those in `but`, best first.
    pub(crate) fn offers(
        &self,
        params: &SessionParams,
        but: &[Arc<Registration>],
    ) -> Vec<(Offer, Cost, Arc<Registration>)> {
        let mut offers: Vec<_> = self
            .list()
            .into_iter()
            .filter(|device| !but.iter().any(|failed| Arc::ptr_eq(failed, device)))
            .filter_map(|device| {
                let offer = device.device.probe(params)?;
                let setup_ns = device.device.setup_ns(params);
                let cost = Cost::new(setup_ns, offer.bytes_per_second);
                Some((offer, cost, device))
            })
            .collect();
        choice::order(&mut offers, |(offer, cost, _)| (*cost, offer.preference));
        offers
    }

    /// Opens a session on the device that is expected to serve it first, skipping those in `but`, which have just failed.
    pub(crate) fn open<K: Keyed>(
        &self,
        params: &SessionParams,
        key: &[u8],
        but: &[Arc<Registration>],
    ) -> Result<(Arc<Registration>, K, Cost), Error> {
        let mut failure = None;
        for (_, cost, device) in self.offers(params, but) {
            let opened = device.device.open_session(params, key).and_then(|session| {
                K::opened(session.0)
                    .ok_or_else(|| DeviceError("opened a session of another kind".into()))
            });
            match opened {
                Ok(keyed) => return Ok((device, keyed, cost)),
                Err(error) => {
                    failure = Some(Error::DeviceFailed {
                        device: device.name.clone(),
                        reason: error.0,
                    });
                }
            }
        }
        Err(failure.unwrap_or_else(|| Error::DeviceFailed {
            device: but.last().map_or("(none)", |failed| &failed.name).into(),
            reason: format!(
                "no other registered device offers {}",
                params.algorithm.name()
            ),
        }))
    }
}
