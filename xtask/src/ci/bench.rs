//! The benchmark, in the long form: lints, and each kind of case once, so that none breaks unnoticed. Speed is not judged.

use std::path::Path;
use std::process::Command;

use crate::tool::{self, Result, cargo_in_bench};

/// Options that measure one case of each kind, in addition to [`GLANCE`]: about four minutes in all.
const KINDS: &str = include_str!("kinds.txt");
/// The options for the shortest run.
const GLANCE: [&str; 2] = ["--quick", "--json"];

pub fn check(root: &Path) -> Result<()> {
    tool::status(cargo_in_bench(root, "fmt").args(["--all", "--check"]))?;
    let mut lints = cargo_in_bench(root, "clippy");
    lints.args(["--workspace", "--all-targets", "--locked"]);
    tool::status(lints.args(["--", "-D", "warnings"]))
}

/// Measures one case of each kind, and builds the releases it needs. Cases for which the machine lacks a program are skipped
/// with a message.
pub fn run(root: &Path, target: &Path) -> Result<()> {
    tool::status(Command::new("make").arg("build").current_dir(root))?;
    tool::status(cargo_in_bench(root, "build").args(["--release", "--locked"]))?;
    for kind in KINDS.lines() {
        let mut command = Command::new(target.join("release/oarlock-bench"));
        command.args(kind.split(' ')).args(GLANCE);
        let output = command.output();
        let output = output.map_err(|error| format!("oarlock-bench: {error}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        print!("{kind}\n{said}");
        if !output.status.success() && !said.contains(" left out: ") {
            return Err(format!("oarlock-bench {kind} ended with {}", output.status));
        }
    }
    Ok(())
}
