//! `cargo xtask plan`: the tables that the plan starts from, measured on this machine.
//!
//! The command calibrates under every mask of the CPU's features; its figures replace this family's
//! entry in `tables.rs` and leave the others as they are. For processors that are not listed the
//! generic entry holds, of each row, the worst of all families. The file is read as it was
//! written, so what does not come out the same was edited by hand: [`check`].

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use crate::cpu_mask;
use crate::processor::Cpu;
use crate::tool::{self, Metadata, Result, cargo};

const TABLES: &str = "crates/engine/src/costs/tables.rs";
/// The order of rows.
const ALGORITHMS: &str = "crates/engine/src/work/algorithm.rs";
/// Features that no backend's name tells: hiding them measures the same backend again, or another kernel under its name.
const NO_CIPHER: [&str; 3] = ["ifma", "fma", "apart"];
/// The feature that all others build on.
const BASE: &str = "ssse3";
/// Runs of every mask: one may fall into a moment when the machine is busy.
const RUNS: usize = 7;

pub fn run() -> Result<()> {
    let metadata = Metadata::load()?;
    let operations = Operations::read(&metadata.workspace_root)?;
    let path = metadata.workspace_root.join(TABLES);
    let mut tables = Tables::parse(&read(&path)?)?;
    println!("building the command");
    tool::output(cargo().args(["build", "--release", "--package", "oarlock-cli"]))?;
    let program = metadata.target_directory.join("release/oarlock");
    let caches = metadata.target_directory.join("plan");
    let whole = calibrate(&program, &caches, "")?;
    let makes_a_difference = |name: &&String| !NO_CIPHER.contains(&name.as_str());
    let features = whole.features.iter().filter(makes_a_difference);
    let features: Vec<String> = features.cloned().collect();
    let mut samples = Samples::default();
    for mask in masks(&features) {
        println!("calibrating under {mask:?}");
        for _ in 0..RUNS {
            let calibration = calibrate(&program, &caches, &mask)?;
            // Under a mask keystream is taken with narrower registers.
            samples.add(calibration, mask.is_empty(), &operations)?;
        }
    }
    let cpu = Cpu::read()?;
    tables.replace(&cpu, samples.machine(), samples.rows(), &operations);
    std::fs::write(&path, tables.to_string())
        .map_err(|error| format!("{}: {error}", path.display()))?;
    println!("{TABLES}: {} rows for {cpu}", samples.rows.len());
    Ok(())
}

/// Fails unless the file is as this program would write it.
pub fn check(root: &Path) -> Result<()> {
    let text = read(&root.join(TABLES))?;
    if Tables::parse(&text)?.to_string() == text {
        Ok(())
    } else {
        Err(format!(
            "{TABLES} is not as `cargo xtask plan` writes it: run that, or undo what was edited"
        ))
    }
}

/// Every set of features hidden, as the command takes it: once, where all build on one.
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

/// What `oarlock devices --calibrate --json` says.
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
        // Keeps what the owner of this machine has stored.
        .env("XDG_CACHE_HOME", caches);
    // From aws-lc too, which heeds no mask of ours.
    command.env("OPENSSL_ia32cap", cpu_mask::for_openssl(mask));
    let json = tool::output(&mut command)?;
    serde_json::from_str(&json).map_err(|error| format!("`{}`: {error}", tool::line(&command)))
}

/// The operations of the engine, in its order: by their name and by their variant.
struct Operations(Vec<(String, String)>);

impl Operations {
    fn read(root: &Path) -> Result<Self> {
        let text = read(&root.join(ALGORITHMS))?;
        let found: Vec<_> = text.lines().filter_map(Self::of_line).collect();
        if found.is_empty() {
            return Err(format!("{ALGORITHMS}: found no operation"));
        }
        Ok(Self(found))
    }

    /// `    Aes128Ctr "aes-128-ctr" 16 CTR_128,`
    fn of_line(line: &str) -> Option<(String, String)> {
        let (variant, rest) = line.trim().split_once(" \"")?;
        let (name, rest) = rest.split_once("\" ")?;
        let is_one = variant.chars().all(|c| c.is_ascii_alphanumeric()) && rest.ends_with(',');
        is_one.then(|| (name.into(), variant.into()))
    }

    fn place(&self, variant: &str) -> Option<usize> {
        self.0.iter().position(|(_, known)| known == variant)
    }

    fn find(&self, name: &str) -> Result<Key> {
        let number = self.0.iter().position(|(known, _)| known == name);
        let number = number.ok_or_else(|| format!("{ALGORITHMS}: there is no {name:?}"))?;
        Ok((number, self.0[number].1.clone()))
    }
}

