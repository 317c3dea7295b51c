//! The rows of a call in runs, which threads take.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use arrow_array::{BinaryArray, FixedSizeBinaryArray, LargeBinaryArray};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use oarlock::aead::{AcceleratedAead, InOutBuf};
use oarlock::{Algorithm, Direction, Error};
use oarlock_engine::aead::AeadContext;
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;

use super::TAG;
use super::input::Values;
use super::output::Column;
use crate::engine::{accelerator, each};
use crate::failure::exception;

/// Rows of a run: enough that taking one costs nothing, few enough that threads end together.
const RUN_ROWS: usize = 2048;
/// Bytes after which a run ends.
const RUN_BYTES: usize = 256 << 10;
/// What a row costs in addition to its bytes, as the number of bytes that are sealed in the same time.
const ROW_BYTES: usize = 128;
/// Bytes between two looks at Python's signals: some 20 ms.
const BLOCK_BYTES: usize = 64 << 20;

/// The key of each row.
pub enum Keys<'a> {
    One(&'a AcceleratedAead),
    /// With the algorithm for a key's length.
    Each(Values, fn(usize) -> Option<Algorithm>),
}

/// The associated data of each row.
#[derive(Clone, Copy)]
pub enum AssociatedData<'a> {
    Same(&'a [u8]),
    Each(&'a Values),
}

/// The columns of a call.
pub struct Call<'a> {
    pub keys: &'a Keys<'a>,
    pub values: &'a Values,
    pub nonces: &'a Values,
    pub associated_data: AssociatedData<'a>,
}

/// Rows that failed, and why.
pub type Failures = Vec<(usize, Error)>;

/// Rows and the place of their results.
struct Run<'a> {
    rows: Range<usize>,
    output: &'a mut [u8],
}

