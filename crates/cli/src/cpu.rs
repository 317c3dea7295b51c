//! The CPU of this machine.

use std::fs;
use std::thread::available_parallelism;

use oarlock::device::Cpu;
use oarlock::device::visible_cpu;

use crate::failure::Failure;

/// Returns the CPU, less the features that `OARLOCK_CPU` hides.
pub(crate) fn visible() -> Result<Cpu, Failure> {
    visible_cpu().map_err(|error| Failure::usage(error.to_string()))
}

/// Returns the model, as the kernel names it.
pub(crate) fn model() -> String {
    fs::read_to_string("/proc/cpuinfo")
        .ok()
        .and_then(|text| {
            let line = text.lines().find(|line| line.starts_with("model name"))?;
            Some(line.split_once(':')?.1.trim().to_string())
        })
        .unwrap_or_else(|| std::env::consts::ARCH.into())
}

/// Returns the number of CPUs that this process may use.
pub(crate) fn count() -> usize {
    available_parallelism().map_or(1, usize::from)
}
