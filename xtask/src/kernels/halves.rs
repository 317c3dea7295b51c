//! Poly1305 of two halves, with a chain for each, without a cipher.

use super::assembly::Assembly;
use super::chacha20::{self, FIRST, LEFT, MAC, MAC_FROM, SECOND, STEPS, line, quad, restore, save};
use super::chacha20_ssse3;

/// Returns the names and texts of the files: with `mulx`, and with `mul`.
pub fn files() -> [(&'static str, String); 2] {
    [
        (
            "chacha20_avx2/mac.s",
            text(
                chacha20::ONE,
                chacha20::OTHER,
                chacha20::step,
                chacha20::join,
            ),
        ),
        // Its `join` uses the register of the second half, which has been absorbed by then.
        (
            "chacha20_ssse3/mac.s",
            text(
                chacha20_ssse3::ONE,
                chacha20_ssse3::OTHER,
                chacha20_ssse3::step,
                chacha20_ssse3::join,
            ),
        ),
    ]
}

/// Absorbs the block at an offset from a register into a chain.
type Step = fn(&mut Assembly, &str, usize, [&str; 3]);

/// Generates a function whose halves have `STEPS` times 32 bytes; the second begins with zero, and `join` joins it to the
/// first. The frame is that of ChaCha20.
fn text(one: [&str; 3], other: [&str; 3], step: Step, join: fn(&mut Assembly)) -> String {
    let mut assembly = Assembly::default();
    save(&mut assembly);
    line(&mut assembly, format!("mov {FIRST}, {}", quad(MAC_FROM)));
    for (i, register) in one.into_iter().enumerate() {
        let place = quad(MAC + 8 * i as i32);
        line(&mut assembly, format!("mov {register}, {place}"));
    }
    for register in other {
        line(&mut assembly, format!("xor {register}, {register}"));
    }
    line(&mut assembly, format!("mov {SECOND}, {}", quad(STEPS)));
    line(&mut assembly, format!("mov {}, {SECOND}", quad(LEFT)));
    line(&mut assembly, format!("shl {SECOND}, 5"));
    line(&mut assembly, format!("add {SECOND}, {FIRST}"));
    assembly.label(2);
    for block in 0..2 {
        step(&mut assembly, FIRST, 16 * block, one);
        step(&mut assembly, SECOND, 16 * block, other);
    }
    for pointer in [FIRST, SECOND] {
        line(&mut assembly, format!("add {pointer}, 32"));
    }
    line(&mut assembly, format!("dec {}", quad(LEFT)));
    line(&mut assembly, "jnz 2b");
    join(&mut assembly);
    for (i, register) in one.into_iter().enumerate() {
        let place = quad(MAC + 8 * i as i32);
        line(&mut assembly, format!("mov {place}, {register}"));
    }
    restore(&mut assembly);
    line(&mut assembly, "ret");
    assembly.end_without_vectors()
}
