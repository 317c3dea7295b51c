//! The server's keys: read from files, directories and tokens, and replaced while it runs.
//!
//! Readers use an immutable snapshot, and a change creates a new one. A directory is read again whenever something happens
//! in it, and every 30 seconds for changes that the system does not report (another machine's writes, a replaced directory).
//! An unreadable file in a directory is named in the log, skipped and counted, at the start and later. The key read from it
//! before stays in use, so an unfinished or failed rotation removes nothing.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::fs::{self, File, Metadata};
use std::io::Read;
use std::ops::Bound;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::{Duration, SystemTime};

use notify::event::{AccessKind, AccessMode};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use oarlock::device::PublicKeyRequest;
use oarlock::device::{SoftwareDevice, complete};
use oarlock::keys::{PrivateKey, Scheme};
use oarlock::rsa::{Hash, RsaPrivateKey, SignatureScheme};
use pkcs8::{EncryptedPrivateKeyInfoRef, SecretDocument};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use zeroize::Zeroizing;

use super::config::{self, KeyConfig, Secret};
use super::key::Key;

/// A snapshot of the keys.
#[derive(Debug, Default)]
pub struct Keys {
    by_id: BTreeMap<String, Entry>,
    skipped: usize,
}

impl Keys {
    /// Returns the key with this ID.
    pub fn get(&self, id: &str) -> Option<&Key> {
        self.by_id.get(id).map(|entry| &entry.key)
    }

    /// Returns all keys, ordered by ID.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Key)> {
        self.by_id.iter().map(|(id, entry)| (&id[..], &entry.key))
    }

    /// Returns the keys whose IDs follow this one, ordered by ID.
    pub fn after(&self, id: &str) -> impl Iterator<Item = (&str, &Key)> {
        let after = (Bound::Excluded(id), Bound::Unbounded);
        let entries = self.by_id.range::<str, _>(after);
        entries.map(|(id, entry)| (&id[..], &entry.key))
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
    directories: Vec<(PathBuf, Option<Secret>)>,
    /// The keys from files and tokens.
    fixed: BTreeMap<String, Entry>,
    /// The files in the directories, as last read.
    seen: HashMap<PathBuf, Seen>,
}

#[derive(Clone, Debug)]
struct Entry {
    key: Key,
    /// The origin of the key, for messages.
    origin: String,
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
        self.replace(fresh.keys);
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
        for (path, _) in directories {
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
                    add(&mut state.fixed, id, Entry { key, origin })?;
                }
                KeyConfig::Directory { path, passphrase } => {
                    state.directories.push((path.clone(), passphrase.clone()));
                }
                KeyConfig::Token { device, key } => {
                    let held = tokens(device)
                        .map_err(|what| KeyError(format!("keys of device {device:?}: {what}")))?;
                    for (id, key) in chosen(device, key.as_ref(), held)? {
                        let key = Key::Private(key.into());
                        let origin = format!("device {device:?}");
                        add(&mut state.fixed, &id, Entry { key, origin })?;
                    }
                }
            }
        }
        for (directory, _) in &state.directories {
            fs::read_dir(directory)
                .map_err(|error| of_file(directory, &format!("cannot be read: {error}")))?;
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
        for (directory, passphrase) in &self.directories {
            let (mut paths, nameless) = files(directory).unwrap_or_else(|what| {
                tracing::warn!("{}; keeping its keys", of_file(directory, &what));
                let paths = self.seen.keys().filter(|path| path.starts_with(directory));
                (paths.cloned().collect(), 0)
            });
            keys.skipped += nameless;
            // Of two files with one ID, the one that is in use already wins.
            paths.sort_by_cached_key(|path| {
                let origin = path.display().to_string();
                let is_known = current.by_id.values().any(|entry| entry.origin == origin);
                (!is_known, path.clone())
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
                if let Some((id, entry)) = named(&path, &seen)
                    && let Err(error) = add(&mut keys.by_id, &id, entry)
                {
                    tracing::warn!("{error}; keeping the first one");
                    keys.skipped += 1;
                }
                all.insert(path, seen);
            }
        }
        self.seen = all;
        keys
    }
}

/// Returns the ID of a file in a directory with its key, if it has both.
fn named(path: &Path, seen: &Seen) -> Option<(String, Entry)> {
    let id = config::id_of_file(path)?;
    let key = seen.key.clone()?;
    let origin = path.display().to_string();
    Some((id, Entry { key, origin }))
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

/// Returns all regular `*.pem`, `*.key` and `*.jwk` files that are not hidden, and the number of those whose names cannot be IDs.
fn files(directory: &Path) -> Result<(Vec<PathBuf>, usize), String> {
    let cannot = |error| format!("cannot be read: {error}");
    let (mut paths, mut nameless) = (Vec::new(), 0);
    for entry in fs::read_dir(directory).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        let is_hidden = path
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        let is_of_a_key = path
            .extension()
            .is_some_and(|it| it == "pem" || it == "key" || it == "jwk");
        if !is_of_a_key || is_hidden || !path.is_file() {
            continue;
        }
        if config::id_of_file(&path).is_none() {
            tracing::warn!("{}: skipped: its name cannot be an id", path.display());
            nameless += 1;
            continue;
        }
        paths.push(path);
    }
    Ok((paths, nameless))
}

