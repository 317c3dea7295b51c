//! `cargo xtask performance`: writes docs/performance.md from the records below bench/records.
//!
//! The page has a section for each class of CPUs and, in it, one for each record. What stands below
//! [`MARK`] was written by hand and is kept as it is. Of two lines about the same point, the later
//! one of a record counts; targets show the figures of every run, in order.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::tool::{Metadata, Result};

/// Writes the page anew.
pub fn run() -> Result<()> {
    let root = Metadata::load()?.workspace_root;
    let text = page(&root)?;
    let path = root.join(PAGE);
    fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    println!("{PAGE} is written: commit it with the records");
    Ok(())
}

/// Fails unless the page is as this program would write it.
pub fn check(root: &Path) -> Result<()> {
    if page(root)? == read(&root.join(PAGE))? {
        Ok(())
    } else {
        Err(format!(
            "{PAGE} is not what the records give: run `cargo xtask performance`, or undo the edit \
             above its mark"
        ))
    }
}

/// The whole page, with the part of the present one that was written by hand.
fn page(root: &Path) -> Result<String> {
    let by_hand = match fs::read_to_string(root.join(PAGE)) {
        Ok(text) => {
            let start = text.find(MARK).ok_or_else(|| {
                format!("{PAGE} has lost its mark: put the line {MARK:?} above what is kept")
            })?;
            text[start..].to_owned()
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => format!("{MARK}\n"),
        Err(error) => return Err(format!("{PAGE}: {error}")),
    };
    Ok(generated(&records(root)?) + &by_hand)
}

/// All records, the newest first.
fn records(root: &Path) -> Result<Vec<Record>> {
    let mut paths = Vec::new();
    for folder in entries(&root.join(RECORDS))? {
        paths.extend(entries(&folder)?);
    }
    paths.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "jsonl")
    });
    if paths.is_empty() {
        return Err(format!("found no records below {RECORDS}"));
    }
    let mut records = Vec::new();
    for path in paths {
        let name = path.strip_prefix(root).unwrap_or(&path).display();
        records.push(Record::parse(&name.to_string(), &read(&path)?)?);
    }
    records.sort_by(|a, b| (&b.date, &a.path).cmp(&(&a.date, &b.path)));
    Ok(records)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let failed = |error| format!("{}: {error}", folder.display());
    let listing = fs::read_dir(folder).map_err(failed)?;
    listing
        .map(|entry| entry.map(|entry| entry.path()).map_err(failed))
        .collect()
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn generated(records: &[Record]) -> String {
    let mut out = OPENING.to_owned();
    for class in CLASSES {
        let count = records.iter().filter(|one| one.class == class.name).count();
        let count = match count {
            0 => "none".to_owned(),
            count => count.to_string(),
        };
        let Class { name, what, .. } = class;
        let _ = writeln!(out, "| {name} | {what} | {count} |");
    }
    out.push('\n');
    for class in CLASSES {
        let mut of_class = records.iter().filter(|one| one.class == class.name);
        if let Some(first) = of_class.next() {
            let _ = writeln!(out, "## Class {}: {}\n", class.name, class.what);
            first.write(&mut out);
            of_class.for_each(|record| record.write(&mut out));
        }
    }
    out
}

/// One file.
struct Record {
    /// From the root of the repository.
    path: String,
    class: &'static str,
    cpu: String,
    cores: usize,
    kernel: String,
    date: String,
    /// Of all runs, each once.
    versions: Vec<String>,
    tables: Vec<Table>,
    targets: Vec<Target>,
}

impl Record {
    fn parse(path: &str, text: &str) -> Result<Self> {
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
        for version in machines.flat_map(|machine| &machine.versions) {
            if !record.versions.contains(version) {
                record.versions.push(version.clone());
            }
        }
        record.add(&lines, features);
        Ok(record)
    }

    /// Arranges `lines`, of which those of a machine begin a run. `features` are those that the CPU
    /// has when none is hidden.
    fn add(&mut self, lines: &[Line], features: &str) {
        let mut hidden = String::new();
        // Peers have one thread whatever Oarlock has, whose line comes first.
        let mut threads = 1;
        for line in lines {
            match line {
                Line::Machine(machine) => {
                    let run = machine.features().unwrap_or(features);
                    hidden = match run == features {
                        true => String::new(),
                        false => format!(", with {run} alone"),
                    };
                }
                Line::Rate(rate) => {
                    if rate.implementation == OARLOCK {
                        threads = rate.at.threads;
                    }
                    let title = rate.at.title(&rate.unit, threads, &hidden);
                    let point = rate.at.point();
                    self.table(title).rate(point, rate);
                }
                Line::Ratio(ratio) => {
                    let ending = ratio.at.title("", threads, &hidden);
                    let point = ratio.at.point();
                    let mut tables = self.tables.iter_mut();
                    let table = tables.find(|table| {
                        let is_beside = table.title.ends_with(&ending);
                        is_beside && table.rows.iter().any(|row| row.point == point)
                    });
                    if let Some(table) = table {
                        table.ratio(point, ratio);
                    }
                }
                Line::Outcome(outcome) => self.outcome(outcome),
            }
        }
    }

