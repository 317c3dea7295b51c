//! The types of the tables that the build script generates.

use super::ratios::{CallRatios, Ratios, SIZES_OF_TABLES};
use crate::costs::class::CpuClass;
use crate::costs::table::Processors;
use crate::work::algorithm::Algorithm;
use crate::work::primitive::Primitive;

/// The ratios of one CPU class to one line of OpenSSL versions, measured on one family of processors.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) class: CpuClass,
    pub(super) version: (u32, u32),
    pub(super) processors: Processors,
    pub(super) rows: &'static [Row],
    /// The primitives that were measured.
    pub(super) primitives: &'static [(Primitive, CallRatios)],
}

#[derive(Debug)]
pub(super) struct Row {
    pub(super) algorithm: Algorithm,
    pub(super) ratios: Ratios,
}

/// Creates a cipher's row in the form that the build script generates.
pub(super) const fn row(algorithm: Algorithm, thousandths: [u32; SIZES_OF_TABLES]) -> Row {
    Row {
        algorithm,
        ratios: Ratios::known(thousandths),
    }
}

/// Creates a primitive's row in the form that the build script generates.
pub(super) const fn calls(primitive: Primitive, thousandths: &[u32]) -> (Primitive, CallRatios) {
    (primitive, CallRatios::known(thousandths))
}
