//! What a release publishes: built, and each part installed into an empty folder and used.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{package, wheel};
use crate::files;
use crate::tool::{self, Result};

/// What a build from the source distribution begins with.
const SOURCES: [&str; 6] = [
    "Cargo.lock",
    "PKG-INFO",
    "crates/capi/install.sh",
    "python/build/oarlock_build.py",
    "python/build/third_party.py",
    "pyproject.toml",
];

/// Uses the folder of the tarball, `$1`, from where it happens to be.
const USE: &str = include_str!("use-tarball.sh");

/// Uses what pip has installed.
const USE_MODULE: &str = include_str!("use-module.py");

/// `make dist`: builds all below `target/dist`.
pub fn build(root: &Path, target: &Path) -> Result<()> {
    tool::status(&mut packer(root, target, &[])?)
}

/// `cargo xtask dist --test`: packs what the wheel for other distributions was built from, and tests it. The wheel has been tested.
pub fn check(root: &Path, target: &Path) -> Result<()> {
    tool::status(&mut packer(root, target, &["--compiled"])?)?;
    let dist = target.join("dist");
    let mut sums = Command::new("sha256sum");
    sums.args(["--check", "--strict", "--quiet", "SHA256SUMS"]);
    tool::status(sums.current_dir(&dist))?;
    check_tarball(&only(&dist, ".tar.xz")?, &target.join("dist-test"))?;
    let source = only(&dist, ".tar.gz")?;
    check_source(root, &source)?;
    check_install(target, &source)?;
    check_bill(&only(&dist, ".cdx.json")?)?;
    let mut listed = Command::new("python3");
    listed.args(["-m", "zipfile", "--list"]);
    let listed = tool::output(listed.arg(only(&dist, ".whl")?))?;
    if !listed.contains("/THIRD-PARTY-LICENSES.txt") {
        return Err("the wheel has no THIRD-PARTY-LICENSES.txt".to_owned());
    }
    package::install_and_use(target, &only(&dist, ".deb")?)
}

/// Returns the command that fills `target/dist`.
fn packer(root: &Path, target: &Path, options: &[&str]) -> Result<Command> {
    let mut command = wheel::python(root, target)?;
    command.arg(root.join("python/build/dist.py"));
    command.args(options).arg(target.join("dist"));
    Ok(command)
}

/// Unpacks the tarball and uses what is in it.
fn check_tarball(tarball: &Path, folder: &Path) -> Result<()> {
    files::remove_dir(folder)?;
    files::create_dir(folder)?;
    let mut unpack = Command::new("tar");
    unpack.arg("--extract").arg("--file").arg(tarball);
    tool::status(unpack.arg("--directory").arg(folder))?;
    let prefix = file_name(tarball).replace(".tar.xz", "");
    package::use_command(folder, &folder.join(&prefix).join("bin/oarlock"))?;
    let mut shell = Command::new("bash");
    shell.args(["-c", USE, "bash", &prefix]);
    tool::status(shell.current_dir(folder))?;
    files::remove_dir(folder)
}

/// Fails unless the source distribution has every file that git knows, and what pip needs.
fn check_source(root: &Path, archive: &Path) -> Result<()> {
    let listed = tool::output(Command::new("tar").arg("--list").arg("--file").arg(archive))?;
    let folder = format!("{}/", file_name(archive).replace(".tar.gz", ""));
    let packed: BTreeSet<_> = listed
        .lines()
        .filter_map(|line| line.strip_prefix(&folder))
        .collect();
    let known = tool::output(Command::new("git").arg("ls-files").current_dir(root))?;
    let missing: Vec<_> = known
        .lines()
        .chain(SOURCES)
        .filter(|file| !packed.contains(file))
        .collect();
    match missing[..] {
        [] => Ok(()),
        [first, ..] => Err(format!(
            "{} files are missing in {}: {first} is the first",
            missing.len(),
            archive.display()
        )),
    }
}

/// Has pip build and install the source distribution, and uses the module, the command and the provider.
fn check_install(target: &Path, archive: &Path) -> Result<()> {
    let folder = target.join("dist-source");
    let environment = folder.join("environment");
    files::remove_dir(&environment)?;
    tool::status(
        Command::new("python3")
            .args(["-m", "venv"])
            .arg(&environment),
    )?;
    let python = environment.join("bin/python");
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet"]).arg(archive);
    // Not below the folder that pip unpacks into, which is another one each time.
    tool::status(pip.env("CARGO_TARGET_DIR", folder.join("target")))?;
    tool::status(Command::new(&python).args(["-c", USE_MODULE]))
}

/// Fails unless the bill of materials names what the programs certainly contain, and nothing of tests.
fn check_bill(bill: &Path) -> Result<()> {
    let text = files::read(bill)?;
    let has = |name: &str| text.contains(&format!("\"pkg:cargo/{name}@"));
    for (name, expected) in [
        ("aws-lc-sys", true),
        ("oarlock-python", true),
        ("oarlock-testing", false),
        ("syn", false),
    ] {
        if has(name) != expected {
            return Err(format!("{}: {name} is wrong", bill.display()));
        }
    }
    Ok(())
}

/// Returns the one file whose name ends so.
fn only(folder: &Path, end: &str) -> Result<PathBuf> {
    let mut found = files::entries(folder)?;
    found.retain(|file| file_name(file).ends_with(end));
    match &found[..] {
        [file] => Ok(file.clone()),
        others => Err(format!(
            "{} has {} files *{end}, not 1",
            folder.display(),
            others.len()
        )),
    }
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}
