//! Circles of modules. Cargo prevents circles of crates; this check prevents circles of a crate's top-level modules.
//!
//! Sources are read as text: the check looks for `crate::` outside of comments, and before the tests at the end of a file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::Source;
use crate::tool::Metadata;

/// Modules that count as top-level: the rest of `portable` is above the users of this one.
const APART: [&str; 1] = ["portable::xor"];

/// The modules that each module names.
type Uses = BTreeMap<String, BTreeSet<String>>;

/// Returns the number of modules, and a line for each module on a circle.
pub fn check(metadata: &Metadata, sources: &[Source]) -> (usize, Vec<String>) {
    let (mut count, mut findings) = (0, Vec::new());
    let targets = metadata.packages.iter().flat_map(|one| &one.targets);
    let is_code = |kind: &String| matches!(kind.as_str(), "lib" | "bin" | "cdylib" | "rlib");
    for target in targets.filter(|target| target.kind.iter().any(is_code)) {
        let folder = target.src_path.parent().unwrap_or(Path::new("/"));
        let folder = folder.strip_prefix(&metadata.workspace_root);
        let folder = folder.unwrap_or(Path::new(""));
        let mut uses = Uses::new();
        for (path, text) in sources {
            let Ok(place) = Path::new(path).strip_prefix(folder) else {
                continue;
            };
            let place = place.with_extension("");
            let parts: Vec<_> = place.iter().map(|part| part.to_string_lossy()).collect();
            let module = room(&parts.join("::"));
            let is_root = matches!(&*module, "lib" | "main" | "bin");
            if !is_root && !parts.iter().any(|part| part == "tests") {
                uses.entry(module).or_default().extend(named(text));
            }
        }
        count += uses.len();
        findings.extend(on_circles(&uses).into_iter().map(|module| {
            format!(
                "{}: the module {module} uses itself by way of others – move what they share below both",
                folder.display()
            )
        }));
    }
    (count, findings)
}

/// Returns the top-level module that contains the module with this path.
fn room(path: &str) -> String {
    let apart = APART.iter().find(|apart| path.starts_with(**apart));
    let first = path.split("::").next().unwrap_or_default();
    apart.map_or(first, |apart| apart).to_owned()
}

/// Returns the modules that `text` names as `crate::NAME`, or in the braces of `crate::{...}`.
fn named(text: &str) -> BTreeSet<String> {
    let code = text.split("\nmod tests").next().unwrap_or_default();
    let code: Vec<&str> = code
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default().trim())
        .collect();
    let code = code.concat();
    let is_word = |sign: char| sign.is_alphanumeric() || sign == '_' || sign == ':';
    let word = |text: &str| text.split(|sign| !is_word(sign)).next().map(room);
    let rests = code.split("crate::").skip(1);
    rests
        .flat_map(|rest| match rest.strip_prefix('{') {
            Some(list) => {
                let mut depth = 0;
                let parts = list.split_inclusive(['{', '}', ',']);
                let mut names = Vec::new();
                for part in parts.take_while(|part| !part.contains(';')) {
                    names.extend((depth == 0).then(|| word(part.trim())).flatten());
                    depth += i32::from(part.ends_with('{')) - i32::from(part.ends_with('}'));
                }
                names
            }
            None => word(rest).into_iter().collect(),
        })
        .collect()
}

fn on_circles(uses: &Uses) -> Vec<&String> {
    let reached = |from: &String| {
        let mut reached = BTreeSet::new();
        let mut left: Vec<&String> = uses[from].iter().filter(|to| *to != from).collect();
        while let Some(module) = left.pop() {
            if reached.insert(module) {
                left.extend(uses.get(module).into_iter().flatten());
            }
        }
        reached
    };
    uses.keys()
        .filter(|one| reached(one).contains(one))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_is_found_and_a_line_is_none() {
        let uses = |text: &str| named(text);
        let mut modules = Uses::from([
            (
                "a".to_owned(),
                uses("use crate::b::{Crate, of::A};\n// crate::a"),
            ),
            ("b".to_owned(), uses("fn f() { crate::c::g() }")),
            (
                "c".to_owned(),
                uses("use crate::{Error, d::{a, b},\n    e};"),
            ),
        ]);
        assert_eq!(on_circles(&modules), [""; 0]);
        modules.insert(
            "e".to_owned(),
            uses("use crate::a;\nmod tests { use crate::b; }"),
        );
        assert_eq!(on_circles(&modules), ["a", "b", "c", "e"]);
    }

    #[test]
    fn a_module_apart_is_no_part_of_its_parent() {
        assert_eq!(room("portable::xor::wide"), "portable::xor");
        assert_eq!(room("portable::aes"), "portable");
    }
}
