//! Calls that list the keys of a cryptoserver of every kind, and change them.

use std::collections::BTreeMap;
use std::pin::Pin;

use oarlock::job::Job;
use oarlock::keys::{self, AcceleratedPublicKey};
use oarlock_net::client::{CallOptions, Client};
use oarlock_net::proto::{self, KeyType};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::{Cryptoserver, NoAnswer, duration};
use crate::engine::accelerator;
use crate::failure::ServerError;
use crate::key::PublicKey;
use crate::numbers::word;

/// The entry of a key in the list of a cryptoserver: its type, versions and rights. The secret is not in it.
#[pyclass(frozen, module = "oarlock")]
pub struct KeyEntry {
    key: proto::Key,
    public: Option<AcceleratedPublicKey>,
}

/// The entry of a key after a change.
pub type Changed = Result<proto::Key, NoAnswer>;
/// The entries of all keys.
pub type Listed = Result<Vec<proto::Key>, NoAnswer>;

/// A call that is ready to be sent.
type Sending<T> = Box<dyn FnOnce(Client) -> Pin<Box<dyn Future<Output = T> + Send>> + Send>;

/// A change of a key.
#[derive(Clone, Copy)]
pub enum Change {
    Create(KeyType),
    /// A version that follows this one, or the newest.
    Rotate(Option<u32>),
    Disable,
    Enable,
}

impl Change {
    /// Returns the change that makes a key. The arguments are those of `Cryptoserver.create_key`.
    pub fn create(key_type: &str, bits: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let named = |(name, _): &&(&str, KeyType)| name.eq_ignore_ascii_case(key_type);
        let Some((_, kind)) = TYPES.iter().find(named) else {
            let names: Vec<_> = TYPES.iter().map(|(name, _)| *name).collect();
            return Err(PyValueError::new_err(format!(
                "key_type must be one of {}, not {key_type:?}",
                names.join(", ")
            )));
        };
        let bits = bits.map(word).transpose()?;
        Ok(Self::Create(match (kind, bits) {
            (_, None) | (KeyType::Rsa2048, Some(2048)) => *kind,
            (KeyType::Rsa2048, Some(3072)) => KeyType::Rsa3072,
            (KeyType::Rsa2048, Some(4096)) => KeyType::Rsa4096,
            (KeyType::Rsa2048, Some(bits)) => {
                return Err(PyValueError::new_err(format!(
                    "bits must be 2048, 3072 or 4096, not {bits}"
                )));
            }
            _ => return Err(PyValueError::new_err("bits is for RSA keys")),
        }))
    }

    /// Returns the change that makes a version.
    pub fn rotate(version: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        match version.map(word).transpose()? {
            Some(0) => Err(PyValueError::new_err(
                "version must be the number of a version, from 1 on",
            )),
            version => Ok(Self::Rotate(version)),
        }
    }

    /// Returns what sends the change, once.
    fn sending(self, id: String, timeout: Option<f64>) -> PyResult<Sending<Changed>> {
        let options = CallOptions {
            timeout: timeout.map(duration).transpose()?,
            ..CallOptions::default()
        };
        Ok(Box::new(move |client: Client| {
            Box::pin(async move {
                let changed = match self {
                    Self::Create(key_type) => client.create_key(&id, key_type, options).await,
                    Self::Rotate(version) => {
                        let version = match version {
                            Some(version) => version,
                            None => {
                                let newest = client.newest_version(&id).await;
                                newest.map_err(NoAnswer::Client)?
                            }
                        };
                        client.rotate_key(&id, version, options).await
                    }
                    Self::Disable => client.disable_key(&id, options).await,
                    Self::Enable => client.enable_key(&id, options).await,
                };
                changed.map_err(NoAnswer::Client)
            })
        }))
    }
}

pub fn listing() -> Sending<Listed> {
    Box::new(|client: Client| {
        Box::pin(async move { client.list_all_keys().await.map_err(NoAnswer::Client) })
    })
}

impl Cryptoserver {
    /// Starts a change.
    pub fn submit_change(
        &self,
        id: String,
        change: Change,
        timeout: Option<f64>,
    ) -> PyResult<Result<Job<Changed>, NoAnswer>> {
        let work = change.sending(id, timeout)?;
        Ok(self.0.submit(work))
    }

