//! Where bytes go. A file gets its name when it is whole; until then it is a temporary file beside
//! it, which is removed when anything goes wrong.

use std::fs::{self, File, Metadata, Permissions};
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, OFlags, access};
use tempfile::NamedTempFile;

use crate::failure::{Failure, reason};

/// What `-o` names, examined but not touched.
pub(crate) enum Target {
    /// Standard output, or a device, pipe or the like, open for writing.
    Direct { file: File, name: String },
    /// A regular file, existing or not.
    Named {
        /// After all symbolic links.
        path: PathBuf,
        /// As it was given, for messages.
        name: String,
        /// Of the file that is there.
        mode: Option<u32>,
    },
}

/// An open output.
pub(crate) struct Output {
    sink: Sink,
    pub(crate) name: String,
    /// A regular file that is written at explicit offsets, so that several threads may write at once.
    pub(crate) is_positional: bool,
    /// A file whose writes never wait for a reader.
    pub(crate) is_regular: bool,
}

enum Sink {
    Direct(File),
    Temporary {
        file: NamedTempFile,
        path: PathBuf,
        naming: Naming,
    },
}

/// What happens to a file that has the output's name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Naming {
    /// It is replaced.
    Replace,
    /// It stays, and the output is dropped: it appeared meanwhile.
    New,
}

impl Target {
    /// Finds out what `path` is; none and `-` are standard output.
    pub(crate) fn find(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path.filter(|path| path.as_os_str() != "-") else {
            let name = "standard output".to_string();
            let file = io::stdout().as_fd().try_clone_to_owned().map(File::from);
            return match file {
                Ok(file) => Ok(Self::Direct { file, name }),
                Err(error) => Err(Failure::new(format!("{name}: {}", reason(&error)))),
            };
        };
        let name = path.display().to_string();
        let fail = |error: io::Error| Failure::new(format!("{name}: {}", reason(&error)));
        let open = || fs::OpenOptions::new().write(true).open(path).map_err(fail);
        let Some(resolved) = resolve(path).map_err(fail)? else {
            let file = open()?;
            return Ok(Self::Direct { file, name });
        };
        match fs::metadata(&resolved) {
            Ok(metadata) if metadata.is_dir() => Err(Failure::new(format!(
                "{name}: is a directory: give the name of a file in it"
            ))),
            Ok(metadata) if metadata.is_file() => {
                // The directory would allow to replace it, but a file that may not be written is
                // not to be replaced.
                access(&resolved, Access::WRITE_OK).map_err(|error| fail(error.into()))?;
                Ok(Self::Named {
                    path: resolved,
                    name,
                    mode: Some(metadata.mode() & 0o777),
                })
            }
            Ok(_) => {
                let file = open()?;
                Ok(Self::Direct { file, name })
            }
            // A rename would refuse it, but not before all the work is done.
            Err(error)
                if error.kind() == io::ErrorKind::NotFound && is_for_directory(&resolved) =>
            {
                Err(Failure::new(format!(
                    "{name}: not a directory: give the name of a file"
                )))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::Named {
                path: resolved,
                name,
                mode: None,
            }),
            Err(error) => Err(fail(error)),
        }
    }

    /// Whether nothing needs to be cleaned up when the command ends early.
    pub(crate) fn is_direct(&self) -> bool {
        matches!(self, Self::Direct { .. })
    }

    /// Whether it is the file at `other`.
    pub(crate) fn is_file(&self, other: &Path) -> bool {
        let Self::Named { path, .. } = self else {
            return false;
        };
        match (fs::metadata(path), fs::metadata(other)) {
            (Ok(one), Ok(other)) => is_same(&one, &other),
            _ => false,
        }
    }

    /// Opens it; from here on a signal must not end the process without a `drop`.
    pub(crate) fn open(self, naming: Naming) -> Result<Output, Failure> {
        match self {
            Self::Direct { file, name } => {
                let metadata = file
                    .metadata()
                    .map_err(|error| Failure::new(format!("{name}: {}", reason(&error))))?;
                let appends =
                    rustix::fs::fcntl_getfl(&file).is_ok_and(|f| f.contains(OFlags::APPEND));
                Ok(Output {
                    is_regular: metadata.is_file(),
                    is_positional: metadata.is_file() && !appends,
                    sink: Sink::Direct(file),
                    name,
                })
            }
            Self::Named { path, name, mode } => {
                let directory = match path.parent() {
                    Some(parent) if !parent.as_os_str().is_empty() => parent,
                    _ => Path::new("."),
                };
                let file = tempfile::Builder::new()
                    .prefix(".oarlock-")
                    .permissions(Permissions::from_mode(mode.unwrap_or(0o666)))
                    .tempfile_in(directory)
                    .and_then(|file| {
                        // The umask is for new files only.
                        if let Some(mode) = mode {
                            file.as_file()
                                .set_permissions(Permissions::from_mode(mode))?;
                        }
                        Ok(file)
                    })
                    .map_err(|error| {
                        Failure::new(format!(
                            "{name}: cannot make a temporary file in {}: {}",
                            directory.display(),
                            reason(&error)
                        ))
                    })?;
                Ok(Output {
                    sink: Sink::Temporary { file, path, naming },
                    name,
                    is_positional: true,
                    is_regular: true,
                })
            }
        }
    }
}

impl Output {
    pub(crate) fn file(&self) -> &File {
        match &self.sink {
            Sink::Direct(file) => file,
            Sink::Temporary { file, .. } => file.as_file(),
        }
    }

    /// Whether writes are visible at once, and stay when anything goes wrong.
    pub(crate) fn is_direct(&self) -> bool {
        matches!(self.sink, Sink::Direct(_))
    }

