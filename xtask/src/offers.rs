//! `cargo xtask offers`: the ratios that the OpenSSL provider starts from, measured on this machine.
//!
//! The command calibrates with each libcrypto, under the mask of each CPU class on both sides. The medians replace the
//! tables of these classes and versions on this family of processors in `tables.rs`; a machine that cannot show a class, or has no libcrypto of a
//! version, leaves its tables as they are. The file is read as it was written, so what does not come out the same was
//! edited by hand: [`check`].

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::cpu_mask;
use crate::openssl_peers;
use crate::processor::Cpu;
use crate::tool::{self, Metadata, Result, cargo};

const TABLES: &str = "crates/engine/src/costs/openssl/tables.rs";
/// The operations' names and variants.
const ALGORITHMS: &str = "crates/engine/src/work/algorithm.rs";
/// Calibrations of each class and library: one may fall into a moment when the machine is busy.
const RUNS: usize = 3;
/// The first of each line of versions. What is measured with any library of a line holds for all of it. OpenSSL has
/// had AES-GCM for AVX-512 since 3.1.
const LINES: [(u32, u32); 3] = [(3, 0), (3, 1), (4, 0)];

/// A class, and the `OARLOCK_CPU` that makes a machine that has more one of it.
struct Class {
    letter: char,
    oarlock: &'static str,
    /// Features that it must still have under the mask, and others that it must not have.
    has: &'static [&'static str],
    lacks: &'static [&'static str],
}

const CLASSES: [Class; 4] = [
    Class {
        letter: 'A',
        oarlock: "",
        has: &["aes", "avx2", "vaes", "avx512"],
        lacks: &[],
    },
    Class {
        letter: 'B',
        oarlock: "-avx512",
        has: &["aes", "avx2", "vaes"],
        lacks: &["avx512"],
    },
    Class {
        letter: 'C',
        oarlock: "-avx512,-vaes,-gfni",
        has: &["aes", "avx2"],
        lacks: &["vaes", "avx512"],
    },
    Class {
        letter: 'D',
        oarlock: "-avx2",
        has: &["aes"],
        lacks: &["avx2"],
    },
];

