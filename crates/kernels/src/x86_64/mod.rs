//! x86-64: the tokens, and what each instruction set brings to the algorithms.

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

/// Proof that SSSE3 is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ssse3(());

/// Proof that AES-NI, PCLMULQDQ and SSE4.1 are there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AesNi(());

/// Proof that AVX2 and BMI2 are there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Avx2(());

/// Proof that AVX2 and AVX-512 F, BW, VL and IFMA are there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Avx512(());

/// Proof that AES-NI, VAES, VPCLMULQDQ and AVX2 are there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Vaes256(());

/// Proof that AES-NI, VAES, VPCLMULQDQ and AVX-512 F, BW, VL and IFMA are there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Vaes512(());

/// Proof that counter-mode caching is allowed, in addition to [`Vaes512`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Face(Vaes512);

/// Proof that GFNI and AVX2 are there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gfni256(());

/// Proof that GFNI, AVX2 and AVX-512 F, BW, VL and IFMA are there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gfni512(());

/// Proof that AVX-512 VBMI and GFNI are there, in addition to [`Avx512`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Permute512(());

/// Proof that AVX-512 F, BW, VL and IFMA are there, and that no mask forbids multiplication in lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ifma(());

/// Proof that FMA, AVX2 and BMI2 are there, and that no mask forbids multiplication in lanes with FMA.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fma(());

impl Ssse3 {
    /// The token, where `cpu` has the instructions.
    pub fn new(cpu: Cpu) -> Option<Self> {
        cpu.has(Feature::Ssse3).then_some(Self(()))
    }
}

impl AesNi {
    /// The token, where `cpu` has the instructions.
    pub fn new(cpu: Cpu) -> Option<Self> {
        cpu.has(Feature::Aes).then_some(Self(()))
    }
}

impl Avx2 {
    /// The token, where `cpu` has the instructions.
    pub fn new(cpu: Cpu) -> Option<Self> {
        cpu.has(Feature::Avx2).then_some(Self(()))
    }

    /// Features build on each other.
    pub const fn ssse3(self) -> Ssse3 {
        Ssse3(())
    }
}

impl Avx512 {
    /// The token, where `cpu` has the instructions.
    pub fn new(cpu: Cpu) -> Option<Self> {
        cpu.has(Feature::Avx512).then_some(Self(()))
    }
}

impl Vaes256 {
    /// The token, where `cpu` has the instructions.
    pub fn new(cpu: Cpu) -> Option<Self> {
        cpu.has(Feature::Vaes).then_some(Self(()))
    }

    /// Features build on each other.
    pub const fn aes_ni(self) -> AesNi {
        AesNi(())
    }
}

impl Vaes512 {
    /// The token, where `cpu` has the instructions.
    pub fn new(cpu: Cpu) -> Option<Self> {
        (cpu.has(Feature::Vaes) && cpu.has(Feature::Avx512)).then_some(Self(()))
    }

    /// Features build on each other.
    pub(crate) const fn aes_ni(self) -> AesNi {
        AesNi(())
    }
}

impl Gfni256 {
    /// The token, where `cpu` has the instructions.
    pub fn new(cpu: Cpu) -> Option<Self> {
        cpu.has(Feature::Gfni).then_some(Self(()))
    }
}

impl Gfni512 {
    /// The token, where `cpu` has the instructions.
    pub fn new(cpu: Cpu) -> Option<Self> {
        (cpu.has(Feature::Gfni) && cpu.has(Feature::Avx512)).then_some(Self(()))
    }

    /// Features build on each other.
    pub const fn gfni256(self) -> Gfni256 {
        Gfni256(())
    }
}

impl Face {
    /// The token, where `cpu` has the instructions and no mask forbids the cache.
    pub fn new(cpu: Cpu) -> Option<Self> {
        cpu.has(Feature::Face).then_some(Self(Vaes512(())))
    }

    /// The instructions that the cache is built on.
    pub const fn vaes512(self) -> Vaes512 {
        self.0
    }
}

/// Proof that SHA-NI and SSE4.1 are there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShaNi(());

impl ShaNi {
    /// The token, where `cpu` has the instructions.
    pub fn new(cpu: Cpu) -> Option<Self> {
        cpu.has(Feature::Sha).then_some(Self(()))
    }
}

impl Permute512 {
    /// The token, where `cpu` has the instructions.
    pub fn new(cpu: Cpu) -> Option<Self> {
        (cpu.has(Feature::Vbmi) && cpu.has(Feature::Gfni)).then_some(Self(()))
    }

    /// Features build on each other.
    pub(crate) const fn avx512(self) -> Avx512 {
        Avx512(())
    }
}

impl Ifma {
    /// The token, where `cpu` has the instructions and no mask forbids their use.
    pub fn new(cpu: Cpu) -> Option<Self> {
        cpu.has(Feature::Ifma).then_some(Self(()))
    }
}

impl Fma {
    /// The token, where `cpu` has the instructions and no mask forbids their use.
    pub fn new(cpu: Cpu) -> Option<Self> {
        cpu.has(Feature::Fma).then_some(Self(()))
    }
}
