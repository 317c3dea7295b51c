//! Calls with several items. They are split into requests within the server's limits, which are sent concurrently.

use std::fmt;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use tonic::Code;
use zeroize::Zeroizing;

use super::call::Client;
use super::connection::Answer;
use super::page::shown;
use super::settings::{CallOptions, ClientError};
use crate::proto::request::Operation;
use crate::proto::{self, item};

/// A file key of age.
pub type FileKey = Zeroizing<[u8; 16]>;

impl Client {
    /// Returns the file keys in stanzas of age files by an identity of the servers, in the order of the stanzas: each of
    /// them or the reason why there is none.
    ///
    /// ```no_run
    /// use oarlock_net::client::{CallOptions, Client, ClientError, FileKey};
    /// use oarlock_net::proto::Stanza;
    ///
    /// async fn first(client: &Client, stanzas: Vec<Stanza>) -> Result<Option<FileKey>, ClientError> {
    ///     let keys = client.unwrap("archive", stanzas, CallOptions::default()).await?;
    ///     Ok(keys.into_iter().find_map(Result::ok))
    /// }
    /// ```
    ///
    /// # Errors
    /// The same as for [`call`](Self::call), if a request failed as a whole.
    pub async fn unwrap(
        &self,
        key_id: &str,
        stanzas: Vec<proto::Stanza>,
        options: CallOptions,
    ) -> Result<Vec<Result<FileKey, ClientError>>, ClientError> {
        let bytes_of = |stanza: &proto::Stanza| {
            let arguments: usize = stanza
                .arguments
                .iter()
                .map(|one| one.len() + STRING_BYTES)
                .sum();
            stanza.tag.len() + arguments + stanza.body.len()
        };
        let items = self.in_batches(stanzas, (STANZAS_MAX, bytes_of), options, |stanzas| {
            let key_id = key_id.to_owned();
            Operation::Unwrap(proto::Unwrap { key_id, stanzas })
        });
        let items = items.await?;
        let keys = items.into_iter().map(|item| {
            let key = item.map(|made| <[u8; 16]>::try_from(&made.bytes[..]).map(Zeroizing::new));
            key?.map_err(|_| wrong("a file key of another length than 16 bytes"))
        });
        Ok(keys.collect())
    }

    /// Returns the MACs of messages by a secret key of the servers.
    ///
    /// # Errors
    /// The same as for [`call`](Self::call), if a request failed as a whole.
    pub async fn mac(
        &self,
        key_id: &str,
        messages: Vec<Vec<u8>>,
        options: CallOptions,
    ) -> Result<Vec<Result<Made, ClientError>>, ClientError> {
        self.in_batches(messages, (ITEMS_MAX, Vec::len), options, |messages| {
            let key_id = key_id.to_owned();
            Operation::Mac(proto::Mac { key_id, messages })
        })
        .await
    }

    /// Checks MACs of messages by a secret key of the servers. An error is INVALID_ARGUMENT for a MAC that is wrong.
    ///
    /// # Errors
    /// The same as for [`call`](Self::call), if a request failed as a whole.
    pub async fn verify_macs(
        &self,
        key_id: &str,
        macs: Vec<proto::MacOf>,
        options: CallOptions,
    ) -> Result<Vec<Result<(), ClientError>>, ClientError> {
        let bytes_of = |one: &proto::MacOf| one.message.len() + one.mac.len();
        let items = self.in_batches(macs, (ITEMS_MAX, bytes_of), options, |macs| {
            let key_id = key_id.to_owned();
            Operation::VerifyMac(proto::VerifyMac { key_id, macs })
        });
        Ok(items
            .await?
            .into_iter()
            .map(|item| item.map(drop))
            .collect())
    }

    /// Seals plaintexts by a secret key of the servers, which choose the nonces.
    ///
    /// ```no_run
    /// use oarlock_net::client::{CallOptions, Client, ClientError};
    /// use oarlock_net::proto::{Ciphertext, Plaintext};
    ///
    /// async fn there_and_back(client: &Client) -> Result<(), ClientError> {
    ///     let plaintext = Plaintext {
    ///         plaintext: b"4111 1111 1111 1111".to_vec(),
    ///         associated_data: b"customer 7".to_vec(),
    ///     };
    ///     let options = CallOptions::default();
    ///     let sealed = client.seal("cards", vec![plaintext], options).await?.remove(0)?;
    ///     let ciphertext = Ciphertext {
    ///         ciphertext: sealed.bytes.to_vec(),
    ///         associated_data: b"customer 7".to_vec(),
    ///     };
    ///     let opened = client.open("cards", vec![ciphertext], options).await?.remove(0)?;
    ///     assert_eq!(&opened.bytes[..], b"4111 1111 1111 1111");
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// The same as for [`call`](Self::call), if a request failed as a whole.
    pub async fn seal(
        &self,
        key_id: &str,
        plaintexts: Vec<proto::Plaintext>,
        options: CallOptions,
    ) -> Result<Vec<Result<Made, ClientError>>, ClientError> {
        let bytes_of = |one: &proto::Plaintext| one.plaintext.len() + one.associated_data.len();
        self.in_batches(plaintexts, (ITEMS_MAX, bytes_of), options, |plaintexts| {
            let key_id = key_id.to_owned();
            Operation::Seal(proto::Seal { key_id, plaintexts })
        })
        .await
    }

