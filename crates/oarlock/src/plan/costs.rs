//! What the decisions are made from: times of operations on a device's backend, and of the ways
//! between cores.
//!
//! They come from the [`tables`](super::tables), one for each family of processors that was
//! measured and a generic one for the rest, unless the owner of an accelerator brings a
//! [`Calibration`]. What requests turn out to take moves them on from there.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use oarlock_kernels::cpu::{Cpu, Family, Feature};
use oarlock_kernels::{aes, chacha20};

use super::tables;
use crate::calibration::{Calibration, MachineCosts};
use crate::device::Operation;

/// The time of a request: a part for itself and a part for its bytes, on one thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cost {
    pub(crate) setup_ns: f64,
    pub(crate) bytes_per_ns: f64,
}

impl Cost {
    pub(crate) fn new(setup_ns: u64, bytes_per_second: u64) -> Self {
        Self {
            setup_ns: setup_ns as f64,
            bytes_per_ns: (bytes_per_second as f64 / 1e9).max(BYTES_PER_NS_MIN),
        }
    }

    pub(crate) fn ns(self, bytes: usize) -> f64 {
        self.setup_ns + bytes as f64 / self.bytes_per_ns
    }

    pub(crate) fn bytes_per_second(self) -> u64 {
        (self.bytes_per_ns * 1e9) as u64
    }
}

/// The ways between cores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Machine {
    /// Posting work, the start of a helper that is awake, and the end.
    pub(crate) handoff_ns: f64,
    /// Until a helper that sleeps has started.
    pub(crate) wake_ns: f64,
    /// Keystream that another core has made, XORed onto data.
    pub(crate) other_core_bytes_per_ns: f64,
    /// Keystream that this core has made some time ago.
    pub(crate) own_core_bytes_per_ns: f64,
}

impl From<MachineCosts> for Machine {
    fn from(costs: MachineCosts) -> Self {
        let rate = |bytes_per_second: u64| bytes_per_second as f64 / 1e9;
        Self {
            handoff_ns: costs.handoff_ns as f64,
            wake_ns: costs.wake_ns as f64,
            other_core_bytes_per_ns: rate(costs.other_core_bytes_per_second),
            own_core_bytes_per_ns: rate(costs.own_core_bytes_per_second),
        }
    }
}

impl From<Machine> for MachineCosts {
    fn from(machine: Machine) -> Self {
        let rate = |bytes_per_ns: f64| (bytes_per_ns * 1e9) as u64;
        Self {
            handoff_ns: machine.handoff_ns as u64,
            wake_ns: machine.wake_ns as u64,
            other_core_bytes_per_second: rate(machine.other_core_bytes_per_ns),
            own_core_bytes_per_second: rate(machine.own_core_bytes_per_ns),
        }
    }
}