    /// Starts to list the keys.
    pub fn submit_list(&self) -> Result<Job<Listed>, NoAnswer> {
        self.0.submit(listing())
    }

    pub fn change(
        &self,
        py: Python<'_>,
        id: String,
        change: Change,
        timeout: Option<f64>,
    ) -> PyResult<KeyEntry> {
        let work = change.sending(id, timeout)?;
        KeyEntry::new(self.0.wait(py, work)?)
    }
}

impl KeyEntry {
    pub fn new(key: proto::Key) -> PyResult<Self> {
        let public = match &key.public_key[..] {
            [] => None,
            der => Some(public_half(&key.id, der)?),
        };
        Ok(Self { key, public })
    }
}

#[pymethods]
impl KeyEntry {
    /// The ID of the key on the server.
    #[getter]
    fn id(&self) -> &str {
        &self.key.id
    }

    /// The type of the key, as `create_key` takes it.
    #[getter]
    fn key_type(&self) -> &str {
        match (&self.public, &self.key.recipient[..]) {
            (Some(public), _) => public.key().key_type().name(),
            (None, "") => &self.key.algorithm,
            (None, hybrid) if hybrid.starts_with("age1pq1") => "age-pq",
            _ => "age",
        }
    }

    /// The bits of an RSA modulus, or of the order of a curve's group; None for other types.
    #[getter]
    fn bits(&self) -> Option<u32> {
        proto::bits_of(self.public.as_ref()?.key())
    }

    /// The operations that the server allows this client: "sign", "decrypt", "seal", "rotate" and others.
    #[getter]
    fn operations(&self) -> Vec<&'static str> {
        let permissions = self.key.permissions();
        permissions.filter_map(proto::Permission::name).collect()
    }

    /// The number of the newest version; None if the key has no versions.
    #[getter]
    fn version(&self) -> Option<u32> {
        Some(self.key.version).filter(|version| *version > 0)
    }

    /// Whether the server refuses requests with the key.
    #[getter]
    fn disabled(&self) -> bool {
        self.key.disabled
    }

    /// The recipient of an age identity, to which files are encrypted; None for other types.
    #[getter]
    fn recipient(&self) -> Option<&str> {
        Some(&self.key.recipient[..]).filter(|recipient| !recipient.is_empty())
    }

    /// The public halves of the older versions by their numbers, for signatures that were made with them. Only `list_keys` has
    /// them.
    #[getter]
    fn older(&self) -> PyResult<BTreeMap<u32, PublicKey>> {
        let older = self.key.older.iter();
        older
            .map(|one| {
                let public = public_half(&self.key.id, &one.public_key)?;
                Ok((one.version, PublicKey::of_session(public)))
            })
            .collect()
    }

    /// Return the public half of the newest version; None if the type has none.
    fn public_key(&self) -> Option<PublicKey> {
        self.public.clone().map(PublicKey::of_session)
    }

    fn __repr__(&self) -> String {
        format!(
            "<oarlock.KeyEntry '{}' of {}{}{}>",
            self.key.id,
            self.key_type(),
            match self.version() {
                Some(version) => format!(", version {version}"),
                None => String::new(),
            },
            if self.key.disabled { ", disabled" } else { "" },
        )
    }
}

/// Returns the public half that a server sent for a key.
pub fn public_half(id: &str, der: &[u8]) -> PyResult<AcceleratedPublicKey> {
    let public = keys::PublicKey::from_bytes(der)
        .map_err(|error| ServerError::new_err(format!("the public half of key {id:?}: {error}")))?;
    Ok(accelerator()?.public_key(&public))
}

/// The types of keys that a server makes. The length of RSA keys is an argument of its own.
const TYPES: [(&str, KeyType); 14] = [
    ("RSA", KeyType::Rsa2048),
    ("P-256", KeyType::P256),
    ("P-384", KeyType::P384),
    ("P-521", KeyType::P521),
    ("Ed25519", KeyType::Ed25519),
    ("ML-DSA-44", KeyType::MlDsa44),
    ("ML-DSA-65", KeyType::MlDsa65),
    ("ML-DSA-87", KeyType::MlDsa87),
    ("A256GCM", KeyType::A256gcm),
    ("HS256", KeyType::Hs256),
    ("HS384", KeyType::Hs384),
    ("HS512", KeyType::Hs512),
    ("age", KeyType::AgeX25519),
    ("age-pq", KeyType::AgeHybrid),
];
