//! Controls: a path that leaks, and one that has nothing to leak.

use std::hint::black_box;

use super::keyed::TAG_BYTES;
use crate::measure::{Classes, Path};

/// Compares with a tag of zeros, byte by byte up to the first difference.
#[derive(Default)]
pub struct StopsEarly([u8; TAG_BYTES]);

impl Path for StopsEarly {
    fn name(&self) -> &str {
        "control that leaks: a comparison that stops early"
    }

    fn classes(&self) -> Classes {
        Classes::FirstAgainstLast
    }

    fn secret_bytes(&self) -> usize {
        TAG_BYTES
    }

    fn prepare(&mut self, secret: &[u8]) {
        self.0.copy_from_slice(secret);
    }

    fn run(&mut self) {
        // Hidden from the compiler, which might otherwise compare whole words.
        black_box(self.0.iter().all(|byte| *black_box(byte) == 0));
    }
}

/// The same over all bytes, with secrets of one kind: what noise alone gives on this machine.
#[derive(Default)]
pub struct ConstantTime([u8; TAG_BYTES]);

impl Path for ConstantTime {
    fn name(&self) -> &str {
        "control of noise: no difference there is"
    }

    fn classes(&self) -> Classes {
        Classes::Same
    }

    fn secret_bytes(&self) -> usize {
        TAG_BYTES
    }

    fn prepare(&mut self, secret: &[u8]) {
        self.0.copy_from_slice(secret);
    }

    fn run(&mut self) {
        let difference = self.0.iter().fold(0, |all, byte| all | *black_box(byte));
        black_box(difference);
    }
}
