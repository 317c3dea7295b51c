//! Changes that clients make in the managed directory. One file is written for each change, all or nothing:
//!
//! ```text
//! create    ID.pem, ID.key or ID.jwk, which must not exist
//! rotate    the file with one more version replaces the old one
//! disable   FILE becomes FILE.disabled
//! enable    FILE.disabled becomes FILE
//! ```
//!
//! Changes come one after the other: the lock in the directory keeps other servers out, and that of the [`KeyStore`] its
//! own watcher. Everything is checked again under both, since files may have changed since a client looked.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, fchown};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::Access;
use tonic::Code;

use super::super::config::{disabled, enabled};
use super::super::dispatch::Refusal;
use super::super::key::VERSIONS_MAX;
use super::super::operation;
use super::file::{EXTENSIONS, FILE_BYTES_MAX, key_of_text, read_text};
use super::lock::lock;
use super::made::{Kind, Made};
use super::rights::Rights;
use super::{Entry, KeyStore, Keys, Seen, State};
use crate::files;

/// A change of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::server) enum Change {
    Create(Kind),
    /// A new version after this one.
    Rotate(u32),
    Disable,
    Enable,
}

/// The room for new keys.
pub(in crate::server) struct Room<'a> {
    /// The most keys in the managed directory.
    pub(in crate::server) keys_max: usize,
    /// The most of them that are the client's own.
    pub(in crate::server) own_max: usize,
    /// Whether the key of an ID is one of its own.
    pub(in crate::server) is_own: &'a dyn Fn(&str) -> bool,
}

impl Change {
    /// Checks whether the change can be made to these keys. Returns the kind of version that has to be generated for it.
    ///
    /// # Errors
    /// The refusal that its client receives.
    pub(in crate::server) fn check(
        self,
        id: &str,
        keys: &Keys,
        room: &Room<'_>,
    ) -> Result<Option<Kind>, Refusal> {
        if let Self::Create(kind) = self {
            if keys.entry(id).is_some() {
                return Err(exists(id));
            }
            check_room(keys, room)?;
            return Ok(Some(kind));
        }
        let entry = keys.entry(id).ok_or_else(|| operation::no_such_key(id))?;
        if !entry.is_managed() {
            return Err(precondition(
                format!(
                    "key {id:?} is not in the server's managed directory: only its operator changes it"
                ),
                "the key is not in the managed directory",
            ));
        }
        let Self::Rotate(version) = self else {
            return Ok(None);
        };
        check_version(id, entry, version)?;
        let kind = Kind::of_key(&entry.key).ok_or_else(|| {
            precondition(
                format!("key {id:?} is of a kind that this server does not generate: rotate it by its file"),
                "the server generates no such key",
            )
        })?;
        Ok(Some(kind))
    }
}

fn check_room(keys: &Keys, room: &Room<'_>) -> Result<(), Refusal> {
    let managed = keys.by_id.iter().filter(|(_, entry)| entry.is_managed());
    let (mut count, mut own) = (0, 0);
    for (id, _) in managed {
        count += 1;
        own += usize::from((room.is_own)(id));
    }
    let full = |what: &str| Err(Refusal::new(Code::ResourceExhausted, what));
    if own >= room.own_max {
        return full(
            "this client has as many keys as it may make: its keys_max in the server's configuration is the limit",
        );
    }
    if count >= room.keys_max {
        return full(
            "the server has as many keys as clients may make: keys_max in its configuration is the limit",
        );
    }
    Ok(())
}

fn check_version(id: &str, entry: &Entry, version: u32) -> Result<(), Refusal> {
    if version == 0 {
        let what = "rotate without a version: name the newest version of the key, as the list of keys has it";
        return Err(Refusal::new(Code::InvalidArgument, what));
    }
    if entry.is_disabled {
        return Err(precondition(
            format!("key {id:?} is disabled: enable it first"),
            "the key is disabled",
        ));
    }
    if entry.version() != version {
        return Err(precondition(
            format!(
                "key {id:?} has version {}, not {version}: list the keys, since it may have been rotated already",
                entry.version()
            ),
            "the key has another version",
        ));
    }
    if entry.key.versions_count() >= VERSIONS_MAX {
        return Err(precondition(
            format!("key {id:?} has {VERSIONS_MAX} versions: remove the oldest from its file"),
            "the key has too many versions",
        ));
    }
    Ok(())
}

