//! A token: a directory or a relay, and the objects that were last read from it.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, TryLockError};
use std::time::{Duration, Instant};

use cryptoki_sys::*;
use oarlock::Accelerator;
use oarlock_engine::hash::is_same;
use oarlock_local::relay::{LastingClient, ListedKey};
use zeroize::Zeroizing;

use crate::attributes::{self, Certificate};
use crate::config::TokenConfig;
use crate::files::{self, Files, Seen};
use crate::key::Key;
use crate::objects::{Attributes, HANDLE_BITS, Object, Objects, Sight};
use crate::report::tell;

/// A token, which is always in its slot.
pub(crate) struct Token {
    pub(crate) slot: CK_SLOT_ID,
    pub(crate) label: String,
    source: Source,
    accelerator: Accelerator,
    pin: Option<Zeroizing<String>>,
    /// How often the user was logged in or out: odd while the user is logged in. Changed under the lock of `sessions`, since
    /// the last session that closes logs the user out.
    logins: AtomicU64,
    sessions: Mutex<SessionCounts>,
    objects: RwLock<Arc<Objects>>,
    read: Mutex<Read>,
    /// Whether the objects were read at least once.
    was_read: AtomicBool,
    /// Whether a relay refused a question: the list of its keys may have changed.
    is_stale: Arc<AtomicBool>,
}

/// The number of open sessions.
#[derive(Clone, Copy, Default)]
pub(crate) struct SessionCounts {
    pub(crate) all: usize,
    /// Those that may write.
    pub(crate) writing: usize,
}

enum Source {
    Directory(PathBuf),
    Relay {
        relay: Arc<LastingClient>,
        certificates: Option<PathBuf>,
    },
}

/// What is known of earlier reading.
#[derive(Default)]
struct Read {
    last: Option<Instant>,
    /// The files of the directory, or those of a relay's certificates.
    seen: Seen,
    /// The keys that a relay listed.
    listed: Vec<ListedKey>,
    /// The handles that objects have had: the same objects have the same ones when they are read again.
    handles: HashMap<Vec<u8>, CK_OBJECT_HANDLE>,
}

impl Token {
    pub(crate) fn new(slot: CK_SLOT_ID, config: TokenConfig, accelerator: Accelerator) -> Self {
        Self {
            slot,
            source: match (config.relay, config.keys) {
                (Some(path), _) => Source::Relay {
                    relay: Arc::new(LastingClient::new(path)),
                    certificates: config.certificates,
                },
                (None, keys) => Source::Directory(keys.unwrap_or_default()),
            },
            label: config.label,
            accelerator,
            pin: config.pin,
            logins: AtomicU64::new(0),
            sessions: Mutex::default(),
            objects: RwLock::default(),
            read: Mutex::default(),
            was_read: AtomicBool::new(false),
            is_stale: Arc::default(),
        }
    }

    pub(crate) fn has_pin(&self) -> bool {
        self.pin.is_some()
    }

    pub(crate) fn is_logged_in(&self) -> bool {
        is_in(self.logins.load(Ordering::Acquire))
    }

    /// Returns what programs see: private keys only while the user is logged in, if there is a PIN.
    pub(crate) fn sight(&self) -> Sight {
        let logins = self.logins.load(Ordering::Acquire);
        Sight {
            is_private: !self.has_pin() || is_in(logins),
            logouts: logins / 2,
        }
    }

    /// Logs the user in. Without a PIN in the configuration, any will do.
    pub(crate) fn log_in(&self, pin: &[u8]) -> Result<(), CK_RV> {
        let _sessions = self.counts();
        if self.is_logged_in() {
            return Err(CKR_USER_ALREADY_LOGGED_IN);
        }
        let is_right = match &self.pin {
            Some(expected) => is_same(expected.as_bytes(), pin),
            None => true,
        };
        if !is_right {
            return Err(CKR_PIN_INCORRECT);
        }
        self.step();
        Ok(())
    }

