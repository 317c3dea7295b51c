//! The place of a calibration, and its atomic replacement.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use oarlock_engine::costs::openssl::{Measured, Stored};

use crate::cache;
use crate::failure::{Failure, reason};

/// Returns this user's path: what `OARLOCK_CALIBRATION` names, root's path for all users, or one in the user's cache.
pub(crate) fn own() -> Option<PathBuf> {
    let path = match std::env::var_os(NAMED) {
        Some(path) => Some(path).filter(|path| !path.is_empty())?.into(),
        None if rustix::process::geteuid().is_root() => PathBuf::from(OF_ROOT),
        None => cache::folder()?.join(NAME),
    };
    resolved(&path)
}

/// Returns the path for a configuration for one command: the newer of this user's file and root's, if there is one.
pub(crate) fn in_configuration() -> Option<PathBuf> {
    let made = |path: &PathBuf| path.metadata().and_then(|it| it.modified()).ok();
    let of_root = match std::env::var_os(NAMED) {
        Some(_) => None,
        None => resolved(Path::new(OF_ROOT)),
    };
    let there = own().into_iter().chain(of_root);
    there
        .filter(|path| made(path).is_some())
        .max_by_key(|path| made(path))
}

/// Whether `path` is a name that calibrations have, so that it may be removed.
pub(crate) fn is_own(path: &Path) -> bool {
    let is_named = path.file_name() == Some(OsStr::new(NAME));
    path.is_absolute() && (is_named || own().as_deref() == Some(path))
}

/// Adds `new` to the calibrations stored in `path`.
pub(super) fn add(path: &Path, new: Measured) -> Result<(), Failure> {
    let read = |path: &Path| Stored::parse(&fs::read(path).ok()?).ok();
    // A file that cannot be read is replaced. A user's first file hides root's from then on, so it starts as a copy of that.
    let of_root = || read(Path::new(OF_ROOT)).filter(|_| std::env::var_os(NAMED).is_none());
    let mut stored = read(path).or_else(of_root).unwrap_or_default();
    stored.add(new);
    write(path, &stored.to_string()).map_err(|error| {
        let (name, why) = (path.display(), reason(&error));
        Failure::new(format!("{name}: the calibration was not stored: {why}"))
    })
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    // Programs of all users read root's.
    let (of_folder, of_file) = match rustix::process::geteuid().is_root() {
        true => (0o755, 0o644),
        false => (0o700, 0o600),
    };
    if !folder.exists() {
        DirBuilder::new()
            .recursive(true)
            .mode(of_folder)
            .create(folder)?;
        // The umask may have removed bits of the mode.
        fs::set_permissions(folder, Permissions::from_mode(of_folder))?;
    }
    let mut made = tempfile::Builder::new()
        .prefix(".oarlock-")
        .tempfile_in(folder)?;
    made.write_all(text.as_bytes())?;
    made.as_file()
        .set_permissions(Permissions::from_mode(of_file))?;
    made.as_file().sync_all()?;
    made.persist(path)?;
    Ok(())
}

/// Resolves the links among the folders of `path` that exist, since the provider follows none.
fn resolved(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    let there = path.ancestors().skip(1).find(|folder| folder.exists())?;
    let rest = path.strip_prefix(there).ok()?;
    Some(there.canonicalize().ok()?.join(rest))
}

/// FHS 3.0, 5.8: state that programs keep between invocations. A cache may be emptied at any time, which would change what
/// programs do from one start to the next.
const OF_ROOT: &str = "/var/lib/oarlock/openssl-calibration";
/// The variable that names another file.
const NAMED: &str = "OARLOCK_CALIBRATION";
const NAME: &str = "openssl-calibration";
