//! A token: a directory or a relay, and the objects that were last read from it.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, TryLockError};
use std::time::{Duration, Instant};

use cryptoki_sys::*;
use oarlock::Accelerator;
use oarlock_engine::hash::is_same;
use oarlock_local::relay::{LastingClient, NoAnswer};
use zeroize::Zeroizing;

use crate::attributes::{self, Certificate};
use crate::config::TokenConfig;
use crate::files::{self, Files, Seen};
use crate::key::Key;
use crate::objects::{HANDLE_BITS, Object, Objects, Sight};
use crate::report::tell;

/// A token, which is always in its slot.
pub(crate) struct Token {
    pub(crate) slot: CK_SLOT_ID,
    pub(crate) label: String,
    source: Source,
    pin: Option<Zeroizing<String>>,
    /// How often the user was logged in or out: odd while the user is logged in.
    logins: AtomicU64,
    /// Sessions open, and those of them that may write.
    pub(crate) sessions: AtomicUsize,
    pub(crate) writing_sessions: AtomicUsize,
    objects: RwLock<Arc<Objects>>,
    read: Mutex<Read>,
    /// Whether the objects were read at least once.
    was_read: AtomicBool,
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
    seen: Seen,
    /// The handles that objects have had: the same objects have the same ones when they are read again.
    handles: HashMap<Vec<u8>, CK_OBJECT_HANDLE>,
}

impl Token {
    pub(crate) fn new(slot: CK_SLOT_ID, config: TokenConfig) -> Self {
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
            pin: config.pin,
            logins: AtomicU64::new(0),
            sessions: AtomicUsize::new(0),
            writing_sessions: AtomicUsize::new(0),
            objects: RwLock::default(),
            read: Mutex::default(),
            was_read: AtomicBool::new(false),
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
        let logins = self.logins.load(Ordering::Acquire);
        if is_in(logins) {
            return Err(CKR_USER_ALREADY_LOGGED_IN);
        }
        let is_right = match &self.pin {
            Some(expected) => is_same(expected.as_bytes(), pin),
            None => true,
        };
        if !is_right {
            return Err(CKR_PIN_INCORRECT);
        }
        let stepped = self.step(logins).map(drop);
        stepped.map_err(|_| CKR_USER_ALREADY_LOGGED_IN)
    }

    /// Logs the user out. The handles of private objects end with the login (PKCS#11 3.0, 5.6.9).
    pub(crate) fn log_out(&self) -> Result<(), CK_RV> {
        let logins = self.logins.load(Ordering::Acquire);
        match is_in(logins) {
            true => self
                .step(logins)
                .map(drop)
                .map_err(|_| CKR_USER_NOT_LOGGED_IN),
            false => Err(CKR_USER_NOT_LOGGED_IN),
        }
    }

    /// Counts a login or logout, unless another thread was faster.
    fn step(&self, logins: u64) -> Result<u64, u64> {
        let (next, order) = (logins + 1, Ordering::AcqRel);
        self.logins
            .compare_exchange(logins, next, order, Ordering::Acquire)
    }

    pub(crate) fn objects(&self) -> Arc<Objects> {
        Arc::clone(&self.objects.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Closes what is open to other processes.
    pub(crate) fn close(&self) {
        if let Source::Relay { relay, .. } = &self.source {
            relay.close();
        }
    }

    /// Reads the objects, unless that was done just now. If it fails, those that were read before stay.
    pub(crate) fn refresh(&self, accelerator: &Accelerator) -> Result<(), CK_RV> {
        let mut read = match self.read.try_lock() {
            Ok(read) => read,
            // Another thread reads them: what was read before will do.
            Err(TryLockError::WouldBlock) if self.was_read.load(Ordering::Acquire) => return Ok(()),
            Err(_) => self.read.lock().unwrap_or_else(PoisonError::into_inner),
        };
        if read.last.is_some_and(|last| last.elapsed() < READS_APART) {
            return Ok(());
        }
        let objects = match &self.source {
            Source::Directory(directory) => match files::look(directory) {
                Ok(seen) if read.last.is_some() && seen == read.seen => None,
                Ok(seen) => {
                    let files = files::read(&seen);
                    read.seen = seen;
                    Some(self.of_files(files, accelerator, &mut read.handles))
                }
                Err(error) => {
                    tell(&format!(
                        "token {:?}: {}: {error}",
                        self.label,
                        directory.display()
                    ));
                    return self.kept(&read);
                }
            },
            Source::Relay {
                relay,
                certificates,
            } => {
                match self.of_relay(relay, certificates.as_ref(), accelerator, &mut read.handles) {
                    Ok(objects) => Some(objects),
                    Err(error) => {
                        tell(&format!(
                            "token {:?}: {}: {error}",
                            self.label,
                            relay.path().display()
                        ));
                        return self.kept(&read);
                    }
                }
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

    fn kept(&self, read: &Read) -> Result<(), CK_RV> {
        match read.last {
            Some(_) => Ok(()),
            None => Err(CKR_DEVICE_ERROR),
        }
    }

    fn of_files(
        &self,
        files: Files,
        accelerator: &Accelerator,
        handles: &mut HashMap<Vec<u8>, CK_OBJECT_HANDLE>,
    ) -> Vec<Object> {
        let mut keys = Vec::new();
        for (name, key) in &files.keys {
            match Key::here(accelerator, key) {
                Ok(key) => keys.push((name.clone(), key)),
                Err(error) => tell(&format!("token {:?}: {name}: {error}", self.label)),
            }
        }
        self.made(keys, files.certificates, handles)
    }

    fn of_relay(
        &self,
        relay: &Arc<LastingClient>,
        certificates: Option<&PathBuf>,
        accelerator: &Accelerator,
        handles: &mut HashMap<Vec<u8>, CK_OBJECT_HANDLE>,
    ) -> Result<Vec<Object>, NoAnswer> {
        let mut keys = Vec::new();
        for listed in relay.keys()? {
            let name = listed.key_id.clone();
            match Key::behind(accelerator, relay, listed) {
                Ok(key) if key.signs() || key.decrypts() => keys.push((name, key)),
                Ok(_) => {}
                Err(error) => tell(&format!("token {:?}: key {name:?}: {error}", self.label)),
            }
        }
        let files = match certificates.map(|directory| (directory, files::look(directory))) {
            None => Files::default(),
            Some((_, Ok(seen))) => files::read(&seen),
            Some((directory, Err(error))) => {
                tell(&format!(
                    "token {:?}: {}: {error}",
                    self.label,
                    directory.display()
                ));
                Files::default()
            }
        };
        Ok(self.made(keys, files.certificates, handles))
    }

    /// Makes the objects of keys and certificates. A certificate belongs to the key that it names, wherever it lies.
    fn made(
        &self,
        keys: Vec<(String, Key)>,
        certificates: Vec<(String, Certificate)>,
        handles: &mut HashMap<Vec<u8>, CK_OBJECT_HANDLE>,
    ) -> Vec<Object> {
        let mut objects = Vec::new();
        let mut add = |class, label: &str, bytes: &[u8], attributes, key| {
            let next = handles.len() as CK_OBJECT_HANDLE + 1;
            let identity = attributes::identity(class, label, bytes);
            let handle = *handles
                .entry(identity)
                .or_insert((self.slot + 1) << HANDLE_BITS | next);
            objects.push(Object {
                handle,
                class,
                attributes,
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
