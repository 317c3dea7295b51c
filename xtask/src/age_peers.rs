//! The real age, in Go and in Rust: what files are exchanged with in tests, and compared with in the
//! benchmark.

use std::path::Path;
use std::process::Command;

use crate::fetch::Module;
use crate::go::Go;
use crate::tool::{self, Result, cargo};

/// Builds age and rage into `peers/age/bin` and `peers/rage/bin` below `target`, where they are not
/// yet. Returns which they are.
pub fn age_peers(target: &Path) -> Result<String> {
    let peers = target.join("peers");
    age(target, &peers.join("age"))?;
    rage(&peers)?;
    Ok(format!(
        "age {}, rage {RAGE_VERSION}: {}",
        AGE.version,
        peers.display()
    ))
}

/// Debian 12 has 1.1, which knows no post-quantum recipients.
const AGE: Module = Module {
    path: "filippo.io/age",
    version: "v1.3.2",
    sum: "h1:r6RSZLFSMm6rzKepZ7ZAYkKCu14f3/Me8c7uKYh7C8c=",
};
const RAGE_VERSION: &str = "0.12.1";

fn age(target: &Path, folder: &Path) -> Result<()> {
    let programs = folder.join("bin");
    let is_there = ["age", "age-keygen"].iter().all(|program| {
        tool::output(Command::new(programs.join(program)).arg("--version"))
            .is_ok_and(|said| said.trim() == AGE.version)
    });
    if is_there {
        return Ok(());
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
    tool::output(&mut command).map(drop)
}

/// In the release profile that cargo gives everybody, as a peer must be. Without `mount`, which needs
/// libraries.
fn rage(peers: &Path) -> Result<()> {
    let folder = peers.join("rage");
    let is_there = tool::output(Command::new(folder.join("bin/rage")).arg("--version"))
        .is_ok_and(|said| said.trim() == format!("rage {RAGE_VERSION}"));
    if is_there {
        return Ok(());
    }
    let build = peers.join("build");
    let mut command = cargo();
    command
        .args(["install", "rage", "--version", RAGE_VERSION])
        .args(["--locked", "--quiet", "--force", "--bin", "rage"])
        .args(["--no-default-features", "--features", "ssh", "--root"])
        .arg(&folder)
        .arg("--target-dir")
        .arg(&build);
    tool::output(&mut command)?;
    tool::remove_dir(&build)
}
