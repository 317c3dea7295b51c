//! Jobs of an event loop: submitted by the loop's thread, computed by the pool, completed when the loop finds the queue's
//! descriptor readable. No thread waits.

use std::os::fd::{AsRawFd as _, RawFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use oarlock::job::{CompletionQueue, Job, JobOptions, Order, QueueFull};
use oarlock::{Error, keys};
use oarlock_net::proto;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use pyo3::{Borrowed, FromPyObject, IntoPyObjectExt as _, PyTraverseError, PyVisit};
use zeroize::Zeroizing;

use crate::buffer::Input;
use crate::failure::exception;
use crate::key::{PrivateKey, PublicKey, encryption_scheme, not_rsa};
use crate::memory::copied_bytes;
use crate::numbers::word;
use crate::remote::{
    Call, Change, Content, Cryptoserver, Done, KeyEntry, NoAnswer, RemoteKey, RemoteSecretKey,
};
use crate::signals::interruptible;

/// Results that one call of `drain` hands to their futures: some 100 us of the loop's time.
const DRAINED_MAX: usize = 64;
/// The time after which a call of `drain` takes no further result. It computes a whole batch where there is no pool.
const DRAIN_TIME_MAX: Duration = Duration::from_millis(1);

type Queue = CompletionQueue<Result<Made, NoAnswer>, Py<PyAny>>;

/// The result of a job.
enum Made {
    Bytes(Zeroizing<Vec<u8>>),
    Key(proto::Key),
    Keys(Vec<proto::Key>),
    Secret(Done),
}

impl Made {
    fn into_python(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        match self {
            Self::Bytes(bytes) => Ok(PyBytes::new(py, &bytes).into_any()),
            Self::Key(key) => KeyEntry::new(key)?.into_bound_py_any(py),
            Self::Secret(done) => done.into_python(py),
            Self::Keys(keys) => {
                let entries: PyResult<Vec<_>> = keys.into_iter().map(KeyEntry::new).collect();
                entries?.into_bound_py_any(py)
            }
        }
    }
}

impl From<Zeroizing<Vec<u8>>> for Made {
    fn from(bytes: Zeroizing<Vec<u8>>) -> Self {
        Self::Bytes(bytes)
    }
}

impl From<proto::Key> for Made {
    fn from(key: proto::Key) -> Self {
        Self::Key(key)
    }
}

impl From<Done> for Made {
    fn from(done: Done) -> Self {
        Self::Secret(done)
    }
}

impl From<Vec<proto::Key>> for Made {
    fn from(keys: Vec<proto::Key>) -> Self {
        Self::Keys(keys)
    }
}

/// The jobs of one event loop, with their futures.
#[pyclass(frozen, module = "oarlock._oarlock")]
pub struct Jobs(Mutex<Queue>);

impl Jobs {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push<R>(
        &self,
        job: Result<Job<impl Into<Zeroizing<Vec<u8>>> + 'static>, QueueFull<R>>,
        future: Py<PyAny>,
    ) -> PyResult<()> {
        let job = job.map_err(|_| exception(&Error::QueueFull))?;
        self.lock()
            .push(job.map(|bytes| Ok(Made::Bytes(bytes.into()))), future);
        Ok(())
    }

    fn push_remote<T: Into<Made> + 'static>(
        &self,
        job: Result<Job<Result<T, NoAnswer>>, NoAnswer>,
        future: Py<PyAny>,
    ) -> PyResult<()> {
        let job = job.map_err(|error| error.exception())?;
        self.lock()
            .push(job.map(|made| made.map(Into::into)), future);
        Ok(())
    }
}

/// Gives a job's result to its future, unless that was cancelled.
fn complete(
    future: &Bound<'_, PyAny>,
    result: Result<Result<Made, NoAnswer>, Error>,
) -> PyResult<()> {
    if future.call_method0("done")?.is_truthy()? {
        return Ok(());
    }
    let made = match result {
        Ok(Ok(made)) => made.into_python(future.py()),
        Ok(Err(error)) => Err(error.exception()),
        Err(error) => Err(exception(&error)),
    };
    match made {
        Ok(made) => future.call_method1("set_result", (made,))?,
        Err(error) => future.call_method1("set_exception", (error,))?,
    };
    Ok(())
}

impl Jobs {
    fn push_secret(
        &self,
        py: Python<'_>,
        future: Py<PyAny>,
        key: &RemoteSecretKey,
        call: Call,
        timeout: Option<f64>,
    ) -> PyResult<()> {
        let job = interruptible(py, || key.submit(call, timeout))??;
        self.push_remote(job, future)
    }
}

/// A key of this process or of a server. To one of a server, the first call in a forked child connects, without the GIL.
enum AnyKey<'py> {
    Here(Bound<'py, PrivateKey>),
    There(Bound<'py, RemoteKey>),
}

impl<'py> FromPyObject<'_, 'py> for AnyKey<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(key) = object.cast::<PrivateKey>() {
            return Ok(Self::Here(key.to_owned()));
        }
        match object.cast::<RemoteKey>() {
            Ok(key) => Ok(Self::There(key.to_owned())),
            Err(_) => Err(PyTypeError::new_err(format!(
                "key must be a PrivateKey or a RemoteKey, not {}",
                object.get_type().name()?
            ))),
        }
    }
}