/// Whether a new key can have this ID: its file's name is portable, and hidden by no system.
pub(in crate::server) fn is_new_id(id: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=NEW_ID_BYTES_MAX).contains(&id.len())
        && id.as_bytes()[0].is_ascii_alphanumeric()
        && id.bytes().all(is_plain)
        && !id.contains("..")
}

/// Checks that the server, and no stranger, can write to a managed directory.
///
/// # Errors
/// The fault, with its remedy.
pub(super) fn check_folder(path: &Path) -> Result<(), String> {
    rustix::fs::access(path, Access::WRITE_OK | Access::EXEC_OK).map_err(|error| {
        format!("is managed, but cannot be written ({error}): give it to the user of the server")
    })?;
    let metadata = fs::metadata(path).map_err(|error| format!("cannot be read: {error}"))?;
    match metadata.mode() & OTHERS_WRITE {
        0 => Ok(()),
        _ => Err("is managed, but everyone may write to it: chmod o-w".to_owned()),
    }
}

impl KeyStore {
    /// Makes a change, and returns the keys that are in use then. Blocks while it reads and writes files.
    ///
    /// # Errors
    /// The refusal that its client receives. Nothing has changed, unless it says so.
    pub(in crate::server) fn change(
        &self,
        id: &str,
        change: Change,
        made: Option<&Made>,
        room: &Room<'_>,
        deadline: Instant,
    ) -> Result<Arc<Keys>, Refusal> {
        let gone = || {
            precondition(
                "this server has no managed directory any more, or another one".to_owned(),
                "no managed directory",
            )
        };
        let folder = self.state().managed_folder().ok_or_else(gone)?;
        let lock = lock(&folder, deadline)?;
        let mut state = self.state();
        // A reload may have come between.
        if state.managed_folder().as_ref() != Some(&folder) {
            return Err(gone());
        }
        let keys = self.refreshed(&mut state);
        let kind = change.check(id, &keys, room)?;
        if kind.is_some() && kind != made.and_then(Made::kind) {
            return Err(precondition(
                format!("key {id:?} was replaced by one of another type: list the keys"),
                "the key has another type",
            ));
        }
        remove_temporary(&folder);
        // Waiting for the locks and reading the files may have taken long.
        if Instant::now() >= deadline {
            return Err(late());
        }
        let place = Place {
            id,
            folder: &folder,
            entry: keys.entry(id),
        };
        match (change, made) {
            (Change::Create(kind), Some(made)) => place.create(kind, made)?,
            (Change::Rotate(_), Some(made)) => {
                let path = place.file(&state)?;
                place.rotate(&path, made)?;
            }
            (Change::Disable, _) => place.disable(&mut state)?,
            (Change::Enable, _) => place.enable(&mut state)?,
            (Change::Create(_) | Change::Rotate(_), None) => {
                return Err(Refusal::new(Code::Internal, "no key was generated"));
            }
        }
        files::sync_folder(&folder).map_err(|error| {
            tracing::error!("{}: cannot be synced: {error}", folder.display());
            let what = "the change was made, but a power failure may undo it: list the keys, and see the server's log";
            Refusal::new(Code::Internal, what)
        })?;
        let before = keys.entry(id).map_or(0, Entry::version);
        let keys = self.refreshed(&mut state);
        drop((state, lock));
        let is_served = keys.entry(id).is_some_and(|entry| match change {
            Change::Create(_) => entry.is_managed() && !entry.is_disabled && entry.version() == 1,
            Change::Rotate(_) => entry.version() > before && !entry.is_disabled,
            Change::Disable => entry.is_disabled,
            Change::Enable => !entry.is_disabled,
        });
        match is_served {
            true => Ok(keys),
            false => Err(Refusal::new(
                Code::Internal,
                "the key's file was written, but the server does not use it: see its log",
            )),
        }
    }

