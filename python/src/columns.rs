//! Columns of values: sealed and opened in one call on all CPUs.
//!
//! The rows of a call are cut into runs. Each run owns its part of the output, whose place is known before, because a sealed
//! value is 16 bytes longer. Threads take runs until none is left. A row that fails leaves zeros and a null.

mod arrow;
mod ends;
mod input;
mod nonces;
mod output;
mod remote;
mod runs;
mod stream;

use arrow_array::FixedSizeBinaryArray;
use oarlock::aead::TAG_BYTES;
use oarlock::{Algorithm, Direction};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use self::input::Values;
pub use self::output::Column;
use self::remote::RemoteCall;
use self::runs::{Call, Failures, Keys};
use crate::aead::session_of;
use crate::buffer::{Input, Output};
use crate::engine::accelerator;
use crate::failure::exception;
use crate::origin::Origin;
use crate::remote::RemoteSecretKey;
use crate::signals::interruptible;

/// The values of a call, and what goes with them.
#[pyclass(frozen, module = "oarlock", name = "ColumnResult")]
pub struct ColumnResult {
    /// The column of sealed or opened values; null where the input was null or the row failed. With `out`, that object: the
    /// rows that failed are zeros.
    #[pyo3(get)]
    values: Py<PyAny>,
    /// The nonces, of 12 bytes each; None with a key of a cryptoserver.
    #[pyo3(get)]
    nonces: Py<PyAny>,
    failures: Failures,
    rows: usize,
}

#[pymethods]
impl ColumnResult {
    /// Why rows failed: a dict from the row's number to an exception.
    #[getter]
    fn errors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let errors = PyDict::new(py);
        for (row, error) in &self.failures {
            errors.set_item(row, exception(error))?;
        }
        Ok(errors)
    }

    fn __repr__(&self) -> String {
        let (rows, failed) = (self.rows, self.failures.len());
        format!("<oarlock.ColumnResult of {rows} rows, {failed} of which failed>")
    }
}

/// Encrypt and authenticate each value of a column.
///
/// `key` is an AESGCM or ChaCha20Poly1305 object, or a column of keys, one for each row; then `algorithm` is "AESGCM" or
/// "ChaCha20Poly1305". It may also be a RemoteSecretKey, whose server seals all rows: see below. `values` is an Arrow array or stream (pyarrow, polars, pandas), a two-dimensional array of bytes or a
/// one-dimensional one of fixed-width strings (NumPy), or an iterable of bytes-like objects and None. `nonces` is a column of
/// nonces of 12 bytes; without it they are made, and returned in the result: consecutive numbers from a random start.
/// `associated_data` is one bytes-like object for all rows, or a column.
///
/// Each sealed value ends with its tag of 16 bytes. A null stays null. A row that fails is null in the result, and its
/// error is in `result.errors`.
///
/// With `out`, the results go there, one after the other: a writable buffer of bytes, or an array of NumPy, with just the room
/// for all rows. Then the values must have a fixed width and no nulls, a row that fails is zeros, and `result.values` is `out`.
///
/// With a RemoteSecretKey each sealed value has the form of `RemoteSecretKey.seal`, and is 44 bytes longer. Its nonce is in it, so
/// `result.nonces` is None. `nonces`, `algorithm` and `out` are for other keys.
///
/// Raises ValueError if a nonce occurs twice under one key, if the columns have different lengths, or if `out` has another
/// length or overlaps an argument.
#[pyfunction]
#[pyo3(signature = (key, values, *, nonces=None, associated_data=None, algorithm=None, out=None))]
pub fn seal_many(
    py: Python<'_>,
    key: &Bound<'_, PyAny>,
    values: &Bound<'_, PyAny>,
    nonces: Option<&Bound<'_, PyAny>>,
    associated_data: Option<&Bound<'_, PyAny>>,
    algorithm: Option<&str>,
    out: Option<&Bound<'_, PyAny>>,
) -> PyResult<ColumnResult> {
    if let Ok(key) = key.cast::<RemoteSecretKey>() {
        check_remote(nonces, algorithm, out)?;
        return remote_result(py, key.get(), values, associated_data, Direction::Encrypt);
    }
    // Made while no other thread can fork.
    accelerator()?;
    let origin = Origin::here();
    let values = Values::new(values, "values")?;
    let keys = keys(key, algorithm)?;
    let given = match nonces {
        Some(given) => {
            let read = Values::new(given, "nonces")?;
            let shown = shown(given, &read)?;
            Some((read, shown))
        }
        None => None,
    };
    let associated_data = AssociatedData::new(associated_data)?;
    let room = Room::new(&values, Direction::Encrypt, out)?;
    // From here to the sealed rows no code of the caller's runs, which could change nonces that are checked.
    let (nonces, shown) = match given {
        Some((read, shown)) => (read, Shown::Given(shown)),
        None => {
            let made = interruptible(py, || nonces::made(values.rows()))??;
            (Values::of_array(made.clone(), "nonces"), Shown::Made(made))
        }
    };
    let call = Call {
        keys: &keys,
        values: &values,
        nonces: &nonces,
        associated_data: associated_data.as_ref(),
        origin,
    };
    call.check_lengths()?;
    if let Shown::Given(_) = shown {
        interruptible(py, || nonces::check_unique(&call))??;
    }
    result(py, &call, Direction::Encrypt, room, shown)
}

