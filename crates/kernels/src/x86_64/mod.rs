//! x86-64: the tokens, and the implementations of the algorithms for each instruction set.

mod chacha20_avx2;
mod chacha20_block;
mod chacha20_registers;
mod chacha20_ssse3;
mod clmul;
mod lanes;

pub(crate) mod aes;
pub(crate) mod aes_keys;
pub(crate) mod batch;
pub(crate) mod cbc;
pub(crate) mod chacha20;
pub(crate) mod doubles;
pub(crate) mod face;
pub(crate) mod gcm;
pub(crate) mod ghash;
pub(crate) mod ifma;
pub(crate) mod line;
pub(crate) mod poly1305;
mod poly1305_avx2;
pub(crate) mod poly1305_chain;
mod poly1305_limbs;
pub(crate) mod random;
pub(crate) mod sha512;
pub(crate) mod tdes;
pub(crate) mod xor;

use crate::cpu::{Cpu, Feature};

/// Proof that the CPU has SSSE3.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ssse3(());

/// Proof that the CPU has AES-NI, PCLMULQDQ and SSE4.1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AesNi(());

/// Proof that the CPU has AVX2 and BMI2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Avx2(());

/// Proof that the CPU has AVX2 and AVX-512 F, BW, VL and IFMA.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Avx512(());

/// Proof that the CPU has AES-NI, VAES, VPCLMULQDQ and AVX2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Vaes256(());

/// Proof that the CPU has AES-NI, VAES, VPCLMULQDQ and AVX-512 F, BW, VL and IFMA.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Vaes512(());

/// Proof that counter-mode caching is allowed, in addition to [`Vaes512`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Face(Vaes512);

/// Proof that the CPU has GFNI and AVX2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gfni256(());

/// Proof that the CPU has GFNI, AVX2 and AVX-512 F, BW, VL and IFMA.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gfni512(());

/// Proof that the CPU has AVX-512 VBMI and GFNI, in addition to [`Avx512`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Permute512(());

/// Proof that the CPU has AVX-512 F, BW, VL and IFMA, and that no mask forbids multiplication in lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ifma(());

/// Proof that the CPU has FMA, AVX2 and BMI2, and that no mask forbids multiplication in lanes with FMA.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fma(());

impl Ssse3 {
    /// Returns the token if `cpu` has the instructions.
    pub fn new(cpu: Cpu) -> Option<Self> {
        cpu.has(Feature::Ssse3).then_some(Self(()))
    }
}

impl AesNi {
    /// Returns the token if `cpu` has the instructions.
    pub fn new(cpu: Cpu) -> Option<Self> {
        cpu.has(Feature::Aes).then_some(Self(()))
    }
}

impl Avx2 {
    /// Returns the token if `cpu` has the instructions.
    pub fn new(cpu: Cpu) -> Option<Self> {
        cpu.has(Feature::Avx2).then_some(Self(()))
    }

    /// Returns the token of SSSE3, which this feature includes.
    pub const fn ssse3(self) -> Ssse3 {
        Ssse3(())
    }
}

impl Avx512 {
    /// Returns the token if `cpu` has the instructions.
    pub fn new(cpu: Cpu) -> Option<Self> {
        cpu.has(Feature::Avx512).then_some(Self(()))
    }
}

impl Vaes256 {
    /// Returns the token if `cpu` has the instructions.
    pub fn new(cpu: Cpu) -> Option<Self> {
        cpu.has(Feature::Vaes).then_some(Self(()))
    }

    /// Returns the token of AES-NI, which this feature includes.
    pub const fn aes_ni(self) -> AesNi {
        AesNi(())
    }
}

impl Vaes512 {
    /// Returns the token if `cpu` has the instructions.
    pub fn new(cpu: Cpu) -> Option<Self> {
        (cpu.has(Feature::Vaes) && cpu.has(Feature::Avx512)).then_some(Self(()))
    }

    /// Returns the token of AES-NI, which this feature includes.
    pub(crate) const fn aes_ni(self) -> AesNi {
        AesNi(())
    }
}

impl Gfni256 {
    /// Returns the token if `cpu` has the instructions.
    pub fn new(cpu: Cpu) -> Option<Self> {
        cpu.has(Feature::Gfni).then_some(Self(()))
    }
}

impl Gfni512 {
    /// Returns the token if `cpu` has the instructions.
    pub fn new(cpu: Cpu) -> Option<Self> {
        (cpu.has(Feature::Gfni) && cpu.has(Feature::Avx512)).then_some(Self(()))
    }

    /// Returns the token of the 256-bit instructions, which this feature includes.
    pub const fn gfni256(self) -> Gfni256 {
        Gfni256(())
    }
}

impl Face {
    /// Returns the token if `cpu` has the instructions and no mask forbids the cache.
    pub fn new(cpu: Cpu) -> Option<Self> {
        cpu.has(Feature::Face).then_some(Self(Vaes512(())))
    }

    /// Returns the token of the instructions that the cache uses.
    pub const fn vaes512(self) -> Vaes512 {
        self.0
    }
}

/// Proof that the CPU has SHA-NI and SSE4.1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShaNi(());

impl ShaNi {
    /// Returns the token if `cpu` has the instructions.
    pub fn new(cpu: Cpu) -> Option<Self> {
        cpu.has(Feature::Sha).then_some(Self(()))
    }
}

impl Permute512 {
    /// Returns the token if `cpu` has the instructions.
    pub fn new(cpu: Cpu) -> Option<Self> {
        (cpu.has(Feature::Vbmi) && cpu.has(Feature::Gfni)).then_some(Self(()))
    }

    /// Returns the token of AVX-512, which this feature includes.
    pub(crate) const fn avx512(self) -> Avx512 {
        Avx512(())
    }
}

impl Ifma {
    /// Returns the token if `cpu` has the instructions and no mask forbids their use.
    pub fn new(cpu: Cpu) -> Option<Self> {
        cpu.has(Feature::Ifma).then_some(Self(()))
    }
}

impl Fma {
    /// Returns the token if `cpu` has the instructions and no mask forbids their use.
    pub fn new(cpu: Cpu) -> Option<Self> {
        cpu.has(Feature::Fma).then_some(Self(()))
    }
}
