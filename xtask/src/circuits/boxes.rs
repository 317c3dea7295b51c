//! The S-boxes of the standards.

/// A cipher with S-boxes.
pub(super) struct Cipher {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// The standard's number of the first box.
    pub(super) first_number: usize,
    inputs: usize,
    outputs: usize,
    tables: &'static [&'static [u8]],
    /// Returns the table's entry for an input.
    entry: fn(usize) -> usize,
    /// Whether bit 0 of a number comes first instead of last.
    low_first: bool,
    /// The trait of a register.
    pub(super) plane: &'static str,
    /// The generated files with two-operand and three-operand gates.
    pub(super) gates: &'static str,
    pub(super) ternary: &'static str,
}

/// An S-box as bit planes: bit v of a word is the value of that input or output for the box's input v.
pub(super) struct SBox {
    pub(super) inputs: Vec<u64>,
    pub(super) outputs: Vec<u64>,
    /// The bits that are in use.
    pub(super) mask: u64,
}

impl Cipher {
    pub(super) fn boxes(&self) -> usize {
        self.tables.len()
    }

    pub(super) fn s_box(&self, number: usize) -> SBox {
        let table = self.tables[number];
        let bits = |count: usize, value: &dyn Fn(usize) -> usize| {
            let bit = |i| if self.low_first { i } else { count - 1 - i };
            let word = |i| {
                let words = (0..table.len()).map(|v| (value(v) as u64 >> bit(i) & 1) << v);
                words.sum()
            };
            (0..count).map(word).collect()
        };
        SBox {
            inputs: bits(self.inputs, &|v| v),
            outputs: bits(self.outputs, &|v| table[(self.entry)(v)].into()),
            mask: u64::MAX >> (64 - table.len()),
        }
    }
}

pub(super) const CIPHERS: &[Cipher] = &[
    Cipher {
        name: "des",
        title: "DES",
        first_number: 1,
        inputs: 6,
        outputs: 4,
        tables: &DES,
        // The first and the last bit select the row.
        entry: |v| 16 * (v >> 5 << 1 | v & 1) + (v >> 1 & 15),
        low_first: false,
        plane: "Plane",
        gates: "crates/kernels/src/bits/des_gates.rs",
        ternary: "crates/kernels/src/x86_64/tdes/ternary.rs",
    },
    Cipher {
        name: "serpent",
        title: "Serpent",
        first_number: 0,
        inputs: 4,
        outputs: 4,
        tables: &SERPENT,
        entry: |v| v,
        low_first: true,
        plane: "Words",
        gates: "crates/legacy/src/serpent/gates.rs",
        ternary: "crates/legacy/src/serpent/x86_64/ternary.rs",
    },
];

