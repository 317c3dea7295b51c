//! Records of TLS 1.3.

use oarlock::packet::tls::{
    ContentType, Cut, Inbound, InboundRecord, Keys, Outbound, OutboundRecord, Padding, Suite,
};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use super::batch::{Batch, bytes, results, with_type};
use super::failure;
use super::origin::Sender;
use crate::aead::no_pickle;
use crate::buffer::Input;
use crate::engine::{accelerator, compute};
use crate::exclusive::Exclusive;
use crate::failure::exception;
use crate::memory::{TooLarge, reserved};
use crate::numbers::{by_name, byte, long};
use crate::region::NewBytes;

/// The sender of one direction of a TLS 1.3 connection (RFC 8446, 5), whose handshake another library does.
///
/// `suite` is "TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384" or "TLS_CHACHA20_POLY1305_SHA256". `secret` is a traffic
/// secret; or there are `key` and `iv`, as libraries export them for kernel TLS. `sequence` is the number of records that
/// were sealed with these keys. `record_size_limit` is that of the peer (RFC 8449). With `padding`, content and padding fill
/// a multiple of that number of bytes.
///
/// An object refuses to seal in a forked child, which would use the numbers of its parent.
#[pyclass(frozen, module = "oarlock.packet")]
pub struct TlsOutbound {
    sender: Sender<Outbound>,
    cut: Cut,
}

/// The receiver of one direction of a TLS 1.3 connection. The arguments are those of `TlsOutbound`.
///
/// `record_size_limit` is the limit that this side announced.
#[pyclass(frozen, module = "oarlock.packet")]
pub struct TlsInbound(Exclusive<Inbound>);

#[pymethods]
impl TlsOutbound {
    #[new]
    #[pyo3(signature = (suite, secret=None, *, key=None, iv=None, sequence=0, record_size_limit=None, padding=0))]
    fn new(
        suite: &str,
        secret: Option<&Bound<'_, PyAny>>,
        key: Option<&Bound<'_, PyAny>>,
        iv: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = long)] sequence: u64,
        record_size_limit: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = long)] padding: u64,
    ) -> PyResult<Self> {
        let cut = match record_size_limit {
            Some(limit) => Cut::record_size_limit(limit_of(limit)?),
            None => Ok(Cut::default()),
        };
        // More than the longest record fills it in any case.
        let padding = Padding::Multiple(padding.min(u16::MAX.into()) as u16);
        let cut = cut.map_err(|error| exception(&error))?.padding(padding);
        let material = Material::new(secret, key, iv)?;
        let keys = material.keys(suite_of(suite)?)?.sequence(sequence);
        let outbound = accelerator()?.tls_outbound(&keys);
        let mut outbound = outbound.map_err(|error| exception(&error))?;
        outbound.set_cut(cut);
        Ok(Self {
            sender: Sender::new(outbound),
            cut,
        })
    }

    /// Seal each content as a record, and number the records in order.
    ///
    /// `content_type` is one of ALERT, HANDSHAKE and APPLICATION_DATA.
    ///
    /// Returns a list of records. In place of one that failed is an exception: PacketError for a content of more than 16,384
    /// bytes, KeyExhausted after 2^24.5 records with AES-GCM.
    #[pyo3(signature = (contents, content_type=23))]
    fn seal<'py>(
        &self,
        py: Python<'py>,
        contents: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = byte)] content_type: u8,
    ) -> PyResult<Bound<'py, PyList>> {
        let batch = Batch::new(contents, "contents")?;
        let padding = |bytes| self.cut.padding_bytes(bytes);
        let behind = |bytes| padding(bytes) + OutboundRecord::BEHIND_BYTES;
        let mut room = Vec::new();
        let before = OutboundRecord::BEFORE_BYTES;
        let records = batch.process(py, &mut room, before, behind, |parts| {
            let parts = parts.into_iter();
            let mut records: Vec<_> = parts
                .map(|part| {
                    let padding = padding(part.place.len());
                    let content_type = ContentType(content_type);
                    OutboundRecord::new(part.buffer, part.place, content_type).padding(padding)
                })
                .collect();
            self.sender.lock()?.seal(&mut records);
            Ok::<_, PyErr>(records)
        })??;
        results(py, &records, |record| Ok(bytes(py, record.sealed()?)))
    }

    /// Cut data into records and seal them. Returns the records behind one another.
    #[pyo3(signature = (data, content_type=23))]
    fn seal_stream<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = byte)] content_type: u8,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let data = Input::new(data, "data")?;
        let data = data.bytes();
        let sealed_bytes = self.cut.sealed_bytes(data.len()).unwrap_or(usize::MAX);
        let mut sealed = NewBytes::new(py, sealed_bytes)?;
        let output = sealed.bytes();
        let done = compute(py, data.len(), || {
            let content_type = ContentType(content_type);
            let mut sender = self.sender.lock()?;
            Ok::<_, PyErr>(sender.seal_stream(content_type, data, output))
        });
        done?.map_err(|error| failure::exception(&error))?;
        Ok(sealed.into_object())
    }

    /// Switch to the next keys, after the record with a KeyUpdate message.
    ///
    /// Raises ValueError if the object was not made from a secret.
    fn update(&self) -> PyResult<()> {
        let updated = self.sender.lock()?.update();
        updated.map_err(|error| exception(&error))
    }

    /// The number of the next record.
    #[getter]
    fn sequence(&self) -> PyResult<u64> {
        Ok(self.sender.peek()?.sequence())
    }

    /// How many more records the key may protect.
    #[getter]
    fn records_left(&self) -> PyResult<u64> {
        Ok(self.sender.peek()?.records_left())
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(no_pickle("TlsOutbound"))
    }
}