/// Decrypt each value of a column that `seal_many` or other programs sealed.
///
/// The arguments are those of `seal_many`. Values that are not authentic become null and have their error in
/// `result.errors`; no plaintext of them is released.
#[pyfunction]
#[pyo3(signature = (key, values, *, nonces=None, associated_data=None, algorithm=None, out=None))]
pub fn open_many(
    py: Python<'_>,
    key: &Bound<'_, PyAny>,
    values: &Bound<'_, PyAny>,
    nonces: Option<&Bound<'_, PyAny>>,
    associated_data: Option<&Bound<'_, PyAny>>,
    algorithm: Option<&str>,
    out: Option<&Bound<'_, PyAny>>,
) -> PyResult<ColumnResult> {
    if let Ok(key) = key.cast::<RemoteSecretKey>() {
        check_remote(nonces, algorithm, out)?;
        return remote_result(py, key.get(), values, associated_data, Direction::Decrypt);
    }
    let given = nonces.ok_or_else(|| {
        PyTypeError::new_err("open_many needs the nonces that the values were sealed with")
    })?;
    let origin = Origin::here();
    let values = Values::new(values, "values")?;
    let keys = keys(key, algorithm)?;
    let nonces = Values::new(given, "nonces")?;
    let shown = Shown::Given(shown(given, &nonces)?);
    let associated_data = AssociatedData::new(associated_data)?;
    let room = Room::new(&values, Direction::Decrypt, out)?;
    let call = Call {
        keys: &keys,
        values: &values,
        nonces: &nonces,
        associated_data: associated_data.as_ref(),
        origin,
    };
    call.check_lengths()?;
    result(py, &call, Direction::Decrypt, room, shown)
}

/// Refuses arguments that are for keys of this process.
fn check_remote(
    nonces: Option<&Bound<'_, PyAny>>,
    algorithm: Option<&str>,
    out: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let given = [
        ("nonces", nonces.is_some()),
        ("algorithm", algorithm.is_some()),
        ("out", out.is_some()),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((name, _)) => Err(PyValueError::new_err(format!(
            "{name} is not for a key of a cryptoserver, which chooses the nonces and puts them into the sealed values"
        ))),
    }
}

/// Has a server seal or open a column.
fn remote_result(
    py: Python<'_>,
    key: &RemoteSecretKey,
    values: &Bound<'_, PyAny>,
    associated_data: Option<&Bound<'_, PyAny>>,
    direction: Direction,
) -> PyResult<ColumnResult> {
    let values = Values::new(values, "values")?;
    let associated_data = AssociatedData::new(associated_data)?;
    let call = RemoteCall {
        key,
        values: &values,
        associated_data: associated_data.as_ref(),
    };
    let (column, failures) = call.process(py, direction)?;
    Ok(ColumnResult {
        values: Py::new(py, column)?.into_any(),
        nonces: py.None(),
        failures,
        rows: values.rows(),
    })
}

