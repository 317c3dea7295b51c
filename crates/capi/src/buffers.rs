//! Converts pointers with lengths to slices.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::slice;

use inout::InOutBuf;

use crate::failure::{Code, Failure};

/// Returns the `bytes` bytes at `data` for reading.
///
/// # Safety
/// `data` has `bytes` bytes that no one changes during `'a`, or is NULL.
#[inline]
pub(crate) unsafe fn input<'a>(
    data: *const c_void,
    bytes: usize,
    what: &str,
) -> Result<&'a [u8], Failure> {
    if bytes == 0 {
        return Ok(&[]);
    }
    check(data, bytes, what)?;
    // SAFETY: `data` is not NULL and does not wrap around; the caller says that no one changes its `bytes` bytes.
    Ok(unsafe { slice::from_raw_parts(data.cast(), bytes) })
}

/// Returns the `bytes` bytes at `data` for writing.
///
/// # Safety
/// The caller owns the `bytes` bytes at `data` during `'a`, or it is NULL.
#[inline]
pub(crate) unsafe fn output<'a>(
    data: *mut c_void,
    bytes: usize,
    what: &str,
) -> Result<&'a mut [u8], Failure> {
    if bytes == 0 {
        return Ok(&mut []);
    }
    check(data, bytes, what)?;
    // SAFETY: `data` is not NULL and does not wrap around; the caller says that it owns the `bytes` bytes.
    Ok(unsafe { slice::from_raw_parts_mut(data.cast(), bytes) })
}

/// Returns input and output of the same length: one buffer, or two that do not overlap.
///
/// # Safety
/// The same as for [`input`] and [`output`].
#[inline]
pub(crate) unsafe fn both<'a>(
    out: *mut c_void,
    data: *const c_void,
    bytes: usize,
) -> Result<InOutBuf<'a, 'a, u8>, Failure> {
    if bytes == 0 {
        return Ok(InOutBuf::from(&mut [][..]));
    }
    check(data, bytes, "the input")?;
    check(out, bytes, "the output")?;
    if !ptr::eq(out, data) && are_overlapping(out, bytes, data, bytes) {
        return Err(Failure::new(
            Code::Overlap,
            "input and output overlap: give one buffer for both, or two",
        ));
    }
    // SAFETY: neither pointer is NULL or wraps around; they are equal or the buffers do not overlap, and the caller says
    // that both have `bytes` bytes.
    Ok(unsafe { InOutBuf::from_raw(data.cast(), out.cast(), bytes) })
}

/// Refuses an output that overlaps another buffer of the same call.
#[inline]
pub(crate) fn apart(
    a: *const c_void,
    a_bytes: usize,
    b: *const c_void,
    b_bytes: usize,
    what: &'static str,
) -> Result<(), Failure> {
    // Impossible lengths are refused where the buffer becomes a slice.
    let can_be = a_bytes.max(b_bytes) <= isize::MAX as usize;
    if can_be && are_overlapping(a, a_bytes, b, b_bytes) {
        return Err(Failure::new(Code::Overlap, what));
    }
    Ok(())
}

#[inline]
fn are_overlapping(a: *const c_void, a_bytes: usize, b: *const c_void, b_bytes: usize) -> bool {
    let (a, b) = (a.addr(), b.addr());
    a_bytes > 0 && b_bytes > 0 && a < b.saturating_add(b_bytes) && b < a.saturating_add(a_bytes)
}

/// Refuses a buffer that cannot have `bytes` bytes.
#[inline]
pub(crate) fn check(data: *const c_void, bytes: usize, what: &str) -> Result<(), Failure> {
    if bytes == 0 {
        return Ok(());
    }
    if data.is_null() {
        return Err(is_null(what));
    }
    // The limit of a Rust slice, and the end of the address space.
    if bytes > isize::MAX as usize || data.addr().checked_add(bytes).is_none() {
        return Err(Failure::argument(format!(
            "{what} cannot have {bytes} bytes"
        )));
    }
    Ok(())
}

#[cold]
fn is_null(what: &str) -> Failure {
    Failure::argument(format!("{what} is NULL"))
}

