//! Keys: RSA, elliptic curves, ML-KEM and ML-DSA.

use oarlock::keys::{AcceleratedKey, AcceleratedPublicKey, KeyType, Scheme};
use oarlock::rsa::{EncryptionScheme, Hash, RsaPrivateKey, SignatureScheme};
use oarlock::{Error, keys};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::aead::no_pickle;
use crate::buffer::Input;
use crate::engine::{accelerator, compute};
use crate::failure::exception;
use crate::numbers::word;

/// The cost of a public-key operation for [`compute`]: every one releases the GIL.
const LONG: usize = usize::MAX;

/// A private key of any type: RSA, P-256, P-384, P-521, Ed25519, X25519, ML-KEM or ML-DSA.
///
/// >>> key = PrivateKey.generate("Ed25519")
/// >>> key.public_key().verify(key.sign(b"message"), b"message")
#[pyclass(frozen, module = "oarlock")]
pub struct PrivateKey(AcceleratedKey);

/// A public key of any type.
#[pyclass(frozen, module = "oarlock")]
pub struct PublicKey(AcceleratedPublicKey);

impl PrivateKey {
    fn new(key: &keys::PrivateKey) -> PyResult<Self> {
        Ok(Self(accelerator()?.key(key)))
    }

    /// Returns the session of the key.
    pub fn session(&self) -> &AcceleratedKey {
        &self.0
    }

    /// Returns the scheme with a name, or the usual one of the key's type.
    pub fn scheme(&self, name: Option<&str>) -> PyResult<Scheme> {
        scheme(self.0.key().key_type(), name)
    }
}

#[pymethods]
impl PrivateKey {
    /// Generate a key. `key_type` is one of RSA (with `bits`: 2048, 3072 or 4096), P-256, P-384, P-521, Ed25519, X25519, ML-KEM-512, ML-KEM-768,
    /// ML-KEM-1024, ML-DSA-44, ML-DSA-65 and ML-DSA-87.
    #[staticmethod]
    #[pyo3(signature = (key_type, bits=None))]
    fn generate(py: Python<'_>, key_type: &str, bits: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let bits = bits.map(rsa_bits).transpose()?;
        let named = KeyType::named(key_type).ok_or_else(|| {
            let names: Vec<_> = KeyType::ALL.iter().map(|one| one.name()).collect();
            PyValueError::new_err(format!(
                "key_type must be one of {}, not {key_type:?}",
                names.join(", ")
            ))
        })?;
        let key = py.detach(|| match (named, bits) {
            (_, None) => keys::PrivateKey::generate(named),
            (KeyType::Rsa, Some(bits)) => RsaPrivateKey::generate(bits).map(Into::into),
            (_, Some(_)) => Err(Error::InvalidInput("bits is for RSA keys".to_owned())),
        });
        Self::new(&key.map_err(|error| exception(&error))?)
    }

    /// Read a key: PEM or DER of PKCS#8, SEC 1 or PKCS#1, or an OpenSSH private key, without a passphrase.
    #[staticmethod]
    fn from_bytes(data: &Bound<'_, PyAny>) -> PyResult<Self> {
        let data = Input::new(data, "data")?;
        let key = keys::PrivateKey::from_bytes(data.bytes());
        Self::new(&key.map_err(|error| unreadable(data.bytes(), &error))?)
    }

