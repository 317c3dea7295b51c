//! The result of each test, stock and with the provider, and their differences.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

use super::table::Package;
use super::tree::{Ran, Tree};
use crate::files;
use crate::tool::{self, Result};

/// The results of one package, as a file keeps them.
#[derive(Serialize, Deserialize)]
pub struct Outcome {
    /// The version of the binary packages, or of the source where no binary package is installed.
    pub version: String,
    /// The version of the source that has the tests.
    pub source_version: String,
    pub openssl: String,
    pub cpu: String,
    pub date: String,
    pub tests: Vec<Test>,
    pub counted: Counted,
}

#[derive(Serialize, Deserialize)]
pub struct Test {
    pub name: String,
    pub stock: Verdict,
    pub ours: Verdict,
    /// Cases that passed both times, where the table says how to tell them.
    pub cases: usize,
    /// Cases that went wrong with the provider alone.
    pub differing: Vec<String>,
}

/// The result of a test, from autopkgtest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Verdict {
    Pass,
    /// Failed among the others, passed when repeated alone.
    Flaky,
    Fail,
    Skip,
}

impl Verdict {
    pub fn is_good(self) -> bool {
        matches!(self, Self::Pass | Self::Flaky)
    }
}

/// The operations that passed through the provider, in all processes.
#[derive(Default, Serialize, Deserialize)]
pub struct Counted {
    pub processes: u64,
    pub requests: u64,
    pub contexts: u64,
    pub private_operations: u64,
}

impl Outcome {
    /// Runs the tests of `package` both ways.
    pub fn of(package: &Package, tree: &Tree<'_>, cpu: String) -> Result<Self> {
        println!("== {}: stock", package.name);
        let stock = Run::of(package, tree, "stock", false)?;
        tree.install_provider()?;
        println!("== {}: with the provider", package.name);
        let mut ours = Run::of(package, tree, "ours", true)?;
        let mut tests = Vec::new();
        for (name, &verdict) in &stock.verdicts {
            let with = ours.verdicts.get(name).copied().unwrap_or(Verdict::Skip);
            let cases = stock.cases.get(name).cloned().unwrap_or_default();
            let theirs = ours.cases.remove(name).unwrap_or_default();
            tests.push(Test {
                name: name.clone(),
                stock: verdict,
                ours: with,
                cases: cases.intersection(&theirs).count(),
                differing: differing(&cases, &theirs, with),
            });
        }
        if tests.iter().all(|test| test.stock == Verdict::Skip) {
            return Err(format!("{}: no test ran", package.name));
        }
        let version = tree.said("version");
        let source_version = tree.said("source-version");
        let date = tool::output(Command::new("date").args(["--utc", "+%F"]))?;
        Ok(Self {
            version: if version.is_empty() {
                source_version.clone()
            } else {
                version
            },
            source_version,
            openssl: tree.said("openssl"),
            cpu,
            date: date.trim().to_owned(),
            tests,
            counted: ours.counted,
        })
    }

    /// Returns the findings: tests and cases that fail only with the provider, and a provider that computed nothing.
    pub fn faults(&self, package: &Package) -> Vec<String> {
        let mut faults = Vec::new();
        let is_known = |name: &str| {
            package
                .differs
                .keys()
                .any(|known| name.ends_with(known.as_str()))
        };
        for test in &self.tests {
            if test.stock.is_good() && !test.ours.is_good() && !is_known(&test.name) {
                faults.push(format!("{}: passes without the provider alone", test.name));
            }
            let unknown = test.differing.iter().filter(|case| !is_known(case));
            faults.extend(unknown.map(|case| format!("{}: differs: {case}", test.name)));
        }
        let Counted {
            processes,
            requests,
            contexts,
            private_operations,
        } = self.counted;
        if processes == 0 {
            faults.push("no process loaded the provider".to_owned());
        } else if requests + contexts + private_operations == 0 && package.idle.is_none() {
            faults.push("the provider computed nothing".to_owned());
        }
        faults
    }
}

/// All tests once, and those that failed once more, each alone in a tree that no other test has changed.
struct Run {
    verdicts: BTreeMap<String, Verdict>,
    cases: BTreeMap<String, BTreeSet<String>>,
    counted: Counted,
}

