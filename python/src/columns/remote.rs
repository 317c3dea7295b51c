//! Columns by keys that stay on cryptoservers: sent in blocks, each of which the client cuts into requests that are under way at
//! the same time.

use oarlock::{Direction, Error};
use oarlock_net::proto::{Ciphertext, Plaintext};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::ends::Ends;
use super::input::Values;
use super::output::Column;
use super::runs::{AssociatedData, Failures, column, too_large};
use crate::failure::ServerError;
use crate::memory::{owned, zeroed};
use crate::remote::{MESSAGE_BYTES_MAX, OVERHEAD_BYTES, RemoteSecretKey, too_long};
use crate::signals::interruptible;

/// Rows and bytes after which a block is sent: enough that the pause between two of them costs little.
const BLOCK_ROWS: usize = 32 << 10;
const BLOCK_BYTES: usize = 8 << 20;
/// Rows, nulls among them, between two looks at Python's signals.
const LOOKED_ROWS: usize = 1 << 18;

/// The columns of a call.
pub struct RemoteCall<'a> {
    pub key: &'a RemoteSecretKey,
    pub values: &'a Values,
    pub associated_data: AssociatedData<'a>,
}

impl RemoteCall<'_> {
    /// Seals or opens all rows. A signal interrupts it between two blocks, and while it waits for one.
    pub fn process(&self, py: Python<'_>, direction: Direction) -> PyResult<(Column, Failures)> {
        let rows = self.values.rows();
        if let AssociatedData::Each(other) = self.associated_data
            && other.rows() != rows
        {
            return Err(PyValueError::new_err(format!(
                "{} has {} rows, but values has {rows}",
                other.name(),
                other.rows()
            )));
        }
        let no_memory = |_| too_large(self.values);
        let ends = interruptible(py, || Ends::new(self.values, direction, OVERHEAD_BYTES))?;
        let ends = ends.map_err(no_memory)?;
        let mut output = zeroed(ends.total()).map_err(no_memory)?;
        let (mut failures, mut next) = (Failures::new(), 0);
        while next < rows {
            py.check_signals()?;
            let mut block = Block::default();
            let end = rows.min(next.saturating_add(LOOKED_ROWS));
            while next < end && block.rows.len() < BLOCK_ROWS && block.bytes < BLOCK_BYTES {
                self.add(&mut block, next, direction, &mut failures)?;
                next += 1;
            }
            if block.rows.is_empty() {
                continue;
            }
            let items = match direction {
                Direction::Encrypt => self.key.seal_all(py, block.plaintexts)?,
                Direction::Decrypt => self.key.open_all(py, block.ciphertexts)?,
            };
            for (row, item) in block.rows.into_iter().zip(items) {
                let place = &mut output[ends.start(row)..ends.end(row)];
                match item {
                    Ok(made) if made.bytes.len() == place.len() => {
                        place.copy_from_slice(&made.bytes);
                    }
                    Ok(_) => {
                        return Err(ServerError::new_err(format!(
                            "the server sent a result of a wrong length for row {row}"
                        )));
                    }
                    // Items fail for what is in them; whatever else fails, fails the request.
                    Err(_) if direction == Direction::Decrypt => {
                        failures.push((row, Error::AuthenticationFailed));
                    }
                    Err(error) => failures.push((row, Error::InvalidInput(error.message))),
                }
            }
        }
        failures.sort_unstable_by_key(|(row, _)| *row);
        let column = interruptible(py, || column(self.values, output, ends, &failures))?;
        Ok((column?, failures))
    }

    /// Adds a row to a block, unless it is null or too long.
    fn add(
        &self,
        block: &mut Block,
        row: usize,
        direction: Direction,
        failures: &mut Failures,
    ) -> PyResult<()> {
        let Some(value) = self.values.get(row) else {
            return Ok(());
        };
        let aad = match self.associated_data {
            AssociatedData::Same(aad) => aad,
            AssociatedData::Each(column) => column.get(row).unwrap_or_default(),
        };
        let bytes = value.len().saturating_add(aad.len());
        let counted = match direction {
            Direction::Encrypt => bytes,
            Direction::Decrypt => bytes.saturating_sub(OVERHEAD_BYTES),
        };
        if counted > MESSAGE_BYTES_MAX {
            failures.push((row, Error::InvalidInput(too_long(counted))));
            return Ok(());
        }
        let (value, associated_data) = (owned(value)?, owned(aad)?);
        match direction {
            Direction::Encrypt => block.plaintexts.push(Plaintext {
                plaintext: value,
                associated_data,
            }),
            Direction::Decrypt => block.ciphertexts.push(Ciphertext {
                ciphertext: value,
                associated_data,
            }),
        }
        block.rows.push(row);
        block.bytes += bytes;
        Ok(())
    }
}

/// Rows that are sent together.
#[derive(Default)]
struct Block {
    rows: Vec<usize>,
    bytes: usize,
    plaintexts: Vec<Plaintext>,
    ciphertexts: Vec<Ciphertext>,
}
