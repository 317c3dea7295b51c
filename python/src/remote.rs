//! Keys of cryptoservers: the operations of private keys, computed there.
//!
//! The first call connects; a runtime with one thread keeps the connections. A forked child has no such thread: its first
//! call connects again, and what belongs to the parent's connections stays where it is, since nobody can unlock it.

mod identity;
mod key;
mod manage;
mod secret;

pub use self::identity::RemoteIdentity;
pub use self::key::{Content, RemoteKey};
pub use self::manage::{Change, KeyEntry};
pub use self::secret::{Call, Done, MESSAGE_BYTES_MAX, OVERHEAD_BYTES, RemoteSecretKey, too_long};

use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use oarlock::Error;
use oarlock::job::Job;
use oarlock_net::client::{Client, ClientError, RemoteDevice, Settings};
use oarlock_net::proto;
use oarlock_net::tls::TlsFiles;
use oarlock_threads::process;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use zeroize::Zeroizing;

use crate::aead::no_pickle;
use crate::failure::{
    AuthenticationFailed, InvalidSignature, ServerError, cannot_open, exception, server_error,
};
use crate::key::PublicKey;
use crate::numbers::word;
use crate::signals::{go_on, interruptible};

/// Requests of one object that are under way; as many as jobs may wait.
const REQUESTS_MAX: usize = 1024;
/// How long a call waits between two looks at Python's signals.
const SIGNALS: Duration = Duration::from_millis(50);

/// The keys of a cryptoserver (`oarlock serve`), or of several that have the same keys.
///
/// `servers` is "host:port", or a list of these. `ca`, `certificate` and `key` are paths of PEM files: the authority of the
/// servers, and what this client shows who it is. `server_name` is the name in the servers' certificates, if it is not the
/// host. `timeout` is the time of an operation in seconds, over all attempts. `plaintext` is for servers on this machine
/// without TLS.
///
/// The constructor connects, and raises ServerError if no server answers.
#[pyclass(frozen, module = "oarlock")]
pub struct Cryptoserver(Arc<Servers>);

/// The result of an operation on a server.
pub type Answer = Result<Zeroizing<Vec<u8>>, NoAnswer>;

/// Why there is no result.
#[derive(Debug)]
pub enum NoAnswer {
    Client(ClientError),
    /// A signature that the public half refuses, of this key.
    WrongSignature(String),
    /// A ciphertext that the server does not open.
    NotAuthentic(ClientError),
    /// A MAC that is not that of its message.
    WrongMac(ClientError),
    /// A reply without the item that was asked for.
    Lost,
    /// Too many requests are under way.
    TooMany,
}

impl NoAnswer {
    pub fn exception(&self) -> PyErr {
        match self {
            // The protocol has one code for wrong arguments and for ciphertexts that do not decrypt.
            Self::Client(error) if error.message == Error::DecryptionFailed.to_string() => {
                exception(&Error::DecryptionFailed)
            }
            Self::Client(error) if error.code as i32 == INVALID_ARGUMENT => {
                PyValueError::new_err(error.message.clone())
            }
            Self::Client(error) => server_error(error, error.message.clone()),
            Self::WrongSignature(id) => ServerError::new_err(format!(
                "the server returned a signature that the public half of key {id:?} refuses: has the key been replaced?"
            )),
            Self::NotAuthentic(error) => AuthenticationFailed::new_err(error.message.clone()),
            Self::WrongMac(error) => InvalidSignature::new_err(error.message.clone()),
            Self::Lost => ServerError::new_err("the server sent a reply without a result"),
            Self::TooMany => exception(&Error::QueueFull),
        }
    }
}

pub struct Servers {
    settings: Settings,
    /// The connections, and the fork generation of the process that they belong to. Locked in sections that no fork divides.
    connected: Mutex<Option<(usize, Arc<RemoteDevice>)>>,
    under_way: AtomicUsize,
}

/// A request that is under way, until dropped.
struct UnderWay(Arc<Servers>);

