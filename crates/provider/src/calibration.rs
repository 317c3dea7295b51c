//! The file of a calibration that the configuration names: read once, when the provider is loaded, and trusted if nobody
//! but root and the process's own user can have written it. docs/calibration.md has the rules and their reasons.
#![allow(unsafe_code)]

use std::fs::{Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Component, Path};

use oarlock::costs::openssl::{FILE_BYTES_MAX, Stored};

/// What `path` holds.
///
/// # Errors
/// Why it counts as none, in words.
pub(crate) fn read(path: &str) -> Result<Stored, String> {
    let path = Path::new(path);
    let trusted = Trusted::here();
    trusted.folders_of(path)?;
    // Neither a link's target nor the wait for a pipe's writer.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = opened.map_err(|error| match error.raw_os_error() {
        Some(libc::ELOOP) => "a symbolic link".into(),
        _ => of(&error),
    })?;
    let metadata = file.metadata().map_err(|error| of(&error))?;
    if !metadata.is_file() {
        return Err("not a regular file".into());
    }
    trusted.is_own(&metadata).map_err(str::to_owned)?;
    if metadata.mode() & WRITABLE_BY_OTHERS != 0 {
        return Err("others may write it".into());
    }
    let mut bytes = Vec::with_capacity(metadata.len().min(FILE_BYTES_MAX as u64) as usize + 1);
    file.take(FILE_BYTES_MAX as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| of(&error))?;
    Stored::parse(&bytes).map_err(|damaged| damaged.to_string())
}

/// Whose files are believed.
struct Trusted {
    /// Beside root.
    user: u32,
}

impl Trusted {
    fn here() -> Self {
        // SAFETY: takes nothing, and always succeeds.
        let user = unsafe { libc::geteuid() };
        // SAFETY: takes any number.
        let is_privileged = unsafe { libc::getauxval(libc::AT_SECURE) != 0 };
        Self {
            // With more rights than the user's, root's alone: the effective user may be no more than a step
            // on the way to others.
            user: if is_privileged { ROOT } else { user },
        }
    }

    fn is_own(&self, metadata: &Metadata) -> Result<(), &'static str> {
        match [ROOT, self.user].contains(&metadata.uid()) {
            true => Ok(()),
            false => Err("it belongs to another user"),
        }
    }

    /// A user who may write to one of the folders could replace the file by another of the same owner's.
    fn folders_of(&self, path: &Path) -> Result<(), String> {
        let is_plain = path
            .components()
            .all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
        if !path.is_absolute() || !is_plain {
            return Err("not an absolute path".into());
        }
        for folder in path.ancestors().skip(1) {
            let name = folder.display();
            let metadata = folder.symlink_metadata().map_err(|error| of(&error))?;
            if !metadata.is_dir() {
                return Err(format!("{name} is not a folder"));
            }
            self.is_own(&metadata)
                .map_err(|_| format!("the folder {name} belongs to another user"))?;
            // In a folder such as /tmp others may replace their own files alone.
            if metadata.mode() & WRITABLE_BY_OTHERS != 0 && metadata.mode() & STICKY == 0 {
                return Err(format!("others may write the folder {name}"));
            }
        }
        Ok(())
    }
}

fn of(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => MISSING.into(),
        io::ErrorKind::PermissionDenied => "it may not be read".into(),
        _ => format!("it cannot be read: {error}"),
    }
}

/// Not worth a word to people: there was no calibration yet.
const MISSING: &str = "missing";
const ROOT: u32 = 0;
const WRITABLE_BY_OTHERS: u32 = 0o022;
const STICKY: u32 = 0o1000;
