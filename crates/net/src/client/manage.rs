//! Changes of the servers' keys. Unlike operations they have an effect, so they are sent once, to one server.

use std::time::Duration;

use tokio::time::timeout;
use tonic::Code;

use super::call::Client;
use super::settings::{CallOptions, ClientError};
use crate::proto::manage_key_request::Change;
use crate::proto::{self, CreateKey, DisableKey, EnableKey, KeyType, RotateKey};

/// Servers keep their keys apart unless something else copies them, so a client for these calls should have one server in its
/// settings. With several, the first connection is asked. The time limit is two minutes without one in the options: an RSA key
/// may take some seconds, and those of other clients come first.
///
/// ```no_run
/// use oarlock_net::client::{CallOptions, Client, ClientError};
/// use oarlock_net::proto::KeyType;
///
/// async fn next_year(client: &Client) -> Result<(), ClientError> {
///     let options = CallOptions::default();
///     let made = client.create_key("cards", KeyType::A256gcm, options).await?;
///     assert_eq!(made.version, 1);
///     // Version 1 still opens what it sealed.
///     let rotated = client.rotate_key("cards", made.version, options).await?;
///     assert_eq!(rotated.version, 2);
///     client.disable_key("cards", options).await.map(drop)
/// }
/// ```
impl Client {
    /// Has a server make a key, and returns its entry in the list of keys once the server uses it.
    ///
    /// # Errors
    /// ALREADY_EXISTS if there is one. The code and message of the server for the rest. UNAVAILABLE, DEADLINE_EXCEEDED or
    /// UNKNOWN if its answer was lost: the key may be there then.
    pub async fn create_key(
        &self,
        key_id: &str,
        key_type: KeyType,
        options: CallOptions,
    ) -> Result<proto::Key, ClientError> {
        let create = CreateKey {
            r#type: key_type.into(),
        };
        self.manage(key_id, Change::Create(create), options).await
    }

    /// Has a server make a new version of a key, which follows `version`. The older versions still decrypt, unwrap, open and
    /// verify.
    ///
    /// # Errors
    /// FAILED_PRECONDITION if the newest version is another one, as it is after a call whose answer was lost. The rest as for
    /// [`create_key`](Self::create_key).
    pub async fn rotate_key(
        &self,
        key_id: &str,
        version: u32,
        options: CallOptions,
    ) -> Result<proto::Key, ClientError> {
        let rotate = RotateKey { version };
        self.manage(key_id, Change::Rotate(rotate), options).await
    }

    /// Returns the number of the newest version of a key, which [`rotate_key`](Self::rotate_key) names. The client needs the
    /// right to list keys.
    ///
    /// # Errors
    /// NOT_FOUND if this client may use no such key, FAILED_PRECONDITION if the key has no versions. The rest as for
    /// [`list_all_keys`](Self::list_all_keys).
    pub async fn newest_version(&self, key_id: &str) -> Result<u32, ClientError> {
        let keys = self.list_all_keys().await?;
        match keys.iter().find(|key| key.id == key_id) {
            Some(key) if key.version > 0 => Ok(key.version),
            Some(_) => Err(ClientError {
                code: Code::FailedPrecondition,
                message: format!(
                    "key {key_id:?} has no versions: it is not in the server's managed directory"
                ),
            }),
            None => {
                let ids: Vec<_> = keys.iter().map(|key| key.id.as_str()).collect();
                let others = match &ids[..] {
                    [] => "none at all".to_owned(),
                    ids => ids.join(", "),
                };
                Err(ClientError {
                    code: Code::NotFound,
                    message: format!(
                        "no key {key_id:?} that this client may use; it may use {others}"
                    ),
                })
            }
        }
    }

    /// Has a server refuse all requests with a key until it is enabled. It is no error if it is disabled.
    ///
    /// # Errors
    /// As for [`create_key`](Self::create_key).
    pub async fn disable_key(
        &self,
        key_id: &str,
        options: CallOptions,
    ) -> Result<proto::Key, ClientError> {
        self.manage(key_id, Change::Disable(DisableKey {}), options)
            .await
    }

    /// Has a server use a disabled key again. It is no error if it is enabled.
    ///
    /// # Errors
    /// As for [`create_key`](Self::create_key).
    pub async fn enable_key(
        &self,
        key_id: &str,
        options: CallOptions,
    ) -> Result<proto::Key, ClientError> {
        self.manage(key_id, Change::Enable(EnableKey {}), options)
            .await
    }

    async fn manage(
        &self,
        key_id: &str,
        change: Change,
        options: CallOptions,
    ) -> Result<proto::Key, ClientError> {
        let patience = options.timeout.unwrap_or(PATIENCE);
        let request = proto::ManageKeyRequest {
            key_id: key_id.to_owned(),
            timeout_ms: u32::try_from(patience.as_millis().max(1)).unwrap_or(u32::MAX),
            change: Some(change),
        };
        let asked = timeout(patience, self.directory().manage_key(request));
        let outcome = asked.await.unwrap_or_else(|_| Err(self.late()));
        outcome.map_err(|mut error| {
            if let Code::Unavailable | Code::DeadlineExceeded | Code::Unknown = error.code
                && !error.message.ends_with(NOTHING)
            {
                error.message += "; unless the server says otherwise the change may have been made: list the keys";
            }
            error
        })
    }
}

/// As long as the server's longest deadline.
const PATIENCE: Duration = Duration::from_secs(120);
const NOTHING: &str = "nothing has changed";
