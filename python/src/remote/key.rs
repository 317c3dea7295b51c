//! Private keys that stay on cryptoservers, which sign and decrypt; signatures are verified here.

use std::sync::Arc;

use oarlock::Error;
use oarlock::job::Job;
use oarlock::keys::{AcceleratedPublicKey, KeyType, Scheme};
use oarlock::rsa::{EncryptionScheme, Hash};
use oarlock_engine::hash::{DIGEST_BYTES_MAX, Digest};
use oarlock_net::client::{CallOptions, Client, Operation, compute as compute_elsewhere};
use oarlock_net::proto;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::manage::public_half;
use super::{Answer, NoAnswer, Request, Servers};
use crate::aead::no_pickle;
use crate::buffer::{Input, Owned};
use crate::engine::compute;
use crate::failure::exception;
use crate::hmac::SLOWER;
use crate::key::{PublicKey, encryption_scheme, not_rsa, scheme};
use crate::memory::owned;

/// A private key that stays on a cryptoserver.
#[pyclass(frozen, module = "oarlock")]
pub struct RemoteKey {
    servers: Arc<Servers>,
    id: String,
    public: AcceleratedPublicKey,
    /// The version whose public half that is; 0 for a key without versions, or if nobody asked the server.
    version: u32,
    /// The operations that the server permits this client; `None` if the server was not asked.
    operations: Option<Vec<&'static str>>,
}

/// The input of a signature.
pub enum Content<'a> {
    Message(&'a [u8]),
    Digest(&'a [u8]),
    /// A message that another thread is to hash, which gets a copy.
    Long(&'a [u8]),
    /// The same, of an object that does not change.
    Kept(Owned),
}

/// A message that outlives the call.
enum LongMessage {
    Kept(Owned),
    Copied(Vec<u8>),
}

impl LongMessage {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Kept(object) => object.bytes(),
            Self::Copied(bytes) => bytes,
        }
    }
}

impl<'a> Content<'a> {
    /// Returns a message for a thread that must not be held up.
    pub fn of_loop(object: &Bound<'_, PyAny>, input: &'a Input<'_>) -> PyResult<Self> {
        match input.bytes() {
            short if short.len() <= HASHED_HERE_BYTES_MAX => Ok(Self::Message(short)),
            _ if object.is_exact_instance_of::<PyBytes>() => {
                Owned::new(object, || "data".to_owned()).map(Self::Kept)
            }
            long => Ok(Self::Long(long)),
        }
    }
}

impl RemoteKey {
    /// Returns a key that was not listed, by the public half of a version.
    pub fn new(
        servers: Arc<Servers>,
        id: String,
        public: AcceleratedPublicKey,
        version: u32,
    ) -> Self {
        Self {
            servers,
            id,
            public,
            version,
            operations: None,
        }
    }

    /// Returns a key of a list, or an older version of it.
    pub fn listed(
        servers: &Arc<Servers>,
        mut key: proto::Key,
        version: Option<u32>,
    ) -> PyResult<Self> {
        if let Some(version) = version {
            key = of_version(key, version)?;
        }
        let public = public_half(&key.id, &key.public_key)?;
        let operations = key.permissions().filter_map(|permission| {
            Some(match permission {
                proto::Permission::Sign => "sign",
                proto::Permission::Decrypt => "decrypt",
                proto::Permission::RawPrivate => "raw_private",
                _ => return None,
            })
        });
        Ok(Self {
            servers: Arc::clone(servers),
            public,
            version: key.version,
            operations: Some(operations.collect()),
            id: key.id,
        })
    }

    /// Starts to sign a message, or the digest of one.
    pub fn submit_sign(
        &self,
        scheme: Option<&str>,
        content: Content<'_>,
    ) -> PyResult<Result<Job<Answer>, NoAnswer>> {
        let work = self.signing(scheme, content)?;
        Ok(self.servers.submit(work))
    }

