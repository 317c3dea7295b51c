//! The users whose files a process trusts: calibrations, and libraries that the command loads to measure.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path};

use oarlock_threads::process;

/// The users whose files this process trusts: root and its own effective user. A program with more rights than its user
/// (AT_SECURE) trusts only root, because its effective user may be a step towards other users.
///
/// ```
/// use oarlock_engine::costs::openssl::Trusted;
///
/// let path = std::path::Path::new("/etc/passwd");
/// let trusted = Trusted::here();
/// trusted.folders_of(path)?;
/// trusted.file(&path.symlink_metadata().map_err(|error| error.to_string())?)?;
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Trusted {
    user: u32,
}

impl Trusted {
    /// Returns the users that this process trusts.
    pub fn here() -> Self {
        Self {
            user: match process::is_privileged() {
                true => ROOT,
                false => process::user(),
            },
        }
    }

    /// Checks that no untrusted user can have replaced a file at `path`: the path is absolute and plain, and each
    /// folder above it is a real folder of a trusted user that others cannot write, or whose sticky bit keeps them from
    /// replacing the files of others.
    ///
    /// # Errors
    /// A message that says what is wrong.
    pub fn folders_of(&self, path: &Path) -> Result<(), String> {
        let is_plain = path
            .components()
            .all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
        if !path.is_absolute() || !is_plain {
            return Err("not an absolute path".into());
        }
        for folder in path.ancestors().skip(1) {
            let name = folder.display();
            let metadata = folder.symlink_metadata().map_err(|error| said(&error))?;
            if !metadata.is_dir() {
                return Err(format!("{name} is not a folder"));
            }
            if !self.owns(&metadata) {
                return Err(format!("the folder {name} belongs to another user"));
            }
            if metadata.mode() & WRITABLE_BY_OTHERS != 0 && metadata.mode() & STICKY == 0 {
                return Err(format!("others may write the folder {name}"));
            }
        }
        Ok(())
    }

    /// Checks that `metadata` is that of a regular file of a trusted user, which no other user may write.
    ///
    /// # Errors
    /// A message that says what is wrong.
    pub fn file(&self, metadata: &Metadata) -> Result<(), &'static str> {
        if !metadata.is_file() {
            return Err("not a regular file");
        }
        if !self.owns(metadata) {
            return Err("it belongs to another user");
        }
        match metadata.mode() & WRITABLE_BY_OTHERS {
            0 => Ok(()),
            _ => Err("others may write it"),
        }
    }

    fn owns(&self, metadata: &Metadata) -> bool {
        [ROOT, self.user].contains(&metadata.uid())
    }
}

fn said(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "missing".into(),
        io::ErrorKind::PermissionDenied => "it may not be read".into(),
        _ => format!("it cannot be read: {error}"),
    }
}

const ROOT: u32 = 0;
const WRITABLE_BY_OTHERS: u32 = 0o022;
const STICKY: u32 = 0o1000;
