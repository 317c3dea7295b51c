//! `cargo xtask constant-time`: oarlock-timing, in the release profile and in CI's short form.

use std::path::Path;
use std::process::Command;

use crate::tool::{self, Result, cargo};

/// The whole measurement, of a release build.
pub fn run(options: &[&str]) -> Result<()> {
    tool::status(timing(&["--release", "--no-default-features"]).args(options))
}

/// Whether it runs and finds the control that leaks: judges no kernel, and so no time. The build is
/// that of the tests.
pub fn check() -> Result<()> {
    tool::status(timing(&[]).arg("--quick"))
}

/// Whether a branch or an address of a kernel depends on a secret, on the processor that valgrind imitates. Of a release
/// build: that of the tests checks sums for overflow, which are branches.
pub fn look(target: &Path) -> Result<()> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("skipped: valgrind is not installed");
        return Ok(());
    }
    let mut build = cargo();
    build.args([
        "build",
        "--package",
        "oarlock-bench",
        "--bin",
        "oarlock-timing",
    ]);
    tool::status(build.args(["--release", "--no-default-features"]))?;
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--quiet", "--error-limit=no", "--log-file=/dev/null"]);
    tool::status(
        valgrind
            .arg(target.join("release/oarlock-timing"))
            .arg("--memcheck"),
    )
}

fn timing(build: &[&str]) -> Command {
    let mut command = cargo();
    command
        .args(["run", "--quiet", "--package", "oarlock-bench"])
        .args(["--bin", "oarlock-timing"])
        .args(build)
        .arg("--");
    command
}
