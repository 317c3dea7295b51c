//! The features of the CPU, and the tokens that prove them.
//!
//! [`Cpu::detect`] is the only source of features and [`Cpu::without`] can only remove some, so a token made from a `Cpu`
//! proves that its instructions exist. *Capable* is not *preferred*: [`Cpu::aes_backends`] lists what can run, best first;
//! callers take the first.

extern crate std;

use core::fmt;
#[cfg(target_arch = "x86_64")]
use core::sync::atomic::{AtomicU32, Ordering};

/// A set of instruction groups for which there are kernels.
///
/// Removing a group removes those that build on it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Cpu(u16);

/// One instruction group that a mask can hide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Feature {
    /// SSSE3: byte shuffles in 128-bit registers. Every other feature builds on it.
    Ssse3,
    /// AES-NI with PCLMULQDQ and SSE4.1: `aesenc` and `pclmulqdq` on 128-bit registers.
    Aes,
    /// AVX2 with BMI2: integers in 256-bit registers, and `mulx`.
    Avx2,
    /// VAES with VPCLMULQDQ: `vaesenc` on 256-bit registers. Needs [`Feature::Aes`] and
    /// [`Feature::Avx2`].
    Vaes,
    /// AVX-512 F, BW, VL and IFMA: 512-bit registers, with VAES also for AES. Needs [`Feature::Avx2`].
    Avx512,
    /// GFNI: arithmetic in GF(2^8) on vectors. Needs [`Feature::Avx2`].
    Gfni,
    /// Not an instruction: allows counter-mode caching (FACE). Needs [`Feature::Vaes`] and
    /// [`Feature::Avx512`].
    Face,
    /// Not an instruction: allows modular exponentiation in eight lanes. Needs [`Feature::Avx512`],
    /// which has IFMA.
    Ifma,
    /// FMA on 256-bit registers: allows modular exponentiation in lanes without IFMA. Needs
    /// [`Feature::Avx2`].
    Fma,
    /// AVX-512 VBMI: byte look-ups in 512-bit registers. Needs [`Feature::Avx512`].
    Vbmi,
    /// SHA-NI with SSE4.1: rounds of SHA-1 and of SHA-256.
    Sha,
    /// Not an instruction: integer units with their own ports and issue, as on AMD's cores, so that work on them takes
    /// almost no time while vectors are busy. On Intel's cores they share ports with the vectors.
    Apart,
}

impl Feature {
    /// Every feature; none builds on a later one.
    pub const ALL: [Self; 12] = [
        Self::Ssse3,
        Self::Aes,
        Self::Avx2,
        Self::Vaes,
        Self::Avx512,
        Self::Gfni,
        Self::Face,
        Self::Ifma,
        Self::Fma,
        Self::Vbmi,
        Self::Sha,
        Self::Apart,
    ];

    /// Returns the name used in masks and listings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ssse3 => "ssse3",
            Self::Aes => "aes",
            Self::Avx2 => "avx2",
            Self::Vaes => "vaes",
            Self::Avx512 => "avx512",
            Self::Gfni => "gfni",
            Self::Face => "face",
            Self::Ifma => "ifma",
            Self::Fma => "fma",
            Self::Vbmi => "vbmi",
            Self::Sha => "sha",
            Self::Apart => "apart",
        }
    }

    const fn bit(self) -> u16 {
        1 << self as u8
    }

    /// Returns the bits of this feature and of all that build on it.
    const fn and_dependents(self) -> u16 {
        let more = match self {
            Self::Ssse3 => u16::MAX,
            Self::Aes => Self::Vaes.bit() | Self::Face.bit(),
            Self::Avx2 => {
                Self::Vaes.bit()
                    | Self::Avx512.bit()
                    | Self::Gfni.bit()
                    | Self::Face.bit()
                    | Self::Ifma.bit()
                    | Self::Fma.bit()
                    | Self::Vbmi.bit()
            }
            Self::Vaes => Self::Face.bit(),
            Self::Avx512 => Self::Face.bit() | Self::Ifma.bit() | Self::Vbmi.bit(),
            Self::Gfni
            | Self::Face
            | Self::Ifma
            | Self::Fma
            | Self::Vbmi
            | Self::Sha
            | Self::Apart => 0,
        };
        self.bit() | more
    }
}

impl Cpu {
    /// A CPU that runs portable code only.
    pub const PORTABLE: Self = Self(0);

