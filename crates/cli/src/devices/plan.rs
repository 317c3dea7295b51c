//! `oarlock devices --plan`: the way that requests would go.

use std::fmt::Write as _;

use oarlock::Accelerator;
use oarlock::Algorithm;
use oarlock::plan::PlanReport;
use serde::Serialize;

use super::rate::speed;
use crate::failure::Failure;
use crate::{cpu, stdout};

pub(super) fn show(accelerator: &Accelerator, json: bool) -> Result<(), Failure> {
    let plan = Plan::of(accelerator);
    let text = if json {
        stdout::json("devices", &plan)?
    } else {
        plan.to_text()
    };
    stdout::write(&text)
}

#[derive(Serialize)]
struct Plan {
    cpu: String,
    cpus: usize,
    /// The number of threads that may work for one caller at once.
    parallelism: usize,
    options: String,
    machine: PlanMachine,
    operations: Vec<PlanEntry>,
}

#[derive(Serialize)]
struct PlanMachine {
    handoff_ns: u64,
    wake_ns: u64,
    other_core_bytes_per_second: u64,
    own_core_bytes_per_second: u64,
    source: String,
}

#[derive(Serialize)]
struct PlanEntry {
    operation: &'static str,
    device: String,
    backend: String,
    setup_ns: u64,
    bytes_per_second: u64,
    source: String,
    helpers: usize,
    looked_at_from: Option<usize>,
    striped_from_if_awake: Option<usize>,
    striped_from_if_asleep: Option<usize>,
    made_ahead_from: Option<usize>,
    made_ahead: String,
}

impl From<PlanReport> for PlanEntry {
    fn from(report: PlanReport) -> Self {
        Self {
            operation: report.algorithm.name(),
            device: report.device,
            backend: report.backend,
            setup_ns: report.setup_ns,
            bytes_per_second: report.bytes_per_second,
            source: report.source.to_string(),
            helpers: report.helpers,
            looked_at_from: report.looked_at_from,
            striped_from_if_awake: report.striped_from_if_awake,
            striped_from_if_asleep: report.striped_from_if_asleep,
            made_ahead_from: report.made_ahead.from,
            made_ahead: report.made_ahead.why,
        }
    }
}

impl Plan {
    fn of(accelerator: &Accelerator) -> Self {
        let (machine, source) = accelerator.machine_costs();
        Self {
            cpu: cpu::model(),
            cpus: cpu::count(),
            parallelism: accelerator.parallelism(),
            options: accelerator.options().to_string(),
            machine: PlanMachine {
                handoff_ns: machine.handoff_ns,
                wake_ns: machine.wake_ns,
                other_core_bytes_per_second: machine.other_core_bytes_per_second,
                own_core_bytes_per_second: machine.own_core_bytes_per_second,
                source: source.to_string(),
            },
            operations: Algorithm::ALL
                .iter()
                // An operation that no device offers, or that only a caller's device can have, has no plan.
                .filter_map(|operation| accelerator.plan(*operation).ok())
                .map(PlanEntry::from)
                .collect(),
        }
    }

    fn to_text(&self) -> String {
        let mut text = String::new();
        let machine = &self.machine;
        // Writing to a String does not fail.
        let _ = writeln!(text, "CPU        {}", self.cpu);
        let _ = writeln!(
            text,
            "threads    {} at once for one caller, on {} CPUs",
            self.parallelism, self.cpus
        );
        let _ = writeln!(text, "options    {}", self.options);
        let _ = writeln!(
            text,
            "helpers    {} ns to hand work to one that is awake, {:.1} µs to wake one ({})",
            machine.handoff_ns,
            machine.wake_ns as f64 / 1e3,
            machine.source
        );
        let _ = writeln!(
            text,
            "keystream  {} from another core, {} from the same",
            speed(machine.other_core_bytes_per_second),
            speed(machine.own_core_bytes_per_second)
        );
        let _ = writeln!(
            text,
            "\n{:<18}{:<10}{:<15}{:>10}{:>8}  {:<24}{:>9}{:>9}{:>9}{:>9}\n{:88}{:>9}{:>9}{:>9}{:>9}",
            "operation",
            "device",
            "backend",
            "rate",
            "setup",
            "source",
            "look",
            "stripes",
            "stripes",
            "ahead",
            "",
            "from",
            "awake",
            "asleep",
            "from"
        );
        for entry in &self.operations {
            let _ = writeln!(
                text,
                "{:<18}{:<10}{:<15}{:>10}{:>5} ns  {:<25}{:>8}{:>9}{:>9}{:>9}",
                entry.operation,
                entry.device,
                entry.backend,
                speed(entry.bytes_per_second),
                entry.setup_ns,
                entry.source,
                size(entry.looked_at_from),
                size(entry.striped_from_if_awake),
                size(entry.striped_from_if_asleep),
                size(entry.made_ahead_from)
            );
        }
        let _ = writeln!(text, "\nkeystream made ahead:");
        for entry in &self.operations {
            let _ = writeln!(text, "{:<18}{}", entry.operation, entry.made_ahead);
        }
        text
    }
}

/// Formats a size as in `12.5k`; `-` means none.
fn size(bytes: Option<usize>) -> String {
    match bytes {
        None => "-".into(),
        Some(bytes @ ..1024) => bytes.to_string(),
        Some(bytes @ ..1_048_576) => format!("{:.1}k", bytes as f64 / 1024.0),
        Some(bytes) => format!("{:.1}m", bytes as f64 / 1_048_576.0),
    }
}
