//! Compares the benchmark's workspace with the main one: its figures are those of the product only if both are built alike.

use std::collections::BTreeMap;
use std::path::Path;

use crate::tool::Result;

/// Returns a line for every lint, profile setting or dependency version that differs.
pub fn check(root: &Path) -> Result<Vec<String>> {
    let read = |name: &str| {
        let path = root.join(name);
        std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let mut findings = Vec::new();
    let main = locked(&read("Cargo.lock")?);
    let bench = locked(&read("bench/Cargo.lock")?);
    for (name, versions) in &bench {
        if let Some(others) = main.get(name).filter(|others| !is_within(versions, others)) {
            findings.push(format!(
                "bench/Cargo.lock: {name} {} – Cargo.lock has {}: update the one that is behind",
                versions.join(" and "),
                others.join(" and ")
            ));
        }
    }
    let of_main = settings(&read("Cargo.toml")?);
    let of_bench = settings(&read("bench/Cargo.toml")?);
    let differ = missing(&of_main, &of_bench, &bench).chain(missing(&of_bench, &of_main, &main));
    findings.extend(differ.map(|(section, key)| {
        format!("bench/Cargo.toml: [{section}] {key} – set it as Cargo.toml does, or not at all")
    }));
    Ok(findings)
}

/// Versions by package.
type Locked = BTreeMap<String, Vec<String>>;

/// Values by section and key.
type Settings = BTreeMap<(String, String), String>;

fn locked(lock: &str) -> Locked {
    let value = |line: &str, key: &str| {
        let quoted = line.strip_prefix(key)?.strip_prefix(" = \"")?;
        Some(quoted.trim_end_matches('"').to_owned())
    };
    let mut found = Locked::new();
    let mut name = None;
    for line in lock.lines() {
        name = value(line, "name").or(name);
        if let (Some(version), Some(name)) = (value(line, "version"), &name) {
            found.entry(name.clone()).or_default().push(version);
        }
    }
    found
}

fn is_within(some: &[String], all: &[String]) -> bool {
    some.iter().all(|version| all.contains(version))
}

/// Returns the lints and profiles of a manifest, without comments.
fn settings(manifest: &str) -> Settings {
    let mut found = Settings::new();
    let mut section = "";
    for line in manifest.lines() {
        let line = line.split(" #").next().unwrap_or_default().trim();
        if let Some(name) = line.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
            section = name;
        } else if section.starts_with("profile.") || section.starts_with("workspace.lints.") {
            // `aes.opt-level = 2` or `aes = { opt-level = 2 }`.
            if let Some((key, value)) = line.split_once(" = ").filter(|_| !line.starts_with('#')) {
                let place = (section.to_owned(), key.replace('"', ""));
                found.insert(place, value.to_owned());
            }
        }
    }
    found
}

/// Returns settings that `others` lack or have with another value, except those of packages missing from `locked`, the
/// others' lock file.
fn missing<'a>(
    some: &'a Settings,
    others: &'a Settings,
    locked: &'a Locked,
) -> impl Iterator<Item = &'a (String, String)> {
    let is_elsewhere = |(section, key): &(String, String)| {
        let package = key.split('.').next().unwrap_or_default();
        section.ends_with(".package") && package != "*" && !locked.contains_key(package)
    };
    some.iter()
        .filter(move |(place, value)| others.get(place) != Some(value) && !is_elsewhere(place))
        .map(|(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = "[[package]]\nname = \"aes\"\nversion = \"0.9.4\"\n\n\
        [[package]]\nname = \"aes\"\nversion = \"0.8.1\"\n\n[[package]]\nname = \"b\"\nversion = \"1.0.0\"\n";

    #[test]
    fn a_version_of_the_benchmark_alone_is_told_from_one_of_both() {
        let all = locked(LOCK);
        assert_eq!(all["aes"], ["0.9.4", "0.8.1"]);
        assert!(is_within(&["0.8.1".to_owned()], &all["aes"]));
        assert!(!is_within(&["1.0.1".to_owned()], &all["b"]));
    }

    #[test]
    fn a_setting_that_differs_is_reported_unless_its_package_is_elsewhere() {
        let main = "[profile.release]\nopt-level = 1 # why\n[profile.release.package]\n\"*\".debug = false\n\
            aes.opt-level = 3\nserpent.opt-level = 3\nb = { opt-level = 3 }\n[dependencies]\nb = \"1\"\n";
        let lock = locked(LOCK);
        let differ = |bench: &str| missing(&settings(main), &settings(bench), &lock).count();
        assert_eq!(differ(main), 0);
        assert_eq!(differ(&main.replace("serpent.opt-level = 3\n", "")), 0);
        assert_eq!(differ(&main.replace("aes.opt-level = 3\n", "")), 1);
        assert_eq!(differ(&main.replace("opt-level = 1", "opt-level = 2")), 1);
        assert_eq!(differ(&main.replace("false", "true")), 1);
        assert_eq!(differ(&format!("{main}c.opt-level = 3\n")), 0);
    }
}
