//! AEADs, with the interface of `cryptography.hazmat.primitives.ciphers.aead`.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use oarlock::aead::{AcceleratedAead, TAG_BYTES};
use oarlock::{Algorithm, Error};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::buffer::{Input, Output};
use crate::engine::{accelerator, compute};
use crate::failure::{AuthenticationFailed, exception};
use crate::numbers::word;
use crate::random::random_bytes;
use crate::region::{NewBytes, Region};

/// The lengths of nonces.
const NONCE_BYTES: RangeInclusive<usize> = 8..=128;

/// A session of any AEAD.
struct Aead(AcceleratedAead);

impl Aead {
    fn new(algorithm: Algorithm, key: &Bound<'_, PyAny>) -> PyResult<Self> {
        let key = Input::new(key, "key")?;
        let session = accelerator()?.aead(algorithm, key.bytes());
        session.map(Self).map_err(|error| exception(&error))
    }

    fn encrypt<'py>(
        &self,
        py: Python<'py>,
        message: &Message<'_>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let data = message.data.bytes();
        let sealed_bytes = data.len().checked_add(TAG_BYTES);
        let mut sealed = NewBytes::new(py, sealed_bytes.unwrap_or(usize::MAX))?;
        let region = Region::between(data, sealed.bytes());
        self.seal(py, message, region)?;
        Ok(sealed.into_object())
    }

    fn decrypt<'py>(
        &self,
        py: Python<'py>,
        message: &Message<'_>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (data, tag) = message.parts()?;
        let mut opened = NewBytes::new(py, data.len())?;
        let region = Region::between(data, opened.bytes());
        self.open(py, message, region, tag)?;
        Ok(opened.into_object())
    }

    fn encrypt_into(&self, py: Python<'_>, message: &Message<'_>, buf: &Output) -> PyResult<usize> {
        let data_bytes = message.data.bytes().len();
        let region = Region::into_buffer(&message.data, data_bytes, buf, data_bytes + TAG_BYTES)?;
        self.seal(py, message, region)?;
        Ok(data_bytes + TAG_BYTES)
    }

    fn decrypt_into(&self, py: Python<'_>, message: &Message<'_>, buf: &Output) -> PyResult<usize> {
        let (data, tag) = message.parts()?;
        let region = Region::into_buffer(&message.data, data.len(), buf, data.len())?;
        // In place, the tag may lie where the plaintext does not.
        self.open(py, message, region, tag)?;
        Ok(data.len())
    }

    /// Seals into a region that has room for the tag behind it.
    fn seal(&self, py: Python<'_>, message: &Message<'_>, mut region: Region) -> PyResult<()> {
        let (nonce, aad) = message.apart_from(&region);
        let (nonce, aad) = (&*nonce, &*aad);
        let sealed = compute(py, message.data.bytes().len(), || {
            // SAFETY: the message and the output are borrowed until the caller returns.
            let tag = self.0.seal(nonce, aad, unsafe { region.in_out() })?;
            // SAFETY: both callers made the output `TAG_BYTES` longer than the input.
            unsafe { region.append(&tag) };
            Ok(())
        });
        sealed.map_err(|error: Error| exception(&error))
    }

    fn open(
        &self,
        py: Python<'_>,
        message: &Message<'_>,
        mut region: Region,
        tag: [u8; TAG_BYTES],
    ) -> PyResult<()> {
        let (nonce, aad) = message.apart_from(&region);
        let (nonce, aad) = (&*nonce, &*aad);
        let opened = compute(py, message.data.bytes().len(), || {
            // SAFETY: as in `seal`.
            self.0.open(nonce, aad, unsafe { region.in_out() }, &tag)
        });
        opened.map_err(|error| exception(&error))
    }
}

/// The arguments of a call.
struct Message<'py> {
    nonce: Input<'py>,
    data: Input<'py>,
    associated_data: Option<Input<'py>>,
}