    /// Removes what a crash left in the managed directory. Nothing is removed while another server changes keys there.
    pub(in crate::server) fn tidy(&self) {
        let folder = self.state().managed_folder();
        if let Some(folder) = folder
            && let Ok(_lock) = lock(&folder, Instant::now() + TIDY_PATIENCE)
        {
            remove_temporary(&folder);
        }
    }

    /// Whether clients may change keys at all. Blocks while files are read.
    pub(in crate::server) fn is_managed(&self) -> bool {
        self.state().managed_folder().is_some()
    }

    fn refreshed(&self, state: &mut State) -> Arc<Keys> {
        let keys = state.refresh(&self.current(), false);
        self.replace(keys);
        self.current()
    }
}

impl State {
    fn managed_folder(&self) -> Option<PathBuf> {
        let managed = self.directories.iter().find(|it| it.is_managed)?;
        Some(managed.path.clone())
    }
}

/// A key in the managed directory.
struct Place<'a> {
    id: &'a str,
    folder: &'a Path,
    entry: Option<&'a Entry>,
}

impl Place<'_> {
    fn create(&self, kind: Kind, made: &Made) -> Result<(), Refusal> {
        let named = |extension: &str| self.folder.join(format!("{}.{extension}", self.id));
        // Also one that holds no key, since its operator may repair it.
        let all = EXTENSIONS.iter().map(|extension| named(extension));
        if all
            .flat_map(|path| [disabled(&path), path])
            .any(|path| fs::symlink_metadata(path).is_ok())
        {
            return Err(exists(self.id));
        }
        let text = made.text().map_err(|what| self.failed(&what))?;
        self.check_text(&text, 1)?;
        let path = named(kind.extension());
        files::create(&path, text.as_bytes(), KEY_MODE).map_err(|error| self.unwritten(&error))
    }

    fn rotate(&self, path: &Path, made: &Made) -> Result<(), Refusal> {
        let entry = self.entry.ok_or_else(|| operation::no_such_key(self.id))?;
        let (metadata, text) = read_text(path).map_err(|what| self.failed(&what))?;
        let rights = Rights::of(path, &metadata).map_err(|what| self.failed(&what))?;
        let text = made.text_behind(&text, &entry.key);
        let text = text.map_err(|what| self.failed(&what))?;
        self.check_text(&text, entry.key.versions_count() + 1)?;
        let mut lost = None;
        let written = files::replace_with(path, text.as_bytes(), KEY_MODE, |file| {
            let given = rights.give(file, &|file, uid, gid| fchown(file, uid, gid));
            given.map_err(|what| {
                lost = Some(what);
                io::ErrorKind::PermissionDenied.into()
            })
        });
        match lost {
            Some(what) => Err(precondition(
                format!(
                    "key {:?} cannot be rotated: {what}: rotate it by a server of the file's user, or give the file to this \
                     server's user and group",
                    self.id
                ),
                "the rights of the file cannot be kept",
            )),
            None => written.map_err(|error| self.unwritten(&error)),
        }
    }

    fn disable(&self, state: &mut State) -> Result<(), Refusal> {
        if self.entry.is_some_and(|entry| entry.is_disabled) {
            return Ok(());
        }
        let path = self.file(state)?;
        self.rename(state, &path, &disabled(&path))
    }

    fn enable(&self, state: &mut State) -> Result<(), Refusal> {
        if self.entry.is_some_and(|entry| !entry.is_disabled) {
            return Ok(());
        }
        let path = self.file(state)?;
        let to = enabled(&path).ok_or_else(|| self.failed("it is not disabled"))?;
        self.rename(state, &path, &to)
    }

    /// Renames the key's file, and keeps the key that was read from it: to read and prove 64 versions takes long.
    fn rename(&self, state: &mut State, from: &Path, to: &Path) -> Result<(), Refusal> {
        files::rename_new(from, to).map_err(|error| self.unwritten(&error))?;
        if let Some(seen) = state.seen.get(from)
            && let Some(stamp) = seen.stamp.and_then(|stamp| stamp.renamed(to))
        {
            let seen = Seen {
                stamp: Some(stamp),
                ..seen.clone()
            };
            state.seen.insert(to.to_owned(), seen);
        }
        Ok(())
    }

    /// Returns the file of the key.
    fn file(&self, state: &State) -> Result<PathBuf, Refusal> {
        let path = self.entry.and_then(|entry| entry.managed.clone());
        let path = path.ok_or_else(|| operation::no_such_key(self.id))?;
        let is_own = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_file());
        let seen = state.seen.get(&path);
        let is_right = seen.is_some_and(|seen| seen.key.is_some() && !seen.is_wrong);
        match is_own && is_right {
            true => Ok(path),
            false => Err(precondition(
                format!(
                    "key {:?} cannot be changed: its file is a link or does not hold the key any more, or a file without \
                     the key disables it by its name: only the server's operator changes that",
                    self.id
                ),
                "the file is a link, or does not hold the key",
            )),
        }
    }

    /// Reads a text as the server will read it, before it is written.
    fn check_text(&self, text: &str, versions: usize) -> Result<(), Refusal> {
        if text.len() > FILE_BYTES_MAX {
            return Err(precondition(
                format!("the file of key {:?} would be too long", self.id),
                "the file would be too long",
            ));
        }
        match key_of_text(text, None) {
            Ok(Some(key)) if key.versions_count() == versions => Ok(()),
            Ok(_) => Err(self.failed("its new text holds another number of versions")),
            Err(what) => Err(self.failed(&what)),
        }
    }

    fn failed(&self, what: &str) -> Refusal {
        tracing::error!("key {:?}: not changed: {what}", self.id);
        Refusal::new(
            Code::Internal,
            "the key was not changed: see the server's log",
        )
    }

    /// Returns the refusal for an error of the file system, which the log has with the directory.
    fn unwritten(&self, error: &io::Error) -> Refusal {
        if error.kind() == io::ErrorKind::AlreadyExists {
            return exists(self.id);
        }
        let folder = self.folder.display();
        tracing::error!("key {:?}: {folder}: cannot be written: {error}", self.id);
        unwritten(error)
    }
}

