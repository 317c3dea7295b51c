//! The devices that compute ciphers on the calling thread: this library's kernels and aws-lc.

use oarlock_kernels::cpu::Cpu;

use super::keyed::Keyed;
use crate::Error;
use crate::costs::choice;
use crate::costs::cost::Cost;
use crate::costs::lookup::{self, Costs};
use crate::work::algorithm::Algorithm;

/// A device that computes a session's ciphers on the calling thread. Devices with a queue of their own belong to a
/// framework.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CipherDevice {
    /// `cpu`: the best kernel of this library for the CPU's features, less those that a mask hides.
    Cpu,
    /// `software`: AES in CTR, CBC and GCM, ChaCha20 and ChaCha20-Poly1305, by aws-lc. It supports CPUs and architectures
    /// that this library has no fast kernels for, and limits GCM nonces to 2^31 - 1 bytes.
    #[cfg(feature = "aws-lc")]
    Software,
}

impl CipherDevice {
    /// The devices that are compiled in, in order of preference.
    pub const ALL: &'static [Self] = &[
        Self::Cpu,
        #[cfg(feature = "aws-lc")]
        Self::Software,
    ];

    /// Returns the device's name in options, statistics and errors.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            #[cfg(feature = "aws-lc")]
            Self::Software => "software",
        }
    }

    /// Sets up a key of [`Algorithm::key_bytes`] bytes.
    pub(crate) fn set_up<K: Keyed>(
        self,
        cpu: Cpu,
        algorithm: Algorithm,
        key: &[u8],
    ) -> Result<K, String> {
        match self {
            Self::Cpu => K::kernel(cpu, algorithm, key).map_err(|error| error.0),
            #[cfg(feature = "aws-lc")]
            Self::Software => K::software(cpu, algorithm, key).map_err(|error| error.0),
        }
    }
}

/// A device's implementation of an algorithm, and its cost.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct CipherOffer {
    /// The device.
    pub device: CipherDevice,
    /// The name of the implementation that the device has chosen for the algorithm.
    pub backend: &'static str,
    /// The cost of a request on one thread.
    pub(crate) cost: Cost,
}

impl CipherOffer {
    /// Returns the rate of long requests on one thread.
    pub fn bytes_per_second(&self) -> u64 {
        self.cost.bytes_per_second()
    }
}

/// The cipher devices of an accelerator, with the costs to choose by.
#[derive(Clone)]
pub(crate) struct CipherDevices {
    pub(crate) cpu: Cpu,
    pub(crate) costs: Costs,
    /// The only device to use. `None` for all.
    pub(crate) only: Option<CipherDevice>,
}

impl CipherDevices {
    /// Returns the kernels alone, with the costs of the compiled tables.
    #[cfg(feature = "simulated")]
    pub(crate) fn kernels(cpu: Cpu) -> Self {
        Self {
            cpu,
            costs: Costs::default(),
            only: Some(CipherDevice::Cpu),
        }
    }

    /// Returns what the devices offer for `algorithm`, the one first that is expected to complete a request first.
    pub(crate) fn offers(&self, algorithm: Algorithm) -> Vec<CipherOffer> {
        let devices = CipherDevice::ALL.iter().copied();
        let mut offers: Vec<_> = devices
            .filter(|device| self.only.is_none_or(|only| only == *device))
            .filter_map(|device| self.offer(device, algorithm))
            .collect();
        choice::order(&mut offers, |offer| (offer.cost, preference(offer.device)));
        offers
    }

    /// Returns the offer of one device, or `None` if it does not have the algorithm.
    pub(crate) fn offer(&self, device: CipherDevice, algorithm: Algorithm) -> Option<CipherOffer> {
        let (costs, cpu) = (&self.costs, self.cpu);
        let (cost, backend) = match device {
            CipherDevice::Cpu if !algorithm.is_built_in() => return None,
            CipherDevice::Cpu => (
                lookup::kernel_cost(costs, cpu, algorithm),
                lookup::kernel_backend(cpu, algorithm),
            ),
            #[cfg(feature = "aws-lc")]
            CipherDevice::Software => (
                lookup::software_cost(costs, cpu, algorithm)?,
                lookup::software_backend(cpu),
            ),
        };
        Some(CipherOffer {
            device,
            backend,
            cost,
        })
    }

    /// Sets up a key on the device that is expected to serve it first.
    pub(crate) fn open<K: Keyed>(
        &self,
        algorithm: Algorithm,
        key: &[u8],
    ) -> Result<(&'static str, K, Cost), Error> {
        let mut failure = None;
        for offer in self.offers(algorithm) {
            match offer.device.set_up(self.cpu, algorithm, key) {
                Ok(keyed) => return Ok((offer.device.name(), keyed, offer.cost)),
                Err(reason) => {
                    failure = Some(Error::DeviceFailed {
                        device: offer.device.name().into(),
                        reason,
                    });
                }
            }
        }
        Err(failure.unwrap_or_else(|| not_offered(algorithm)))
    }
}

/// Breaks ties between equal times: the higher one wins.
fn preference(device: CipherDevice) -> u32 {
    match device {
        CipherDevice::Cpu => 2,
        #[cfg(feature = "aws-lc")]
        CipherDevice::Software => 1,
    }
}

pub(crate) fn not_offered(algorithm: Algorithm) -> Error {
    Error::DeviceFailed {
        device: String::new(),
        reason: format!("no device of this accelerator offers {algorithm}"),
    }
}