/// Where a cost comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum CostSource {
    /// The table of this family of processors, by its name.
    Table(&'static str),
    /// The table for processors that have none of their own.
    Generic,
    /// A [`Calibration`] given to [`Builder::calibration`](crate::Builder::calibration).
    Calibrated,
    /// What requests to this accelerator took.
    Live,
    /// What the device offers by itself.
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

/// The costs that an accelerator and its devices go by.
#[derive(Clone, Debug, Default)]
pub(crate) struct Costs(Option<Arc<Calibration>>);

impl Costs {
    pub(crate) fn calibrated(calibration: Calibration) -> Self {
        Self(Some(Arc::new(calibration)))
    }

    /// Of `operation` by this backend of a device of this library; `None` where it has none.
    pub(crate) fn of(
        &self,
        operation: Operation,
        device: &str,
        backend: &str,
    ) -> Option<(Cost, CostSource)> {
        let calibrated = self.0.iter().flat_map(|it| &it.operations).find(|one| {
            (one.operation, &*one.device, &*one.backend) == (operation, device, backend)
        });
        if let Some(one) = calibrated {
            let cost = Cost::new(one.setup_ns, one.bytes_per_second);
            return Some((cost, CostSource::Calibrated));
        }
        if let Some(table) = table_of_this_cpu()
            && let Some(cost) = table.find(operation, device, backend)
        {
            return Some((cost, CostSource::Table(table.name)));
        }
        let cost = tables::GENERIC.find(operation, device, backend)?;
        Some((cost, CostSource::Generic))
    }

    pub(crate) fn machine(&self) -> (Machine, CostSource) {
        match (&self.0, table_of_this_cpu()) {
            (Some(calibration), _) => (calibration.machine.into(), CostSource::Calibrated),
            (None, Some(table)) => (table.machine.into(), CostSource::Table(table.name)),
            (None, None) => (tables::GENERIC.machine.into(), CostSource::Generic),
        }
    }
}

/// The cost of `operation` by this library's kernels on one thread.
pub(crate) fn kernel_cost(costs: &Costs, cpu: Cpu, operation: Operation) -> Cost {
    costs
        .of(operation, "cpu", kernel_backend(cpu, operation))
        .map_or(UNKNOWN, |(cost, _)| cost)
}

/// The name of the kernel that a session of `operation` gets on `cpu`.
pub(crate) fn kernel_backend(cpu: Cpu, operation: Operation) -> &'static str {
    match operation {
        Operation::Aes128Ctr | Operation::Aes192Ctr | Operation::Aes256Ctr
            if cpu.has(Feature::Face) =>
        {
            "vaes-512-face"
        }
        Operation::Aes128Ctr
        | Operation::Aes192Ctr
        | Operation::Aes256Ctr
        | Operation::Aes128Gcm
        | Operation::Aes192Gcm
        | Operation::Aes256Gcm
        | Operation::Aes128Cbc
        | Operation::Aes192Cbc
        | Operation::Aes256Cbc => aes::Backend::preferred(cpu).name(),
        Operation::ChaCha20 | Operation::ChaCha20Poly1305 => {
            chacha20::Backend::preferred(cpu).name()
        }
        _ => "rustcrypto",
    }
}

/// The cost of `operation` by aws-lc; `None` for what is not asked of it.
#[cfg(feature = "software")]
pub(crate) fn software_cost(costs: &Costs, cpu: Cpu, operation: Operation) -> Option<Cost> {
    match operation {
        Operation::Aes128Ctr
        | Operation::Aes192Ctr
        | Operation::Aes256Ctr
        | Operation::Aes128Gcm
        | Operation::Aes192Gcm
        | Operation::Aes256Gcm
        | Operation::Aes128Cbc
        | Operation::Aes192Cbc
        | Operation::Aes256Cbc
        | Operation::ChaCha20Poly1305 => {
            let found = costs.of(operation, "software", software_backend(cpu));
            Some(found.map_or(UNKNOWN, |(cost, _)| cost))
        }
        _ => None,
    }
}

/// What aws-lc does by itself. It sees the CPU as it is; a mask only makes this library expect
/// what a CPU without these instructions would give.
#[cfg(feature = "software")]
pub(crate) fn software_backend(cpu: Cpu) -> &'static str {
    if !cpu.has(Feature::Aes) {
        "aws-lc-no-aes"
    } else if cpu.has(Feature::Vaes) && cpu.has(Feature::Avx512) {
        "aws-lc-vaes"
    } else {
        "aws-lc"
    }
}

/// [`Machine`] as helpers turn out to be: an average over many requests, never far from where it
/// began.
pub(crate) struct LiveMachine {
    /// As told by the costs.
    base: Machine,
    handoff_ns: AtomicU32,
    wake_ns: AtomicU32,
}

impl LiveMachine {
    pub(crate) fn new(base: Machine) -> Self {
        Self {
            base,
            handoff_ns: AtomicU32::new(base.handoff_ns as u32),
            wake_ns: AtomicU32::new(base.wake_ns as u32),
        }
    }

    pub(crate) fn get(&self) -> Machine {
        Machine {
            handoff_ns: self.handoff_ns.load(Ordering::Relaxed).into(),
            wake_ns: self.wake_ns.load(Ordering::Relaxed).into(),
            ..self.base
        }
    }

