//! Changes a file: shows the difference, asks, keeps a copy, and replaces the file in one step.

use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::iter;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use similar::TextDiff;
use tempfile::NamedTempFile;

use crate::failure::{Failure, reason};
use crate::output::Rights;
use crate::stdout;

/// A file and its new content.
pub(super) struct Change<'a> {
    path: &'a Path,
    before: &'a [u8],
    after: &'a [u8],
}

impl<'a> Change<'a> {
    pub(super) fn new(path: &'a Path, before: &'a [u8], after: &'a [u8]) -> Self {
        Self {
            path,
            before,
            after,
        }
    }

    /// Returns the difference, as `diff -u` shows it.
    pub(super) fn difference(&self) -> String {
        let (before, after) = (
            String::from_utf8_lossy(self.before),
            String::from_utf8_lossy(self.after),
        );
        let name = self.path.display().to_string();
        TextDiff::from_lines(&before, &after)
            .unified_diff()
            .header(&name, &name)
            .to_string()
    }

    /// Asks on the terminal, unless `yes` is set. Fails first if the user may not make the change.
    pub(super) fn ask(&self, yes: bool) -> Result<(), Failure> {
        drop(self.prepare()?);
        if yes {
            return Ok(());
        }
        if !io::stdin().is_terminal() {
            return Err(Failure::usage(
                "nothing was changed: no terminal to ask on: give --yes",
            ));
        }
        stdout::write(b"Change it? [y/N] ")?;
        let mut answer = String::new();
        let read = io::stdin().lock().read_line(&mut answer);
        match (read, answer.trim()) {
            (Ok(_), "y" | "Y" | "yes") => Ok(()),
            _ => Err(Failure::new("nothing was changed")),
        }
    }

    /// Copies the present file to `backup`, which must not exist.
    pub(super) fn back_up(&self, backup: &Path) -> Result<(), Failure> {
        let made = prepared(backup, self.before, Some(self.path))?;
        made.persist_noclobber(backup)
            .map_err(|error| failed(backup)(error.error))?;
        sync_folder(backup);
        Ok(())
    }

    /// Writes the new file under a temporary name, which is removed unless it is committed.
    pub(super) fn prepare(&self) -> Result<NamedTempFile, Failure> {
        prepared(self.path, self.after, Some(self.path))
    }

    /// Renames the new file over the present one.
    ///
    /// # Errors
    /// The present file is no longer the one that the change was made from.
    pub(super) fn commit(&self, made: NamedTempFile) -> Result<(), Failure> {
        if fs::read(self.path).map_err(failed(self.path))? != self.before {
            return Err(Failure::new(format!(
                "{}: changed by another program in the meantime: run it again",
                self.path.display()
            )));
        }
        commit(made, self.path)
    }
}

/// Returns the failure of a command whose question was about another state than the present one.
pub(super) fn outdated(path: &Path) -> Failure {
    Failure::new(format!(
        "nothing was changed: {}, or what belongs to its installation, was changed while you were asked: run it again",
        path.display()
    ))
}

/// Locks that one `oarlock provider` command at a time holds. They end with this value, or with the process.
pub(super) struct Locks {
    _folders: Vec<File>,
}

impl Locks {
    /// Waits until no other command changes files in `folders`.
    ///
    /// # Errors
    /// Another one still has a lock after [`PATIENCE`].
    pub(super) fn of(folders: &[Option<&Path>]) -> Result<Self, Failure> {
        let mut opened: Vec<_> = folders
            .iter()
            .flatten()
            .filter_map(|path| {
                let file = File::open(path).ok()?;
                let found = file.metadata().ok()?;
                Some(((found.dev(), found.ino()), *path, file))
            })
            .collect();
        // All commands lock in one order, and no folder twice.
        opened.sort_by_key(|(identity, ..)| *identity);
        opened.dedup_by_key(|(identity, ..)| *identity);
        let began = Instant::now();
        for (_, path, file) in &opened {
            loop {
                match flock(file, FlockOperation::NonBlockingLockExclusive) {
                    Err(Errno::WOULDBLOCK) if began.elapsed() < PATIENCE => thread::sleep(PAUSE),
                    Err(Errno::WOULDBLOCK) => {
                        return Err(Failure::new(format!(
                            "nothing was changed: {}: another program has locked this folder: run it again when that \
                             has ended",
                            path.display()
                        )));
                    }
                    // Some network file systems have no locks. The content is compared in any case.
                    Ok(()) | Err(_) => break,
                }
            }
        }
        Ok(Self {
            _folders: opened.into_iter().map(|(.., file)| file).collect(),
        })
    }
}

/// Returns the path of the first copy of `path`.
pub(super) fn first_backup(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".before-oarlock");
    name.into()
}

/// Returns a path for a copy of `path` that nothing has: earlier copies are the user's.
pub(super) fn unused_backup(path: &Path) -> PathBuf {
    let first = first_backup(path);
    let numbered = |number: u32| {
        let mut name = OsString::from(&first);
        name.push(format!(".{number}"));
        PathBuf::from(name)
    };
    let is_free = |path: &PathBuf| path.symlink_metadata().is_err();
    iter::once(first.clone())
        .chain((2..).map(numbered))
        .find(is_free)
        .unwrap_or(first)
}

/// Replaces `path` by `bytes` atomically, with the rights of the present file. If there is none, the rights are those of
/// `model`, or else everybody may read the file.
pub(super) fn write_like(path: &Path, bytes: &[u8], model: Option<&Path>) -> Result<(), Failure> {
    let model = if path.exists() { Some(path) } else { model };
    commit(prepared(path, bytes, model)?, path)
}

/// Returns a function that turns an I/O error of `path` into a failure with advice.
pub(super) fn failed(path: &Path) -> impl Fn(io::Error) -> Failure {
    move |error| {
        let hint = match error.kind() {
            io::ErrorKind::PermissionDenied => ": run it as root",
            io::ErrorKind::ReadOnlyFilesystem => ": it is on a read-only file system",
            _ => "",
        };
        Failure::new(format!("{}: {}{hint}", path.display(), reason(&error)))
    }
}

fn prepared(path: &Path, bytes: &[u8], model: Option<&Path>) -> Result<NamedTempFile, Failure> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let make = || {
        // It has mode 0600.
        let mut made = tempfile::Builder::new()
            .prefix(".oarlock-")
            .tempfile_in(folder)?;
        made.write_all(bytes)?;
        match model {
            // Programs of all users read it, so losing rights is an error.
            Some(model) => {
                if !Rights::of(&File::open(model)?)?.grant(made.as_file())? {
                    return Err(rustix::io::Errno::PERM.into());
                }
            }
            None => made
                .as_file()
                .set_permissions(Permissions::from_mode(0o644))?,
        }
        made.as_file().sync_all()?;
        Ok(made)
    };
    make().map_err(failed(path))
}

fn commit(made: NamedTempFile, path: &Path) -> Result<(), Failure> {
    made.persist(path)
        .map_err(|error| failed(path)(error.error))?;
    sync_folder(path);
    Ok(())
}

/// Makes the name durable too. An error here matters only after a power failure.
fn sync_folder(path: &Path) {
    if let Some(Ok(folder)) = path.parent().map(File::open) {
        let _ = folder.sync_all();
    }
}

const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);
