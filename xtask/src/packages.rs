//! `cargo xtask packages`: the tests of Debian's packages, with stock OpenSSL and with the provider.
//!
//! ```text
//! table.rs     packages.json: which packages, and what is particular about them
//! tree.rs      a root for a package: base.sh makes what all begin with, prepare.sh installs, enter.sh boots, suite.sh
//!              runs autopkgtest inside
//! outcome.rs   both runs compared
//! page.rs      docs/internals/packages.md
//! ```

mod outcome;
mod page;
mod table;
mod tree;

use std::fs;
use std::path::Path;

use self::outcome::Outcome;
use self::table::Package;
use self::tree::{Place, Tree};
use crate::files;
use crate::processor;
use crate::tool::{self, Result, cargo};

/// Runs the tests of the packages of these names, or of all, and writes the page.
pub fn run(root: &Path, target: &Path, names: &[&str]) -> Result<()> {
    if !tool::is_root() {
        return Err(
            "the tests need a root of their own, which root can make: run this as root".into(),
        );
    }
    let packages = table::packages(root, names)?;
    let mut build = cargo();
    build.args(["build", "--release", "--locked"]);
    tool::status(build.args(["--package", "oarlock-cli", "--package", "oarlock-provider"]))?;
    let place = Place::new(root, target)?;
    let mut faults = Vec::new();
    for package in &packages {
        match one(&place, package) {
            Ok(found) => {
                faults.extend(
                    found
                        .iter()
                        .map(|fault| format!("{}: {fault}", package.name)),
                );
            }
            Err(error) => faults.push(error),
        }
    }
    write_page(root, target)?;
    if faults.is_empty() {
        return Ok(());
    }
    for fault in &faults {
        println!("{fault}");
    }
    Err(format!("{} faults", faults.len()))
}

/// Runs one package's tests and keeps the results. Returns what is wrong.
fn one(place: &Place, package: &Package) -> Result<Vec<String>> {
    println!("== {}: installing", package.name);
    let tree = Tree::new(place, package)?;
    let outcome = Outcome::of(package, &tree, processor::Cpu::read()?.line());
    tree.remove()?;
    let outcome = outcome?;
    let text = serde_json::to_string_pretty(&outcome).map_err(|error| error.to_string())?;
    files::write(&place.results(&package.name), text)?;
    let counted = &outcome.counted;
    println!(
        "== {}: {} processes, {} requests",
        package.name, counted.processes, counted.requests
    );
    Ok(outcome.faults(package))
}

/// Writes the page of all results that there are, of this run or an earlier one.
pub fn write_page(root: &Path, target: &Path) -> Result<()> {
    let place = Place::of(root, target);
    let mut packages = Vec::new();
    for package in table::packages(root, &[])? {
        let path = place.results(&package.name);
        let outcome = match fs::read_to_string(&path) {
            Ok(text) => {
                let outcome = serde_json::from_str(&text);
                Some(outcome.map_err(|error| format!("{}: {error}", path.display()))?)
            }
            Err(_) => None,
        };
        packages.push((package, outcome));
    }
    let path = root.join("docs/internals/packages.md");
    let before = fs::read_to_string(&path).unwrap_or_default();
    files::write(&path, page::page(&packages, &before))
}
