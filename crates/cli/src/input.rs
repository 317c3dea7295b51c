//! Where bytes come from.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::path::Path;

use crate::failure::{Failure, reason};

/// An open file, pipe, terminal or whatever it is.
pub(crate) struct Input {
    pub(crate) file: File,
    /// For messages.
    pub(crate) name: String,
    /// Bytes from its start to its end when it was opened, of a regular file.
    pub(crate) size: Option<u64>,
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
            file,
            name,
        })
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
