//! Nonces of a column: made here, or given and then checked, because two messages under one nonce and key reveal the
//! exclusive or of both, and GCM's authentication key (SP 800-38D, 8).

use arrow_array::FixedSizeBinaryArray;
use arrow_buffer::Buffer;
use oarlock::Error;
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;

use super::runs::{Call, Keys};
use crate::engine::{accelerator, each};
use crate::memory::{reserved, zeroed};
use crate::random;

pub const NONCE_BYTES: usize = 12;
/// Nonces that a thread makes before it takes the next part.
const PART_ROWS: usize = 64 << 10;

/// Returns `rows` different nonces: consecutive 96-bit numbers from a random one. Two columns of a million rows under one key
/// share a nonce with probability 2^-75, which is less than if each nonce were random.
pub fn made(rows: usize) -> PyResult<FixedSizeBinaryArray> {
    let mut start = [0; 16];
    random::fill(&mut start[..NONCE_BYTES])?;
    let start = u128::from_le_bytes(start);
    let mut bytes = zeroed(rows.saturating_mul(NONCE_BYTES))
        .map_err(|_| PyMemoryError::new_err(format!("nonces for {rows} rows")))?;
    let parts: Vec<_> = bytes
        .chunks_mut(PART_ROWS * NONCE_BYTES)
        .enumerate()
        .collect();
    each(
        accelerator()?,
        rows * NONCE_BYTES,
        parts,
        |(part, bytes)| {
            let first = start.wrapping_add((part * PART_ROWS) as u128);
            for (row, nonce) in bytes.chunks_exact_mut(NONCE_BYTES).enumerate() {
                let number = first.wrapping_add(row as u128).to_be_bytes();
                nonce.copy_from_slice(&number[16 - NONCE_BYTES..]);
            }
        },
    );
    FixedSizeBinaryArray::try_new(NONCE_BYTES as i32, Buffer::from_vec(bytes), None)
        .map_err(|error| PyMemoryError::new_err(error.to_string()))
}

/// Refuses a call in which two rows have the same nonce and key.
pub fn check_unique(call: &Call<'_>) -> Result<(), Error> {
    let rows = call.values.rows();
    let of_row = |row: usize| match call.keys {
        Keys::One(_) => (&[][..], call.nonces.get(row).unwrap_or(&[])),
        Keys::Each(keys, _) => (
            keys.get(row).unwrap_or(&[]),
            call.nonces.get(row).unwrap_or(&[]),
        ),
    };
    // Most columns of nonces are counters.
    if (1..rows).all(|row| of_row(row - 1) < of_row(row)) {
        return Ok(());
    }
    let mut used = reserved(rows)
        .map_err(|_| Error::InvalidInput(format!("no memory to compare {rows} nonces")))?;
    let is_used = |row: &usize| {
        let has_key = match call.keys {
            Keys::One(_) => true,
            Keys::Each(keys, _) => keys.get(*row).is_some(),
        };
        has_key && call.values.get(*row).is_some() && call.nonces.get(*row).is_some()
    };
    used.extend((0..rows).filter(is_used));
    used.sort_unstable_by(|a, b| of_row(*a).cmp(&of_row(*b)).then(a.cmp(b)));
    let twice = used
        .windows(2)
        .filter(|pair| of_row(pair[0]) == of_row(pair[1]))
        .min_by_key(|pair| pair[1]);
    match twice {
        None => Ok(()),
        Some(pair) => Err(Error::InvalidInput(format!(
            "rows {} and {} have the same nonce and key",
            pair[0], pair[1]
        ))),
    }
}