    /// Returns the signature of a message, or of the digest of one. Other Python threads run while a long message is hashed.
    fn signed<'py>(
        &self,
        py: Python<'py>,
        scheme: Option<&str>,
        content: Content<'_>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = match &content {
            Content::Message(bytes) => bytes.len(),
            _ => 0,
        };
        let work = compute(py, bytes.saturating_mul(SLOWER), || {
            self.signing(scheme, content)
        })?;
        self.servers.answered(py, work)
    }

    /// Starts to decrypt.
    pub fn submit_decrypt(
        &self,
        scheme: &str,
        ciphertext: &[u8],
    ) -> PyResult<Result<Job<Answer>, NoAnswer>> {
        let work = self.decrypting(scheme, ciphertext)?;
        Ok(self.servers.submit(work))
    }

    /// Returns what signs. The signature is checked: a wrong one could reveal the key.
    fn signing(
        &self,
        scheme: Option<&str>,
        content: Content<'_>,
    ) -> PyResult<impl FnOnce(Client) -> Request + Send + use<>> {
        let key_type = self.public.key().key_type();
        let scheme = self::scheme(key_type, scheme)?;
        let number = proto::SignatureScheme::of(key_type, &scheme).ok_or_else(|| {
            PyValueError::new_err(format!(
                "a server has no such signatures by a key of {key_type}: use the scheme that is the default"
            ))
        })?;
        let hash = match &scheme {
            Scheme::Rsa(scheme) => Some(scheme.hash()),
            Scheme::Ecdsa(hash) => Some(*hash),
            _ => None,
        };
        let content = match (content, hash) {
            (Content::Kept(object), Some(hash)) => Signed::Later(hash, LongMessage::Kept(object)),
            (Content::Long(message), Some(hash)) => {
                Signed::Later(hash, LongMessage::Copied(owned(message)?))
            }
            (Content::Message(message), Some(hash)) => Signed::Now(digest(hash, message)),
            (Content::Message(message) | Content::Long(message), None) => {
                Signed::Now(whole(message, key_type)?)
            }
            (Content::Kept(object), None) => Signed::Now(whole(object.bytes(), key_type)?),
            (Content::Digest(digest), Some(hash)) if digest.len() != hash.bytes() => {
                return Err(PyValueError::new_err(format!(
                    "digest has {} bytes, but the scheme needs {}",
                    digest.len(),
                    hash.bytes()
                )));
            }
            (Content::Digest(digest), Some(_)) => Signed::Now(owned(digest)?),
            (Content::Digest(_), None) => {
                return Err(PyValueError::new_err(format!(
                    "a key of {key_type} signs messages only, not digests"
                )));
            }
        };
        let (id, public) = (self.id.clone(), self.public.clone());
        Ok(move |client: Client| {
            Box::pin(async move {
                let content = match content {
                    Signed::Now(bytes) => Ok(bytes),
                    Signed::Later(hash, message) => {
                        compute_elsewhere(move || digest(hash, message.bytes())).await
                    }
                };
                let content = content.map_err(NoAnswer::Client)?;
                let operation = Operation::Sign(proto::Sign {
                    key_id: id.clone(),
                    scheme: number.into(),
                    digest: content.clone(),
                });
                let signature = client.call(operation, CallOptions::default()).await;
                let signature = signature.map_err(NoAnswer::Client)?;
                let verified = match hash {
                    Some(_) => public.verify_digest(&scheme, &content, &signature),
                    None => public.verify(&scheme, &content, &signature),
                };
                verified.map_err(|_| NoAnswer::WrongSignature(id))?;
                Ok(signature)
            }) as Request
        })
    }

    fn decrypting(
        &self,
        scheme: &str,
        ciphertext: &[u8],
    ) -> PyResult<impl FnOnce(Client) -> Request + Send + use<>> {
        let number = match encryption_scheme(scheme)? {
            EncryptionScheme::Pkcs1 => proto::EncryptionScheme::RsaPkcs1,
            EncryptionScheme::Oaep {
                hash: Hash::Sha1, ..
            } => proto::EncryptionScheme::RsaOaepSha1,
            EncryptionScheme::Oaep {
                hash: Hash::Sha256, ..
            } => proto::EncryptionScheme::RsaOaepSha256,
            EncryptionScheme::Oaep {
                hash: Hash::Sha384, ..
            } => proto::EncryptionScheme::RsaOaepSha384,
            EncryptionScheme::Oaep {
                hash: Hash::Sha512, ..
            } => proto::EncryptionScheme::RsaOaepSha512,
            _ => {
                return Err(PyValueError::new_err(format!(
                    "a server does not decrypt by {scheme:?}"
                )));
            }
        };
        let key = self.public.key();
        let rsa = key.as_rsa().ok_or_else(|| not_rsa(key.key_type().name()))?;
        if ciphertext.len() > rsa.bits().div_ceil(8) {
            return Err(exception(&Error::DecryptionFailed));
        }
        let operation = Operation::Decrypt(proto::Decrypt {
            key_id: self.id.clone(),
            scheme: number.into(),
            ciphertext: owned(ciphertext)?,
            label: Vec::new(),
            key_version: self.version,
        });
        Ok(move |client: Client| {
            Box::pin(async move {
                let decrypted = client.call(operation, CallOptions::default()).await;
                decrypted.map_err(NoAnswer::Client)
            }) as Request
        })
    }
}

