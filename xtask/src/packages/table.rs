//! The table of packages: `packages.json`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::files;
use crate::tool::Result;

/// A package whose tests are run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Package {
    /// The source package.
    pub name: String,
    /// Tests that are not run, each with the reason.
    #[serde(default)]
    pub skip: BTreeMap<String, String>,
    /// Binary packages that the tests need and do not name.
    #[serde(default)]
    pub extra: Vec<String>,
    /// A control file of tests (DEP-8) in place of the package's own, by line, and why.
    #[serde(default)]
    pub control: Vec<String>,
    /// Commands before the tests, as root, by line.
    #[serde(default)]
    pub before: Vec<String>,
    /// An expression of `sed -nE` that prints the result and the name of a case for each line of a test's output that
    /// has one. The cases are compared too.
    pub cases: Option<String>,
    /// Why no request may have passed through the provider.
    pub idle: Option<String>,
    /// Cases and tests that may fail with the provider, each with the reason.
    #[serde(default)]
    pub differs: BTreeMap<String, String>,
    /// The options of `oarlock provider install` in place of [`FLAGS`], and why.
    #[serde(default)]
    pub flags: Vec<String>,
    /// A note for the reader of the results.
    #[serde(default)]
    pub note: String,
    /// The limit of a run, which ends it.
    #[serde(default = "seconds")]
    pub seconds: u64,
}

/// Everything on: operations that would be left to OpenSSL because they are slower here, RSA in lanes, and groups
/// that OpenSSL lacks.
pub const FLAGS: [&str; 3] = ["--options", "offer=all,lanes=always", "--post-quantum"];

/// Returns the packages of the table with these names, or all of them.
pub fn packages(workspace: &Path, names: &[&str]) -> Result<Vec<Package>> {
    let text = files::read(&workspace.join(PATH))?;
    let all: Vec<Package> =
        serde_json::from_str(&text).map_err(|error| format!("{PATH}: {error}"))?;
    if names.is_empty() {
        return Ok(all);
    }
    for name in names {
        if !all.iter().any(|package| package.name == *name) {
            return Err(format!("{name}: no such package in {PATH}"));
        }
    }
    let is_wanted = |package: &Package| names.contains(&package.name.as_str());
    Ok(all.into_iter().filter(is_wanted).collect())
}

const PATH: &str = "xtask/src/packages/packages.json";

fn seconds() -> u64 {
    600
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read() {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let all = packages(&workspace, &[]).unwrap();
        assert!(all.len() >= 25, "{}", all.len());
        let names: std::collections::BTreeSet<_> = all.iter().map(|one| &one.name).collect();
        assert_eq!(names.len(), all.len(), "a package stands twice");
        assert_eq!(packages(&workspace, &["curl"]).unwrap().len(), 1);
        assert!(packages(&workspace, &["no-such-package"]).is_err());
    }
}
