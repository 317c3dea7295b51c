//! Limits the length of files.

use super::Source;

/// The most lines of a handwritten file.
const LINES_MAX: usize = 700;

/// Files that may be longer, with the reason.
const EXEMPT: &[(&str, &str)] = &[(
    "crates/net/src/proto/generated.rs",
    "`cargo xtask proto` writes it, in one piece",
)];

/// Returns a line for every source that is too long, and for every exemption that is no longer needed.
pub fn check(sources: &[Source]) -> Vec<String> {
    let mut findings = Vec::new();
    for (path, text) in sources {
        let lines = text.lines().count();
        if lines > LINES_MAX && !EXEMPT.iter().any(|(exempt, _)| exempt == path) {
            findings.push(format!(
                "{path}: {lines} lines, {} more than a file may have – divide it by subject into a \
                 folder module",
                lines - LINES_MAX
            ));
        }
    }
    for (exempt, why) in EXEMPT {
        if !sources.iter().any(|(path, _)| path == exempt) {
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

    #[test]
    fn one_line_more_than_allowed_is_reported() {
        let found = check(&planted(&[
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
        assert_eq!(check(&planted(&[])), [""; 0]);
        let other = "crates/cli/src/proto/generated.rs";
        assert_eq!(check(&planted(&[(other, 5000)])).len(), 1);
    }

    #[test]
    fn a_file_that_is_exempt_and_gone_is_reported() {
        let found = check(&[("crates/net/src/lib.rs".to_owned(), String::new())]);
        assert_eq!(found.len(), EXEMPT.len(), "{found:?}");
        for ((exempt, _), said) in EXEMPT.iter().zip(&found) {
            assert!(said.contains(&format!("EXEMPT names {exempt}")), "{said}");
            assert!(said.contains("not there"), "{said}");
        }
    }

    /// Returns sources with these numbers of lines, and the exempt files.
    fn planted(files: &[(&str, usize)]) -> Vec<Source> {
        let exempt = EXEMPT.iter().map(|(path, _)| (*path, 5000));
        let files = files.iter().copied().chain(exempt);
        let planted =
            |(path, lines): (&str, usize)| (path.to_owned(), "// A line.\n".repeat(lines));
        files.map(planted).collect()
    }
}
