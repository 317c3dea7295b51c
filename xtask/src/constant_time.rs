//! `cargo xtask constant-time`: runs oarlock-timing, in the release profile or in CI's short form.

use std::path::Path;
use std::process::Command;

use crate::tool::{self, Result, cargo_in_bench};

/// Runs the whole measurement with a release build.
pub fn run(root: &Path, options: &[&str]) -> Result<()> {
    tool::status(timing(root).arg("--release").arg("--").args(options))
}

/// Checks that oarlock-timing runs and finds the control that leaks. It judges no kernel, so it needs little time. The build
/// is that of the tests.
pub fn check(root: &Path) -> Result<()> {
    tool::status(timing(root).args(["--", "--quick"]))
}

/// Checks under valgrind that no branch or address of a kernel depends on a secret, on the processor that valgrind emulates.
/// It uses a release build: the tests' build has overflow checks, which are branches.
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
