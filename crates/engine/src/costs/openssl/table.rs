//! The form of the generated tables.

use oarlock_kernels::cpu::Family;

use super::ratios::{Ratios, SIZES_OF_TABLES};
use crate::costs::class::CpuClass;
use crate::work::algorithm::Algorithm;

/// The ratios of one CPU class to one line of OpenSSL versions, measured on one family of processors.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) class: CpuClass,
    pub(super) version: (u32, u32),
    /// Maker, family and models, as CPUID numbers them.
    pub(super) processors: &'static str,
    pub(super) rows: &'static [Row],
}

impl Table {
    pub(super) fn is_of(&self, cpu: Family) -> bool {
        let mut fields = self.processors.split([' ', '-']);
        let vendor = fields.next().unwrap_or_default();
        let mut number = || fields.next().and_then(|text| text.parse::<u32>().ok());
        let (family, first, last) = (number(), number(), number());
        vendor.as_bytes() == cpu.vendor
            && family == Some(cpu.family)
            && first.is_some_and(|first| first <= cpu.model)
            && last.is_some_and(|last| cpu.model <= last)
    }
}

#[derive(Debug)]
pub(super) struct Row {
    pub(super) algorithm: Algorithm,
    pub(super) ratios: Ratios,
}

/// As the generator writes it.
pub(super) const fn row(algorithm: Algorithm, thousandths: [u32; SIZES_OF_TABLES]) -> Row {
    Row {
        algorithm,
        ratios: Ratios::known(thousandths),
    }
}
