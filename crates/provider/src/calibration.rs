//! The calibration file that the configuration names. It is read once, when the provider is loaded, and trusted if only
//! root and the process's own user can have written it. docs/internals/calibration.md has the rules and their reasons.

use std::fs::OpenOptions;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use oarlock_engine::costs::openssl::{FILE_BYTES_MAX, Stored, Trusted};

/// Returns the contents of `path`.
///
/// # Errors
/// Explains in words why the file is not used.
pub(crate) fn read(path: &str) -> Result<Stored, String> {
    let path = Path::new(path);
    let trusted = Trusted::here();
    trusted.folders_of(path)?;
    // Do not follow a link, and do not wait for a pipe's writer.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = opened.map_err(|error| match error.raw_os_error() {
        Some(libc::ELOOP) => "a symbolic link".into(),
        _ => of(&error),
    })?;
    let metadata = file.metadata().map_err(|error| of(&error))?;
    trusted.file(&metadata)?;
    let mut bytes = Vec::with_capacity(metadata.len().min(FILE_BYTES_MAX as u64) as usize + 1);
    file.take(FILE_BYTES_MAX as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| of(&error))?;
    Stored::parse(&bytes).map_err(|damaged| damaged.to_string())
}

fn of(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => MISSING.into(),
        io::ErrorKind::PermissionDenied => "it may not be read".into(),
        _ => format!("it cannot be read: {error}"),
    }
}

/// Not worth a message: there was no calibration yet.
const MISSING: &str = "missing";
