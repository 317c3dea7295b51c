//! Columns that Python gets: through Arrow's C data interface, or row by row.

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::ffi::to_ffi;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, ArrayRef, LargeBinaryArray};
use arrow_buffer::bit_util::set_bit;
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::DataType;
use pyo3::exceptions::{PyIndexError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyList};

use super::input::Values;
use crate::memory::{TooLarge, reserved, zeroed};
use crate::region::copied;
use crate::signals;

/// A column of binary values.
///
/// pyarrow.array(column), polars.Series(column) and others that read Arrow's C data interface take it without a copy.
/// column[i] is a bytes object, or None.
#[pyclass(frozen, module = "oarlock", name = "Column", sequence)]
pub struct Column(ArrayRef);

impl Column {
    pub fn new(array: impl Array + 'static) -> Self {
        Self(Arc::new(array))
    }

    /// Returns a copy of a column of any kind.
    pub fn copy_of(values: &Values) -> Result<Self, TooLarge> {
        let rows = values.rows();
        let mut ends = reserved(rows.saturating_add(1))?;
        let lengths = signals::rows(rows).map(|row| values.get(row).map_or(0, <[u8]>::len));
        let total = lengths.fold(0_usize, usize::saturating_add);
        let mut bytes = reserved(total)?;
        ends.push(0_i64);
        for row in signals::rows(rows) {
            bytes.extend_from_slice(values.get(row).unwrap_or_default());
            // A vector has at most isize::MAX bytes.
            ends.push(bytes.len() as i64);
        }
        let offsets = OffsetBuffer::new(ScalarBuffer::from(ends));
        let nulls = validity(rows, |row| values.get(row).is_some())?;
        let array = LargeBinaryArray::try_new(offsets, Buffer::from_vec(bytes), Some(nulls));
        array.map(Self::new).map_err(|_| TooLarge)
    }

    pub fn rows(&self) -> usize {
        self.0.len()
    }

    fn get(&self, row: usize) -> Option<&[u8]> {
        if self.0.is_null(row) {
            return None;
        }
        Some(match self.0.data_type() {
            DataType::FixedSizeBinary(_) => self.0.as_fixed_size_binary().value(row),
            DataType::LargeBinary => self.0.as_binary::<i64>().value(row),
            _ => self.0.as_binary::<i32>().value(row),
        })
    }
}

#[pymethods]
impl Column {
    fn __len__(&self) -> usize {
        self.rows()
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        row: isize,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let rows = self.rows();
        let from_end = rows.checked_sub(row.unsigned_abs());
        let place = if row < 0 {
            from_end
        } else {
            Some(row.unsigned_abs())
        };
        match place.filter(|place| *place < rows) {
            Some(place) => self.get(place).map(|value| copied(py, value)).transpose(),
            None => Err(PyIndexError::new_err(format!("row {row} of {rows}"))),
        }
    }

    /// Return the rows as a list of bytes objects and None.
    fn to_pylist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for row in 0..self.rows() {
            if row.is_multiple_of(1 << 16) {
                py.check_signals()?;
            }
            match self.get(row) {
                Some(value) => list.append(copied(py, value)?)?,
                None => list.append(py.None())?,
            }
        }
        Ok(list)
    }

    /// The number of nulls.
    #[getter]
    fn null_count(&self) -> usize {
        self.0.null_count()
    }

    /// Return the capsules of the schema and the array (Arrow's PyCapsule interface).
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // A producer may ignore the wish for another type.
        drop(requested_schema);
        let (array, schema) = to_ffi(&self.0.to_data())
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        Ok((
            capsule(py, schema, c"arrow_schema")?,
            capsule(py, array, c"arrow_array")?,
        ))
    }

    /// Return the capsule of a stream of one chunk (Arrow's PyCapsule interface).
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        capsule::<FFI_ArrowArrayStream>(py, super::stream::of(&self.0), c"arrow_array_stream")
    }

    fn __repr__(&self) -> String {
        format!(
            "<oarlock.Column of {} rows of {}>",
            self.rows(),
            self.0.data_type()
        )
    }
}

/// Returns which rows of a column are not null.
pub fn validity(rows: usize, is_valid: impl Fn(usize) -> bool) -> Result<NullBuffer, TooLarge> {
    let mut bits = zeroed(rows.div_ceil(8))?;
    for row in signals::rows(rows).filter(|row| is_valid(*row)) {
        set_bit(&mut bits, row);
    }
    Ok(NullBuffer::new(BooleanBuffer::new(
        Buffer::from_vec(bits),
        0,
        rows,
    )))
}

fn capsule<'py, T: Send + 'static>(
    py: Python<'py>,
    structure: T,
    name: &'static CStr,
) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, structure, name)
}
