//! `cargo xtask kernels`: writes assembly. The Montgomery kernels are for AVX-512 IFMA and, in [`doubles`], for AVX2 with
//! FMA; ChaCha20 is for AVX2 ([`chacha20`]) and SSSE3 ([`chacha20_ssse3`]), with Poly1305 ([`poly1305`]).
//!
//! Montgomery multiplication: an operand is eight numbers, one in each lane: line `i` (64 bytes) holds digit `i`, of 52
//! bits, of all eight. Bits above 52 in a line are to be ignored, as `vpmadd52` does. Column sums are not carried before the
//! end: 4 x 80 products of less than 2^52 fit in 64 bits.
//!
//! Up to [`UNROLLED_DIGITS`], every width has its own function ([`columns`]); larger widths share one with loops
//! ([`blocks`]).

mod assembly;
mod blocks;
mod chacha20;
mod chacha20_ssse3;
mod columns;
mod doubles;
mod poly1305;

use std::path::Path;

use self::assembly::{Assembly, Place, Selection, Zmm, emit};
use crate::files::{self, Generated};
use crate::tool::Result;

/// Writes the files.
pub fn run(root: &Path) -> Result<()> {
    files::generate(root, &generated())
}

/// Fails unless the files are what this program would write.
pub fn check(root: &Path) -> Result<()> {
    files::compare(root, &generated(), "kernels")
}

fn generated() -> Generated {
    let mut files = ifma_files();
    let doubles = [
        ("multiply.s", doubles::multiply()),
        ("square.s", doubles::square()),
        ("select.s", doubles::select()),
    ];
    let doubles = doubles.map(|(name, text)| (format!("doubles/{name}"), text.end()));
    files.extend(doubles);
    files.extend(chacha20::files().map(|(name, text)| (format!("chacha20_avx2/{name}"), text)));
    let ssse3 = chacha20_ssse3::files();
    files.extend(ssse3.map(|(name, text)| (format!("chacha20_ssse3/{name}"), text)));
    files.extend([
        (
            "chacha20_avx2/mac.s".to_owned(),
            poly1305::mac(poly1305::MULX),
        ),
        (
            "chacha20_ssse3/mac.s".to_owned(),
            poly1305::mac(poly1305::MUL),
        ),
    ]);
    let in_folder = |(name, text)| (format!("{FOLDER}/{name}"), text);
    files.into_iter().map(in_folder).collect()
}

fn ifma_files() -> Vec<(String, String)> {
    let mut files = Vec::new();
    for digits in UNROLLED_DIGITS {
        // This must match `entry_lines` of crates/kernels/src/x86_64/ifma/mod.rs.
        let has_pairs = digits > 10;
        let entry_lines = if has_pairs { 2 * digits } else { digits };
        let mut texts = vec![
            ("multiply", columns::multiply(digits)),
            ("square", columns::square(digits)),
            (
                "square_and_select",
                columns::square_and_select(digits, entry_lines),
            ),
        ];
        if has_pairs {
            texts.push(("multiply_by_pair", columns::multiply_by_pair(digits)));
        }
        for (name, text) in texts {
            files.push((format!("ifma/{name}_{digits}.s"), text.end()));
        }
    }
    for (name, text) in [
        ("multiply", blocks::multiply()),
        ("square", blocks::square()),
        ("square_and_select", blocks::square_and_select()),
        ("select", select()),
    ] {
        files.push((format!("ifma/{name}.s"), text.end()));
    }
    files
}

/// Stores the entry at rsi, whose number is at rdx, to rdi in the lanes whose index at rcx selects it. r8 is the number of
/// digits.
fn select() -> Assembly {
    let mut assembly = Assembly::default();
    let selection = Selection {
        numbers: "rdx",
        table: "rsi",
        to: "rdi",
        stride: "64",
        index: Zmm(0),
        data: [Zmm(1); 2],
    };
    assembly.load(selection.index, Place("rcx", 0).digit(0));
    assembly.select_lanes(selection, 0, 1);
    emit!(assembly; "2:");
    let entry = Place("rsi", 0).digit(0);
    assembly.merge_lanes(Place("rdi", 0), 1, entry, selection.data[0]);
    emit!(assembly; "
        add rsi, 64
        add rdi, 64
        dec r8
        jnz 2b
    ");
    assembly
}

const UNROLLED_DIGITS: [usize; 3] = [10, 15, 20];
const FOLDER: &str = "crates/kernels/src/x86_64";
