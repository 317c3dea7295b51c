//! Where the result of each row ends. It is known before a row is computed, so threads write to their own parts of one buffer.

use oarlock::Direction;

use super::input::Values;
use crate::memory::{TooLarge, reserved};
use crate::signals;

/// Rows of a run: enough that taking one costs nothing, few enough that threads end together.
const RUN_ROWS: usize = 2048;
/// Bytes after which a run ends.
const RUN_BYTES: usize = 256 << 10;

/// The ends of all rows: Arrow's offsets, which begin with 0, in the smallest type that fits.
pub enum Ends {
    Fixed { rows: usize, width: usize },
    Small(Vec<i32>),
    Large(Vec<i64>),
}

/// An offset of Arrow's. The callers keep values in its range.
trait Offset: Copy {
    fn new(value: usize) -> Self;
    fn get(self) -> usize;
}

impl Offset for i32 {
    fn new(value: usize) -> Self {
        value as Self
    }

    fn get(self) -> usize {
        self as usize
    }
}

impl Offset for i64 {
    fn new(value: usize) -> Self {
        value as Self
    }

    fn get(self) -> usize {
        self as usize
    }
}

/// Returns the length of the result of a value, if a sealed one is longer by `overhead`.
pub fn result_bytes(direction: Direction, bytes: usize, overhead: usize) -> usize {
    match direction {
        Direction::Encrypt => bytes.saturating_add(overhead),
        Direction::Decrypt => bytes.saturating_sub(overhead),
    }
}

impl Ends {
    pub fn new(values: &Values, direction: Direction, overhead: usize) -> Result<Self, TooLarge> {
        let rows = values.rows();
        let result_bytes = |bytes| result_bytes(direction, bytes, overhead);
        if let Some(width) = values.width().map(result_bytes)
            // Arrow's width has 31 bits; and one of nothing cannot tell how many rows there are.
            && i32::try_from(width).is_ok_and(|width| width > 0)
        {
            return Ok(Self::Fixed { rows, width });
        }
        if let (Some(offsets), Direction::Encrypt) = (values.offsets(), direction)
            && let Some(ends) = sealed(offsets, overhead)?
        {
            return Ok(Self::Small(ends));
        }
        let of_row = |row| values.get(row).map_or(0, |value| result_bytes(value.len()));
        match offsets(rows, of_row, i32::MAX as usize)? {
            Some(ends) => Ok(Self::Small(ends)),
            None => offsets(rows, of_row, i64::MAX as usize)?
                .map(Self::Large)
                .ok_or(TooLarge),
        }
    }

    pub fn rows(&self) -> usize {
        match self {
            Self::Fixed { rows, .. } => *rows,
            Self::Small(ends) => ends.len().saturating_sub(1),
            Self::Large(ends) => ends.len().saturating_sub(1),
        }
    }

    /// Returns the bytes of all results.
    pub fn total(&self) -> usize {
        self.start(self.rows())
    }

    /// Returns where a row's result begins.
    pub fn start(&self, row: usize) -> usize {
        match self {
            Self::Fixed { width, .. } => row.saturating_mul(*width),
            Self::Small(ends) => ends.get(row).map_or(0, |end| end.get()),
            Self::Large(ends) => ends.get(row).map_or(0, |end| end.get()),
        }
    }

    /// Returns where a row's result ends.
    pub fn end(&self, row: usize) -> usize {
        self.start(row + 1)
    }

    /// Returns the length of a row's result.
    #[inline]
    pub fn bytes(&self, row: usize) -> usize {
        match self {
            Self::Fixed { width, .. } => *width,
            Self::Small(_) | Self::Large(_) => self.end(row) - self.start(row),
        }
    }

    /// Returns the end of a run that begins with `start`: at least one row.
    pub fn run_from(&self, start: usize) -> usize {
        let most = self.rows().min(start + RUN_ROWS);
        let limit = self.start(start) + RUN_BYTES;
        // The first row that ends beyond the limit.
        let (mut low, mut high) = (start, most);
        while low < high {
            let middle = low.midpoint(high);
            match self.end(middle) <= limit {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low.max(start + 1)
    }
}

/// Returns the offsets of sealed values out of those of the values, or `None` if the last does not fit.
fn sealed(offsets: &[i32], overhead: usize) -> Result<Option<Vec<i32>>, TooLarge> {
    let begin = offsets.first().copied().unwrap_or(0);
    let span = offsets.last().map_or(0, |end| end - begin).get();
    let total = span.saturating_add(overhead.saturating_mul(offsets.len()));
    if i32::try_from(total).is_err() {
        return Ok(None);
    }
    let mut ends = reserved(offsets.len())?;
    let tags = (0_i32..).step_by(overhead);
    ends.extend(
        offsets
            .iter()
            .zip(tags)
            .map(|(end, tags)| end - begin + tags),
    );
    Ok(Some(ends))
}

/// Returns the offsets of rows with these lengths, or `None` if the last is beyond `most`. It is interruptible.
fn offsets<T: Offset>(
    rows: usize,
    of_row: impl Fn(usize) -> usize,
    most: usize,
) -> Result<Option<Vec<T>>, TooLarge> {
    let mut offsets = reserved(rows + 1)?;
    let mut end = 0_usize;
    offsets.push(T::new(0));
    for row in signals::rows(rows) {
        end = end.saturating_add(of_row(row));
        if end > most {
            return Ok(None);
        }
        offsets.push(T::new(end));
    }
    Ok(Some(offsets))
}
