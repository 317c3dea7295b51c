//! The processor that this machine has: what measured tables belong to.

use std::fmt;

use crate::tool::Result;

/// What /proc/cpuinfo says.
pub(crate) struct Cpu {
    pub(crate) vendor: String,
    pub(crate) family: u32,
    pub(crate) model: u32,
}

impl Cpu {
    /// The first and the last of its line: makers number in sixteens what is built alike.
    pub(crate) fn models(&self) -> (u32, u32) {
        (self.model & !0xf, self.model | 0xf)
    }

    /// Maker, family and models, as in "AuthenticAMD 25 16-31".
    pub(crate) fn line(&self) -> String {
        let (first, last) = self.models();
        format!("{} {} {first}-{last}", self.vendor, self.family)
    }

    pub(crate) fn read() -> Result<Self> {
        let text = std::fs::read_to_string("/proc/cpuinfo")
            .map_err(|error| format!("/proc/cpuinfo: {error}"))?;
        let field = |name: &str| {
            text.lines()
                .filter_map(|line| line.split_once(':'))
                .find(|(found, _)| found.trim() == name)
                .map(|(_, value)| value.trim().to_owned())
                .ok_or_else(|| format!("/proc/cpuinfo: no line {name:?}"))
        };
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

impl fmt::Display for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            vendor,
            family,
            model,
        } = self;
        write!(f, "{vendor} family {family} model {model}")
    }
}