impl<'py> Message<'py> {
    fn new(
        nonce: &'py Bound<'_, PyAny>,
        data: &'py Bound<'_, PyAny>,
        associated_data: Option<&'py Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let nonce = Input::new(nonce, "nonce")?;
        // As in `cryptography`; a shorter one of GCM is weak, and ChaCha20-Poly1305 has 12 alone.
        if !NONCE_BYTES.contains(&nonce.bytes().len()) {
            return Err(PyValueError::new_err(format!(
                "nonce has {} bytes, but needs 12, or with AES-GCM {} to {}",
                nonce.bytes().len(),
                NONCE_BYTES.start(),
                NONCE_BYTES.end()
            )));
        }
        Ok(Self {
            nonce,
            data: Input::new(data, "data")?,
            associated_data: Input::optional(associated_data)?,
        })
    }

    /// Returns nonce and associated data, copied if the output overwrites them.
    fn apart_from(&self, region: &Region) -> (Cow<'_, [u8]>, Cow<'_, [u8]>) {
        let apart = |bytes| match region.writes_to(bytes) {
            true => Cow::Owned(bytes.to_vec()),
            false => Cow::Borrowed(bytes),
        };
        (apart(self.nonce.bytes()), apart(self.aad()))
    }

    fn aad(&self) -> &[u8] {
        Input::or_empty(&self.associated_data)
    }

    /// Returns ciphertext and tag.
    fn parts(&self) -> PyResult<(&[u8], [u8; TAG_BYTES])> {
        let (data, tag) = self.data.bytes().split_last_chunk().ok_or_else(|| {
            AuthenticationFailed::new_err(format!(
                "data has {} bytes, which is shorter than a tag of {TAG_BYTES}",
                self.data.bytes().len()
            ))
        })?;
        Ok((data, *tag))
    }
}

macro_rules! aead_class {
    ($(#[$doc:meta])* $class:ident, $name:literal, |$key:ident| $algorithm:expr, { $($generate:tt)* }) => {
        $(#[$doc])*
        #[pyclass(frozen, module = "oarlock", name = $name)]
        pub struct $class(Aead);

        #[pymethods]
        impl $class {
            #[new]
            fn new($key: &Bound<'_, PyAny>) -> PyResult<Self> {
                let algorithm = $algorithm;
                Aead::new(algorithm?, $key).map(Self)
            }

            $($generate)*

            /// Encrypt and authenticate data.
            ///
            /// Returns the ciphertext with the tag of 16 bytes behind it. Never use a nonce twice with one key.
            ///
            /// Raises ValueError for an invalid nonce length.
            #[pyo3(signature = (nonce, data, associated_data=None))]
            fn encrypt<'py>(
                &self,
                py: Python<'py>,
                nonce: &Bound<'py, PyAny>,
                data: &Bound<'py, PyAny>,
                associated_data: Option<&Bound<'py, PyAny>>,
            ) -> PyResult<Bound<'py, PyBytes>> {
                self.0.encrypt(py, &Message::new(nonce, data, associated_data)?)
            }

            /// Encrypt data into `buf`, which is 16 bytes longer than `data` and may begin with it.
            ///
            /// Returns the number of bytes written.
            #[pyo3(signature = (nonce, data, associated_data, buf))]
            fn encrypt_into(
                &self,
                py: Python<'_>,
                nonce: &Bound<'_, PyAny>,
                data: &Bound<'_, PyAny>,
                associated_data: Option<&Bound<'_, PyAny>>,
                buf: &Bound<'_, PyAny>,
            ) -> PyResult<usize> {
                let message = Message::new(nonce, data, associated_data)?;
                self.0.encrypt_into(py, &message, &Output::new(buf, "buf")?)
            }

            /// Decrypt data that ends with its tag.
            ///
            /// Raises AuthenticationFailed, and releases no plaintext, if data, nonce, associated data or key are not
            /// those of the encryption.
            #[pyo3(signature = (nonce, data, associated_data=None))]
            fn decrypt<'py>(
                &self,
                py: Python<'py>,
                nonce: &Bound<'py, PyAny>,
                data: &Bound<'py, PyAny>,
                associated_data: Option<&Bound<'py, PyAny>>,
            ) -> PyResult<Bound<'py, PyBytes>> {
                self.0.decrypt(py, &Message::new(nonce, data, associated_data)?)
            }

            /// Decrypt data into `buf`, which is 16 bytes shorter than `data` and may begin with it.
            ///
            /// Returns the number of bytes written. If the data is not authentic, `buf` is the ciphertext in place, and
            /// zeros otherwise.
            #[pyo3(signature = (nonce, data, associated_data, buf))]
            fn decrypt_into(
                &self,
                py: Python<'_>,
                nonce: &Bound<'_, PyAny>,
                data: &Bound<'_, PyAny>,
                associated_data: Option<&Bound<'_, PyAny>>,
                buf: &Bound<'_, PyAny>,
            ) -> PyResult<usize> {
                let message = Message::new(nonce, data, associated_data)?;
                self.0.decrypt_into(py, &message, &Output::new(buf, "buf")?)
            }

            fn __reduce__(&self) -> PyResult<()> {
                Err(no_pickle($name))
            }
        }
    };
}