/// Returns a text, which must not be NULL.
///
/// # Safety
/// `text` is NULL, or ends with a NUL and does not change during `'a`.
pub(crate) unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<&'a str, Failure> {
    // SAFETY: the caller says that `text` is NULL or ends with a NUL.
    let text = unsafe { bytes_of_text(text, what) }?;
    std::str::from_utf8(text).map_err(|_| Failure::argument(format!("{what} is not UTF-8")))
}

/// Returns a text of any bytes, such as a path, which must not be NULL.
///
/// # Safety
/// The same as for [`text`].
pub(crate) unsafe fn bytes_of_text<'a>(
    text: *const c_char,
    what: &str,
) -> Result<&'a [u8], Failure> {
    if text.is_null() {
        return Err(is_null(what));
    }
    // SAFETY: `text` is not NULL, and ends with a NUL, as the caller says.
    Ok(unsafe { CStr::from_ptr(text) }.to_bytes())
}

/// Returns a value for reading.
///
/// # Safety
/// `it` is NULL or points to a `T` that no one changes during `'a`.
pub(crate) unsafe fn value<'a, T>(it: *const T, what: &str) -> Result<&'a T, Failure> {
    if !it.is_null() && !it.is_aligned() {
        return Err(Failure::argument(format!("{what} is not aligned")));
    }
    // SAFETY: the pointer is aligned, and is NULL or points to a `T` that no one changes, as the caller says.
    unsafe { it.as_ref() }.ok_or_else(|| is_null(what))
}

/// Returns the place for a result.
///
/// # Safety
/// The caller owns the `T` at `to` during `'a`, or it is NULL.
#[inline]
pub(crate) unsafe fn place<'a, T>(to: *mut T, what: &str) -> Result<&'a mut T, Failure> {
    if !to.is_null() && !to.is_aligned() {
        return Err(Failure::argument(format!("{what} is not aligned")));
    }
    // SAFETY: the pointer is aligned, and is NULL or points to a `T` that the caller owns, as it says.
    unsafe { to.as_mut() }.ok_or_else(|| is_null(what))
}

/// A buffer for a result of any length up to its own.
pub(crate) struct Room<'a> {
    out: *mut c_void,
    bytes: &'a mut usize,
}

impl<'a> Room<'a> {
    /// # Safety
    /// The caller owns `bytes` and the `*bytes` bytes at `out` during `'a`; each may be NULL.
    pub(crate) unsafe fn new(out: *mut c_void, bytes: *mut usize) -> Result<Self, Failure> {
        // SAFETY: the caller says that it owns `bytes`, or it is NULL.
        let bytes = unsafe { place(bytes, "the length of the result") }?;
        if *bytes != 0 {
            check(out, *bytes, "the buffer for the result")?;
            let length = ptr::from_ref(bytes).cast();
            const APART: &str = "the buffer for the result and its length have nothing in common";
            apart(out, *bytes, length, size_of::<usize>(), APART)?;
        }
        Ok(Self { out, bytes })
    }

    /// Fails if the buffer is shorter than `bytes`, and stores the length needed.
    pub(crate) fn need(&mut self, bytes: usize) -> Result<(), Failure> {
        let room = *self.bytes;
        if room >= bytes {
            return Ok(());
        }
        *self.bytes = bytes;
        Err(Failure::new(
            Code::Buffer,
            format!("the result may have {bytes} bytes, and there is room for {room}"),
        ))
    }

    /// Refuses two results of these lengths that overlap, or one with the other's length in it.
    pub(crate) fn apart(
        &self,
        bytes: usize,
        other: &Self,
        other_bytes: usize,
    ) -> Result<(), Failure> {
        const APART: &str = "the results of a call and their lengths have nothing in common";
        let length = |room: &Self| ptr::from_ref::<usize>(room.bytes).cast();
        apart(self.out, bytes, other.out, other_bytes, APART)?;
        apart(self.out, bytes, length(other), size_of::<usize>(), APART)?;
        apart(
            other.out,
            other_bytes,
            length(self),
            size_of::<usize>(),
            APART,
        )
    }

    pub(crate) fn fill(mut self, result: &[u8]) -> Result<(), Failure> {
        self.need(result.len())?;
        // SAFETY: `out` has `*self.bytes` bytes, at least the length of the result, and is not NULL unless that is 0; the
        // result is memory of this library.
        unsafe { output(self.out, result.len(), "the buffer for the result") }?
            .copy_from_slice(result);
        *self.bytes = result.len();
        Ok(())
    }
}