#[pymethods]
impl TlsInbound {
    #[new]
    #[pyo3(signature = (suite, secret=None, *, key=None, iv=None, sequence=0, record_size_limit=None))]
    fn new(
        suite: &str,
        secret: Option<&Bound<'_, PyAny>>,
        key: Option<&Bound<'_, PyAny>>,
        iv: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = long)] sequence: u64,
        record_size_limit: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let material = Material::new(secret, key, iv)?;
        let keys = material.keys(suite_of(suite)?)?.sequence(sequence);
        let inbound = accelerator()?.tls_inbound(&keys);
        let mut inbound = inbound.map_err(|error| exception(&error))?;
        if let Some(limit) = record_size_limit {
            let limit = limit_of(limit)?;
            Cut::record_size_limit(limit).map_err(|error| exception(&error))?;
            inbound.set_record_size_limit(limit);
        }
        Ok(Self(Exclusive::new(inbound)))
    }

    /// Open the records at the start of what was received, up to the first that is not application data.
    ///
    /// Returns a list of (content, content type), and the number of bytes that these records had: keep the rest, which may
    /// begin with a part of a record, for the next call. After a KeyUpdate call `update` before that.
    ///
    /// A record that is not authentic, or that no peer may send, ends the connection: an exception is the last element of the
    /// list, and the only one of each later call.
    fn open<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyList>, usize)> {
        let data = Input::new(data, "data")?;
        let data = data.bytes();
        let done = compute(py, data.len(), || {
            let mut buffer = reserved(data.len())?;
            buffer.extend_from_slice(data);
            let count = data.len() / RECORD_BYTES_MIN + 1;
            let mut records = reserved(count)?;
            records.resize_with(count, InboundRecord::default);
            let inbound = self.0.lock();
            let opened = inbound.map(|mut inbound| inbound.open(&mut buffer, &mut records));
            Ok::<_, TooLarge>((buffer, records, opened))
        });
        let (buffer, records, opened) =
            done.map_err(|_| PyMemoryError::new_err(format!("{} bytes", data.len())))?;
        let opened = opened?;
        let list = results(py, &records[..opened.records], |record| {
            let content = &buffer[record.content()];
            Ok(with_type(py, content, record.content_type().0))
        })?;
        if let Err(error) = &opened.end {
            list.append(failure::exception(error))?;
        }
        Ok((list, opened.bytes))
    }

    /// Switch to the next keys, after a record with a KeyUpdate message.
    ///
    /// Raises ValueError if the object was not made from a secret.
    fn update(&self) -> PyResult<()> {
        let updated = self.0.lock()?.update();
        updated.map_err(|error| exception(&error))
    }

    /// The number of the next record.
    #[getter]
    fn sequence(&self) -> PyResult<u64> {
        Ok(self.0.lock()?.sequence())
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(no_pickle("TlsInbound"))
    }
}

/// A traffic secret, or a key and an IV.
enum Material<'py> {
    Secret(Input<'py>),
    Key(Input<'py>, Input<'py>),
}

impl<'py> Material<'py> {
    fn new(
        secret: Option<&'py Bound<'_, PyAny>>,
        key: Option<&'py Bound<'_, PyAny>>,
        iv: Option<&'py Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        match (secret, key, iv) {
            (Some(secret), None, None) => Ok(Self::Secret(Input::new(secret, "secret")?)),
            (None, Some(key), Some(iv)) => {
                Ok(Self::Key(Input::new(key, "key")?, Input::new(iv, "iv")?))
            }
            _ => Err(PyValueError::new_err(
                "give either a secret, or a key and an iv",
            )),
        }
    }

    fn keys(&self, suite: Suite) -> PyResult<Keys<'_>> {
        match self {
            Self::Secret(secret) => Ok(Keys::from_secret(suite, secret.bytes())),
            Self::Key(key, iv) => match iv.bytes().try_into() {
                Ok(iv) => Ok(Keys::new(suite, key.bytes(), iv)),
                Err(_) => Err(PyValueError::new_err(format!(
                    "iv has {} bytes, but TLS needs 12",
                    iv.bytes().len()
                ))),
            },
        }
    }
}

/// Returns the suite with a name.
pub fn suite_of(name: &str) -> PyResult<Suite> {
    by_name(&SUITES, name, "suite")
}

fn limit_of(limit: &Bound<'_, PyAny>) -> PyResult<u16> {
    // A higher limit belongs to a later version (RFC 8449, 4).
    long(limit).map(|limit| limit.min(u16::MAX.into()) as u16)
}

/// The names of RFC 8446, appendix B.4.
const SUITES: [(&str, Suite); 3] = [
    ("TLS_AES_128_GCM_SHA256", Suite::Aes128GcmSha256),
    ("TLS_AES_256_GCM_SHA384", Suite::Aes256GcmSha384),
    (
        "TLS_CHACHA20_POLY1305_SHA256",
        Suite::ChaCha20Poly1305Sha256,
    ),
];

/// Header, type and tag.
const RECORD_BYTES_MIN: usize = OutboundRecord::BEFORE_BYTES + OutboundRecord::BEHIND_BYTES;
