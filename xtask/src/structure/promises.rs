//! The tests that pages name for what they promise.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::files::sources;
use crate::tool::Result;

/// Pages that name a test for each promise.
const PAGES: [&str; 2] = ["SECURITY.md", "docs/internals/process-model.md"];
/// Words in a name above which it can only be that of a test.
const WORDS: usize = 5;

/// Returns every named test that no source has, and every named file or folder that is missing.
pub fn check(root: &Path) -> Result<Vec<String>> {
    let mut functions = BTreeSet::new();
    for folder in ["crates", "fuzz", "testing", "python"] {
        for source in sources(&root.join(folder), &|_| false)? {
            let text = fs::read_to_string(&source).map_err(|error| error.to_string())?;
            let after_fn = text.split("fn ").skip(1);
            functions.extend(after_fn.map(|rest| name(rest).to_owned()));
        }
    }
    let mut findings = Vec::new();
    let mut named = 0;
    for page in PAGES {
        let text = fs::read_to_string(root.join(page)).map_err(|error| error.to_string())?;
        // What is between backquotes.
        for quoted in text.split('`').skip(1).step_by(2) {
            let last = quoted.rsplit("::").next().unwrap_or_default();
            let is_test = last == last.to_lowercase()
                && name(last) == last
                && last.split('_').count() >= WORDS;
            let is_file = quoted.contains("/tests/") && !quoted.contains(' ');
            let is_there = match (is_test, is_file) {
                (true, _) => functions.contains(last),
                (_, true) => ["", "crates"]
                    .iter()
                    .any(|base| root.join(base).join(quoted).exists()),
                _ => continue,
            };
            named += 1;
            if !is_there {
                findings.push(format!("{page}: there is no {quoted}"));
            }
        }
    }
    if named < PAGES.len() {
        findings.push("no page names a test".to_owned());
    }
    Ok(findings)
}

/// Returns the identifier that `text` begins with.
fn name(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    &text[..end.unwrap_or(text.len())]
}
