//! Ciphers without authentication: stream ciphers, which have a position, and AES-CBC.

use oarlock::cipher::{AcceleratedCbc, AcceleratedCtr, AnyStream, StreamCipher, StreamCipherSeek};
use oarlock::{Algorithm, Error};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zeroize::Zeroizing;

use crate::aead::no_pickle;
use crate::buffer::{Input, Output};
use crate::engine::{accelerator, compute};
use crate::exclusive::{Exclusive, LeftByParent};
use crate::failure::exception;
use crate::memory::reserved;
use crate::numbers::long;
use crate::region::{NewBytes, Region, copied};

/// A stream cipher with a position: AES in counter mode (SP 800-38A) with a key of 16, 24 or 32 bytes and an IV of 16.
///
/// `algorithm` names another cipher, such as "chacha20" or "camellia-256-ctr". Encryption and decryption are the same.
///
/// >>> cipher = CTR(bytes(32), bytes(16))
/// >>> secret = cipher.update(b"attack at dawn")
/// >>> cipher.seek(0)
/// >>> cipher.update(secret)
/// b'attack at dawn'
#[pyclass(frozen, module = "oarlock", name = "CTR")]
pub struct Ctr(Exclusive<AcceleratedCtr<AnyStream>>);

impl Ctr {
    fn apply(&self, py: Python<'_>, bytes: usize, mut region: Region) -> PyResult<()> {
        let done = compute(py, bytes, || {
            // SAFETY: both callers borrow what the region was made of.
            let data = unsafe { region.in_out() };
            let mut stream = self.0.lock()?;
            Ok::<_, LeftByParent>(stream.try_apply_keystream_inout(data))
        });
        done?.map_err(|_| PyValueError::new_err("the cipher has no keystream for so much data"))
    }
}

#[pymethods]
impl Ctr {
    #[new]
    #[pyo3(signature = (key, iv, algorithm=None))]
    fn new(
        key: &Bound<'_, PyAny>,
        iv: &Bound<'_, PyAny>,
        algorithm: Option<&str>,
    ) -> PyResult<Self> {
        let (key, iv) = (Input::new(key, "key")?, Input::new(iv, "iv")?);
        let algorithm = match algorithm {
            Some(name) => Algorithm::ALL
                .iter()
                .copied()
                .find(|one| one.name().eq_ignore_ascii_case(name))
                .ok_or_else(|| PyValueError::new_err(format!("unknown algorithm {name:?}")))?,
            None => match key.bytes().len() {
                16 => Algorithm::Aes128Ctr,
                24 => Algorithm::Aes192Ctr,
                32 => Algorithm::Aes256Ctr,
                bytes => {
                    return Err(PyValueError::new_err(format!(
                        "key has {bytes} bytes, but AES needs 16, 24 or 32"
                    )));
                }
            },
        };
        let stream = accelerator()?.stream(algorithm, key.bytes(), iv.bytes());
        Ok(Self(Exclusive::new(
            stream.map_err(|error| exception(&error))?,
        )))
    }

    /// Encrypt or decrypt the next bytes.
    fn update<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'_, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let data = Input::new(data, "data")?;
        let data = data.bytes();
        let mut output = NewBytes::new(py, data.len())?;
        let region = Region::between(data, output.bytes());
        self.apply(py, data.len(), region)?;
        Ok(output.into_object())
    }

    /// Encrypt or decrypt the next bytes into `buf`, which is as long as `data` and may be the same buffer.
    ///
    /// Returns the number of bytes written.
    fn update_into(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        buf: &Bound<'_, PyAny>,
    ) -> PyResult<usize> {
        let (data, buf) = (Input::new(data, "data")?, Output::new(buf, "buf")?);
        let bytes = data.bytes().len();
        self.apply(py, bytes, Region::into_buffer(&data, bytes, &buf, bytes)?)?;
        Ok(bytes)
    }

    /// Set the position in bytes from the start of the message.
    fn seek(&self, #[pyo3(from_py_with = long)] position: u64) -> PyResult<()> {
        let moved = self.0.lock()?.try_seek(position);
        moved.map_err(|_| {
            PyValueError::new_err(format!("position {position} is beyond the cipher's end"))
        })
    }

    /// Return the position in bytes.
    fn tell(&self) -> PyResult<u64> {
        let position = self.0.lock()?.try_current_pos();
        position.map_err(|_| PyValueError::new_err("the position has more than 64 bits"))
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(no_pickle("CTR"))
    }
}

/// AES-CBC (SP 800-38A) with PKCS#7 padding, for existing formats. It authenticates nothing: use AESGCM in new ones.
#[pyclass(frozen, module = "oarlock", name = "CBC")]
pub struct Cbc(Zeroizing<Vec<u8>>);

#[pymethods]
impl Cbc {
    #[new]
    fn new(key: &Bound<'_, PyAny>) -> PyResult<Self> {
        let key = Input::new(key, "key")?;
        let checked = accelerator()?.cbc(key.bytes(), &[0; 16]);
        checked.map_err(|error| exception(&error))?;
        Ok(Self(Zeroizing::new(key.bytes().to_vec())))
    }

    /// Encrypt a message. Without padding its length must be a multiple of 16 bytes.
    #[pyo3(signature = (iv, data, padding=true))]
    fn encrypt<'py>(
        &self,
        py: Python<'py>,
        iv: &Bound<'_, PyAny>,
        data: &Bound<'_, PyAny>,
        padding: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        self.crypt(py, iv, data, |cbc, data| {
            if padding {
                cbc.encrypt_padded(data)
            } else {
                cbc.encrypt(data.as_mut_slice().into())
            }
        })
    }

    /// Decrypt a message.
    ///
    /// Raises DecryptionFailed for wrong padding. Do not let an attacker learn whether it was raised.
    #[pyo3(signature = (iv, data, padding=true))]
    fn decrypt<'py>(
        &self,
        py: Python<'py>,
        iv: &Bound<'_, PyAny>,
        data: &Bound<'_, PyAny>,
        padding: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        self.crypt(py, iv, data, |cbc, data| {
            if padding {
                cbc.decrypt_padded(data)
            } else {
                cbc.decrypt(data.as_mut_slice().into())
            }
        })
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(no_pickle("CBC"))
    }
}

enum Failed {
    Engine(Error),
    Memory,
}

impl Cbc {
    fn crypt<'py>(
        &self,
        py: Python<'py>,
        iv: &Bound<'_, PyAny>,
        data: &Bound<'_, PyAny>,
        work: impl FnOnce(&mut AcceleratedCbc, &mut Vec<u8>) -> Result<(), Error> + Send,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (iv, data) = (Input::new(iv, "iv")?, Input::new(data, "data")?);
        let (iv, data) = (iv.bytes(), data.bytes());
        let accelerator = accelerator()?;
        let done = compute(py, data.len(), || {
            // One block more for the padding.
            let mut copy = reserved(data.len() + 16).map_err(|_| Failed::Memory)?;
            copy.extend_from_slice(data);
            let mut data = Zeroizing::new(copy);
            let mut cbc = accelerator.cbc(&self.0, iv).map_err(Failed::Engine)?;
            let done = work(&mut cbc, &mut data);
            done.map(|()| data).map_err(Failed::Engine)
        });
        match done {
            Ok(data) => copied(py, &data),
            Err(Failed::Engine(error)) => Err(exception(&error)),
            Err(Failed::Memory) => Err(PyMemoryError::new_err(())),
        }
    }
}
