//! Arrow's C data interface: what another library says is checked before anything is read by it.
//!
//! arrow-rs trusts a producer, and panics or reads wherever it points. Here a structure that contradicts itself is a `ValueError`.
//! A buffer that is shorter than its producer says cannot be noticed by anyone: the interface does not tell lengths.

use std::ffi::{CStr, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::cast::AsArray as _;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array as _, make_array, new_empty_array};
use arrow_schema::{ArrowError, DataType};
use pyo3::exceptions::{PyMemoryError, PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use rustix::io::Errno;

use super::input::Chunk;

/// Imports one array. `name` is that of the argument.
///
/// # Errors
/// `TypeError` for a type without bytes; `ValueError` for a structure that contradicts itself.
pub fn chunk(name: &str, array: FFI_ArrowArray, schema: &FFI_ArrowSchema) -> PyResult<Chunk> {
    if array.is_released() || schema.release().is_none() {
        return Err(invalid(name, "it was read before"));
    }
    // The checks below leave no panic that is known.
    let imported = catch_unwind(AssertUnwindSafe(|| import(name, array, schema)));
    imported.unwrap_or_else(|_| Err(invalid(name, "its structure is broken")))
}

/// Imports the arrays of a stream. Its producer may wait for threads of Python's, so it runs without the GIL.
///
/// # Errors
/// As for [`chunk`]. If the producer fails, `MemoryError`, `ValueError` for what it calls invalid, or `OSError`, with its text.
pub fn chunks(
    py: Python<'_>,
    name: &str,
    mut stream: FFI_ArrowArrayStream,
) -> PyResult<Vec<Chunk>> {
    py.detach(move || {
        let (Some(get_schema), Some(get_next), Some(_)) =
            (stream.get_schema(), stream.get_next(), stream.release())
        else {
            return Err(invalid(name, "the stream was read before"));
        };
        let mut schema = FFI_ArrowSchema::empty();
        // SAFETY: the function belongs to this stream, and writes a schema or returns an error.
        match unsafe { get_schema(&raw mut stream, &raw mut schema) } {
            0 => {}
            status => return Err(failed(name, &mut stream, status)),
        }
        let mut chunks = Vec::new();
        loop {
            // There may be many, and each may take the producer long.
            Python::attach(|py| py.check_signals())?;
            let mut array = FFI_ArrowArray::empty();
            // SAFETY: the function belongs to this stream, and writes an array or returns an error.
            match unsafe { get_next(&raw mut stream, &raw mut array) } {
                0 if array.is_released() => break,
                0 => chunks.push(chunk(name, array, &schema)?),
                status => return Err(failed(name, &mut stream, status)),
            }
        }
        if chunks.is_empty()
            && let Some(width) = width(schema.format())
        {
            chunks.push(no_rows(width));
        }
        Ok(chunks)
    })
}

/// Returns the exception for a failure of a stream's producer.
fn failed(name: &str, stream: &mut FFI_ArrowArrayStream, status: c_int) -> PyErr {
    let text = stream.get_last_error().and_then(|get_last_error| {
        // SAFETY: the function belongs to this stream, whose last call failed. It returns null or a string that lives until the
        // next call.
        let text = unsafe {
            let text = get_last_error(stream);
            (!text.is_null()).then(|| CStr::from_ptr(text))
        };
        text.map(|text| text.to_string_lossy().into_owned())
    });
    let text = match text {
        Some(text) if !text.is_empty() => format!("{name}: the stream failed: {text}"),
        _ => format!("{name}: the stream failed with error {status}"),
    };
    match Errno::from_raw_os_error(status) {
        Errno::NOMEM => PyMemoryError::new_err(text),
        Errno::INVAL => PyValueError::new_err(text),
        _ => PyOSError::new_err((status, text)),
    }
}

/// Returns the width that a format fixes, if it does.
fn width(format: &str) -> Option<i32> {
    let width = format.strip_prefix("w:")?.parse().ok()?;
    (width >= 0).then_some(width)
}

/// Returns an array without rows, by whose type results of no rows have the same type as others.
fn no_rows(width: i32) -> Chunk {
    let array = new_empty_array(&DataType::FixedSizeBinary(width));
    Chunk::Fixed(array.as_fixed_size_binary().clone())
}

/// The layout of a type.
enum Layout {
    Null,
    /// Offsets, each with this number of bytes.
    Offsets(usize),
    Fixed,
    Views,
}

fn import(name: &str, array: FFI_ArrowArray, schema: &FFI_ArrowSchema) -> PyResult<Chunk> {
    let format = schema.format();
    let layout = match format {
        "n" => Layout::Null,
        "z" | "u" => Layout::Offsets(4),
        "Z" | "U" => Layout::Offsets(8),
        "vz" | "vu" => Layout::Views,
        _ if format.starts_with("w:") && schema.dictionary().is_none() => Layout::Fixed,
        _ => return Err(wrong_type(name, &shown(schema))),
    };
    if schema.dictionary().is_some() {
        return Err(wrong_type(name, &shown(schema)));
    }
    let span = i64::try_from(array.len())
        .ok()
        .zip(i64::try_from(array.offset()).ok());
    let end = span.and_then(|(len, offset)| len.checked_add(offset));
    let Some(end) = end.and_then(|end| usize::try_from(end).ok()) else {
        return Err(invalid(
            name,
            "its length or offset is negative or too large",
        ));
    };
    match layout {
        Layout::Null => return Ok(Chunk::Null(array.len())),
        Layout::Fixed if array.is_empty() => {
            return width(format)
                .map(no_rows)
                .ok_or_else(|| invalid(name, "its width is wrong"));
        }
        _ if array.is_empty() => return Ok(Chunk::Null(0)),
        Layout::Offsets(bytes) => check_offsets(name, &array, bytes, end)?,
        Layout::Fixed => {
            if width(format).is_none() || array.num_buffers() != 2 {
                return Err(invalid(name, "its width or number of buffers is wrong"));
            }
        }
        Layout::Views => {
            let is_aligned = array.num_buffers() >= 3 && array.buffer(1).addr().is_multiple_of(4);
            if !is_aligned || array.buffer(1).is_null() {
                return Err(invalid(name, "its buffers are missing or not aligned"));
            }
        }
    }
    let refused = |error: ArrowError| invalid(name, &error.to_string());
    // SAFETY: the producer says by its capsules' names that this is an array and its type.
    let data = unsafe { from_ffi(array, schema) };
    let mut data = data.map_err(refused)?;
    data.align_buffers();
    // Each offset and view.
    data.validate_full().map_err(refused)?;
    let array = make_array(data);
    Ok(match array.data_type() {
        DataType::Binary => Chunk::Binary(array.as_binary().clone()),
        DataType::LargeBinary => Chunk::LargeBinary(array.as_binary().clone()),
        DataType::FixedSizeBinary(_) => Chunk::Fixed(array.as_fixed_size_binary().clone()),
        DataType::BinaryView => Chunk::Views(array.as_binary_view().clone()),
        DataType::Utf8 => Chunk::Binary(array.as_string::<i32>().clone().into()),
        DataType::LargeUtf8 => Chunk::LargeBinary(array.as_string::<i64>().clone().into()),
        DataType::Utf8View => Chunk::Views(array.as_string_view().clone().to_binary_view()),
        other => return Err(wrong_type(name, &other.to_string())),
    })
}

/// Checks that there are offsets which can be read, up to that of the end, which is the length of the values.
fn check_offsets(name: &str, array: &FFI_ArrowArray, bytes: usize, end: usize) -> PyResult<()> {
    if array.num_buffers() != 3 {
        return Err(invalid(name, "its number of buffers is wrong"));
    }
    let offsets = array.buffer(1);
    if offsets.is_null() || !offsets.addr().is_multiple_of(bytes) {
        return Err(invalid(name, "its offsets are missing or not aligned"));
    }
    // SAFETY: a producer has one offset more than values, of 4 or 8 bytes, which are aligned.
    let last = unsafe {
        match bytes {
            4 => i64::from(offsets.cast::<i32>().add(end).read()),
            _ => offsets.cast::<i64>().add(end).read(),
        }
    };
    match last {
        0.. => Ok(()),
        _ => Err(invalid(name, "an offset is negative")),
    }
}

/// Returns a type as a message names it.
fn shown(schema: &FFI_ArrowSchema) -> String {
    match DataType::try_from(schema) {
        Ok(DataType::Struct(_)) => "Struct, as a table is: take one of its columns".to_owned(),
        Ok(DataType::Dictionary(_, of)) => format!("Dictionary: cast it to {of}"),
        Ok(other) => other.to_string(),
        Err(_) => format!("{:?}", schema.format()),
    }
}

fn wrong_type(name: &str, found: &str) -> PyErr {
    PyTypeError::new_err(format!(
        "{name} must be a column of binary values or strings, not of Arrow's type {found}"
    ))
}

fn invalid(name: &str, what: &str) -> PyErr {
    PyValueError::new_err(format!("{name}: invalid Arrow data: {what}"))
}
