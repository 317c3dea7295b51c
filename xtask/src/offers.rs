//! `cargo xtask offers`: the ratios that the OpenSSL provider starts from, measured on this machine.
//!
//! The command calibrates with each libcrypto, under the mask of each CPU class on both sides. The medians replace the rows
//! of these classes and versions in the file of this [`Family`]. If the machine cannot show a class, has no libcrypto of a
//! version, or is too busy to measure an operation, the rows are kept.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};

use crate::cpu_mask;
use crate::families::{Family, RATIOS};
use crate::openssl_peers;
use crate::processor::Cpu;
use crate::tool::{self, Result, cargo};

/// Calibrations of each class and library, in case the machine is busy during one.
const RUNS: usize = 3;
/// Request sizes in the tables.
const SIZES: usize = 5;
/// The first version of each line. A measurement with any library of a line applies to the whole line. OpenSSL has had
/// AES-GCM for AVX-512 since 3.1.
const LINES: [(u32, u32); 3] = [(3, 0), (3, 1), (4, 0)];

/// A class, and the `OARLOCK_CPU` that restricts a more capable machine to it.
struct Class {
    letter: char,
    oarlock: &'static str,
    /// Features that must remain under the mask, and features that must be gone.
    has: &'static [&'static str],
    lacks: &'static [&'static str],
}

impl Class {
    /// Returns whether a CPU with these features, as the mask leaves them, is of this class.
    fn shows(&self, features: &[String]) -> bool {
        let has = |name: &&str| features.iter().any(|feature| feature == name);
        self.has.iter().all(has) && !self.lacks.iter().any(has)
    }
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

/// Runs with class letters in `classes`, and libcrypto files. By default: all classes, with the machine's own library and
/// the benchmark's peers that `cargo xtask peers openssl` has built.
pub fn run(root: &Path, target: &Path, arguments: &[&str]) -> Result<()> {
    let (mut family, path) = Family::find(root, RATIOS, &Cpu::read()?)?;
    println!("building the command and the provider");
    let build = ["build", "--release", "--package", "oarlock-cli"];
    tool::output(cargo().args(build).args(["--package", "oarlock-provider"]))?;
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
            let section = format!("{} {}.{}", class.letter, version.0, version.1);
            let rows = samples.rows()?;
            println!("class and OpenSSL {section}: {} rows", rows.len());
            family.update(&section, rows);
        }
    }
    family.write(&path)
}

fn is_classes(argument: &str) -> bool {
    let is_one = |letter| CLASSES.iter().any(|class| class.letter == letter);
    !argument.is_empty() && argument.chars().all(is_one)
}

/// The output of `oarlock provider calibrate --json`.
#[derive(Deserialize)]
struct Calibration {
    openssl: String,
    offers: Vec<Offer>,
}

#[derive(Deserialize)]
struct Offer {
    operation: String,
    ratios: Option<Ratios>,
    source: Option<String>,
}

/// Ratios by request bytes or by kind of call, in the document's order.
struct Ratios(Vec<(String, f64)>);

impl<'de> Deserialize<'de> for Ratios {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Ratios;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("ratios by bytes or call")
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut map: A,
            ) -> std::result::Result<Ratios, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Ratios(pairs))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

/// The output of `oarlock devices --json`.
#[derive(Deserialize)]
struct Devices {
    features: Vec<String>,
}

/// Calibrates one class and library; returns `None` if the CPU cannot show the class. A CPU that is of the class by itself
/// is not masked, so that OpenSSL keeps what the classes do not tell apart: on Skylake it uses AVX-512, and Oarlock does not.
fn calibrate(
    program: &Path,
    target: &Path,
    class: &Class,
    library: Option<&Path>,
) -> Result<Option<Calibration>> {
    for mask in ["", class.oarlock] {
        let masked = |arguments: &[&str]| {
            let mut command = Command::new(program);
            command
                .args(arguments)
                .env("OARLOCK_CPU", mask)
                // Does not overwrite the calibration that this machine's user has stored.
                .env("OARLOCK_CALIBRATION", target.join("offers"))
                .env("XDG_CACHE_HOME", target.join("plan"))
                .env_remove("OARLOCK_OPTIONS")
                .env_remove("OPENSSL_ia32cap");
            if !mask.is_empty() {
                command.env("OPENSSL_ia32cap", cpu_mask::for_openssl(mask));
            }
            command
        };
        if !class.shows(&features(&mut masked(&["devices", "--json"]))?) {
            continue;
        }
        tool::output(&mut masked(&["devices", "--calibrate", "--json"]))?;
        let mut command = masked(&["provider", "calibrate", "--json"]);
        if let Some(library) = library {
            command.arg("--library").arg(library);
        }
        let json = tool::output(&mut command)?;
        let calibration = serde_json::from_str(&json);
        return calibration
            .map(Some)
            .map_err(|error| format!("`{}`: {error}", tool::line(&command)));
    }
    Ok(None)
}

