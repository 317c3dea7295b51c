//! CPU classes, and masks that hide CPU features from Oarlock and its peers, so that a machine behaves like one of a
//! lower class.

use std::env;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use oarlock::Accelerator;
use oarlock_engine::costs::CpuClass;

use crate::error::Error;

/// A mask that hides CPU features.
#[derive(Clone, Copy, Debug)]
pub struct Mask {
    /// The value of `OARLOCK_CPU`.
    pub oarlock: &'static str,
    /// The bits to clear in the first two words of `OPENSSL_ia32cap`, which aws-lc reads too: CPUID leaf 1 (EDX, ECX),
    /// leaf 7 (EBX, ECX) (OPENSSL_ia32cap(3)).
    pub openssl: [u64; 2],
}

/// Returns the class of this CPU with the features that `OARLOCK_CPU` leaves; `None` if that variable is invalid.
pub fn here() -> Option<CpuClass> {
    let accelerator = Accelerator::builder().max_threads(0).build().ok()?;
    Some(CpuClass::of(accelerator.cpu()))
}

/// Returns the class that [`show`] has put in force, if any.
pub fn shown() -> Option<CpuClass> {
    let [oarlock, openssl] = VARIABLES.map(|name| env::var(name).ok());
    let (oarlock, openssl) = (oarlock?, openssl?);
    let is_in_force = |class: &CpuClass| {
        mask(*class).is_some_and(|mask| mask.oarlock == oarlock && mask.for_openssl() == openssl)
    };
    MEASURED.into_iter().find(is_in_force)
}

/// Returns the mask of the class in force.
pub fn mask_shown() -> Option<Mask> {
    shown().and_then(mask)
}

/// Returns an error if a lower class is in force and `peer` detects the CPU's features by itself, so that no mask
/// reaches it.
///
/// # Errors
/// [`Error::Unavailable`].
pub fn refuse_shown(peer: &str) -> Result<(), Error> {
    shown().map_or(Ok(()), |class| {
        Err(Error::Unavailable(format!(
            "nothing hides features of the CPU from {peer}, so it has no place in class {class}"
        )))
    })
}

/// Parses the letter of a class.
///
/// # Errors
/// A message with the valid letters.
pub fn parse(letter: &str) -> Result<CpuClass, String> {
    let letter = letter.to_ascii_uppercase();
    let mut classes = MEASURED.into_iter();
    classes
        .find(|class| class.to_string() == letter)
        .ok_or_else(|| "a letter from A to D".to_owned())
}

/// Puts `class` in force by starting this program again, since libraries read their masks when they are loaded. Returns
/// if nothing is left to do.
///
/// # Errors
/// [`Error::Usage`] if the CPU lacks a feature of the class.
pub fn show(class: CpuClass) -> Result<(), Error> {
    let here = here();
    if here == Some(class) && (shown() == Some(class) || class == CpuClass::A) {
        return Ok(());
    }
    let mask = match mask(class) {
        Some(mask) if here.is_some_and(|here| can_show(here, class)) => mask,
        _ => {
            let here = here.map_or_else(|| "an unknown one".to_owned(), |here| here.to_string());
            return Err(Error::Usage(format!(
                "this CPU, with what OARLOCK_CPU leaves of it, is of class {here}, which cannot show class {class}"
            )));
        }
    };
    let program = env::current_exe().map_err(Error::io("this program"))?;
    let mut command = Command::new(program);
    command.args(env::args_os().skip(1));
    mask.set(&mut command);
    Err(Error::io("this program again")(command.exec()))
}

/// Returns the mask that reduces a better machine to `class`; `None` for the class that lacks nothing, and for the one
/// without AES instructions, which is not measured.
const fn mask(class: CpuClass) -> Option<Mask> {
    const AVX512_ECX: u64 = 0x5842 << 32;
    const AVX512: u64 = 0xD023_0000 | AVX512_ECX;
    const GFNI_VAES_VPCLMUL: u64 = 0x700 << 32;
    const AVX2_BMI_ADX: u64 = 0x8_0128;
    const AVX_FMA: u64 = 1 << 60 | 1 << 44;
    const BELOW_AVX2: u64 = AVX512 | GFNI_VAES_VPCLMUL | AVX2_BMI_ADX;
    let (oarlock, openssl) = match class {
        CpuClass::A | CpuClass::E => return None,
        CpuClass::B => ("-avx512", [0, AVX512]),
        CpuClass::C => ("-avx512,-vaes,-gfni", [0, AVX512 | GFNI_VAES_VPCLMUL]),
        CpuClass::D => ("-avx2", [AVX_FMA, BELOW_AVX2]),
    };
    Some(Mask { oarlock, openssl })
}

/// Whether a CPU of class `own` can run as `other`.
fn can_show(own: CpuClass, other: CpuClass) -> bool {
    other >= own && other != CpuClass::E
}

impl Mask {
    /// Returns the value of `OPENSSL_ia32cap`.
    pub fn for_openssl(self) -> String {
        let [first, second] = self.openssl;
        format!("~{first:#x}:~{second:#x}")
    }

    /// Makes `command` run under this mask, in addition to that of the class in force.
    pub fn set(self, command: &mut Command) {
        let class = mask_shown();
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

/// The measured classes.
const MEASURED: [CpuClass; 4] = [CpuClass::A, CpuClass::B, CpuClass::C, CpuClass::D];
const VARIABLES: [&str; 2] = ["OARLOCK_CPU", "OPENSSL_ia32cap"];

#[cfg(test)]
mod tests {
    use oarlock_kernels::cpu::Cpu;

    use super::*;

    #[test]
    fn a_class_is_shown_by_those_that_have_all_of_it() {
        for (above, below) in [
            ("A", "ABCD"),
            ("B", "BCD"),
            ("C", "CD"),
            ("D", "D"),
            ("E", ""),
        ] {
            let above = CpuClass::ALL
                .into_iter()
                .find(|class| above.contains(class.letter()));
            let shown = CpuClass::ALL
                .into_iter()
                .filter(|class| can_show(above.unwrap(), *class));
            assert_eq!(shown.map(CpuClass::letter).collect::<String>(), below);
        }
    }

    /// Tests the masks that the machine of this run supports.
    #[test]
    fn a_mask_leaves_its_class() {
        let own = CpuClass::of(Cpu::detect());
        for class in CpuClass::ALL
            .into_iter()
            .filter(|class| can_show(own, *class))
        {
            let Some(mask) = mask(class) else { continue };
            let left = Cpu::detect().masked(mask.oarlock).unwrap();
            assert_eq!(CpuClass::of(left), class);
        }
    }

    /// Compares the masks with the features that OpenSSL says it uses.
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
            // The output is "OPENSSL_ia32cap=0x7ffef3ff...:0x1c2ffb...", followed by " env:" and the mask if there is
            // one.
            let values = text.trim().split_once('=').unwrap().1;
            let values = values.split(' ').next().unwrap();
            let mut words = values.split(':');
            [words.next(), words.next()]
                .map(|word| u64::from_str_radix(&word.unwrap()[2..], 16).unwrap())
        };
        let [first, second] = words(None);
        let masks = CpuClass::ALL.into_iter().filter_map(mask);
        for mask in masks {
            let left = [first & !mask.openssl[0], second & !mask.openssl[1]];
            assert_eq!(words(Some(mask)), left, "{mask:?}");
        }
    }
}