    /// Whether helpers have turned out to be other than told.
    pub(crate) fn has_learned(&self) -> bool {
        let Machine {
            handoff_ns,
            wake_ns,
            ..
        } = self.get();
        (handoff_ns, wake_ns) != (self.base.handoff_ns.trunc(), self.base.wake_ns.trunc())
    }

    /// A helper that was awake, or asleep, began so long after the request did. Of two threads that
    /// say so at once one may go unheard.
    pub(crate) fn joined(&self, was_awake: bool, waited: Duration) {
        let waited_ns = waited.as_nanos() as f64;
        let (average, base_ns, seen_ns) = if was_awake {
            (
                &self.handoff_ns,
                self.base.handoff_ns,
                waited_ns * HANDOFF_PER_WAIT,
            )
        } else {
            (&self.wake_ns, self.base.wake_ns, waited_ns)
        };
        let (least, most) = (base_ns / DRIFT_MAX, base_ns * DRIFT_MAX);
        let old = f64::from(average.load(Ordering::Relaxed));
        // One helper that the kernel kept waiting for a tick says little of the next.
        let new = old + (seen_ns.clamp(least, most) - old) / AVERAGED_OVER;
        average.store(new.round().clamp(least, most) as u32, Ordering::Relaxed);
    }
}

/// One of the generated tables.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) vendor: &'static str,
    pub(super) family: u32,
    /// From the first to the last.
    pub(super) models: (u32, u32),
    pub(super) machine: MachineCosts,
    /// By operation.
    pub(super) rows: &'static [Row],
}

/// Of a table.
#[derive(Debug)]
pub(super) struct Row {
    operation: Operation,
    device: &'static str,
    backend: &'static str,
    setup_ns: u64,
    megabytes_per_second: u64,
}

/// As the generator writes it.
pub(super) const fn row(
    operation: Operation,
    device: &'static str,
    backend: &'static str,
    setup_ns: u64,
    megabytes_per_second: u64,
) -> Row {
    Row {
        operation,
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
    fn is_of(&self, cpu: Family) -> bool {
        self.vendor.as_bytes() == cpu.vendor
            && self.family == cpu.family
            && (self.models.0..=self.models.1).contains(&cpu.model)
    }

    fn find(&self, operation: Operation, device: &str, backend: &str) -> Option<Cost> {
        let from = self.rows.partition_point(|row| row.operation < operation);
        let row = self.rows[from..]
            .iter()
            .take_while(|row| row.operation == operation)
            .find(|row| (row.device, row.backend) == (device, backend))?;
        Some(Cost::new(
            row.setup_ns,
            row.megabytes_per_second * 1_000_000,
        ))
    }
}

/// `None` where this family was not measured.
fn table_of_this_cpu() -> Option<&'static Table> {
    // One more than the number, 0 until it is known. Not a lock: a fork may fall anywhere.
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = match NUMBER.load(Ordering::Relaxed) {
        0 => {
            let number = Cpu::family()
                .and_then(|cpu| tables::FAMILIES.iter().position(|table| table.is_of(cpu)))
                .unwrap_or(tables::FAMILIES.len());
            NUMBER.store(number + 1, Ordering::Relaxed);
            number
        }
        known => known - 1,
    };
    tables::FAMILIES.get(number)
}