impl Call<'_> {
    /// Refuses columns of different lengths.
    pub fn check_lengths(&self) -> PyResult<()> {
        let rows = self.values.rows();
        let mut others = vec![self.nonces];
        if let Keys::Each(keys, _) = self.keys {
            others.push(keys);
        }
        if let AssociatedData::Each(column) = self.associated_data {
            others.push(column);
        }
        match others.iter().find(|other| other.rows() != rows) {
            None => Ok(()),
            Some(other) => Err(PyValueError::new_err(format!(
                "{} has {} rows, but values has {rows}",
                other.name(),
                other.rows()
            ))),
        }
    }

    /// Seals or opens all rows.
    pub fn process(&self, py: Python<'_>, direction: Direction) -> PyResult<(Column, Failures)> {
        let width = self.values.width();
        let ends = py.detach(|| self.ends(direction, width));
        let ends = ends.map_err(|_| too_large(self.values.rows()))?;
        let total = ends.last().copied().unwrap_or(0);
        // `vec!` would end the process, and filling a reserved one would write all of it once more.
        let fits = Vec::<u8>::new().try_reserve_exact(total);
        fits.map_err(|_| too_large(self.values.rows()))?;
        let mut output = vec![0; total];

        let failures = Mutex::new(Vec::new());
        let accelerator = accelerator()?;
        for block in runs(&ends, &mut output) {
            let bytes = block.iter().map(Run::cost).sum();
            py.detach(|| {
                each(accelerator, bytes, block, |run| {
                    self.compute(run, &ends, direction, &failures);
                });
            });
            py.check_signals()?;
        }
        let mut failures = failures
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        failures.sort_unstable_by_key(|(row, _)| *row);
        let column = py.detach(|| self.column(output, &ends, width, direction, &failures));
        Ok((column.map_err(|error| exception(&error))?, failures))
    }

    /// Returns where the result of each row ends.
    fn ends(&self, direction: Direction, width: Option<usize>) -> Result<Vec<usize>, ()> {
        let rows = self.values.rows();
        let mut ends = Vec::new();
        ends.try_reserve_exact(rows).map_err(drop)?;
        let result_bytes = |bytes: usize| match direction {
            Direction::Encrypt => bytes.checked_add(TAG).ok_or(()),
            Direction::Decrypt => Ok(bytes.saturating_sub(TAG)),
        };
        let mut end = 0_usize;
        for row in 0..rows {
            let bytes = match width {
                Some(width) => result_bytes(width)?,
                None => self
                    .values
                    .get(row)
                    .map_or(Ok(0), |value| result_bytes(value.len()))?,
            };
            end = end.checked_add(bytes).ok_or(())?;
            ends.push(end);
        }
        Ok(ends)
    }

    fn compute(
        &self,
        run: Run<'_>,
        ends: &[usize],
        direction: Direction,
        failures: &Mutex<Failures>,
    ) {
        let mut context = None;
        let mut rest = run.output;
        let mut begin = run.rows.start.checked_sub(1).map_or(0, |row| ends[row]);
        for row in run.rows {
            let (output, after) = rest.split_at_mut(ends[row] - begin);
            (rest, begin) = (after, ends[row]);
            let Some(value) = self.values.get(row) else {
                continue;
            };
            let done = match direction {
                Direction::Encrypt => self.seal(row, value, output, &mut context),
                Direction::Decrypt => self.open(row, value, output, &mut context),
            };
            if let Err(error) = done {
                output.fill(0);
                let mut failures = failures.lock().unwrap_or_else(PoisonError::into_inner);
                failures.push((row, error));
            }
        }
    }

    #[inline]
    fn seal(
        &self,
        row: usize,
        value: &[u8],
        output: &mut [u8],
        context: &mut Option<AeadContext>,
    ) -> Result<(), Error> {
        let (nonce, aad) = self.nonce_and_aad(row)?;
        let (body, tag) = output.split_at_mut(value.len());
        let data = in_out(value, body)?;
        let made = match self.keys {
            Keys::One(session) => session.seal(nonce, aad, data),
            Keys::Each(keys, algorithm) => {
                keyed(context, keys.get(row), *algorithm)?.seal(nonce, aad, data)
            }
        };
        tag.copy_from_slice(&made?);
        Ok(())
    }

    #[inline]
    fn open(
        &self,
        row: usize,
        value: &[u8],
        output: &mut [u8],
        context: &mut Option<AeadContext>,
    ) -> Result<(), Error> {
        let (nonce, aad) = self.nonce_and_aad(row)?;
        let (body, tag) = value
            .split_last_chunk::<TAG>()
            .ok_or(Error::AuthenticationFailed)?;
        let data = in_out(body, output)?;
        match self.keys {
            Keys::One(session) => session.open(nonce, aad, data, tag),
            Keys::Each(keys, algorithm) => {
                keyed(context, keys.get(row), *algorithm)?.open(nonce, aad, data, tag)
            }
        }
    }

    #[inline]
    fn nonce_and_aad(&self, row: usize) -> Result<(&[u8], &[u8]), Error> {
        let nonce = self.nonces.get(row);
        let nonce = nonce.ok_or_else(|| Error::InvalidInput("the nonce is null".to_owned()))?;
        let aad = match self.associated_data {
            AssociatedData::Same(aad) => aad,
            AssociatedData::Each(column) => column.get(row).unwrap_or(&[]),
        };
        Ok((nonce, aad))
    }

    /// Makes a column of the results: of fixed width if the values were.
    fn column(
        &self,
        output: Vec<u8>,
        ends: &[usize],
        width: Option<usize>,
        direction: Direction,
        failures: &Failures,
    ) -> Result<Column, Error> {
        let rows = ends.len();
        let nulls = self.nulls(failures);
        let failed = |error: arrow_schema::ArrowError| Error::InvalidInput(error.to_string());
        let data = Buffer::from_vec(output);
        if let Some(width) = width {
            let width = match direction {
                Direction::Encrypt => width + TAG,
                Direction::Decrypt => width.saturating_sub(TAG),
            };
            // A width of nothing cannot tell how many rows there are.
            if let (Ok(width @ 1..), true) = (i32::try_from(width), rows > 0) {
                let array = FixedSizeBinaryArray::try_new(width, data, nulls);
                return array.map(Column::new).map_err(failed);
            }
        }
        let total = ends.last().copied().unwrap_or(0);
        if i32::try_from(total).is_ok() {
            let offsets = offsets(ends, |end| end as i32);
            let array = BinaryArray::try_new(offsets, data, nulls);
            array.map(Column::new).map_err(failed)
        } else {
            let offsets = offsets(ends, |end| end as i64);
            let array = LargeBinaryArray::try_new(offsets, data, nulls);
            array.map(Column::new).map_err(failed)
        }
    }

    fn nulls(&self, failures: &Failures) -> Option<NullBuffer> {
        let rows = self.values.rows();
        let has_null = (0..rows).any(|row| self.values.get(row).is_none());
        if !has_null && failures.is_empty() {
            return None;
        }
        let mut valid: Vec<bool> = (0..rows)
            .map(|row| self.values.get(row).is_some())
            .collect();
        for (row, _) in failures {
            valid[*row] = false;
        }
        Some(NullBuffer::from(valid))
    }
}

