//! Looks up the figures that decisions use: times of algorithms on a device's backend, and of hand-offs between cores.
//!
//! They come from the [`tables`](super::tables), one for each measured family of processors and a generic one for the
//! rest, or from a [`Calibration`] given to the accelerator. Measurements of requests refine them at run time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use oarlock_kernels::cpu::{Cpu, Family, Feature};
use oarlock_kernels::{aes, chacha20, tdes};

use super::calibration::Calibration;
use super::cost::{Cost, Machine, UNKNOWN};
use super::table::Table;
use super::tables;
use crate::work::algorithm::Algorithm;

/// The source of a cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum CostSource {
    /// The table of this family of processors, by name.
    Table(&'static str),
    /// The generic table. If the processor's family has a table without this row, the row is scaled by the rows that
    /// both tables have.
    Generic,
    /// A [`Calibration`] passed to `Builder::calibration`.
    Calibrated,
    /// Measured times of requests to this accelerator.
    Live,
    /// The device's own offer.
    Offered,
}

impl std::fmt::Display for CostSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Table(family) => write!(f, "table {family}"),
            Self::Generic => f.write_str("generic"),
            Self::Calibrated => f.write_str("calibrated"),
            Self::Live => f.write_str("live"),
            Self::Offered => f.write_str("offered"),
        }
    }
}

/// The costs that an accelerator and its devices use. By default those of the current processor.
#[derive(Clone, Debug)]
pub(crate) struct Costs {
    calibration: Option<Arc<Calibration>>,
    /// `None` if the processor's family was not measured.
    table: Option<&'static Table>,
}

impl Default for Costs {
    fn default() -> Self {
        Self {
            calibration: None,
            table: table_of_this_cpu(),
        }
    }
}

impl Costs {
    pub(crate) fn calibrated(calibration: Calibration) -> Self {
        Self {
            calibration: Some(Arc::new(calibration)),
            ..Self::default()
        }
    }

    /// Returns the costs of any processor; `None` for one without identification.
    #[cfg(test)]
    pub(crate) fn of_processor(processor: Option<Family>) -> Self {
        Self {
            calibration: None,
            table: table_of(processor),
        }
    }

    /// Returns the cost of `algorithm` with a backend of one of this library's devices; `None` if the backend lacks it.
    pub(crate) fn of(
        &self,
        algorithm: Algorithm,
        device: &str,
        backend: &str,
    ) -> Option<(Cost, CostSource)> {
        let mut calibrated = self.calibration.iter().flat_map(|it| &it.algorithms);
        let calibrated = calibrated.find(|one| {
            (one.algorithm, &*one.device, &*one.backend) == (algorithm, device, backend)
        });
        if let Some(one) = calibrated {
            let cost = Cost::new(one.setup_ns, one.bytes_per_second);
            return Some((cost, CostSource::Calibrated));
        }
        let generic = &tables::GENERIC;
        let Some(table) = self.table else {
            let cost = generic.find(algorithm, device, backend)?;
            return Some((cost, CostSource::Generic));
        };
        if let Some(cost) = table.find(algorithm, device, backend) {
            return Some((cost, CostSource::Table(table.name)));
        }
        let cost = table.find_by(generic, algorithm, device, backend)?;
        Some((cost, CostSource::Generic))
    }

    pub(crate) fn machine(&self) -> (Machine, CostSource) {
        match (&self.calibration, self.table) {
            (Some(calibration), _) => (calibration.machine.into(), CostSource::Calibrated),
            (None, Some(table)) => (table.machine.into(), CostSource::Table(table.name)),
            (None, None) => (tables::GENERIC.machine.into(), CostSource::Generic),
        }
    }
}

/// Returns the cost of `algorithm` by this library's kernels on one thread.
pub(crate) fn kernel_cost(costs: &Costs, cpu: Cpu, algorithm: Algorithm) -> Cost {
    costs
        .of(algorithm, "cpu", kernel_backend(cpu, algorithm))
        .map_or(UNKNOWN, |(cost, _)| cost)
}

