//! The server's keys: read from files, directories and tokens, replaced while it runs, and changed for clients.
//!
//! ```text
//! file       the files of a directory, and the key in each
//! change     new keys, new versions, disabled keys: what clients change in the managed directory
//! lock       one server at a time in the managed directory
//! made       what a new version consists of, and how it stands in a file
//! rights     owner, group, mode and access control list, which a rotated file keeps
//! ```
//!
//! Readers use an immutable snapshot, and a change creates a new one. A directory is read again whenever something happens
//! in it, and every 30 seconds for changes that the system does not report (another machine's writes, a replaced directory).
//! An unreadable file in a directory is named in the log, skipped and counted, at the start and later. The key read from it
//! before stays in use, so an unfinished or failed rotation removes nothing.

mod change;
mod file;
mod lock;
mod made;
mod rights;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::fs;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use oarlock::keys::PrivateKey;
use oarlock::rsa::RsaPrivateKey;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

pub(super) use self::change::{Change, Room, is_new_id, late};
use self::file::{NO_KEY, Stamp, files, read_file};
pub(super) use self::made::{Kind, Made};
use super::config::{self, KeyConfig, Secret};
use super::key::Key;

/// A snapshot of the keys.
#[derive(Debug, Default)]
pub struct Keys {
    by_id: BTreeMap<String, Entry>,
    skipped: usize,
}

impl Keys {
    /// Returns the key with this ID, if it is not disabled.
    pub fn get(&self, id: &str) -> Option<&Key> {
        let entry = self.entry(id).filter(|entry| !entry.is_disabled);
        entry.map(|entry| &entry.key)
    }

    /// Returns the key with this ID, disabled or not.
    pub(super) fn entry(&self, id: &str) -> Option<&Entry> {
        self.by_id.get(id)
    }

    /// Returns all keys, ordered by ID, without those that are disabled.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Key)> {
        let enabled = self.by_id.iter().filter(|(_, entry)| !entry.is_disabled);
        enabled.map(|(id, entry)| (&id[..], &entry.key))
    }

    /// Returns the keys whose IDs follow this one, ordered by ID.
    pub(super) fn after(&self, id: &str) -> impl Iterator<Item = (&str, &Entry)> {
        let after = (Bound::Excluded(id), Bound::Unbounded);
        let entries = self.by_id.range::<str, _>(after);
        entries.map(|(id, entry)| (&id[..], entry))
    }

    /// Returns the number of files in directories that are skipped, because no key can be read from them or their ID is
    /// taken. Files whose earlier key stays in use count too.
    pub fn skipped(&self) -> usize {
        self.skipped
    }
}

/// A function that returns the keys of the named device with their labels, or the reason why it cannot.
pub type Tokens<'a> = dyn Fn(&str) -> Result<Vec<(String, RsaPrivateKey)>, String> + 'a;

/// The current keys, and the state to read them again.
#[derive(Debug)]
pub struct KeyStore {
    current: RwLock<Arc<Keys>>,
    state: Mutex<State>,
    /// Notified when the directories or their contents may have changed.
    changed: Arc<Notify>,
}

#[derive(Debug, Default)]
struct State {
    directories: Vec<Directory>,
    /// The keys from files and tokens.
    fixed: BTreeMap<String, Entry>,
    /// The files in the directories, as last read.
    seen: HashMap<PathBuf, Seen>,
}

/// A directory of keys.
#[derive(Clone, Debug)]
struct Directory {
    path: PathBuf,
    passphrase: Option<Secret>,
    is_managed: bool,
}

/// A key with what the server knows about it.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: Key,
    /// Whether requests with it are refused.
    pub(super) is_disabled: bool,
    /// Its file, if that is in the managed directory.
    managed: Option<PathBuf>,
    /// The origin of the key, for messages.
    origin: String,
}

impl Entry {
    /// Creates the entry of a key that no client changes.
    pub(super) fn new(key: Key, origin: String) -> Self {
        Self {
            key,
            is_disabled: false,
            managed: None,
            origin,
        }
    }

    /// Disables the key by the name of a file that does not hold it. No client enables it as long as that file is there.
    fn disable_by(&mut self, file: &Path) {
        self.is_disabled = true;
        self.managed = self.managed.take().map(|_| file.to_owned());
    }

    /// Whether clients may change it, if they have the right.
    pub(super) fn is_managed(&self) -> bool {
        self.managed.is_some()
    }

    /// Returns the number of its newest version; 0 for a key without.
    pub(super) fn version(&self) -> u32 {
        self.key.version().max(u32::from(self.is_managed()))
    }
}

/// Keys that have been read but are not in use yet.
pub(super) struct FreshKeys {
    state: State,
    keys: Keys,
}

