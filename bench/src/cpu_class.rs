//! CPU classes, and how a lower one than the machine's own is shown: by hiding features from Oarlock and from its
//! peers alike.

use std::env;
use std::fmt;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use oarlock::Accelerator;
use oarlock_kernels::cpu::Feature;

use crate::error::Error;

/// A kind of CPU, as far as the speed of kernels goes. Each but the first lacks something that those before it have.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[value(rename_all = "UPPER")]
pub enum CpuClass {
    /// AVX-512 with VAES and IFMA
    A,
    /// AVX2 with VAES and VPCLMULQDQ
    B,
    /// AVX2 with AES-NI
    C,
    /// SSE with AES-NI
    D,
    /// AVX2 without AES instructions
    E,
    /// None of these
    F,
}

/// What hides features.
#[derive(Clone, Copy, Debug)]
pub struct Mask {
    /// As `OARLOCK_CPU` takes it.
    pub oarlock: &'static str,
    /// Bits that go from the first two words of `OPENSSL_ia32cap`, which aws-lc reads too: CPUID leaf 1 (EDX, ECX),
    /// leaf 7 (EBX, ECX) (OPENSSL_ia32cap(3)).
    pub openssl: [u64; 2],
}

impl CpuClass {
    /// Every class.
    pub const ALL: [Self; 6] = [Self::A, Self::B, Self::C, Self::D, Self::E, Self::F];

    /// This CPU's, with what `OARLOCK_CPU` leaves of it; `None` if that says something unknown.
    pub fn here() -> Option<Self> {
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

    /// The class that [`show`](Self::show) has put in force, if any.
    pub fn shown() -> Option<Self> {
        let [oarlock, openssl] = VARIABLES.map(|name| env::var(name).ok());
        let (oarlock, openssl) = (oarlock?, openssl?);
        let is_in_force = |class: &Self| {
            class
                .mask()
                .is_some_and(|mask| mask.oarlock == oarlock && mask.for_openssl() == openssl)
        };
        Self::ALL.into_iter().find(is_in_force)
    }

    /// Fails where Oarlock and its peers are not compared as if the CPU were of a lower class, and `peer` goes by what
    /// the CPU says alone.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub fn refuse_shown(peer: &str) -> Result<(), Error> {
        Self::shown().map_or(Ok(()), |class| {
            Err(Error::Unavailable(format!(
                "nothing hides features of the CPU from {peer}, so it has no place in class {class}"
            )))
        })
    }

    /// Goes on as if the CPU were of this class: starts this program anew, since libraries read their masks when they
    /// are loaded. Returns where nothing is left to be done.
    ///
    /// # Errors
    /// [`Error::Usage`] where the CPU has not what the class has.
    pub fn show(self) -> Result<(), Error> {
        let here = Self::here();
        if here == Some(self) && (Self::shown() == Some(self) || self == Self::A) {
            return Ok(());
        }
        let mask = match self.mask() {
            Some(mask) if here.is_some_and(|here| here.has_all_of(self)) => mask,
            _ => {
                let here =
                    here.map_or_else(|| "an unknown one".to_owned(), |here| here.to_string());
                return Err(Error::Usage(format!(
                    "this CPU, with what OARLOCK_CPU leaves of it, is of class {here}, which cannot show class {self}"
                )));
            }
        };
        let program = env::current_exe().map_err(Error::io("this program"))?;
        let mut command = Command::new(program);
        command.args(env::args_os().skip(1));
        mask.set(&mut command);
        Err(Error::io("this program again")(command.exec()))
    }

    /// What makes a machine that has more one of this class; `None` for the class that lacks nothing.
    pub const fn mask(self) -> Option<Mask> {
        const AVX512_ECX: u64 = 0x5842 << 32;
        const AVX512: u64 = 0xD023_0000 | AVX512_ECX;
        const GFNI_VAES_VPCLMUL: u64 = 0x700 << 32;
        const AVX2_BMI_ADX: u64 = 0x8_0128;
        const AVX_FMA: u64 = 1 << 60 | 1 << 44;
        let (oarlock, openssl) = match self {
            Self::A => return None,
            Self::B => ("-avx512", [0, AVX512]),
            Self::C => ("-avx512,-vaes,-gfni", [0, AVX512 | GFNI_VAES_VPCLMUL]),
            Self::D => (
                "-avx2",
                [AVX_FMA, AVX512 | GFNI_VAES_VPCLMUL | AVX2_BMI_ADX],
            ),
            Self::E => ("-avx512,-aes,-gfni", [AES, AVX512 | GFNI_VAES_VPCLMUL]),
            Self::F => (
                "-aes,-avx2",
                [AES | AVX_FMA, AVX512 | GFNI_VAES_VPCLMUL | AVX2_BMI_ADX],
            ),
        };
        Some(Mask { oarlock, openssl })
    }