impl Servers {
    /// Returns the connections of this process, which may have to be opened first, in a call that is
    /// [`interruptible`].
    pub fn device(&self) -> Result<Arc<RemoteDevice>, NoAnswer> {
        let generation = process::fork_generation();
        let ours = |connected: &Option<(usize, Arc<RemoteDevice>)>| match connected {
            Some((of, device)) if *of == generation => Some(Arc::clone(device)),
            _ => None,
        };
        if let Some(device) = self.with(|connected| ours(connected)) {
            return Ok(device);
        }
        let device = RemoteDevice::connect_while("python", self.settings.clone(), go_on);
        let device = device.map_err(NoAnswer::Client)?;
        let (device, before) = self.with(|connected| match ours(connected) {
            // Another thread was faster.
            Some(other) => (other, None),
            None => (
                Arc::clone(&device),
                connected.replace((generation, Arc::clone(&device))),
            ),
        });
        // The parent's. Its locks may be held forever.
        std::mem::forget(before);
        Ok(device)
    }

    fn with<T>(&self, section: impl FnOnce(&mut Option<(usize, Arc<RemoteDevice>)>) -> T) -> T {
        process::undivided(|| {
            section(
                &mut self
                    .connected
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner),
            )
        })
    }

    /// Starts something on the connections.
    fn submit<T, F>(
        self: &Arc<Self>,
        work: impl FnOnce(Client) -> F,
    ) -> Result<Job<Result<T, NoAnswer>>, NoAnswer>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, NoAnswer>> + Send + 'static,
    {
        let device = self.device()?;
        let before = self.under_way.fetch_add(1, Ordering::Relaxed);
        let under_way = UnderWay(Arc::clone(self));
        if before >= REQUESTS_MAX {
            return Err(NoAnswer::TooMany);
        }
        let work = work(device.client().clone());
        Ok(device.submit(async move {
            let _under_way = under_way;
            work.await
        }))
    }

    /// Does something on the connections, and lets other Python threads run and signals interrupt it.
    fn wait<T, F>(
        self: &Arc<Self>,
        py: Python<'_>,
        work: impl FnOnce(Client) -> F + Send,
    ) -> PyResult<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, NoAnswer>> + Send + 'static,
    {
        let (sender, mut results) = mpsc::channel();
        let submitted = interruptible(py, || {
            let job = self.submit(work)?;
            job.on_completion(move |result| {
                // After an interrupt nobody receives it.
                let _ = sender.send(result);
            });
            Ok(())
        })?;
        submitted.map_err(|error: NoAnswer| error.exception())?;
        loop {
            let receiver = &mut results;
            match py.detach(move || receiver.recv_timeout(SIGNALS)) {
                Ok(Ok(result)) => return result.map_err(|error| error.exception()),
                Ok(Err(error)) => return Err(exception(&error)),
                Err(mpsc::RecvTimeoutError::Timeout) => py.check_signals()?,
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    return Err(exception(&Error::Cancelled));
                }
            }
        }
    }

    /// Returns the result of an operation.
    fn answered<'py>(
        self: &Arc<Self>,
        py: Python<'py>,
        work: impl FnOnce(Client) -> Request + Send,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let bytes: Zeroizing<Vec<u8>> = self.wait(py, work)?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn list(self: &Arc<Self>, py: Python<'_>) -> PyResult<Vec<proto::Key>> {
        self.wait(py, |client| async move {
            client.list_keys().await.map_err(NoAnswer::Client)
        })
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        let connected = self.connected.get_mut();
        let connected = connected.unwrap_or_else(PoisonError::into_inner).take();
        if connected
            .as_ref()
            .is_some_and(|(of, _)| *of != process::fork_generation())
        {
            // See `device`.
            std::mem::forget(connected);
        }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}