/// A file as it was last read.
#[derive(Clone, Debug)]
struct Seen {
    /// The version that was read; `None` if the file may change without a trace.
    stamp: Option<Stamp>,
    key: Option<Key>,
    /// Whether it should hold a key but none can be read from it.
    is_wrong: bool,
}

impl KeyStore {
    /// Reads all keys. `tokens` returns the keys of devices. An unreadable file in a directory is skipped.
    ///
    /// # Errors
    /// The first unreadable key that is listed by itself, two such keys with one ID, or an unreadable directory.
    pub fn load(keys: &[KeyConfig], tokens: &Tokens<'_>) -> Result<Self, KeyError> {
        let (state, keys) = State::read(keys, tokens, HashMap::new(), &Keys::default())?;
        Ok(Self {
            current: RwLock::new(Arc::new(keys)),
            state: Mutex::new(state),
            changed: Arc::new(Notify::new()),
        })
    }

    /// Reads all keys again, from the same or another configuration, and replaces the current ones. If a file in a directory
    /// is unreadable, the key read from it before stays. Blocks while it reads files and asks tokens.
    ///
    /// # Errors
    /// The same as for [`load`](Self::load); all keys then stay as they were.
    pub fn reload(&self, keys: &[KeyConfig], tokens: &Tokens<'_>) -> Result<(), KeyError> {
        let fresh = self.read_again(keys, tokens)?;
        self.take_over(fresh);
        Ok(())
    }

    /// The first half of [`reload`](Self::reload): reads all keys, and changes nothing. Other calls may read the directories
    /// at the same time, because a token may take long to answer.
    ///
    /// # Errors
    /// The same as for [`load`](Self::load).
    pub(super) fn read_again(
        &self,
        keys: &[KeyConfig],
        tokens: &Tokens<'_>,
    ) -> Result<FreshKeys, KeyError> {
        let seen = self.state().seen.clone();
        let (state, keys) = State::read(keys, tokens, seen, &self.current())?;
        Ok(FreshKeys { state, keys })
    }

    /// The second half of [`reload`](Self::reload): puts the keys into use.
    pub(super) fn take_over(&self, fresh: FreshKeys) {
        let mut state = self.state();
        *state = fresh.state;
        // A client may have changed keys since they were read.
        let keys = state.refresh(&fresh.keys, false);
        self.replace(keys);
        drop(state);
        self.changed.notify_one();
    }

    /// Returns the current keys. Requests keep the snapshot they began with.
    pub fn current(&self) -> Arc<Keys> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&current)
    }

    /// Reads the changed files of the directories. Blocks while it reads them.
    pub fn refresh(&self) {
        let mut state = self.state();
        let keys = state.refresh(&self.current(), false);
        self.replace(keys);
    }

    /// Follows changes in the directories until the returned value is dropped. If the system cannot report them, the
    /// directories are read every 30 seconds.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn watch(self: &Arc<Self>) -> KeyWatch {
        let changed = Arc::clone(&self.changed);
        let mut watcher = watcher(&changed);
        let store = Arc::downgrade(self);
        changed.notify_one();
        KeyWatch(tokio::spawn(async move {
            loop {
                // A timeout is handled like a change.
                let _ = tokio::time::timeout(POLL, changed.notified()).await;
                // Changes arrive in groups.
                tokio::time::sleep(SETTLE).await;
                let store = Weak::clone(&store);
                let round = tokio::task::spawn_blocking(move || {
                    let store = store.upgrade()?;
                    // Listen before the directories are read, so that no change is missed.
                    store.listen(watcher.as_mut());
                    store.refresh();
                    Some(watcher)
                });
                watcher = match round.await {
                    Ok(Some(watcher)) => watcher,
                    Ok(None) => return,
                    Err(error) => {
                        tracing::error!("keys are no longer watched: {error}");
                        return;
                    }
                };
            }
        }))
    }

    /// Watches every directory. Watched directories are registered again, because another directory may have replaced one.
    fn listen(&self, watcher: Option<&mut RecommendedWatcher>) {
        let Some(watcher) = watcher else { return };
        let directories: Vec<_> = self.state().directories.clone();
        for Directory { path, .. } in directories {
            if let Err(error) = watcher.watch(&path, RecursiveMode::NonRecursive) {
                tracing::warn!(
                    "{}: changes are seen only every {} s: {error}",
                    path.display(),
                    POLL.as_secs()
                );
            }
        }
    }

    fn replace(&self, keys: Keys) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        for (id, entry) in &keys.by_id {
            match current.by_id.get(id) {
                None => tracing::info!("key {id:?}: new, from {}", entry.origin),
                Some(before) if !before.key.is_same(&entry.key) => {
                    tracing::info!("key {id:?}: replaced, from {}", entry.origin);
                }
                Some(before) if before.is_disabled != entry.is_disabled => {
                    let now = if entry.is_disabled {
                        "disabled"
                    } else {
                        "enabled"
                    };
                    tracing::info!("key {id:?}: {now}, from {}", entry.origin);
                }
                Some(_) => {}
            }
        }
        for id in current
            .by_id
            .keys()
            .filter(|id| !keys.by_id.contains_key(*id))
        {
            tracing::info!("key {id:?}: gone");
        }
        *current = Arc::new(keys);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Follows the directories of a [`KeyStore`] until it is dropped.
