//! The original age, in Go and in Rust, with which tests exchange files and which the benchmark measures.

use std::path::Path;
use std::process::Command;

use crate::files;
use crate::go::{Go, Module};
use crate::tool::{self, Result, cargo};

/// Debian 12's age 1.1 does not know post-quantum recipients.
const AGE: Module = Module {
    path: "filippo.io/age",
    version: "v1.3.2",
    sum: "h1:r6RSZLFSMm6rzKepZ7ZAYkKCu14f3/Me8c7uKYh7C8c=",
};
const RAGE_VERSION: &str = "0.12.1";

/// Builds age into `peers/age/bin` below `target`, unless it is there. Returns its version and path.
pub fn age(target: &Path) -> Result<String> {
    let programs = target.join("peers/age/bin");
    let said = format!("age {}: {}", AGE.version, programs.display());
    let is_there = ["age", "age-keygen"].iter().all(|program| {
        tool::output(Command::new(programs.join(program)).arg("--version"))
            .is_ok_and(|said| said.trim() == AGE.version)
    });
    if is_there {
        return Ok(said);
    }
    let go = Go::find(target)?;
    AGE.download(&go)?;
    let package = |name: &str| format!("{}/cmd/{name}@{}", AGE.path, AGE.version);
    let mut command = go.command();
    command
        .args(["install", "-trimpath"])
        .args([package("age"), package("age-keygen")])
        .env("GOBIN", &programs)
        .env("CGO_ENABLED", "0");
    tool::output(&mut command)?;
    Ok(said)
}

/// Builds rage into `peers/rage/bin` below `target`, unless it is there. Returns its version and path. It is built in the
/// release profile that cargo uses by default, as a peer must be, and without `mount`, which needs libraries.
pub fn rage(target: &Path) -> Result<String> {
    let folder = target.join("peers/rage");
    let program = folder.join("bin/rage");
    let said = format!("rage {RAGE_VERSION}: {}", program.display());
    let is_there = tool::output(Command::new(program).arg("--version"))
        .is_ok_and(|said| said.trim() == format!("rage {RAGE_VERSION}"));
    if is_there {
        return Ok(said);
    }
    let build = target.join("peers/build");
    let mut command = cargo();
    command
        .args(["install", "rage", "--version", RAGE_VERSION])
        .args(["--locked", "--quiet", "--force", "--bin", "rage"])
        .args(["--no-default-features", "--features", "ssh", "--root"])
        .arg(&folder)
        .arg("--target-dir")
        .arg(&build);
    tool::output(&mut command)?;
    files::remove_dir(&build)?;
    Ok(said)
}
