//! The crates that a crate may depend on: those of lower floors only.

use std::collections::BTreeSet;
use std::path::Path;

use crate::tool::{Dependency, Metadata, Package, Result};

/// The floor of each crate. A new crate gets its line here.
const HOUSE: &[(&str, Place)] = &[
    ("oarlock-kernels", Place::Floor(0)),
    // Threads, and memory for them and for secrets. It knows no algorithm.
    ("oarlock-threads", Place::Floor(0)),
    ("oarlock-legacy", Place::Floor(1)),
    // Recipients and identities of age files. It uses no crate of ours; files and the cryptoserver use it.
    ("oarlock-recipients", Place::Floor(1)),
    // Clients that attack the cryptoserver. They share no code with it; its tests and the harness use them.
    ("oarlock-hostile", Place::Floor(1)),
    ("oarlock-engine", Place::Floor(2)),
    ("oarlock-packet", Place::Floor(3)),
    // The crate that users depend on.
    ("oarlock", Place::Floor(4)),
    ("oarlock-file", Place::Floor(5)),
    ("oarlock-net", Place::Floor(5)),
    ("oarlock-local", Place::Floor(5)),
    // Knowledge about other programs, which the command and the fuzzer read.
    ("oarlock-programs", Place::Floor(5)),
    ("oarlock-measure", Place::Floor(5)),
    ("oarlock-cli", Place::Floor(6)),
    ("oarlock-cli-features", Place::Outside),
    ("oarlock-provider", Place::Floor(6)),
    ("oarlock-capi", Place::Floor(6)),
    ("oarlock-pkcs11", Place::Floor(6)),
    ("oarlock-python", Place::Floor(6)),
    ("oarlock-vectors", Place::TestsOnly),
    ("oarlock-bench", Place::Outside),
    ("oarlock-bench-process", Place::Outside),
    ("oarlock-fuzz", Place::Outside),
    ("oarlock-testing", Place::TestsOnly),
    ("oarlock-model", Place::TestsOnly),
    ("xtask", Place::Outside),
];

/// Crates that may use less than their floor allows, with the reason.
const ALLOWED_ONLY: &[(&str, &[&str], &str)] = &[
    ("oarlock-provider", IN_FOREIGN_PROCESSES, NO_RUNTIME),
    ("oarlock-pkcs11", IN_FOREIGN_PROCESSES, NO_RUNTIME),
];
const IN_FOREIGN_PROCESSES: &[&str] = &[
    "oarlock",
    "oarlock-engine",
    "oarlock-threads",
    "oarlock-local",
];
const NO_RUNTIME: &str = "no async runtime enters a foreign process";

/// The facade, and the lower crates whose documentation has examples for its users. Cargo compiles those with a
/// dev-dependency.
const FACADE: (&str, &[&str]) = (
    "oarlock",
    &["oarlock-threads", "oarlock-engine", "oarlock-packet"],
);
/// The package whose dependencies are those of the command's features.
const FEATURES: &str = "oarlock-cli-features";

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Floor(u8),
    /// Used only by tests; depends on no crate of ours.
    TestsOnly,
    /// May use every floor; no crate depends on it.
    Outside,
}

/// Returns a line for every edge that is not allowed.
pub fn check(metadata: &Metadata) -> Result<Vec<String>> {
    if metadata.packages.is_empty() {
        return Err("found no crates to check: is `members` of Cargo.toml empty?".to_owned());
    }
    let mut findings = Vec::new();
    for package in &metadata.packages {
        let manifest = package
            .manifest_path
            .strip_prefix(&metadata.workspace_root)
            .unwrap_or(&package.manifest_path);
        findings.extend(check_package(package, manifest));
    }
    findings.extend(check_features(&metadata.packages));
    Ok(findings)
}

/// Returns a line for every dependency that `make run` would compile twice: once for its part of the command, once for all
/// of it.
fn check_features(packages: &[Package]) -> Vec<String> {
    let of = |names: &'static [&'static str]| {
        let named = packages.iter().filter(|one| names.contains(&&*one.name));
        named.flat_map(|package| &package.dependencies)
    };
    let optional = of(&["oarlock-cli", "oarlock-file"]).filter(|one| one.optional);
    let optional: BTreeSet<&str> = optional.map(|one| &*one.name).collect();
    let listed: BTreeSet<&str> = of(&[FEATURES]).map(|one| &*one.name).collect();
    let differ = optional.symmetric_difference(&listed);
    let line = |name| {
        format!(
            "crates/cli/features/Cargo.toml: {name} – list the optional dependencies of oarlock-cli and oarlock-file, \
             with their features, and no others"
        )
    };
    differ.map(line).collect()
}

fn check_package(package: &Package, manifest: &Path) -> Vec<String> {
    let manifest = manifest.display();
    let Some(from) = place(&package.name) else {
        return vec![format!(
            "{manifest}: unknown crate {} – give it a floor in HOUSE of xtask/src/structure/edges.rs",
            package.name
        )];
    };
    package
        .dependencies
        .iter()
        .filter(|dependency| dependency.path.is_some() || place(&dependency.name).is_some())
        .filter_map(|dependency| {
            fault(package, from, dependency).map(|fault| {
                format!(
                    "{manifest}: {} uses {} – {fault}",
                    package.name, dependency.name
                )
            })
        })
        .collect()
}

