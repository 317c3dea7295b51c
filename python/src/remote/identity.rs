//! Identities that stay on cryptoservers, which unwrap file keys; files are opened here.

use std::fmt;
use std::io;
use std::slice;
use std::sync::Arc;

use ::age::{DecryptError, Identity};
use oarlock_file::age::{FileKey, Stanza, hybrid};
use oarlock_net::client::RemoteDevice;
use oarlock_net::proto;
use pyo3::prelude::*;

use super::{NoAnswer, Servers};
use crate::aead::no_pickle;

/// An age identity that stays on a cryptoserver, for `oarlock.open`.
#[pyclass(frozen, module = "oarlock")]
pub struct RemoteIdentity {
    servers: Arc<Servers>,
    id: String,
}

impl RemoteIdentity {
    pub fn new(servers: Arc<Servers>, id: String) -> Self {
        Self { servers, id }
    }

    /// Returns what unwraps file keys, over connections of this process.
    pub fn unwrapping(&self) -> Result<impl Identity + Send + Sync + use<>, NoAnswer> {
        Ok(Unwrapping {
            device: self.servers.device()?,
            id: self.id.clone(),
        })
    }
}

#[pymethods]
impl RemoteIdentity {
    /// The ID of the identity on the server.
    #[getter]
    fn id(&self) -> &str {
        &self.id
    }

    fn __repr__(&self) -> String {
        format!("<oarlock.RemoteIdentity '{}'>", self.id)
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(no_pickle("RemoteIdentity"))
    }
}

struct Unwrapping {
    device: Arc<RemoteDevice>,
    id: String,
}

impl Identity for Unwrapping {
    fn unwrap_stanza(&self, stanza: &Stanza) -> Option<Result<FileKey, DecryptError>> {
        self.unwrap_stanzas(slice::from_ref(stanza))
    }

    /// Asks for all stanzas of a file at once.
    fn unwrap_stanzas(&self, stanzas: &[Stanza]) -> Option<Result<FileKey, DecryptError>> {
        let known = stanzas
            .iter()
            .filter(|stanza| TAGS.contains(&&stanza.tag[..]));
        let known: Vec<proto::Stanza> = known
            .map(|stanza| proto::Stanza {
                tag: stanza.tag.clone(),
                arguments: stanza.args.clone(),
                body: stanza.body.clone(),
            })
            .collect();
        if known.is_empty() {
            return None;
        }
        match self.device.unwrap(&self.id, known) {
            Ok(keys) => {
                let key = keys.into_iter().find_map(Result::ok)?;
                Some(Ok(FileKey::init_with_mut(|place: &mut [u8; 16]| {
                    place.copy_from_slice(&key[..]);
                })))
            }
            Err(error) => Some(Err(DecryptError::Io(
                match LATER.contains(&(error.code as i32)) {
                    true => io::Error::other(Unanswered(error.message)),
                    false => io::Error::other(error.message),
                },
            ))),
        }
    }
}

/// Why a server gave no answer, which it may give later.
#[derive(Debug)]
pub struct Unanswered(String);

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unanswered {}

/// The codes of gRPC of what may succeed later: DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, UNAVAILABLE.
const LATER: [i32; 3] = [4, 8, 14];
/// The stanzas that a server may have an identity for.
const TAGS: [&str; 3] = ["X25519", hybrid::STANZA_TAG, "ssh-rsa"];
