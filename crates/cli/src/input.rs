//! Inputs: files, pipes and standard input.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::OFlags;

use crate::failure::{Failure, reason};
use crate::folder::{Place, identity, kind};

/// An open file, pipe, terminal or other input.
pub(crate) struct Input {
    pub(crate) file: File,
    /// The name, for messages.
    pub(crate) name: String,
    /// The size in bytes of a regular file when it was opened.
    pub(crate) size: Option<u64>,
    /// `None` for standard input.
    place: Option<Place>,
    opened: Metadata,
}

impl Input {
    /// Opens `path`; `None` and `-` are standard input.
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
        let file = opened.map_err(|error| cannot_open(&name, &error))?;
        Self::of(file, name, path.and_then(|path| Place::of(path).ok()))
    }

    /// Opens the file at `place`, and follows a link there.
    pub(crate) fn at(place: Place) -> Result<Self, Failure> {
        let name = place.path().display().to_string();
        let file = place.folder.open_file(&place.name, OFlags::RDONLY);
        let file = file.map_err(|error| cannot_open(&name, &error))?;
        Self::of(file, name, Some(place))
    }

    /// Opens the regular file at `place`. Fails if something else has replaced it since it was seen.
    pub(crate) fn found(place: Place) -> Result<Self, Failure> {
        let name = place.path().display().to_string();
        // Opening a pipe would wait for a writer.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = place.folder.open_file(&place.name, flags);
        let file = file.map_err(|error| cannot_open(&name, &error))?;
        let input = Self::of(file, name, Some(place))?;
        match input.size {
            Some(_) => Ok(input),
            None => Err(Failure::new(format!(
                "{}: no longer a regular file",
                input.name
            ))),
        }
    }

    fn of(file: File, name: String, place: Option<Place>) -> Result<Self, Failure> {
        let metadata = file.metadata();
        let metadata = metadata.map_err(|error| cannot_open(&name, &error))?;
        if metadata.is_dir() {
            return Err(Failure::new(format!(
                "{name}: is a directory: give a file, or `-` for standard input"
            )));
        }
        Ok(Self {
            size: metadata.is_file().then_some(metadata.len()),
            place,
            opened: metadata,
            file,
            name,
        })
    }

    /// Fails if a regular file was written to since it was opened: what was read is then a mix.
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

    /// Returns the device and inode of the file.
    pub(crate) fn identity(&self) -> (u64, u64) {
        (self.opened.dev(), self.opened.ino())
    }

    /// Removes the file, unless another file now has its name or it was written to since it was opened.
    pub(crate) fn remove(&self) -> Result<(), Failure> {
        let Some(place) = &self.place else {
            return Ok(());
        };
        self.check_unchanged()?;
        let fail = |what: &str| Failure::new(format!("{}: not removed: {what}", self.name));
        match place.look() {
            Ok(now) if kind(&now).is_symlink() => Err(fail("its name is a symbolic link")),
            Ok(now) if identity(&now) != self.identity() => {
                Err(fail("another file now has its name"))
            }
            _ => {
                let removed = place.folder.remove(&place.name);
                removed.map_err(|error| fail(&reason(&error)))
            }
        }
    }

    /// Returns the failure of a read at byte `position`.
    pub(crate) fn failed(&self, position: u64, error: &io::Error) -> Failure {
        Failure::new(format!(
            "{}: {} at byte {position}",
            self.name,
            reason(error)
        ))
    }

    /// Returns the failure for an input that ended at byte `position`, before the size that it had.
    pub(crate) fn cut_short(&self, position: u64) -> Failure {
        let size = self.size.unwrap_or_default();
        Failure::new(format!(
            "{}: ended at byte {position}, but had {size} bytes at the start: \
             it was cut short while it was read, so the output was given up",
            self.name
        ))
    }
}

fn cannot_open(name: &str, error: &io::Error) -> Failure {
    Failure::new(format!("{name}: {}", reason(error)))
}
