//! The form of the generated tables.

use super::ratios::{Ratios, SIZES};
use crate::costs::class::CpuClass;
use crate::work::algorithm::Algorithm;

/// A table of one class beside one line of versions.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) class: CpuClass,
    pub(super) version: (u32, u32),
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
