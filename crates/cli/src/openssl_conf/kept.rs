//! Configurations that outlast the command that they were written for. Programs that it leaves running start others, which
//! read the configuration too. Without it they would lose what it includes of the user's, such as the minimum version of
//! TLS.
//!
//! File names are digests of the content, so a folder has one file for each different configuration. Files are removed when
//! no run has used them for 30 days and no process names them.
//!
//! The folder is the first of these where only root and this user can write, along its whole path:
//!
//! ```text
//! $OARLOCK_CONFIGURATIONS                if it is set
//! /run/oarlock-run                       root's, which everybody may read: commands may change their user
//! $XDG_STATE_HOME/oarlock/run            (~/.local/state): it outlasts the session, and services with a private /tmp see it
//! $TMPDIR/oarlock-run-UID                for users without a writable home
//! ```

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use oarlock_programs::openssl_conf::{Files, Written, fits_a_line};
use rustix::fs::{OFlags, Timespec, Timestamps, UTIME_NOW};
use rustix::process::{getegid, geteuid};
use sha2::{Digest as _, Sha256};

use crate::folder::{Folder, kind};

/// Stores the files that `of` creates for a folder and the stem of their names. Returns the path of the one that programs
/// read; `None` if this user has no such place.
pub(super) fn keep(of: impl Fn(&Path, &str) -> Files) -> Option<PathBuf> {
    let stem = stem(&of(Path::new("/"), ""));
    places().find_map(|place| {
        let folder = open(&place).ok()?;
        let files = of(folder.path(), &stem);
        keep_in(&folder, &files).ok()?;
        Some(folder.path().join(&files.main.name))
    })
}

/// Whether any user may read the file at `path`, and reach it.
pub(super) fn is_public(path: &Path) -> bool {
    let allows = |path: &Path, bit: u32| {
        path.metadata()
            .is_ok_and(|metadata| metadata.mode() & bit != 0)
    };
    let Ok(path) = path.canonicalize() else {
        return false;
    };
    allows(&path, 0o004) && path.ancestors().skip(1).all(|folder| allows(folder, 0o001))
}

