//! The parts of an age file, for jobs that process one in several places: `oarlock.ray` is made of them.
//!
//! ```text
//! AgeHeader        read from the first bytes of a file
//! AgeIdentities    open a header: AgeKey
//! AgeKey           the file key: wraps itself for recipients, and derives the key of the payload
//! AgePayload       seals and opens chunks of any position, in place
//! ```
//!
//! No key leaves these objects except wrapped.

use age::{Identity, Recipient, x25519};
use oarlock_file::Direction;
use oarlock_file::Error;
use oarlock_file::age::{
    CHUNK_BYTES, FileKey, Header, NONCE_BYTES, Payload, SEALED_CHUNK_BYTES, TAG_BYTES,
    generate_file_key, plain_bytes,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::{Text, failed, keys, strings};
use crate::buffer::{Input, Output};
use crate::engine::{accelerator, compute};
use crate::remote::RemoteIdentity;
use crate::signals::interruptible;

/// The header of an age file.
#[pyclass(frozen, module = "oarlock._oarlock")]
pub struct AgeHeader(Header);

#[pymethods]
impl AgeHeader {
    /// Read a header from the first bytes of a file. Returns None if they are not the whole header.
    #[staticmethod]
    fn parse(data: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let data = Input::new(data, "data")?;
        match Header::read(&mut data.bytes()) {
            Ok(header) => Ok(Some(Self(header))),
            Err(Error::Truncated { .. }) => Ok(None),
            Err(error) => Err(failed(&error)),
        }
    }

    /// The length in bytes. The nonce of the payload and its chunks follow.
    #[getter]
    fn size(&self) -> u64 {
        self.0.bytes()
    }

    /// The wrapped file keys: type, arguments and body.
    #[getter]
    fn stanzas<'py>(&self, py: Python<'py>) -> Vec<(&str, &[String], Bound<'py, PyBytes>)> {
        let stanzas = self.0.stanzas.iter();
        stanzas
            .map(|it| (&*it.tag, &*it.args, PyBytes::new(py, &it.body)))
            .collect()
    }

    /// Take a file key that another party has unwrapped. Raises FileError if it is not that of this header.
    fn accept(&self, file_key: &Bound<'_, PyAny>) -> PyResult<AgeKey> {
        let file_key = Input::new(file_key, "file_key")?;
        let bytes = file_key.bytes();
        let mut wrong = false;
        let file_key = FileKey::init_with_mut(|key| match bytes.len() == key.len() {
            true => key.copy_from_slice(bytes),
            false => wrong = true,
        });
        if wrong {
            let length = bytes.len();
            return Err(PyValueError::new_err(format!(
                "a file key has 16 bytes, not {length}"
            )));
        }
        self.0.verify(&file_key).map_err(|error| failed(&error))?;
        Ok(AgeKey(file_key))
    }
}

/// Identities that open headers.
#[pyclass(frozen, module = "oarlock._oarlock")]
pub struct AgeIdentities {
    identities: Vec<Box<dyn Identity + Send + Sync>>,
    /// The recipient of an identity that was generated.
    recipient: Option<String>,
}

#[pymethods]
impl AgeIdentities {
    /// Read identity files, or SSH private keys without a passphrase.
    #[new]
    fn new(texts: Vec<Text>) -> PyResult<Self> {
        Ok(Self {
            identities: keys::identities(strings(texts), None)?,
            recipient: None,
        })
    }

    /// Generate an identity that exists in this object alone.
    #[staticmethod]
    fn generate() -> Self {
        let identity = x25519::Identity::generate();
        Self {
            recipient: Some(identity.to_public().to_string()),
            identities: vec![Box::new(identity)],
        }
    }

    /// Open headers by an identity that stays on a cryptoserver.
    #[staticmethod]
    fn remote(py: Python<'_>, identity: &Bound<'_, RemoteIdentity>) -> PyResult<Self> {
        let identity = identity.get();
        let unwrapping = interruptible(py, || identity.unwrapping())?;
        let unwrapping = unwrapping.map_err(|error| error.exception())?;
        Ok(Self {
            identities: vec![Box::new(unwrapping)],
            recipient: None,
        })
    }

    /// The recipient of a generated identity, or None.
    #[getter]
    fn recipient(&self) -> Option<&str> {
        self.recipient.as_deref()
    }

    /// Open a header. Raises FileError if no identity fits, or the header was altered.
    fn unwrap(&self, py: Python<'_>, header: &AgeHeader) -> PyResult<AgeKey> {
        let opened = interruptible(py, || {
            let identities: Vec<&dyn Identity> =
                self.identities.iter().map(|it| it.as_ref() as _).collect();
            header.0.unwrap(&identities)
        })?;
        opened.map(AgeKey).map_err(|error| failed(&error))
    }
}