/// Returns the name of the kernel that a session of `algorithm` uses on `cpu`.
pub(crate) fn kernel_backend(cpu: Cpu, algorithm: Algorithm) -> &'static str {
    match algorithm {
        Algorithm::Aes128Ctr | Algorithm::Aes192Ctr | Algorithm::Aes256Ctr
            if cpu.has(Feature::Face) =>
        {
            "vaes-512-face"
        }
        Algorithm::Aes128Ctr
        | Algorithm::Aes192Ctr
        | Algorithm::Aes256Ctr
        | Algorithm::Aes128Gcm
        | Algorithm::Aes192Gcm
        | Algorithm::Aes256Gcm
        | Algorithm::Aes128Cbc
        | Algorithm::Aes192Cbc
        | Algorithm::Aes256Cbc => aes::Backend::preferred(cpu).name(),
        Algorithm::ChaCha20 | Algorithm::ChaCha20Poly1305 => {
            chacha20::Backend::preferred(cpu).name()
        }
        Algorithm::TripleDesCtr => tdes::Backend::preferred(cpu).name(),
        #[cfg(feature = "legacy")]
        _ => algorithm
            .legacy_cipher()
            .map_or(NO_KERNEL, |cipher| cipher.backend(cpu)),
        #[cfg(not(feature = "legacy"))]
        _ => NO_KERNEL,
    }
}

/// The backend name for algorithms without a kernel in this library.
const NO_KERNEL: &str = "rustcrypto";

/// Returns the cost of `algorithm` by aws-lc; `None` for algorithms that it is not used for.
#[cfg(feature = "aws-lc")]
pub(crate) fn software_cost(costs: &Costs, cpu: Cpu, algorithm: Algorithm) -> Option<Cost> {
    match algorithm {
        Algorithm::Aes128Ctr
        | Algorithm::Aes192Ctr
        | Algorithm::Aes256Ctr
        | Algorithm::Aes128Gcm
        | Algorithm::Aes192Gcm
        | Algorithm::Aes256Gcm
        | Algorithm::Aes128Cbc
        | Algorithm::Aes192Cbc
        | Algorithm::Aes256Cbc
        | Algorithm::ChaCha20
        | Algorithm::ChaCha20Poly1305 => {
            let found = costs.of(algorithm, "software", software_backend(cpu));
            Some(found.map_or(UNKNOWN, |(cost, _)| cost))
        }
        _ => None,
    }
}

/// Returns the code path that aws-lc takes. aws-lc sees the real CPU; under a mask this library only expects aws-lc
/// to be as slow as on a CPU without the hidden instructions.
#[cfg(feature = "aws-lc")]
pub(crate) fn software_backend(cpu: Cpu) -> &'static str {
    if !cpu.has(Feature::Avx2) {
        match cpu.has(Feature::Aes) {
            true => "aws-lc-sse",
            false => "aws-lc-sse-no-aes",
        }
    } else if !cpu.has(Feature::Aes) {
        "aws-lc-no-aes"
    } else if cpu.has(Feature::Vaes) && cpu.has(Feature::Avx512) {
        "aws-lc-vaes"
    } else {
        "aws-lc"
    }
}

/// Returns the table of this CPU; `None` if its family was not measured.
fn table_of_this_cpu() -> Option<&'static Table> {
    // The table's number plus one; 0 while unknown. An atomic and not a lock, because a fork may come at any time.
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = match NUMBER.load(Ordering::Relaxed) {
        0 => {
            let number = number_of(Cpu::family()).unwrap_or(tables::FAMILIES.len());
            NUMBER.store(number + 1, Ordering::Relaxed);
            number
        }
        known => known - 1,
    };
    tables::FAMILIES.get(number)
}

/// Returns the table of any processor, without the cache of [`table_of_this_cpu`].
#[cfg(test)]
fn table_of(processor: Option<Family>) -> Option<&'static Table> {
    number_of(processor).map(|number| &tables::FAMILIES[number])
}

