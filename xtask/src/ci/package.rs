//! The Debian package: built in release mode, installed by dpkg into a root of its own, used, and removed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::files;
use crate::tool::{self, Result, cargo};

/// The packages that are built in addition to the command.
const PACKAGES: [&str; 6] = [
    "--package",
    "oarlock-provider",
    "--package",
    "oarlock-pkcs11",
    "--package",
    "oarlock-capi",
];

/// Fails unless the installed package works and dpkg removes it completely.
pub fn check(workspace: &Path, target: &Path) -> Result<()> {
    let mut build = cargo();
    build.args(["build", "--release", "--locked"]);
    tool::status(build.args(["--package", "oarlock-cli"]).args(PACKAGES))?;
    let printed = tool::output(&mut Command::new(workspace.join("scripts/debian-package")))?;
    let package = PathBuf::from(printed.trim());
    println!("{}", package.display());
    install_and_use(target, &package)
}

/// Has dpkg install a package into a root of its own, uses it, and has dpkg remove it.
pub fn install_and_use(target: &Path, package: &Path) -> Result<()> {
    let root = target.join("debian/root");
    files::remove_dir(&root)?;
    let state = root.join("var/lib/dpkg");
    for folder in ["info", "updates", "triggers"] {
        files::create_dir(&state.join(folder))?;
    }
    // This machine's installed packages, so that dpkg checks the package's dependencies.
    let copied = fs::copy("/var/lib/dpkg/status", state.join("status"));
    copied.map_err(|error| format!("/var/lib/dpkg/status: {error}"))?;
    let before = files::below(&root, &|_| false)?;
    dpkg(&root, "--install", package)?;
    use_it(&root)?;
    dpkg(&root, "--purge", Path::new("oarlock"))?;
    // dpkg keeps its own files.
    let mut left = files::below(&root, &|folder| folder == state)?;
    left.retain(|path| !before.contains(path));
    if !left.is_empty() {
        return Err(format!("left after the removal: {left:?}"));
    }
    files::remove_dir(&root)
}

/// Encrypts a file with an installed command, finds the provider with it, and signs by the PKCS#11 module next to it.
pub fn use_command(folder: &Path, command: &Path) -> Result<()> {
    let script = include_str!("use-command.sh");
    let mut shell = Command::new("bash");
    shell.args(["-c", script, "bash"]).arg(command);
    tool::status(shell.current_dir(folder).env_remove("OARLOCK_PROVIDER"))
}

/// Uses every part of the package as a user would.
fn use_it(root: &Path) -> Result<()> {
    use_command(root, &root.join("usr/bin/oarlock"))?;
    let script = include_str!("use-package.sh");
    let mut shell = Command::new("bash");
    tool::status(shell.args(["-c", script]).current_dir(root))
}

fn dpkg(root: &Path, what: &str, package: &Path) -> Result<()> {
    let mut command = if tool::is_root() {
        Command::new("dpkg")
    } else {
        let mut command = Command::new("fakeroot");
        command.arg("dpkg").arg("--force-not-root");
        command
    };
    let log = root.join("var/lib/dpkg/log");
    command.arg(format!("--root={}", root.display()));
    command.arg(format!("--log={}", log.display()));
    // The user's PATH may lack the system directories that dpkg requires.
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{path}:/usr/sbin:/sbin"));
    tool::output(command.arg(what).arg(package)).map(drop)
}
