//! The rows of a call in runs, which threads take.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use arrow_array::{BinaryArray, FixedSizeBinaryArray, LargeBinaryArray};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use oarlock::aead::{AcceleratedAead, InOutBuf};
use oarlock::{Algorithm, Direction, Error};
use oarlock_engine::aead::AeadContext;
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;

use super::TAG;
use super::ends::Ends;
use super::input::Values;
use super::nonces::NONCE_BYTES;
use super::output::{Column, validity};
use crate::buffer::Output;
use crate::engine::{accelerator, each};
use crate::failure::OarlockError;
use crate::memory::{TooLarge, zeroed};
use crate::origin::Origin;
use crate::signals::interruptible;

/// The fixed cost of a row, as the number of bytes that are sealed in the same time.
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
    /// The process that began the call.
    pub origin: Origin,
}

/// Rows that failed, and why.
pub type Failures = Vec<(usize, Error)>;

/// The failures of a call under way.
#[derive(Default)]
struct Failed {
    rows: Mutex<Failures>,
    /// There was no memory for one.
    is_full: AtomicBool,
}

impl Failed {
    fn push(&self, row: usize, error: Error) {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        match rows.try_reserve(1) {
            Ok(()) => rows.push((row, error)),
            Err(_) => self.is_full.store(true, Ordering::Relaxed),
        }
    }
}

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
        let ends = self.ends(py, direction)?;
        let mut output = zeroed(ends.total()).map_err(|_| too_large(self.values))?;
        let failures = self.fill(py, direction, &ends, &mut output)?;
        let column = interruptible(py, || column(self.values, output, ends, &failures))?;
        Ok((column?, failures))
    }

    /// Seals or opens all rows into memory of the caller's.
    pub fn process_into(
        &self,
        py: Python<'_>,
        direction: Direction,
        mut out: Output,
    ) -> PyResult<Failures> {
        let start = out.start().addr();
        let range = start..start + out.len();
        if let Some(name) = self.overlapping(&range) {
            return Err(PyValueError::new_err(format!(
                "out overlaps {name}: give memory that no other argument uses"
            )));
        }
        let ends = self.ends(py, direction)?;
        self.fill(py, direction, &ends, out.bytes())
    }

    /// Returns the name of an argument that has memory in a range of addresses.
    fn overlapping(&self, range: &Range<usize>) -> Option<&'static str> {
        let mut columns = vec![self.values, self.nonces];
        if let Keys::Each(keys, _) = self.keys {
            columns.push(keys);
        }
        match self.associated_data {
            AssociatedData::Each(column) => columns.push(column),
            AssociatedData::Same(bytes) => {
                let start = bytes.as_ptr().addr();
                if !bytes.is_empty() && start < range.end && range.start < start + bytes.len() {
                    return Some("associated_data");
                }
            }
        }
        let overlapping = columns.iter().find(|column| column.overlaps(range));
        overlapping.map(|column| column.name())
    }

    fn ends(&self, py: Python<'_>, direction: Direction) -> PyResult<Ends> {
        interruptible(py, || Ends::new(self.values, direction, TAG))?
            .map_err(|_| too_large(self.values))
    }

    /// Seals or opens all rows into memory with room for them.
    fn fill(
        &self,
        py: Python<'_>,
        direction: Direction,
        ends: &Ends,
        output: &mut [u8],
    ) -> PyResult<Failures> {
        let failures = Failed::default();
        let accelerator = accelerator()?;
        for block in runs(ends, output) {
            // An argument's method or a signal handler may have forked: the parent seals other values with these nonces.
            if direction == Direction::Encrypt && !self.origin.is_here() {
                return Err(OarlockError::new_err(
                    "this process was forked during the call, whose nonces are the parent's: call again",
                ));
            }
            let bytes = block.iter().map(Run::cost).sum();
            py.detach(|| {
                each(accelerator, bytes, block, |run| {
                    self.compute(run, ends, direction, &failures);
                });
            });
            py.check_signals()?;
            if failures.is_full.load(Ordering::Relaxed) {
                let rows = self.values.rows();
                return Err(PyMemoryError::new_err(format!("the errors of {rows} rows")));
            }
        }
        let mut failures = failures
            .rows
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        failures.sort_unstable_by_key(|(row, _)| *row);
        Ok(failures)
    }

    fn compute(&self, run: Run<'_>, ends: &Ends, direction: Direction, failures: &Failed) {
        let mut rest = run.output;
        let mut computed = Computed::default();
        for row in run.rows {
            let output;
            (output, rest) = rest.split_at_mut(ends.bytes(row));
            let Some(value) = self.values.get(row) else {
                continue;
            };
            let done = match direction {
                Direction::Encrypt => self.seal(row, value, output, &mut computed),
                Direction::Decrypt => self.open(row, value, output, &mut computed),
            };
            if let Err(error) = done {
                output.fill(0);
                failures.push(row, error);
            }
        }
        if let Keys::One(session) = self.keys {
            session.count_messages(direction, computed.messages, computed.bytes);
        }
    }

    #[inline(always)]
    fn seal(
        &self,
        row: usize,
        value: &[u8],
        output: &mut [u8],
        computed: &mut Computed,
    ) -> Result<(), Error> {
        let (nonce, aad) = self.nonce_and_aad(row)?;
        let (body, tag) = output.split_at_mut(value.len());
        let data = in_out(value, body)?;
        let made = match self.keys {
            Keys::One(session) => match session.keyed(value.len()) {
                Some(key) => computed.count(value, key.seal(nonce, aad, data)),
                None => session.seal(nonce, aad, data),
            },
            Keys::Each(keys, algorithm) => {
                keyed(&mut computed.context, keys.get(row), *algorithm)?.seal(nonce, aad, data)
            }
        };
        tag.copy_from_slice(&made?);
        Ok(())
    }

    #[inline(always)]
    fn open(
        &self,
        row: usize,
        value: &[u8],
        output: &mut [u8],
        computed: &mut Computed,
    ) -> Result<(), Error> {
        let (nonce, aad) = self.nonce_and_aad(row)?;
        let (body, tag) = value
            .split_last_chunk::<TAG>()
            .ok_or(Error::AuthenticationFailed)?;
        let data = in_out(body, output)?;
        match self.keys {
            Keys::One(session) => match session.keyed(body.len()) {
                Some(key) => computed.count(body, key.open_or_zero(nonce, aad, data, tag)),
                None => session.open(nonce, aad, data, tag),
            },
            Keys::Each(keys, algorithm) => {
                keyed(&mut computed.context, keys.get(row), *algorithm)?.open(nonce, aad, data, tag)
            }
        }
    }

    #[inline]
    fn nonce_and_aad(&self, row: usize) -> Result<(&[u8], &[u8]), Error> {
        let nonce = self.nonces.get(row);
        let nonce = nonce.ok_or_else(|| Error::InvalidInput("the nonce is null".to_owned()))?;
        if nonce.len() != NONCE_BYTES {
            return Err(Error::InvalidInput(format!(
                "the nonce has {} bytes, not {NONCE_BYTES}",
                nonce.len()
            )));
        }
        let aad = match self.associated_data {
            AssociatedData::Same(aad) => aad,
            AssociatedData::Each(column) => column.get(row).unwrap_or(&[]),
        };
        Ok((nonce, aad))
    }
}

