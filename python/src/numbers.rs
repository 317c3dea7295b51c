//! Numbers and names as arguments.

use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;

/// Returns a number from 0 to 255.
pub fn byte(number: &Bound<'_, PyAny>) -> PyResult<u8> {
    up_to(number, u8::MAX.into()).map(|number| number as u8)
}

/// Returns a number of 32 bits.
pub fn word(number: &Bound<'_, PyAny>) -> PyResult<u32> {
    up_to(number, u32::MAX.into()).map(|number| number as u32)
}

/// Returns a number of 64 bits.
pub fn long(number: &Bound<'_, PyAny>) -> PyResult<u64> {
    up_to(number, u64::MAX)
}

/// Returns a number of packets.
pub fn count(number: &Bound<'_, PyAny>) -> PyResult<usize> {
    up_to(number, u32::MAX.into()).map(|number| number as usize)
}

/// Python's OverflowError of a number that is too large or negative would be no ValueError.
fn up_to(number: &Bound<'_, PyAny>, max: u64) -> PyResult<u64> {
    match number.extract::<u64>() {
        Ok(value) if value <= max => Ok(value),
        Err(error) if !error.is_instance_of::<PyOverflowError>(number.py()) => Err(error),
        _ => Err(PyValueError::new_err(format!(
            "{number} is not a number from 0 to {max}"
        ))),
    }
}

/// Returns the entry of `all` with this name.
///
/// # Errors
/// `ValueError`, with the names that there are.
pub fn by_name<T: Copy>(all: &[(&str, T)], name: &str, argument: &str) -> PyResult<T> {
    let found = all.iter().find(|(known, _)| *known == name);
    found.map(|(_, it)| *it).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|(known, _)| *known).collect();
        let names = names.join(", ");
        PyValueError::new_err(format!("{argument} must be one of {names}, not {name:?}"))
    })
}
