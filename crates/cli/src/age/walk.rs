//! The entries to process: files of the command line, and the contents of directories.

use std::fs::{self, FileType};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use walkdir::WalkDir;

use super::job::Common;
use crate::failure::{Failure, reason};
use crate::folder::{Folder, Place, identity};

/// An entry to process.
pub(super) struct Entry {
    pub(super) source: Source,
    /// The part of the path that is dropped below -o.
    pub(super) base: PathBuf,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
    Link,
    /// Anything else, described in words.
    Other(&'static str),
}

/// The origin of an entry.
pub(super) enum Source {
    Given(PathBuf),
    Found { root: Arc<Root>, path: PathBuf },
}

/// A directory of the command line. It is opened again for each entry, since the number of directories is unbounded.
pub(super) struct Root {
    path: PathBuf,
    identity: (u64, u64),
    /// Whether outputs go to the directories of the inputs.
    is_in_place: bool,
}

impl Root {
    fn new(path: &Path, base: &Path, outputs: Option<(u64, u64)>) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        let base = Folder::open(base).and_then(|base| Ok(identity(&rustix::fs::fstat(&base)?)));
        Ok(Self {
            path: path.to_path_buf(),
            identity: (metadata.dev(), metadata.ino()),
            is_in_place: outputs.is_none_or(|outputs| base.is_ok_and(|base| base == outputs)),
        })
    }

    fn open(&self) -> io::Result<Folder> {
        let folder = Folder::open(&self.path)?;
        match identity(&rustix::fs::fstat(&folder)?) == self.identity {
            true => Ok(folder),
            false => Err(io::Error::other("another directory has its name now")),
        }
    }
}

impl Source {
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Given(path) | Self::Found { path, .. } => path,
        }
    }

    /// Whether the entry was found in a directory whose outputs go elsewhere and form a complete copy.
    pub(super) fn is_copied(&self) -> bool {
        matches!(self, Self::Found { root, .. } if !root.is_in_place)
    }

    /// Opens the directory of the entry. Below a directory of the command line no link is followed, not even one that has
    /// replaced a directory since.
    pub(super) fn place(&self) -> Result<Place, Failure> {
        let place = match self {
            Self::Given(path) => Place::of(path),
            Self::Found { root, path } => {
                let relative = path.strip_prefix(&root.path).unwrap_or(path);
                let folder = relative.parent().unwrap_or(Path::new(""));
                let name = relative.file_name().unwrap_or_default().to_owned();
                root.open()
                    .and_then(|root| root.below(folder))
                    .map(|folder| Place { folder, name })
            }
        };
        place.map_err(|error| {
            let (name, reason) = (self.path().display(), reason(&error));
            Failure::new(format!("{name}: its directory cannot be opened: {reason}"))
        })
    }

    /// Opens the entry as a directory.
    pub(super) fn folder(&self) -> io::Result<Folder> {
        match self {
            Self::Given(path) => Folder::open(path),
            Self::Found { root, path } => {
                let relative = path.strip_prefix(&root.path).unwrap_or(path);
                root.open()?.below(relative)
            }
        }
    }
}

/// Iterates over the entries of the command line and of directories. A directory comes before its contents.
pub(super) struct Walk<'a> {
    args: &'a Common,
    arguments: std::slice::Iter<'a, PathBuf>,
    /// Device and inode of the directory for the outputs. The walk does not enter it.
    outputs: Option<(u64, u64)>,
    current: Option<Current>,
}

struct Current {
    base: PathBuf,
    root: Arc<Root>,
    entries: walkdir::IntoIter,
}

impl<'a> Walk<'a> {
    pub(super) fn new(args: &'a Common, outputs: Option<(u64, u64)>) -> Self {
        Self {
            args,
            arguments: args.inputs.iter(),
            outputs,
            current: None,
        }
    }

    /// Starts to walk the directory `path`.
    fn begin(&mut self, path: &Path, base: PathBuf) -> io::Result<()> {
        self.current = Some(Current {
            root: Arc::new(Root::new(path, &base, self.outputs)?),
            base,
            // Sorting reads a whole directory before an output is created in it.
            entries: WalkDir::new(path).sort_by_file_name().into_iter(),
        });
        Ok(())
    }
}

impl Iterator for Walk<'_> {
    type Item = Result<Entry, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(current) = &mut self.current {
                match current.entries.next() {
                    None => self.current = None,
                    Some(Ok(entry)) => {
                        let is_root = entry.depth() == 0;
                        let kind = match is_root {
                            true => Kind::Folder,
                            false => kind(entry.file_type()),
                        };
                        let is_outputs = || {
                            let found = entry.metadata().ok();
                            let found = found.map(|found| (found.dev(), found.ino()));
                            found.is_some() && found == self.outputs
                        };
                        if kind == Kind::Folder && !is_root && is_outputs() {
                            current.entries.skip_current_dir();
                            continue;
                        }
                        return Some(Ok(Entry {
                            base: current.base.clone(),
                            source: Source::Found {
                                root: Arc::clone(&current.root),
                                path: entry.into_path(),
                            },
                            kind,
                        }));
                    }
                    Some(Err(error)) => {
                        let name = error.path().map(|path| path.display().to_string());
                        let name = name.unwrap_or_default();
                        let reason = error.io_error().map_or("a loop".into(), reason);
                        return Some(Err(Failure::new(format!("{name}: {reason}"))));
                    }
                }
                continue;
            }
            let path = self.arguments.next()?;
            if !path.is_dir() {
                return Some(Ok(Entry {
                    source: Source::Given(path.clone()),
                    base: path.parent().unwrap_or(Path::new("")).to_path_buf(),
                    kind: Kind::File,
                }));
            }
            if !self.args.recursive {
                let name = path.display();
                return Some(Err(Failure::new(format!(
                    "{name}: is a directory: --recursive processes the files in it"
                ))));
            }
            if let Err(error) = self.begin(path, base(path)) {
                let (name, reason) = (path.display(), reason(&error));
                return Some(Err(Failure::new(format!("{name}: {reason}"))));
            }
        }
    }
}

/// Returns the part of a directory's path that is dropped: everything before its name, or all of it if it ends in `/.`,
/// which means its contents, as for cp.
fn base(path: &Path) -> PathBuf {
    let bytes = path.as_os_str().as_bytes();
    let end = bytes.iter().rposition(|&byte| byte != b'/');
    let is_content = end.is_some_and(|end| bytes[..=end].ends_with(b"/."));
    match is_content {
        true => path.to_path_buf(),
        false => path.parent().unwrap_or(Path::new("")).to_path_buf(),
    }
}

fn kind(of: FileType) -> Kind {
    if of.is_file() {
        Kind::File
    } else if of.is_dir() {
        Kind::Folder
    } else if of.is_symlink() {
        Kind::Link
    } else if of.is_fifo() {
        Kind::Other("a named pipe")
    } else if of.is_socket() {
        Kind::Other("a socket")
    } else {
        Kind::Other("a device")
    }
}
