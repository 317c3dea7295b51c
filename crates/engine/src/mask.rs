//! The CPU mask that tests set.

use oarlock_kernels::cpu::Cpu;
use oarlock_threads::{OptionsError, process};

/// Returns this CPU without the features that `OARLOCK_CPU` hides: a mask for tests, such as `-avx512,-vaes` (see
/// [`Cpu::masked`]). A program that runs with more rights than its user ignores the variable.
///
/// `Accelerator::builder` starts from this. A device created without an accelerator can call it to honour the mask.
///
/// # Errors
/// An error that names the part of the mask that is no feature.
pub fn visible_cpu() -> Result<Cpu, OptionsError> {
    process::environment("OARLOCK_CPU").map_or(Ok(Cpu::detect()), |mask| {
        let masked = Cpu::detect().masked(&mask);
        masked.map_err(|error| OptionsError::new(error.to_string()).from("OARLOCK_CPU"))
    })
}
