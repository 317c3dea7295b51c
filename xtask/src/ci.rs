//! `cargo xtask ci`: the one list of what CI runs.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::tool::{self, Metadata, Result, cargo};
use crate::{constant_time, peers, structure, vectors};

/// How long the differential fuzzer runs on each of [`FUZZ_TARGETS`].
const FUZZ_SECONDS: u32 = 30;
const FUZZ_TARGETS: [&str; 7] = [
    "ctr", "prefetch", "aead", "contexts", "rsa_keys", "age", "requests",
];
const CARGO_FUZZ_VERSION: &str = "0.13.1";

pub fn run() -> Result<()> {
    let metadata = Metadata::load()?;
    let target = metadata.target_directory.as_path();
    let root = metadata.workspace_root.as_path();
    let mut tally = Tally::default();

    step("formatting", || {
        tool::status(cargo().args(["fmt", "--all", "--check"]))
    })?;
    step("lints", || {
        tool::status(cargo().args([
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ]))
    })?;
    step("structure", structure::run)?;
    step("test vectors", vectors::run)?;
    step(
        "age and rage, whom tests exchange files with",
        peers::run_age,
    )?;
    step("tests", || {
        tests(cargo().args(["test", "--workspace", "--tests"]), &mut tally)
    })?;
    step("examples in the documentation", || {
        tests(cargo().args(["test", "--workspace", "--doc"]), &mut tally)
    })?;
    step("times that depend on secrets, the short form", || {
        constant_time::check()
    })?;
    step("model check of the pool", || {
        tests(&mut model_check(target), &mut tally)
    })?;
    step("differential fuzzing", || fuzz(root, target))?;

    if tally.passed == 0 {
        return Err("no test ran: the list of steps is broken".to_owned());
    }
    println!("\n{} passed, {} failed", tally.passed, tally.failed);
    Ok(())
}

/// Built apart, because `--cfg loom` changes every crate; without `software`, because loom cannot
/// see into C.
fn model_check(target: &Path) -> Command {
    let mut command = cargo();
    command
        .args([
            "test",
            "--package",
            "oarlock",
            "--no-default-features",
            "--release",
        ])
        .args(["--test", "model"])
        .env("RUSTFLAGS", "--cfg loom")
        .env("CARGO_TARGET_DIR", target.join("loom"));
    command
}

/// The sanitizers are unstable flags of a compiler that is otherwise the stable one.
fn fuzz(root: &Path, target: &Path) -> Result<()> {
    let tools = target.join("tools");
    let program = tools.join("bin/cargo-fuzz");
    if !program.exists() {
        tool::status(
            cargo()
                .args(["install", "cargo-fuzz", "--locked", "--quiet"])
                .args(["--version", CARGO_FUZZ_VERSION, "--root"])
                .arg(&tools)
                .env("CARGO_TARGET_DIR", tools.join("build")),
        )?;
    }
    for name in FUZZ_TARGETS {
        // What it finds stays; a crash is written below fuzz/artifacts and named on the screen.
        let corpus = target.join("fuzz-corpus").join(name);
        tool::create_dir(&corpus)?;
        tool::status(
            Command::new(&program)
                .args(["run", name])
                .arg(corpus)
                .arg("--target-dir")
                .arg(target.join("fuzz"))
                .args(["--", &format!("-max_total_time={FUZZ_SECONDS}")])
                // Silent but for what it finds and, at the end, how much it tried.
                .args(["-verbosity=0", "-print_final_stats=1"])
                .env("RUSTC_BOOTSTRAP", "1")
                .current_dir(root),
        )?;
    }
    Ok(())
}

fn step(name: &str, run: impl FnOnce() -> Result<()>) -> Result<()> {
    println!("\n== {name}");
    let start = Instant::now();
    let result = run();
    let seconds = start.elapsed().as_secs_f64();
    match result {
        Ok(()) => {
            println!("== {name}: {seconds:.1} s");
            Ok(())
        }
        Err(error) => Err(format!("{name} failed after {seconds:.1} s: {error}")),
    }
}

/// What the test programs themselves said.
#[derive(Default, Debug, PartialEq)]
struct Tally {
    passed: u64,
    failed: u64,
}

impl Tally {
    /// Adds `test result: ok. 12 passed; 0 failed; ...` and ignores every other line.
    fn add(&mut self, line: &str) {
        let Some(result) = line.trim_start().strip_prefix("test result: ") else {
            return;
        };
        let mut words = result.split_whitespace().peekable();
        while let Some(word) = words.next() {
            let Ok(count) = word.parse::<u64>() else {
                continue;
            };
            match words.peek() {
                Some(&"passed;") => self.passed += count,
                Some(&"failed;") => self.failed += count,
                _ => {}
            }
        }
    }
}

/// Runs tests, shows what they say as they say it, and counts.
fn tests(command: &mut Command, tally: &mut Tally) -> Result<()> {
    tests_shown_on(&mut std::io::stdout(), command, tally)
}

fn tests_shown_on(screen: &mut impl Write, command: &mut Command, tally: &mut Tally) -> Result<()> {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| tool::cannot_start(&command.get_program().to_string_lossy(), &error))?;
    if let Some(stdout) = child.stdout.take() {
        let mut reader = BufReader::new(stdout);
        let mut line = Vec::new();
        while reader
            .read_until(b'\n', &mut line)
            .is_ok_and(|read| read != 0)
        {
            // A closed terminal must not stop the tests.
            let _ = screen.write_all(&line);
            tally.add(&String::from_utf8_lossy(&line));
            line.clear();
        }
    }
    let status = child
        .wait()
        .map_err(|error| format!("`{}`: {error}", tool::line(command)))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!(
            "{} passed, {} failed so far; `{}` ended with {status}",
            tally.passed,
            tally.failed,
            tool::line(command)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tally_is_what_the_test_programs_said() {
        let mut tally = Tally::default();
        for line in [
            "running 3 tests",
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s",
            "12 passed; 9 failed;",
            "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s",
        ] {
            tally.add(line);
        }
        assert_eq!(
            tally,
            Tally {
                passed: 15,
                failed: 2
            }
        );
    }

    #[test]
    fn a_failing_test_program_fails_the_step_and_is_counted() {
        let mut tally = Tally::default();
        let script = "echo 'test result: FAILED. 1 passed; 1 failed; 0 ignored'; exit 101";
        let mut command = Command::new("sh");
        // Not on the screen: a run of this test would count its line.
        let error = tests_shown_on(
            &mut std::io::sink(),
            command.args(["-c", script]),
            &mut tally,
        )
        .unwrap_err();
        assert!(error.starts_with("1 passed, 1 failed so far"), "{error}");
        assert_eq!(
            tally,
            Tally {
                passed: 1,
                failed: 1
            }
        );
    }
}
