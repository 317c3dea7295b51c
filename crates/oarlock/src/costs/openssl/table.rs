//! The form of the generated tables.

use super::ratios::{Ratios, SIZES};
use crate::costs::class::CpuClass;
use crate::work::algorithm::Algorithm;

/// A table of one class beside one line of versions, on one family of processors.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) class: CpuClass,
    pub(super) version: (u32, u32),
    /// Maker, family and models, as CPUID numbers them.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "what the generator tells tables apart by")
    )]
    pub(super) processors: &'static str,
    pub(super) rows: &'static [Row],
}

#[derive(Debug)]
pub(super) struct Row {
    pub(super) algorithm: Algorithm,
    pub(super) ratios: Ratios,
}

/// As the generator writes it.
pub(super) const fn row(algorithm: Algorithm, thousandths: [u32; SIZES.len()]) -> Row {
    Row {
        algorithm,
        ratios: Ratios::known(thousandths),
    }
}
