//! The files of measured figures, one for each processor family. `cargo xtask plan` and `cargo xtask offers` replace the
//! sections that they measure on this machine and keep the rest; the build script of `oarlock` compiles the files.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use crate::files;
use crate::processor::Cpu;
use crate::tool::Result;

/// The directory that `cargo xtask plan` writes to.
pub(crate) const COSTS: &str = "crates/engine/src/costs/families";
/// The directory that `cargo xtask offers` writes to.
pub(crate) const RATIOS: &str = "crates/engine/src/costs/openssl/families";

/// A file: a comment, a head, and sections of sorted rows, separated by empty lines.
#[derive(Debug, PartialEq)]
pub(crate) struct Family {
    comment: String,
    name: String,
    /// The processors as [`Cpu::line`] writes them, possibly with more models that are known to be built alike.
    processors: String,
    sections: BTreeMap<String, BTreeSet<String>>,
}

impl Family {
    /// Returns the family of `cpu` and its file, which does not exist if the family was never measured.
    pub(crate) fn find(root: &Path, folder: &str, cpu: &Cpu) -> Result<(Self, PathBuf)> {
        let mut comment = String::new();
        for path in of(root, folder)? {
            let family = Self::read(&path)?;
            if cpu.is_one_of(&family.processors) {
                return Ok((family, path));
            }
            comment = family.comment;
        }
        let name = cpu.line();
        let file = format!("{}.txt", name.to_lowercase().replace(' ', "-"));
        let family = Self {
            comment,
            processors: name.clone(),
            name,
            sections: BTreeMap::new(),
        };
        Ok((family, root.join(folder).join(file)))
    }

    pub(crate) fn replace(&mut self, section: &str, rows: impl IntoIterator<Item = String>) {
        let rows = rows.into_iter().collect();
        self.sections.insert(section.to_owned(), rows);
    }

    /// Replaces the rows of the operations that `rows` begin with. Operations that were not measured this time keep their
    /// rows.
    pub(crate) fn update(&mut self, section: &str, rows: impl IntoIterator<Item = String>) {
        let of = |row: &str| row.split(' ').next().map(str::to_owned);
        let rows: BTreeSet<String> = rows.into_iter().collect();
        let measured: BTreeSet<_> = rows.iter().map(|row| of(row)).collect();
        let all = self.sections.entry(section.to_owned()).or_default();
        all.retain(|row| !measured.contains(&of(row)));
        all.extend(rows);
    }

    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        println!("{}: {}", path.display(), self.processors);
        files::write(path, self.to_string())
    }

    fn read(path: &Path) -> Result<Self> {
        let text = files::read(path)?;
        let family = Self::parse(&text).filter(|family| family.to_string() == text);
        family.ok_or_else(|| {
            let path = path.display();
            format!("{path}: not as it was generated: undo what was edited")
        })
    }

    fn parse(text: &str) -> Option<Self> {
        let mut blocks = text.split("\n\n");
        let comment = blocks.next()?.to_owned();
        let head = blocks.next()?.strip_prefix("name ")?;
        let (name, processors) = head.split_once("\nprocessors ")?;
        let section = |block: &str| {
            let (title, rows) = block.strip_prefix('[')?.split_once("]\n")?;
            Some((title.to_owned(), rows.lines().map(String::from).collect()))
        };
        Some(Self {
            comment,
            name: name.to_owned(),
            processors: processors.to_owned(),
            sections: blocks.map(section).collect::<Option<_>>()?,
        })
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            comment,
            name,
            processors,
            sections,
        } = self;
        writeln!(f, "{comment}\n\nname {name}\nprocessors {processors}")?;
        for (title, rows) in sections {
            writeln!(f, "\n[{title}]")?;
            for row in rows {
                writeln!(f, "{row}")?;
            }
        }
        Ok(())
    }
}

/// Fails unless every file is formatted as this program would write it.
pub(crate) fn check(root: &Path) -> Result<()> {
    for folder in [COSTS, RATIOS] {
        for path in of(root, folder)? {
            Family::read(&path)?;
        }
    }
    Ok(())
}

fn of(root: &Path, folder: &str) -> Result<Vec<PathBuf>> {
    let found = files::entries(&root.join(folder))?;
    match found.is_empty() {
        true => Err(format!("{folder}: contains no family")),
        false => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(vendor: &str, model: u32) -> Cpu {
        Cpu {
            vendor: vendor.into(),
            family: 25,
            model,
        }
    }

    const FILE: &str =
        "# A comment.\n\nname Y\nprocessors Y 25 16-47\n\n[a]\nb 1\n\n[c]\nd 2\ne 3\n";

    #[test]
    fn what_is_written_is_read_and_replaced_in_its_place() {
        let temporary = tempfile::tempdir().unwrap();
        let root = temporary.path();
        let folder = root.join(COSTS);
        std::fs::create_dir_all(&folder).unwrap();
        let empty = Family::find(root, COSTS, &cpu("Y", 17));
        std::fs::write(folder.join("y.txt"), FILE).unwrap();
        // A model that was added by hand.
        let (mut family, path) = Family::find(root, COSTS, &cpu("Y", 40)).unwrap();
        family.replace("c", ["f 4", "e 5"].map(String::from));
        family.update("a", ["c 7", "d 8"].map(String::from));
        family.update("a", ["c 9".to_owned()]);
        family.write(&path).unwrap();
        let written = std::fs::read_to_string(folder.join("y.txt")).unwrap();
        let (mut other, path) = Family::find(root, COSTS, &cpu("Y", 3)).unwrap();
        other.replace("g", ["h 6".to_owned()]);
        other.write(&path).unwrap();
        let found = Family::find(root, COSTS, &cpu("Y", 15)).unwrap();
        let file = path.file_name().unwrap().to_owned();

        assert!(empty.unwrap_err().contains("contains no family"));
        let expected = FILE.replace("d 2\ne 3\n", "e 5\nf 4\n");
        assert_eq!(written, expected.replace("b 1\n", "b 1\nc 9\nd 8\n"));
        assert_eq!((found.0, found.1), (other, path));
        assert_eq!(file, "y-25-0-15.txt");
    }

    #[test]
    fn what_was_edited_is_found() {
        let same = |text: &str| Family::parse(text).is_some_and(|it| it.to_string() == text);
        assert!(same(FILE));
        for (from, to) in [
            ("d 2\ne 3", "e 3\nd 2"),
            ("[c]", "[c] "),
            ("[c]", "[a]"),
            ("\n\n[c]", "\n[c]"),
            ("e 3\n", "e 3"),
            ("name Y\n", ""),
        ] {
            let edited = FILE.replacen(from, to, 1);
            assert!(edited != FILE && !same(&edited), "{edited}");
        }
        assert!(Family::parse("").is_none());
    }

    #[test]
    fn the_checked_in_files_are_as_they_were_generated() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        check(&root).unwrap();
    }
}
