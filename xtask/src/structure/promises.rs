//! The tests that pages name for what they promise.

use std::path::Path;

use super::Source;
use crate::files;
use crate::tool::Result;

/// A page that names a test for each promise.
struct Page {
    path: &'static str,
    /// The folder to which names with a module are relative; without it they are not looked up.
    modules: Option<&'static str>,
    /// The fewest tests and files that it names: a page whose form this check does not understand must not pass.
    names_min: usize,
}

const PAGES: [Page; 3] = [
    Page {
        path: "SECURITY.md",
        modules: None,
        names_min: 10,
    },
    Page {
        path: "docs/internals/process-model.md",
        modules: None,
        names_min: 20,
    },
    Page {
        path: "docs/internals/openssl-differences.md",
        modules: Some("crates/provider/tests/it"),
        names_min: 20,
    },
];
/// Words in a name above which it can only be that of a test, wherever that is.
const WORDS: usize = 5;

/// Returns every named test that no source has, and every named file or folder that is missing.
pub fn check(root: &Path, sources: &[Source]) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    for page in PAGES {
        let text = files::read(&root.join(page.path))?;
        let mut names = 0;
        // What is between backquotes.
        for quoted in text.split('`').skip(1).step_by(2) {
            let is_there = if let Some(is_there) = page.has_test(sources, quoted) {
                is_there
            } else if quoted.contains("/tests/") && !quoted.contains(' ') {
                let mut bases = ["", "crates"].iter();
                bases.any(|base| root.join(base).join(quoted).exists())
            } else {
                continue;
            };
            names += 1;
            if !is_there {
                findings.push(format!("{}: there is no {quoted}", page.path));
            }
        }
        if names < page.names_min {
            findings.push(format!("{}: names only {names} tests", page.path));
        }
    }
    Ok(findings)
}

impl Page {
    /// Whether a source has this test; `None` if it is not the name of one.
    fn has_test(&self, sources: &[Source], name: &str) -> Option<bool> {
        let parts: Vec<&str> = name.split("::").collect();
        let (test, modules) = parts.split_last()?;
        let is_word = |part: &&str| {
            let is_sign = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            !part.is_empty() && part.chars().all(is_sign)
        };
        if !parts.iter().all(is_word) {
            return None;
        }
        let function = format!("fn {test}(");
        if let Some(folder) = self.modules.filter(|_| !modules.is_empty()) {
            let module = format!("{folder}/{}", modules.join("/"));
            let files = [format!("{module}.rs"), format!("{module}/mod.rs")];
            let mut texts = sources.iter().filter(|(path, _)| files.contains(path));
            // A macro may make tests of names.
            let made = format!("{test}:");
            return Some(texts.any(|(_, text)| text.contains(&function) || text.contains(&made)));
        }
        let is_long = test.split('_').count() >= WORDS;
        is_long.then(|| sources.iter().any(|(_, text)| text.contains(&function)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tests_are_looked_up() {
        let source = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        let sources = [
            source("crates/provider/tests/it/ec/mod.rs", "fn one() {}"),
            source("crates/provider/tests/it/vectors.rs", "aes_gcm: gcm"),
            source("crates/cli/tests/it/a.rs", "async fn it_is_as_it_was() {}"),
        ];
        let [security, _, differences] = PAGES;
        for (page, name, expected) in [
            (&differences, "ec::one", Some(true)),
            (&differences, "ec::two", Some(false)),
            (&differences, "vectors::aes_gcm", Some(true)),
            (&differences, "vectors::one", Some(false)),
            (&security, "ec::two", None),
            (&security, "it_is_as_it_was", Some(true)),
            (&security, "it_is_as_it_is", Some(false)),
            (&security, "Ec::it_is_as_it_was", None),
            (&security, "is_there", None),
            (&security, "a b", None),
        ] {
            assert_eq!(page.has_test(&sources, name), expected, "{name}");
        }
    }
}
