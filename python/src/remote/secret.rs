//! Secret keys that stay on cryptoservers, which seal, open and compute MACs.

use std::pin::Pin;
use std::sync::Arc;

use oarlock::job::Job;
use oarlock_net::client::{CallOptions, Client, ClientError, Made};
use oarlock_net::proto;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zeroize::Zeroizing;

use super::{NoAnswer, Servers, duration};
use crate::aead::no_pickle;
use crate::buffer::Input;
use crate::memory::owned;
use crate::numbers::word;

/// A secret key that stays on a cryptoserver: of A256GCM, which seals and opens, or of HS256, HS384 or HS512, which makes MACs.
///
///     cards = server.secret_key("cards")
///     sealed = cards.seal(b"4111 1111 1111 1111", b"customer 7")
///     cards.open(sealed, b"customer 7")                        # b"4111 1111 1111 1111"
///
/// A message has at most 262144 bytes, together with its associated data or its tag. `seal_many` and `open_many` take such a
/// key too. `timeout` is in seconds, by default that of the Cryptoserver.
#[pyclass(frozen, module = "oarlock")]
pub struct RemoteSecretKey {
    servers: Arc<Servers>,
    id: String,
}

/// A request with one item, which is within the protocol's limit.
pub enum Call {
    Seal(proto::Plaintext),
    Open(proto::Ciphertext),
    Mac(Vec<u8>),
    Verify(proto::MacOf),
}

/// The result of a request.
pub enum Done {
    Bytes(Zeroizing<Vec<u8>>),
    /// A MAC, and the version of the key that made it.
    Mac(Zeroizing<Vec<u8>>, u32),
    Verified,
}

/// A request that is ready to be sent.
type Sending =
    Box<dyn FnOnce(Client) -> Pin<Box<dyn Future<Output = Result<Done, NoAnswer>> + Send>> + Send>;

impl Call {
    pub fn seal(data: &[u8], associated_data: &[u8]) -> PyResult<Self> {
        check_size(data.len().saturating_add(associated_data.len()))?;
        Ok(Self::Seal(proto::Plaintext {
            plaintext: owned(data)?,
            associated_data: owned(associated_data)?,
        }))
    }

    pub fn open(sealed: &[u8], associated_data: &[u8]) -> PyResult<Self> {
        let plain_bytes = sealed.len().saturating_sub(OVERHEAD_BYTES);
        check_size(plain_bytes.saturating_add(associated_data.len()))?;
        Ok(Self::Open(proto::Ciphertext {
            ciphertext: owned(sealed)?,
            associated_data: owned(associated_data)?,
        }))
    }

    pub fn mac(data: &[u8]) -> PyResult<Self> {
        check_size(data.len())?;
        Ok(Self::Mac(owned(data)?))
    }

    pub fn verify(tag: &[u8], data: &[u8], version: u32) -> PyResult<Self> {
        check_size(tag.len().saturating_add(data.len()))?;
        Ok(Self::Verify(proto::MacOf {
            message: owned(data)?,
            mac: owned(tag)?,
            key_version: version,
        }))
    }

    fn sending(self, id: String, timeout: Option<f64>) -> PyResult<Sending> {
        let options = CallOptions {
            timeout: timeout.map(duration).transpose()?,
            ..CallOptions::default()
        };
        Ok(Box::new(move |client: Client| {
            Box::pin(async move {
                Ok(match self {
                    Self::Seal(plaintext) => {
                        let sealed = client.seal(&id, vec![plaintext], options).await;
                        Done::Bytes(one(sealed)?.map_err(NoAnswer::Client)?.bytes)
                    }
                    Self::Open(ciphertext) => {
                        let opened = client.open(&id, vec![ciphertext], options).await;
                        Done::Bytes(one(opened)?.map_err(NoAnswer::NotAuthentic)?.bytes)
                    }
                    Self::Mac(message) => {
                        let made = client.mac(&id, vec![message], options).await;
                        let Made { bytes, key_version } = one(made)?.map_err(NoAnswer::Client)?;
                        Done::Mac(bytes, key_version)
                    }
                    Self::Verify(mac) => {
                        let verified = client.verify_macs(&id, vec![mac], options).await;
                        one(verified)?.map_err(NoAnswer::WrongMac)?;
                        Done::Verified
                    }
                })
            })
        }))
    }
}

impl Done {
    pub fn into_python(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        Ok(match self {
            Self::Bytes(bytes) => PyBytes::new(py, &bytes).into_any(),
            Self::Mac(mac, version) => (PyBytes::new(py, &mac), version)
                .into_pyobject(py)?
                .into_any(),
            Self::Verified => py.None().into_bound(py),
        })
    }
}

impl RemoteSecretKey {
    pub fn new(servers: Arc<Servers>, id: String) -> Self {
        Self { servers, id }
    }

