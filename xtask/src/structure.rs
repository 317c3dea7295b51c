//! `cargo xtask structure`: checks the layout of the workspace.
//!
//! Two checks are tables: [`edges`] lists the crates that a crate may depend on, and [`rooms`] the files that may hold
//! `unsafe`, intrinsics, threads, the environment and `#[path]`. [`circles`] keeps the top-level modules of a crate from
//! using each other in a circle, [`lengths`] bounds the lines of a file, and [`safety`] requires the preconditions of unsafe
//! code to be named. [`promises`] looks up the tests that pages name. [`bench`] compares the benchmark's workspace with this one, and the last check compares generated
//! tables, assembly, circuits and the page of figures with the output of their generators. Every check fails if it finds
//! nothing to check, so that it cannot pass by looking in the wrong place.

mod bench;
mod circles;
mod edges;
mod lengths;
mod promises;
mod rooms;
mod safety;

use std::path::Path;

use crate::files;
use crate::tool::{Metadata, Result};
use crate::{circuits, families, kernels, performance, proto};

/// A Rust source: its path from the root of the repository, and its text.
type Source = (String, String);

pub fn run() -> Result<()> {
    let metadata = Metadata::load_with_bench()?;
    let root = &metadata.workspace_root;
    let sources = sources(root)?;
    let mut findings = edges::check(&metadata)?;
    findings.extend(rooms::check(&sources)?);
    let (modules, in_circles) = circles::check(&metadata, &sources);
    findings.extend(in_circles);
    findings.extend(lengths::check(&sources));
    findings.extend(safety::check(&sources)?);
    findings.extend(promises::check(root, &sources)?);
    findings.extend(bench::check(root)?);
    let generated = [
        families::check(root),
        kernels::check(root),
        circuits::check(root),
        performance::check(root),
        proto::check(root),
    ];
    findings.extend(generated.into_iter().filter_map(Result::err));

    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => {
            println!(
                "structure holds: {} crates, {} files, {modules} modules",
                metadata.packages.len(),
                sources.len()
            );
            Ok(())
        }
        n => Err(format!(
            "the structure is broken in {n} place(s), named above"
        )),
    }
}

/// Returns every Rust source in the repository, in any package.
fn sources(root: &Path) -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    for path in files::of_repository(root)? {
        if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy();
            sources.push((name.into_owned(), files::read(&path)?));
        }
    }
    match sources.is_empty() {
        true => Err(format!("{}: found no Rust source to check", root.display())),
        false => Ok(sources),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_is_read_but_what_cargo_and_git_keep() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for path in [
            "fuzz/libfuzzer/Cargo.toml",
            "fuzz/libfuzzer/fuzz_targets/a.rs",
            "crates/cli/tests/it/a.rs",
            "crates/cli/tests/it/a.txt",
            "target/debug/build/a.rs",
            ".git/a.rs",
        ] {
            let path = root.join(path);
            files::create_dir(path.parent().unwrap()).unwrap();
            files::write(&path, "// A line.\n").unwrap();
        }
        let sources = sources(root).unwrap();
        let paths = sources.iter().map(|(path, _)| path.as_str());
        let expected = [
            "crates/cli/tests/it/a.rs",
            "fuzz/libfuzzer/fuzz_targets/a.rs",
        ];
        assert!(paths.eq(expected), "{sources:?}");
    }

    #[test]
    fn no_sources_are_an_error() {
        let empty = tempfile::tempdir().unwrap();
        let error = sources(empty.path()).unwrap_err();
        assert!(error.contains("found no Rust source"), "{error}");
    }
}
