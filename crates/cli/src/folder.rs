//! A directory that is held open. Operations on names happen in this directory, even if its path leads elsewhere by then:
//! others may own what `--recursive` walks, and replace a folder by a link.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Stat, Timespec, Timestamps};
use rustix::io::Errno;

/// An open directory.
#[derive(Clone)]
pub(crate) struct Folder {
    descriptor: Arc<OwnedFd>,
    /// The path, for messages.
    path: PathBuf,
}

/// A name in a directory.
pub(crate) struct Place {
    pub(crate) folder: Folder,
    pub(crate) name: OsString,
}

/// A file under a temporary name. It is removed unless it gets another name.
pub(crate) struct Temporary {
    folder: Folder,
    /// `None` once the file has another name.
    name: Option<OsString>,
    file: File,
}

impl Folder {
    /// Opens `path` and follows links; an empty path is the current directory.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let descriptor = rustix::fs::open(or_here(path), FOLDER, Mode::empty())?;
        Ok(Self {
            descriptor: Arc::new(descriptor),
            path: path.to_path_buf(),
        })
    }

    /// Opens the directory `name` in this one. A symbolic link of that name is an error.
    pub(crate) fn child(&self, name: &OsStr) -> io::Result<Self> {
        let flags = FOLDER | OFlags::NOFOLLOW;
        let opened = rustix::fs::openat(self, name, flags, Mode::empty());
        let descriptor = opened.map_err(|error| match error {
            Errno::NOTDIR | Errno::LOOP => self.why_not_a_folder(name),
            other => other.into(),
        })?;
        Ok(Self {
            descriptor: Arc::new(descriptor),
            path: self.path.join(name),
        })
    }

    fn why_not_a_folder(&self, name: &OsStr) -> io::Error {
        match self.look(name) {
            Ok(found) if kind(&found).is_symlink() => io::Error::other("a symbolic link"),
            _ => Errno::NOTDIR.into(),
        }
    }

    /// Opens the directory at the end of `relative`. None of its names may be a link.
    pub(crate) fn below(&self, relative: &Path) -> io::Result<Self> {
        let mut folder = self.clone();
        for name in names(relative) {
            folder = folder.child(name)?;
        }
        Ok(folder)
    }

    /// Creates the directory `name` with `mode`, as far as the umask and this directory's ACL allow. Returns false if it
    /// exists.
    pub(crate) fn make(&self, name: &OsStr, mode: u32) -> io::Result<bool> {
        match rustix::fs::mkdirat(self, name, Mode::from_raw_mode(mode)) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the status of `name` itself, not of a link's target.
    pub(crate) fn look(&self, name: &OsStr) -> io::Result<Stat> {
        Ok(rustix::fs::statat(self, name, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    pub(crate) fn open_file(&self, name: &OsStr, flags: OFlags) -> io::Result<File> {
        let flags = flags | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(self, name, flags, Mode::empty())?;
        Ok(opened.into())
    }

    /// Returns the target of the symbolic link `name`.
    pub(crate) fn link_target(&self, name: &OsStr) -> io::Result<OsString> {
        let target = rustix::fs::readlinkat(self, name, Vec::new())?;
        Ok(OsString::from_vec(target.into_bytes()))
    }

    /// Creates the symbolic link `name`, which must not exist.
    pub(crate) fn make_link(&self, target: &OsStr, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::symlinkat(target, self, name)?)
    }

    /// Creates the symbolic link `name` in place of an existing entry.
    pub(crate) fn replace_by_link(&self, target: &OsStr, name: &OsStr) -> io::Result<()> {
        let own = unused_name();
        self.make_link(target, &own)?;
        let renamed = rustix::fs::renameat(self, &own, self, name);
        if renamed.is_err() {
            let _ = self.remove(&own);
        }
        Ok(renamed?)
    }

    /// Gives `name` the times of `original`. A link itself is changed, not its target.
    pub(crate) fn set_times(&self, name: &OsStr, original: &Stat) -> io::Result<()> {
        let time = |seconds, nanoseconds: u64| Timespec {
            tv_sec: seconds,
            tv_nsec: nanoseconds as _,
        };
        let times = Timestamps {
            last_access: time(original.st_atime, original.st_atime_nsec),
            last_modification: time(original.st_mtime, original.st_mtime_nsec),
        };
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        Ok(rustix::fs::utimensat(self, name, &times, flags)?)
    }

    /// Removes the file `name`.
    pub(crate) fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(self, name, AtFlags::empty())?)
    }

    /// Waits until the directory's entries are on disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        // The held descriptor only resolves names.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        self.open_file(OsStr::new("."), flags)?.sync_all()
    }

    /// Creates a file that is removed on drop, with `mode` as far as the umask and the directory's ACL allow.
    pub(crate) fn temporary(&self, mode: u32) -> io::Result<Temporary> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        loop {
            let name = unused_name();
            match rustix::fs::openat(self, &name, flags, Mode::from_raw_mode(mode)) {
                Ok(file) => {
                    return Ok(Temporary {
                        folder: self.clone(),
                        name: Some(name),
                        file: file.into(),
                    });
                }
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Returns the path, for messages.
    pub(crate) fn path(&self) -> &Path {
        or_here(&self.path)
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl Place {
    /// Returns the place of `path`, which must end in a name.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let name = path.file_name().ok_or(Errno::ISDIR)?.to_owned();
        let folder = Folder::open(path.parent().unwrap_or(Path::new("")))?;
        Ok(Self { folder, name })
    }

    pub(crate) fn look(&self) -> io::Result<Stat> {
        self.folder.look(&self.name)
    }

    /// Returns the path, for messages.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path.join(&self.name)
    }
}

impl Temporary {
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Renames the file to `name`, and replaces a file that has it.
    pub(crate) fn replace(mut self, name: &OsStr) -> io::Result<()> {
        if let Some(own) = &self.name {
            rustix::fs::renameat(&self.folder, own, &self.folder, name)?;
        }
        self.name = None;
        Ok(())
    }

    /// Renames the file to `name`, which must not exist.
    pub(crate) fn name_new(mut self, name: &OsStr) -> io::Result<()> {
        let Some(own) = &self.name else {
            return Ok(());
        };
        let folder = &self.folder;
        match rustix::fs::renameat_with(folder, own, folder, name, RenameFlags::NOREPLACE) {
            // Not every file system supports this.
            Err(Errno::INVAL | Errno::NOSYS) => {
                rustix::fs::linkat(folder, own, folder, name, AtFlags::empty())?;
            }
            other => {
                other?;
                self.name = None;
            }
        }
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = self.folder.remove(name);
        }
    }
}

/// Returns a temporary name. It may be guessed: an existing file is never opened.
fn unused_name() -> OsString {
    let number = RandomState::new().hash_one(std::process::id());
    OsString::from(format!(".oarlock-{number:016x}"))
}

/// Returns the identity of a file: its device, and its inode number there.
pub(crate) fn identity(of: &Stat) -> (u64, u64) {
    (of.st_dev, of.st_ino)
}

pub(crate) fn kind(of: &Stat) -> FileType {
    FileType::from_raw_mode(of.st_mode)
}

/// Returns `path`, or `.` if it is empty.
fn or_here(path: &Path) -> &Path {
    match path.as_os_str().is_empty() {
        true => Path::new("."),
        false => path,
    }
}

/// Returns the names in a path, without `.`, `..` and the root.
pub(crate) fn names(path: &Path) -> impl Iterator<Item = &OsStr> {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name),
        _ => None,
    })
}

/// Whether only a directory can have this name.
pub(crate) fn is_for_folder(path: &Path) -> bool {
    let name = path.as_os_str().as_bytes();
    name.ends_with(b"/") || name.ends_with(b"/.")
}

/// A descriptor that only resolves names. It needs no permission to read the directory.
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