    fn table(&mut self, title: String) -> &mut Table {
        let tables = &mut self.tables;
        let at = tables.iter().position(|table| table.title == title);
        let at = at.unwrap_or_else(|| {
            tables.push(Table {
                title,
                columns: Vec::new(),
                rows: Vec::new(),
            });
            tables.len() - 1
        });
        &mut tables[at]
    }

    fn outcome(&mut self, outcome: &Outcome) {
        let verdict = match outcome.measured {
            Some(measured) => figure(measured) + &outcome.note,
            None => format!("not measured: {}", outcome.note),
        };
        let targets = &mut self.targets;
        match targets.iter_mut().find(|one| one.name == outcome.target) {
            Some(target) => {
                target.required = outcome.required;
                target.measured.push(verdict);
                target.met = outcome.met;
            }
            None => targets.push(Target {
                name: outcome.target.clone(),
                required: outcome.required,
                measured: vec![verdict],
                met: outcome.met,
            }),
        }
    }

    fn write(&self, out: &mut String) {
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
            "[Record](../{path}). Linux {kernel}. Measured: {versions}.\n"
        );
        for table in &self.tables {
            table.write(out);
        }
        if !self.targets.is_empty() {
            out.push_str(TARGETS);
            for target in &self.targets {
                target.write(out);
            }
            out.push('\n');
        }
    }
}

/// What was measured in one way: points down, implementations across.
struct Table {
    title: String,
    /// Implementations.
    columns: Vec<String>,
    rows: Vec<Row>,
}

impl Table {
    fn rate(&mut self, point: Point, rate: &Rate) {
        let mut text = figure(rate.median);
        if let (Some(p50), Some(p99)) = (rate.latency_us_p50, rate.latency_us_p99) {
            let _ = write!(text, "; {} / {} µs", figure(p50), figure(p99));
        }
        self.cell(point, &rate.implementation).rate = text;
    }

    fn ratio(&mut self, point: Point, ratio: &Ratio) {
        let name = match ratio.vs_depth {
            Some(depth) => format!("{} with {depth} in flight", ratio.vs),
            None => ratio.vs.clone(),
        };
        self.cell(point, &name).ratio = format!("{}x", figure(ratio.ratio_median));
    }

    fn cell(&mut self, point: Point, name: &str) -> &mut Cell {
        if !self.columns.iter().any(|column| column == name) {
            self.columns.push(name.to_owned());
        }
        let rows = &mut self.rows;
        let at = rows.iter().position(|row| row.point == point);
        let at = at.unwrap_or_else(|| {
            let cells = Vec::new();
            rows.push(Row { point, cells });
            rows.len() - 1
        });
        let cells = &mut rows[at].cells;
        let at = cells.iter().position(|cell| cell.name == name);
        let at = at.unwrap_or_else(|| {
            cells.push(Cell {
                name: name.to_owned(),
                rate: String::new(),
                ratio: String::new(),
            });
            cells.len() - 1
        });
        &mut cells[at]
    }

    fn write(&self, out: &mut String) {
        let has_depths = self.rows.iter().any(|row| row.point.depth > 1);
        let depth = |text: &str| match has_depths {
            true => format!(" {text} |"),
            false => String::new(),
        };
        let _ = writeln!(out, "#### {}\n", self.title);
        let _ = write!(out, "| case | bytes |{}", depth("in flight"));
        for column in &self.columns {
            let _ = write!(out, " {column} |");
        }
        let _ = write!(out, "\n|---|--:|{}", depth("--:").replace(' ', ""));
        out.push_str(&"--:|".repeat(self.columns.len()));
        out.push('\n');
        for row in &self.rows {
            let Point { case, bytes, .. } = &row.point;
            let in_flight = depth(&row.point.depth.to_string());
            let _ = write!(out, "| {case} | {} |{in_flight}", size(*bytes));
            for column in &self.columns {
                let cell = row.cells.iter().find(|cell| cell.name == *column);
                let _ = write!(out, " {} |", cell.map(Cell::text).unwrap_or_default());
            }
            out.push('\n');
        }
        out.push('\n');
    }
}