fn places() -> impl Iterator<Item = PathBuf> {
    let user = geteuid();
    let absolute = |name: &str| {
        let path = std::env::var_os(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    let named = absolute("OARLOCK_CONFIGURATIONS");
    let of_root = user.is_root().then(|| PathBuf::from("/run/oarlock-run"));
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
    let temporary = std::env::temp_dir().join(format!("oarlock-run-{}", user.as_raw()));
    let places = named
        .into_iter()
        .chain(of_root)
        .chain(state.map(|state| state.join("oarlock/run")))
        .chain([temporary]);
    places.filter(|place| fits_a_line(place.as_os_str()))
}

/// Opens the folder, and creates it if it is missing.
///
/// # Errors
/// The folder cannot be created, or somebody else may change it or the path to it.
fn open(place: &Path) -> io::Result<Folder> {
    let (Some(parent), Some(name)) = (place.parent(), place.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    // A user's state is private as a whole; /run and the folder for temporary files exist already.
    if place.ends_with("oarlock/run") {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(parent)?;
    }
    // Resolve links now, so that programs use the path that is checked here.
    let parent = parent.canonicalize()?;
    if !parent.ancestors().all(is_safe) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let above = Folder::open(&parent)?;
    if above.make(name, 0o755)? {
        // The umask may have removed bits of the mode.
        fs::set_permissions(parent.join(name), Permissions::from_mode(0o755))?;
    }
    let folder = above.child(name)?;
    let found = rustix::fs::fstat(&folder)?;
    if found.st_uid != geteuid().as_raw() || found.st_mode & WRITABLE_BY_OTHERS != 0 {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok(folder)
}

/// Whether only root and this user can replace what is in `folder`.
fn is_safe(folder: &Path) -> bool {
    let Ok(found) = folder.metadata() else {
        return false;
    };
    let user = geteuid().as_raw();
    let is_own = [0, user].contains(&found.uid());
    // Many distributions give each user a group of the same number, and a umask that lets it write.
    let is_alone_in_group = found.gid() == user && getegid().as_raw() == user;
    let others = match is_alone_in_group {
        true => 0o002,
        false => WRITABLE_BY_OTHERS,
    };
    is_own && (found.mode() & others == 0 || found.mode() & STICKY != 0)
}

fn keep_in(folder: &Folder, files: &Files) -> io::Result<()> {
    let mut is_new = false;
    for file in files.all() {
        if is_there(folder, file) {
            continue;
        }
        let made = folder.temporary(0o600)?;
        made.file().write_all(&file.bytes)?;
        made.file()
            .set_permissions(Permissions::from_mode(file.mode))?;
        made.replace(OsStr::new(&file.name))?;
        is_new = true;
    }
    if is_new {
        clean(folder);
    }
    Ok(())
}

/// Whether the folder has this very file. If so, it counts as used now.
fn is_there(folder: &Folder, file: &Written) -> bool {
    let same = || -> io::Result<bool> {
        // Follow no link, and do not wait for the writer of a pipe.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let mut there = folder.open_file(OsStr::new(&file.name), flags)?;
        let found = there.metadata()?;
        let is_ours = found.is_file()
            && found.uid() == geteuid().as_raw()
            && found.mode() & 0o7777 == file.mode;
        if !is_ours || found.len() != file.bytes.len() as u64 {
            return Ok(false);
        }
        let mut bytes = Vec::with_capacity(file.bytes.len());
        there.read_to_end(&mut bytes)?;
        if bytes != file.bytes {
            return Ok(false);
        }
        if age(found.modified()?) > TOUCHED {
            touch(&there)?;
        }
        // Another run may just have removed it.
        Ok(there.metadata()?.nlink() > 0)
    };
    same().unwrap_or(false)
}

fn touch(file: &File) -> io::Result<()> {
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: UTIME_NOW,
    };
    let times = Timestamps {
        last_access: now,
        last_modification: now,
    };
    Ok(rustix::fs::futimens(file, &times)?)
}

/// Removes files that are old and not in use. Those that cannot be removed stay.
fn clean(folder: &Folder) {
    let Ok(entries) = fs::read_dir(folder.path()) else {
        return;
    };
    let is_old = |name: &OsString| {
        let found = folder.look(name).ok()?;
        let modified = u64::try_from(found.st_mtime).ok()?;
        let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(modified);
        (kind(&found).is_file() && age(modified) > UNUSED).then_some(())
    };
    let names = entries.flatten().map(|entry| entry.file_name());
    let old: Vec<_> = names.filter(|name| is_old(name).is_some()).collect();
    if old.is_empty() {
        return;
    }
    let used = stems_in_use(folder.path());
    for name in old {
        if !used.contains(stem_of(name.as_bytes())) {
            let _ = folder.remove(&name);
        }
    }
}

/// Returns the stems of the files in `folder` that the environments of processes name.
fn stems_in_use(folder: &Path) -> HashSet<Vec<u8>> {
    let prefix = [b"OPENSSL_CONF=", folder.as_os_str().as_bytes(), b"/"].concat();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let environments =
        processes.filter_map(|process| fs::read(process.path().join("environ")).ok());
    environments
        .flat_map(|environment| {
            let named = environment.split(|byte| *byte == 0);
            let names = named.filter_map(|text| text.strip_prefix(&prefix[..]));
            names.map(|name| stem_of(name).to_vec()).collect::<Vec<_>>()
        })
        .collect()
}

/// Returns a digest of the content of all files.
fn stem(files: &Files) -> String {
    let mut digest = Sha256::new();
    for file in files.all() {
        digest.update((file.bytes.len() as u64).to_le_bytes());
        digest.update(&file.bytes);
    }
    hex::encode(&digest.finalize()[..STEM_BYTES])
}

fn stem_of(name: &[u8]) -> &[u8] {
    &name[..name.len().min(2 * STEM_BYTES)]
}

/// Returns the time since `of`; zero if that is in the future.
fn age(of: SystemTime) -> Duration {
    of.elapsed().unwrap_or_default()
}

const STEM_BYTES: usize = 16;
const WRITABLE_BY_OTHERS: u32 = 0o022;
const STICKY: u32 = 0o1000;
const TOUCHED: Duration = Duration::from_secs(86400);
const UNUSED: Duration = Duration::from_secs(30 * 86400);