/// FIPS 46-3, appendix 1: four rows of 16.
#[rustfmt::skip]
const DES: [&[u8]; 8] = [
    &[
        14, 4, 13, 1, 2, 15, 11, 8, 3, 10, 6, 12, 5, 9, 0, 7,
        0, 15, 7, 4, 14, 2, 13, 1, 10, 6, 12, 11, 9, 5, 3, 8,
        4, 1, 14, 8, 13, 6, 2, 11, 15, 12, 9, 7, 3, 10, 5, 0,
        15, 12, 8, 2, 4, 9, 1, 7, 5, 11, 3, 14, 10, 0, 6, 13,
    ],
    &[
        15, 1, 8, 14, 6, 11, 3, 4, 9, 7, 2, 13, 12, 0, 5, 10,
        3, 13, 4, 7, 15, 2, 8, 14, 12, 0, 1, 10, 6, 9, 11, 5,
        0, 14, 7, 11, 10, 4, 13, 1, 5, 8, 12, 6, 9, 3, 2, 15,
        13, 8, 10, 1, 3, 15, 4, 2, 11, 6, 7, 12, 0, 5, 14, 9,
    ],
    &[
        10, 0, 9, 14, 6, 3, 15, 5, 1, 13, 12, 7, 11, 4, 2, 8,
        13, 7, 0, 9, 3, 4, 6, 10, 2, 8, 5, 14, 12, 11, 15, 1,
        13, 6, 4, 9, 8, 15, 3, 0, 11, 1, 2, 12, 5, 10, 14, 7,
        1, 10, 13, 0, 6, 9, 8, 7, 4, 15, 14, 3, 11, 5, 2, 12,
    ],
    &[
        7, 13, 14, 3, 0, 6, 9, 10, 1, 2, 8, 5, 11, 12, 4, 15,
        13, 8, 11, 5, 6, 15, 0, 3, 4, 7, 2, 12, 1, 10, 14, 9,
        10, 6, 9, 0, 12, 11, 7, 13, 15, 1, 3, 14, 5, 2, 8, 4,
        3, 15, 0, 6, 10, 1, 13, 8, 9, 4, 5, 11, 12, 7, 2, 14,
    ],
    &[
        2, 12, 4, 1, 7, 10, 11, 6, 8, 5, 3, 15, 13, 0, 14, 9,
        14, 11, 2, 12, 4, 7, 13, 1, 5, 0, 15, 10, 3, 9, 8, 6,
        4, 2, 1, 11, 10, 13, 7, 8, 15, 9, 12, 5, 6, 3, 0, 14,
        11, 8, 12, 7, 1, 14, 2, 13, 6, 15, 0, 9, 10, 4, 5, 3,
    ],
    &[
        12, 1, 10, 15, 9, 2, 6, 8, 0, 13, 3, 4, 14, 7, 5, 11,
        10, 15, 4, 2, 7, 12, 9, 5, 6, 1, 13, 14, 0, 11, 3, 8,
        9, 14, 15, 5, 2, 8, 12, 3, 7, 0, 4, 10, 1, 13, 11, 6,
        4, 3, 2, 12, 9, 5, 15, 10, 11, 14, 1, 7, 6, 0, 8, 13,
    ],
    &[
        4, 11, 2, 14, 15, 0, 8, 13, 3, 12, 9, 7, 5, 10, 6, 1,
        13, 0, 11, 7, 4, 9, 1, 10, 14, 3, 5, 12, 2, 15, 8, 6,
        1, 4, 11, 13, 12, 3, 7, 14, 10, 15, 6, 8, 0, 5, 9, 2,
        6, 11, 13, 8, 1, 4, 10, 7, 9, 5, 0, 15, 14, 2, 3, 12,
    ],
    &[
        13, 2, 8, 4, 6, 15, 11, 1, 10, 9, 3, 14, 5, 0, 12, 7,
        1, 15, 13, 8, 10, 3, 7, 4, 12, 5, 6, 11, 0, 14, 9, 2,
        7, 11, 4, 1, 9, 12, 14, 2, 0, 6, 10, 13, 15, 3, 5, 8,
        2, 1, 14, 7, 4, 10, 8, 13, 15, 12, 9, 0, 3, 5, 6, 11,
    ],
];

/// "Serpent: a proposal for the Advanced Encryption Standard" (Anderson, Biham, Knudsen), appendix A.5.
const SERPENT: [&[u8]; 8] = [
    &[3, 8, 15, 1, 10, 6, 5, 11, 14, 13, 4, 2, 7, 0, 9, 12],
    &[15, 12, 2, 7, 9, 0, 5, 10, 1, 11, 14, 8, 6, 13, 3, 4],
    &[8, 6, 7, 9, 3, 12, 10, 15, 13, 1, 14, 4, 0, 11, 5, 2],
    &[0, 15, 11, 8, 12, 9, 6, 3, 13, 1, 2, 4, 10, 7, 5, 14],
    &[1, 15, 8, 3, 12, 0, 11, 6, 2, 5, 4, 10, 9, 14, 7, 13],
    &[15, 5, 2, 11, 4, 10, 9, 12, 0, 3, 14, 8, 13, 6, 7, 1],
    &[7, 2, 12, 5, 8, 4, 6, 11, 14, 9, 1, 15, 13, 3, 10, 0],
    &[1, 13, 15, 0, 14, 8, 2, 11, 7, 4, 12, 10, 9, 3, 5, 6],
];