    /// The type of the key, such as "P-256".
    #[getter]
    fn key_type(&self) -> &'static str {
        self.0.key().key_type().name()
    }

    /// Return the public half.
    fn public_key(&self) -> PyResult<PublicKey> {
        PublicKey::new(self.0.key().public_key())
    }

    /// Return the key as PEM (PKCS#8), not encrypted.
    fn to_pem<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let pem = self.0.key().to_pkcs8_pem();
        Ok(PyBytes::new(
            py,
            pem.map_err(|error| exception(&error))?.as_bytes(),
        ))
    }

    /// Return the key as DER (PKCS#8), not encrypted.
    fn to_der<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let der = self.0.key().to_pkcs8_der();
        Ok(PyBytes::new(py, &der.map_err(|error| exception(&error))?))
    }

    /// Sign a message.
    ///
    /// `scheme` is one of rsa-pss-sha256, rsa-pkcs1-sha256 (both also with sha384 and sha512), ecdsa-sha256, ecdsa-sha384,
    /// ecdsa-sha512, ed25519 and ml-dsa; by default rsa-pss-sha256, ECDSA with the hash that fits the curve, or the only
    /// scheme of the type.
    #[pyo3(signature = (data, scheme=None))]
    fn sign<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'_, PyAny>,
        scheme: Option<&str>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let scheme = self.scheme(scheme)?;
        let data = Input::new(data, "data")?;
        let data = data.bytes();
        result(py, compute(py, LONG, || self.0.sign(&scheme, data)))
    }

    /// Sign the digest of a message, made by the scheme's hash function.
    #[pyo3(signature = (digest, scheme=None))]
    fn sign_digest<'py>(
        &self,
        py: Python<'py>,
        digest: &Bound<'_, PyAny>,
        scheme: Option<&str>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let scheme = self.scheme(scheme)?;
        let digest = Input::new(digest, "digest")?;
        let digest = digest.bytes();
        result(
            py,
            compute(py, LONG, || self.0.sign_digest(&scheme, digest)),
        )
    }

    /// Agree on a secret with the owner of another key (ECDH, X25519).
    fn exchange<'py>(
        &self,
        py: Python<'py>,
        peer: &Bound<'_, PublicKey>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let peer = peer.get().0.key();
        result(py, compute(py, LONG, || self.0.agree(peer)))
    }

    /// Return the secret that an ML-KEM ciphertext carries.
    fn decapsulate<'py>(
        &self,
        py: Python<'py>,
        ciphertext: &Bound<'_, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let ciphertext = Input::new(ciphertext, "ciphertext")?;
        let ciphertext = ciphertext.bytes();
        result(py, compute(py, LONG, || self.0.decapsulate(ciphertext)))
    }

    /// Decrypt with an RSA key. `scheme` is rsa-oaep-sha256 (the default; also sha1, sha384, sha512) or rsa-pkcs1.
    #[pyo3(signature = (ciphertext, scheme="rsa-oaep-sha256"))]
    fn decrypt<'py>(
        &self,
        py: Python<'py>,
        ciphertext: &Bound<'_, PyAny>,
        scheme: &str,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let scheme = encryption_scheme(scheme)?;
        let rsa = self.0.as_rsa().ok_or_else(|| not_rsa(self.key_type()))?;
        let ciphertext = Input::new(ciphertext, "ciphertext")?;
        let ciphertext = ciphertext.bytes();
        result(py, compute(py, LONG, || rsa.decrypt(&scheme, ciphertext)))
    }

    fn __repr__(&self) -> String {
        format!("<oarlock.PrivateKey of {}>", self.key_type())
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(no_pickle("PrivateKey"))
    }
}

impl PublicKey {
    fn new(key: &keys::PublicKey) -> PyResult<Self> {
        Ok(Self(accelerator()?.public_key(key)))
    }

    pub fn of_session(session: AcceleratedPublicKey) -> Self {
        Self(session)
    }

    fn spki(&self) -> PyResult<Vec<u8>> {
        let der = self.0.key().to_spki_der();
        der.map_err(|error| exception(&error))
    }

    /// Returns the session of the key.
    pub fn session(&self) -> &AcceleratedPublicKey {
        &self.0
    }
}

#[pymethods]
impl PublicKey {
    /// Read a key: PEM or DER of SubjectPublicKeyInfo or PKCS#1, or an OpenSSH public key.
    #[staticmethod]
    fn from_bytes(data: &Bound<'_, PyAny>) -> PyResult<Self> {
        let data = Input::new(data, "data")?;
        let key = keys::PublicKey::from_bytes(data.bytes());
        Self::new(&key.map_err(|error| unreadable(data.bytes(), &error))?)
    }

    /// The type of the key, such as "P-256".
    #[getter]
    fn key_type(&self) -> &'static str {
        self.0.key().key_type().name()
    }

    /// Return the key as PEM (SubjectPublicKeyInfo).
    fn to_pem<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let pem = self.0.key().to_spki_pem();
        Ok(PyBytes::new(
            py,
            pem.map_err(|error| exception(&error))?.as_bytes(),
        ))
    }

    /// Return the key as DER (SubjectPublicKeyInfo).
    fn to_der<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        result(py, self.0.key().to_spki_der())
    }

    /// Verify a signature of a message. Raises InvalidSignature.
    #[pyo3(signature = (signature, data, scheme=None))]
    fn verify(
        &self,
        py: Python<'_>,
        signature: &Bound<'_, PyAny>,
        data: &Bound<'_, PyAny>,
        scheme: Option<&str>,
    ) -> PyResult<()> {
        let scheme = self::scheme(self.0.key().key_type(), scheme)?;
        let (signature, data) = (
            Input::new(signature, "signature")?,
            Input::new(data, "data")?,
        );
        let (signature, data) = (signature.bytes(), data.bytes());
        let verified = compute(py, LONG, || self.0.verify(&scheme, data, signature));
        verified.map_err(|error| exception(&error))
    }

    /// Verify a signature of a message by its digest. Raises InvalidSignature.
    #[pyo3(signature = (signature, digest, scheme=None))]
    fn verify_digest(
        &self,
        py: Python<'_>,
        signature: &Bound<'_, PyAny>,
        digest: &Bound<'_, PyAny>,
        scheme: Option<&str>,
    ) -> PyResult<()> {
        let scheme = self::scheme(self.0.key().key_type(), scheme)?;
        let (signature, digest) = (
            Input::new(signature, "signature")?,
            Input::new(digest, "digest")?,
        );
        let (signature, digest) = (signature.bytes(), digest.bytes());
        let verified = compute(py, LONG, || {
            self.0.verify_digest(&scheme, digest, signature)
        });
        verified.map_err(|error| exception(&error))
    }

    /// Generate a secret. Returns (secret, ciphertext): the owner of the ML-KEM key decapsulates the ciphertext.
    fn encapsulate<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let both = compute(py, LONG, || self.0.encapsulate());
        let (ciphertext, secret) = both.map_err(|error| exception(&error))?;
        Ok((PyBytes::new(py, &secret), PyBytes::new(py, &ciphertext)))
    }

    /// Encrypt a short message with an RSA key. `scheme` is that of `PrivateKey.decrypt`.
    #[pyo3(signature = (data, scheme="rsa-oaep-sha256"))]
    fn encrypt<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'_, PyAny>,
        scheme: &str,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let scheme = encryption_scheme(scheme)?;
        let rsa = self.0.as_rsa().ok_or_else(|| not_rsa(self.key_type()))?;
        let data = Input::new(data, "data")?;
        let data = data.bytes();
        result(py, compute(py, LONG, || rsa.encrypt(&scheme, data)))
    }

    fn __eq__(&self, other: &Self) -> PyResult<bool> {
        Ok(self.spki()? == other.spki()?)
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.to_der(py)?.hash()
    }

    fn __repr__(&self) -> String {
        format!("<oarlock.PublicKey of {}>", self.key_type())
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let class = py.get_type::<Self>().getattr("from_bytes")?;
        Ok((class, (self.to_der(py)?,)))
    }
}