/// `classes` in letters, and files of libcrypto; without any: all classes, the machine's own library and the peers of the
/// benchmark that `cargo xtask peers openssl` has built.
pub fn run(arguments: &[&str]) -> Result<()> {
    let metadata = Metadata::load()?;
    let operations = Operations::read(&metadata.workspace_root)?;
    let path = metadata.workspace_root.join(TABLES);
    let mut tables = Tables::parse(&read(&path)?)?;
    println!("building the command and the provider");
    let build = ["build", "--release", "--package", "oarlock-cli"];
    tool::output(cargo().args(build).args(["--package", "oarlock-provider"]))?;
    let target = &metadata.target_directory;
    let program = target.join("release/oarlock");
    let (letters, libraries): (Vec<&str>, Vec<&str>) =
        arguments.iter().partition(|argument| is_classes(argument));
    let libraries: Vec<Option<PathBuf>> = match &libraries[..] {
        [] => {
            let built = openssl_peers::built(&target.join("peers"));
            built.into_iter().map(Some).chain([None]).collect()
        }
        given => given.iter().map(|path| Some(path.into())).collect(),
    };
    let processors = Cpu::read()?.line();
    let is_asked = |class: &&Class| letters.is_empty() || letters.concat().contains(class.letter);
    for library in &libraries {
        for class in CLASSES.iter().filter(is_asked) {
            let mut samples = Samples::default();
            for _ in 0..RUNS {
                match calibrate(&program, target, class, library.as_deref())? {
                    Some(calibration) => samples.add(calibration)?,
                    None => break,
                }
            }
            let Some(version) = samples.line else {
                println!("class {}: this CPU cannot show it", class.letter);
                continue;
            };
            let rows = samples.rows(&operations)?;
            println!(
                "class {}, OpenSSL {}.{}: {} rows",
                class.letter,
                version.0,
                version.1,
                rows.len()
            );
            tables.replace(class.letter, version, &processors, rows);
        }
    }
    std::fs::write(&path, tables.to_string())
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// Fails unless the file is as this program would write it.
pub fn check(root: &Path) -> Result<()> {
    let text = read(&root.join(TABLES))?;
    if Tables::parse(&text)?.to_string() == text {
        Ok(())
    } else {
        Err(format!(
            "{TABLES} is not as `cargo xtask offers` writes it: run that, or undo what was edited"
        ))
    }
}

fn is_classes(argument: &str) -> bool {
    let is_one = |letter| CLASSES.iter().any(|class| class.letter == letter);
    !argument.is_empty() && argument.chars().all(is_one)
}

/// What `oarlock provider calibrate --json` says.
#[derive(Deserialize)]
struct Calibration {
    openssl: String,
    offers: Vec<Offer>,
}

#[derive(Deserialize)]
struct Offer {
    operation: String,
    /// By bytes a request.
    ratios: Option<BTreeMap<usize, f64>>,
    source: Option<String>,
}

/// What `oarlock devices --json` says.
#[derive(Deserialize)]
struct Devices {
    features: Vec<String>,
}

/// `None` if the CPU cannot show the class.
fn calibrate(
    program: &Path,
    target: &Path,
    class: &Class,
    library: Option<&Path>,
) -> Result<Option<Calibration>> {
    let masked = |arguments: &[&str]| {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env("OARLOCK_CPU", class.oarlock)
            // Keeps what the owner of this machine has stored.
            .env("OARLOCK_CALIBRATION", target.join("offers"))
            .env("XDG_CACHE_HOME", target.join("plan"))
            .env_remove("OARLOCK_OPTIONS")
            .env_remove("OPENSSL_ia32cap");
        if !class.oarlock.is_empty() {
            command.env("OPENSSL_ia32cap", cpu_mask::for_openssl(class.oarlock));
        }
        command
    };
    let devices = tool::output(&mut masked(&["devices", "--calibrate", "--json"]))?;
    let devices: Devices = serde_json::from_str(&devices).map_err(|error| error.to_string())?;
    let has = |name: &&str| devices.features.iter().any(|feature| feature == name);
    if !class.has.iter().all(has) || class.lacks.iter().any(has) {
        return Ok(None);
    }
    let mut command = masked(&["provider", "calibrate", "--json"]);
    if let Some(library) = library {
        command.arg("--library").arg(library);
    }
    let json = tool::output(&mut command)?;
    let calibration = serde_json::from_str(&json);
    calibration
        .map(Some)
        .map_err(|error| format!("`{}`: {error}", tool::line(&command)))
}

/// Several calibrations of one class and library.
#[derive(Default)]
struct Samples {
    line: Option<(u32, u32)>,
    /// By operation, of each size.
    ratios: BTreeMap<String, [Vec<u32>; 5]>,
}

impl Samples {
    fn add(&mut self, calibration: Calibration) -> Result<()> {
        self.line = Some(line(&calibration.openssl)?);
        for offer in calibration.offers {
            // What the library lacks goes by the tables.
            let is_measured = offer.source.is_some_and(|it| it.starts_with("calibration"));
            let Some(ratios) = offer.ratios.filter(|_| is_measured) else {
                continue;
            };
            let all = self.ratios.entry(offer.operation).or_default();
            // The tables have the first sizes of a calibration.
            for (of_size, ratio) in all.iter_mut().zip(ratios.values()) {
                of_size.push((ratio * 1000.0).round() as u32);
            }
        }
        Ok(())
    }

    /// The medians, in the order of the operations.
    fn rows(&self, operations: &Operations) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for (name, variant) in &operations.0 {
            if let Some(samples) = self.ratios.get(name) {
                let median = |all: &Vec<u32>| {
                    let mut all = all.clone();
                    all.sort_unstable();
                    all.get(all.len() / 2).copied().unwrap_or_default()
                };
                let thousandths = samples.each_ref().map(median);
                rows.push(Row {
                    operation: variant.clone(),
                    thousandths,
                });
            }
        }
        match rows.is_empty() {
            true => Err("nothing was measured".into()),
            false => Ok(rows),
        }
    }
}

