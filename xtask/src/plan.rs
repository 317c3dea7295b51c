//! `cargo xtask plan`: measures on this machine the costs that the plan starts from.
//!
//! The command calibrates under every mask of the CPU's features; its figures replace those in the file of this [`Family`].
//! Processors of unknown families use the worst figure of each row.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use crate::cpu_mask;
use crate::families::{COSTS, Family};
use crate::processor::Cpu;
use crate::tool::{self, Result, cargo};

/// Features that no backend is named after: hiding them measures the same backend again, or another kernel under its name.
const NO_CIPHER: [&str; 3] = ["ifma", "fma", "apart"];
/// The feature that all others build on.
const BASE: &str = "ssse3";
/// Runs of every mask, in case the machine is busy during one.
const RUNS: usize = 7;

pub fn run(root: &Path, target: &Path) -> Result<()> {
    let (mut family, path) = Family::find(root, COSTS, &Cpu::read()?)?;
    println!("building the command");
    tool::output(cargo().args(["build", "--release", "--package", "oarlock-cli"]))?;
    let program = target.join("release/oarlock");
    let caches = target.join("plan");
    let whole = calibrate(&program, &caches, "")?;
    let makes_a_difference = |name: &&String| !NO_CIPHER.contains(&name.as_str());
    let features = whole.features.iter().filter(makes_a_difference);
    let features: Vec<String> = features.cloned().collect();
    let mut samples = Samples::default();
    for mask in masks(&features) {
        println!("calibrating under {mask:?}");
        for _ in 0..RUNS {
            let calibration = calibrate(&program, &caches, &mask)?;
            // Under a mask, keystream is copied with narrower registers, so the machine's figures are those without a mask.
            samples.add(calibration, mask.is_empty());
        }
    }
    family.replace("costs", samples.rows());
    family.replace("machine", [samples.machine()]);
    family.write(&path)
}

/// Returns every set of hidden features as a mask, and only one with the feature that all others build on.
fn masks(features: &[String]) -> Vec<String> {
    let hidden = |set: usize| {
        let features = features.iter().enumerate();
        features
            .filter(|(number, _)| set >> number & 1 == 1)
            .map(|(_, feature)| format!("-{feature}"))
            .collect::<Vec<_>>()
            .join(",")
    };
    let base = features.iter().position(|feature| feature == BASE);
    (0..1 << features.len())
        .filter(|set| base.is_none_or(|base| set >> base & 1 == 0 || *set == 1 << base))
        .map(hidden)
        .collect()
}

/// The output of `oarlock devices --calibrate --json`.
#[derive(Deserialize)]
struct Calibration {
    features: Vec<String>,
    machine: MachineCosts,
    operations: Vec<Cost>,
}

#[derive(Deserialize)]
struct MachineCosts {
    handoff_ns: u64,
    wake_ns: u64,
    other_core_bytes_per_second: u64,
    own_core_bytes_per_second: u64,
}

#[derive(Deserialize)]
struct Cost {
    operation: String,
    device: String,
    backend: String,
    setup_ns: u64,
    bytes_per_second: u64,
}

fn calibrate(program: &Path, caches: &Path, mask: &str) -> Result<Calibration> {
    let mut command = Command::new(program);
    command
        .args(["devices", "--calibrate", "--json"])
        .env("OARLOCK_CPU", mask)
        // Does not overwrite what this machine's user has stored.
        .env("XDG_CACHE_HOME", caches);
    // Hide the features from aws-lc too, which ignores our mask.
    command.env("OPENSSL_ia32cap", cpu_mask::for_openssl(mask));
    let json = tool::output(&mut command)?;
    serde_json::from_str(&json).map_err(|error| format!("`{}`: {error}", tool::line(&command)))
}

/// The operation, the device and the backend.
type Key = (String, String, String);

/// All measurements.
#[derive(Default)]
struct Samples {
    machine: [Vec<u64>; 4],
    rows: BTreeMap<Key, Vec<(u64, u64)>>,
}

impl Samples {
    fn add(&mut self, calibration: Calibration, is_whole: bool) {
        let machine = calibration.machine;
        let figures = [
            machine.handoff_ns,
            machine.wake_ns,
            machine.other_core_bytes_per_second / 1_000_000,
            machine.own_core_bytes_per_second / 1_000_000,
        ];
        if is_whole {
            for (all, figure) in self.machine.iter_mut().zip(figures) {
                all.push(figure);
            }
        }
        for cost in calibration.operations {
            let key = (cost.operation, cost.device, cost.backend);
            let sample = (cost.setup_ns, cost.bytes_per_second / 1_000);
            self.rows.entry(key).or_default().push(sample);
        }
    }

    /// Returns the medians, since these figures depend on what the other core does.
    fn machine(&self) -> String {
        let figures = self.machine.each_ref();
        let figures = figures.map(|all| rounded(quantile(all, 1, 2)).to_string());
        figures.join(" ")
    }

    /// Returns the lower quartile of set-up times and the upper quartile of rates. Disturbances make both worse, except in
    /// the rare cases that affect only one half of a measurement.
    fn rows(&self) -> impl Iterator<Item = String> {
        self.rows
            .iter()
            .map(|((operation, device, backend), samples)| {
                let (setups, rates): (Vec<u64>, Vec<u64>) = samples.iter().copied().unzip();
                let setup_ns = rounded(quantile(&setups, 1, 4));
                let kilobytes_per_second = rounded(quantile(&rates, 3, 4)).max(1);
                format!("{operation} {device} {backend} {setup_ns} {kilobytes_per_second}")
            })
    }
}

fn quantile(values: &[u64], share: usize, of: usize) -> u64 {
    let mut values = values.to_vec();
    values.sort_unstable();
    let at = values.len() * share / of;
    values.get(at).copied().unwrap_or(0)
}

/// Rounds to two digits, or three if the first is 1, so that little changes from run to run.
fn rounded(value: u64) -> u64 {
    let digits = value.checked_ilog10().map_or(1, |digits| digits + 1);
    let is_led_by_one = value / 10_u64.pow(digits - 1) == 1;
    let step = 10_u64.pow(digits.saturating_sub(if is_led_by_one { 3 } else { 2 }));
    (value + step / 2) / step * step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_few_digits() {
        for (value, short) in [
            (0, 0),
            (7, 7),
            (42, 42),
            (152, 152),
            (157, 157),
            (1_234, 1_230),
            (1_996, 2_000),
            (9_949, 9_900),
            (27_449, 27_000),
            (99_999, 100_000),
        ] {
            assert_eq!(rounded(value), short, "{value}");
        }
    }

    #[test]
    fn masks_are_all_sets_of_features() {
        let features = ["aes", "avx2"].map(String::from);
        assert_eq!(masks(&features), ["", "-aes", "-avx2", "-aes,-avx2"]);
        let features = ["ssse3", "aes"].map(String::from);
        assert_eq!(masks(&features), ["", "-ssse3", "-aes"]);
    }
}