    /// Logs the user out. The handles of private objects end with the login (PKCS#11 3.0, 5.6.9).
    pub(crate) fn log_out(&self) -> Result<(), CK_RV> {
        let _sessions = self.counts();
        match self.is_logged_in() {
            true => self.step(),
            false => return Err(CKR_USER_NOT_LOGGED_IN),
        }
        Ok(())
    }

    /// Counts a login or logout. The caller holds the lock of the sessions.
    fn step(&self) {
        self.logins.fetch_add(1, Ordering::AcqRel);
    }

    /// Returns the number of open sessions.
    pub(crate) fn sessions(&self) -> SessionCounts {
        *self.counts()
    }

    /// Counts a session that is opened.
    pub(crate) fn opened(&self, is_writing: bool) {
        let mut counts = self.counts();
        counts.all += 1;
        counts.writing += usize::from(is_writing);
    }

    /// Counts a session that was closed. With the last one the token forgets that the user logged in.
    pub(crate) fn closed(&self, is_writing: bool) {
        let mut counts = self.counts();
        counts.all = counts.all.saturating_sub(1);
        counts.writing = counts.writing.saturating_sub(usize::from(is_writing));
        if counts.all == 0 && self.is_logged_in() {
            self.step();
        }
    }

    fn counts(&self) -> MutexGuard<'_, SessionCounts> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn objects(&self) -> Arc<Objects> {
        Arc::clone(&self.objects.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the objects as a search or an operation finds them: read again if a relay refused a question since.
    pub(crate) fn latest(&self) -> Arc<Objects> {
        if self.is_stale.load(Ordering::Acquire) {
            // What was read before stays if this fails.
            let _ = self.refresh();
        }
        self.objects()
    }

    /// Closes what is open to other processes.
    pub(crate) fn close(&self) {
        if let Source::Relay { relay, .. } = &self.source {
            relay.close();
        }
    }

    /// Reads the objects, unless that was done just now. If it fails, those that were read before stay.
    pub(crate) fn refresh(&self) -> Result<(), CK_RV> {
        let mut read = match self.read.try_lock() {
            Ok(read) => read,
            // Another thread reads them: what was read before will do.
            Err(TryLockError::WouldBlock) if self.was_read.load(Ordering::Acquire) => return Ok(()),
            Err(_) => self.read.lock().unwrap_or_else(PoisonError::into_inner),
        };
        if read.last.is_some_and(|last| last.elapsed() < READS_APART) {
            return Ok(());
        }
        // A refusal from here on counts for the next time.
        self.is_stale.store(false, Ordering::Release);
        let objects = match &self.source {
            Source::Directory(directory) => {
                let Some(seen) = self.looked(directory) else {
                    return self.kept(&read);
                };
                let is_same = read.last.is_some() && files::are_same(&seen, &read.seen);
                (!is_same).then(|| {
                    let files = files::read(&seen);
                    read.seen = seen;
                    self.of_files(files, &mut read.handles)
                })
            }
            Source::Relay {
                relay,
                certificates,
            } => {
                let listed = match relay.keys() {
                    Ok(listed) => listed,
                    Err(error) => {
                        let path = relay.path().display();
                        tell(&format!("token {:?}: {path}: {error}", self.label));
                        return self.kept(&read);
                    }
                };
                let seen = certificates.as_deref().and_then(|path| self.looked(path));
                let seen = seen.unwrap_or_default();
                let is_same = read.last.is_some()
                    && listed == read.listed
                    && files::are_same(&seen, &read.seen);
                (!is_same).then(|| {
                    let files = files::read(&seen);
                    (read.seen, read.listed) = (seen, listed);
                    let read = &mut *read;
                    self.of_relay(relay, &read.listed, files, &mut read.handles)
                })
            }
        };
        read.last = Some(Instant::now());
        if let Some(objects) = objects {
            let mut place = self.objects.write().unwrap_or_else(PoisonError::into_inner);
            *place = Arc::new(Objects::new(objects));
        }
        self.was_read.store(true, Ordering::Release);
        Ok(())
    }

    /// Returns the files of a directory, unless it cannot be read.
    fn looked(&self, directory: &Path) -> Option<Seen> {
        let failed = |error: &std::io::Error| {
            let path = directory.display();
            tell(&format!("token {:?}: {path}: {error}", self.label));
        };
        files::look(directory).inspect_err(failed).ok()
    }

    fn kept(&self, read: &Read) -> Result<(), CK_RV> {
        match read.last {
            Some(_) => Ok(()),
            None => Err(CKR_DEVICE_ERROR),
        }
    }

    fn of_files(
        &self,
        files: Files,
        handles: &mut HashMap<Vec<u8>, CK_OBJECT_HANDLE>,
    ) -> Vec<Object> {
        let mut keys = Vec::new();
        for (name, key) in &files.keys {
            match Key::here(&self.accelerator, key) {
                Ok(key) => keys.push((name.clone(), key)),
                Err(error) => tell(&format!("token {:?}: {name}: {error}", self.label)),
            }
        }
        self.made(keys, files.certificates, handles)
    }

    fn of_relay(
        &self,
        relay: &Arc<LastingClient>,
        listed: &[ListedKey],
        files: Files,
        handles: &mut HashMap<Vec<u8>, CK_OBJECT_HANDLE>,
    ) -> Vec<Object> {
        let mut keys = Vec::new();
        for listed in listed {
            let name = listed.key_id.clone();
            match Key::behind(&self.accelerator, relay, &self.is_stale, listed) {
                Ok(key) if key.signs() || key.decrypts() => keys.push((name, key)),
                Ok(_) => {}
                Err(error) => tell(&format!("token {:?}: key {name:?}: {error}", self.label)),
            }
        }
        self.made(keys, files.certificates, handles)
    }

    /// Makes the objects of keys and certificates. A certificate belongs to the key that it names, wherever it lies.
    fn made(
        &self,
        keys: Vec<(String, Key)>,
        certificates: Vec<(String, Certificate)>,
        handles: &mut HashMap<Vec<u8>, CK_OBJECT_HANDLE>,
    ) -> Vec<Object> {
        let mut objects = Vec::new();
        let mut add = |class, label: &str, bytes: &[u8], mut of: Attributes, key| {
            let next = handles.len() as CK_OBJECT_HANDLE + 1;
            let identity = attributes::identity(class, label, bytes);
            of.bytes(CKA_UNIQUE_ID, attributes::hex(&identity)).sort();
            let handle = *handles
                .entry(identity)
                .or_insert((self.slot + 1) << HANDLE_BITS | next);
            objects.push(Object {
                handle,
                class,
                attributes: of,
                key,
            });
        };
        let mut seen = HashSet::new();
        for (name, key) in keys {
            let info = key.public().to_spki_der().unwrap_or_default();
            // site.key and site.pem may have the same key.
            if !seen.insert((name.clone(), info.clone())) {
                continue;
            }
            let certificate = certificates.iter().find(|(_, one)| one.public_key == info);
            let certificate = certificate.map(|(_, certificate)| certificate);
            let private = attributes::private_key(&key, &name, certificate, self.has_pin());
            let public = attributes::public_key(&key, &name, certificate);
            let key = Arc::new(key);
            add(
                CKO_PRIVATE_KEY,
                &name,
                &info,
                private,
                Some(Arc::clone(&key)),
            );
            add(CKO_PUBLIC_KEY, &name, &info, public, Some(key));
        }
        let mut known = Vec::new();
        for (name, certificate) in &certificates {
            if !known.contains(&&certificate.whole) {
                known.push(&certificate.whole);
                let attributes = attributes::certificate(certificate, name);
                add(CKO_CERTIFICATE, name, &certificate.whole, attributes, None);
            }
        }
        objects
    }
}

/// Whether the user is logged in after so many logins and logouts.
fn is_in(logins: u64) -> bool {
    logins % 2 == 1
}

const READS_APART: Duration = Duration::from_secs(1);
