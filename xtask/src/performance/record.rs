//! One record, arranged as tables and targets.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::class::class_of;
use super::line::{Line, Machine, Outcome};
use super::table::Table;
use super::text::figure;
use crate::tool::Result;

/// A record's file.
pub struct Record {
    /// The path from the root of the repository.
    pub path: String,
    pub class: &'static str,
    pub cpu: String,
    cores: usize,
    kernel: String,
    pub date: String,
    /// The versions of all runs, without duplicates.
    versions: Vec<String>,
    tables: Vec<Table>,
    targets: Vec<Targets>,
}

impl Record {
    pub fn parse(path: &str, text: &str) -> Result<Self> {
        let mut lines = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line: Line = serde_json::from_str(line)
                .map_err(|_| format!("{path}:{}: not a line of a record", number + 1))?;
            lines.push(line);
        }
        let Some(Line::Machine(machine)) = lines.first() else {
            return Err(format!("{path}: does not begin with the machine"));
        };
        let machines = lines.iter().filter_map(|line| match line {
            Line::Machine(machine) => Some(machine),
            _ => None,
        });
        let features = machines.clone().filter_map(Machine::features);
        let features = features.max_by_key(|features| features.split(' ').count());
        let features = features.ok_or_else(|| {
            format!("{path}: no run names the features of the CPU: record a case of the harness")
        })?;
        let mut record = Self {
            path: path.to_owned(),
            class: class_of(features),
            cpu: machine.cpu.clone(),
            cores: machine.cores,
            kernel: machine.kernel.clone(),
            date: machine.date.clone(),
            versions: Vec::new(),
            tables: Vec::new(),
            targets: Vec::new(),
        };
        for version in machines.clone().flat_map(|machine| &machine.versions) {
            if !record.versions.contains(version) {
                record.versions.push(version.clone());
            }
        }
        let series = machines.filter_map(Machine::openssl_series);
        let series: BTreeSet<&str> = series.collect();
        record.add(&lines, features, series.len() > 1);
        Ok(record)
    }

    /// Arranges `lines`; a line of a machine begins a run. `features` are the CPU's when none is hidden. With `several`
    /// releases of OpenSSL, each release has tables of its own.
    fn add(&mut self, lines: &[Line], features: &str, several: bool) {
        let mut hidden = String::new();
        let mut beside = String::new();
        // Peers have one thread; Oarlock's line comes first and has its number of threads.
        let mut threads = 1;
        for line in lines {
            match line {
                Line::Machine(machine) => {
                    let run = machine.features().unwrap_or(features);
                    hidden = match run == features {
                        true => String::new(),
                        false => format!(", with {run} alone"),
                    };
                    beside = match machine.openssl_series() {
                        Some(series) if several => format!("{WITH_OPENSSL}{series}"),
                        _ => String::new(),
                    };
                    hidden += &beside;
                }
                Line::Rate(rate) => {
                    if rate.implementation == OARLOCK {
                        threads = rate.at.threads;
                    }
                    let title = rate.at.title(&rate.unit, threads, &hidden);
                    let point = rate.at.point();
                    self.table(title, &beside).rate(point, rate);
                }
                Line::Ratio(ratio) => {
                    let ending = ratio.at.title("", threads, &hidden);
                    let point = ratio.at.point();
                    let mut tables = self.tables.iter_mut();
                    let table = tables.find(|table| {
                        let is_beside = table.title.ends_with(&ending);
                        is_beside && table.has_row(&point)
                    });
                    if let Some(table) = table {
                        table.ratio(point, ratio);
                    }
                }
                Line::Outcome(outcome) => self.targets(&beside).add(outcome),
            }
        }
    }

    /// Returns the table with that title, which ends in `beside`. Tables that differ only in that ending are neighbours.
    fn table(&mut self, title: String, beside: &str) -> &mut Table {
        let tables = &mut self.tables;
        let at = tables.iter().position(|table| table.title == title);
        let at = at.unwrap_or_else(|| {
            let what = title.strip_suffix(beside).unwrap_or(&title);
            let is_of_it = |table: &Table| {
                let rest = table.title.strip_prefix(what);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(WITH_OPENSSL))
            };
            let before = tables.iter().rposition(is_of_it);
            let at = before.map_or(tables.len(), |before| before + 1);
            tables.insert(at, Table::new(title));
            at
        });
        &mut tables[at]
    }

    fn targets(&mut self, beside: &str) -> &mut Targets {
        let at = self.targets.iter().position(|one| one.beside == beside);
        let at = at.unwrap_or_else(|| {
            self.targets.push(Targets {
                beside: beside.to_owned(),
                targets: Vec::new(),
            });
            self.targets.len() - 1
        });
        &mut self.targets[at]
    }

    /// Returns the last ratio of each target that was measured with the first OpenSSL of the record.
    pub fn ratios(&self) -> impl Iterator<Item = (&str, f64)> {
        let targets = self.targets.first().into_iter();
        let targets = targets.flat_map(|one| &one.targets);
        targets.filter_map(|target| Some((target.name.as_str(), target.last?)))
    }

    /// Returns the names and versions of the peers that the page compares with.
    pub fn peers(&self) -> Vec<&str> {
        let peers = self.versions.iter().map(String::as_str);
        let peers = peers.filter(|peer| peer.starts_with("OpenSSL ") || peer.starts_with("AWS-LC"));
        peers.collect()
    }

    pub fn write(&self, out: &mut String) {
        let Self {
            path,
            cpu,
            cores,
            kernel,
            date,
            ..
        } = self;
        let versions = self.versions.join("; ");
        let _ = writeln!(out, "### {cpu}, {cores} cores, {date}\n");
        let _ = writeln!(
            out,
            "Record: {path}. Linux {kernel}. Measured: {versions}.\n"
        );
        for table in &self.tables {
            table.write(out);
        }
        for targets in &self.targets {
            targets.write(out);
        }
    }
}

