//! Columns that Python hands in: Arrow's C data interface, tables of bytes, and iterables.

use std::ffi::CStr;

use arrow_array::cast::AsArray as _;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{
    Array, BinaryArray, BinaryViewArray, FixedSizeBinaryArray, LargeBinaryArray, make_array,
};
use arrow_schema::{ArrowError, DataType};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use crate::buffer::{Owned, Table};

/// A column of values, some of which may be null. It may come in several chunks.
pub struct Values {
    name: &'static str,
    chunks: Vec<Chunk>,
    /// The first row of each chunk, and the number of all rows.
    starts: Vec<usize>,
}

enum Chunk {
    Binary(BinaryArray),
    LargeBinary(LargeBinaryArray),
    Fixed(FixedSizeBinaryArray),
    Views(BinaryViewArray),
    Table(Table),
    Objects(Vec<Option<Owned>>),
}

impl Chunk {
    fn rows(&self) -> usize {
        match self {
            Self::Binary(array) => array.len(),
            Self::LargeBinary(array) => array.len(),
            Self::Fixed(array) => array.len(),
            Self::Views(array) => array.len(),
            Self::Table(table) => table.rows(),
            Self::Objects(objects) => objects.len(),
        }
    }

    fn get(&self, row: usize) -> Option<&[u8]> {
        match self {
            Self::Binary(array) => array.is_valid(row).then(|| array.value(row)),
            Self::LargeBinary(array) => array.is_valid(row).then(|| array.value(row)),
            Self::Fixed(array) => array.is_valid(row).then(|| array.value(row)),
            Self::Views(array) => array.is_valid(row).then(|| array.value(row)),
            Self::Table(table) => Some(table.row(row)),
            Self::Objects(objects) => objects[row].as_ref().map(Owned::bytes),
        }
    }

    fn width(&self) -> Option<usize> {
        match self {
            Self::Fixed(array) => usize::try_from(array.value_length()).ok(),
            Self::Table(table) => Some(table.width()),
            _ => None,
        }
    }

    fn of_array(name: &str, array: &dyn Array) -> PyResult<Self> {
        // The offsets of another library are checked before anything is read by them.
        array
            .to_data()
            .validate_full()
            .map_err(|error| invalid(name, &error))?;
        Ok(match array.data_type() {
            DataType::Binary => Self::Binary(array.as_binary().clone()),
            DataType::LargeBinary => Self::LargeBinary(array.as_binary().clone()),
            DataType::FixedSizeBinary(_) => Self::Fixed(array.as_fixed_size_binary().clone()),
            DataType::BinaryView => Self::Views(array.as_binary_view().clone()),
            DataType::Utf8 => Self::Binary(array.as_string::<i32>().clone().into()),
            DataType::LargeUtf8 => Self::LargeBinary(array.as_string::<i64>().clone().into()),
            DataType::Utf8View => Self::Views(array.as_string_view().clone().to_binary_view()),
            DataType::Null => Self::Objects((0..array.len()).map(|_| None).collect()),
            other => {
                return Err(PyTypeError::new_err(format!(
                    "{name} must be a column of binary values or strings, not of {other}"
                )));
            }
        })
    }
}

impl Values {
    /// Reads a column. `name` is that of the argument.
    ///
    /// # Errors
    /// `TypeError` or `ValueError`, naming the argument and, in an iterable, the row.
    pub fn new(object: &Bound<'_, PyAny>, name: &'static str) -> PyResult<Self> {
        let chunks = if let Some(method) = method(object, c"__arrow_c_array__")? {
            vec![one_array(name, &method.call0()?)?]
        } else if let Some(method) = method(object, c"__arrow_c_stream__")? {
            stream(name, &method.call0()?)?
        } else if let Some(table) = Table::new(object, name)? {
            vec![Chunk::Table(table)]
        } else {
            vec![objects(name, object)?]
        };
        Ok(Self::of(name, chunks))
    }

    /// Returns the column of an array.
    pub fn of_array(array: FixedSizeBinaryArray, name: &'static str) -> Self {
        Self::of(name, vec![Chunk::Fixed(array)])
    }

    fn of(name: &'static str, chunks: Vec<Chunk>) -> Self {
        let mut starts = vec![0];
        let mut rows = 0;
        for chunk in &chunks {
            rows += chunk.rows();
            starts.push(rows);
        }
        Self {
            name,
            chunks,
            starts,
        }
    }

