//! The kernels of this library on the CPU's own units.

use oarlock_kernels::cpu::Cpu;

use super::{Device, DeviceError, Offer, OpenSession, SessionParams};
use crate::plan;
use crate::session::Keyed;

/// The device `cpu`: AES-CTR by the best kernel that the CPU, less what a mask hides, can run.
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
        let bytes_per_second = plan::kernel_rate(self.0, params.operation);
        Some(Offer {
            preference: 2,
            bytes_per_second,
        })
    }

    fn open_session(&self, _: &SessionParams, key: &[u8]) -> Result<OpenSession, DeviceError> {
        Keyed::kernel(self.0, key)
            .map(OpenSession)
            .map_err(|error| DeviceError(error.to_string()))
    }

    fn capacity(&self) -> usize {
        1
    }
}