    /// Starts a request.
    pub fn submit(
        &self,
        call: Call,
        timeout: Option<f64>,
    ) -> PyResult<Result<Job<Result<Done, NoAnswer>>, NoAnswer>> {
        let work = call.sending(self.id.clone(), timeout)?;
        Ok(self.servers.submit(work))
    }

    fn answered<'py>(
        &self,
        py: Python<'py>,
        call: Call,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let work = call.sending(self.id.clone(), timeout)?;
        self.servers.wait(py, work)?.into_python(py)
    }

    /// Seals plaintexts, each within the protocol's limit.
    pub fn seal_all(&self, py: Python<'_>, plaintexts: Vec<proto::Plaintext>) -> PyResult<Items> {
        let id = self.id.clone();
        self.servers.wait(py, move |client: Client| async move {
            let sealed = client.seal(&id, plaintexts, CallOptions::default()).await;
            sealed.map_err(NoAnswer::Client)
        })
    }

    /// Opens ciphertexts, each within the protocol's limit.
    pub fn open_all(&self, py: Python<'_>, ciphertexts: Vec<proto::Ciphertext>) -> PyResult<Items> {
        let id = self.id.clone();
        self.servers.wait(py, move |client: Client| async move {
            let opened = client.open(&id, ciphertexts, CallOptions::default()).await;
            opened.map_err(NoAnswer::Client)
        })
    }
}

/// The results of the items of a request.
pub type Items = Vec<Result<Made, ClientError>>;

#[pymethods]
impl RemoteSecretKey {
    /// The ID of the key on the server.
    #[getter]
    fn id(&self) -> &str {
        &self.id
    }

    /// Seal data with the newest version of the key. Returns the ciphertext, which is 44 bytes longer than the data: the
    /// version, the nonce that the server has chosen, and the tag are in it.
    #[pyo3(signature = (data, associated_data=None, *, timeout=None))]
    fn seal<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        associated_data: Option<&Bound<'py, PyAny>>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (data, aad) = (Input::new(data, "data")?, Input::optional(associated_data)?);
        self.answered(
            py,
            Call::seal(data.bytes(), Input::or_empty(&aad))?,
            timeout,
        )
    }

    /// Open what `seal` returned. Raises AuthenticationFailed.
    #[pyo3(signature = (sealed, associated_data=None, *, timeout=None))]
    fn open<'py>(
        &self,
        py: Python<'py>,
        sealed: &Bound<'py, PyAny>,
        associated_data: Option<&Bound<'py, PyAny>>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (sealed, aad) = (
            Input::new(sealed, "sealed")?,
            Input::optional(associated_data)?,
        );
        let call = Call::open(sealed.bytes(), Input::or_empty(&aad))?;
        self.answered(py, call, timeout)
    }

    /// Return the MAC of data by the newest version of the key, and the number of that version: (tag, version).
    #[pyo3(signature = (data, *, timeout=None))]
    fn mac<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let data = Input::new(data, "data")?;
        self.answered(py, Call::mac(data.bytes())?, timeout)
    }

    /// Verify a MAC of data by a version of the key; 0 is the newest. Raises InvalidSignature.
    #[pyo3(signature = (tag, data, version=0, *, timeout=None))]
    fn verify(
        &self,
        py: Python<'_>,
        tag: &Bound<'_, PyAny>,
        data: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = word)] version: u32,
        timeout: Option<f64>,
    ) -> PyResult<()> {
        let (tag, data) = (Input::new(tag, "tag")?, Input::new(data, "data")?);
        let call = Call::verify(tag.bytes(), data.bytes(), version)?;
        self.answered(py, call, timeout).map(drop)
    }

    fn __repr__(&self) -> String {
        format!("<oarlock.RemoteSecretKey '{}'>", self.id)
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(no_pickle("RemoteSecretKey"))
    }
}

/// Refuses what the server refuses, before it is copied.
fn check_size(bytes: usize) -> PyResult<()> {
    match bytes {
        0..=MESSAGE_BYTES_MAX => Ok(()),
        _ => Err(PyValueError::new_err(too_long(bytes))),
    }
}

/// Returns what is wrong with a message of more than [`MESSAGE_BYTES_MAX`].
pub fn too_long(bytes: usize) -> String {
    format!(
        "a message of {bytes} bytes, with what goes with it, but a server takes at most {MESSAGE_BYTES_MAX}"
    )
}

/// Returns the only item of a request.
fn one<T>(
    items: Result<Vec<Result<T, ClientError>>, ClientError>,
) -> Result<Result<T, ClientError>, NoAnswer> {
    let item = items.map_err(NoAnswer::Client)?.pop();
    item.ok_or(NoAnswer::Lost)
}

/// The most bytes of a message together with its associated data or its tag, as the protocol says.
pub const MESSAGE_BYTES_MAX: usize = 262_144;
/// The bytes that a ciphertext is longer than its plaintext. They do not count.
pub const OVERHEAD_BYTES: usize = 44;