    /// Whether a CPU of this class can show `other`.
    fn has_all_of(self, other: Self) -> bool {
        let [aes, avx2] = [
            |class| !matches!(class, Self::E | Self::F),
            |class| !matches!(class, Self::D | Self::F),
        ]
        .map(|has: fn(Self) -> bool| has(self) || !has(other));
        other >= self && aes && avx2
    }

    /// As in tables.
    pub const fn letter(self) -> char {
        match self {
            Self::A => 'A',
            Self::B => 'B',
            Self::C => 'C',
            Self::D => 'D',
            Self::E => 'E',
            Self::F => 'F',
        }
    }
}

impl fmt::Display for CpuClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.letter())
    }
}

impl Mask {
    /// Without AES-NI and PCLMULQDQ (CPUID leaf 1), VAES and VPCLMULQDQ (leaf 7). SSSE3 stays, and with it the best
    /// code for CPUs without AES-NI, and SHA-NI: only because leaf 7 is named, for without the colon all of it is
    /// hidden (OPENSSL_cpuid_setup in crypto/cpuid.c), and SHA-256 takes four times as long.
    pub const NO_AES: Self = Self {
        oarlock: "-aes",
        openssl: [AES, 0x600 << 32],
    };

    /// As `OPENSSL_ia32cap` takes it.
    pub fn for_openssl(self) -> String {
        let [first, second] = self.openssl;
        format!("~{first:#x}:~{second:#x}")
    }

    /// Has `command` run under it, and under the mask of the class that is shown.
    pub fn set(self, command: &mut Command) {
        let class = CpuClass::shown().and_then(CpuClass::mask);
        let [oarlock, openssl] = VARIABLES;
        match class {
            Some(class) => {
                let both = Self {
                    oarlock: "",
                    openssl: [0, 1].map(|word| self.openssl[word] | class.openssl[word]),
                };
                command.env(oarlock, format!("{},{}", class.oarlock, self.oarlock));
                command.env(openssl, both.for_openssl());
            }
            None => {
                command.env(oarlock, self.oarlock);
                command.env(openssl, self.for_openssl());
            }
        }
    }
}

/// PCLMULQDQ and AES-NI.
const AES: u64 = 1 << 33 | 1 << 57;
const VARIABLES: [&str; 2] = ["OARLOCK_CPU", "OPENSSL_ia32cap"];

#[cfg(test)]
mod tests {
    use oarlock_kernels::cpu::Cpu;

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

    #[test]
    fn a_class_is_shown_by_those_that_have_all_of_it() {
        for (above, below) in [
            ("A", "ABCDEF"),
            ("B", "BCDEF"),
            ("C", "CDEF"),
            ("D", "DF"),
            ("E", "EF"),
            ("F", "F"),
        ] {
            let above = CpuClass::ALL
                .into_iter()
                .find(|class| above.contains(class.letter()));
            let shown = CpuClass::ALL
                .into_iter()
                .filter(|class| above.unwrap().has_all_of(*class));
            assert_eq!(shown.map(CpuClass::letter).collect::<String>(), below);
        }
    }

    /// On the machine that this runs on.
    #[test]
    fn a_mask_leaves_its_class() {
        let features: Vec<_> = Cpu::detect().features().collect();
        let own = CpuClass::of(&features);
        for class in CpuClass::ALL
            .into_iter()
            .filter(|class| own.has_all_of(*class))
        {
            let Some(mask) = class.mask() else { continue };
            let left: Vec<_> = Cpu::detect()
                .masked(mask.oarlock)
                .unwrap()
                .features()
                .collect();
            assert_eq!(CpuClass::of(&left), class);
        }
    }

    /// By what OpenSSL says that it goes by.
    #[test]
    fn what_is_hidden_and_nothing_else_is_hidden_from_openssl() {
        let words = |mask: Option<Mask>| {
            let mut command = Command::new("openssl");
            command.args(["info", "-cpusettings"]);
            match mask {
                Some(mask) => command.env(VARIABLES[1], mask.for_openssl()),
                None => command.env_remove(VARIABLES[1]),
            };
            let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
            // "OPENSSL_ia32cap=0x7ffef3ff...:0x1c2ffb...", and with a mask " env:" and the mask.
            let values = text.trim().split_once('=').unwrap().1;
            let values = values.split(' ').next().unwrap();
            let mut words = values.split(':');
            [words.next(), words.next()]
                .map(|word| u64::from_str_radix(&word.unwrap()[2..], 16).unwrap())
        };
        let [first, second] = words(None);
        let masks = CpuClass::ALL.into_iter().filter_map(CpuClass::mask);
        for mask in masks.chain([Mask::NO_AES]) {
            let left = [first & !mask.openssl[0], second & !mask.openssl[1]];
            assert_eq!(words(Some(mask)), left, "{mask:?}");
        }
    }
}
