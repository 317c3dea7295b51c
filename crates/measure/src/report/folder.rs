//! The folder of a report.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// A folder that is empty or holds an earlier report.
pub(super) struct Folder(PathBuf);

impl Folder {
    /// Opens the folder, and creates it if necessary.
    pub(super) fn at(path: &Path) -> Result<Self, Error> {
        let failed = |error| Error::io(path.display())(error);
        fs::create_dir_all(path).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists | ErrorKind::NotADirectory => Error::Usage(format!(
                "{}: a report goes into a folder, and this is a file",
                path.display()
            )),
            _ => failed(error),
        })?;
        let folder = Self(path.to_owned());
        let is_empty = fs::read_dir(path).map_err(failed)?.next().is_none();
        if is_empty || folder.holds_a_report() {
            Ok(folder)
        } else {
            Err(Error::Usage(format!(
                "{}: not empty, and what is there is no report: name another folder",
                path.display()
            )))
        }
    }

    pub(super) fn index(&self) -> PathBuf {
        self.0.join(INDEX)
    }

    /// Writes a file, whole or not at all.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), Error> {
        let path = self.0.join(name);
        let partial = self.0.join(format!(".{name}.partial"));
        fs::write(&partial, text)
            .and_then(|()| fs::rename(&partial, &path))
            .map_err(|error| {
                // A partial file would make the folder unusable for the next report.
                let _ = fs::remove_file(&partial);
                Error::io(path.display())(error)
            })
    }

    fn holds_a_report(&self) -> bool {
        fs::read_to_string(self.index()).is_ok_and(|text| text.contains(GENERATOR))
    }
}

pub(super) const INDEX: &str = "index.html";
/// The mark by which a report is recognized.
pub(super) const GENERATOR: &str = r#"<meta name="generator" content="oarlock bench --report"/>"#;