struct Row {
    point: Point,
    cells: Vec<Cell>,
}

/// What tells rows apart.
#[derive(PartialEq)]
struct Point {
    case: String,
    bytes: usize,
    depth: usize,
}

/// One implementation at one point.
struct Cell {
    name: String,
    rate: String,
    ratio: String,
}

impl Cell {
    fn text(&self) -> String {
        match (self.rate.is_empty(), self.ratio.is_empty()) {
            (false, false) => format!("{} ({})", self.rate, self.ratio),
            (false, true) => self.rate.clone(),
            (true, _) => self.ratio.clone(),
        }
    }
}

/// A promise of the project's to itself, and what came of it in each run.
struct Target {
    name: String,
    required: f64,
    measured: Vec<String>,
    /// In the last run.
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

/// A line of a record, as `oarlock-bench --record` writes it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Machine(Machine),
    Rate(Rate),
    Ratio(Ratio),
    Outcome(Outcome),
}

/// Begins a run.
#[derive(Deserialize)]
struct Machine {
    cpu: String,
    cores: usize,
    kernel: String,
    versions: Vec<String>,
    date: String,
}

impl Machine {
    /// Those of the CPU, where Oarlock was measured by the harness itself.
    fn features(&self) -> Option<&str> {
        let versions = self.versions.iter();
        let mut ours = versions.filter(|version| version.starts_with("Oarlock "));
        let (_, features) = ours.next()?.split_once('(')?;
        features.strip_suffix(')')
    }
}

#[derive(Deserialize)]
struct Rate {
    #[serde(rename = "impl")]
    implementation: String,
    unit: String,
    median: f64,
    latency_us_p50: Option<f64>,
    latency_us_p99: Option<f64>,
    #[serde(flatten)]
    at: At,
}

#[derive(Deserialize)]
struct Ratio {
    vs: String,
    ratio_median: f64,
    vs_depth: Option<usize>,
    #[serde(flatten)]
    at: At,
}

/// What was measured, and in which way.
#[derive(Deserialize)]
struct At {
    case: String,
    threads: usize,
    bytes: usize,
    mode: Option<String>,
    idle_ms: Option<u64>,
    call_bytes: Option<usize>,
    #[serde(default)]
    fresh_nonce: bool,
    depth: Option<usize>,
    strategy: Option<String>,
    callers: Option<usize>,
}

impl At {
    fn point(&self) -> Point {
        Point {
            case: self.case.clone(),
            bytes: self.bytes,
            depth: self.depth.unwrap_or(1),
        }
    }

    /// Of the table. Ends alike for all units.
    fn title(&self, unit: &str, threads: usize, hidden: &str) -> String {
        let mut title = format!("{unit}, {threads} thread");
        if threads > 1 {
            title += "s of Oarlock, 1 of the others";
        }
        if let Some(mode) = &self.mode {
            title += ", ";
            title += &mode.replace('-', " ");
        }
        if let Some(ms) = self.idle_ms {
            let _ = write!(title, ", {ms} ms of idleness before each");
        }
        if let Some(bytes) = self.call_bytes {
            let _ = write!(title, ", in calls of {}", size(bytes));
        }
        if self.fresh_nonce {
            title += ", a new nonce in each call";
        }
        if let Some(strategy) = &self.strategy {
            let _ = write!(title, ", strategy {strategy}");
        }
        if let Some(callers) = self.callers {
            let _ = write!(title, ", {callers} callers that wait");
        }
        title + hidden
    }
}

#[derive(Deserialize)]
struct Outcome {
    target: String,
    required: f64,
    measured: Option<f64>,
    met: bool,
    note: String,
}

fn class_of(features: &str) -> &'static str {
    let has = |feature: &&str| features.split(' ').any(|one| one == *feature);
    let fits = |class: &&Class| class.needs.iter().all(has);
    CLASSES.iter().find(fits).map_or("F", |class| class.name)
}