    /// Detects the features of the CPU this runs on. The standard library caches the answer.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let there = |feature| match feature {
                Feature::Ssse3 => std::is_x86_feature_detected!("ssse3"),
                Feature::Aes => {
                    std::is_x86_feature_detected!("aes")
                        && std::is_x86_feature_detected!("pclmulqdq")
                        && std::is_x86_feature_detected!("sse4.1")
                }
                Feature::Avx2 => {
                    std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("bmi2")
                }
                Feature::Vaes => {
                    std::is_x86_feature_detected!("vaes")
                        && std::is_x86_feature_detected!("vpclmulqdq")
                }
                Feature::Avx512 => {
                    std::is_x86_feature_detected!("avx512f")
                        && std::is_x86_feature_detected!("avx512bw")
                        && std::is_x86_feature_detected!("avx512vl")
                        && std::is_x86_feature_detected!("avx512ifma")
                }
                Feature::Gfni => std::is_x86_feature_detected!("gfni"),
                Feature::Fma => std::is_x86_feature_detected!("fma"),
                Feature::Vbmi => std::is_x86_feature_detected!("avx512vbmi"),
                Feature::Sha => {
                    std::is_x86_feature_detected!("sha") && std::is_x86_feature_detected!("sse4.1")
                }
                // AMD's CPUs since 2007 have this, and Hygon's; Intel's never did.
                Feature::Apart => std::is_x86_feature_detected!("sse4a"),
                Feature::Face | Feature::Ifma => true,
            };
            Feature::ALL
                .into_iter()
                .filter(|feature| !there(*feature))
                .fold(Self(u16::MAX >> (16 - Feature::ALL.len())), Self::without)
        }
        #[cfg(not(target_arch = "x86_64"))]
        Self::PORTABLE
    }

    /// Returns the same CPU with `feature`, and all that build on it, hidden.
    #[must_use]
    pub const fn without(self, feature: Feature) -> Self {
        Self(self.0 & !feature.and_dependents())
    }

    /// Applies a mask such as `-avx512,-vaes`: a comma-separated list of features to hide.
    ///
    /// # Errors
    /// [`UnknownFeature`] with the first word that is not `-` and a name of [`Feature::ALL`].
    pub fn masked(self, mask: &str) -> Result<Self, UnknownFeature<'_>> {
        mask.split(',')
            .map(str::trim)
            .filter(|word| !word.is_empty())
            .try_fold(self, |cpu, word| {
                Feature::ALL
                    .into_iter()
                    .find(|feature| word.strip_prefix('-') == Some(feature.name()))
                    .map(|feature| cpu.without(feature))
                    .ok_or(UnknownFeature(word))
            })
    }

    /// Whether the CPU has `feature` and it is not hidden.
    pub const fn has(self, feature: Feature) -> bool {
        self.0 & feature.bit() != 0
    }

    /// Returns the features that are present and not hidden, in the order of [`Feature::ALL`].
    pub fn features(self) -> impl Iterator<Item = Feature> {
        Feature::ALL
            .into_iter()
            .filter(move |feature| self.has(*feature))
    }

    /// Returns the processor that this runs on, regardless of any mask; `None` if it is unknown. The first call executes
    /// CPUID, which takes 8 us in a virtual machine.
    pub fn family() -> Option<Family> {
        #[cfg(target_arch = "x86_64")]
        {
            let [signature, words @ ..] = identity();
            let mut vendor = [0; 12];
            for (bytes, word) in vendor.chunks_exact_mut(4).zip(words) {
                bytes.copy_from_slice(&word.to_le_bytes());
            }
            let field = |shift: u32, bits: u32| signature >> shift & ((1 << bits) - 1);
            // Intel SDM vol. 2, CPUID, "Version Information"; AMD's manual says the same.
            let family = match field(8, 4) {
                0xf => 0xf + field(20, 8),
                family => family,
            };
            let model = match field(8, 4) {
                0x6 | 0xf => field(16, 4) << 4 | field(4, 4),
                _ => field(4, 4),
            };
            Some(Family {
                vendor,
                family,
                model,
            })
        }
        #[cfg(not(target_arch = "x86_64"))]
        None
    }
}

/// Returns CPUID's signature of the processor and, in order, the words of its vendor's name.
#[cfg(target_arch = "x86_64")]
fn identity() -> [u32; 4] {
    use core::arch::x86_64::__cpuid;
    // Zero until the first call; no processor has the signature 0. Not a lock: a fork may happen at any point.
    static SIGNATURE: AtomicU32 = AtomicU32::new(0);
    static VENDOR: [AtomicU32; 3] = [const { AtomicU32::new(0) }; 3];
    let signature = SIGNATURE.load(Ordering::Acquire);
    if signature != 0 {
        let [one, two, three] = VENDOR.each_ref().map(|word| word.load(Ordering::Relaxed));
        return [signature, one, two, three];
    }
    let (id, signature) = (__cpuid(0), __cpuid(1).eax);
    let vendor = [id.ebx, id.edx, id.ecx];
    for (place, word) in VENDOR.iter().zip(vendor) {
        place.store(word, Ordering::Relaxed);
    }
    SIGNATURE.store(signature, Ordering::Release);
    let [one, two, three] = vendor;
    [signature, one, two, three]
}

/// A line of processors: CPUID's numbers, with the extended parts added in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Family {
    /// The vendor, such as `AuthenticAMD` or `GenuineIntel`.
    pub vendor: [u8; 12],
    /// The family: 25 is Zen 3 and Zen 4, 6 almost all of Intel's.
    pub family: u32,
    /// The model within the family.
    pub model: u32,
}

/// Whether the CPU has RDRAND. The standard library caches the answer. No mask hides it, since no output depends on it.
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_rdrand() -> bool {
    std::is_x86_feature_detected!("rdrand")
}

impl fmt::Debug for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set()
            .entries(self.features().map(Feature::name))
            .finish()
    }
}

/// A word of a mask that names no feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownFeature<'a>(pub &'a str);

impl fmt::Display for UnknownFeature<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "unknown word {:?} in the CPU mask: expected a comma-separated list of",
            self.0
        )?;
        for feature in Feature::ALL {
            write!(f, " -{}", feature.name())?;
        }
        Ok(())
    }
}

impl core::error::Error for UnknownFeature<'_> {}