#[pymethods]
impl RemoteKey {
    /// The ID of the key on the server.
    #[getter]
    fn id(&self) -> &str {
        &self.id
    }

    /// The type of the key, such as "P-256".
    #[getter]
    fn key_type(&self) -> &'static str {
        self.public.key().key_type().name()
    }

    /// The operations that the server permits this client: a list of "sign", "decrypt" and "raw_private"; None if the key was not listed.
    #[getter]
    fn operations(&self) -> Option<Vec<&'static str>> {
        self.operations.clone()
    }

    /// The number of the version that decrypts, whose public half this is; None if the key has no versions or was not listed.
    /// The server signs by the newest version only.
    #[getter]
    fn version(&self) -> Option<u32> {
        Some(self.version).filter(|version| *version > 0)
    }

    /// Return the public half.
    fn public_key(&self) -> PublicKey {
        PublicKey::of_session(self.public.clone())
    }

    /// Sign a message. `scheme` is that of `PrivateKey.sign`. Only digests are sent, except with Ed25519 and ML-DSA.
    #[pyo3(signature = (data, scheme=None))]
    fn sign<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'_, PyAny>,
        scheme: Option<&str>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let data = Input::new(data, "data")?;
        self.signed(py, scheme, Content::Message(data.bytes()))
    }

    /// Sign the digest of a message, made by the scheme's hash function.
    #[pyo3(signature = (digest, scheme=None))]
    fn sign_digest<'py>(
        &self,
        py: Python<'py>,
        digest: &Bound<'_, PyAny>,
        scheme: Option<&str>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let digest = Input::new(digest, "digest")?;
        self.signed(py, scheme, Content::Digest(digest.bytes()))
    }

    /// Decrypt with an RSA key. `scheme` is that of `PrivateKey.decrypt`.
    #[pyo3(signature = (ciphertext, scheme="rsa-oaep-sha256"))]
    fn decrypt<'py>(
        &self,
        py: Python<'py>,
        ciphertext: &Bound<'_, PyAny>,
        scheme: &str,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let ciphertext = Input::new(ciphertext, "ciphertext")?;
        let work = self.decrypting(scheme, ciphertext.bytes())?;
        self.servers.answered(py, work)
    }

    fn __repr__(&self) -> String {
        format!("<oarlock.RemoteKey '{}' of {}>", self.id, self.key_type())
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(no_pickle("RemoteKey"))
    }
}

/// Returns the entry of an older version of a key, which signs no more, or of the newest.
fn of_version(mut key: proto::Key, version: u32) -> PyResult<proto::Key> {
    if version == key.version && version > 0 {
        return Ok(key);
    }
    let Some(place) = key.older.iter().position(|older| older.version == version) else {
        let mut numbers: Vec<_> = key.older.iter().map(|older| older.version).collect();
        numbers.push(key.version);
        return Err(PyValueError::new_err(match key.version {
            0 => format!("key {:?} has no versions", key.id),
            _ => format!("key {:?} has no version {version}, but {numbers:?}", key.id),
        }));
    };
    key.public_key = key.older.swap_remove(place).public_key;
    key.version = version;
    let decrypt: i32 = proto::Permission::Decrypt.into();
    key.permissions.retain(|permission| *permission == decrypt);
    Ok(key)
}

/// The input of a signature by a server: complete, or a message that has yet to be hashed.
enum Signed {
    Now(Vec<u8>),
    Later(Hash, LongMessage),
}

/// Returns a message that is sent as it is.
fn whole(message: &[u8], key_type: KeyType) -> PyResult<Vec<u8>> {
    if message.len() > MESSAGE_BYTES_MAX {
        return Err(PyValueError::new_err(format!(
            "data has {} bytes, but a server signs at most {MESSAGE_BYTES_MAX} by a key of {key_type}",
            message.len()
        )));
    }
    Ok(owned(message)?)
}

fn digest(hash: Hash, message: &[u8]) -> Vec<u8> {
    let mut digest = Digest::new(hash);
    digest.update(message);
    let mut bytes = [0; DIGEST_BYTES_MAX];
    let count = digest.finish(&mut bytes);
    bytes[..count].to_vec()
}

/// The longest message that an event loop's thread hashes: some 50 us.
const HASHED_HERE_BYTES_MAX: usize = 32 << 10;
/// The most bytes of a message that is signed without a hash function, as the protocol says.
const MESSAGE_BYTES_MAX: usize = 65_536;