#[pymethods]
impl Cryptoserver {
    #[new]
    #[pyo3(signature = (servers, *, ca=None, certificate=None, key=None, server_name=None, timeout=10.0, plaintext=false))]
    #[allow(clippy::too_many_arguments)] // of Python, by name
    fn new(
        py: Python<'_>,
        servers: &Bound<'_, PyAny>,
        ca: Option<PathBuf>,
        certificate: Option<PathBuf>,
        key: Option<PathBuf>,
        server_name: Option<String>,
        timeout: f64,
        plaintext: bool,
    ) -> PyResult<Self> {
        process::watch_forks();
        let servers: Vec<String> = match servers.cast::<PyString>() {
            Ok(one) => vec![one.extract()?],
            Err(_) => servers.extract()?,
        };
        if servers.is_empty() {
            return Err(PyValueError::new_err(
                "servers is empty: give \"host:port\"",
            ));
        }
        let files = match (ca, certificate, key) {
            (Some(roots), Some(certificate), Some(key)) if !plaintext => {
                for path in [&roots, &certificate, &key] {
                    File::open(path).map_err(|error| cannot_open(path, &error))?;
                }
                Some(TlsFiles {
                    certificate,
                    key,
                    roots,
                    revoked: None,
                })
            }
            (None, None, None) if plaintext => None,
            _ => {
                return Err(PyValueError::new_err(
                    "give ca, certificate and key, or plaintext=True for a server on this machine that has no TLS",
                ));
            }
        };
        let timeout = duration(timeout)?;
        let tls = files.map(|files| files.client()).transpose();
        let defaults = Settings::new(
            servers,
            tls.map_err(|error| PyValueError::new_err(error.to_string()))?,
        );
        let servers = Servers {
            settings: Settings {
                server_name,
                timeout,
                connect_timeout: timeout.min(defaults.connect_timeout),
                ..defaults
            },
            connected: Mutex::default(),
            under_way: AtomicUsize::new(0),
        };
        interruptible(py, || servers.device())?.map_err(|error| error.exception())?;
        Ok(Self(Arc::new(servers)))
    }

    /// Return the keys that this client may use, as the first server to answer lists them.
    ///
    /// Raises ServerError if the client may not list keys.
    fn keys(&self, py: Python<'_>) -> PyResult<Vec<RemoteKey>> {
        let listed = self.0.list(py)?;
        let keys = listed.into_iter();
        keys.map(|key| RemoteKey::listed(&self.0, key, None))
            .collect()
    }