fn number_of(processor: Option<Family>) -> Option<usize> {
    let processor = processor?;
    let is_its = |table: &Table| table.processors.include(processor);
    tables::FAMILIES.iter().position(is_its)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    use crate::costs::calibration::{AlgorithmCost, MachineCosts};
    use crate::costs::cost::BYTES_PER_NS_MIN;
    use crate::costs::processors::{self, masked_cpus};
    use crate::costs::table::Row;

    #[test]
    fn every_operation_has_a_cost_on_every_processor_under_every_mask() {
        for (algorithm, backend) in processors::kernels() {
            let generic = tables::GENERIC.find(algorithm, "cpu", backend);
            assert!(generic.is_some(), "{algorithm} by {backend}, generic");
            for (processor, costs) in processors::costs() {
                let it = format!("{algorithm} by {backend} on {processor}");
                let (cost, source) = costs.of(algorithm, "cpu", backend).expect(&it);
                assert!(cost.bytes_per_ns > BYTES_PER_NS_MIN, "{it}: {cost:?}");
                assert!(cost.setup_ns.is_finite() && cost.setup_ns >= 0.0, "{it}");
                assert_ne!(cost, UNKNOWN, "{it}");
                let has_row = |table: &Table| table.find(algorithm, "cpu", backend).is_some();
                let expected = match costs.table {
                    Some(table) if has_row(table) => CostSource::Table(table.name),
                    _ => CostSource::Generic,
                };
                assert_eq!(source, expected, "{it}");
                // A processor without a table or row gets a rate within the measured range.
                let all = tables::FAMILIES.iter();
                let rates = all.filter_map(|table| table.find(algorithm, "cpu", backend));
                let fastest = rates.map(|cost| cost.bytes_per_ns).fold(0.0, f64::max);
                let slowest = tables::GENERIC.find(algorithm, "cpu", backend).unwrap();
                let reach = slowest.bytes_per_ns / 4.0..=4.0 * fastest;
                assert!(reach.contains(&cost.bytes_per_ns), "{it}: {cost:?}");
            }
        }
        for cpu in masked_cpus() {
            for &algorithm in Algorithm::ALL.iter().filter(|one| one.is_built_in()) {
                for (processor, costs) in processors::costs() {
                    let cost = kernel_cost(&costs, cpu, algorithm);
                    assert_ne!(cost, UNKNOWN, "{algorithm} on {processor}, {cpu:?}");
                }
            }
        }
    }

    #[test]
    #[cfg(feature = "aws-lc")]
    fn every_operation_of_aws_lc_has_a_cost_on_every_processor_under_every_mask() {
        for cpu in masked_cpus() {
            for &algorithm in Algorithm::ALL {
                for (processor, costs) in processors::costs() {
                    let it = || format!("{algorithm} on {processor}, {cpu:?}");
                    if let Some(cost) = software_cost(&costs, cpu, algorithm) {
                        assert!(cost.bytes_per_ns > BYTES_PER_NS_MIN, "{}", it());
                        assert_ne!(cost, UNKNOWN, "{}", it());
                    }
                }
            }
        }
    }

    /// A rate clamped to the least one would make all slower rates look equal.
    #[test]
    fn no_cost_is_rounded_up_to_the_least() {
        for table in tables::FAMILIES.iter().chain([&tables::GENERIC]) {
            for row in table.rows {
                let cost = table.find(row.algorithm, row.device, row.backend).unwrap();
                let rate = row.kilobytes_per_second as f64 / 1e6;
                assert!((cost.bytes_per_ns - rate).abs() < rate / 1e6);
                assert!(rate > BYTES_PER_NS_MIN, "{} {row:?}", table.name);
            }
        }
        let slow = |bytes_per_second| Cost::new(0, bytes_per_second).bytes_per_second();
        assert_eq!(
            [slow(1_900_000), slow(1_000_000), slow(400_000), slow(2_000)],
            [1_900_000, 1_000_000, 400_000, 2_000]
        );
    }

    #[test]
    fn a_feature_hidden_is_a_slower_row_on_every_processor() {
        for (processor, costs) in processors::costs() {
            let rate = |cpu| kernel_cost(&costs, cpu, Algorithm::Aes128Ctr).bytes_per_ns;
            assert!(rate(Cpu::detect()) >= rate(Cpu::PORTABLE), "{processor}");
            let (_, source) = costs.of(Algorithm::ChaCha20, "cpu", "portable").unwrap();
            let is_measured = costs.table.is_some();
            assert_eq!(source != CostSource::Generic, is_measured, "{processor}");
        }
    }

    #[test]
    fn this_processor_goes_by_its_own_table_and_every_other_by_its() {
        let name = |costs: &Costs| costs.table.map(|table| table.name);
        let own = Costs::of_processor(Cpu::family());
        assert_eq!(name(&Costs::default()), name(&own));
        assert_eq!(name(&Costs::default()), name(&own), "the second time");
        for (processor, family) in processors::all() {
            let measured = tables::FAMILIES.iter();
            let is_its = |table: &&Table| family.is_some_and(|it| table.processors.include(it));
            let mut measured = measured.filter(is_its);
            let costs = Costs::of_processor(family);
            assert_eq!(
                name(&costs),
                measured.next().map(|table| table.name),
                "{processor}"
            );
            assert!(measured.next().is_none(), "{processor} has two tables");
            let (machine, source) = costs.machine();
            assert_eq!(source == CostSource::Generic, name(&costs).is_none());
            assert!(0.0 < machine.handoff_ns && machine.handoff_ns < machine.wake_ns);
        }
    }

    #[test]
    fn a_calibration_comes_before_the_table_of_every_processor() {
        let one = AlgorithmCost {
            algorithm: Algorithm::Aes128Ctr,
            device: "cpu".into(),
            backend: "portable".into(),
            setup_ns: 7,
            bytes_per_second: 123_456,
        };
        for (processor, costs) in processors::costs() {
            let calibrated = Costs {
                calibration: Some(Arc::new(Calibration {
                    machine: costs.machine().0.into(),
                    algorithms: vec![one.clone()],
                })),
                ..costs.clone()
            };
            let (cost, source) = calibrated.of(one.algorithm, "cpu", "portable").unwrap();
            assert_eq!(source, CostSource::Calibrated, "{processor}");
            assert_eq!(cost.bytes_per_second(), one.bytes_per_second, "{processor}");
            let other = |costs: &Costs| costs.of(Algorithm::ChaCha20, "cpu", "portable");
            assert_eq!(other(&calibrated), other(&costs), "{processor}");
            assert_eq!(calibrated.machine().1, CostSource::Calibrated);
        }
    }

    #[test]
    fn tables_are_sorted_and_positive() {
        for table in tables::FAMILIES.iter().chain([&tables::GENERIC]) {
            let keys: Vec<_> = table
                .rows
                .iter()
                .map(|row| (row.algorithm, row.device, row.backend))
                .collect();
            assert!(!keys.is_empty());
            assert!(keys.is_sorted_by(|a, b| a < b), "{}", table.name);
            assert!(table.rows.iter().all(|row| row.kilobytes_per_second > 0));
            assert!(table.processors.models.0 <= table.processors.models.1);
            let MachineCosts {
                handoff_ns,
                wake_ns,
                other_core_bytes_per_second,
                own_core_bytes_per_second,
            } = table.machine;
            assert!(0 < handoff_ns && handoff_ns < wake_ns, "{}", table.name);
            assert!(other_core_bytes_per_second > 0 && own_core_bytes_per_second > 0);
        }
    }

    #[test]
    fn the_generic_table_is_the_worst_of_all() {
        let all = || tables::FAMILIES.iter();
        let key = |row: &Row| (row.algorithm, row.device, row.backend);
        let measured: BTreeSet<_> = all().flat_map(|table| table.rows).map(key).collect();
        let generic: Vec<_> = tables::GENERIC.rows.iter().map(key).collect();
        assert!(measured.into_iter().eq(generic));
        for row in tables::GENERIC.rows {
            let find = |table: &Table| table.find(row.algorithm, row.device, row.backend);
            let costs = || all().filter_map(find);
            let worst = find(&tables::GENERIC).unwrap();
            let slowest = costs().map(|cost| cost.bytes_per_ns);
            assert_eq!(worst.bytes_per_ns, slowest.fold(f64::MAX, f64::min));
            let longest = costs().map(|cost| cost.setup_ns).fold(0.0, f64::max);
            assert_eq!(worst.setup_ns, longest);
        }
        let figures = |machine: MachineCosts| {
            let rate = (
                machine.other_core_bytes_per_second,
                machine.own_core_bytes_per_second,
            );
            [
                machine.handoff_ns,
                machine.wake_ns,
                u64::MAX - rate.0,
                u64::MAX - rate.1,
            ]
        };
        let worst = |number: usize| all().map(|table| figures(table.machine)[number]).max();
        let generic = figures(tables::GENERIC.machine).map(Some);
        assert_eq!(generic, [0, 1, 2, 3].map(worst));
    }

    #[test]
    fn a_family_is_its_vendor_family_and_models() {
        let of = tables::FAMILIES[0].processors;
        let vendor = of.vendor.as_bytes().try_into().unwrap();
        let cpu = Family {
            vendor,
            family: of.family,
            model: of.models.0,
        };
        assert!(of.include(cpu));
        let model = of.models.1;
        assert!(of.include(Family { model, ..cpu }));
        let model = of.models.1 + 1;
        assert!(!of.include(Family { model, ..cpu }));
        let family = cpu.family + 1;
        assert!(!of.include(Family { family, ..cpu }));
        let vendor = *b"CentaurHauls";
        assert!(!of.include(Family { vendor, ..cpu }));
    }
}