    /// Returns the name of the argument.
    pub fn name(&self) -> &'static str {
        self.name
    }

    pub fn rows(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Returns the offsets of a column in one chunk without nulls, if it has such.
    pub fn offsets(&self) -> Option<&[i32]> {
        match &self.chunks[..] {
            [Chunk::Binary(array)] if array.null_count() == 0 => Some(array.value_offsets()),
            _ => None,
        }
    }

    /// Whether a value may be null.
    pub fn may_have_nulls(&self) -> bool {
        self.chunks.iter().any(|chunk| match chunk {
            Chunk::Binary(array) => array.null_count() > 0,
            Chunk::LargeBinary(array) => array.null_count() > 0,
            Chunk::Fixed(array) => array.null_count() > 0,
            Chunk::Views(array) => array.null_count() > 0,
            Chunk::Table(_) => false,
            Chunk::Objects(objects) => objects.iter().any(Option::is_none),
        })
    }

    /// Returns the width of the values if the type fixes it.
    pub fn width(&self) -> Option<usize> {
        match &self.chunks[..] {
            [chunk] => chunk.width(),
            _ => None,
        }
    }

    /// Returns a value, or `None` for null. `row` is less than [`rows`](Self::rows).
    #[inline]
    pub fn get(&self, row: usize) -> Option<&[u8]> {
        if let [chunk] = &self.chunks[..] {
            return chunk.get(row);
        }
        let chunk = self.starts.partition_point(|start| *start <= row) - 1;
        self.chunks[chunk].get(row - self.starts[chunk])
    }
}

/// Whether the object is a column, although it may have a buffer.
pub fn is_column(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(method(object, c"__arrow_c_array__")?.is_some()
        || method(object, c"__arrow_c_stream__")?.is_some()
        || Table::new(object, "associated_data").is_ok_and(|table| table.is_some()))
}

fn method<'py>(object: &Bound<'py, PyAny>, name: &CStr) -> PyResult<Option<Bound<'py, PyAny>>> {
    object.getattr_opt(name.to_str().unwrap_or_default())
}

/// Takes the structure out of a capsule, so that its destructor finds it released.
///
/// # Safety
/// A capsule of this name holds a `T`, and a `T` of zeros is a released one.
unsafe fn take<T>(capsule: &Bound<'_, PyAny>, name: &CStr, empty: T) -> PyResult<T> {
    let capsule = capsule
        .cast::<PyCapsule>()
        .map_err(|_| PyTypeError::new_err(format!("expected a capsule {name:?}")))?;
    let place = capsule.pointer_checked(Some(name))?.cast::<T>();
    // SAFETY: the caller says what the capsule holds. The interface lets a consumer move it out, once.
    Ok(unsafe { place.replace(empty) })
}

fn one_array(name: &str, capsules: &Bound<'_, PyAny>) -> PyResult<Chunk> {
    let pair = capsules.cast::<PyTuple>()?;
    // SAFETY: that is what capsules of these names hold (Arrow's PyCapsule interface).
    let schema = unsafe {
        take(
            &pair.get_item(0)?,
            c"arrow_schema",
            FFI_ArrowSchema::empty(),
        )
    }?;
    // SAFETY: the second capsule of the pair holds an array, by the same interface.
    let array = unsafe { take(&pair.get_item(1)?, c"arrow_array", FFI_ArrowArray::empty()) }?;
    if array.is_released() || schema.release().is_none() {
        return Err(PyValueError::new_err(format!(
            "{name}: these Arrow capsules were read before"
        )));
    }
    // SAFETY: the producer says so by its capsules' names, and the structures are moved out of them.
    let mut data = unsafe { from_ffi(array, &schema) }.map_err(|error| invalid(name, &error))?;
    data.align_buffers();
    Chunk::of_array(name, &make_array(data))
}

fn stream(name: &str, capsule: &Bound<'_, PyAny>) -> PyResult<Vec<Chunk>> {
    // SAFETY: a capsule of this name holds a stream, by the same interface.
    let stream = unsafe {
        take(
            capsule,
            c"arrow_array_stream",
            FFI_ArrowArrayStream::empty(),
        )
    }?;
    let invalid = |error| invalid(name, &error);
    let chunks = ArrayStreamReader::try_new(stream).map_err(invalid)?;
    chunks
        .map(|chunk| Chunk::of_array(name, &chunk.map_err(invalid)?))
        .collect()
}

fn invalid(name: &str, error: &ArrowError) -> PyErr {
    PyValueError::new_err(format!("{name}: invalid Arrow data: {error}"))
}

fn objects(name: &'static str, object: &Bound<'_, PyAny>) -> PyResult<Chunk> {
    let refused = || {
        PyTypeError::new_err(format!(
            "{name} must be an Arrow array, a two-dimensional array of bytes, or an iterable of bytes-like objects"
        ))
    };
    let rows = object.try_iter().map_err(|_| refused())?;
    let mut objects = Vec::with_capacity(object.len().unwrap_or(0).min(1 << 24));
    for (row, value) in rows.enumerate() {
        let value = value?;
        objects.push(if value.is_none() {
            None
        } else {
            let place = || format!("{name}, row {row}");
            Some(Owned::new(&value, place)?)
        });
    }
    Ok(Chunk::Objects(objects))
}
