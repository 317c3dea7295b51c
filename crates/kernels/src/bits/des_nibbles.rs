//! DES as look-ups in 16-byte tables (FIPS 46-3), computed at compile time, for `pshufb`.
//!
//! A register belongs to an S-box, and each of its bytes to a block. The six bits of an index lie in a byte: the lowest four
//! are looked up, and the highest two select one of four tables. The result is a byte too, in which the four bits of output
//! lie where the next round's indexes need them, some twice.
//!
//! Then P and E together only exchange bits between registers, at the same place in the byte. An S-box sends bits to six
//! others and gets bits from six, so the 48 bits can be divided into six sets ([`PLACES`]), each of which has one bit from
//! every S-box and one to every S-box. A set is a permutation of the registers. A search found sets that three stages of
//! exchanges between two registers can produce ([`EXCHANGED`]).

use super::des::P;
use super::des_bytes::{S_BOXES, bit_of_half, placed};

/// A byte for each index of four bits, or for each of 16 blocks.
pub(crate) type Row = [u8; 16];

/// A row for each register, in the order of [`BOXES`].
pub(crate) type Rows = [Row; 8];

/// The look-up tables, and the masks of exchanges. Aligned for two registers at once.
#[repr(C, align(32))]
pub(crate) struct Tables {
    /// The outputs, by the highest bit of the index, then the next one.
    pub(crate) substitute: [Rows; 4],
    /// The bits that a register gets from another one in each stage: from the one whose number differs by [`STAGES`].
    pub(crate) exchange: [Rows; 3],
    /// Converts to the state: from the four bits of a half that an S-box shares with no other, from those before and from
    /// those after.
    pub(crate) enter: [Rows; 3],
    /// Converts the lower and the upper four bits of a byte of the state to those four bits: the lower ones of a byte for an
    /// odd S-box, counted from 0.
    pub(crate) leave: [Rows; 2],
    /// Converts the lower and the upper four bits of a byte of [`super::des_bytes::Rounds`] to the state.
    pub(crate) key: [Rows; 2],
}

/// The S-box of each register, counted from 0.
pub(crate) const BOXES: [usize; 8] = [2, 6, 0, 4, 1, 7, 3, 5];

/// The distance between registers that exchange bits, stage by stage.
pub(crate) const STAGES: [usize; 3] = [2, 4, 1];

/// The place in a byte of the bits of each set. Those of a half leave two places free.
const PLACES: [usize; 6] = [0, 1, 2, 3, 6, 7];

/// For each set, whether registers exchange their bits: starting with bit 0, by stage, then by the lower of the two
/// registers.
const EXCHANGED: [u16; 6] = [0xdc0, 0xcef, 0x2f5, 0xf38, 0x79f, 0x25a];

/// Whether registers `low` and `low + STAGES[stage]` exchange their bits of a set.
const fn is_exchanged(set: usize, stage: usize, low: usize) -> bool {
    // The number of lower registers of a pair before this one.
    let apart = STAGES[stage];
    let before = low / (2 * apart) * apart + low % apart;
    EXCHANGED[set] >> (4 * stage + before) & 1 == 1
}

/// Returns the S-box from which register `to` gets the bit of a set.
const fn source(set: usize, to: usize) -> usize {
    let mut register = to;
    let mut stage = 3;
    while stage > 0 {
        stage -= 1;
        if is_exchanged(set, stage, register & !STAGES[stage]) {
            register ^= STAGES[stage];
        }
    }
    BOXES[register]
}

/// Returns the position, in a byte of the state, of bit `i` of the six that E gives an S-box.
const fn place(number: usize, i: usize) -> usize {
    let from = (P[bit_of_half(number, i)] as usize - 1) / 4;
    let mut register = 0;
    while BOXES[register] != number {
        register += 1;
    }
    let mut set = 0;
    while source(set, register) != from {
        set += 1;
    }
    PLACES[set]
}