/// Returns the line, as (3, 0), of "OpenSSL 3.0.19 27 Jan 2026".
fn line(version: &str) -> Result<(u32, u32)> {
    let wrong = || format!("{version:?} is no version of OpenSSL 3 or newer");
    let number = version.split(' ').nth(1).ok_or_else(wrong)?;
    let mut parts = number.split('.').map(|part| part.parse::<u32>().ok());
    let found = (
        parts.next().flatten().ok_or_else(wrong)?,
        parts.next().flatten().ok_or_else(wrong)?,
    );
    let below = LINES.into_iter().filter(|line| *line <= found);
    below.max().ok_or_else(wrong)
}

/// The operations of the engine: name and variant, in its order.
struct Operations(Vec<(String, String)>);

impl Operations {
    fn read(root: &Path) -> Result<Self> {
        // `    Aes128Ctr "aes-128-ctr" 16 CTR_128,`
        let of_line = |line: &str| {
            let (variant, rest) = line.trim().split_once(" \"")?;
            let (name, rest) = rest.split_once("\" ")?;
            let is_one = variant.chars().all(|c| c.is_ascii_alphanumeric()) && rest.ends_with(',');
            is_one.then(|| (name.to_owned(), variant.to_owned()))
        };
        let text = read(&root.join(ALGORITHMS))?;
        Ok(Self(text.lines().filter_map(of_line).collect()))
    }
}

/// The file.
#[derive(Debug, PartialEq)]
struct Tables(Vec<Table>);

#[derive(Debug, PartialEq)]
struct Table {
    class: char,
    version: (u32, u32),
    processors: String,
    rows: Vec<Row>,
}

#[derive(Debug, PartialEq)]
struct Row {
    operation: String,
    thousandths: [u32; 5],
}

impl Table {
    /// What there is one table of.
    fn key(&self) -> (char, (u32, u32), &str) {
        (self.class, self.version, &self.processors)
    }
}

impl Tables {
    fn replace(&mut self, class: char, version: (u32, u32), processors: &str, rows: Vec<Row>) {
        let table = Table {
            class,
            version,
            processors: processors.into(),
            rows,
        };
        self.0.retain(|other| other.key() != table.key());
        self.0.push(table);
        self.0.sort_by(|one, other| one.key().cmp(&other.key()));
    }

    /// Line by line, as [`Display`](fmt::Display) writes it.
    fn parse(text: &str) -> Result<Self> {
        let mut tables: Vec<Table> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let wrong = || format!("{TABLES}, line {}: not as it is generated", number + 1);
            let line = line.trim();
            if let Some(value) = line.strip_prefix("class: CpuClass::") {
                tables.push(Table {
                    class: value.chars().next().ok_or_else(wrong)?,
                    version: (0, 0),
                    processors: String::new(),
                    rows: Vec::new(),
                });
            } else if let Some(value) = line.strip_prefix("version: (") {
                let numbers: Vec<u32> = numbers(value.trim_end_matches("),"));
                let [major, minor] = numbers[..] else {
                    return Err(wrong());
                };
                tables.last_mut().ok_or_else(wrong)?.version = (major, minor);
            } else if let Some(value) = line.strip_prefix("processors: ") {
                let name = value.trim_end_matches(',').trim_matches('"');
                tables.last_mut().ok_or_else(wrong)?.processors = name.into();
            } else if let Some(value) = line.strip_prefix("row(") {
                let (operation, rest) = value.split_once(", [").ok_or_else(wrong)?;
                let thousandths = numbers(rest.trim_end_matches("]),"));
                let row = Row {
                    operation: operation.into(),
                    thousandths: thousandths.try_into().map_err(|_| wrong())?,
                };
                tables.last_mut().ok_or_else(wrong)?.rows.push(row);
            }
        }
        Ok(Self(tables))
    }
}

fn numbers(text: &str) -> Vec<u32> {
    text.split(", ").filter_map(|it| it.parse().ok()).collect()
}

