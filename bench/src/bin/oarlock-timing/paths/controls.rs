//! Controls: a path that leaks, and one that has nothing to leak.

use std::hint::black_box;

use super::keyed::TAG_BYTES;
use crate::measure::{Contrast, Path};

/// A comparison with a tag of zeros.
pub struct Control {
    name: &'static str,
    classes: Contrast,
    /// Whether it goes on after the first difference.
    takes_all: bool,
    tag: [u8; TAG_BYTES],
}

/// Goes up to the first difference, as one must not.
pub const LEAKY: Control = Control {
    name: "control that leaks: a comparison that stops early",
    classes: Contrast::FirstAgainstLast,
    takes_all: false,
    tag: [0; TAG_BYTES],
};

/// Over all bytes, with secrets of one kind: what noise alone gives on this machine.
pub const NOISE: Control = Control {
    name: "control of noise: no difference there is",
    classes: Contrast::Same,
    takes_all: true,
    tag: [0; TAG_BYTES],
};

impl Path for Control {
    fn name(&self) -> &str {
        self.name
    }

    fn classes(&self) -> Contrast {
        self.classes
    }

    fn secret_bytes(&self) -> usize {
        TAG_BYTES
    }

    fn prepare(&mut self, secret: &[u8]) {
        self.tag.copy_from_slice(secret);
    }

    fn run(&mut self) {
        // Hidden from the compiler, which might otherwise compare whole words.
        let mut tag = self.tag.iter().map(|byte| *black_box(byte));
        if self.takes_all {
            black_box(tag.fold(0, |all, byte| all | byte));
        } else {
            black_box(tag.all(|byte| byte == 0));
        }
    }
}
