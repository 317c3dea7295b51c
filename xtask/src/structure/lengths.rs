//! Limits the length of files.

use std::path::Path;

use super::files;
use crate::tool::Result;

/// The most lines of a handwritten file.
const LINES_MAX: usize = 700;

/// Files that may be longer, with the reason.
const EXEMPT: &[(&str, &str)] = &[(
    "crates/net/src/proto/generated.rs",
    "`cargo xtask proto` writes it, in one piece",
)];

/// Returns a line for every file in the repository that is too long, in any package.
pub fn check(root: &Path) -> Result<Vec<String>> {
    let is_hidden = |path: &Path| {
        let name = path.file_name().unwrap_or_default();
        name.as_encoded_bytes().starts_with(b".")
    };
    let mut files = Vec::new();
    for file in files::sources(root, &is_hidden)? {
        let text = std::fs::read_to_string(&file)
            .map_err(|error| format!("{}: {error}", file.display()))?;
        let name = file.strip_prefix(root).unwrap_or(&file).to_string_lossy();
        files.push((name.into_owned(), text.lines().count()));
    }
    if files.is_empty() {
        return Err(format!("{}: found no Rust source to check", root.display()));
    }
    Ok(judge(&files))
}

/// Judges files, given as paths from the root of the repository with their number of lines.
fn judge(files: &[(String, usize)]) -> Vec<String> {
    let mut findings = Vec::new();
    for (path, lines) in files {
        if *lines > LINES_MAX && !EXEMPT.iter().any(|(exempt, _)| exempt == path) {
            findings.push(format!(
                "{path}: {lines} lines, {} more than a file may have – divide it by subject into a \
                 folder module",
                lines - LINES_MAX
            ));
        }
    }
    for (exempt, why) in EXEMPT {
        if !files.iter().any(|(path, _)| path == exempt) {
            findings.push(format!(
                "xtask/src/structure/lengths.rs: EXEMPT names {exempt} ({why}), which is not there – \
                 remove it"
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn one_line_more_than_allowed_is_reported() {
        let found = judge(&planted(&[
            ("bench/src/a.rs", 700),
            ("bench/src/b.rs", 701),
        ]));
        assert_eq!(
            found,
            [
                "bench/src/b.rs: 701 lines, 1 more than a file may have – divide it by subject into a \
                 folder module"
            ]
        );
    }

    #[test]
    fn only_files_that_are_exempt_may_be_longer() {
        assert_eq!(judge(&planted(&[])), [""; 0]);
        let other = "crates/cli/src/proto/generated.rs";
        assert_eq!(judge(&planted(&[(other, 5000)])).len(), 1);
    }

    #[test]
    fn a_file_that_is_exempt_and_gone_is_reported() {
        let found = judge(&[("crates/net/src/lib.rs".to_owned(), 10)]);
        assert_eq!(found.len(), EXEMPT.len(), "{found:?}");
        for ((exempt, _), said) in EXEMPT.iter().zip(&found) {
            assert!(said.contains(&format!("EXEMPT names {exempt}")), "{said}");
            assert!(said.contains("not there"), "{said}");
        }
    }

    #[test]
    fn every_source_is_looked_at_but_what_cargo_and_git_keep() {
        let root = std::env::temp_dir().join(format!("oarlock-lengths-{}", std::process::id()));
        let long = "// A line.\n".repeat(701);
        let exempt = EXEMPT.iter().map(|(path, _)| *path);
        for path in exempt.chain([
            "fuzz/libfuzzer/Cargo.toml",
            "fuzz/libfuzzer/fuzz_targets/long.rs",
            "crates/cli/tests/it/long.rs",
            "crates/cli/tests/it/long.txt",
            "target/debug/build/long.rs",
            ".git/long.rs",
        ]) {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, &long).unwrap();
        }
        let found = check(&root);
        fs::remove_dir_all(&root).unwrap();
        let found = found.unwrap();
        let paths: Vec<_> = found
            .iter()
            .filter_map(|one| one.split(':').next())
            .collect();
        assert_eq!(
            paths,
            [
                "crates/cli/tests/it/long.rs",
                "fuzz/libfuzzer/fuzz_targets/long.rs"
            ]
        );
    }

    #[test]
    fn no_sources_are_an_error() {
        let empty = std::env::temp_dir().join(format!("oarlock-no-lengths-{}", std::process::id()));
        fs::create_dir_all(&empty).unwrap();
        let result = check(&empty);
        fs::remove_dir_all(&empty).unwrap();
        assert!(result.unwrap_err().contains("found no Rust source"));
    }

    /// Adds the exempt files.
    fn planted(files: &[(&str, usize)]) -> Vec<(String, usize)> {
        let exempt = EXEMPT.iter().map(|(path, _)| (*path, 5000));
        let files = files.iter().copied().chain(exempt);
        files
            .map(|(path, lines)| (path.to_owned(), lines))
            .collect()
    }
}
