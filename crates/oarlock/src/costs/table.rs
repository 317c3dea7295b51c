//! The form of the generated tables.

use oarlock_kernels::cpu::Family;

use super::calibration::MachineCosts;
use super::cost::Cost;
use crate::work::algorithm::Algorithm;

/// One of the generated tables.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) vendor: &'static str,
    pub(super) family: u32,
    /// From the first to the last.
    pub(super) models: (u32, u32),
    pub(super) machine: MachineCosts,
    /// By algorithm.
    pub(super) rows: &'static [Row],
}

/// Of a table.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) algorithm: Algorithm,
    pub(super) device: &'static str,
    pub(super) backend: &'static str,
    setup_ns: u64,
    pub(super) megabytes_per_second: u64,
}

/// As the generator writes it.
pub(super) const fn row(
    algorithm: Algorithm,
    device: &'static str,
    backend: &'static str,
    setup_ns: u64,
    megabytes_per_second: u64,
) -> Row {
    Row {
        algorithm,
        device,
        backend,
        setup_ns,
        megabytes_per_second,
    }
}

/// As the generator writes it, rates in megabytes a second.
pub(super) const fn machine(
    handoff_ns: u64,
    wake_ns: u64,
    other_core: u64,
    own_core: u64,
) -> MachineCosts {
    MachineCosts {
        handoff_ns,
        wake_ns,
        other_core_bytes_per_second: other_core * 1_000_000,
        own_core_bytes_per_second: own_core * 1_000_000,
    }
}

impl Table {
    pub(super) fn is_of(&self, cpu: Family) -> bool {
        self.vendor.as_bytes() == cpu.vendor
            && self.family == cpu.family
            && (self.models.0..=self.models.1).contains(&cpu.model)
    }

    pub(super) fn find(&self, algorithm: Algorithm, device: &str, backend: &str) -> Option<Cost> {
        let from = self.rows.partition_point(|row| row.algorithm < algorithm);
        let row = self.rows[from..]
            .iter()
            .take_while(|row| row.algorithm == algorithm)
            .find(|row| (row.device, row.backend) == (device, backend))?;
        Some(Cost::new(
            row.setup_ns,
            row.megabytes_per_second * 1_000_000,
        ))
    }
}
