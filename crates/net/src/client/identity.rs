//! An identity of age that stays on servers: they unwrap file keys, and files are decrypted here.

use std::fmt;
use std::io;
use std::slice;
use std::sync::Arc;

use age::{DecryptError, Identity};
use age_core::format::{FILE_KEY_BYTES, FileKey, Stanza};
use oarlock_recipients::hybrid;

use super::device::RemoteDevice;
use crate::proto;

/// A key of servers as an identity of the `age` crate. Clones share the connections, also among threads.
///
/// Unwrapping blocks until a server answers, and panics in asynchronous code: call it in `tokio::task::spawn_blocking` there.
///
/// A server that gives no answer fails a file with [`DecryptError::Io`], whose inner error is a
/// [`ClientError`](super::ClientError).
#[derive(Clone)]
pub struct RemoteIdentity {
    device: Arc<RemoteDevice>,
    key_id: Arc<str>,
    goes_on: fn() -> bool,
}

impl RemoteIdentity {
    /// Creates the identity with an ID on the servers of a device.
    pub fn new(device: Arc<RemoteDevice>, key_id: impl Into<Arc<str>>) -> Self {
        Self {
            device,
            key_id: key_id.into(),
            goes_on: || true,
        }
    }

    /// Has it ask `goes_on` about 20 times a second while it waits for a server, on the thread that unwraps, and give up when
    /// that is false.
    #[must_use]
    pub fn with_question(self, goes_on: fn() -> bool) -> Self {
        Self { goes_on, ..self }
    }
}

impl Identity for RemoteIdentity {
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
        match self.device.unwrap_while(&self.key_id, known, &self.goes_on) {
            Ok(keys) => {
                let key = keys.into_iter().find_map(Result::ok)?;
                Some(Ok(FileKey::init_with_mut(
                    |place: &mut [u8; FILE_KEY_BYTES]| place.copy_from_slice(&key[..]),
                )))
            }
            Err(error) => Some(Err(DecryptError::Io(io::Error::other(error)))),
        }
    }
}

impl fmt::Debug for RemoteIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteIdentity")
            .field("key_id", &self.key_id)
            .finish_non_exhaustive()
    }
}

/// The stanzas that a server may have a key for.
const TAGS: [&str; 3] = ["X25519", hybrid::STANZA_TAG, "ssh-rsa"];
