//! aws-lc on the CPU: the reference, the fallback, and the oracle of the self-tests. It supports CPUs and architectures that
//! this library has no fast kernels for.

mod aead;
mod aes;
mod chacha20;
#[cfg(feature = "rsa")]
pub(crate) mod public_key;

use oarlock_kernels::cpu::Cpu;

use self::aead::SoftwareAead;
use self::aes::{SoftwareCbc, SoftwareCtr};
use self::chacha20::SoftwareChaCha20;
use super::interface::{Device, Offer, OpenSession, SessionParams};
use super::keyed::Opened;
use super::keyed::aead::AeadKey;
use super::keyed::begun::Ahead;
use super::keyed::cbc::CbcKey;
use super::keyed::stream::StreamKey;
use super::request::DeviceError;
use crate::costs::cost::Cost;
use crate::costs::lookup::{self, Costs};
use crate::work::algorithm::{Algorithm, Kind};

/// The device `software`: AES in CTR, CBC and GCM, ChaCha20 and ChaCha20-Poly1305, by aws-lc. It limits GCM nonces to 2^31 -
/// 1 bytes.
pub struct SoftwareDevice {
    cpu: Cpu,
    costs: Costs,
}

impl SoftwareDevice {
    /// Creates the device. `cpu` only selects the expected rate: aws-lc picks its own code.
    pub fn new(cpu: Cpu) -> Self {
        Self::with_costs(cpu, Costs::default())
    }

    pub(crate) fn with_costs(cpu: Cpu, costs: Costs) -> Self {
        Self { cpu, costs }
    }

    fn cost(&self, params: &SessionParams) -> Option<Cost> {
        lookup::software_cost(&self.costs, self.cpu, params.algorithm)
    }
}

impl Device for SoftwareDevice {
    fn name(&self) -> &str {
        "software"
    }

    fn probe(&self, params: &SessionParams) -> Option<Offer> {
        Some(Offer {
            preference: 1,
            bytes_per_second: self.cost(params)?.bytes_per_second(),
        })
    }

    fn setup_ns(&self, params: &SessionParams) -> u64 {
        self.cost(params).map_or(0, |cost| cost.setup_ns as u64)
    }

    fn backend(&self, _: &SessionParams) -> &str {
        lookup::software_backend(self.cpu)
    }

    fn open_session(&self, params: &SessionParams, key: &[u8]) -> Result<OpenSession, DeviceError> {
        // An algorithm without a rate is not offered; of the streams only AES-CTR and ChaCha20 have one.
        if self.probe(params).is_none() {
            return Err(DeviceError(format!("{} is not offered", params.algorithm)));
        }
        match params.algorithm.kind() {
            Kind::Stream { .. } if params.algorithm == Algorithm::ChaCha20 => {
                let chacha = SoftwareChaCha20::new(key)?;
                let ahead = Ahead::CHACHA20_BY_FOUR;
                let kept = StreamKey::kept(self.cpu, params.algorithm, chacha, ahead);
                Ok(OpenSession(Opened::Stream(kept)))
            }
            Kind::Stream { .. } => {
                let ctr = SoftwareCtr::new(key)?;
                Ok(OpenSession(Opened::Stream(StreamKey::Other(ctr))))
            }
            Kind::Cbc => {
                let cbc = SoftwareCbc::new(key)?;
                Ok(OpenSession(Opened::Cbc(CbcKey::Other(cbc))))
            }
            Kind::Aead => {
                let aead = SoftwareAead::new(params.algorithm, key)?;
                Ok(OpenSession(Opened::Aead(AeadKey::Other(aead))))
            }
        }
    }

    fn capacity(&self) -> usize {
        1
    }
}
