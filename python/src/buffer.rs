//! Buffers of Python objects: anything with the buffer protocol (PEP 3118), borrowed for one call.
//!
//! The protocol is part of the stable ABI from Python 3.11 on, so PyO3 hides it when it builds for 3.9. The functions and the
//! layout of `Py_buffer` are the same in 3.9 and 3.10, whose last releases are out. They are declared here.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::slice;

use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi::{Py_ssize_t, PyObject};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyList, PyMemoryView};

use crate::memory::reserved;

/// `Py_buffer` (Include/pybuffer.h).
#[repr(C)]
struct View {
    bytes: *mut c_void,
    object: *mut PyObject,
    len: Py_ssize_t,
    item_bytes: Py_ssize_t,
    is_readonly: c_int,
    dimensions: c_int,
    format: *mut c_char,
    shape: *mut Py_ssize_t,
    strides: *mut Py_ssize_t,
    suboffsets: *mut Py_ssize_t,
    internal: *mut c_void,
}

unsafe extern "C" {
    fn PyObject_GetBuffer(object: *mut PyObject, view: *mut View, flags: c_int) -> c_int;
    fn PyBuffer_Release(view: *mut View);
}

/// Contiguous bytes.
const SIMPLE: c_int = 0;
/// Contiguous bytes that may be written.
const WRITABLE: c_int = 1;
/// Contiguous, with a shape and a format.
const SHAPED: c_int = 0x8 | 0x10 | 0x20 | 0x4;

/// A buffer that is read, released when it is dropped. Python must not resize its object before that.
pub struct Input<'py>(Source<'py>);

enum Source<'py> {
    /// Immutable, and borrowed without the protocol: 20 ns less.
    Bytes(Borrowed<'py, 'py, PyBytes>),
    View(Held),
}

/// A buffer that is written.
pub struct Output(Held);

/// An exported buffer. The address of `View` does not matter: CPython keeps none, and `PyBuffer_Release` reads only what is
/// in it.
struct Held(View);

// SAFETY: the memory stays valid until the release, on any thread, and the release happens on a thread that is attached to the
// interpreter: both types hold it only during a call, which begins and ends attached. Between, other threads read the bytes.
unsafe impl Send for Held {}
// SAFETY: through a shared reference the memory is only read.
unsafe impl Sync for Held {}

impl Held {
    fn new(object: &Bound<'_, PyAny>, flags: c_int) -> PyResult<Self> {
        match mask(object) {
            None => Self::with_masked(object, flags),
            Some(_) => Err(PyBufferError::new_err(
                "its buffer has the masked values too: give array.filled(...) or array.data",
            )),
        }
    }

    /// Does the same for an object that may be a masked array.
    fn with_masked(object: &Bound<'_, PyAny>, flags: c_int) -> PyResult<Self> {
        let mut view = View {
            bytes: ptr::null_mut(),
            object: ptr::null_mut(),
            len: 0,
            item_bytes: 0,
            is_readonly: 0,
            dimensions: 0,
            format: ptr::null_mut(),
            shape: ptr::null_mut(),
            strides: ptr::null_mut(),
            suboffsets: ptr::null_mut(),
            internal: ptr::null_mut(),
        };
        // SAFETY: the object is alive, the thread is attached to the interpreter, and `view` is writable.
        match unsafe { PyObject_GetBuffer(object.as_ptr(), &raw mut view, flags) } {
            0 => Ok(Self(view)),
            _ => Err(PyErr::fetch(object.py())),
        }
    }

    fn len(&self) -> usize {
        // CPython has no negative lengths.
        usize::try_from(self.0.len).unwrap_or(0)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: `PyObject_GetBuffer` filled it, and nothing has released it. The thread is attached (see `Send`).
        unsafe { PyBuffer_Release(&raw mut self.0) }
    }
}

