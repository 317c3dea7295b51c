//! HMAC, with the interface of `hmac` of the standard library.

use oarlock::rsa::Hash;
use oarlock_engine::hash::{DIGEST_BYTES_MAX, Digest, Hmac};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use pyo3::{Borrowed, FromPyObject};

use crate::aead::no_pickle;
use crate::buffer::Input;
use crate::engine::compute;
use crate::exclusive::{Exclusive, LeftByParent};
use crate::failure::InvalidSignature;
use crate::key::hash;

/// Bytes of a cipher that take as long as one byte of a digest.
pub const SLOWER: usize = 4;

/// HMAC (RFC 2104) with sha224, sha256, sha384, sha512 or, for existing data, sha1.
///
/// >>> mac = HMAC(b"key", b"message", "sha256")
/// >>> mac.hexdigest()[:16]
/// '6e9ef29b75fffc5b'
#[pyclass(frozen, module = "oarlock", name = "HMAC")]
pub struct KeyedHmac(Exclusive<Hmac>);

impl KeyedHmac {
    fn with<T>(&self, work: impl FnOnce(&mut Hmac) -> T) -> Result<T, LeftByParent> {
        self.0.lock().map(|mut mac| work(&mut mac))
    }

    fn append(&self, py: Python<'_>, msg: &Bound<'_, PyAny>) -> PyResult<()> {
        let msg = Input::new(msg, "msg")?;
        let msg = msg.bytes();
        compute(py, msg.len().saturating_mul(SLOWER), || {
            self.with(|mac| mac.update(msg))
        })?;
        Ok(())
    }

    fn tag(&self) -> PyResult<([u8; DIGEST_BYTES_MAX], usize)> {
        let mut tag = [0; DIGEST_BYTES_MAX];
        // The message may go on.
        let bytes = self.with(|mac| mac.copy().finish(&mut tag))?;
        Ok((tag, bytes))
    }
}

#[pymethods]
impl KeyedHmac {
    #[new]
    #[pyo3(
        signature = (key, msg=None, digestmod=DigestMod(Hash::Sha256)),
        text_signature = "(key, msg=None, digestmod='sha256')"
    )]
    fn new(
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        msg: Option<&Bound<'_, PyAny>>,
        digestmod: DigestMod,
    ) -> PyResult<Self> {
        let DigestMod(hash) = digestmod;
        let key = Input::new(key, "key")?;
        let mac = Self(Exclusive::new(keyed(hash, key.bytes())?));
        if let Some(msg) = msg {
            mac.append(py, msg)?;
        }
        Ok(mac)
    }

    /// Append to the message.
    fn update(&self, py: Python<'_>, msg: &Bound<'_, PyAny>) -> PyResult<()> {
        self.append(py, msg)
    }

    /// Return the tag of the message so far.
    fn digest<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let (tag, bytes) = self.tag()?;
        Ok(PyBytes::new(py, &tag[..bytes]))
    }

    /// Return the tag in hexadecimal digits.
    fn hexdigest(&self) -> PyResult<String> {
        let (tag, bytes) = self.tag()?;
        let digits = tag[..bytes].iter().map(|byte| format!("{byte:02x}"));
        Ok(digits.collect())
    }

    /// Compare the tag of the message so far in constant time. Raises InvalidSignature.
    fn verify(&self, tag: &Bound<'_, PyAny>) -> PyResult<()> {
        let given = Input::new(tag, "tag")?;
        let (tag, bytes) = self.tag()?;
        let is_same = given.bytes().len() == bytes
            && bool::from(subtle::ConstantTimeEq::ct_eq(given.bytes(), &tag[..bytes]));
        if is_same {
            return Ok(());
        }
        Err(InvalidSignature::new_err(
            "the tag is wrong: the message was altered, or the key is another one",
        ))
    }

    /// Return a copy in the same state.
    fn copy(&self) -> PyResult<Self> {
        Ok(Self(Exclusive::new(self.with(|mac| mac.copy())?)))
    }

    /// The length of the tag in bytes.
    #[getter]
    fn digest_size(&self) -> PyResult<usize> {
        Ok(self.with(|mac| mac.hash().bytes())?)
    }

    /// The length of the hash function's block in bytes.
    #[getter]
    fn block_size(&self) -> PyResult<usize> {
        Ok(self.with(|mac| mac.hash().block_bytes())?)
    }

    /// The name, such as "hmac-sha256".
    #[getter]
    fn name(&self) -> PyResult<String> {
        Ok(format!("hmac-{:?}", self.with(|mac| mac.hash())?).to_lowercase())
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(no_pickle("HMAC"))
    }
}

/// The hash function that an argument names: a string, a constructor of `hashlib`, or a module with one, as in `hmac.new`.
struct DigestMod(Hash);

impl FromPyObject<'_, '_> for DigestMod {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let name: String = if object.is_instance_of::<PyString>() {
            object.extract()?
        } else {
            let made = match object.is_callable() {
                true => object.call0()?,
                false => object.call_method0("new").map_err(|_| {
                    PyTypeError::new_err("digestmod must be a name or a constructor of hashlib")
                })?,
            };
            made.getattr("name")?.extract()?
        };
        hash(&name.to_ascii_lowercase()).map(Self).ok_or_else(|| {
            PyValueError::new_err(format!(
                "digestmod must be sha224, sha256, sha384, sha512 or sha1, not {name:?}"
            ))
        })
    }
}

/// Sets a key of any length: one longer than a block is hashed first (RFC 2104, 2).
fn keyed(hash: Hash, key: &[u8]) -> PyResult<Hmac> {
    if let Some(mac) = Hmac::new(hash, key) {
        return Ok(mac);
    }
    let mut digest = Digest::new(hash);
    digest.update(key);
    let mut short = zeroize::Zeroizing::new([0; DIGEST_BYTES_MAX]);
    let bytes = digest.finish(&mut short);
    Hmac::new(hash, &short[..bytes]).ok_or_else(|| PyValueError::new_err("the key is too long"))
}