#[derive(Debug)]
pub struct KeyWatch(JoinHandle<()>);

impl Drop for KeyWatch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The key that cannot be read, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyError(String);

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for KeyError {}

impl State {
    /// Reads everything. `seen` has the files of the directories as last read.
    fn read(
        configs: &[KeyConfig],
        tokens: &Tokens<'_>,
        seen: HashMap<PathBuf, Seen>,
        current: &Keys,
    ) -> Result<(Self, Keys), KeyError> {
        let mut state = Self {
            seen,
            ..Self::default()
        };
        for config in configs {
            match config {
                KeyConfig::File {
                    id,
                    path,
                    passphrase,
                } => {
                    let key = read_file(path, passphrase.as_ref())
                        .and_then(|(_, key)| key.ok_or_else(|| NO_KEY.to_owned()))
                        .map_err(|what| of_file(path, &what))?;
                    let origin = path.display().to_string();
                    add(&mut state.fixed, id, Entry::new(key, origin))?;
                }
                KeyConfig::Directory {
                    path,
                    passphrase,
                    is_managed,
                } => state.directories.push(Directory {
                    path: path.clone(),
                    passphrase: passphrase.clone(),
                    is_managed: *is_managed,
                }),
                KeyConfig::Token { device, key } => {
                    let held = tokens(device)
                        .map_err(|what| KeyError(format!("keys of device {device:?}: {what}")))?;
                    for (id, key) in chosen(device, key.as_ref(), held)? {
                        let key = Key::from(PrivateKey::from(key));
                        let origin = format!("device {device:?}");
                        add(&mut state.fixed, &id, Entry::new(key, origin))?;
                    }
                }
            }
        }
        for Directory {
            path, is_managed, ..
        } in &state.directories
        {
            fs::read_dir(path)
                .map_err(|error| of_file(path, &format!("cannot be read: {error}")))?;
            if *is_managed {
                change::check_folder(path).map_err(|what| of_file(path, &what))?;
            }
        }
        let keys = state.refresh(current, true);
        Ok((state, keys))
    }

    /// Reads the changed files of the directories, or all files if `is_all`, since a passphrase may have changed. Unreadable
    /// files keep their previous key.
    fn refresh(&mut self, current: &Keys, is_all: bool) -> Keys {
        let mut keys = Keys {
            by_id: self.fixed.clone(),
            skipped: 0,
        };
        let mut all = HashMap::new();
        // The files that disable a key by their names and do not hold it, by its ID.
        let mut keyless: HashMap<String, PathBuf> = HashMap::new();
        let origins: HashSet<&str> = current.by_id.values().map(|it| &it.origin[..]).collect();
        for Directory {
            path: directory,
            passphrase,
            is_managed,
        } in &self.directories
        {
            let (mut paths, nameless) = files(directory, *is_managed).unwrap_or_else(|what| {
                tracing::warn!("{}; keeping its keys", of_file(directory, &what));
                let paths = self.seen.keys().filter(|path| path.starts_with(directory));
                (paths.cloned().collect(), 0)
            });
            keys.skipped += nameless;
            // Of two files with one ID, that of a disabled key wins, then the one that is in use already.
            paths.sort_by_cached_key(|path| {
                let is_disabled = *is_managed && config::enabled(path).is_some();
                let is_known = origins.contains(&path.display().to_string()[..]);
                (!is_disabled, !is_known, path.clone())
            });
            for path in paths {
                let old = self.seen.get(&path);
                let is_same =
                    |old: &&Seen| old.stamp.is_some() && old.stamp == Stamp::of_path(&path);
                let seen = match old.filter(|_| !is_all).filter(is_same) {
                    Some(same) => same.clone(),
                    None => look(&path, passphrase.as_ref())
                        .unwrap_or_else(|(stamp, what)| kept(&path, stamp, &what, old)),
                };
                keys.skipped += usize::from(seen.is_wrong);
                match named(&path, &seen, *is_managed) {
                    Some((id, Some(mut entry))) => {
                        if let Some(file) = keyless.get(&id) {
                            entry.disable_by(file);
                        }
                        if let Err(error) = add(&mut keys.by_id, &id, entry) {
                            tracing::warn!("{error}; keeping the first one");
                            keys.skipped += 1;
                        }
                    }
                    Some((id, None)) if *is_managed && config::enabled(&path).is_some() => {
                        keyless.insert(id, path.clone());
                    }
                    Some((_, None)) | None => {}
                }
                all.insert(path, seen);
            }
        }
        self.seen = all;
        keys
    }
}