impl Run {
    fn of(package: &Package, tree: &Tree<'_>, called: &str, counted: bool) -> Result<Self> {
        let ran = tree.boot(called, None, counted)?;
        let mut run = Self {
            verdicts: verdicts(&ran.artifacts)?,
            cases: BTreeMap::new(),
            counted: Counted::default(),
        };
        run.take(package, &ran)?;
        let failed = run
            .verdicts
            .iter()
            .filter(|(_, verdict)| **verdict == Verdict::Fail);
        let failed: Vec<_> = failed.map(|(name, _)| name.clone()).collect();
        for name in failed {
            let again = tree.boot(&format!("{called}-again-{name}"), Some(&name), counted)?;
            let verdict = verdicts(&again.artifacts)?.get(&name).copied();
            if verdict == Some(Verdict::Pass) {
                run.verdicts.insert(name, Verdict::Flaky);
            }
            run.take(package, &again)?;
        }
        for (name, verdict) in &run.verdicts {
            println!("   {name}: {verdict:?}");
        }
        Ok(run)
    }

    /// Adds what one boot has left: the later cases replace the earlier ones.
    fn take(&mut self, package: &Package, ran: &Ran) -> Result<()> {
        if let Some(stats) = &ran.stats {
            self.counted.add(stats)?;
        }
        let Some(expression) = &package.cases else {
            return Ok(());
        };
        for name in self.verdicts.keys() {
            let files = ["stdout", "stderr"].map(|end| ran.artifacts.join(format!("{name}-{end}")));
            let files: Vec<_> = files.iter().filter(|file| file.exists()).collect();
            if files.is_empty() {
                continue;
            }
            let said = tool::output(Command::new("sed").args(["-nE", expression]).args(files))?;
            let cases = said.lines().map(str::to_owned).collect();
            self.cases.insert(name.clone(), cases);
        }
        Ok(())
    }
}

impl Counted {
    /// Adds what `oarlock run --stats --json` said.
    fn add(&mut self, stats: &str) -> Result<()> {
        let said: Stats = serde_json::from_str(stats)
            .map_err(|error| format!("`oarlock run --stats` said {stats:?}: {error}"))?;
        let rsa = &said.rsa_private_operations;
        self.processes += said.processes;
        self.requests += said.lines.iter().map(|line| line.requests).sum::<u64>();
        self.contexts += said.contexts.iter().map(|line| line.keyed).sum::<u64>();
        self.private_operations += rsa.alone + rsa.in_lanes;
        Ok(())
    }
}

#[derive(Deserialize)]
struct Stats {
    processes: u64,
    lines: Vec<Requests>,
    contexts: Vec<Contexts>,
    rsa_private_operations: PrivateOperations,
}

#[derive(Deserialize)]
struct Requests {
    requests: u64,
}

#[derive(Deserialize)]
struct Contexts {
    keyed: u64,
}

#[derive(Deserialize)]
struct PrivateOperations {
    alone: u64,
    in_lanes: u64,
}

/// Returns the cases that went wrong with the provider alone. A line has a result, a space, and the name of the case.
///
/// Where the whole test passes, a missing line says nothing: others may have been printed in its middle.
fn differing(stock: &BTreeSet<String>, ours: &BTreeSet<String>, verdict: Verdict) -> Vec<String> {
    let parts = |line: &str| {
        let (result, name) = line.split_once(' ').unwrap_or((line, ""));
        (PASSING.contains(&result), name.to_owned())
    };
    let names: BTreeSet<_> = ours.iter().map(|line| parts(line).1).collect();
    let bad = ours.difference(stock).filter(|line| !parts(line).0);
    let missing = stock.iter().filter(|line| {
        let (passed, name) = parts(line);
        !verdict.is_good() && passed && !names.contains(&name)
    });
    bad.chain(missing).cloned().collect()
}

/// The words by which suites report a case that passed.
const PASSING: [&str; 6] = ["ok", "OK", "PASS", "PASSED", "pass", "."];

/// Reads autopkgtest's summary of a run.
fn verdicts(artifacts: &Path) -> Result<BTreeMap<String, Verdict>> {
    files::read(&artifacts.join("summary")).map(|text| summary(&text))
}