/// Returns six bits, the first of E lowest, in the form of the state.
const fn in_state(number: usize, bits: usize) -> u8 {
    let mut byte = 0;
    let mut i = 0;
    while i < 6 {
        byte |= (bits >> i & 1) << place(number, i);
        i += 1;
    }
    byte as u8
}

pub(crate) static TABLES: Tables = Tables {
    substitute: substitute(),
    exchange: exchange(),
    enter: enter(),
    leave: leave(),
    key: key(),
};

const fn substitute() -> [Rows; 4] {
    let mut tables = [[[0; 16]; 8]; 4];
    let mut register = 0;
    while register < 8 {
        let number = BOXES[register];
        let mut bits = 0;
        while bits < 64 {
            let row = (bits & 1) << 1 | bits >> 5;
            let column = ((bits as u8 >> 1 & 15).reverse_bits() >> 4) as usize;
            let output = S_BOXES[number][row] >> (60 - 4 * column) & 15;
            let mut byte = 0;
            let mut to = 0;
            while to < 8 {
                let mut i = 0;
                while i < 6 {
                    let from = P[bit_of_half(to, i)] as usize - 1;
                    if from / 4 == number {
                        byte |= ((output >> (3 - from % 4) & 1) as u8) << place(to, i);
                    }
                    i += 1;
                }
                to += 1;
            }
            let index = in_state(number, bits) as usize;
            let table = index >> 7 | (index >> 6 & 1) << 1;
            tables[table][register][index & 15] = byte;
            bits += 1;
        }
        register += 1;
    }
    tables
}

const fn exchange() -> [Rows; 3] {
    let mut masks = [[[0; 16]; 8]; 3];
    let mut stage = 0;
    while stage < 3 {
        let mut register = 0;
        while register < 8 {
            let mut mask = 0;
            let mut set = 0;
            while set < 6 {
                if is_exchanged(set, stage, register & !STAGES[stage]) {
                    mask |= 1 << PLACES[set];
                }
                set += 1;
            }
            masks[stage][register] = [mask; 16];
            register += 1;
        }
        stage += 1;
    }
    masks
}

const fn enter() -> [Rows; 3] {
    let mut tables = [[[0; 16]; 8]; 3];
    let mut register = 0;
    while register < 8 {
        let mut four = 0;
        while four < 16 {
            // A half is counted from the highest bit.
            let reversed = ((four as u8).reverse_bits() >> 4) as usize;
            let bits = [reversed << 1, reversed >> 3, (reversed & 1) << 5];
            let mut i = 0;
            while i < 3 {
                tables[i][register][four] = in_state(BOXES[register], bits[i]);
                i += 1;
            }
            four += 1;
        }
        register += 1;
    }
    tables
}

const fn leave() -> [Rows; 2] {
    let mut tables = [[[0; 16]; 8]; 2];
    let mut register = 0;
    while register < 8 {
        let number = BOXES[register];
        let mut i = 0;
        while i < 32 {
            let state = (i % 16) << (4 * (i / 16));
            let mut four = 0;
            let mut bit = 1;
            while bit < 5 {
                four |= (state >> place(number, bit) & 1) << (4 - bit);
                bit += 1;
            }
            tables[i / 16][register][i % 16] = (four << (4 * (1 - number % 2))) as u8;
            i += 1;
        }
        register += 1;
    }
    tables
}

const fn key() -> [Rows; 2] {
    let mut tables = [[[0; 16]; 8]; 2];
    let mut register = 0;
    while register < 8 {
        let number = BOXES[register];
        let mut bits = 0;
        while bits < 64 {
            let byte = placed(number, bits) as usize & 63;
            let state = in_state(number, bits);
            if byte < 16 {
                tables[0][register][byte] = state;
            }
            if byte.is_multiple_of(16) {
                // The other two bits of a byte do not matter.
                let mut high = byte / 16;
                while high < 16 {
                    tables[1][register][high] = state;
                    high += 4;
                }
            }
            bits += 1;
        }
        register += 1;
    }
    tables
}
