//! The ratios by CPU class, OpenSSL version and family of processors, compiled from `families/`:
//! docs/internals/calibration.md.

use super::table::{Table, row};
use crate::costs::class::CpuClass;
use crate::costs::table::Processors;
use crate::work::algorithm::Algorithm::*;

include!(concat!(env!("OUT_DIR"), "/ratios.rs"));