impl Run<'_> {
    /// Returns what the run costs, in bytes of one long message.
    fn cost(&self) -> usize {
        self.output.len() + self.rows.len() * ROW_BYTES
    }
}

/// Cuts the rows into blocks of runs.
fn runs<'a>(ends: &[usize], output: &'a mut [u8]) -> Vec<Vec<Run<'a>>> {
    let mut blocks = Vec::new();
    let (mut block, mut block_bytes) = (Vec::new(), 0);
    let (mut rest, mut start, mut begin) = (output, 0, 0);
    while start < ends.len() {
        let most = ends.len().min(start + RUN_ROWS);
        let within = ends[start..most].partition_point(|end| end - begin <= RUN_BYTES);
        let end = start + within.max(1);
        let (output, after) = rest.split_at_mut(ends[end - 1] - begin);
        block_bytes += output.len();
        block.push(Run {
            rows: start..end,
            output,
        });
        (rest, begin, start) = (after, ends[end - 1], end);
        if block_bytes >= BLOCK_BYTES {
            blocks.push(std::mem::take(&mut block));
            block_bytes = 0;
        }
    }
    blocks.push(block);
    blocks
}

/// Returns a context with the key of a row.
fn keyed<'a>(
    context: &'a mut Option<AeadContext>,
    key: Option<&[u8]>,
    algorithm: fn(usize) -> Option<Algorithm>,
) -> Result<&'a mut AeadContext, Error> {
    let key = key.ok_or_else(|| Error::InvalidKey("the key is null".to_owned()))?;
    let algorithm = algorithm(key.len()).ok_or_else(|| {
        Error::InvalidKey(format!(
            "the key has {} bytes, which does not fit",
            key.len()
        ))
    })?;
    // A key of another length has another algorithm, which refuses it.
    if let Some(ready) = context.as_mut().filter(|it| it.algorithm() == algorithm) {
        ready.set_key(key)?;
    } else {
        let engine = accelerator().map_err(|_| Error::Cancelled)?;
        AeadContext::put(context, engine.as_ref(), algorithm, key)?;
    }
    context.as_mut().ok_or(Error::Cancelled)
}

fn in_out<'a>(input: &'a [u8], output: &'a mut [u8]) -> Result<InOutBuf<'a, 'a, u8>, Error> {
    InOutBuf::new(input, output).map_err(|_| Error::InvalidInput("lengths differ".to_owned()))
}

fn offsets<T: arrow_array::OffsetSizeTrait>(
    ends: &[usize],
    convert: fn(usize) -> T,
) -> OffsetBuffer<T> {
    let mut offsets = Vec::with_capacity(ends.len() + 1);
    offsets.push(convert(0));
    offsets.extend(ends.iter().map(|end| convert(*end)));
    OffsetBuffer::new(ScalarBuffer::from(offsets))
}

fn too_large(rows: usize) -> PyErr {
    PyMemoryError::new_err(format!("the results of {rows} rows"))
}