/// Where an operation stands, and its variant.
type Key = (usize, String);

/// The operation, the device and the backend.
type RowKey = (Key, String, String);

/// Everything measured.
#[derive(Default)]
struct Samples {
    machine: [Vec<u64>; 4],
    rows: BTreeMap<RowKey, Vec<(u64, u64)>>,
}

impl Samples {
    fn add(
        &mut self,
        calibration: Calibration,
        is_whole: bool,
        operations: &Operations,
    ) -> Result<()> {
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
            let key = (operations.find(&cost.operation)?, cost.device, cost.backend);
            let sample = (cost.setup_ns, cost.bytes_per_second / 1_000);
            self.rows.entry(key).or_default().push(sample);
        }
        Ok(())
    }

    /// The middle: these depend on what the other core does.
    fn machine(&self) -> [u64; 4] {
        self.machine
            .each_ref()
            .map(|all| rounded(quantile(all, 1, 2)))
    }

    /// The lower quartile of setups and the upper one of rates: whatever disturbs makes both worse,
    /// but for the few where it fell into one half of a measurement.
    fn rows(&self) -> Vec<Row> {
        let of = |((operation, device, backend), samples): (&RowKey, &Vec<(u64, u64)>)| {
            let setups: Vec<u64> = samples.iter().map(|sample| sample.0).collect();
            let rates: Vec<u64> = samples.iter().map(|sample| sample.1).collect();
            Row {
                operation: operation.1.clone(),
                device: device.clone(),
                backend: backend.clone(),
                setup_ns: rounded(quantile(&setups, 1, 4)),
                kilobytes_per_second: rounded(quantile(&rates, 3, 4)).max(1),
            }
        };
        self.rows.iter().map(of).collect()
    }
}

fn quantile(values: &[u64], share: usize, of: usize) -> u64 {
    let mut values = values.to_vec();
    values.sort_unstable();
    let at = values.len() * share / of;
    values.get(at).copied().unwrap_or(0)
}

/// To two digits, three where the first is a 1, so that little changes from run to run.
fn rounded(value: u64) -> u64 {
    let digits = value.checked_ilog10().map_or(1, |digits| digits + 1);
    let is_led_by_one = value / 10_u64.pow(digits - 1) == 1;
    let step = 10_u64.pow(digits.saturating_sub(if is_led_by_one { 3 } else { 2 }));
    (value + step / 2) / step * step
}

/// The file: the families, and the generic one at the end.
#[derive(Debug, PartialEq)]
struct Tables(Vec<Table>);

#[derive(Clone, Debug, PartialEq)]
struct Table {
    name: String,
    vendor: String,
    family: u32,
    models: (u32, u32),
    machine: [u64; 4],
    rows: Vec<Row>,
}

#[derive(Clone, Debug, PartialEq)]
struct Row {
    operation: String,
    device: String,
    backend: String,
    setup_ns: u64,
    kilobytes_per_second: u64,
}

impl Tables {
    fn replace(&mut self, cpu: &Cpu, machine: [u64; 4], rows: Vec<Row>, operations: &Operations) {
        let generic = self.0.pop();
        let found = self.0.iter_mut().find(|table| {
            table.vendor == cpu.vendor
                && table.family == cpu.family
                && (table.models.0..=table.models.1).contains(&cpu.model)
        });
        match found {
            Some(table) => (table.machine, table.rows) = (machine, rows),
            None => {
                let models = cpu.models();
                self.0.push(Table {
                    name: cpu.line(),
                    vendor: cpu.vendor.clone(),
                    family: cpu.family,
                    models,
                    machine,
                    rows,
                });
                self.0
                    .sort_by_key(|table| (table.vendor.clone(), table.family, table.models));
            }
        }
        let mut worst: Vec<Row> = Vec::new();
        for row in self.0.iter().flat_map(|table| table.rows.clone()) {
            let same = |other: &&mut Row| {
                (&other.operation, &other.device, &other.backend)
                    == (&row.operation, &row.device, &row.backend)
            };
            match worst.iter_mut().find(same) {
                Some(other) => {
                    other.setup_ns = other.setup_ns.max(row.setup_ns);
                    let rate = &mut other.kilobytes_per_second;
                    *rate = row.kilobytes_per_second.min(*rate);
                }
                None => worst.push(row),
            }
        }
        worst.sort_by_key(|row| {
            let place = operations.place(&row.operation);
            (place, row.device.clone(), row.backend.clone())
        });
        let worst_machine = |number: usize| {
            let all = self.0.iter().map(|table| table.machine[number]);
            if number < 2 { all.max() } else { all.min() }.unwrap_or(1)
        };
        self.0.push(Table {
            machine: std::array::from_fn(worst_machine),
            rows: worst,
            ..generic.unwrap_or_else(Table::generic)
        });
    }

