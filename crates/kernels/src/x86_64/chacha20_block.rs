//! One ChaCha20 block on the integer units, during the rounds of others in vector registers.
//!
//! Its instructions have the shorter latencies, so its ten double rounds take half as long as theirs. In the other half of
//! the time, the values derived from the block are computed.

use core::arch::asm;

use crate::poly1305::OneTimeKey;
use crate::stitched::{SIGMA, Start};
use crate::wipe::wipe;

/// A block in progress. Copied and not wiped, so that it stays in registers.
#[derive(Clone, Copy)]
pub(super) struct Block {
    words: [u32; 16],
    /// The initial words 4 to 7.
    key: [u32; 4],
}

impl Block {
    #[inline(always)]
    pub(super) fn new(start: Start<'_>) -> Self {
        let (key, row) = start.parts();
        let mut words = [0; 16];
        words[..4].copy_from_slice(&SIGMA);
        words[4..12].copy_from_slice(key);
        for (i, word) in words[12..].iter_mut().enumerate() {
            *word = (row >> (32 * i)) as u32;
        }
        for word in &mut words {
            // SAFETY: the assembly contains no instruction. It hides from compilers that the words are adjacent.
            unsafe {
                asm!(
                    "/* {0:e} */",
                    inout(reg) * word,
                    options(pure, nomem, nostack)
                )
            }
        }
        let (halves, _) = key.as_chunks();
        Self {
            words,
            key: halves[0],
        }
    }

    #[inline(always)]
    pub(super) fn double_round(&mut self) {
        let x = &mut self.words;
        two_quarters(x, [0, 4, 8, 12], [1, 5, 9, 13]);
        two_quarters(x, [2, 6, 10, 14], [3, 7, 11, 15]);
        two_quarters(x, [0, 5, 10, 15], [1, 6, 11, 12]);
        two_quarters(x, [2, 7, 8, 13], [3, 4, 9, 14]);
    }

    /// Returns the one-time key, after ten double rounds of block 0.
    #[inline(always)]
    pub(super) fn one_time_key(&self) -> OneTimeKey {
        let mut bytes = [0; 32];
        let initial = SIGMA.iter().chain(&self.key);
        for ((to, word), initial) in bytes
            .as_chunks_mut()
            .0
            .iter_mut()
            .zip(self.words)
            .zip(initial)
        {
            *to = word.wrapping_add(*initial).to_le_bytes();
        }
        let one_time = OneTimeKey::new(&bytes);
        wipe(&mut bytes);
        one_time
    }
}

/// Two quarter rounds, with alternating instructions. Assembly, because compilers would vectorise them, and the vector units
/// are already busy.
#[inline(always)]
fn two_quarters(x: &mut [u32; 16], [a, b, c, d]: [usize; 4], [e, f, g, h]: [usize; 4]) {
    // SAFETY: these are instructions of every x86-64 CPU, on registers only.
    unsafe {
        asm!(
            "add {a:e}, {b:e}", "add {e:e}, {f:e}",
            "xor {d:e}, {a:e}", "xor {h:e}, {e:e}",
            "rol {d:e}, 16", "rol {h:e}, 16",
            "add {c:e}, {d:e}", "add {g:e}, {h:e}",
            "xor {b:e}, {c:e}", "xor {f:e}, {g:e}",
            "rol {b:e}, 12", "rol {f:e}, 12",
            "add {a:e}, {b:e}", "add {e:e}, {f:e}",
            "xor {d:e}, {a:e}", "xor {h:e}, {e:e}",
            "rol {d:e}, 8", "rol {h:e}, 8",
            "add {c:e}, {d:e}", "add {g:e}, {h:e}",
            "xor {b:e}, {c:e}", "xor {f:e}, {g:e}",
            "rol {b:e}, 7", "rol {f:e}, 7",
            a = inout(reg) x[a], b = inout(reg) x[b], c = inout(reg) x[c], d = inout(reg) x[d],
            e = inout(reg) x[e], f = inout(reg) x[f], g = inout(reg) x[g], h = inout(reg) x[h],
            options(pure, nomem, nostack)
        );
    }
}
