//! Pointers with lengths, as slices.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::slice;

use inout::InOutBuf;

use crate::failure::{Code, Failure};

/// Returns the `bytes` bytes at `data`, to read.
///
/// # Safety
/// `data` has `bytes` bytes that nobody changes for `'a`, unless it is NULL.
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
    // SAFETY: `data` is not NULL and does not wrap around; the caller says that nobody changes its `bytes`
    // bytes.
    Ok(unsafe { slice::from_raw_parts(data.cast(), bytes) })
}

/// Returns the `bytes` bytes at `data`, to write.
///
/// # Safety
/// `data` has `bytes` bytes that are the caller's alone for `'a`, unless it is NULL.
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
    // SAFETY: `data` is not NULL and does not wrap around; the caller says that its `bytes` bytes are its own.
    Ok(unsafe { slice::from_raw_parts_mut(data.cast(), bytes) })
}

/// Input and output of the same length: one buffer, or two that have nothing in common.
///
/// # Safety
/// As [`input`] and [`output`].
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
    // SAFETY: neither pointer is NULL or wraps around; they are the same or have nothing in common, and the
    // caller says that both have `bytes` bytes.
    Ok(unsafe { InOutBuf::from_raw(data.cast(), out.cast(), bytes) })
}

/// Refuses an output that is partly another buffer of the same call.
#[inline]
pub(crate) fn apart(
    a: *const c_void,
    a_bytes: usize,
    b: *const c_void,
    b_bytes: usize,
    what: &'static str,
) -> Result<(), Failure> {
    // What cannot be is refused where it becomes a slice.
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

/// Refuses what cannot be so many bytes.
#[inline]
pub(crate) fn check(data: *const c_void, bytes: usize, what: &str) -> Result<(), Failure> {
    if bytes == 0 {
        return Ok(());
    }
    if data.is_null() {
        return Err(is_null(what));
    }
    // Rust's slices have no more, and no address is beyond.
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

/// A text that is there.
///
/// # Safety
/// `text` is NULL or ends with a NUL that it stays with for `'a`.
pub(crate) unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<&'a str, Failure> {
    // SAFETY: the caller says that `text` is NULL or ends with a NUL.
    let text = unsafe { bytes_of_text(text, what) }?;
    std::str::from_utf8(text).map_err(|_| Failure::argument(format!("{what} is not UTF-8")))
}

/// A text of any bytes, such as a path, that is there.
///
/// # Safety
/// As [`text`].
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

/// A value to read.
///
/// # Safety
/// `it` is NULL, or one `T` that nobody changes for `'a`, and aligned.
pub(crate) unsafe fn value<'a, T>(it: *const T, what: &str) -> Result<&'a T, Failure> {
    if !it.is_null() && !it.is_aligned() {
        return Err(Failure::argument(format!("{what} is not aligned")));
    }
    // SAFETY: the pointer is aligned, and is NULL or leads to a `T` that nobody changes, as the caller says.
    unsafe { it.as_ref() }.ok_or_else(|| is_null(what))
}

/// Where one value goes.
///
/// # Safety
/// `to` is NULL, or one `T` that is the caller's alone for `'a`, and aligned.
#[inline]
pub(crate) unsafe fn place<'a, T>(to: *mut T, what: &str) -> Result<&'a mut T, Failure> {
    if !to.is_null() && !to.is_aligned() {
        return Err(Failure::argument(format!("{what} is not aligned")));
    }
    // SAFETY: the pointer is aligned, and is NULL or leads to a `T` that is the caller's own, as it says.
    unsafe { to.as_mut() }.ok_or_else(|| is_null(what))
}

/// A buffer for a result of any length up to that of the buffer.
pub(crate) struct Room<'a> {
    out: *mut c_void,
    bytes: &'a mut usize,
}

impl<'a> Room<'a> {
    /// # Safety
    /// `bytes` is NULL or a number that is the caller's alone for `'a`, and `out` is NULL or has so many bytes that are.
    pub(crate) unsafe fn new(out: *mut c_void, bytes: *mut usize) -> Result<Self, Failure> {
        // SAFETY: the caller says that `bytes` is NULL or a number of its own.
        let bytes = unsafe { place(bytes, "the length of the result") }?;
        if *bytes != 0 {
            check(out, *bytes, "the buffer for the result")?;
            let length = ptr::from_ref(bytes).cast();
            const APART: &str = "the buffer for the result and its length have nothing in common";
            apart(out, *bytes, length, size_of::<usize>(), APART)?;
        }
        Ok(Self { out, bytes })
    }

    /// Refuses to go on if so many bytes have no room, and says how many there are.
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

    pub(crate) fn fill(mut self, result: &[u8]) -> Result<(), Failure> {
        self.need(result.len())?;
        // SAFETY: `out` has `*self.bytes` bytes, which are at least so many, and is not NULL unless they are none; the
        // result is memory of this library.
        unsafe { output(self.out, result.len(), "the buffer for the result") }?
            .copy_from_slice(result);
        *self.bytes = result.len();
        Ok(())
    }
}
