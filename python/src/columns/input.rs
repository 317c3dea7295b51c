//! Columns that Python hands in: Arrow's C data interface, tables of bytes, and iterables.

use std::ffi::CStr;
use std::ops::Range;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    Array as _, BinaryArray, BinaryViewArray, FixedSizeBinaryArray, LargeBinaryArray,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use super::arrow;
use crate::buffer::{Owned, Table, is_masked, is_na, is_of_argument};
use crate::engine::compute;

/// The cost of importing a value, in bytes of one long message.
const ROW_BYTES: usize = 8;

/// A column of values, some of which may be null. It may come in several chunks.
pub struct Values {
    name: &'static str,
    chunks: Vec<Chunk>,
    /// The first row of each chunk, and the number of all rows.
    starts: Vec<usize>,
}

/// An array of a column.
pub enum Chunk {
    /// A number of nulls.
    Null(usize),
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
            Self::Null(rows) => *rows,
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
            Self::Null(_) => None,
            Self::Binary(array) => array.is_valid(row).then(|| array.value(row)),
            Self::LargeBinary(array) => array.is_valid(row).then(|| array.value(row)),
            Self::Fixed(array) => array.is_valid(row).then(|| array.value(row)),
            Self::Views(array) => array.is_valid(row).then(|| array.value(row)),
            Self::Table(table) => table.get(row),
            Self::Objects(objects) => objects[row].as_ref().map(Owned::bytes),
        }
    }

    /// Whether memory that a value is read by lies in a range of addresses.
    fn overlaps(&self, range: &Range<usize>) -> bool {
        let is_in = |bytes: &[u8]| {
            let start = bytes.as_ptr().addr();
            !bytes.is_empty() && start < range.end && range.start < start + bytes.len()
        };
        let array = match self {
            Self::Null(_) => return false,
            Self::Table(table) => return is_in(table.bytes()),
            Self::Objects(objects) => {
                return objects.iter().flatten().any(|object| is_in(object.bytes()));
            }
            Self::Binary(array) => array.to_data(),
            Self::LargeBinary(array) => array.to_data(),
            Self::Fixed(array) => array.to_data(),
            Self::Views(array) => array.to_data(),
        };
        let nulls = array.nulls().map(|nulls| nulls.buffer());
        let mut buffers = array.buffers().iter().chain(nulls);
        buffers.any(|buffer| is_in(buffer.as_slice()))
    }

    fn width(&self) -> Option<usize> {
        match self {
            Self::Fixed(array) => usize::try_from(array.value_length()).ok(),
            Self::Table(table) => Some(table.width()),
            _ => None,
        }
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
            Chunk::Null(rows) => *rows > 0,
            Chunk::Binary(array) => array.null_count() > 0,
            Chunk::LargeBinary(array) => array.null_count() > 0,
            Chunk::Fixed(array) => array.null_count() > 0,
            Chunk::Views(array) => array.null_count() > 0,
            Chunk::Table(table) => table.has_nulls(),
            Chunk::Objects(objects) => objects.iter().any(Option::is_none),
        })
    }

    /// Whether memory that a value is read by lies in a range of addresses.
    pub fn overlaps(&self, range: &Range<usize>) -> bool {
        self.chunks.iter().any(|chunk| chunk.overlaps(range))
    }

    /// Returns the width of the values if the types of all chunks with rows fix the same one.
    pub fn width(&self) -> Option<usize> {
        let is_empty = |chunk: &&Chunk| matches!(chunk, Chunk::Null(0));
        let mut chunks = self.chunks.iter().filter(|chunk| !is_empty(chunk));
        let width = chunks.next()?.width()?;
        chunks
            .all(|chunk| chunk.width() == Some(width))
            .then_some(width)
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

/// Whether the object is a stream that might be read once only.
pub fn is_stream_alone(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(method(object, c"__arrow_c_array__")?.is_none()
        && method(object, c"__arrow_c_stream__")?.is_some())
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
    if pair.len() != 2 {
        return Err(PyTypeError::new_err(format!(
            "{name}: __arrow_c_array__ must return two capsules"
        )));
    }
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
    // It looks at each value. A short array is imported sooner than another thread could run.
    let cost = array.len().saturating_mul(ROW_BYTES);
    compute(capsules.py(), cost, move || {
        arrow::chunk(name, array, &schema)
    })
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
    arrow::chunks(capsule.py(), name, stream)
}

fn objects(name: &'static str, object: &Bound<'_, PyAny>) -> PyResult<Chunk> {
    let refused = || {
        PyTypeError::new_err(format!(
            "{name} must be an Arrow array, a two-dimensional array of bytes, or an iterable of bytes-like objects"
        ))
    };
    let rows = object.try_iter();
    let rows = rows.map_err(|error| match is_of_argument(object.py(), &error) {
        true => refused(),
        false => error,
    })?;
    let mut objects = Vec::new();
    for (row, value) in rows.enumerate() {
        let value = value?;
        objects.push(if value.is_none() || is_masked(&value) {
            None
        } else {
            let place = || format!("{name}, row {row}");
            match Owned::new(&value, place) {
                Err(_) if is_na(&value) => None,
                read => Some(read?),
            }
        });
    }
    Ok(Chunk::Objects(objects))
}
