//! Files that are there as a whole or not at all.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

/// Writes a new file and syncs it. Nothing is left of it on failure.
pub(crate) fn write(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    write_with(path, bytes, mode, |_| Ok(()))
}

fn write_with(
    path: &Path,
    bytes: &[u8],
    mode: u32,
    prepare: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(mode).open(path)?;
    let written = file
        .write_all(bytes)
        .and_then(|()| prepare(&file))
        .and_then(|()| file.sync_all());
    if written.is_err() {
        // The caller reports the first error.
        let _ = fs::remove_file(path);
    }
    written
}

/// Writes a file under a temporary name of its folder, then gives it its own: a reader sees all of it, or what was there
/// before. A crash leaves the temporary file at most ([`is_temporary`]).
pub(crate) fn replace(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    replace_with(path, bytes, mode, |_| Ok(()))
}

/// Does the same, and changes the new file's rights before anyone can see it.
pub(crate) fn replace_with(
    path: &Path,
    bytes: &[u8],
    mode: u32,
    prepare: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<()> {
    put(path, bytes, mode, prepare, |from, to| fs::rename(from, to))
}

/// Does the same as [`replace`] for a file whose name must not exist.
pub(crate) fn create(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    put(path, bytes, mode, |_| Ok(()), rename_new)
}

fn put(
    path: &Path,
    bytes: &[u8],
    mode: u32,
    prepare: impl FnOnce(&File) -> io::Result<()>,
    name: impl FnOnce(&Path, &Path) -> io::Result<()>,
) -> io::Result<()> {
    let number = RandomState::new().hash_one(std::process::id());
    let temporary = path.with_file_name(format!("{TEMPORARY}{number:016x}"));
    write_with(&temporary, bytes, mode, prepare)?;
    let named = name(&temporary, path);
    if named.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    named
}

/// Renames a file. The new name must not exist, unless it is another name of the same file.
pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    let renamed = match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Not every file system supports this.
        Err(Errno::INVAL | Errno::NOSYS) => {
            fs::hard_link(from, to).and_then(|()| fs::remove_file(from))
        }
        other => other.map_err(io::Error::from),
    };
    match renamed {
        // A crash between the two steps left both names.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && are_one(from, to)? => {
            fs::remove_file(from)
        }
        other => other,
    }
}

/// Whether two names are those of one file. A link that names the other is a file of its own.
fn are_one(one: &Path, other: &Path) -> io::Result<bool> {
    let (one, other) = (fs::symlink_metadata(one)?, fs::symlink_metadata(other)?);
    Ok((one.dev(), one.ino()) == (other.dev(), other.ino()))
}

/// Waits until the names in a folder are on disk.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Whether a file has a name that [`replace`] and [`create`] give until the file is complete.
pub(crate) fn is_temporary(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(TEMPORARY.as_bytes())
}

const TEMPORARY: &str = ".oarlock-new-";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_file_replaces_none_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("one");
        create(&path, b"first", 0o600).unwrap();
        let refused = create(&path, b"second", 0o600).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"first");
        replace(&path, b"third", 0o600).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"third");
        let other = folder.path().join("other");
        fs::write(&other, "").unwrap();
        let refused = rename_new(&path, &other).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        // A crash left both names of a file.
        let both = folder.path().join("both");
        fs::hard_link(&path, &both).unwrap();
        rename_new(&path, &both).unwrap();
        assert!(!path.exists());
        rename_new(&both, &path).unwrap();
        // A name that no file can have.
        assert!(replace(&folder.path().join("a".repeat(300)), b"", 0o600).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