/// A cipher that a caller brings, and what no table knows.
pub(super) const UNKNOWN: Cost = Cost {
    setup_ns: 20.0,
    bytes_per_ns: 0.15,
};
const BYTES_PER_NS_MIN: f64 = 1e-3;
/// What a hand-off costs the caller in all, over what it takes the helper to begin.
const HANDOFF_PER_WAIT: f64 = 2.0;
/// A busy machine shall not teach for ever what it is like when it is not.
const DRIFT_MAX: f64 = 4.0;
const AVERAGED_OVER: f64 = 32.0;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::device::{CpuDevice, Device, SessionParams};

    /// The CPU with every set of features that it has.
    fn masked_cpus() -> Vec<Cpu> {
        let features: Vec<_> = Cpu::detect().features().collect();
        (0..1_u32 << features.len())
            .map(|mask| {
                let hidden = features.iter().enumerate();
                hidden
                    .filter(|(number, _)| mask >> number & 1 == 1)
                    .fold(Cpu::detect(), |cpu, (_, feature)| cpu.without(*feature))
            })
            .collect()
    }

    #[test]
    fn every_operation_has_a_cost_under_every_mask() {
        let costs = Costs::default();
        for cpu in masked_cpus() {
            let device = CpuDevice::new(cpu);
            let offered = |operation: Operation| device.probe(&SessionParams { operation });
            for &operation in Operation::ALL.iter().filter(|one| offered(**one).is_some()) {
                let backend = kernel_backend(cpu, operation);
                let found = costs.of(operation, "cpu", backend);
                assert!(found.is_some(), "{operation} by {backend}");
                let generic = tables::GENERIC.find(operation, "cpu", backend);
                assert!(generic.is_some(), "{operation} by {backend}, generic");
                let cost = kernel_cost(&costs, cpu, operation);
                assert!(cost.bytes_per_ns > BYTES_PER_NS_MIN && cost.setup_ns >= 0.0);
                assert_ne!(cost, UNKNOWN, "{operation} by {backend}");
            }
        }
    }

    #[test]
    fn a_feature_hidden_is_a_slower_row() {
        let costs = Costs::default();
        let rate = |cpu| kernel_cost(&costs, cpu, Operation::Aes128Ctr).bytes_per_ns;
        assert!(rate(Cpu::detect()) >= rate(Cpu::PORTABLE));
        let family = Cpu::family();
        let measured = tables::FAMILIES
            .iter()
            .any(|table| family.is_some_and(|family| table.is_of(family)));
        let (_, source) = costs.of(Operation::ChaCha20, "cpu", "portable").unwrap();
        assert_eq!(source != CostSource::Generic, measured, "{source}");
    }

    #[test]
    fn tables_are_sorted_and_positive() {
        for table in tables::FAMILIES.iter().chain([&tables::GENERIC]) {
            let keys: Vec<_> = table
                .rows
                .iter()
                .map(|row| (row.operation, row.device, row.backend))
                .collect();
            assert!(!keys.is_empty());
            assert!(keys.is_sorted_by(|a, b| a < b), "{}", table.name);
            assert!(table.rows.iter().all(|row| row.megabytes_per_second > 0));
            assert!(table.models.0 <= table.models.1);
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
    fn a_family_is_its_vendor_family_and_models() {
        let table = &tables::FAMILIES[0];
        let vendor = table.vendor.as_bytes().try_into().unwrap();
        let cpu = Family {
            vendor,
            family: table.family,
            model: table.models.0,
        };
        assert!(table.is_of(cpu));
        let model = table.models.1;
        assert!(table.is_of(Family { model, ..cpu }));
        let model = table.models.1 + 1;
        assert!(!table.is_of(Family { model, ..cpu }));
        let family = cpu.family + 1;
        assert!(!table.is_of(Family { family, ..cpu }));
        let vendor = *b"CentaurHauls";
        assert!(!table.is_of(Family { vendor, ..cpu }));
    }

    #[test]
    fn live_costs_follow_slowly_and_not_far() {
        let base = Machine::from(tables::GENERIC.machine);
        let live = LiveMachine::new(base);
        assert!(!live.has_learned());
        live.joined(false, Duration::from_secs(1));
        assert!(live.get().wake_ns < 1.2 * base.wake_ns, "one outlier");
        for _ in 0..1000 {
            live.joined(false, Duration::from_secs(1));
            live.joined(true, Duration::ZERO);
        }
        let now = live.get();
        assert!(live.has_learned());
        assert!((3.5 * base.wake_ns..=4.0 * base.wake_ns).contains(&now.wake_ns));
        assert!((base.handoff_ns / 4.0 - 1.0..base.handoff_ns / 2.0).contains(&now.handoff_ns));
        assert_eq!(now.other_core_bytes_per_ns, base.other_core_bytes_per_ns);
    }
}
