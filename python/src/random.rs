//! Random bytes of the system.

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::region::NewBytes;

/// Fills `bytes` with random bytes.
///
/// # Errors
/// `OSError` if the system has none.
pub fn fill(bytes: &mut [u8]) -> PyResult<()> {
    getrandom::fill(bytes)
        .map_err(|error| PyOSError::new_err(format!("no random bytes from the system: {error}")))
}

/// Returns a new `bytes` object of random bytes.
pub fn random_bytes(py: Python<'_>, len: usize) -> PyResult<Bound<'_, PyBytes>> {
    let mut bytes = NewBytes::new(py, len)?;
    fill(bytes.bytes())?;
    Ok(bytes.into_object())
}
