//! The accelerator of this process, and its options.

use std::fs;
use std::thread::available_parallelism;

use oarlock::device::visible_cpu;
use oarlock::kernels::cpu::Cpu;
use oarlock::{Accelerator, Builder, Calibration, Options};

use crate::cache;
use crate::failure::Failure;

/// From `name=value,...`. Unless set, a cipher may use a thread for every CPU, since the process has
/// only one cipher.
pub(crate) fn parse(text: &str) -> Result<Options, Failure> {
    format!("cipher_threads={},{text}", cpus())
        .parse()
        .map_err(|error| Failure::usage(format!("--options: {error}")))
}

/// Checks the options that the provider would take: `text`, overridden by the environment.
pub(crate) fn of_provider(text: &str) -> Result<(), Failure> {
    let check = |source: &str, text: &str| match text.parse::<Options>() {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::usage(format!("{source}: {error}"))),
    };
    check("--options", text)?;
    if let Some(more) = std::env::var_os("OARLOCK_OPTIONS") {
        check(
            "OARLOCK_OPTIONS",
            &format!("{text},{}", more.to_string_lossy()),
        )?;
    }
    cpu().map(drop)
}

pub(crate) fn build(options: Options) -> Result<Accelerator, Failure> {
    built(Accelerator::builder().options(options))
}

/// One that plans by the stored calibration, if it fits this machine.
pub(crate) fn build_calibrated(options: Options) -> Result<Accelerator, Failure> {
    match cache::read(cpu()?) {
        Ok(calibration) => calibrated(options, calibration),
        Err(_) => build(options),
    }
}

/// One that plans by `calibration`.
pub(crate) fn calibrated(
    options: Options,
    calibration: Calibration,
) -> Result<Accelerator, Failure> {
    let builder = Accelerator::builder().options(options);
    built(builder.calibration(calibration))
}

/// The CPU as `OARLOCK_CPU` leaves it.
pub(crate) fn cpu() -> Result<Cpu, Failure> {
    visible_cpu().map_err(|error| Failure::usage(error.to_string()))
}

/// The kernel's name for it.
pub(crate) fn cpu_model() -> String {
    fs::read_to_string("/proc/cpuinfo")
        .ok()
        .and_then(|text| {
            let line = text.lines().find(|line| line.starts_with("model name"))?;
            Some(line.split_once(':')?.1.trim().to_string())
        })
        .unwrap_or_else(|| std::env::consts::ARCH.into())
}

pub(crate) fn built(builder: Builder) -> Result<Accelerator, Failure> {
    builder
        .build()
        .map_err(|error| Failure::usage(error.to_string()))
}

/// CPUs that this process may use.
pub(crate) fn cpus() -> usize {
    available_parallelism().map_or(1, usize::from)
}