fn result(
    py: Python<'_>,
    call: &Call<'_>,
    direction: Direction,
    room: Option<Room>,
    nonces: Shown,
) -> PyResult<ColumnResult> {
    let (values, failures) = match room {
        Some(room) => {
            let failures = call.process_into(py, direction, room.memory)?;
            (room.object, failures)
        }
        None => {
            let (column, failures) = call.process(py, direction)?;
            (Py::new(py, column)?.into_any(), failures)
        }
    };
    let nonces = match nonces {
        Shown::Given(object) => object,
        Shown::Made(array) => Py::new(py, Column::new(array))?.into_any(),
    };
    Ok(ColumnResult {
        values,
        nonces,
        failures,
        rows: call.values.rows(),
    })
}

/// The caller's memory for the results.
struct Room {
    object: Py<PyAny>,
    memory: Output,
}

impl Room {
    fn new(
        values: &Values,
        direction: Direction,
        out: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<Self>> {
        let Some(out) = out else {
            return Ok(None);
        };
        let Some(width) = values.width() else {
            return Err(PyValueError::new_err(
                "out is for values of a fixed width: an array of bytes with two dimensions, NumPy's S and V types, \
                 or Arrow's fixed-size binary",
            ));
        };
        // Only a column of Arrow's can show them.
        if values.may_have_nulls() {
            return Err(PyValueError::new_err(
                "values has nulls, which cannot be shown in out",
            ));
        }
        let width = ends::result_bytes(direction, width, TAG);
        Ok(Some(Self {
            object: out.clone().unbind(),
            memory: Output::of_rows(out, "out", values.rows(), width)?,
        }))
    }
}

/// The nonces for the result.
enum Shown {
    Given(Py<PyAny>),
    Made(FixedSizeBinaryArray),
}

/// Returns the nonces for the result: what was given, or a column of what was read if nobody can read it again.
fn shown(given: &Bound<'_, PyAny>, read: &Values) -> PyResult<Py<PyAny>> {
    // An iterator has no length, and a stream may be read once.
    if given.len().is_ok() && !input::is_stream_alone(given)? {
        return Ok(given.clone().unbind());
    }
    let column = interruptible(given.py(), || Column::copy_of(read))??;
    Ok(Py::new(given.py(), column)?.into_any())
}

/// Associated data of all rows.
enum AssociatedData<'py> {
    None,
    Same(Input<'py>),
    Each(Values),
}

impl<'py> AssociatedData<'py> {
    fn new(object: Option<&'py Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(object) = object else {
            return Ok(Self::None);
        };
        if !input::is_column(object)?
            && let Ok(bytes) = Input::new(object, "associated_data")
        {
            return Ok(Self::Same(bytes));
        }
        Values::new(object, "associated_data").map(Self::Each)
    }

    fn as_ref(&self) -> runs::AssociatedData<'_> {
        match self {
            Self::None => runs::AssociatedData::Same(&[]),
            Self::Same(bytes) => runs::AssociatedData::Same(bytes.bytes()),
            Self::Each(column) => runs::AssociatedData::Each(column),
        }
    }
}

fn keys<'py>(key: &'py Bound<'_, PyAny>, algorithm: Option<&str>) -> PyResult<Keys<'py>> {
    if let Some(session) = session_of(key) {
        return match algorithm {
            None => Ok(Keys::One(session)),
            Some(_) => Err(PyValueError::new_err(
                "algorithm is for a column of keys: this key has its own",
            )),
        };
    }
    let pick: fn(usize) -> Option<Algorithm> = match algorithm {
        Some("AESGCM") => |bytes| match bytes {
            16 => Some(Algorithm::Aes128Gcm),
            24 => Some(Algorithm::Aes192Gcm),
            32 => Some(Algorithm::Aes256Gcm),
            _ => None,
        },
        Some("ChaCha20Poly1305") => |bytes| (bytes == 32).then_some(Algorithm::ChaCha20Poly1305),
        Some(other) => {
            return Err(PyValueError::new_err(format!(
                "algorithm must be AESGCM or ChaCha20Poly1305, not {other:?}"
            )));
        }
        None => {
            return Err(PyValueError::new_err(
                "key must be an AESGCM or ChaCha20Poly1305 object, or a column of keys with algorithm=\"AESGCM\" or \
                 \"ChaCha20Poly1305\"",
            ));
        }
    };
    Ok(Keys::Each(Values::new(key, "key")?, pick))
}

/// The bytes that a sealed value is longer.
const TAG: usize = TAG_BYTES;
