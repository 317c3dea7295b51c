//! The form of the tables that the build script writes.

use oarlock_kernels::cpu::Family;

use super::calibration::MachineCosts;
use super::cost::Cost;
use crate::work::algorithm::Algorithm;

/// Processors with the same microarchitecture, by CPUID numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Processors {
    pub(super) vendor: &'static str,
    pub(super) family: u32,
    /// The first and the last model.
    pub(super) models: (u32, u32),
}

impl Processors {
    pub(super) const fn new(vendor: &'static str, family: u32, models: (u32, u32)) -> Self {
        Self {
            vendor,
            family,
            models,
        }
    }

    pub(super) fn include(&self, cpu: Family) -> bool {
        self.vendor.as_bytes() == cpu.vendor
            && self.family == cpu.family
            && (self.models.0..=self.models.1).contains(&cpu.model)
    }
}

/// The costs of a family of processors.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) processors: Processors,
    pub(super) machine: MachineCosts,
    /// Rows, sorted by algorithm.
    pub(super) rows: &'static [Row],
}

/// A row of a table.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) algorithm: Algorithm,
    pub(super) device: &'static str,
    pub(super) backend: &'static str,
    setup_ns: u64,
    pub(super) kilobytes_per_second: u64,
}

impl Row {
    fn cost(&self) -> Cost {
        Cost::new(self.setup_ns, self.kilobytes_per_second * 1_000)
    }
}

/// Creates a row; the build script writes calls of this.
pub(super) const fn row(
    algorithm: Algorithm,
    device: &'static str,
    backend: &'static str,
    setup_ns: u64,
    kilobytes_per_second: u64,
) -> Row {
    Row {
        algorithm,
        device,
        backend,
        setup_ns,
        kilobytes_per_second,
    }
}

/// Creates machine costs with rates in megabytes per second; the build script writes calls of this.
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
    pub(super) fn find(&self, algorithm: Algorithm, device: &str, backend: &str) -> Option<Cost> {
        self.rows_of(algorithm)
            .find(|row| (row.device, row.backend) == (device, backend))
            .map(Row::cost)
    }

    /// Returns a row that this table lacks, scaled from `other` by the ratio of the two families over the algorithm's
    /// rows that both have, so that backends of one family stay comparable. If they share no row, returns that of
    /// `other`.
    pub(super) fn find_by(
        &self,
        other: &Self,
        algorithm: Algorithm,
        device: &str,
        backend: &str,
    ) -> Option<Cost> {
        let cost = other.find(algorithm, device, backend)?;
        let (factors, rows) = self
            .rows_of(algorithm)
            .filter_map(|row| {
                let there = other.find(algorithm, row.device, row.backend)?;
                Some(row.cost().bytes_per_ns / there.bytes_per_ns)
            })
            .fold((0.0, 0), |(sum, rows), one| (sum + one, rows + 1));
        let factor = match rows {
            0 => 1.0,
            _ => factors / f64::from(rows),
        };
        Some(Cost {
            setup_ns: cost.setup_ns / factor,
            bytes_per_ns: cost.bytes_per_ns * factor,
        })
    }

    fn rows_of(&self, algorithm: Algorithm) -> impl Iterator<Item = &Row> {
        let from = self.rows.partition_point(|row| row.algorithm < algorithm);
        let rows = self.rows[from..].iter();
        rows.take_while(move |row| row.algorithm == algorithm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::algorithm::Algorithm::{Aes128Ctr, Aes256Ctr, ChaCha20};

    const fn table(rows: &'static [Row]) -> Table {
        Table {
            name: "",
            processors: Processors::new("", 0, (0, 0)),
            machine: machine(1, 2, 3, 4),
            rows,
        }
    }

    #[test]
    fn a_row_of_another_table_is_as_much_faster_as_those_that_both_have() {
        const FAMILY: Table = table(&[
            row(Aes128Ctr, "cpu", "fast", 10, 3_000_000),
            row(Aes128Ctr, "software", "other", 10, 1_000_000),
            row(Aes256Ctr, "cpu", "only-here", 10, 700_000),
        ]);
        const GENERIC: Table = table(&[
            row(Aes128Ctr, "cpu", "fast", 10, 1_000_000),
            row(Aes128Ctr, "cpu", "slow", 30, 100_000),
            row(Aes128Ctr, "software", "other", 10, 1_000_000),
            row(Aes256Ctr, "cpu", "slow", 30, 100_000),
        ]);
        let find = |algorithm, backend| FAMILY.find_by(&GENERIC, algorithm, "cpu", backend);
        // The ratios are 3 and 1; their mean is 2.
        let slow = find(Aes128Ctr, "slow").unwrap();
        assert!((slow.bytes_per_ns - 0.2).abs() < 1e-9, "{slow:?}");
        assert!((slow.setup_ns - 15.0).abs() < 1e-6, "{slow:?}");
        // The tables share no row.
        assert_eq!(
            find(Aes256Ctr, "slow"),
            GENERIC.find(Aes256Ctr, "cpu", "slow")
        );
        assert_eq!(find(ChaCha20, "slow"), None);
        assert_eq!(find(Aes256Ctr, "only-here"), None);
    }
}