/// A file key.
#[pyclass(frozen, module = "oarlock._oarlock")]
pub struct AgeKey(FileKey);

#[pymethods]
impl AgeKey {
    /// Generate a file key.
    #[new]
    fn new() -> PyResult<Self> {
        generate_file_key()
            .map(Self)
            .map_err(|error| failed(&error))
    }

    /// Return a header for recipients: of a new file, or in place of an earlier header of the same file, as long as that one
    /// where possible. `keep` says whether it is also for those of the earlier one.
    #[pyo3(signature = (recipients, earlier=None, keep=false))]
    fn wrap<'py>(
        &self,
        py: Python<'py>,
        recipients: Vec<Text>,
        earlier: Option<&AgeHeader>,
        keep: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let recipients = keys::recipients(&strings(recipients), None)?;
        let wrapped = py.detach(|| {
            let recipients: Vec<&dyn Recipient> =
                recipients.iter().map(|it| it.as_ref() as _).collect();
            match earlier {
                Some(earlier) => earlier.0.rewrap(&recipients, keep, &self.0),
                None => Header::new(&recipients, &self.0),
            }
        });
        let header = wrapped.map_err(|error| failed(&error))?;
        Ok(PyBytes::new(py, &header.encoded))
    }

    /// Derive the key of the payload that begins with a nonce of 16 bytes.
    fn payload(&self, nonce: &Bound<'_, PyAny>) -> PyResult<AgePayload> {
        let nonce = Input::new(nonce, "nonce")?;
        let nonce: &[u8; NONCE_BYTES] = nonce.bytes().try_into().map_err(|_| {
            let length = nonce.bytes().len();
            PyValueError::new_err(format!("the nonce has 16 bytes, not {length}"))
        })?;
        let cpu = accelerator()?.cpu();
        // One that seals also opens: the direction is for pipelines.
        let payload = Payload::new(&self.0, nonce, Direction::Encrypt, cpu);
        Ok(AgePayload(payload))
    }
}

/// The key of a payload. Chunks are processed on the calling thread, without the GIL.
#[pyclass(frozen, module = "oarlock._oarlock")]
pub struct AgePayload(Payload);

#[pymethods]
impl AgePayload {
    /// Seal consecutive chunks in place. Each has 64 KiB of plaintext and 16 bytes of room for its tag; only the last chunk of
    /// the file may be shorter. A chunk number must not be sealed twice with different plaintext.
    fn seal(
        &self,
        py: Python<'_>,
        first: u64,
        is_end: bool,
        buffer: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.each(py, first, is_end, buffer, |number, is_last, chunk| {
            self.0.seal(number, is_last, chunk)
        })
    }

    /// Open consecutive chunks in place; the tags stay. If one is not authentic, the buffer is filled with zeros.
    fn open(
        &self,
        py: Python<'_>,
        first: u64,
        is_end: bool,
        buffer: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.each(py, first, is_end, buffer, |number, is_last, chunk| {
            self.0.open(number, is_last, chunk)
        })
    }
}

impl AgePayload {
    fn each(
        &self,
        py: Python<'_>,
        first: u64,
        is_end: bool,
        buffer: &Bound<'_, PyAny>,
        work: impl Fn(u64, bool, &mut [u8]) -> Result<(), Error> + Sync,
    ) -> PyResult<()> {
        let mut buffer = Output::new(buffer, "buffer")?;
        let length = buffer.len();
        let has_last = plain_bytes(length as u64);
        let fits = match is_end {
            // Only an empty file has an empty chunk.
            true => has_last.is_some_and(|plain| plain > 0 || first == 0),
            false => length > 0 && length.is_multiple_of(SEALED_CHUNK_BYTES),
        };
        if !fits {
            return Err(PyValueError::new_err(format!(
                "buffer has {length} bytes: chunks have {CHUNK_BYTES} bytes and a tag of {TAG_BYTES}, and only the end of a file may have less"
            )));
        }
        let last = first.checked_add((length.div_ceil(SEALED_CHUNK_BYTES) - 1) as u64);
        let Some(last) = last else {
            return Err(failed(&Error::TooLong));
        };
        let done = compute(py, length, || {
            let bytes = buffer.bytes();
            let chunks = bytes.chunks_mut(SEALED_CHUNK_BYTES);
            let result = (first..=last)
                .zip(chunks)
                .try_for_each(|(number, chunk)| work(number, is_end && number == last, chunk));
            if result.is_err() {
                bytes.fill(0);
            }
            result
        });
        done.map_err(|error| failed(&error))
    }
}