impl<'py> Input<'py> {
    /// Borrows the bytes of an object.
    ///
    /// `name` is that of the argument, for the error.
    ///
    /// # Errors
    /// `TypeError` if it has no buffer, such as `str`; `BufferError` if its bytes are not contiguous.
    pub fn new(object: &'py Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        if let Ok(bytes) = object.cast_exact::<PyBytes>() {
            return Ok(Self(Source::Bytes(bytes.as_borrowed())));
        }
        let held = Held::new(object, SIMPLE);
        Ok(Self(Source::View(held.map_err(|error| {
            refused(object, name, &error, "a bytes-like object")
        })?)))
    }

    /// Borrows the bytes of associated data, if there is some.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub fn optional(associated_data: Option<&'py Bound<'_, PyAny>>) -> PyResult<Option<Self>> {
        associated_data
            .map(|data| Self::new(data, "associated_data"))
            .transpose()
    }

    /// Returns the bytes of associated data.
    pub fn or_empty(input: &Option<Self>) -> &[u8] {
        input.as_ref().map_or(&[], Self::bytes)
    }

    pub fn bytes(&self) -> &[u8] {
        match &self.0 {
            Source::Bytes(bytes) => bytes.as_bytes(),
            Source::View(held) => held.bytes(),
        }
    }
}

impl Output {
    /// Borrows the bytes of an object for writing.
    ///
    /// # Errors
    /// `TypeError` if it has no buffer; `BufferError` if it is read-only or not contiguous.
    pub fn new(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        match Held::new(object, WRITABLE) {
            Ok(held) => Ok(Self(held)),
            Err(error) => Err(refused(object, name, &error, "a writable buffer")),
        }
    }

    /// Borrows an object with `rows` rows of `width` bytes for writing: a buffer of bytes, a two-dimensional array of bytes,
    /// or an array of opaque items, such as NumPy's `V64`.
    ///
    /// # Errors
    /// As for [`new`](Self::new); `TypeError` for items of another type; `ValueError` if it has another length.
    pub fn of_rows(
        object: &Bound<'_, PyAny>,
        name: &str,
        rows: usize,
        width: usize,
    ) -> PyResult<Self> {
        let held = Held::new(object, SHAPED | WRITABLE)
            .map_err(|error| refused(object, name, &error, "a writable buffer"))?;
        let item_bytes = usize::try_from(held.0.item_bytes).unwrap_or(0);
        let is_of_bytes =
            item_bytes == 1 && matches!(held.format(), None | Some(b"B" | b"b" | b"c"));
        let fits = match held.0.dimensions {
            1 if is_of_bytes => Some(held.shape(0)) == rows.checked_mul(width),
            2 if is_of_bytes => (held.shape(0), held.shape(1)) == (rows, width),
            1 if held.is_of_padding() => (held.shape(0), item_bytes) == (rows, width),
            _ => {
                return Err(PyTypeError::new_err(format!(
                    "{name} must be a buffer of bytes of one or two dimensions, or an array of NumPy's V type"
                )));
            }
        };
        if fits && Some(held.len()) == rows.checked_mul(width) {
            return Ok(Self(held));
        }
        let dimensions = usize::try_from(held.0.dimensions).unwrap_or(0);
        let shape: Vec<_> = (0..dimensions).map(|index| held.shape(index)).collect();
        Err(PyValueError::new_err(format!(
            "{name} must have room for {rows} rows of {width} bytes: it has shape {shape:?} and items of {item_bytes} bytes"
        )))
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the bytes.
    pub fn bytes(&mut self) -> &mut [u8] {
        if self.len() == 0 {
            return &mut [];
        }
        // SAFETY: the protocol promises `len` writable bytes until the release. Python's documentation says that other
        // threads must not touch them during the call.
        unsafe { slice::from_raw_parts_mut(self.start(), self.len()) }
    }

    /// Returns the first byte.
    pub fn start(&self) -> *mut u8 {
        self.0.0.bytes.cast()
    }
}

/// Returns the mask of a masked array (`numpy.ma`). Its buffer shows the values alone.
fn mask<'py>(object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    let is_plain = object.is_exact_instance_of::<PyBytes>()
        || object.is_exact_instance_of::<PyByteArray>()
        || object.is_exact_instance_of::<PyMemoryView>();
    if is_plain {
        return None;
    }
    let of = |name| object.getattr_opt(name).ok().flatten();
    of("hardmask").and_then(|_| of("mask"))
}

/// Whether a value is `numpy.ma.masked`, or masked as a whole.
pub fn is_masked(object: &Bound<'_, PyAny>) -> bool {
    mask(object).is_some_and(|mask| mask.is_truthy().unwrap_or(false))
}

/// Whether a value is `pandas.NA`, which stands for null in the columns of a pandas without Arrow's interface (before 3).
pub fn is_na(object: &Bound<'_, PyAny>) -> bool {
    let kind = object.get_type();
    let is_named = kind.name().is_ok_and(|name| name == "NAType");
    is_named
        && kind
            .module()
            .is_ok_and(|module| module.to_string().starts_with("pandas."))
}

