//! `bench/records/<cpu-model>/<date>.jsonl`: first the machine, then every line of a run. Measurements under the mask
//! of a lower class have a separate file, as `<date>-class-b.jsonl`.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::machine::Machine;
use super::text::json;
use crate::cpu_class;
use crate::error::Error;

/// A record to which lines are added.
#[derive(Debug)]
pub struct Record {
    file: File,
    path: PathBuf,
}

impl Record {
    /// Starts a run in today's record. `versions` are those of everything measured.
    ///
    /// # Errors
    /// [`Error::Usage`] outside the repository, otherwise [`Error::Failed`].
    pub fn open(versions: &[String]) -> Result<Self, Error> {
        let start = std::env::current_dir().map_err(Error::io("the current folder"))?;
        let machine = Machine::here(versions.to_vec());
        let folder = records(&start)?.join(machine.slug());
        let class = cpu_class::shown()
            .map(|class| format!("-class-{}", class.letter().to_ascii_lowercase()));
        let path = folder.join(format!(
            "{}{}.jsonl",
            machine.date,
            class.unwrap_or_default()
        ));
        let failed = |error| Error::io(path.display())(error);
        fs::create_dir_all(&folder).map_err(failed)?;
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(&path)
            .map_err(failed)?;
        let mut record = Self { file, path };
        record.add(&machine)?;
        Ok(record)
    }

    /// Adds a line.
    ///
    /// # Errors
    /// [`Error::Failed`].
    pub fn add(&mut self, line: &impl Serialize) -> Result<(), Error> {
        self.file
            .write_all(json(line)?.as_bytes())
            .map_err(Error::io(self.path.display()))
    }
}

/// Returns the folder of records in the repository around `start`.
fn records(start: &Path) -> Result<PathBuf, Error> {
    start
        .ancestors()
        .map(|folder| folder.join("bench"))
        .find(|bench| bench.join("Cargo.toml").is_file())
        .map(|bench| bench.join("records"))
        .ok_or_else(|| {
            Error::Usage("--record writes to bench/records: run it in the repository".to_owned())
        })
}