/// Returns the CPU features that `oarlock devices --json` lists.
fn features(command: &mut Command) -> Result<Vec<String>> {
    let devices = tool::output(command)?;
    let devices: Devices = serde_json::from_str(&devices).map_err(|error| error.to_string())?;
    Ok(devices.features)
}

/// Several calibrations of one class and library.
#[derive(Default)]
struct Samples {
    line: Option<(u32, u32)>,
    /// Ratios of each size or call, by operation.
    ratios: BTreeMap<String, Vec<Vec<u32>>>,
}

impl Samples {
    fn add(&mut self, calibration: Calibration) -> Result<()> {
        self.line = Some(line(&calibration.openssl)?);
        for offer in calibration.offers {
            // For operations that the library lacks, the source is the tables.
            let is_measured = offer.source.is_some_and(|it| it.starts_with("calibration"));
            let Some(ratios) = offer.ratios.filter(|_| is_measured) else {
                continue;
            };
            // The tables have the first sizes of a calibration, and all calls.
            let is_by_size = ratios.0.iter().all(|(at, _)| at.parse::<usize>().is_ok());
            let count = if is_by_size { SIZES } else { ratios.0.len() };
            let all = self.ratios.entry(offer.operation).or_default();
            all.resize(count, Vec::new());
            for (of_one, (_, ratio)) in all.iter_mut().zip(ratios.0) {
                of_one.push((ratio * 1000.0).round() as u32);
            }
        }
        Ok(())
    }

    /// Returns the rows of medians.
    fn rows(&self) -> Result<Vec<String>> {
        let median = |all: &Vec<u32>| {
            let mut all = all.clone();
            all.sort_unstable();
            let middle = all.get(all.len() / 2).copied().unwrap_or_default();
            middle.to_string()
        };
        let row = |(name, samples): (&String, &Vec<Vec<u32>>)| {
            let medians: Vec<_> = samples.iter().map(median).collect();
            format!("{name} {}", medians.join(" "))
        };
        let rows: Vec<_> = self.ratios.iter().map(row).collect();
        match rows.is_empty() {
            true => Err("nothing was measured".into()),
            false => Ok(rows),
        }
    }
}

/// Returns the line, such as (3, 0), of "OpenSSL 3.0.19 27 Jan 2026".
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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_cpu_is_of_one_class_by_itself() {
        for (features, expected) in [
            (&["ssse3", "aes", "avx2", "vaes", "avx512"][..], "A"),
            (&["ssse3", "aes", "avx2", "vaes"], "B"),
            // Skylake: its AVX-512 lacks what the kernels need.
            (&["ssse3", "aes", "avx2", "fma"], "C"),
            (&["ssse3", "aes"], "D"),
            (&["ssse3"], ""),
        ] {
            let features: Vec<_> = features.iter().map(|&it| it.to_owned()).collect();
            let shown = CLASSES.iter().filter(|class| class.shows(&features));
            let letters: String = shown.map(|class| class.letter).collect();
            assert_eq!(letters, expected, "{features:?}");
        }
    }

    #[test]
    fn medians_of_what_was_measured_make_rows() {
        let mut samples = Samples::default();
        for ratio in ["1.2", "0.9", "1.1"] {
            let offer = |operation: &str, source: &str, each: &[&str]| {
                let pairs = each.iter().map(|at| format!("{at:?}:{ratio}"));
                let pairs = pairs.collect::<Vec<_>>().join(",");
                format!(
                    r#"{{"operation":"{operation}","source":"{source}","ratios":{{{pairs},"share":2}}}}"#
                )
            };
            let sizes = ["16", "64", "256", "1024", "16384", "32768"];
            let json = [
                offer("aes-128-ctr", "calibration of 2026-11-23", &sizes)
                    .replace(",\"share\":2", ""),
                offer("aes-192-ctr", "table of CPU class A", &sizes),
                offer("x25519", "calibration of 2026-11-23", &["generate"]),
            ];
            let json = format!(
                r#"{{"openssl":"OpenSSL 3.5.5 1 Jan 2026","offers":[{}]}}"#,
                json.join(",")
            );
            samples.add(serde_json::from_str(&json).unwrap()).unwrap();
        }
        assert_eq!(
            samples.rows().unwrap(),
            ["aes-128-ctr 1100 1100 1100 1100 1100", "x25519 1100 2000"]
        );
        assert_eq!(samples.line, Some((3, 1)));
        assert!(Samples::default().rows().is_err());
    }
}