/// Reads the private key in a file; `None` if the file has only other PEM, such as certificates.
fn read_file(
    path: &Path,
    passphrase: Option<&Secret>,
) -> Result<(Option<Stamp>, Option<Key>), String> {
    let cannot = |error| format!("cannot be read: {error}");
    // Opening a pipe could block.
    if !fs::metadata(path).map_err(cannot)?.is_file() {
        return Err("not a regular file".to_owned());
    }
    let file = File::open(path).map_err(cannot)?;
    let metadata = file.metadata().map_err(cannot)?;
    // The buffer holds the whole file, so that growing it leaves no copy of the key behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(FILE_BYTES_MAX + 1));
    file.take(FILE_BYTES_MAX as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(cannot)?;
    if bytes.len() > FILE_BYTES_MAX {
        return Err(format!("more than {FILE_BYTES_MAX} bytes: not a key"));
    }
    let text = str::from_utf8(&bytes).map_err(|_| NO_KEY.to_owned())?;
    let key = match private_block(text)? {
        Some(block) => {
            let key = parse(block, passphrase)?;
            prove(&key)?;
            Key::Private(key)
        }
        None if text.contains(BEGIN) => return Ok((Stamp::settled(&metadata), None)),
        None => Key::of_text(text)?.ok_or_else(|| NO_KEY.to_owned())?,
    };
    if metadata.mode() & OTHERS != 0 {
        tracing::warn!(
            "{}: others may read or write this key: chmod o-rwx",
            path.display()
        );
    }
    Ok((Stamp::settled(&metadata), Some(key)))
}

/// Signs with the key, which shows that its primes are prime, or that its halves belong together. A key that failed every
/// request would look like one failing device after another.
fn prove(key: &PrivateKey) -> Result<(), String> {
    let Some(scheme) = Scheme::usual(key.key_type()) else {
        return Err(format!(
            "a key of {}, which signs nothing: this server takes those of RSA, P-256, P-384, P-521, Ed25519 and ML-DSA",
            key.key_type()
        ));
    };
    let Some(key) = key.as_rsa() else {
        let signature = key.sign(&scheme, PROOF);
        let proven = signature.and_then(|made| key.public_key().verify(&scheme, PROOF, &made));
        return proven.map_err(|error| format!("the key does not sign: {error}"));
    };
    let scheme = SignatureScheme::Pss(Hash::Sha256);
    let request = PublicKeyRequest::sign(key, scheme, PROOF);
    let request = request.map_err(|error| error.to_string())?;
    let mut proven = Ok(());
    complete(&SoftwareDevice::new(), &[&request], &mut |_, result| {
        proven = result.map(drop)
    });
    proven.map_err(|error| format!("the key does not sign: {error}"))
}

/// Returns the PEM block of the only private key in a text, which may contain certificates too.
fn private_block(text: &str) -> Result<Option<&str>, String> {
    let mut found = None;
    for (start, _) in text.match_indices(BEGIN) {
        let rest = &text[start..];
        let Some((label, _)) = rest[BEGIN.len()..].split_once(DASHES) else {
            return Err("broken PEM: the first line has no end".to_owned());
        };
        if !label.ends_with("PRIVATE KEY") {
            continue;
        }
        let end = format!("-----END {label}-----");
        let Some(at) = rest.find(&end) else {
            return Err(format!("broken PEM: {label} without its last line"));
        };
        if found.replace(&rest[..at + end.len()]).is_some() {
            return Err("more than one private key: give each its own file".to_owned());
        }
    }
    Ok(found)
}

fn parse(pem: &str, passphrase: Option<&Secret>) -> Result<PrivateKey, String> {
    let is_encrypted = pem
        .strip_prefix(BEGIN)
        .is_some_and(|rest| rest.starts_with("ENCRYPTED PRIVATE KEY"));
    if !is_encrypted {
        return PrivateKey::from_bytes(pem.as_bytes()).map_err(|error| error.to_string());
    }
    let Some(passphrase) = passphrase else {
        return Err(
            "encrypted: give its [[key]] passphrase_file or passphrase_env, or decrypt it with openssl pkey"
                .to_owned(),
        );
    };
    let passphrase = passphrase.read()?;
    let broken = |error: &dyn fmt::Display| format!("broken PKCS#8: {error}");
    let (_, document) = SecretDocument::from_pem(pem).map_err(|error| broken(&error))?;
    let info = EncryptedPrivateKeyInfoRef::try_from(document.as_bytes())
        .map_err(|error| broken(&error))?;
    let decrypted = info.decrypt(passphrase.as_bytes()).map_err(|error| {
        format!(
            "cannot be decrypted: a wrong passphrase, or not PBES2 with AES and PBKDF2 or scrypt ({error})"
        )
    })?;
    PrivateKey::from_bytes(decrypted.as_bytes()).map_err(|error| error.to_string())
}

/// The metadata that identifies a version of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of_path(path: &Path) -> Option<Self> {
        Self::settled(&fs::metadata(path).ok()?)
    }

    /// Returns the stamp of a file that has not changed for a while. `None` for a younger one: file times advance in ticks
    /// of some milliseconds, so another change could leave the same time.
    fn settled(metadata: &Metadata) -> Option<Self> {
        let written = metadata.modified().ok()?;
        let age = SystemTime::now().duration_since(written).ok()?;
        (age > YOUNG).then(|| Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
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

const PROOF: &[u8] = b"oarlock: proof of a key";
const BEGIN: &str = "-----BEGIN ";
const DASHES: &str = "-----";
const NO_KEY: &str = "neither a private key in PEM, to which openssl pkey converts others, nor an identity of age or a JSON Web Key";
const FILE_BYTES_MAX: usize = 1 << 18;
/// The mode bits that let users other than the owner and the group read or write.
const OTHERS: u32 = 0o006;
const POLL: Duration = Duration::from_secs(30);
const SETTLE: Duration = Duration::from_millis(200);
const YOUNG: Duration = Duration::from_secs(1);
