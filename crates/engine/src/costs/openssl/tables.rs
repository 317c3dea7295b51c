//! The ratios by CPU class, OpenSSL version and family of processors, compiled from `families/`.
//! docs/internals/calibration.md describes them.

use super::table::{Table, calls, row};
use crate::costs::class::CpuClass;
use crate::costs::table::Processors;
use crate::work::algorithm::Algorithm::*;
use crate::work::primitive::Primitive::*;

include!(concat!(env!("OUT_DIR"), "/ratios.rs"));
