//! `cargo xtask performance`: writes docs/performance.md from the records below bench/records.
//!
//! The page has a table for each processor, with the newest record of each CPU class ([`summary`]). The part below [`MARK`]
//! is written by hand and kept. `--all` prints every record instead: a section for each class with a section for each
//! record. If a record has two lines about the same point, the later one counts; targets show the figures of every run, in
//! order.

mod class;
mod line;
mod record;
mod summary;
mod table;
#[cfg(test)]
mod tests;
mod text;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use self::class::{CLASSES, Class};
use self::record::Record;
use crate::files;
use crate::tool::Result;

/// Writes the page.
pub fn run(root: &Path) -> Result<()> {
    let text = page(root)?;
    files::write(&root.join(PAGE), text)?;
    println!("{PAGE} is written: commit it with the records");
    Ok(())
}

/// Prints every record.
pub fn print_all(root: &Path) -> Result<()> {
    print!("{}", generated(&records(root)?));
    Ok(())
}

/// Fails unless the page is what [`run`] would write.
pub fn check(root: &Path) -> Result<()> {
    let text = page(root)?;
    let lines = text.lines().count();
    if lines > LINES_MAX {
        return Err(format!(
            "{PAGE}: {lines} lines, and at most {LINES_MAX} are allowed: move a part to docs/internals"
        ));
    }
    if text == files::read(&root.join(PAGE))? {
        Ok(())
    } else {
        Err(format!(
            "{PAGE} is not what the records give: run `cargo xtask performance`, or undo the edit \
             above its mark"
        ))
    }
}

/// Returns the whole page, with the handwritten part of the current one.
fn page(root: &Path) -> Result<String> {
    let by_hand = match fs::read_to_string(root.join(PAGE)) {
        Ok(text) => {
            let start = text.find(MARK).ok_or_else(|| {
                format!("{PAGE} has lost its mark: put the line {MARK:?} above what is kept")
            })?;
            text[start..].to_owned()
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => format!("{MARK}\n"),
        Err(error) => return Err(format!("{PAGE}: {error}")),
    };
    Ok(summary(&records(root)?) + &by_hand)
}

/// Reads all records, the newest first.
fn records(root: &Path) -> Result<Vec<Record>> {
    let mut paths = files::below(&root.join(RECORDS), &|_| false)?;
    paths.retain(|path| path.extension().is_some_and(|it| it == "jsonl"));
    if paths.is_empty() {
        return Err(format!("found no records below {RECORDS}"));
    }
    let mut records = Vec::new();
    for path in paths {
        let name = path.strip_prefix(root).unwrap_or(&path).display();
        records.push(Record::parse(&name.to_string(), &files::read(&path)?)?);
    }
    records.sort_by(|a, b| (&b.date, &a.path).cmp(&(&a.date, &b.path)));
    Ok(records)
}

/// Returns the generated part of the page.
fn summary(records: &[Record]) -> String {
    let mut out = OPENING.to_owned();
    for Class { name, what, .. } in CLASSES {
        let _ = writeln!(out, "| {name} | {what} |");
    }
    out.push('\n');
    out + &summary::sections(records)
}

/// Returns all records, by class.
fn generated(records: &[Record]) -> String {
    let mut out = ALL.to_owned();
    for class in CLASSES {
        let count = records.iter().filter(|one| one.class == class.name).count();
        let count = match count {
            0 => "none".to_owned(),
            count => count.to_string(),
        };
        let Class { name, what, .. } = class;
        let _ = writeln!(out, "| {name} | {what} | {count} |");
    }
    out.push('\n');
    for class in CLASSES {
        let mut of_class = records.iter().filter(|one| one.class == class.name);
        if let Some(first) = of_class.next() {
            let _ = writeln!(out, "## Class {}: {}\n", class.name, class.what);
            first.write(&mut out);
            of_class.for_each(|record| record.write(&mut out));
        }
    }
    out
}

const PAGE: &str = "docs/performance.md";
const RECORDS: &str = "bench/records";
/// The most lines of the page.
const LINES_MAX: usize = 150;
const MARK: &str = "<!-- Below this line the page is written by hand. -->";
const OPENING: &str = "\
# Performance

`cargo xtask performance` writes this summary from [bench/records](../bench/records), and `cargo xtask structure` fails when it is out of date.
`cargo xtask performance --all` prints every figure. [limits.md](limits.md) explains the losses.

A cell has the median ratio of Oarlock's rate over the peer's and, in brackets, the lowest: for ciphers over sizes from 16 bytes to 1 MiB on
one thread, for RSA over lengths of keys. A ratio below 0.97 is bold. Each ratio was measured in one run, in turn, after all outputs had been
compared. Classes below the machine's own were measured with instructions hidden from Oarlock and its peers.

| class | CPU |
|---|---|
";
const ALL: &str = "\
# All records

Machines differ and are noisy. Compare ratios, which Oarlock and its peer reached in one run and in turn, and never
absolute figures of two runs. GB/s are 10^9 bytes a second. A cell holds the median and, in brackets, the median ratio of Oarlock over that peer;
`inline` is Oarlock itself on the calling thread alone. Outputs were compared before anything was measured.

| class | CPU | records |
|---|---|--:|
";