    /// Opens ciphertexts that [`seal`](Self::seal) made. An error is INVALID_ARGUMENT for one that is not authentic.
    ///
    /// # Errors
    /// The same as for [`call`](Self::call), if a request failed as a whole.
    pub async fn open(
        &self,
        key_id: &str,
        ciphertexts: Vec<proto::Ciphertext>,
        options: CallOptions,
    ) -> Result<Vec<Result<Made, ClientError>>, ClientError> {
        let bytes_of = |one: &proto::Ciphertext| {
            one.ciphertext.len().saturating_sub(OVERHEAD_BYTES) + one.associated_data.len()
        };
        self.in_batches(ciphertexts, (ITEMS_MAX, bytes_of), options, |ciphertexts| {
            let key_id = key_id.to_owned();
            Operation::Open(proto::Open {
                key_id,
                ciphertexts,
            })
        })
        .await
    }

    /// Splits items into requests, and returns the results of all items.
    async fn in_batches<T>(
        &self,
        items: Vec<T>,
        (most, bytes_of): (usize, impl Fn(&T) -> usize),
        options: CallOptions,
        operation: impl Fn(Vec<T>) -> Operation,
    ) -> Result<Vec<Result<Made, ClientError>>, ClientError> {
        let calls = cut(items, most, bytes_of).into_iter().map(|items| {
            let count = items.len();
            let operation = operation(items);
            async move {
                match self.ask(operation, options).await? {
                    Answer::Items(items) if items.len() == count => Ok(items),
                    Answer::Items(_) | Answer::Bytes(_) => Err(wrong(
                        "a reply that does not have an item for each of the request",
                    )),
                }
            }
        });
        let calls: Vec<_> = calls.collect();
        let items: Vec<Vec<proto::Item>> = stream::iter(calls)
            .buffered(UNDER_WAY_MAX)
            .try_collect()
            .await?;
        Ok(items.into_iter().flatten().map(made).collect())
    }
}

/// The result of an item.
#[derive(Clone, PartialEq, Eq)]
pub struct Made {
    /// A MAC, a ciphertext or a plaintext.
    pub bytes: Zeroizing<Vec<u8>>,
    /// The version of the key that was used.
    pub key_version: u32,
}

impl fmt::Debug for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The bytes may be a plaintext.
        f.debug_struct("Made")
            .field("key_version", &self.key_version)
            .finish_non_exhaustive()
    }
}

fn made(mut item: proto::Item) -> Result<Made, ClientError> {
    match item.outcome.take() {
        Some(item::Outcome::Result(bytes)) => Ok(Made {
            bytes: Zeroizing::new(bytes),
            key_version: item.key_version,
        }),
        Some(item::Outcome::Failure(failure)) => Err(ClientError {
            code: Code::from(failure.code),
            message: shown(&failure.message, MESSAGE_MAX),
        }),
        None => Err(wrong("an item without an outcome")),
    }
}

fn wrong(what: &str) -> ClientError {
    ClientError {
        code: Code::Internal,
        message: format!("the server sent {what}"),
    }
}

/// Cuts items into batches of `most` and of [`BYTES_MAX`]. An item that is larger goes alone, and the server refuses it.
fn cut<T>(items: Vec<T>, most: usize, bytes_of: impl Fn(&T) -> usize) -> Vec<Vec<T>> {
    let mut batches = Vec::new();
    let (mut some, mut bytes) = (Vec::new(), 0);
    for item in items {
        let more = bytes_of(&item);
        if some.len() == most || !some.is_empty() && bytes + more > BYTES_MAX {
            batches.push(std::mem::take(&mut some));
            bytes = 0;
        }
        bytes += more;
        some.push(item);
    }
    if !some.is_empty() {
        batches.push(some);
    }
    batches
}

/// The most stanzas of a request, as the protocol says.
const STANZAS_MAX: usize = 128;
/// The most items of a request of another kind.
const ITEMS_MAX: usize = 1024;
/// The most bytes of a request's items, as the protocol says.
const BYTES_MAX: usize = 262_144;
/// The bytes that a ciphertext is longer than its plaintext. They do not count.
const OVERHEAD_BYTES: usize = 44;
/// The bytes counted for each argument of a stanza in addition to its length.
const STRING_BYTES: usize = 24;
/// The requests of one call that are under way at the same time.
const UNDER_WAY_MAX: usize = 4;
/// The most characters kept of a server's text about an item.
const MESSAGE_MAX: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_keep_to_both_bounds_and_to_the_order() {
        let cut_bytes = |items: &[usize], most| -> Vec<usize> {
            let batches = cut(items.to_vec(), most, |bytes| *bytes);
            assert_eq!(batches.concat(), items);
            batches.iter().map(Vec::len).collect()
        };
        assert_eq!(cut_bytes(&[], 3), [0; 0]);
        assert_eq!(cut_bytes(&[1; 7], 3), [3, 3, 1]);
        let half = BYTES_MAX / 2;
        assert_eq!(
            cut_bytes(&[half, half, 1, BYTES_MAX + 1, 1], 9),
            [2, 1, 1, 1]
        );
    }

    #[test]
    fn what_a_server_says_about_an_item_is_short_and_one_without_an_outcome_is_an_error() {
        let failure = proto::Failure {
            code: 3,
            message: format!("no\n{}", "x".repeat(1 << 16)),
        };
        let item = |outcome| proto::Item {
            outcome,
            key_version: 0,
        };
        let error = made(item(Some(item::Outcome::Failure(failure)))).unwrap_err();
        assert_eq!(
            (error.code, error.message.len()),
            (Code::InvalidArgument, MESSAGE_MAX)
        );
        assert_eq!(made(item(None)).unwrap_err().code, Code::Internal);
    }
}