#[pymethods]
impl Jobs {
    #[new]
    fn new() -> Self {
        Self(Mutex::new(CompletionQueue::new(Order::Completion)))
    }

    /// Return the descriptor that is readable when `drain` should be called.
    fn fileno(&self) -> PyResult<RawFd> {
        Ok(self.lock().event_fd()?.as_raw_fd())
    }

    /// Complete futures whose jobs have finished.
    fn drain(&self, py: Python<'_>) -> PyResult<()> {
        // With one CPU there is no pool, and this computes the jobs. While some remain, the descriptor stays readable.
        let finished: Vec<_> = py.detach(|| {
            let (mut queue, began) = (self.lock(), Instant::now());
            let next = || match began.elapsed() < DRAIN_TIME_MAX {
                true => queue.try_next(),
                false => None,
            };
            std::iter::from_fn(next).take(DRAINED_MAX).collect()
        });
        // Futures run callbacks later, but a subclass could call back: the lock is not held.
        let mut completed = Ok(());
        for (future, result) in finished {
            completed = completed.and(complete(future.bind(py), result));
        }
        completed
    }

    fn __len__(&self) -> usize {
        self.lock().len()
    }

    #[pyo3(signature = (future, key, data, scheme=None))]
    fn sign(
        &self,
        py: Python<'_>,
        future: Py<PyAny>,
        key: AnyKey<'_>,
        data: &Bound<'_, PyAny>,
        scheme: Option<&str>,
    ) -> PyResult<()> {
        let object = data;
        let data = Input::new(object, "data")?;
        let key = match &key {
            AnyKey::Here(key) => key.get(),
            AnyKey::There(key) => {
                let (key, content) = (key.get(), Content::of_loop(object, &data)?);
                let job = interruptible(py, || key.submit_sign(scheme, content))?;
                return self.push_remote(job?, future);
            }
        };
        let (scheme, session) = (key.scheme(scheme)?, key.session());
        let data = copied_bytes(py, data.bytes())?;
        let job = session.submit_sign(scheme, data, JobOptions::default());
        self.push(job, future)
    }

    #[pyo3(signature = (future, key, digest, scheme=None))]
    fn sign_digest(
        &self,
        py: Python<'_>,
        future: Py<PyAny>,
        key: AnyKey<'_>,
        digest: &Bound<'_, PyAny>,
        scheme: Option<&str>,
    ) -> PyResult<()> {
        let digest = Input::new(digest, "digest")?;
        let key = match &key {
            AnyKey::Here(key) => key.get(),
            AnyKey::There(key) => {
                let (key, digest) = (key.get(), digest.bytes());
                let job = interruptible(py, || key.submit_sign(scheme, Content::Digest(digest)))?;
                return self.push_remote(job?, future);
            }
        };
        let (scheme, session) = (key.scheme(scheme)?, key.session());
        let digest = copied_bytes(py, digest.bytes())?;
        let job = session.submit_sign_digest(scheme, digest, JobOptions::default());
        self.push(job, future)
    }

    fn exchange(&self, future: Py<PyAny>, key: &PrivateKey, peer: &PublicKey) -> PyResult<()> {
        let peer: &keys::PublicKey = peer.session().key();
        let job = key.session().submit_agree(peer, JobOptions::default());
        self.push(job, future)
    }

    fn decapsulate(
        &self,
        py: Python<'_>,
        future: Py<PyAny>,
        key: &PrivateKey,
        ciphertext: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let ciphertext = Input::new(ciphertext, "ciphertext")?;
        let session = key.session();
        let ciphertext = copied_bytes(py, ciphertext.bytes())?;
        let job = session.submit_decapsulate(ciphertext, JobOptions::default());
        self.push(job, future)
    }

    #[pyo3(signature = (future, key, ciphertext, scheme="rsa-oaep-sha256"))]
    fn decrypt(
        &self,
        py: Python<'_>,
        future: Py<PyAny>,
        key: AnyKey<'_>,
        ciphertext: &Bound<'_, PyAny>,
        scheme: &str,
    ) -> PyResult<()> {
        let ciphertext = Input::new(ciphertext, "ciphertext")?;
        let key = match &key {
            AnyKey::Here(key) => key.get(),
            AnyKey::There(key) => {
                let (key, ciphertext) = (key.get(), ciphertext.bytes());
                let job = interruptible(py, || key.submit_decrypt(scheme, ciphertext))?;
                return self.push_remote(job?, future);
            }
        };
        let scheme = encryption_scheme(scheme)?;
        let session = key.session();
        let key_type = session.key().key_type().name();
        let rsa = session.as_rsa().ok_or_else(|| not_rsa(key_type))?;
        let ciphertext = copied_bytes(py, ciphertext.bytes())?;
        let job = rsa.submit_decrypt(&scheme, ciphertext, JobOptions::default());
        self.push(job, future)
    }

