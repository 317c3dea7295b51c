//! Where the bytes of a call are read and written: one place, or two.

use std::ptr::NonNull;
use std::slice;

use oarlock::aead::{InOutBuf, TAG_BYTES};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::buffer::{Input, Output};
use crate::engine::compute;

/// A `bytes` object that is being filled. Nobody else knows it yet.
pub struct NewBytes<'py> {
    object: Bound<'py, PyBytes>,
    start: NonNull<u8>,
    len: usize,
}

impl<'py> NewBytes<'py> {
    /// Allocates `len` bytes.
    ///
    /// # Errors
    /// `MemoryError`.
    pub fn new(py: Python<'py>, len: usize) -> PyResult<Self> {
        let size = isize::try_from(len).map_err(|_| PyMemoryError::new_err(()))?;
        // SAFETY: the thread is attached; without a source Python allocates `len` bytes.
        let object = unsafe {
            Bound::from_owned_ptr_or_err(
                py,
                ffi::PyBytes_FromStringAndSize(std::ptr::null(), size),
            )?
            .cast_into_unchecked::<PyBytes>()
        };
        // SAFETY: it is a `bytes` object.
        let start = unsafe { ffi::PyBytes_AsString(object.as_ptr()) };
        let start = NonNull::new(start.cast()).ok_or_else(|| PyErr::fetch(py))?;
        Ok(Self { object, start, len })
    }

    /// Returns the bytes. The caller writes all of them before Python gets the object.
    pub fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: `len` bytes from `start` belong to the object, which nobody else has. Their values are whatever Python's
        // allocator, an opaque function, left there.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }

    pub fn into_object(self) -> Bound<'py, PyBytes> {
        self.object
    }
}

/// Returns a `bytes` object of `bytes`. Other Python threads run while long ones are copied.
///
/// # Errors
/// `MemoryError`, where `PyBytes::new` panics.
pub fn copied<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let mut object = NewBytes::new(py, bytes.len())?;
    let room = object.bytes();
    compute(py, bytes.len(), || room.copy_from_slice(bytes));
    Ok(object.into_object())
}

/// The bytes that a cipher reads and the bytes it writes.
pub struct Region {
    input: *const u8,
    output: *mut u8,
    len: usize,
}

// SAFETY: the borrows that it was made of outlive it, and it is the only one that writes.
unsafe impl Send for Region {}

impl Region {
    /// Returns the region from `input` to the first bytes of `output`.
    pub fn between(input: &[u8], output: &mut [u8]) -> Self {
        debug_assert!(input.len() <= output.len());
        Self {
            input: input.as_ptr(),
            output: output.as_mut_ptr(),
            len: input.len().min(output.len()),
        }
    }

    /// Returns the region from the first `len` bytes of `input` to the first of a caller's `output`, which needs
    /// `output_bytes` of them.
    ///
    /// # Errors
    /// `ValueError` if the output has another length, or overlaps with the input and does not begin with it.
    pub fn into_buffer(
        input: &Input<'_>,
        len: usize,
        output: &Output,
        output_bytes: usize,
    ) -> PyResult<Self> {
        if output.len() != output_bytes {
            return Err(PyValueError::new_err(format!(
                "buf must be {output_bytes} bytes long, not {}",
                output.len()
            )));
        }
        let (from, to) = (input.bytes().as_ptr(), output.start());
        let (first, second) = (from.addr(), to.addr());
        let is_apart = first + input.bytes().len() <= second || second + output_bytes <= first;
        if first != second && !is_apart && len > 0 {
            return Err(PyValueError::new_err(
                "buf overlaps with data: both must begin at the same byte, or be apart",
            ));
        }
        Ok(Self {
            input: from,
            output: to,
            len,
        })
    }

    /// Whether the output and these bytes have some in common.
    pub fn writes_to(&self, bytes: &[u8]) -> bool {
        let (first, second) = (self.output.addr(), bytes.as_ptr().addr());
        first < second + bytes.len() && second < first + self.len + TAG_BYTES
    }

    /// # Safety
    /// What the region was made of is still borrowed, and no other thread writes it.
    pub unsafe fn in_out(&mut self) -> InOutBuf<'_, '_, u8> {
        // SAFETY: the caller says so; the two parts begin at the same byte or are apart, as the constructors check.
        unsafe { InOutBuf::from_raw(self.input, self.output, self.len) }
    }

    /// Writes `tail` behind the output.
    ///
    /// # Safety
    /// The output has room for it, and is still borrowed.
    pub unsafe fn append(&mut self, tail: &[u8]) {
        // SAFETY: the caller says so. `tail` lies on the stack of a caller.
        unsafe {
            std::ptr::copy_nonoverlapping(tail.as_ptr(), self.output.add(self.len), tail.len());
        }
    }
}