/// All targets that were measured with one OpenSSL.
struct Targets {
    /// The ending of the tables' titles.
    beside: String,
    targets: Vec<Target>,
}

impl Targets {
    fn add(&mut self, outcome: &Outcome) {
        let verdict = match outcome.measured {
            Some(measured) => figure(measured) + &outcome.note,
            None => format!("not measured: {}", outcome.note),
        };
        let targets = &mut self.targets;
        match targets.iter_mut().find(|one| one.name == outcome.target) {
            Some(target) => {
                target.required = outcome.required;
                target.measured.push(verdict);
                target.last = outcome.measured;
                target.met = outcome.met;
            }
            None => targets.push(Target {
                name: outcome.target.clone(),
                required: outcome.required,
                measured: vec![verdict],
                last: outcome.measured,
                met: outcome.met,
            }),
        }
    }

    fn write(&self, out: &mut String) {
        let _ = writeln!(out, "#### Targets{}\n", self.beside);
        out.push_str(TARGETS);
        for target in &self.targets {
            target.write(out);
        }
        out.push('\n');
    }
}

/// A promise of the project, and its result in each run.
struct Target {
    name: String,
    required: f64,
    measured: Vec<String>,
    /// The ratio of the last run.
    last: Option<f64>,
    /// Whether the last run met it.
    met: bool,
}

impl Target {
    fn write(&self, out: &mut String) {
        let met = if self.met { "yes" } else { "**no**" };
        let Self { name, required, .. } = self;
        let required = figure(*required);
        let measured = self.measured.join(", then ");
        let _ = writeln!(out, "| {name} | {required} | {measured} | {met} |");
    }
}

const OARLOCK: &str = "oarlock";
/// The ending of a title before the series.
const WITH_OPENSSL: &str = ", with OpenSSL ";
const TARGETS: &str = "\
What the project requires of itself, and the ratio that each run of the targets reached.

| target | required | measured | met |
|---|--:|--:|---|
";