impl fmt::Display for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HEAD)?;
        for table in &self.0 {
            let (major, minor) = table.version;
            write!(
                f,
                "    Table {{\n        class: CpuClass::{},\n        version: ({major}, {minor}),\n        processors: {:?},\n        rows: &[\n",
                table.class, table.processors
            )?;
            for Row {
                operation,
                thousandths,
            } in &table.rows
            {
                writeln!(f, "            row({operation}, {thousandths:?}),")?;
            }
            f.write_str("        ],\n    },\n")?;
        }
        f.write_str("];\n")
    }
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

const HEAD: &str = "\
//! Generated by `cargo xtask offers`, which replaces what it measures and leaves the rest: not to be edited by hand.

use super::table::{Table, row};
use crate::costs::class::CpuClass;
use crate::work::algorithm::Algorithm::*;

/// Rows: rates in thousandths of OpenSSL's own, with requests of 16, 64, 256, 1024 and 16384 bytes.
#[rustfmt::skip]
pub(super) const TABLES: &[Table] = &[
";

#[cfg(test)]
mod tests {
    use super::*;

    fn table(class: char, version: (u32, u32), ratio: u32) -> Table {
        Table {
            class,
            version,
            processors: "X 6 0-15".into(),
            rows: vec![Row {
                operation: "Aes128Ctr".into(),
                thousandths: [ratio; 5],
            }],
        }
    }

    #[test]
    fn what_is_written_is_read_and_replaced_in_its_place() {
        let mut tables = Tables(vec![table('A', (3, 0), 1000), table('B', (3, 0), 970)]);
        assert_eq!(Tables::parse(&tables.to_string()).unwrap(), tables);
        tables.replace('A', (3, 1), "X 6 0-15", table('A', (3, 1), 2).rows);
        tables.replace('B', (3, 0), "X 6 0-15", table('B', (3, 0), 3).rows);
        tables.replace('B', (3, 0), "X 6 16-31", table('B', (3, 0), 4).rows);
        let other = Table {
            processors: "X 6 16-31".into(),
            ..table('B', (3, 0), 4)
        };
        let expected = Tables(vec![
            table('A', (3, 0), 1000),
            table('A', (3, 1), 2),
            table('B', (3, 0), 3),
            other,
        ]);
        assert_eq!(tables, expected);
        assert!(Tables::parse("row(x, [1, 2]),").is_err());
    }

    #[test]
    fn a_library_stands_for_its_line() {
        for (version, expected) in [
            ("OpenSSL 3.0.19 27 Jan 2026", Some((3, 0))),
            ("OpenSSL 3.1.0 1 Mar 2023", Some((3, 1))),
            ("OpenSSL 3.6.1 1 Jan 2026", Some((3, 1))),
            ("OpenSSL 4.0.3 1 Jul 2026", Some((4, 0))),
            ("OpenSSL 1.1.1w 11 Sep 2023", None),
            ("", None),
        ] {
            assert_eq!(line(version).ok(), expected, "{version}");
        }
    }

    #[test]
    fn medians_of_what_was_measured_make_rows() {
        let mut samples = Samples::default();
        for ratio in [1.2, 0.9, 1.1] {
            let offer = |source: &str| Offer {
                operation: "aes-128-ctr".into(),
                ratios: Some((0..5).map(|size| (size, ratio)).collect()),
                source: Some(source.into()),
            };
            let calibration = Calibration {
                openssl: "OpenSSL 3.5.5 1 Jan 2026".into(),
                offers: vec![
                    offer("calibration of 2026-11-23"),
                    offer("table of CPU class A"),
                ],
            };
            samples.add(calibration).unwrap();
        }
        let operations = Operations(vec![
            ("aes-192-ctr".into(), "Aes192Ctr".into()),
            ("aes-128-ctr".into(), "Aes128Ctr".into()),
        ]);
        let rows = samples.rows(&operations).unwrap();
        assert_eq!(rows, table('A', (3, 1), 1100).rows);
        assert_eq!(samples.line, Some((3, 1)));
        assert!(Samples::default().rows(&operations).is_err());
    }
}
