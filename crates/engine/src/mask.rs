//! The mask of the CPU's features that tests set.

use oarlock_kernels::cpu::Cpu;
use oarlock_threads::{OptionsError, process};

/// The CPU that this runs on, less what `OARLOCK_CPU` hides: a mask for tests, such as `-avx512,-vaes`
/// (see [`Cpu::masked`]). A program that runs with more rights than its user ignores the variable.
///
/// `Accelerator::builder` begins with this; a device that is made
/// without an accelerator takes it where the mask is to count.
///
/// # Errors
/// Names the word of the mask that is no feature.
pub fn visible_cpu() -> Result<Cpu, OptionsError> {
    process::environment("OARLOCK_CPU").map_or(Ok(Cpu::detect()), |mask| {
        let masked = Cpu::detect().masked(&mask);
        masked.map_err(|error| OptionsError::new(error.to_string()).from("OARLOCK_CPU"))
    })
}
