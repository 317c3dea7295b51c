//! Which CPU classes targets are for.

use oarlock::Accelerator;
use oarlock_kernels::cpu::Feature;

use super::target::Target;

/// A kind of CPU, as far as the speed of kernels goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CpuClass {
    /// AVX-512 with VAES and IFMA.
    A,
    /// AVX2 with VAES.
    B,
    /// AVX2 with AES-NI.
    C,
    /// AES-NI, without AVX2.
    D,
    /// AVX2, without AES instructions.
    E,
    /// Neither.
    F,
}

impl CpuClass {
    #[cfg(test)]
    pub(super) const ALL: [Self; 6] = [Self::A, Self::B, Self::C, Self::D, Self::E, Self::F];

    /// This CPU's, with what `OARLOCK_CPU` leaves of it.
    pub(super) fn here() -> Option<Self> {
        let accelerator = Accelerator::builder().max_threads(0).build().ok()?;
        let features: Vec<_> = accelerator.cpu().features().collect();
        Some(Self::of(&features))
    }

    fn of(features: &[Feature]) -> Self {
        let has = |feature| features.contains(&feature);
        match (has(Feature::Aes), has(Feature::Avx2)) {
            (true, true) if has(Feature::Avx512) && has(Feature::Vaes) => Self::A,
            (true, true) if has(Feature::Vaes) => Self::B,
            (true, true) => Self::C,
            (true, false) => Self::D,
            (false, true) => Self::E,
            (false, false) => Self::F,
        }
    }

    /// As in the table.
    pub(super) fn letter(self) -> char {
        match self {
            Self::A => 'A',
            Self::B => 'B',
            Self::C => 'C',
            Self::D => 'D',
            Self::E => 'E',
            Self::F => 'F',
        }
    }

    /// Whether `target` is promised for such a CPU.
    pub(super) fn is_promised(self, target: &Target) -> bool {
        target.classes.contains(self.letter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_make_a_class() {
        use Feature::{Aes, Avx2, Avx512, Gfni, Vaes};
        for (features, class) in [
            (&[Aes, Avx2, Vaes, Avx512, Gfni][..], CpuClass::A),
            (&[Aes, Avx2, Vaes], CpuClass::B),
            (&[Aes, Avx2], CpuClass::C),
            (&[Aes], CpuClass::D),
            (&[Avx2, Gfni], CpuClass::E),
            (&[], CpuClass::F),
        ] {
            assert_eq!(CpuClass::of(features), class);
        }
    }
}