/// Returns the error of an attempt to pickle or copy a key.
pub fn no_pickle(class: &str) -> PyErr {
    PyTypeError::new_err(format!("{class} holds a key and cannot be pickled"))
}

aead_class! {
    /// AES-GCM (SP 800-38D) with a key of 16, 24 or 32 bytes.
    ///
    /// >>> aead = AESGCM(bytes(32))
    /// >>> sealed = aead.encrypt(bytes(12), b"attack at dawn", b"header")
    /// >>> aead.decrypt(bytes(12), sealed, b"header")
    /// b'attack at dawn'
    AesGcm, "AESGCM", |key| aes_gcm(key), {
        /// Return a random key of `bit_length` bits: 128, 192 or 256.
        #[staticmethod]
        fn generate_key(
            py: Python<'_>,
            #[pyo3(from_py_with = word)] bit_length: u32,
        ) -> PyResult<Bound<'_, PyBytes>> {
            generate_key(py, bit_length)
        }
    }
}

aead_class! {
    /// ChaCha20-Poly1305 (RFC 8439) with a key of 32 bytes.
    ChaCha20Poly1305, "ChaCha20Poly1305", |key| Ok::<_, PyErr>(Algorithm::ChaCha20Poly1305), {
        /// Return a random key of 32 bytes.
        #[staticmethod]
        fn generate_key(py: Python<'_>) -> PyResult<Bound<'_, PyBytes>> {
            random_bytes(py, 32)
        }
    }
}

/// Returns the algorithm for a key of this length.
fn aes_gcm(key: &Bound<'_, PyAny>) -> PyResult<Algorithm> {
    Ok(match Input::new(key, "key")?.bytes().len() {
        16 => Algorithm::Aes128Gcm,
        24 => Algorithm::Aes192Gcm,
        32 => Algorithm::Aes256Gcm,
        bytes => {
            return Err(PyValueError::new_err(format!(
                "key has {bytes} bytes, but AES needs 16, 24 or 32"
            )));
        }
    })
}

/// Returns the session of an object of one of these classes.
pub fn session_of<'py>(object: &'py Bound<'_, PyAny>) -> Option<&'py AcceleratedAead> {
    if let Ok(aead) = object.cast::<AesGcm>() {
        return Some(&aead.get().0.0);
    }
    let aead = object.cast::<ChaCha20Poly1305>().ok()?;
    Some(&aead.get().0.0)
}

/// Return a random key of `bit_length` bits.
#[pyfunction]
pub fn generate_key(
    py: Python<'_>,
    #[pyo3(from_py_with = word)] bit_length: u32,
) -> PyResult<Bound<'_, PyBytes>> {
    match bit_length {
        128 | 192 | 256 => random_bytes(py, bit_length as usize / 8),
        _ => Err(PyValueError::new_err(format!(
            "bit_length must be 128, 192 or 256, not {bit_length}"
        ))),
    }
}
