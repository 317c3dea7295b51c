//! The accelerator of this process, and what it is asked for.

use std::thread::available_parallelism;

use oarlock::device::Operation;
use oarlock::{Accelerator, Options};

use crate::failure::Failure;

/// From `name=value,...`; a cipher may use a thread for every CPU unless that says otherwise, since
/// there is one cipher in the whole process.
pub(crate) fn parse(text: &str) -> Result<Options, Failure> {
    format!("cipher_threads={},{text}", cpus())
        .parse()
        .map_err(|error| Failure::usage(format!("--options: {error}")))
}

pub(crate) fn build(options: Options) -> Result<Accelerator, Failure> {
    Accelerator::builder()
        .options(options)
        .build()
        .map_err(|error| Failure::usage(error.to_string()))
}

/// CPUs that this process may use.
pub(crate) fn cpus() -> usize {
    available_parallelism().map_or(1, usize::from)
}

/// By their names on the command line.
pub(crate) const OPERATIONS: [Operation; 3] = [
    Operation::Aes128Ctr,
    Operation::Aes192Ctr,
    Operation::Aes256Ctr,
];