    /// Line by line, as [`Display`](fmt::Display) writes it.
    fn parse(text: &str) -> Result<Self> {
        let mut tables = Vec::new();
        let mut table = Table::generic();
        for (number, line) in text.lines().enumerate() {
            let wrong = || format!("{TABLES}, line {}: not as it is generated", number + 1);
            let line = line.trim();
            if let Some(value) = line.strip_prefix("name: ") {
                table = Table::generic();
                table.name = unquoted(value).ok_or_else(wrong)?;
            } else if let Some(value) = line.strip_prefix("vendor: ") {
                table.vendor = unquoted(value).ok_or_else(wrong)?;
            } else if let Some(value) = line.strip_prefix("family: ") {
                table.family = plain(value).ok_or_else(wrong)? as u32;
            } else if let Some(value) = line.strip_prefix("models: (") {
                let (first, last) = value
                    .strip_suffix("),")
                    .and_then(|both| both.split_once(", "))
                    .ok_or_else(wrong)?;
                let model = |text| plain(text).map(|model| model as u32).ok_or_else(wrong);
                table.models = (model(first)?, model(last)?);
            } else if let Some(value) = line.strip_prefix("machine: machine(") {
                let figures = value.strip_suffix("),").ok_or_else(wrong)?;
                let figures: Option<Vec<u64>> = figures.split(", ").map(plain).collect();
                table.machine = figures
                    .and_then(|figures| figures.try_into().ok())
                    .ok_or_else(wrong)?;
            } else if let Some(value) = line.strip_prefix("row(") {
                table.rows.push(Row::parse(value).ok_or_else(wrong)?);
            } else if matches!(line, "}," | "};") {
                tables.push(table.clone());
            }
        }
        if tables.is_empty() {
            return Err(format!("{TABLES}: contains no table"));
        }
        Ok(Self(tables))
    }
}

impl Table {
    fn generic() -> Self {
        Self {
            name: "generic".into(),
            vendor: String::new(),
            family: 0,
            models: (0, 0),
            machine: [1; 4],
            rows: Vec::new(),
        }
    }

    fn write(&self, indent: &str, out: &mut String) -> fmt::Result {
        let Self {
            name,
            vendor,
            family,
            models,
            machine,
            rows,
        } = self;
        let machine = machine.map(separated).join(", ");
        writeln!(out, "{indent}    name: {name:?},")?;
        writeln!(out, "{indent}    vendor: {vendor:?},")?;
        writeln!(out, "{indent}    family: {family},")?;
        writeln!(out, "{indent}    models: ({}, {}),", models.0, models.1)?;
        writeln!(out, "{indent}    machine: machine({machine}),")?;
        writeln!(out, "{indent}    rows: &[")?;
        for row in rows {
            writeln!(
                out,
                "{indent}        row({}, {:?}, {:?}, {}, {}),",
                row.operation,
                row.device,
                row.backend,
                separated(row.setup_ns),
                separated(row.kilobytes_per_second)
            )?;
        }
        writeln!(out, "{indent}    ],")
    }
}

impl Row {
    fn parse(line: &str) -> Option<Self> {
        let words: Vec<_> = line.strip_suffix("),")?.split(", ").collect();
        let [operation, device, backend, setup_ns, rate] = words[..] else {
            return None;
        };
        Some(Self {
            operation: operation.into(),
            device: unquoted(device)?,
            backend: unquoted(backend)?,
            setup_ns: plain(setup_ns)?,
            kilobytes_per_second: plain(rate)?,
        })
    }
}

impl fmt::Display for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((generic, families)) = self.0.split_last() else {
            return Err(fmt::Error);
        };
        let mut out = String::from(HEAD);
        for table in families {
            out.push_str("    Table {\n");
            table.write("    ", &mut out)?;
            out.push_str("    },\n");
        }
        out.push_str(BEFORE_GENERIC);
        generic.write("", &mut out)?;
        out.push_str("};\n");
        f.write_str(&out)
    }
}

const HEAD: &str = "\
//! Generated by `cargo xtask plan`, which replaces the entry of the family it runs on: not to be
//! edited by hand but for names and ranges of models.

use super::table::{Table, machine, row};
use crate::work::algorithm::Algorithm::*;

/// Rows: setup in nanoseconds and kilobytes a second. Machines: nanoseconds of a hand-off and of a
/// wake-up, megabytes a second of keystream from another core and from the same.
#[rustfmt::skip]
pub(super) const FAMILIES: &[Table] = &[
";

const BEFORE_GENERIC: &str = "\
];

/// The worst value of each row that was found on any family.
#[rustfmt::skip]
pub(super) const GENERIC: Table = Table {
";

/// `27_000`.
fn separated(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push('_');
        }
        text.push(digit);
    }
    text
}

