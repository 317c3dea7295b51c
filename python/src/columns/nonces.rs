//! Nonces of a column: made here, or given and then checked, because two messages under one nonce and key reveal the
//! exclusive or of both, and GCM's authentication key (SP 800-38D, 8).

use std::hash::{BuildHasher as _, Hash, RandomState};
use std::sync::{Mutex, PoisonError};

use arrow_array::FixedSizeBinaryArray;
use arrow_buffer::Buffer;
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;

use super::runs::{Call, Keys};
use crate::engine::{accelerator, each, each_in_blocks};
use crate::memory::{reserved, zeroed};
use crate::random;
use crate::signals::{self, go_on};

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
    each_in_blocks(
        accelerator()?,
        PART_ROWS * NONCE_BYTES,
        bytes.chunks_mut(PART_ROWS * NONCE_BYTES).enumerate(),
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
pub fn check_unique(call: &Call<'_>) -> PyResult<()> {
    let of_row = |row: usize| -> Option<(&[u8], &[u8])> {
        let key = match call.keys {
            Keys::One(_) => &[][..],
            Keys::Each(keys, _) => keys.get(row)?,
        };
        call.values.get(row)?;
        // One of another length is an error of its row alone.
        let nonce = call.nonces.get(row)?;
        (nonce.len() == NONCE_BYTES).then_some((key, nonce))
    };
    let rows = call.values.rows();
    // Most columns of nonces are counters.
    let mut last = None;
    let increases = signals::rows(rows).filter_map(of_row).all(|one| {
        let before = last.replace(one);
        before.is_none_or(|before| before < one)
    });
    if increases {
        return Ok(());
    }
    match first_repeated(rows, of_row)? {
        None => Ok(()),
        Some((first, second)) => Err(PyValueError::new_err(format!(
            "rows {first} and {second} have the same nonce and key"
        ))),
    }
}

/// Returns the first row whose value occurred in a row before, behind the first row with that value. Rows without a value do
/// not count.
///
/// Sorting hashes takes an eighth of the time of sorting values by reference, and keeps no copies of keys. The hash has a
/// secret of its own, so no choice of values makes many of them equal.
fn first_repeated<V: Eq + Hash>(
    rows: usize,
    of_row: impl Fn(usize) -> Option<V> + Sync,
) -> PyResult<Option<(usize, usize)>> {
    let accelerator = accelerator()?;
    let mut hashes = reserved(rows)
        .map_err(|_| PyMemoryError::new_err(format!("a comparison of {rows} nonces")))?;
    // A hash, and below it the row.
    hashes.resize(rows, 0_u128);
    let cost = rows * NONCE_BYTES;
    let hasher = RandomState::new();
    each_in_blocks(
        accelerator,
        PART_ROWS * NONCE_BYTES,
        hashes.chunks_mut(PART_ROWS).enumerate(),
        |(chunk, hashes): (usize, &mut [u128])| {
            for (row, hash) in (chunk * PART_ROWS..).zip(hashes) {
                // A row without a value has a hash of its own.
                let value = of_row(row).ok_or(row);
                *hash = u128::from(hasher.hash_one(value)) << 64 | row as u128;
            }
        },
    );
    let mut parts = vec![&mut hashes[..]];
    while go_on() && parts.len() < accelerator.parallelism() && parts[0].len() > PART_ROWS {
        let halves = Mutex::new(Vec::new());
        each(accelerator, cost, parts, |part| {
            let middle = part.len() / 2;
            part.select_nth_unstable(middle);
            let (low, high) = part.split_at_mut(middle);
            let mut halves = halves.lock().unwrap_or_else(PoisonError::into_inner);
            halves.extend([low, high]);
        });
        parts = halves.into_inner().unwrap_or_else(PoisonError::into_inner);
    }
    if !go_on() {
        return Ok(None);
    }
    each(accelerator, cost, parts, |part| part.sort_unstable());
    let row_of = |hash: &u128| *hash as u64 as usize;
    let groups = hashes.chunk_by(|a, b| a >> 64 == b >> 64);
    let repeated = groups.filter(|group| group.len() > 1).filter_map(|group| {
        (1..group.len()).find_map(|at| {
            let value = of_row(row_of(&group[at]))?;
            let mut before = group[..at].iter().map(row_of);
            let first = before.find(|row| of_row(*row).as_ref() == Some(&value))?;
            Some((first, row_of(&group[at])))
        })
    });
    Ok(repeated.min_by_key(|(_, second)| *second))
}
