//! `cargo xtask constant-time`: oarlock-timing, in the release profile and in CI's short form.

use std::path::Path;
use std::process::Command;

use crate::tool::{self, Metadata, Result, cargo_in_bench};

/// The whole measurement, of a release build.
pub fn run(options: &[&str]) -> Result<()> {
    let root = Metadata::load()?.workspace_root;
    tool::status(timing(&root).arg("--release").arg("--").args(options))
}

/// Whether it runs and finds the control that leaks: judges no kernel, and so no time. The build is
/// that of the tests.
pub fn check(root: &Path) -> Result<()> {
    tool::status(timing(root).args(["--", "--quick"]))
}

/// Whether a branch or an address of a kernel depends on a secret, on the processor that valgrind imitates. Of a release
/// build: that of the tests checks sums for overflow, which are branches.
pub fn look(root: &Path, target: &Path) -> Result<()> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("skipped: valgrind is not installed");
        return Ok(());
    }
    let mut build = cargo_in_bench(root, "build");
    tool::status(build.args(["--locked", "--release", "--bin", "oarlock-timing"]))?;
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--quiet", "--error-limit=no", "--log-file=/dev/null"]);
    tool::status(
        valgrind
            .arg(target.join("release/oarlock-timing"))
            .arg("--memcheck"),
    )
}

fn timing(root: &Path) -> Command {
    let mut command = cargo_in_bench(root, "run");
    command.args(["--quiet", "--locked", "--bin", "oarlock-timing"]);
    command
}
