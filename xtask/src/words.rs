//! `cargo xtask words`: rejects words that mark a text as a translation.
//!
//! It checks comments and string literals of Rust, and the whole text of documents, headers and configurations, except
//! `code` between backticks. Documents, and files outside all packages, must have none of these words. `xtask/words.txt`
//! records the counts of packages, and none may rise.

mod prose;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::files;
use crate::tool::{Metadata, Result};

/// The words, each with its replacements.
const WORDS: &[(&str, &str)] = &[
    ("beside", "next to, compared with, while"),
    ("anew", "again"),
    ("meanwhile", "in the meantime, while"),
    ("likewise", "also, in the same way"),
    ("in vain", "without success"),
    ("for ever", "forever, without end"),
    ("whoever", "the one that; name the subject"),
];
/// Words that no doc comment may begin with: its first line is a sentence about the item.
const BEGINNINGS: &[&str] = &["Of ", "Who ", "Whoever ", "As many ", "So many "];
/// Files and directories that are not checked, with the reason.
const ALLOWED: &[(&str, &str)] = &[("xtask/src/words", "it lists the words and tests the check")];
/// Extensions of text files. Test data have others.
const ENDINGS: &[&str] = &[
    "rs", "md", "toml", "h", "hpp", "c", "cpp", "proto", "py", "sh", "map", "conf", "cfg",
    "service", "socket", "yaml",
];
/// Directories of text files without an extension.
const FOLDERS: &[&str] = &["scripts"];
const RECORD: &str = "xtask/words.txt";

/// Fails if a document has one of the words, or a package more of them than recorded.
pub fn run() -> Result<()> {
    let (metadata, found) = find()?;
    let recorded = read(&metadata.workspace_root)?;
    let counts = counts(&found);
    let mut faults = 0;
    for (_, place) in found.iter().filter(|(package, _)| package.is_empty()) {
        println!("{place}");
        faults += 1;
    }
    for (package, count) in &counts {
        let most = recorded.get(package).copied().unwrap_or(0);
        if *count > most {
            println!(
                "{package}: {count} words that read as a translation, {most} recorded: mend the new ones; \
                 `cargo xtask words --list {package}` names all"
            );
            faults += 1;
        }
    }
    let is_stale = |(package, most): (&String, &usize)| counts.get(package).unwrap_or(&0) < most;
    if recorded.iter().any(is_stale) {
        println!("{RECORD} records more than there are: run `cargo xtask words --record`");
    }
    match faults {
        0 => {
            println!("words hold: {} left in sources", total(&counts));
            Ok(())
        }
        _ => Err(format!(
            "{faults} place(s) have words that read as a translation, named above"
        )),
    }
}

/// Records the counts, unless their sum has risen.
pub fn record() -> Result<()> {
    let (metadata, found) = find()?;
    let root = &metadata.workspace_root;
    let (before, after) = (read(root)?, counts(&found));
    if !before.is_empty() && total(&after) > total(&before) {
        return Err(format!(
            "{} words, {} recorded: the number may only fall",
            total(&after),
            total(&before)
        ));
    }
    let mut text = String::from(
        "# `cargo xtask words --record` writes this file: words to mend, by package.\n",
    );
    for (package, count) in after {
        let _ = writeln!(text, "{package} {count}");
    }
    files::write(&root.join(RECORD), text)
}

/// Prints the places in `package`.
pub fn list(package: &str) -> Result<()> {
    let (_, found) = find()?;
    for (_, place) in found.iter().filter(|(name, _)| name == package) {
        println!("{place}");
    }
    Ok(())
}

/// The package of a place, empty if no word is allowed there, and the place as printed.
type Found = Vec<(String, String)>;

fn counts(found: &Found) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for (package, _) in found.iter().filter(|(package, _)| !package.is_empty()) {
        *counts.entry(package.clone()).or_default() += 1;
    }
    counts
}