/// Returns the ID of a file in a directory, if it has one, with its key, if it has that too.
fn named(path: &Path, seen: &Seen, is_managed: bool) -> Option<(String, Option<Entry>)> {
    let enabled = config::enabled(path).filter(|_| is_managed);
    let id = config::id_of_file(enabled.as_deref().unwrap_or(path))?;
    let entry = seen.key.clone().map(|key| Entry {
        key,
        is_disabled: enabled.is_some(),
        managed: is_managed.then(|| path.to_owned()),
        origin: path.display().to_string(),
    });
    Some((id, entry))
}

fn look(path: &Path, passphrase: Option<&Secret>) -> Result<Seen, (Option<Stamp>, String)> {
    match read_file(path, passphrase) {
        Ok((stamp, key)) => Ok(Seen {
            stamp,
            key,
            is_wrong: false,
        }),
        Err(what) => Err((Stamp::of_path(path), what)),
    }
}

/// Records an unreadable file; the key read from it before stays in use.
fn kept(path: &Path, stamp: Option<Stamp>, what: &str, old: Option<&Seen>) -> Seen {
    let key = old.and_then(|old| old.key.clone());
    let end = match key {
        Some(_) => "keeping the key read from it before",
        None => "skipped",
    };
    tracing::warn!("{}; {end}", of_file(path, what));
    Seen {
        stamp,
        key,
        is_wrong: true,
    }
}

fn add(keys: &mut BTreeMap<String, Entry>, id: &str, entry: Entry) -> Result<(), KeyError> {
    if let Some(first) = keys.get(id) {
        return Err(KeyError(format!(
            "key {id:?} comes from {} and from {}: rename one of them",
            first.origin, entry.origin
        )));
    }
    keys.insert(id.to_owned(), entry);
    Ok(())
}

/// Returns the keys of a token that the configuration selects, with their IDs.
fn chosen(
    device: &str,
    key: Option<&config::TokenKey>,
    held: Vec<(String, RsaPrivateKey)>,
) -> Result<Vec<(String, RsaPrivateKey)>, KeyError> {
    let Some(wanted) = key else {
        let (named, nameless): (Vec<_>, Vec<_>) = held
            .into_iter()
            .partition(|(label, _)| config::is_id(label));
        for (label, _) in nameless {
            tracing::warn!(
                "device {device:?}: the key with label {label:?} is skipped: its label cannot be an id"
            );
        }
        return Ok(named);
    };
    let labels: Vec<_> = held.iter().map(|(label, _)| label.clone()).collect();
    let mut of_label = held
        .into_iter()
        .filter(|(label, _)| *label == wanted.label)
        .map(|(_, key)| (wanted.id.clone(), key));
    match (of_label.next(), of_label.next()) {
        (Some(key), None) => Ok(vec![key]),
        (Some(_), Some(_)) => Err(KeyError(format!(
            "device {device:?} has two keys with label {:?}: change one of the labels",
            wanted.label
        ))),
        (None, _) => Err(KeyError(format!(
            "device {device:?} has no key with label {:?}: it has {labels:?}",
            wanted.label
        ))),
    }
}

/// Creates a watcher that notifies `changed` of every event except reading.
fn watcher(changed: &Arc<Notify>) -> Option<RecommendedWatcher> {
    let changed = Arc::clone(changed);
    let handler = move |event: notify::Result<notify::Event>| {
        let is_reading = event.is_ok_and(|event| match event.kind {
            EventKind::Access(AccessKind::Close(AccessMode::Write)) => false,
            EventKind::Access(_) => true,
            _ => false,
        });
        if !is_reading {
            changed.notify_one();
        }
    };
    notify::recommended_watcher(handler)
        .inspect_err(|error| {
            let seconds = POLL.as_secs();
            tracing::warn!("changes of keys are seen only every {seconds} s: {error}");
        })
        .ok()
}

fn of_file(path: &Path, what: &str) -> KeyError {
    KeyError(format!("{}: {what}", path.display()))
}

const POLL: Duration = Duration::from_secs(30);
const SETTLE: Duration = Duration::from_millis(200);