pub(super) fn unwritten(error: &io::Error) -> Refusal {
    use io::ErrorKind as Kind;
    let (code, what) = match error.kind() {
        Kind::StorageFull | Kind::QuotaExceeded => (
            Code::ResourceExhausted,
            "the disk of the server's managed directory is full: nothing has changed",
        ),
        Kind::ReadOnlyFilesystem | Kind::PermissionDenied => (
            Code::FailedPrecondition,
            "the server may not write to its managed directory: nothing has changed",
        ),
        Kind::NotFound => (
            Code::FailedPrecondition,
            "the server's managed directory is gone: nothing has changed",
        ),
        _ => (
            Code::Internal,
            "the server's managed directory cannot be written: nothing has changed; see the server's log",
        ),
    };
    Refusal::new(code, what)
}

/// Returns the refusal of a change whose deadline passes before it is written.
pub(in crate::server) fn late() -> Refusal {
    Refusal::new(
        Code::DeadlineExceeded,
        "its deadline passed before the change was written: nothing has changed",
    )
}

fn exists(id: &str) -> Refusal {
    Refusal::repeating(
        Code::AlreadyExists,
        format!(
            "there is a key {id:?} already, or a file of its name: list the keys, or choose another id"
        ),
        "the key exists",
    )
}

pub(super) fn precondition(message: String, in_short: &'static str) -> Refusal {
    Refusal::repeating(Code::FailedPrecondition, message, in_short)
}

fn remove_temporary(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        if files::is_temporary(&entry.file_name()) {
            let path = entry.path();
            match fs::remove_file(&path) {
                Ok(()) => tracing::warn!("{}: removed: left by a crash", path.display()),
                Err(error) => tracing::warn!("{}: cannot be removed: {error}", path.display()),
            }
        }
    }
}

/// The longest ID of a new key. Its file's name is longer, and has at most 255 bytes.
const NEW_ID_BYTES_MAX: usize = 128;
const KEY_MODE: u32 = 0o600;
/// How long the start waits for another server.
const TIDY_PATIENCE: Duration = Duration::from_secs(1);
/// The mode bit that lets users other than the owner and the group write.
const OTHERS_WRITE: u32 = 0o002;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
