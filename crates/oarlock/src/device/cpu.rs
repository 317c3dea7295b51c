//! The kernels of this library on the CPU's own units.

use oarlock_kernels::cpu::Cpu;

use super::{Device, DeviceError, Kind, Offer, OpenSession, Opened, SessionParams};
use crate::aead::AeadKey;
use crate::cipher::{CbcKey, StreamKey};
use crate::plan;
use crate::session::Keyed;

/// The device `cpu`: each algorithm by the best kernel that the CPU, less what a mask hides, can run.
pub struct CpuDevice(Cpu);

impl CpuDevice {
    /// With the features of `cpu`.
    pub fn new(cpu: Cpu) -> Self {
        Self(cpu)
    }
}

impl Device for CpuDevice {
    fn name(&self) -> &str {
        "cpu"
    }

    fn probe(&self, params: &SessionParams) -> Option<Offer> {
        if !params.operation.is_built_in() {
            return None;
        }
        let bytes_per_second = plan::kernel_rate(self.0, params.operation);
        Some(Offer {
            preference: 2,
            bytes_per_second,
        })
    }

    fn open_session(&self, params: &SessionParams, key: &[u8]) -> Result<OpenSession, DeviceError> {
        let operation = params.operation;
        match operation.kind() {
            Kind::Stream { .. } => StreamKey::kernel(self.0, operation, key).map(Opened::Stream),
            Kind::Aead => AeadKey::kernel(self.0, operation, key).map(Opened::Aead),
            Kind::Cbc => CbcKey::kernel(self.0, operation, key).map(Opened::Cbc),
        }
        .map(OpenSession)
        .map_err(|error| DeviceError(error.0))
    }

    fn capacity(&self) -> usize {
        1
    }
}
