//! `cargo xtask words`: rejects words that mark a text as a translation.
//!
//! It checks comments and string literals of Rust, and the whole text of documents, headers and configurations, except
//! `code` between backticks.

mod prose;
#[cfg(test)]
mod tests;

use std::path::Path;

use crate::files;
use crate::tool::Result;

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

/// Fails if a text has one of the words, and prints where.
pub fn run(root: &Path) -> Result<()> {
    let (mut texts, mut faults) = (0, 0);
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
        let places = match ending {
            "rs" => source(&text),
            _ => document(&text),
        };
        for (line, what) in places {
            println!("{name}:{line}: {what}");
            faults += 1;
        }
    }
    match (texts, faults) {
        (0, _) => Err("found no text to check".to_owned()),
        (_, 0) => {
            println!("words hold: {texts} texts");
            Ok(())
        }
        _ => Err(format!(
            "{faults} place(s) have words that read as a translation, named above"
        )),
    }
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