    #[pyo3(signature = (future, key, data, associated_data=None, timeout=None))]
    fn seal(
        &self,
        py: Python<'_>,
        future: Py<PyAny>,
        key: &RemoteSecretKey,
        data: &Bound<'_, PyAny>,
        associated_data: Option<&Bound<'_, PyAny>>,
        timeout: Option<f64>,
    ) -> PyResult<()> {
        let (data, aad) = (Input::new(data, "data")?, Input::optional(associated_data)?);
        let call = Call::seal(data.bytes(), Input::or_empty(&aad))?;
        self.push_secret(py, future, key, call, timeout)
    }

    #[pyo3(signature = (future, key, sealed, associated_data=None, timeout=None))]
    fn open(
        &self,
        py: Python<'_>,
        future: Py<PyAny>,
        key: &RemoteSecretKey,
        sealed: &Bound<'_, PyAny>,
        associated_data: Option<&Bound<'_, PyAny>>,
        timeout: Option<f64>,
    ) -> PyResult<()> {
        let (sealed, aad) = (
            Input::new(sealed, "sealed")?,
            Input::optional(associated_data)?,
        );
        let call = Call::open(sealed.bytes(), Input::or_empty(&aad))?;
        self.push_secret(py, future, key, call, timeout)
    }

    #[pyo3(signature = (future, key, data, timeout=None))]
    fn mac(
        &self,
        py: Python<'_>,
        future: Py<PyAny>,
        key: &RemoteSecretKey,
        data: &Bound<'_, PyAny>,
        timeout: Option<f64>,
    ) -> PyResult<()> {
        let data = Input::new(data, "data")?;
        self.push_secret(py, future, key, Call::mac(data.bytes())?, timeout)
    }

    #[pyo3(signature = (future, key, tag, data, version, timeout=None))]
    #[allow(clippy::too_many_arguments)] // of `RemoteSecretKey.verify`
    fn verify(
        &self,
        py: Python<'_>,
        future: Py<PyAny>,
        key: &RemoteSecretKey,
        tag: &Bound<'_, PyAny>,
        data: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = word)] version: u32,
        timeout: Option<f64>,
    ) -> PyResult<()> {
        let (tag, data) = (Input::new(tag, "tag")?, Input::new(data, "data")?);
        let call = Call::verify(tag.bytes(), data.bytes(), version)?;
        self.push_secret(py, future, key, call, timeout)
    }

    fn list_keys(&self, py: Python<'_>, future: Py<PyAny>, server: &Cryptoserver) -> PyResult<()> {
        let job = interruptible(py, || server.submit_list())?;
        self.push_remote(job, future)
    }

    #[pyo3(signature = (future, server, id, key_type, bits=None, timeout=None))]
    #[allow(clippy::too_many_arguments)] // of `Cryptoserver.create_key`
    fn create_key(
        &self,
        py: Python<'_>,
        future: Py<PyAny>,
        server: &Cryptoserver,
        id: String,
        key_type: &str,
        bits: Option<&Bound<'_, PyAny>>,
        timeout: Option<f64>,
    ) -> PyResult<()> {
        let change = Change::create(key_type, bits)?;
        let job = interruptible(py, || server.submit_change(id, change, timeout))??;
        self.push_remote(job, future)
    }

    #[pyo3(signature = (future, server, id, version=None, timeout=None))]
    fn rotate_key(
        &self,
        py: Python<'_>,
        future: Py<PyAny>,
        server: &Cryptoserver,
        id: String,
        version: Option<&Bound<'_, PyAny>>,
        timeout: Option<f64>,
    ) -> PyResult<()> {
        let change = Change::rotate(version)?;
        let job = interruptible(py, || server.submit_change(id, change, timeout))??;
        self.push_remote(job, future)
    }

    #[pyo3(signature = (future, server, id, timeout=None))]
    fn disable_key(
        &self,
        py: Python<'_>,
        future: Py<PyAny>,
        server: &Cryptoserver,
        id: String,
        timeout: Option<f64>,
    ) -> PyResult<()> {
        let job = interruptible(py, || server.submit_change(id, Change::Disable, timeout))??;
        self.push_remote(job, future)
    }

    #[pyo3(signature = (future, server, id, timeout=None))]
    fn enable_key(
        &self,
        py: Python<'_>,
        future: Py<PyAny>,
        server: &Cryptoserver,
        id: String,
        timeout: Option<f64>,
    ) -> PyResult<()> {
        let job = interruptible(py, || server.submit_change(id, Change::Enable, timeout))??;
        self.push_remote(job, future)
    }

    /// For Python's collector of cycles: a loop has the jobs, whose futures have the loop.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // No call is in the middle of a change: they hold the GIL, and the collector runs in none of them.
        match self.0.try_lock() {
            Ok(jobs) => jobs.tags().try_for_each(|future| visit.call(future)),
            Err(_) => Ok(()),
        }
    }

    fn __clear__(&self) {
        // Outside of the lock: futures that end may run code of Python's.
        let jobs = std::mem::replace(&mut *self.lock(), Queue::new(Order::Completion));
        drop(jobs);
    }
}
