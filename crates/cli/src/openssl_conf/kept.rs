//! Configurations that outlast the command that they were written for. Programs that it leaves running start others, which
//! read the configuration too. Without it they would lose what it includes of the user's, such as the minimum version of
//! TLS.
//!
//! File names are digests of the content, so a folder has one set of files for each different configuration. A run removes
//! sets that no run has used for 30 days, unless
//!
//! - a run that waits for its command has a lock on them (flock), or
//! - the environment of a process names them, or
//! - a process hides its environment and has mapped the provider that they name. nginx, PostgreSQL and sshd overwrite the
//!   environment to set their titles.
//!
//! Other processes that hide their environment cannot be told apart: while there are any, sets stay for a year.
//!
//! The folder is the first of these where only root and this user can write, along its whole path:
//!
//! ```text
//! $OARLOCK_CONFIGURATIONS                if it is set
//! /run/oarlock-run                       root's, which everybody may read: commands may change their user
//! $XDG_STATE_HOME/oarlock/run            (~/.local/state): it outlasts the session, and services with a private /tmp see it
//! $TMPDIR/oarlock-run-UID                for users without a writable home
//! ```

use std::collections::{BTreeMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use oarlock_programs::openssl_conf::{Conf, Files, SECTION, Written, fits_a_line, newer_name};
use rustix::fs::{FlockOperation, OFlags, Timespec, Timestamps, UTIME_NOW, flock};
use rustix::io::Errno;
use rustix::process::{getegid, geteuid};
use sha2::{Digest as _, Sha256};

use crate::folder::{Folder, kind};

/// Files that stay at least as long as this value.
pub(crate) struct Kept {
    /// The path of the one that programs read.
    pub(crate) path: PathBuf,
    /// That file, with a shared lock. Commands do not inherit it.
    main: File,
}

impl Drop for Kept {
    /// The files were in use until now. The youngest of a set counts.
    fn drop(&mut self) {
        let _ = touch(&self.main);
    }
}

/// Stores the files that `of` creates for a folder and the stem of their names; `None` if this user has no place for them.
pub(super) fn keep(of: impl Fn(&Path, &str) -> Files) -> Option<Kept> {
    let stem = stem(&of(Path::new("/"), ""));
    places().find_map(|place| {
        let folder = open(&place).ok()?;
        let files = of(folder.path(), &stem);
        let main = keep_in(&folder, &files).ok()?;
        Some(Kept {
            path: folder.path().join(&files.main.name),
            main,
        })
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

/// Returns the main file, with a shared lock.
fn keep_in(folder: &Folder, files: &Files) -> io::Result<File> {
    let main = OsStr::new(&files.main.name);
    // Lock first, so that no other run removes files that are found here.
    let mut locked = open_plain(folder, main).map(share);
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
    let is_gone = |file: &File| file.metadata().is_ok_and(|found| found.nlink() == 0);
    if is_new || locked.as_ref().is_ok_and(is_gone) {
        locked = open_plain(folder, main).map(share);
    }
    if is_new {
        clean(folder);
    }
    locked
}

/// Opens a file. Follows no link, and does not wait for the writer of a pipe.
fn open_plain(folder: &Folder, name: &OsStr) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    folder.open_file(name, flags)
}

/// Takes a shared lock. A run that cleans has the other kind for a moment. Anybody who may read a public file may lock it, so
/// nothing waits for long, and a file system without locks is no error: the environment of processes is checked too.
fn share(file: File) -> File {
    for _ in 0..TRIES {
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Err(Errno::WOULDBLOCK) => std::thread::sleep(PAUSE),
            _ => break,
        }
    }
    file
}

/// Whether the folder has this very file. If so, it counts as used now.
fn is_there(folder: &Folder, file: &Written) -> bool {
    let same = || -> io::Result<bool> {
        let mut there = open_plain(folder, OsStr::new(&file.name))?;
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

/// Removes sets of files that are old and not in use. Those that cannot be removed stay.
fn clean(folder: &Folder) {
    let Ok(entries) = fs::read_dir(folder.path()) else {
        return;
    };
    let mut sets = BTreeMap::<_, Vec<_>>::new();
    for name in entries.flatten().map(|entry| entry.file_name()) {
        let stem = stem_of(name.as_bytes()).to_vec();
        sets.entry(stem).or_default().push(name);
    }
    sets.retain(|_, names| age_of_set(folder, names).is_some_and(|age| age > UNUSED));
    if sets.is_empty() {
        return;
    }
    let uses = Uses::find(folder.path());
    for (stem, names) in sets {
        let name = |of: fn(&str) -> String| OsString::from(of(&String::from_utf8_lossy(&stem)));
        let main = open_plain(folder, &name(|stem| format!("{stem}.cnf")));
        let is_locked = |file: &File| {
            let locked = flock(file, FlockOperation::NonBlockingLockExclusive);
            locked == Err(Errno::WOULDBLOCK)
        };
        if main.as_ref().is_ok_and(is_locked) {
            continue;
        }
        let modules = modules_in(folder, &name(newer_name));
        let unused = uses.unused(&stem, &modules);
        // A run may have used it since.
        if age_of_set(folder, &names).is_some_and(|age| age > unused) {
            for name in &names {
                let _ = folder.remove(name);
            }
        }
    }
}

/// Returns the age of the youngest file; `None` if not all of them are files.
fn age_of_set(folder: &Folder, names: &[OsString]) -> Option<Duration> {
    let age_of_one = |name: &OsString| {
        let found = folder.look(name).ok()?;
        let modified = u64::try_from(found.st_mtime).ok()?;
        let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(modified);
        kind(&found).is_file().then(|| age(modified))
    };
    let ages: Option<Vec<_>> = names.iter().map(age_of_one).collect();
    ages?.into_iter().min()
}

/// Returns the names, in maps of memory, of the provider that the file `name` gives to OpenSSL 3. Its folder may have other
/// paths in other processes.
fn modules_in(folder: &Folder, name: &OsStr) -> Vec<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = open_plain(folder, name).and_then(|mut file| file.read_to_end(&mut bytes));
    let conf = Conf::parse(&folder.path().join(name), &bytes);
    let (Ok(_), Ok(conf)) = (read, conf) else {
        return Vec::new();
    };
    let module = conf.value(SECTION, b"module").map(OsStr::from_bytes);
    let module = module.map(PathBuf::from);
    let target = module.as_ref().and_then(|path| path.canonicalize().ok());
    let paths = module.iter().chain(&target);
    let names = paths.filter_map(|path| path.file_name());
    names.map(|name| [b"/", name.as_bytes()].concat()).collect()
}

/// The use that processes make of the files in a folder.
#[derive(Default)]
struct Uses {
    /// The stems of files that the environments of processes name.
    named: HashSet<Vec<u8>>,
    /// The memory maps of processes that hide their environment. It is empty where they hide that too.
    maps_of_hidden: Vec<Vec<u8>>,
}

impl Uses {
    fn find(folder: &Path) -> Self {
        let prefix = [b"OPENSSL_CONF=", folder.as_os_str().as_bytes(), b"/"].concat();
        let mut uses = Self::default();
        for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let process = process.path();
            match fs::read(process.join("environ")) {
                Ok(environment) if is_whole(&environment) => {
                    let named = environment.split(|byte| *byte == 0);
                    let names = named.filter_map(|text| text.strip_prefix(&prefix[..]));
                    uses.named.extend(names.map(|name| stem_of(name).to_vec()));
                }
                Err(error)
                    if error.kind() != io::ErrorKind::PermissionDenied
                        || !is_of_this_user(&process) => {}
                Ok(_) | Err(_) => {
                    let maps = fs::read(process.join("maps")).unwrap_or_default();
                    uses.maps_of_hidden.push(maps);
                }
            }
        }
        uses
    }

    /// Returns the time after which files with this stem, which name these providers, go.
    fn unused(&self, stem: &[u8], modules: &[Vec<u8>]) -> Duration {
        let contains = |maps: &[u8], name: &[u8]| maps.windows(name.len()).any(|it| it == name);
        let maps_one = |maps: &Vec<u8>| modules.iter().any(|name| contains(maps, name));
        if self.named.contains(stem) || self.maps_of_hidden.iter().any(maps_one) {
            Duration::MAX
        } else if self.maps_of_hidden.is_empty() {
            UNUSED
        } else {
            UNUSED_WITH_HIDDEN
        }
    }
}

/// Whether this is an environment as a program gets it, and not a title written over it.
fn is_whole(environment: &[u8]) -> bool {
    let text = environment.strip_suffix(b"\0").unwrap_or(environment);
    environment.is_empty() || text.split(|byte| *byte == 0).all(|it| it.contains(&b'='))
}

/// Whether the process, which does not show its environment, runs for this user. Root's commands may change their user.
fn is_of_this_user(process: &Path) -> bool {
    let user = geteuid();
    let status = fs::read_to_string(process.join("status")).unwrap_or_default();
    let of_process = status.lines().find_map(|line| {
        let users = line.strip_prefix("Uid:")?;
        users.split_whitespace().next()?.parse::<u32>().ok()
    });
    user.is_root() || of_process == Some(user.as_raw())
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
/// The same while processes hide their environment.
const UNUSED_WITH_HIDDEN: Duration = Duration::from_secs(365 * 86400);
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(10);