/// Whether an error is about an argument: not one that only passes through, such as `KeyboardInterrupt`.
pub fn is_of_argument(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PyTypeError>(py) || is_of_buffer(py, error)
}

/// Whether an error says that there is a buffer of another kind. NumPy says so by `ValueError`.
fn is_of_buffer(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PyBufferError>(py) || error.is_instance_of::<PyValueError>(py)
}

/// Names the argument and its type in an error of the protocol.
fn refused(object: &Bound<'_, PyAny>, name: &str, error: &PyErr, wanted: &str) -> PyErr {
    let py = object.py();
    if !is_of_argument(py, error) {
        return error.clone_ref(py);
    }
    let kind = object
        .get_type()
        .name()
        .map(|name| name.to_string())
        .unwrap_or_default();
    let text = format!("{name} must be {wanted}, not {kind}");
    if is_of_buffer(py, error) {
        PyBufferError::new_err(format!("{text}: {}", error.value(py)))
    } else {
        PyTypeError::new_err(text)
    }
}

/// A buffer that is read, with its object. It may outlive the call that made it.
pub struct Owned(Kept);

enum Kept {
    Bytes {
        /// Keeps the bytes alive; `bytes` objects never change.
        _object: Py<PyBytes>,
        start: *const u8,
        len: usize,
    },
    View(Held),
}

// SAFETY: `start` points into the object, which does not change and lives as long.
unsafe impl Send for Owned {}
// SAFETY: nobody writes to a `bytes` object, and `Held` may be shared.
unsafe impl Sync for Owned {}

impl Owned {
    /// Borrows the bytes of an object. `place` says where it is, for the error.
    ///
    /// # Errors
    /// Those of [`Input::new`].
    pub fn new(object: &Bound<'_, PyAny>, place: impl Fn() -> String) -> PyResult<Self> {
        if let Ok(bytes) = object.cast_exact::<PyBytes>() {
            let slice = bytes.as_bytes();
            return Ok(Self(Kept::Bytes {
                start: slice.as_ptr(),
                len: slice.len(),
                _object: bytes.clone().unbind(),
            }));
        }
        let held = Held::new(object, SIMPLE);
        Ok(Self(Kept::View(held.map_err(|error| {
            refused(object, &place(), &error, "a bytes-like object")
        })?)))
    }

    pub fn bytes(&self) -> &[u8] {
        match &self.0 {
            // SAFETY: see `Send`.
            Kept::Bytes { start, len, .. } => unsafe { slice::from_raw_parts(*start, *len) },
            Kept::View(held) => held.bytes(),
        }
    }
}

/// Rows of a fixed width: a two-dimensional array of bytes, or an array of items of several bytes without a meaning, such as
/// NumPy's `S64` and `V64`. A row that is masked is null.
pub struct Table {
    held: Held,
    rows: usize,
    width: usize,
    /// Which rows are null; `None` if none is.
    nulls: Option<Vec<bool>>,
}