/// Returns what is wrong with an edge, and what to do.
fn fault(package: &Package, from: Place, dependency: &Dependency) -> Option<String> {
    let dev = dependency.kind.as_deref() == Some("dev");
    if dev && dependency.name == package.name {
        return None; // a crate that enables its own features for its tests
    }
    if dev && dependency.name == FACADE.0 && FACADE.1.contains(&package.name.as_str()) {
        return None;
    }
    let Some(to) = place(&dependency.name) else {
        return Some(
            "unknown crate: give it a floor in HOUSE of xtask/src/structure/edges.rs".into(),
        );
    };
    if let Some((_, allowed, why)) = ALLOWED_ONLY.iter().find(|(name, ..)| *name == package.name) {
        let for_tests = dev && to == Place::TestsOnly;
        if !for_tests && !allowed.contains(&dependency.name.as_str()) {
            return Some(format!("it may use only {}: {why}", allowed.join(" and ")));
        }
    }
    match (from, to) {
        (_, Place::Outside) => {
            Some("nothing may depend on it: move what you need out of it".into())
        }
        (Place::TestsOnly, _) => Some("crates for tests alone depend on no other crate".into()),
        (_, Place::TestsOnly) if dev => None,
        (_, Place::TestsOnly) => Some("tests alone may: make it a dev-dependency".into()),
        (Place::Outside, Place::Floor(_)) => None,
        (Place::Floor(from), Place::Floor(to)) if to < from => None,
        (Place::Floor(from), Place::Floor(to)) => Some(format!(
            "{} edge, floor {from} to floor {to}: move what both need to a floor below",
            if from == to {
                "a sideways"
            } else {
                "an upward"
            }
        )),
    }
}

fn place(name: &str) -> Option<Place> {
    HOUSE
        .iter()
        .find(|(crate_name, _)| *crate_name == name)
        .map(|(_, place)| *place)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A dependency, its kind if it has one, and what is said of it.
    const EDGES: &str = "\
oarlock-cli oarlock-measure: good
oarlock-cli oarlock-kernels: good
oarlock oarlock-kernels build: good
oarlock-kernels oarlock-vectors dev: good
oarlock-provider oarlock-local: good
oarlock-provider oarlock-vectors dev: good
oarlock oarlock dev: good
oarlock-threads oarlock dev: good
oarlock-kernels oarlock: an upward edge, floor 0 to floor 4
oarlock-kernels oarlock dev: an upward edge, floor 0 to floor 4
oarlock-file oarlock-net: a sideways edge, floor 5 to floor 5
oarlock-cli oarlock-capi build: a sideways edge
oarlock oarlock: a sideways edge
oarlock-provider oarlock-net: only oarlock and oarlock-engine and
oarlock-provider oarlock-kernels: only oarlock and oarlock-engine and
oarlock oarlock-vectors: make it a dev-dependency
oarlock oarlock-vectors build: make it a dev-dependency
oarlock-vectors oarlock: depend on no other crate
oarlock xtask dev: nothing may depend on it
oarlock-cli oarlock-bench: nothing may depend on it
oarlock-cli oarlock-shiny: give it a floor in HOUSE
";

    #[test]
    fn edges_of_the_design_pass_and_planted_ones_are_reported() {
        for row in EDGES.lines() {
            let (edge, said) = row.split_once(": ").unwrap();
            let mut edge = edge.split(' ');
            let (from, to) = (edge.next().unwrap(), edge.next().unwrap());
            let found = findings(from, to, edge.next());
            match (said, &found[..]) {
                ("good", []) => {}
                (_, [one]) if one.starts_with("crates/x/Cargo.toml: ") && one.contains(said) => {}
                _ => panic!("{row}: {found:?}"),
            }
        }
    }

    #[test]
    fn an_unknown_crate_is_reported_once_and_told_where_to_go() {
        let found = findings("oarlock-shiny", "oarlock", None);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("give it a floor in HOUSE of xtask/src/structure/edges.rs"));
    }

    #[test]
    fn crates_from_elsewhere_are_not_ours_to_judge() {
        let mut metadata = planted("oarlock-kernels", "inout", None);
        metadata.packages[0].dependencies[0].path = None;
        assert_eq!(check(&metadata).unwrap(), [""; 0]);
    }

    #[test]
    fn what_a_feature_brings_is_listed_for_the_first_part_of_the_command() {
        let mut metadata = planted("oarlock-cli", "oarlock-net", None);
        metadata.packages[0].dependencies[0].optional = true;
        let found = check(&metadata).unwrap();
        assert!(
            found.len() == 1 && found[0].contains(": oarlock-net – list"),
            "{found:?}"
        );
        let listed = planted(FEATURES, "oarlock-net", None);
        metadata.packages.extend(listed.packages);
        assert_eq!(check(&metadata).unwrap(), [""; 0]);
        metadata.packages[0].dependencies[0].optional = false;
        assert_eq!(check(&metadata).unwrap().len(), 1);
    }

    #[test]
    fn no_crates_is_an_error() {
        let mut metadata = planted("oarlock", "oarlock-kernels", None);
        metadata.packages.clear();
        assert!(check(&metadata).unwrap_err().contains("found no crates"));
    }

    fn findings(from: &str, to: &str, kind: Option<&str>) -> Vec<String> {
        check(&planted(from, to, kind)).unwrap()
    }

    fn planted(from: &str, to: &str, kind: Option<&str>) -> Metadata {
        Metadata {
            packages: vec![Package {
                name: from.into(),
                manifest_path: "/house/crates/x/Cargo.toml".into(),
                targets: Vec::new(),
                dependencies: vec![Dependency {
                    name: to.into(),
                    kind: kind.map(Into::into),
                    optional: false,
                    path: Some("/house/crates/y".into()),
                }],
            }],
            target_directory: "/house/target".into(),
            workspace_root: "/house".into(),
        }
    }
}
