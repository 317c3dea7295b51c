//! The accelerator of this process, and its options.

use oarlock::{Accelerator, Builder, Options};
use oarlock_engine::costs::Calibration;

#[cfg(feature = "programs")]
use crate::cache;
use crate::cpu;
use crate::failure::Failure;

/// Parses `name=value,...`. Unless `cipher_threads` is set, a cipher may use a thread for every CPU, since the process has
/// only one cipher.
pub(crate) fn parse(text: &str) -> Result<Options, Failure> {
    format!("cipher_threads={},{text}", cpu::count())
        .parse()
        .map_err(|error| Failure::usage(format!("--options: {error}")))
}

/// Checks the options that the provider would use: `text`, overridden by the environment.
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
    cpu::visible().map(drop)
}

pub(crate) fn build(options: Options) -> Result<Accelerator, Failure> {
    built(Accelerator::builder().options(options))
}

/// Builds an accelerator that plans by the stored calibration, if that fits this machine.
pub(crate) fn build_calibrated(options: Options) -> Result<Accelerator, Failure> {
    #[cfg(feature = "programs")]
    if let Ok(calibration) = cache::read(cpu::visible()?) {
        return calibrated(options, calibration);
    }
    build(options)
}

/// Builds an accelerator that plans by `calibration`.
pub(crate) fn calibrated(
    options: Options,
    calibration: Calibration,
) -> Result<Accelerator, Failure> {
    let builder = Accelerator::builder().options(options);
    built(builder.calibration(calibration))
}

/// Builds an accelerator, and refuses options that do not fit this machine.
pub(crate) fn built(builder: Builder) -> Result<Accelerator, Failure> {
    builder
        .build()
        .map_err(|error| Failure::usage(error.to_string()))
}