impl Table {
    /// Borrows the table of an object, or returns `None` if it has no buffer.
    ///
    /// # Errors
    /// `BufferError` if its bytes are not contiguous; `TypeError` if it has another shape; `ValueError` if a row is masked in
    /// part.
    pub fn new(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<Self>> {
        if object.is_exact_instance_of::<PyList>() {
            return Ok(None);
        }
        let held = match Held::with_masked(object, SHAPED) {
            Ok(held) => held,
            Err(error) if error.is_instance_of::<PyTypeError>(object.py()) => return Ok(None),
            Err(error) => return Err(refused(object, name, &error, "contiguous")),
        };
        // Objects are iterated.
        if held.format().is_some_and(|format| format.ends_with(b"O")) {
            return Ok(None);
        }
        let (dimensions, item_bytes) = (held.0.dimensions, held.0.item_bytes);
        let shape = |index| held.shape(index);
        let item_bytes = usize::try_from(item_bytes).unwrap_or(0);
        let (rows, width) = match dimensions {
            2 if item_bytes == 1 => (shape(0), shape(1)),
            1 if held.is_of_strings() => (shape(0), item_bytes),
            _ => {
                return Err(PyTypeError::new_err(format!(
                    "{name} must be an array of two dimensions of bytes, or of one dimension of fixed-width strings"
                )));
            }
        };
        if rows
            .checked_mul(width)
            .is_none_or(|bytes| bytes > held.len())
        {
            return Err(PyBufferError::new_err(format!("{name} has a wrong shape")));
        }
        let nulls = match mask(object) {
            Some(mask) => nulls(&mask, name, rows)?,
            None => None,
        };
        Ok(Some(Self {
            held,
            rows,
            width,
            nulls,
        }))
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the bytes of all rows.
    pub fn bytes(&self) -> &[u8] {
        self.held.bytes()
    }

    /// Whether a row is null.
    pub fn has_nulls(&self) -> bool {
        self.nulls.is_some()
    }

    /// Returns a row, of less than [`rows`](Self::rows), or `None` for null.
    pub fn get(&self, row: usize) -> Option<&[u8]> {
        if self.nulls.as_ref().is_some_and(|nulls| nulls[row]) {
            return None;
        }
        Some(&self.held.bytes()[row * self.width..][..self.width])
    }
}

/// Returns which rows of a table are null, by its mask: a bool for each item, or one for all of them.
fn nulls(mask: &Bound<'_, PyAny>, name: &str, rows: usize) -> PyResult<Option<Vec<bool>>> {
    let held = Held::with_masked(mask, SHAPED)
        .map_err(|error| refused(mask, &format!("the mask of {name}"), &error, "contiguous"))?;
    let bools = held.bytes();
    let width = match held.0.dimensions {
        0 if bools == [0] => return Ok(None),
        0 if bools == [1] => {
            let mut nulls = reserved(rows)?;
            nulls.resize(rows, true);
            return Ok(Some(nulls));
        }
        _ => bools.len().checked_div(rows).unwrap_or(0),
    };
    if held.format() != Some(b"?") || width.checked_mul(rows) != Some(bools.len()) {
        return Err(PyTypeError::new_err(format!(
            "the mask of {name} must have a bool for each item"
        )));
    }
    let mut nulls = reserved(rows)?;
    for (row, bools) in bools.chunks(width.max(1)).enumerate() {
        let masked = bools.iter().filter(|bool| **bool != 0).count();
        if masked > 0 && masked < bools.len() {
            return Err(PyValueError::new_err(format!(
                "{name}, row {row}: {masked} of {} bytes are masked: mask all or none",
                bools.len()
            )));
        }
        nulls.push(masked > 0);
    }
    nulls.resize(rows, false);
    Ok(nulls.contains(&true).then_some(nulls))
}

impl Held {
    fn bytes(&self) -> &[u8] {
        if self.len() == 0 {
            return &[];
        }
        // SAFETY: the protocol promises `len` readable bytes at `bytes` until the release. Python's documentation says that
        // other threads must not write to them during the call; ours do not.
        unsafe { slice::from_raw_parts(self.0.bytes.cast_const().cast(), self.len()) }
    }

    /// Returns the length of a dimension of a buffer that was asked for with `SHAPED`; 0 for one that it does not have.
    fn shape(&self, index: usize) -> usize {
        let dimensions = usize::try_from(self.0.dimensions).unwrap_or(0);
        if index >= dimensions || self.0.shape.is_null() {
            return 0;
        }
        // SAFETY: `shape` has `dimensions` elements if it is not null, and lives as long as the view.
        usize::try_from(unsafe { *self.0.shape.add(index) }).unwrap_or(0)
    }

    /// Whether the items are padding (`64x`). NumPy drops zeros at the end of a string (`64s`) that is read.
    fn is_of_padding(&self) -> bool {
        self.format().and_then(|format| format.last()) == Some(&b'x')
    }

    /// Whether the items are strings of bytes (`64s`) or padding (`64x`), as `struct` writes them.
    fn is_of_strings(&self) -> bool {
        let last = self.format().and_then(|format| format.last().copied());
        matches!(last, Some(b's' | b'x'))
    }

    /// Returns the format of the items, as `struct` writes it, without the order of bytes, which ctypes writes for single
    /// bytes too (`<B`).
    fn format(&self) -> Option<&[u8]> {
        if self.0.format.is_null() {
            return None;
        }
        // SAFETY: with the flags of `SHAPED` it is a string that lives as long as the view.
        let format = unsafe { CStr::from_ptr(self.0.format) }.to_bytes();
        match format {
            [b'@' | b'=' | b'<' | b'>' | b'!', items @ ..] => Some(items),
            _ => Some(format),
        }
    }
}
