//! Where bytes come from.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, reason};

/// An open file, pipe, terminal or other input.
pub(crate) struct Input {
    pub(crate) file: File,
    /// For messages.
    pub(crate) name: String,
    /// Size of a regular file in bytes when it was opened.
    pub(crate) size: Option<u64>,
    /// None for standard input.
    path: Option<PathBuf>,
    opened: Metadata,
}

impl Input {
    /// Opens `path`; none and `-` are standard input.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let path = path.filter(|path| path.as_os_str() != "-");
        let name = path.map_or_else(
            || "standard input".into(),
            |path| path.display().to_string(),
        );
        let opened = match path {
            Some(path) => File::open(path),
            None => io::stdin().as_fd().try_clone_to_owned().map(File::from),
        };
        let fail = |error: io::Error| Failure::new(format!("{name}: {}", reason(&error)));
        let file = opened.map_err(fail)?;
        let metadata = file.metadata().map_err(fail)?;
        if metadata.is_dir() {
            return Err(Failure::new(format!(
                "{name}: is a directory: give a file, or `-` for standard input"
            )));
        }
        Ok(Self {
            size: metadata.is_file().then_some(metadata.len()),
            path: path.map(Path::to_path_buf),
            opened: metadata,
            file,
            name,
        })
    }

    /// Fails when a regular file was written to since it was opened: what was read is then a mix.
    pub(crate) fn check_unchanged(&self) -> Result<(), Failure> {
        let state = |of: &Metadata| (of.len(), of.mtime(), of.mtime_nsec());
        match self.file.metadata() {
            Ok(now) if self.size.is_some() && state(&now) != state(&self.opened) => {
                Err(Failure::new(format!(
                    "{}: changed while it was read: try again when nothing writes to it",
                    self.name
                )))
            }
            _ => Ok(()),
        }
    }

    /// Removes the file, unless another now has its name, or it was written to meanwhile.
    pub(crate) fn remove(&self) -> Result<(), Failure> {
        let Some(path) = &self.path else {
            return Ok(());
        };
        self.check_unchanged()?;
        let fail = |what: &str| Failure::new(format!("{}: not removed: {what}", self.name));
        let identity = |of: &Metadata| (of.dev(), of.ino());
        match fs::symlink_metadata(path) {
            Ok(now) if now.is_symlink() => Err(fail("its name is a symbolic link")),
            Ok(now) if identity(&now) != identity(&self.opened) => {
                Err(fail("another file now has its name"))
            }
            _ => fs::remove_file(path).map_err(|error| fail(&reason(&error))),
        }
    }

    /// A read that failed at byte `position`.
    pub(crate) fn failed(&self, position: u64, error: &io::Error) -> Failure {
        Failure::new(format!(
            "{}: {} at byte {position}",
            self.name,
            reason(error)
        ))
    }

    /// The end came at byte `position`, before the size that the file had.
    pub(crate) fn cut_short(&self, position: u64) -> Failure {
        let size = self.size.unwrap_or_default();
        Failure::new(format!(
            "{}: ended at byte {position}, but had {size} bytes at the start: \
             it was cut short meanwhile, so the output was given up",
            self.name
        ))
    }
}