/// The number that [`separated`] has written, perhaps with a comma behind it.
fn plain(text: &str) -> Option<u64> {
    let text = text.strip_suffix(',').unwrap_or(text);
    text.replace('_', "").parse().ok()
}

fn unquoted(text: &str) -> Option<String> {
    let text = text.strip_suffix(',').unwrap_or(text);
    Some(text.strip_prefix('"')?.strip_suffix('"')?.to_owned())
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(operation: &str, backend: &str, setup_ns: u64, kilobytes_per_second: u64) -> Row {
        Row {
            operation: operation.into(),
            device: "cpu".into(),
            backend: backend.into(),
            setup_ns,
            kilobytes_per_second,
        }
    }

    fn cpu(vendor: &str, model: u32) -> Cpu {
        Cpu {
            vendor: vendor.into(),
            family: 25,
            model,
        }
    }

    fn operations() -> Operations {
        Operations(
            ["A", "B"]
                .map(|one| (one.to_lowercase(), one.into()))
                .into(),
        )
    }

    fn two_families() -> Tables {
        let mut tables = Tables(vec![Table::generic()]);
        let rows = vec![row("A", "wide", 5, 27_000), row("B", "any", 1_000, 30)];
        tables.replace(
            &cpu("Y", 17),
            [600, 50_000, 9_000, 30_000],
            rows,
            &operations(),
        );
        let rows = vec![row("A", "narrow", 9, 4_000), row("B", "any", 40, 50)];
        tables.replace(
            &cpu("X", 3),
            [900, 20_000, 12_000, 20_000],
            rows,
            &operations(),
        );
        tables
    }

    #[test]
    fn what_is_written_is_read_as_it_was() {
        let tables = two_families();
        let text = tables.to_string();
        assert_eq!(Tables::parse(&text).unwrap(), tables);
        assert!(
            text.contains("row(A, \"cpu\", \"wide\", 5, 27_000),"),
            "{text}"
        );
    }

    #[test]
    fn one_family_is_replaced_and_the_generic_is_the_worst_of_all() {
        let mut tables = two_families();
        let [x, y, generic] = &tables.0[..] else {
            panic!("{tables:?}");
        };
        assert_eq!((&*x.vendor, x.models), ("X", (0, 15)));
        assert_eq!((&*y.vendor, y.models), ("Y", (16, 31)));
        assert_eq!(generic.machine, [900, 50_000, 9_000, 20_000]);
        let worst = [
            row("A", "narrow", 9, 4_000),
            row("A", "wide", 5, 27_000),
            row("B", "any", 1_000, 30),
        ];
        assert_eq!(generic.rows, worst);

        let (x, mut y) = (x.clone(), y.clone());
        y.machine = [1, 2, 3, 4];
        y.rows = vec![row("A", "wide", 6, 20_000)];
        // Another model of the same sixteen.
        tables.replace(&cpu("Y", 24), y.machine, y.rows.clone(), &operations());
        assert_eq!(tables.0[..2], [x, y]);
    }

    #[test]
    fn what_was_edited_is_found() {
        let text = two_families().to_string();
        for (from, to) in [
            ("27_000", "27000"),
            ("wide\", 5", "wide\",  5"),
            ("];\n", "]; \n"),
        ] {
            let edited = text.replacen(from, to, 1);
            assert_ne!(edited, text);
            let same = Tables::parse(&edited).is_ok_and(|tables| tables.to_string() == edited);
            assert!(!same, "{to}");
        }
        assert!(Tables::parse("").is_err());
    }

    #[test]
    fn the_checked_in_file_is_as_it_was_generated() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        check(&root).unwrap();
    }

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
            assert_eq!(plain(&separated(short)), Some(short));
        }
        assert_eq!(separated(1_234_567), "1_234_567");
    }

    #[test]
    fn masks_are_all_sets_of_features() {
        let features = ["aes", "avx2"].map(String::from);
        assert_eq!(masks(&features), ["", "-aes", "-avx2", "-aes,-avx2"]);
        let features = ["ssse3", "aes"].map(String::from);
        assert_eq!(masks(&features), ["", "-ssse3", "-aes"]);
    }

    #[test]
    fn operations_are_read_from_the_engine() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let operations = Operations::read(&root).unwrap();
        let (number, variant) = operations.find("aes-128-ctr").unwrap();
        assert_eq!((number, &*variant), (0, "Aes128Ctr"));
        assert!(operations.0.len() > 20 && operations.find("rot13").is_err());
    }
}
