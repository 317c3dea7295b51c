//! An identity that stays on a cryptoserver: the server unwraps file keys, and files are decrypted here.

use std::io;
use std::slice;
use std::sync::Arc;

use age::{DecryptError, Identity};
use oarlock_file::age::{FileKey, Stanza, hybrid};
use oarlock_net::client::{ClientError, RemoteDevice};
use oarlock_net::proto;

use crate::failure::Failure;
use crate::remote::Access;

#[derive(clap::Args)]
pub(super) struct Remote {
    /// Decrypt with a key of this server, as host:port; repeat for several servers that have it
    #[arg(long, value_name = "SERVER", requires = "key")]
    remote: Vec<String>,

    /// Id of the key there
    #[arg(long, value_name = "ID", requires = "remote")]
    key: Option<String>,

    #[command(flatten)]
    access: Access,
}

impl Remote {
    /// Connects to the servers, if any are named.
    pub(super) fn identity(&self) -> Result<Option<RemoteIdentity>, Failure> {
        let Some(key) = &self.key else {
            self.access.check_alone()?;
            return Ok(None);
        };
        let device = self.access.connect(&self.remote)?;
        Ok(Some(RemoteIdentity {
            device,
            key: key.as_str().into(),
        }))
    }
}

/// A key of a server. Clones share the connections, also among threads.
#[derive(Clone)]
pub(super) struct RemoteIdentity {
    device: Arc<RemoteDevice>,
    key: Arc<str>,
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
        match self.device.unwrap(&self.key, known) {
            Ok(keys) => {
                let key = keys.into_iter().find_map(Result::ok)?;
                Some(Ok(FileKey::init_with_mut(|place: &mut [u8; 16]| {
                    place.copy_from_slice(&key[..]);
                })))
            }
            Err(ClientError { message, .. }) => {
                Some(Err(DecryptError::Io(io::Error::other(message))))
            }
        }
    }
}

/// The stanzas that a server may have a key for.
const TAGS: [&str; 3] = ["X25519", hybrid::STANZA_TAG, "ssh-rsa"];
