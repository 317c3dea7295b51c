//! The benchmark, in the long form: lints, and each kind of case once, so that none breaks unnoticed. Speed is not judged.

use std::path::Path;
use std::process::Command;

use crate::tool::{self, Result, cargo_in_bench};

/// Options that measure one case of each kind, in addition to [`GLANCE`]: about four minutes in all.
const KINDS: [&str; 36] = [
    "--case=aes-128-ctr --size=1k --threads=2",
    "--case=aes-256-gcm --size=1k",
    "--case=camellia-128-ctr --size=64k --mode=burst,prefilled",
    "--case=rsa-2048-sign --depth=8",
    "--case=rsa-2048-sign --blocking=2",
    "--case=rsa-2048-sign --mixed",
    "--case=rsa-2048-sign --first",
    "--seed-shape",
    "--case=openssl-start",
    "--case=openssl-context-aes-128-ctr",
    "--case=openssl-key-sign",
    "--case=openssl-speed-aes-128-ctr",
    "--case=evp-copy-aes-128-gcm",
    "--case=evp-handshake-p256",
    "--case=evp-handshake-p256-first",
    "--case=evp-tls13-label",
    "--case=ssh-aes128-ctr-umac-64-etm-scp",
    "--case=https-aes-128-gcm",
    "--case=tls-haproxy-rsa-2048",
    "--case=tls-nginx-p256",
    "--case=tls-client-python-p256",
    "--case=tls-processes-rsa-2048",
    "--case=tls-speed-rsa-2048",
    "--case=tls-speed-ed25519",
    "--case=file-encrypt",
    "--case=file-many-encrypt",
    "--case=file-unlock",
    "--case=pipe-encrypt",
    "--case=server-latency",
    "--case=server-boards-axl200",
    "--case=server-kill",
    "--case=hostile-pings",
    "--case=pkcs11-files-p256",
    "--case=packet-* --size=1k",
    "--case=device-two-processes",
    "--case=c-*",
];
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
    for kind in KINDS {
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
