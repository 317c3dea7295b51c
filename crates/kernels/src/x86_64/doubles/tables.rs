//! What the kernels read: constants, and the initial values of sums.

/// The layout known to `xtask/src/kernels/doubles.rs`.
#[repr(C, align(64))]
pub(super) struct Tables {
    /// 2^52 - 1.
    mask: [u64; 4],
    /// 2^52 as a double.
    low: [u64; 4],
    /// 2^104 as a double.
    high: [u64; 4],
    /// 2^104 + 2^52 as a double.
    both: [u64; 4],
    /// For the five columns of a quotient, and the last of the columns that it makes zero.
    quotient: [u64; 6],
    /// All exceptions masked, rounding towards zero.
    pub(super) mxcsr: [u32; 4],
    /// For the ten columns of a block: rows for products, by their block from 0 on, and by how many of each kind are left;
    /// and the same for squares.
    rows: [[[u64; 16]; BLOCKS_MAX]; 4],
}

pub(super) static TABLES: Tables = Tables {
    mask: [(1 << 52) - 1; 4],
    low: [LOW; 4],
    high: [HIGH; 4],
    both: [HIGH + 1; 4],
    quotient: quotient(),
    mxcsr: [0x7f80, 0, 0, 0],
    rows: rows(),
};

/// Bit patterns of 2^52 and 2^104, which every low and every high half of a product includes.
const LOW: u64 = (1023 + 52) << 52;
const HIGH: u64 = (1023 + 104) << 52;

const BLOCK: usize = super::BLOCK;
const BLOCKS_MAX: usize = 16;

/// Which products of the digits `i` and `j` of two blocks.
#[derive(Clone, Copy)]
enum Products {
    All,
    /// The products of a square whose digits differ, once each.
    Different,
    Squares,
    /// The products of a quotient and the lowest block of the modulus that go to the columns above the lowest block.
    Upper,
}

/// Returns the patterns that `times` times these products include, by column.
const fn brought(products: Products, times: usize) -> [u128; 2 * BLOCK] {
    let mut columns = [0; 2 * BLOCK];
    let mut i = 0;
    while i < BLOCK {
        let mut j = 0;
        while j < BLOCK {
            let (low, high) = match products {
                Products::All => (true, true),
                Products::Different => (i < j, i < j),
                Products::Squares => (i == j, i == j),
                Products::Upper => (i + j >= BLOCK, i + j + 1 >= BLOCK),
            };
            if low {
                columns[i + j] += times as u128 * LOW as u128;
            }
            if high {
                columns[i + j + 1] += times as u128 * HIGH as u128;
            }
            j += 1;
        }
        i += 1;
    }
    columns
}

/// Returns the values that cancel the patterns in the sums of two such columns, of which the second is halved, because it is
/// added after the sums are doubled.
const fn row(parts: &[[u128; 2 * BLOCK]], later: &[[u128; 2 * BLOCK]]) -> [u64; 16] {
    let mut row = [0; 16];
    let mut column = 0;
    while column < 2 * BLOCK {
        let mut sum = 0;
        let mut part = 0;
        while part < parts.len() {
            sum += parts[part][column];
            part += 1;
        }
        let mut after = 0;
        part = 0;
        while part < later.len() {
            after += later[part][column];
            part += 1;
        }
        row[column] = ((sum + after / 2) as u64).wrapping_neg();
        column += 1;
    }
    row
}

const fn rows() -> [[[u64; 16]; BLOCKS_MAX]; 4] {
    use Products::{All, Different, Squares, Upper};
    let mut rows = [[[0; 16]; BLOCKS_MAX]; 4];
    let mut k = 0;
    while k < BLOCKS_MAX {
        rows[0][k] = row(&[brought(All, 2 * k + 1), brought(Upper, 1)], &[]);
        rows[1][k] = row(&[brought(All, 2 * k)], &[]);
        // A block is multiplied by itself in every other column.
        let even = (k + 1) % 2;
        rows[2][k] = row(
            &[brought(All, k.div_ceil(2)), brought(Different, even)],
            &[brought(All, k), brought(Squares, even), brought(Upper, 1)],
        );
        let odd = k % 2;
        rows[3][k] = row(
            &[brought(All, k / 2), brought(Different, odd)],
            &[brought(All, k), brought(Squares, odd)],
        );
        k += 1;
    }
    rows
}

const fn quotient() -> [u64; 6] {
    let mut sums = [0_u64; 6];
    let mut column = 0;
    while column < BLOCK {
        let (low, high) = (column as u64 + 1, column as u64);
        let brought = low.wrapping_mul(LOW).wrapping_add(high.wrapping_mul(HIGH));
        sums[column] = brought.wrapping_neg();
        column += 1;
    }
    // Column 4 of the product, to which the pattern of the digit is added, and the half with which it is rounded.
    let low = (BLOCK as u64 + 1).wrapping_mul(LOW);
    let high = (BLOCK as u64 - 1).wrapping_mul(HIGH);
    sums[5] = low.wrapping_add(high).wrapping_neg().wrapping_add(1 << 51);
    sums
}