/// Three significant digits.
fn figure(value: f64) -> String {
    let decimals = match value.abs() {
        0.0..0.1 => 4,
        0.1..10.0 => 2,
        10.0..100.0 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

fn size(bytes: usize) -> String {
    match bytes {
        0 => String::new(),
        _ if bytes.is_multiple_of(1 << 30) => format!("{} GiB", bytes >> 30),
        _ if bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ if bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => bytes.to_string(),
    }
}

struct Class {
    name: &'static str,
    what: &'static str,
    /// As records name features.
    needs: &'static [&'static str],
}

/// The first that fits counts. Early records do not name AVX2 and IFMA, which every CPU with VAES,
/// and every CPU with VAES and AVX-512, has.
const CLASSES: &[Class] = &[
    Class {
        name: "A",
        what: "AVX-512, VAES and IFMA",
        needs: &["vaes", "avx512"],
    },
    Class {
        name: "B",
        what: "AVX2, VAES and VPCLMULQDQ",
        needs: &["vaes"],
    },
    Class {
        name: "C",
        what: "AVX2 and AES-NI",
        needs: &["avx2", "aes"],
    },
    Class {
        name: "D",
        what: "SSE and AES-NI",
        needs: &["aes"],
    },
    Class {
        name: "E",
        what: "AVX2 without AES instructions",
        needs: &["avx2"],
    },
    Class {
        name: "F",
        what: "none of these",
        needs: &[],
    },
];
const OARLOCK: &str = "oarlock";
const PAGE: &str = "docs/performance.md";
const RECORDS: &str = "bench/records";
const MARK: &str = "<!-- Below this line the page is written by hand. -->";
const OPENING: &str = "\
# Performance

`cargo xtask performance` writes this page from the [records](../bench/records); `cargo xtask structure` fails when it is out of
date. The part below the last generated table is written by hand: it holds figures that no record holds.

Machines differ and are noisy. Compare ratios, which Oarlock and its peer reached in one run and in turn, and never
absolute figures of two runs. GB/s are 10^9 bytes a second. A cell holds the median and, in brackets, the median ratio of Oarlock over that peer;
`inline` is Oarlock itself on the calling thread alone. Outputs were compared before anything was measured.

| class | CPU | records |
|---|---|--:|
";
const TARGETS: &str = "\
#### Targets

What the project requires of itself, and the ratio that each run of the targets reached.

| target | required | measured | met |
|---|--:|--:|---|
";

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: &str = r#"{"machine":"x86_64","cpu":"Fast CPU","cores":2,"kernel":"6.1","versions":["Oarlock 0.1.0 (aes avx2 vaes)","OpenSSL 3.0.19"],"date":"2026-11-22"}"#;

    fn parse(lines: &[&str]) -> Record {
        Record::parse("bench/records/fast/2026-11-22.jsonl", &lines.join("\n")).unwrap()
    }

    fn written(lines: &[&str]) -> String {
        generated(&[parse(lines)])
    }

    fn ours(median: f64, threads: usize) -> String {
        format!(
            r#"{{"case":"aes-128-ctr","impl":"oarlock","threads":{threads},"bytes":16384,"unit":"GB/s","median":{median},"min":1.0,"max":2.0,"runs":3,"verified":true}}"#
        )
    }

    const THEIRS: &str = r#"{"case":"aes-128-ctr","impl":"openssl","threads":1,"bytes":16384,"unit":"GB/s","median":9.5,"min":9.0,"max":10.0,"runs":3,"verified":true}"#;

    fn over(threads: usize) -> String {
        format!(
            r#"{{"case":"aes-128-ctr","vs":"openssl","threads":{threads},"bytes":16384,"ratio_median":2.0,"ratio_min":1.0,"ratio_max":3.0}}"#
        )
    }

    #[test]
    fn a_row_holds_all_implementations_of_a_point_and_the_later_run_counts() {
        let (first, ratio, later) = (ours(19.0, 1), over(1), ours(18.0, 1));
        let text = written(&[MACHINE, &first, THEIRS, &ratio, MACHINE, &later]);
        assert!(
            text.contains(
                "#### GB/s, 1 thread\n\n\
                 | case | bytes | oarlock | openssl |\n|---|--:|--:|--:|\n\
                 | aes-128-ctr | 16 KiB | 18.0 | 9.50 (2.00x) |\n\n"
            ),
            "{text}"
        );
        assert!(
            text.contains(
                "## Class B: AVX2, VAES and VPCLMULQDQ\n\n### Fast CPU, 2 cores, 2026-11-22\n"
            ),
            "{text}"
        );
        assert!(!text.contains("## Class A"), "{text}");
    }

    #[test]
    fn peers_stand_beside_oarlock_with_more_threads_than_theirs() {
        let (two, ratio) = (ours(38.0, 2), over(2));
        let text = written(&[MACHINE, &two, THEIRS, &ratio]);
        let row = "#### GB/s, 2 threads of Oarlock, 1 of the others\n\n\
                   | case | bytes | oarlock | openssl |\n|---|--:|--:|--:|\n\
                   | aes-128-ctr | 16 KiB | 38.0 | 9.50 (2.00x) |\n";
        assert!(text.contains(row), "{text}");
    }

    #[test]
    fn what_a_mask_hid_has_a_table_of_its_own() {
        let masked = MACHINE.replace("aes avx2 vaes", "aes");
        let (whole, narrow) = (ours(19.0, 1), ours(5.0, 1));
        let text = written(&[MACHINE, &whole, &masked, &narrow]);
        assert!(text.contains("#### GB/s, 1 thread\n"), "{text}");
        assert!(
            text.contains("#### GB/s, 1 thread, with aes alone\n"),
            "{text}"
        );
    }

    #[test]
    fn requests_in_flight_have_a_column_and_latencies() {
        let line = r#"{"case":"rsa-2048-sign","impl":"oarlock","threads":1,"bytes":256,"unit":"op/s","median":10600.0,"min":1.0,"max":2.0,"runs":3,"verified":true,"depth":64,"latency_us_p50":5900.0,"latency_us_p90":6000.0,"latency_us_p99":6100.0}"#;
        let text = written(&[MACHINE, line]);
        let table = "| case | bytes | in flight | oarlock |\n|---|--:|--:|--:|\n\
                     | rsa-2048-sign | 256 | 64 | 10600; 5900 / 6100 µs |\n";
        assert!(text.contains(table), "{text}");
    }

    #[test]
    fn targets_tell_every_run() {
        let outcome = |measured: &str, met: bool| {
            format!(
                r#"{{"target":"aes 64: over openssl","required":1.3,"measured":{measured},"min":1.0,"max":2.0,"met":{met},"note":""}}"#
            )
        };
        let (met, missed) = (outcome("3.0469", true), outcome("0.87284", false));
        let text = written(&[MACHINE, &met, MACHINE, &missed]);
        let row = "| aes 64: over openssl | 1.30 | 3.05, then 0.87 | **no** |\n";
        assert!(text.contains(row), "{text}");
    }

    #[test]
    fn classes_go_by_features() {
        for (features, class) in [
            ("aes vaes avx512 face", "A"),
            ("aes avx2 vaes avx512 gfni face ifma", "A"),
            ("aes avx2 vaes gfni", "B"),
            ("aes avx2", "C"),
            ("aes", "D"),
            ("avx2 gfni", "E"),
            ("", "F"),
        ] {
            assert_eq!(class_of(features), class, "{features}");
        }
    }

    #[test]
    fn figures_have_three_digits_and_sizes_a_unit() {
        let figures = [0.0123, 0.9, 3.04, 22.17, 411.27].map(figure);
        assert_eq!(figures, ["0.0123", "0.90", "3.04", "22.2", "411"]);
        let sizes = [64, 1 << 10, 48 << 20, 2 << 30].map(size);
        assert_eq!(sizes, ["64", "1 KiB", "48 MiB", "2 GiB"]);
    }

    #[test]
    fn a_broken_record_is_named() {
        let error = Record::parse("a.jsonl", &format!("{MACHINE}\n{{}}")).err();
        assert_eq!(error.unwrap(), "a.jsonl:2: not a line of a record");
        let error = Record::parse("a.jsonl", THEIRS).err();
        assert_eq!(error.unwrap(), "a.jsonl: does not begin with the machine");
        let nameless = MACHINE.replace("Oarlock 0.1.0 (aes avx2 vaes)", "AWS-LC");
        let error = Record::parse("a.jsonl", &nameless).err().unwrap();
        assert!(error.contains("no run names the features"), "{error}");
    }

    #[test]
    fn an_edit_above_the_mark_is_found_and_one_below_is_kept() {
        let root = std::env::temp_dir().join(format!("oarlock-performance-{}", std::process::id()));
        let folder = root.join(RECORDS).join("fast");
        fs::create_dir_all(&folder).unwrap();
        fs::create_dir_all(root.join("docs")).unwrap();
        let record = format!("{MACHINE}\n{}\n", ours(19.0, 1));
        fs::write(folder.join("2026-11-22.jsonl"), record).unwrap();
        let path = root.join(PAGE);
        let text = page(&root).unwrap() + "By hand.\n";
        fs::write(&path, &text).unwrap();
        let whole = check(&root);
        fs::write(&path, text.replace("19.0", "91.0")).unwrap();
        let edited = check(&root);
        let again = page(&root).unwrap();
        fs::write(&path, text.replace(MARK, "")).unwrap();
        let unmarked = check(&root);
        fs::remove_dir_all(&root).unwrap();
        whole.unwrap();
        assert!(edited.unwrap_err().contains("cargo xtask performance"));
        assert_eq!(again, text);
        assert!(unmarked.unwrap_err().contains("has lost its mark"));
    }

    #[test]
    fn the_checked_in_page_is_what_the_records_give() {
        check(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))).unwrap();
    }
}
