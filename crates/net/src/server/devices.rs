//! The devices of the server, as the configuration lists them.

use std::sync::Arc;

use oarlock::device::PublicKeyRequest;
use oarlock::device::{
    Answer, BlockingDevice, CpuDevice, Host, LibraryDevice, Pkcs11Device, Pkcs11Options,
    PublicKeyOffer, Shape, SimulatedBoard, SimulatedDevice, SoftwareDevice, TokenName, visible_cpu,
};
use oarlock::rsa::RsaPrivateKey;

use super::config::{DeviceConfig, DeviceEntry, Simulation};

/// A device and the number of its worker threads.
pub struct DeviceWorkers {
    /// The device.
    pub device: Arc<dyn BlockingDevice>,
    /// The number of threads that feed it. A device with coprocessors needs at least one for each.
    pub workers: usize,
    /// Whether it computes on the CPUs of this machine. If so, `workers` more threads compute long requests, and the
    /// operating system schedules them with the others.
    pub is_host: bool,
}

impl DeviceWorkers {
    /// Returns the number of its threads, those for long requests included.
    pub(super) fn threads(&self) -> usize {
        self.workers * (1 + usize::from(self.is_host))
    }
}

/// All devices of a server.
#[derive(Default)]
pub(super) struct Devices(Vec<Opened>);

struct Opened {
    name: String,
    workers: usize,
    is_host: bool,
    device: Arc<dyn BlockingDevice>,
    /// The device as a token, if it is one.
    token: Option<Arc<Pkcs11Device>>,
}

impl Devices {
    /// Opens each device.
    ///
    /// # Errors
    /// Names the first device that cannot be opened, with the reason.
    pub(super) fn open(entries: &[DeviceEntry]) -> Result<Self, String> {
        let opened = entries.iter().map(|entry| {
            Opened::open(entry).map_err(|error| format!("device {:?}: {error}", entry.name))
        });
        opened.collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn drivers(&self) -> Vec<DeviceWorkers> {
        let drivers = self.0.iter().map(|opened| DeviceWorkers {
            device: Arc::clone(&opened.device),
            workers: opened.workers,
            is_host: opened.is_host,
        });
        drivers.collect()
    }

    /// Returns the usable keys that a device holds, with their labels.
    ///
    /// # Errors
    /// Names the device and the reason why it has no keys.
    pub(super) fn keys_of(&self, name: &str) -> Result<Vec<(String, RsaPrivateKey)>, String> {
        let opened = self.0.iter().find(|opened| opened.name == name);
        let token = opened.and_then(|opened| opened.token.as_ref());
        let token = token.ok_or_else(|| format!("no device {name:?} holds keys"))?;
        let keys = token
            .keys()
            .map_err(|error| format!("device {name:?}: {error}"))?;
        let mut usable = Vec::new();
        for key in keys {
            if let Some(problem) = key.problem() {
                tracing::warn!(
                    device = name,
                    key = key.label(),
                    problem,
                    "a key cannot be used"
                );
                continue;
            }
            let held = token.key(&key);
            let held = held.map_err(|error| format!("key {:?}: {error}", key.label()))?;
            usable.push((key.label().to_owned(), held));
        }
        Ok(usable)
    }
}

impl Opened {
    fn open(entry: &DeviceEntry) -> Result<Self, String> {
        let DeviceEntry { name, workers, .. } = entry;
        let mut token = None;
        let cpu = visible_cpu().map_err(|error| error.to_string())?;
        let device: Arc<dyn BlockingDevice> = match &entry.device {
            DeviceConfig::Cpu => named(name, CpuDevice::new(cpu)),
            DeviceConfig::Software => named(name, SoftwareDevice::new()),
            DeviceConfig::Simulated(simulation) => {
                let board = SimulatedDevice::new(name, board(simulation));
                Arc::new(board.map_err(|error| error.to_string())?)
            }
            DeviceConfig::Pkcs11 {
                module,
                token: label,
                pin,
            } => {
                let label = TokenName::Label(label.clone());
                let opened = Pkcs11Device::open(Pkcs11Options {
                    sessions_max: *workers,
                    name: name.clone(),
                    ..Pkcs11Options::new(module, label, Some(pin.read()?))
                });
                let opened = opened.map_err(|error| error.to_string())?;
                token = Some(Arc::clone(&opened));
                opened
            }
            DeviceConfig::Library { path, options } => {
                LibraryDevice::open(path, options, Some(name)).map_err(|error| error.to_string())?
            }
        };
        Ok(Self {
            name: name.clone(),
            workers: *workers,
            is_host: matches!(entry.device, DeviceConfig::Cpu | DeviceConfig::Software),
            device,
            token,
        })
    }
}

fn board(simulation: &Simulation) -> SimulatedBoard {
    match simulation {
        Simulation::Axl200 => SimulatedBoard::axl200(),
        Simulation::Nfast300 => SimulatedBoard::nfast300(),
        Simulation::Board {
            coprocessors,
            latency,
            latency_with_crt,
            host,
            jitter,
        } => SimulatedBoard {
            coprocessors: *coprocessors,
            latency: *latency + *host,
            latency_with_crt: Some(*latency_with_crt + *host),
            host: Host {
                share: *host,
                pauses: None,
            },
            jitter: (jitter.as_secs_f64() / latency.as_secs_f64().max(1e-9)).min(1.0),
            faults: Vec::new(),
            seed: 1,
        },
    }
}

fn named(name: &str, device: impl BlockingDevice + 'static) -> Arc<dyn BlockingDevice> {
    Arc::new(Named(name.to_owned(), Arc::new(device)))
}

/// A device under its name in the configuration.
struct Named(String, Arc<dyn BlockingDevice>);

impl BlockingDevice for Named {
    fn name(&self) -> &str {
        &self.0
    }

    fn offer_public_key(&self, shape: &Shape) -> Option<PublicKeyOffer> {
        self.1.offer_public_key(shape)
    }

    fn batch_size(&self, shape: &Shape, waiting: usize) -> usize {
        self.1.batch_size(shape, waiting)
    }

    fn run_public_key(&self, batch: &[&PublicKeyRequest], answer: &mut Answer<'_>) {
        self.1.run_public_key(batch, answer);
    }

    fn checks_results(&self) -> bool {
        self.1.checks_results()
    }

    fn answers_together(&self) -> bool {
        self.1.answers_together()
    }
}