    /// Return the key with an ID. A client that may not list keys gives its public half.
    ///
    /// `version` is the number of an older version, which decrypts what was encrypted for it and signs no more.
    ///
    /// Raises ValueError if this client may use no such key, or the key has no such version.
    #[pyo3(signature = (id, public_key=None, *, version=None))]
    fn key(
        &self,
        py: Python<'_>,
        id: String,
        public_key: Option<&Bound<'_, PublicKey>>,
        version: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<RemoteKey> {
        let version = version.map(word).transpose()?;
        if let Some(public_key) = public_key {
            let public = public_key.get().session().clone();
            let servers = Arc::clone(&self.0);
            return Ok(RemoteKey::new(servers, id, public, version.unwrap_or(0)));
        }
        let mut listed = self.0.list(py)?;
        match listed.iter().position(|key| key.id == id) {
            Some(place) => RemoteKey::listed(&self.0, listed.swap_remove(place), version),
            None => {
                let ids: Vec<_> = listed.into_iter().map(|key| key.id).collect();
                Err(PyValueError::new_err(format!(
                    "this client may use no key {id:?} of the server with a public half: it may use {}; secret_key() and \
                     identity() return those without one",
                    if ids.is_empty() {
                        "none".to_owned()
                    } else {
                        ids.join(", ")
                    }
                )))
            }
        }
    }

    /// Return the entries of all keys that this client has a right to: also secret keys and age identities.
    ///
    /// Raises ServerError if the client may not list keys.
    fn list_keys(&self, py: Python<'_>) -> PyResult<Vec<KeyEntry>> {
        let listed = self.0.wait(py, manage::listing())?;
        listed.into_iter().map(KeyEntry::new).collect()
    }

    /// Have the server make a key, which never leaves it, and return its entry.
    ///
    /// `key_type` is one of RSA (with `bits`: 2048, 3072 or 4096), P-256, P-384, P-521, Ed25519, ML-DSA-44, ML-DSA-65,
    /// ML-DSA-87, A256GCM, HS256, HS384, HS512, age and age-pq. `timeout` is in seconds, by default two minutes. Of several
    /// servers one is asked: the first of those that are connected.
    ///
    ///     server = oarlock.Cryptoserver("rack:7443", ca="ca.pem", certificate="admin.pem", key="admin.key")
    ///     server.create_key("shop", "P-256")
    ///     signature = server.key("shop").sign(b"message")
    ///
    /// Raises ServerError, with `code` "ALREADY_EXISTS" if there is such a key. If the answer was lost, or Ctrl-C interrupted
    /// the call, the key may be there: list the keys.
    #[pyo3(signature = (id, key_type, bits=None, *, timeout=None))]
    fn create_key(
        &self,
        py: Python<'_>,
        id: String,
        key_type: &str,
        bits: Option<&Bound<'_, PyAny>>,
        timeout: Option<f64>,
    ) -> PyResult<KeyEntry> {
        self.change(py, id, Change::create(key_type, bits)?, timeout)
    }

    /// Have the server make a new version of a key, and return its entry. Older versions still decrypt, unwrap, open and
    /// verify.
    ///
    /// `version` is the newest one so far, for which the server is asked if it is absent; that needs the right to list keys.
    /// With it a call may be repeated: a key that has another version by then gets no further one.
    ///
    ///     server.rotate_key("cards", version=1).version            # 2
    ///
    /// Raises ServerError, with `code` "FAILED_PRECONDITION" if the newest version is another one.
    #[pyo3(signature = (id, version=None, *, timeout=None))]
    fn rotate_key(
        &self,
        py: Python<'_>,
        id: String,
        version: Option<&Bound<'_, PyAny>>,
        timeout: Option<f64>,
    ) -> PyResult<KeyEntry> {
        self.change(py, id, Change::rotate(version)?, timeout)
    }

    /// Have the server refuse all requests with a key until it is enabled. The call may be repeated.
    ///
    ///     server.disable_key("shop").disabled                      # True
    #[pyo3(signature = (id, *, timeout=None))]
    fn disable_key(&self, py: Python<'_>, id: String, timeout: Option<f64>) -> PyResult<KeyEntry> {
        self.change(py, id, Change::Disable, timeout)
    }

    /// Have the server use a disabled key again. The call may be repeated.
    ///
    ///     server.enable_key("shop").disabled                       # False
    #[pyo3(signature = (id, *, timeout=None))]
    fn enable_key(&self, py: Python<'_>, id: String, timeout: Option<f64>) -> PyResult<KeyEntry> {
        self.change(py, id, Change::Enable, timeout)
    }

    /// Return the secret key with an ID, for `seal`, `open`, `mac` and `verify`. Nobody asks the server for it before that.
    fn secret_key(&self, id: String) -> RemoteSecretKey {
        RemoteSecretKey::new(Arc::clone(&self.0), id)
    }

    /// Return the age identity with an ID, for `oarlock.open`. Nobody asks the server for it before that.
    fn identity(&self, id: String) -> RemoteIdentity {
        RemoteIdentity::new(Arc::clone(&self.0), id)
    }

    fn __repr__(&self) -> String {
        format!(
            "<oarlock.Cryptoserver {}>",
            self.0.settings.servers.join(", ")
        )
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(no_pickle("Cryptoserver"))
    }
}

/// A request to a server.
type Request = std::pin::Pin<Box<dyn Future<Output = Answer> + Send>>;

/// Returns the time of an argument, in seconds.
fn duration(seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|timeout| (TIMEOUT_MIN..=TIMEOUT_MAX).contains(timeout))
        .ok_or_else(|| {
            PyValueError::new_err(format!(
                "timeout must be 0.001 to 86400 seconds, not {seconds}"
            ))
        })
}

/// The code of gRPC.
const INVALID_ARGUMENT: i32 = 3;
const TIMEOUT_MIN: Duration = Duration::from_millis(1);
const TIMEOUT_MAX: Duration = Duration::from_secs(86_400);
