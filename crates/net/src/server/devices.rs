//! Devices, opened as the configuration says.

use std::sync::Arc;

use oarlock::RsaPrivateKey;
use oarlock::device::{Answer, CpuDevice, PublicKeyDevice, PublicKeyOffer, Shape, SoftwareDevice};
use oarlock::kernels::cpu::Cpu;

use super::config::{DeviceConfig, DeviceEntry};
use super::dispatch::Crew;
use oarlock::PublicKeyRequest;

/// All devices of a server.
pub(super) struct Devices(Vec<Opened>);

struct Opened {
    name: String,
    workers: usize,
    device: Arc<dyn PublicKeyDevice>,
}

impl Devices {
    /// Opens each.
    ///
    /// # Errors
    /// The first that cannot be opened, by name.
    pub(super) fn open(entries: &[DeviceEntry]) -> Result<Self, String> {
        let opened = entries.iter().map(|entry| {
            let device: Arc<dyn PublicKeyDevice> = match &entry.device {
                DeviceConfig::Cpu => Arc::new(CpuDevice::new(Cpu::detect())),
                DeviceConfig::Software => Arc::new(SoftwareDevice::new(Cpu::detect())),
                _ => return Err(format!("device {:?}: not in this build", entry.name)),
            };
            Ok(Opened {
                name: entry.name.clone(),
                workers: entry.workers,
                device: Arc::new(Named(entry.name.clone(), device)),
            })
        });
        opened.collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn crews(&self) -> Vec<Crew> {
        let crews = self.0.iter().map(|opened| Crew {
            device: Arc::clone(&opened.device),
            workers: opened.workers,
        });
        crews.collect()
    }

    /// The keys that a device holds, with their labels.
    ///
    /// # Errors
    /// Why there are none.
    pub(super) fn keys_of(&self, name: &str) -> Result<Vec<(String, RsaPrivateKey)>, String> {
        match self.0.iter().find(|opened| opened.name == name) {
            None => Err(format!("there is no device {name:?}")),
            Some(_) => Err(format!("device {name:?} holds no keys")),
        }
    }
}

/// A device by the name that the configuration gives it.
struct Named(String, Arc<dyn PublicKeyDevice>);

impl PublicKeyDevice for Named {
    fn name(&self) -> &str {
        &self.0
    }

    fn offer(&self, shape: &Shape) -> Option<PublicKeyOffer> {
        self.1.offer(shape)
    }

    fn batch_size(&self, shape: &Shape, waiting: usize) -> usize {
        self.1.batch_size(shape, waiting)
    }

    fn run(&self, batch: &[&PublicKeyRequest], answer: &mut Answer<'_>) {
        self.1.run(batch, answer);
    }

    fn checks_results(&self) -> bool {
        self.1.checks_results()
    }
}
