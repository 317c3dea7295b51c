//! The module's accelerator, and when a call lets other Python threads run.

use std::sync::OnceLock;

use oarlock::{Accelerator, Error};
use pyo3::prelude::*;

use crate::failure::exception;

/// From this length on a call releases the GIL. Releasing and taking it again costs 60 ns when no other thread wants it, which is a
/// twentieth of the time of AES-256-GCM for as many bytes.
const DETACHED_BYTES_MIN: usize = 8 << 10;

static ACCELERATOR: OnceLock<Result<Accelerator, Error>> = OnceLock::new();

/// Returns the accelerator of the module, made at the first use. It starts no thread before a request gains from one.
pub fn accelerator() -> PyResult<&'static Accelerator> {
    ACCELERATOR
        .get_or_init(|| Accelerator::builder().build())
        .as_ref()
        .map_err(exception)
}

/// Computes something that takes about as long as sealing `bytes` bytes.
pub fn compute<T: Send>(py: Python<'_>, bytes: usize, work: impl FnOnce() -> T + Send) -> T {
    if bytes < DETACHED_BYTES_MIN {
        work()
    } else {
        py.detach(work)
    }
}