/// Returns the exception for data that is no key.
fn unreadable(data: &[u8], error: &Error) -> PyErr {
    let is_pem = data.windows(PEM.len()).any(|part| part == PEM);
    match data.first() {
        Some(&DER_SEQUENCE) => exception(error),
        _ if is_pem => exception(error),
        _ => PyValueError::new_err("neither PEM nor DER: give the contents of the key's file"),
    }
}

/// Returns the scheme with a name, or the usual one of a type.
pub fn scheme(key_type: KeyType, name: Option<&str>) -> PyResult<Scheme> {
    let Some(name) = name else {
        return Scheme::usual(key_type)
            .ok_or_else(|| PyValueError::new_err(format!("a key of {key_type} cannot sign")));
    };
    let unknown = || {
        PyValueError::new_err(format!(
            "unknown signature scheme {name:?}: those of a key of {key_type} are {}",
            scheme_names(key_type)
        ))
    };
    Ok(match name {
        "ed25519" => Scheme::Ed25519,
        "ml-dsa" => Scheme::ML_DSA,
        _ => {
            let (family, hash) = name.rsplit_once('-').ok_or_else(unknown)?;
            let hash = self::hash(hash).ok_or_else(unknown)?;
            match family {
                "rsa-pss" => Scheme::Rsa(SignatureScheme::Pss(hash)),
                "rsa-pkcs1" => Scheme::Rsa(SignatureScheme::Pkcs1(hash)),
                "ecdsa" => Scheme::Ecdsa(hash),
                _ => return Err(unknown()),
            }
        }
    })
}

pub fn encryption_scheme(name: &str) -> PyResult<EncryptionScheme> {
    let oaep = |hash| self::hash(hash).map(EncryptionScheme::oaep);
    match name.strip_prefix("rsa-oaep-") {
        Some(hash) => oaep(hash),
        None => (name == "rsa-pkcs1").then_some(EncryptionScheme::Pkcs1),
    }
    .ok_or_else(|| {
        PyValueError::new_err(format!(
            "unknown encryption scheme {name:?}: use rsa-oaep-sha256, -sha384 or -sha512, or rsa-pkcs1"
        ))
    })
}

fn scheme_names(key_type: KeyType) -> &'static str {
    match key_type {
        KeyType::Rsa => "rsa-pss-sha256 and rsa-pkcs1-sha256, also with sha384 and sha512",
        KeyType::Ec(_) => "ecdsa-sha256, ecdsa-sha384 and ecdsa-sha512",
        KeyType::Ed25519 => "ed25519",
        KeyType::MlDsa(_) => "ml-dsa",
        _ => "none: it cannot sign",
    }
}

/// Returns the hash function with a name, such as `sha256`.
pub fn hash(name: &str) -> Option<Hash> {
    Some(match name {
        "sha1" => Hash::Sha1,
        "sha224" => Hash::Sha224,
        "sha256" => Hash::Sha256,
        "sha384" => Hash::Sha384,
        "sha512" => Hash::Sha512,
        _ => return None,
    })
}

fn rsa_bits(bits: &Bound<'_, PyAny>) -> PyResult<u16> {
    let bits = word(bits)?;
    bits.try_into()
        .map_err(|_| PyValueError::new_err(format!("bits must be 2048, 3072 or 4096, not {bits}")))
}

pub fn not_rsa(key_type: &str) -> PyErr {
    PyValueError::new_err(format!(
        "only RSA keys encrypt, and this is one of {key_type}"
    ))
}

/// Returns the bytes of a result.
fn result<T: AsRef<[u8]>>(
    py: Python<'_>,
    result: Result<T, Error>,
) -> PyResult<Bound<'_, PyBytes>> {
    match result {
        Ok(bytes) => Ok(PyBytes::new(py, bytes.as_ref())),
        Err(error) => Err(exception(&error)),
    }
}

const PEM: &[u8] = b"-----BEGIN ";
const DER_SEQUENCE: u8 = 0x30;
