//! The directory for the outputs. Directories in it are created as needed, and links in it are not followed.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File, FileTimes, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::OFlags;

use super::EXTENSION;
use crate::failure::{Failure, note, reason};
use crate::folder::{Folder, identity, is_for_folder, names};
use crate::output::Rights;

pub(super) struct Outputs {
    folder: Folder,
    /// Whether directories must be on disk before an input is removed.
    last: bool,
    /// Directories that this call created and has not yet synced. The lock is held while one is created, so that no thread
    /// relies on a directory that another has not synced.
    made: Mutex<HashSet<PathBuf>>,
    /// Directories that get the rights and times of their originals at the end.
    copies: Mutex<Vec<Copy>>,
}

/// A directory that copies another one.
struct Copy {
    /// The path below the directory for outputs.
    path: PathBuf,
    mode: u32,
    /// The rights and times to keep, if requested.
    kept: Option<(Rights, FileTimes)>,
}

impl Outputs {
    /// Opens `directory`. A missing one is created if `makes` is set or its name can only be that of a directory.
    pub(super) fn open(directory: &Path, makes: bool, last: bool) -> Result<Self, Failure> {
        let name = directory.display();
        if !makes && !is_for_folder(directory) && !directory.is_dir() {
            return Err(Failure::usage(format!(
                "{name}: not a directory: with several FILEs, -o names one that exists or, with a slash, one to make: -o {name}/"
            )));
        }
        let is_named_as_a_file = directory.extension().is_some_and(|it| it == EXTENSION);
        if is_named_as_a_file && !is_for_folder(directory) && !directory.is_dir() {
            return Err(Failure::usage(format!(
                "{name}: is named as an age file, but would be a directory of them: -o {name}/ makes it all the same; \
                 for one file, `tar c DIRECTORY | oarlock encrypt -o {name}`"
            )));
        }
        Self::make_and_open(directory, last).map_err(|error| {
            let reason = reason(&error);
            Failure::new(format!("{name}: not a directory for the outputs: {reason}"))
        })
    }

    fn make_and_open(directory: &Path, last: bool) -> io::Result<Self> {
        let is_ours = |path: &Path| path.components().next_back().is_some() && !path.exists();
        let missing: Vec<&Path> = directory
            .ancestors()
            .take_while(|path| is_ours(path))
            .collect();
        fs::create_dir_all(directory)?;
        // From the top: the entry of each directory is in the one above.
        for path in missing.iter().rev().filter(|_| last) {
            Folder::open(path.parent().unwrap_or(Path::new("")))?.sync()?;
        }
        Ok(Self {
            folder: Folder::open(directory)?,
            last,
            made: Mutex::default(),
            copies: Mutex::default(),
        })
    }

    pub(super) fn identity(&self) -> Option<(u64, u64)> {
        rustix::fs::fstat(&self.folder).ok().as_ref().map(identity)
    }

    /// Returns the directory `relative` within this one, and creates it if missing.
    pub(super) fn folder(&self, relative: &Path) -> io::Result<Folder> {
        let mut made = lock(&self.made);
        let mut folder = self.folder.clone();
        let mut path = PathBuf::new();
        for name in names(relative) {
            path.push(name);
            let child = match folder.child(name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    if folder.make(name, 0o777)? {
                        made.insert(path.clone());
                    }
                    folder.child(name)?
                }
                other => other?,
            };
            if self.last && made.contains(&path) {
                folder.sync()?;
                made.remove(&path);
            }
            folder = child;
        }
        Ok(folder)
    }

    /// Creates `relative` with the mode of `original`, unless it exists. `keeps` also records its rights and times.
    pub(super) fn copy(&self, original: &Folder, relative: &Path, keeps: bool) -> io::Result<()> {
        let Some(name) = relative.file_name() else {
            return Ok(());
        };
        let parent = self.folder(relative.parent().unwrap_or(Path::new("")))?;
        let original = opened(original)?;
        let metadata = original.metadata()?;
        // The owner must be able to create files in it.
        let is_new = parent.make(name, metadata.mode() & 0o777 | 0o700)?;
        parent.child(name)?;
        if !is_new {
            return Ok(());
        }
        if self.last {
            parent.sync()?;
        }
        let kept = match keeps {
            false => None,
            true => {
                let times = FileTimes::new().set_accessed(metadata.accessed()?);
                let times = times.set_modified(metadata.modified()?);
                Some((Rights::of(&original)?, times))
            }
        };
        lock(&self.copies).push(Copy {
            path: relative.to_path_buf(),
            mode: metadata.mode(),
            kept,
        });
        Ok(())
    }

    /// Gives the copies, once they are complete, the rights and times of their originals. Returns the failures.
    pub(super) fn finish(&self) -> Vec<Failure> {
        let copies = std::mem::take(&mut *lock(&self.copies));
        // The innermost first: a change within a directory changes its times.
        let finished = copies.iter().rev().map(|copy| {
            copy.finish(&self.folder).map_err(|error| {
                let (name, reason) = (self.folder.path().join(&copy.path), reason(&error));
                let name = name.display();
                Failure::new(format!(
                    "{name}: its mode or times cannot be kept: {reason}"
                ))
            })
        });
        finished.filter_map(Result::err).collect()
    }
}

impl Copy {
    fn finish(&self, outputs: &Folder) -> io::Result<()> {
        let file = opened(&outputs.below(&self.path)?)?;
        if let Some((rights, times)) = &self.kept {
            if !rights.grant(&file)? {
                let name = outputs.path().join(&self.path);
                note(&format!(
                    "warning: {}: its owner, group or ACL cannot be kept: fewer users may use it",
                    name.display()
                ));
            }
            return file.set_times(*times);
        }
        let now = file.metadata()?.mode();
        let wanted = now & !(0o700 & !self.mode);
        match wanted == now {
            true => Ok(()),
            false => file.set_permissions(Permissions::from_mode(wanted & 0o7777)),
        }
    }
}

/// Reopens the directory for reading: a [`Folder`] only resolves names.
fn opened(folder: &Folder) -> io::Result<File> {
    folder.open_file(OsStr::new("."), OFlags::RDONLY | OFlags::DIRECTORY)
}

/// Locks `mutex` even if it is poisoned: a thread that panics ends the whole command, and its data is not used again.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