fn summary(text: &str) -> BTreeMap<String, Verdict> {
    let mut verdicts = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let (Some(name), Some(word)) = (words.next(), words.next()) else {
            continue;
        };
        let verdict = match word {
            "PASS" => Verdict::Pass,
            "FAIL" | "FLAKY" | "BROKEN" => Verdict::Fail,
            "SKIP" => Verdict::Skip,
            _ => continue,
        };
        verdicts.insert(name.to_owned(), verdict);
    }
    verdicts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(stock: Verdict, ours: Verdict) -> Test {
        Test {
            name: "smoke".into(),
            stock,
            ours,
            cases: 0,
            differing: Vec::new(),
        }
    }

    fn outcome(test: Test, requests: u64) -> Outcome {
        Outcome {
            version: "1".into(),
            source_version: "1".into(),
            openssl: "3".into(),
            cpu: "a CPU".into(),
            date: "a day".into(),
            tests: vec![test],
            counted: Counted {
                processes: 1,
                requests,
                ..Counted::default()
            },
        }
    }

    #[test]
    fn a_test_that_passes_without_the_provider_alone_is_a_fault() {
        let mut package: Package = serde_json::from_str(r#"{"name": "a"}"#).unwrap();
        let good = outcome(test(Verdict::Pass, Verdict::Flaky), 1);
        assert!(good.faults(&package).is_empty());
        let everywhere = outcome(test(Verdict::Fail, Verdict::Fail), 1);
        assert!(everywhere.faults(&package).is_empty());
        let bad = outcome(test(Verdict::Pass, Verdict::Fail), 1);
        assert_eq!(
            bad.faults(&package),
            ["smoke: passes without the provider alone"]
        );
        let absent = outcome(test(Verdict::Pass, Verdict::Skip), 1);
        assert_eq!(absent.faults(&package).len(), 1);
        package.differs.insert("smoke".into(), "of a reason".into());
        assert!(bad.faults(&package).is_empty());
    }

    #[test]
    fn a_case_that_differs_is_a_fault() {
        let package: Package = serde_json::from_str(r#"{"name": "a"}"#).unwrap();
        let mut failing = test(Verdict::Fail, Verdict::Fail);
        failing.differing.push("test_x ok".into());
        assert_eq!(
            outcome(failing, 1).faults(&package),
            ["smoke: differs: test_x ok"]
        );
    }

    #[test]
    fn a_provider_that_computes_nothing_is_a_fault() {
        let mut package: Package = serde_json::from_str(r#"{"name": "a"}"#).unwrap();
        let idle = outcome(test(Verdict::Pass, Verdict::Pass), 0);
        assert_eq!(idle.faults(&package), ["the provider computed nothing"]);
        package.idle = Some("its tests use no TLS".into());
        assert!(idle.faults(&package).is_empty());
        let mut absent = idle;
        absent.counted.processes = 0;
        assert_eq!(absent.faults(&package), ["no process loaded the provider"]);
    }

    #[test]
    fn cases_are_compared_by_their_results() {
        let lines = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect();
        let stock: BTreeSet<String> = lines(&["ok a", "ok b", "FAIL c", "ok d"]);
        let ours = lines(&["ok a", "FAIL b", "FAIL c"]);
        assert_eq!(differing(&stock, &ours, Verdict::Fail), ["FAIL b", "ok d"]);
        assert_eq!(differing(&stock, &ours, Verdict::Pass), ["FAIL b"]);
        let more = lines(&["ok a", "ok b", "ok c", "ok e", "skipped f"]);
        assert_eq!(differing(&stock, &more, Verdict::Pass), ["skipped f"]);
    }

    #[test]
    fn the_summary_is_read() {
        let read = summary(
            "reboot  SKIP needs-reboot\na PASS\nb FAIL non-zero exit status 1\nc FLAKY x\n\n",
        );
        let expected = [
            ("a", Verdict::Pass),
            ("b", Verdict::Fail),
            ("c", Verdict::Fail),
            ("reboot", Verdict::Skip),
        ];
        let expected = expected.map(|(name, verdict)| (name.to_owned(), verdict));
        assert_eq!(read, expected.into_iter().collect());
    }

    #[test]
    fn the_counts_are_read() {
        let mut counted = Counted::default();
        let stats = r#"{"processes": 2, "cpu_seconds": 1.0, "lines": [{"requests": 3, "bytes": 4}, {"requests": 5}],
            "contexts": [{"keyed": 1, "ivs": 2, "copies": 0}],
            "rsa_private_operations": {"alone": 1, "in_lanes": 2, "remotely": 0, "abandoned": 0}}"#;
        counted.add(stats).unwrap();
        counted.add(stats).unwrap();
        let Counted {
            processes,
            requests,
            contexts,
            private_operations,
        } = counted;
        assert_eq!(
            [processes, requests, contexts, private_operations],
            [4, 16, 2, 6]
        );
        assert!(counted.add("").is_err());
    }
}
