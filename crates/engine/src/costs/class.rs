//! CPU classes, by the instructions that decide how fast the kernels are.

use std::fmt;

use oarlock_kernels::cpu::{Cpu, Feature};

/// A class of CPUs for which kernels have similar speed. CPUs of other architectures are of class E.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CpuClass {
    /// AVX-512 with VAES and IFMA.
    A,
    /// AVX2 with VAES and VPCLMULQDQ.
    B,
    /// AVX2 with AES-NI.
    C,
    /// SSE with AES-NI.
    D,
    /// None of these. This library has no fast AES kernel for them, and no table compares it with OpenSSL.
    E,
}

impl CpuClass {
    /// Every class.
    pub const ALL: [Self; 5] = [Self::A, Self::B, Self::C, Self::D, Self::E];

    /// Returns the class of `cpu`, which is lower if a mask hides features.
    pub fn of(cpu: Cpu) -> Self {
        Self::with(|feature| cpu.has(feature))
    }

    fn with(has: impl Fn(Feature) -> bool) -> Self {
        match (has(Feature::Aes), has(Feature::Avx2)) {
            (true, true) if has(Feature::Avx512) && has(Feature::Vaes) => Self::A,
            (true, true) if has(Feature::Vaes) => Self::B,
            (true, true) => Self::C,
            (true, false) => Self::D,
            (false, _) => Self::E,
        }
    }

    /// Returns the letter used in tables.
    pub const fn letter(self) -> char {
        match self {
            Self::A => 'A',
            Self::B => 'B',
            Self::C => 'C',
            Self::D => 'D',
            Self::E => 'E',
        }
    }
}

impl fmt::Display for CpuClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.letter())
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
            (&[], CpuClass::E),
        ] {
            assert_eq!(CpuClass::with(|one| features.contains(&one)), class);
        }
    }
}