/// The state of a run: counts, and a context for keys of their own.
#[derive(Default)]
struct Computed {
    messages: usize,
    bytes: usize,
    /// A context for keys of their own.
    context: Option<AeadContext>,
}

impl Computed {
    fn count<T>(&mut self, value: &[u8], result: T) -> T {
        self.messages += 1;
        self.bytes += value.len();
        result
    }
}

impl Run<'_> {
    /// Returns what the run costs, in bytes of one long message.
    fn cost(&self) -> usize {
        self.output.len() + self.rows.len() * ROW_BYTES
    }
}

/// Makes a column of the results of values.
pub fn column(
    values: &Values,
    output: Vec<u8>,
    ends: Ends,
    failures: &Failures,
) -> PyResult<Column> {
    let nulls = nulls(values, failures).map_err(|_| too_large(values))?;
    let data = Buffer::from_vec(output);
    let made = match ends {
        Ends::Fixed { width, .. } => {
            let width = i32::try_from(width).unwrap_or(i32::MAX);
            FixedSizeBinaryArray::try_new(width, data, nulls).map(Column::new)
        }
        Ends::Small(ends) => {
            let offsets = OffsetBuffer::new(ScalarBuffer::from(ends));
            BinaryArray::try_new(offsets, data, nulls).map(Column::new)
        }
        Ends::Large(ends) => {
            let offsets = OffsetBuffer::new(ScalarBuffer::from(ends));
            LargeBinaryArray::try_new(offsets, data, nulls).map(Column::new)
        }
    };
    made.map_err(|error| PyValueError::new_err(error.to_string()))
}

fn nulls(values: &Values, failures: &Failures) -> Result<Option<NullBuffer>, TooLarge> {
    if !values.may_have_nulls() && failures.is_empty() {
        return Ok(None);
    }
    // They are sorted.
    let has_failed = |row| failures.binary_search_by_key(&row, |(row, _)| *row).is_ok();
    let is_valid = |row| values.get(row).is_some() && !has_failed(row);
    validity(values.rows(), is_valid).map(Some)
}

/// Returns the error of results that no memory holds.
pub fn too_large(values: &Values) -> PyErr {
    PyMemoryError::new_err(format!("the results of {} rows", values.rows()))
}

/// Cuts the rows into blocks of runs.
fn runs<'a>(ends: &Ends, output: &'a mut [u8]) -> Vec<Vec<Run<'a>>> {
    let mut blocks = Vec::new();
    let (mut block, mut block_bytes) = (Vec::new(), 0);
    let (mut rest, mut start) = (output, 0);
    while start < ends.rows() {
        let end = ends.run_from(start);
        let output;
        (output, rest) = rest.split_at_mut(ends.end(end - 1) - ends.start(start));
        block_bytes += output.len();
        block.push(Run {
            rows: start..end,
            output,
        });
        start = end;
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
