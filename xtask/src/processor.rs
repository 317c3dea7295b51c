//! The processor of this machine, to which measured tables belong.

use std::path::Path;

use crate::files;
use crate::tool::Result;

/// The processor as /proc/cpuinfo describes it.
pub(crate) struct Cpu {
    pub(crate) vendor: String,
    pub(crate) family: u32,
    pub(crate) model: u32,
}

impl Cpu {
    /// Returns the first and last model of its line: makers number processors that are built alike in groups of sixteen.
    pub(crate) fn models(&self) -> (u32, u32) {
        (self.model & !0xf, self.model | 0xf)
    }

    /// Returns maker, family and models, such as "AuthenticAMD 25 16-31".
    pub(crate) fn line(&self) -> String {
        let (first, last) = self.models();
        format!("{} {} {first}-{last}", self.vendor, self.family)
    }

    /// Whether such a line includes the processor.
    pub(crate) fn is_one_of(&self, line: &str) -> bool {
        let words: Vec<_> = line.split([' ', '-']).collect();
        let [vendor, family, first, last] = words[..] else {
            return false;
        };
        let is = |word: &str, holds: fn(u32, u32) -> bool, number| {
            word.parse().is_ok_and(|word| holds(word, number))
        };
        vendor == self.vendor
            && is(family, |one, other| one == other, self.family)
            && is(first, |first, model| first <= model, self.model)
            && is(last, |last, model| model <= last, self.model)
    }

    pub(crate) fn read() -> Result<Self> {
        let number = |name: &str| {
            let value = field(name)?;
            let wrong = |_| format!("/proc/cpuinfo: {name}: {value:?} is no number");
            value.parse().map_err(wrong)
        };
        Ok(Self {
            vendor: field("vendor_id")?,
            family: number("cpu family")?,
            model: number("model")?,
        })
    }
}

/// Whether the processor has a feature, by the kernel's name of it, such as "avx512f".
pub(crate) fn has_flag(name: &str) -> Result<bool> {
    Ok(field("flags")?.split(' ').any(|flag| flag == name))
}

/// Returns what /proc/cpuinfo says of the first CPU.
fn field(name: &str) -> Result<String> {
    let text = files::read(Path::new("/proc/cpuinfo"))?;
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(found, _)| found.trim() == name)
        .map(|(_, value)| value.trim().to_owned())
        .ok_or_else(|| format!("/proc/cpuinfo: no line {name:?}"))
}
