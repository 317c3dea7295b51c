//! Which implementation computes a single request, by the width of the modulus.

use oarlock_engine::learn::Faster;

/// The faster of the default provider (first) and the library, in steps of 512 bits up to 4096.
#[derive(Default)]
pub(crate) struct FasterAlone([Faster; WIDTHS]);

const WIDTHS: usize = 8;

impl FasterAlone {
    pub(crate) fn of(&self, bits: usize) -> &Faster {
        let width = bits.div_ceil(4096 / WIDTHS).saturating_sub(1);
        &self.0[width.min(WIDTHS - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_do_not_share_what_they_know() {
        let alone = FasterAlone::default();
        for (one, other, is_same) in [(1024, 1025, false), (2047, 2048, true), (3584, 4096, false)]
        {
            assert_eq!(std::ptr::eq(alone.of(one), alone.of(other)), is_same);
        }
        let _ = (alone.of(0), alone.of(16384));
    }
}
