//! Memory for results of many megabytes: refused without ending the process, and in huge pages, because a fault for each 4 KiB
//! took half the time of a column of small values.

use std::mem::size_of;

use pyo3::exceptions::PyMemoryError;
use pyo3::{PyErr, Python};
use rustix::mm::{Advice, madvise};
use rustix::param::page_size;

use crate::engine::compute;

/// From this length on huge pages are asked for: two of them.
const HUGE_BYTES_MIN: usize = 4 << 20;

/// There is no memory for so much.
#[derive(Debug)]
pub struct TooLarge;

/// Returns zeros.
pub fn zeroed(len: usize) -> Result<Vec<u8>, TooLarge> {
    // `vec!` ends the process if memory is short, and `resize` would write what the system has zeroed.
    Vec::<u8>::new()
        .try_reserve_exact(len)
        .map_err(|_| TooLarge)?;
    let mut bytes = vec![0; len];
    ask_for_huge_pages(&mut bytes);
    Ok(bytes)
}

/// Returns an empty vector with room for `len` items.
pub fn reserved<T>(len: usize) -> Result<Vec<T>, TooLarge> {
    let mut items = Vec::new();
    items.try_reserve_exact(len).map_err(|_| TooLarge)?;
    ask_for_huge_pages(&mut items);
    Ok(items)
}

/// Returns a copy. Other Python threads run while a long one is made.
pub fn copied_bytes(py: Python<'_>, bytes: &[u8]) -> Result<Vec<u8>, TooLarge> {
    compute(py, bytes.len(), || owned(bytes))
}

/// Returns a copy.
pub fn owned(bytes: &[u8]) -> Result<Vec<u8>, TooLarge> {
    let mut copy = reserved(bytes.len())?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}

impl From<TooLarge> for PyErr {
    fn from(TooLarge: TooLarge) -> Self {
        PyMemoryError::new_err(())
    }
}

fn ask_for_huge_pages<T>(items: &mut Vec<T>) {
    let bytes = items.capacity() * size_of::<T>();
    if bytes < HUGE_BYTES_MIN {
        return;
    }
    let page = page_size();
    let skip = items.as_ptr().addr().wrapping_neg() % page;
    let whole = (bytes - skip) / page * page;
    // SAFETY: the pages lie within the vector, which is ours, and the advice does not change what is in them.
    let _ = unsafe {
        let start = items.as_mut_ptr().cast::<u8>().add(skip);
        madvise(start.cast(), whole, Advice::LinuxHugepage)
    };
}