fn total(counts: &BTreeMap<String, usize>) -> usize {
    counts.values().sum()
}

fn read(root: &Path) -> Result<BTreeMap<String, usize>> {
    let text = match fs::read_to_string(root.join(RECORD)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        text => text.map_err(|error| format!("{RECORD}: {error}"))?,
    };
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let counts = lines.map(|line| {
        let (package, count) = line.split_once(' ')?;
        Some((package.to_owned(), count.parse().ok()?))
    });
    counts.collect::<Option<_>>().ok_or_else(|| {
        format!("{RECORD}: a line is not a package and a number: run `cargo xtask words --record`")
    })
}

fn find() -> Result<(Metadata, Found)> {
    let metadata = Metadata::load_with_bench()?;
    let root = &metadata.workspace_root;
    let mut found = Found::new();
    let mut texts = 0;
    for path in files::of_repository(root)? {
        let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy();
        let last = path.file_name().unwrap_or_default().to_string_lossy();
        let ending = last.rsplit_once('.').map_or("", |(_, ending)| ending);
        let is_below = |folder: &&str| name.starts_with(&format!("{folder}/"));
        let is_text =
            ENDINGS.contains(&ending) || FOLDERS.iter().any(is_below) || last == "Makefile";
        if !is_text || ALLOWED.iter().any(|(allowed, _)| name.starts_with(allowed)) {
            continue;
        }
        texts += 1;
        let text = files::read(&path)?;
        let (package, places) = match ending {
            "md" => (String::new(), document(&text)),
            "rs" => (package(&path, &metadata), source(&text)),
            _ => (package(&path, &metadata), document(&text)),
        };
        for (line, what) in places {
            found.push((package.clone(), format!("{name}:{line}: {what}")));
        }
    }
    match texts {
        0 => Err("found no text to check".to_owned()),
        _ => Ok((metadata, found)),
    }
}

/// Returns the innermost package that contains `path`, or an empty name.
fn package(path: &Path, metadata: &Metadata) -> String {
    let packages = metadata.packages.iter();
    let around = packages.filter(|package| {
        package
            .manifest_path
            .parent()
            .is_some_and(|folder| path.starts_with(folder))
    });
    let innermost = around.max_by_key(|package| package.manifest_path.components().count());
    innermost
        .map(|package| package.name.clone())
        .unwrap_or_default()
}

/// Returns the lines of `text`, from 1 on, with the words found in them.
fn document(text: &str) -> Vec<(usize, String)> {
    let mut places = Vec::new();
    for (number, line) in text.lines().enumerate() {
        // Every second piece is code.
        let prose: Vec<&str> = line.split('`').step_by(2).collect();
        let prose = prose.join("`").to_lowercase();
        for (word, instead) in WORDS {
            for (at, _) in prose.match_indices(word) {
                let is_part = |sign: char| sign.is_alphanumeric() || "_-".contains(sign);
                let behind = &prose[at + word.len()..];
                if !prose[..at].ends_with(is_part)
                    && !behind.starts_with(is_part)
                    && !behind.starts_with(".rs")
                {
                    places.push((number + 1, format!("{word:?}: write {instead}")));
                }
            }
        }
    }
    places
}

/// Returns the same for a Rust source.
fn source(text: &str) -> Vec<(usize, String)> {
    let mut places = document(&prose::of(text));
    let mut before = "";
    for (number, line) in text.lines().enumerate() {
        let mark = ["///", "//!"]
            .into_iter()
            .find(|mark| line.trim_start().starts_with(mark));
        let mark = mark.unwrap_or_default();
        let said = line.trim_start().trim_start_matches(mark).trim_start();
        if !mark.is_empty()
            && mark != before
            && BEGINNINGS.iter().any(|begin| said.starts_with(begin))
        {
            places.push((
                number + 1,
                "a doc comment begins without its subject: write a sentence about the item".into(),
            ));
        }
        before = mark;
    }
    places
}