    /// Fails if every write would make `input` longer.
    pub(crate) fn check_apart_from(&self, input: &File) -> Result<(), Failure> {
        let grows = self.is_regular
            && !self.is_positional
            && match (self.file().metadata(), input.metadata()) {
                (Ok(one), Ok(other)) => is_same(&one, &other),
                _ => false,
            };
        if grows {
            return Err(Failure::usage(format!(
                "{}: would be appended to its own INPUT without end: write to another file",
                self.name
            )));
        }
        Ok(())
    }

    /// Whether nothing was in it before.
    pub(crate) fn is_new(&self) -> bool {
        matches!(self.sink, Sink::Temporary { .. })
    }

    /// Bytes of a regular file.
    pub(crate) fn bytes(&self) -> Option<u64> {
        let metadata = self.file().metadata().ok()?;
        metadata.is_file().then_some(metadata.len())
    }

    /// Copies the attributes of `input`: mode, times, extended attributes, and the owner, if this process
    /// may.
    pub(crate) fn preserve(&self, input: &File) -> Result<(), Failure> {
        let fail = |what: &str, error: io::Error| {
            let reason = reason(&error);
            Failure::new(format!(
                "{}: its {what} cannot be kept: {reason}",
                self.name
            ))
        };
        let metadata = input.metadata().map_err(|error| fail("mode", error))?;
        let file = self.file();
        copy_attributes(input, file).map_err(|error| fail("extended attributes", error))?;
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::fchown(file, Some(metadata.uid()), Some(metadata.gid()))
                .map_err(|error| fail("owner", error))?;
        }
        // After the owner, whose change takes set-user-ID bits away: those are not kept.
        file.set_permissions(Permissions::from_mode(metadata.mode() & 0o777))
            .map_err(|error| fail("mode", error))?;
        let times = metadata.accessed().and_then(|accessed| {
            let times = fs::FileTimes::new().set_accessed(accessed);
            Ok(times.set_modified(metadata.modified()?))
        });
        times
            .and_then(|times| file.set_times(times))
            .map_err(|error| fail("times", error))
    }

    /// Gives the file its name; with `durable`, after the data are on the disk, and waits until the name
    /// is, too.
    pub(crate) fn commit(self, durable: bool) -> Result<(), Failure> {
        let fail = |what: &str, error: &io::Error| {
            Failure::new(format!("{}: {what}: {}", self.name, reason(error)))
        };
        if durable && self.is_regular {
            let synced = self.file().sync_all();
            synced.map_err(|error| fail("cannot be flushed to the disk", &error))?;
        }
        let Sink::Temporary { file, path, naming } = self.sink else {
            return Ok(());
        };
        match naming {
            Naming::Replace => file.persist(&path),
            Naming::New => file.persist_noclobber(&path),
        }
        .map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => fail("has appeared meanwhile and stays", &error.error),
            _ => fail("cannot be given its name", &error.error),
        })?;
        if durable {
            let parent = path
                .parent()
                .filter(|parent| !parent.as_os_str().is_empty());
            File::open(parent.unwrap_or(Path::new(".")))
                .and_then(|directory| directory.sync_all())
                .map_err(|error| fail("its name cannot be flushed to the disk", &error))?;
        }
        Ok(())
    }

    /// A write that failed after `bytes` bytes.
    pub(crate) fn failed(&self, bytes: u64, error: &io::Error) -> Failure {
        let advice = match error.kind() {
            io::ErrorKind::StorageFull => ": free some space or write elsewhere",
            io::ErrorKind::BrokenPipe => ": the reader has gone",
            _ => "",
        };
        Failure::new(format!(
            "{}: {} at byte {bytes}{advice}",
            self.name,
            reason(error)
        ))
    }
}

/// The attributes that this process may see and set.
fn copy_attributes(from: &File, to: &File) -> io::Result<()> {
    use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};
    use rustix::io::Errno;
    let mut names = vec![0; ATTRIBUTE_BYTES_MAX];
    let names = match flistxattr(from, &mut names[..]) {
        Ok(bytes) => &names[..bytes],
        // This file system has none.
        Err(Errno::OPNOTSUPP) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    for name in names
        .split(|&byte| byte == 0)
        .filter(|name| !name.is_empty())
    {
        let mut value = vec![0; ATTRIBUTE_BYTES_MAX];
        let bytes = fgetxattr(from, name, &mut value[..])?;
        match fsetxattr(to, name, &value[..bytes], XattrFlags::empty()) {
            // security.* and trusted.* belong to the system.
            Ok(()) | Err(Errno::PERM) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Whether only a directory can have this name.
fn is_for_directory(path: &Path) -> bool {
    let name = path.as_os_str().as_bytes();
    name.ends_with(b"/") || name.ends_with(b"/.")
}

fn is_same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Follows symbolic links, also to a name that is not there yet. None for links that are not made
/// of names, as /dev/stdout is.
fn resolve(path: &Path) -> io::Result<Option<PathBuf>> {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS_MAX {
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_symlink() => {
                let parent = path.parent().unwrap_or(Path::new("")).to_path_buf();
                if fs::canonicalize(if parent.as_os_str().is_empty() {
                    Path::new(".")
                } else {
                    &parent
                })?
                .starts_with("/proc")
                {
                    return Ok(None);
                }
                path = parent.join(fs::read_link(&path)?);
            }
            _ => return Ok(Some(path)),
        }
    }
    Err(rustix::io::Errno::LOOP.into())
}

const LINKS_MAX: usize = 40;
/// Of the names of all, and of the value of one (xattr(7)).
const ATTRIBUTE_BYTES_MAX: usize = 64 << 10;
