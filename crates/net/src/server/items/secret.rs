//! MACs and ciphertexts by secret keys.

use std::sync::Arc;
use std::time::Duration;

use oarlock_engine::fill_random;
use zeroize::Zeroizing;

use super::super::dispatch::Refusal;
use super::super::key::Key;
use super::super::operation::unfit;
use super::super::secret::{NONCE_BYTES, OVERHEAD_BYTES, SecretAlgorithm, SecretKey, Wrong};
use super::{Batch, ITEMS_MAX, Item, MachineFailed, check_size, kept_bytes};
use crate::proto;

/// A request with items for a secret key.
pub trait OfSecret {
    /// Its name and what its items are called.
    const NAMES: (&'static str, &'static str);

    /// Returns the id of its key.
    fn key_id(&self) -> &str;

    /// Returns the number of its items and their bytes.
    fn size(&self) -> (usize, usize);

    /// Whether it is for a key with this algorithm.
    fn takes(algorithm: SecretAlgorithm) -> bool;

    /// Takes the items, and makes them parts.
    fn batch(&mut self, key: Arc<SecretKey>) -> Batch;

    /// Returns the bytes that it makes the server hold.
    fn kept_bytes(&self) -> usize {
        let (items, bytes) = self.size();
        kept_bytes(items, bytes)
    }
}

/// Prepares the items of a request, which it takes.
///
/// # Errors
/// INVALID_ARGUMENT if there are too many, or the key is of another kind.
pub fn of_secret<T: OfSecret>(asked: &mut T, key: &Key) -> Result<Batch, Refusal> {
    let (name, what) = T::NAMES;
    let (items, bytes) = asked.size();
    check_size(what, items, ITEMS_MAX, bytes)?;
    match key {
        Key::Secret(key) if T::takes(key.algorithm()) => Ok(asked.batch(Arc::clone(key))),
        _ => {
            let kind = match T::takes(SecretAlgorithm::Aead) {
                true => "A256GCM",
                false => "HMAC",
            };
            Err(unfit(
                asked.key_id(),
                key,
                &format!("{name} takes keys of {kind}"),
            ))
        }
    }
}

impl OfSecret for proto::Mac {
    const NAMES: (&'static str, &'static str) = ("mac", "messages");

    fn key_id(&self) -> &str {
        &self.key_id
    }

    fn size(&self) -> (usize, usize) {
        let bytes = self.messages.iter().map(Vec::len).sum();
        (self.messages.len(), bytes)
    }

    fn takes(algorithm: SecretAlgorithm) -> bool {
        algorithm != SecretAlgorithm::Aead
    }

    fn batch(&mut self, key: Arc<SecretKey>) -> Batch {
        let messages = wiped(std::mem::take(&mut self.messages));
        Batch::cut(
            messages,
            |message| time_of(message.len()),
            move |message| {
                done(
                    key.mac(message)
                        .map(|mac| (key.version(), mac))
                        .ok_or(Wrong::Machine),
                )
            },
        )
    }
}

impl OfSecret for proto::VerifyMac {
    const NAMES: (&'static str, &'static str) = ("verify_mac", "MACs");

    fn key_id(&self) -> &str {
        &self.key_id
    }

    fn size(&self) -> (usize, usize) {
        let bytes = self
            .macs
            .iter()
            .map(|one| one.message.len() + one.mac.len());
        (self.macs.len(), bytes.sum())
    }

    fn takes(algorithm: SecretAlgorithm) -> bool {
        proto::Mac::takes(algorithm)
    }

    fn batch(&mut self, key: Arc<SecretKey>) -> Batch {
        let macs = std::mem::take(&mut self.macs).into_iter();
        let macs = macs.map(|mut one| {
            let message = Zeroizing::new(std::mem::take(&mut one.message));
            (message, std::mem::take(&mut one.mac), one.key_version)
        });
        Batch::cut(
            macs.collect(),
            |(message, ..)| time_of(message.len()),
            move |(message, mac, version)| {
                let verified = key.verify(message, mac, *version);
                done(verified.map(|version| (version, Zeroizing::default())))
            },
        )
    }
}

impl OfSecret for proto::Seal {
    const NAMES: (&'static str, &'static str) = ("seal", "plaintexts");

    fn key_id(&self) -> &str {
        &self.key_id
    }

    fn size(&self) -> (usize, usize) {
        let bytes = self
            .plaintexts
            .iter()
            .map(|one| one.plaintext.len() + one.associated_data.len());
        (self.plaintexts.len(), bytes.sum())
    }

    fn takes(algorithm: SecretAlgorithm) -> bool {
        algorithm == SecretAlgorithm::Aead
    }

    fn batch(&mut self, key: Arc<SecretKey>) -> Batch {
        let plaintexts = std::mem::take(&mut self.plaintexts);
        // All nonces at once, which takes the generator less time.
        let mut nonces = vec![[0; NONCE_BYTES]; plaintexts.len()];
        fill_random(nonces.as_flattened_mut());
        let items = plaintexts.into_iter().zip(nonces);
        let items = items.map(|(mut one, nonce)| {
            let plaintext = Zeroizing::new(std::mem::take(&mut one.plaintext));
            (plaintext, std::mem::take(&mut one.associated_data), nonce)
        });
        Batch::cut(
            items.collect(),
            |(plaintext, associated, _)| time_of(plaintext.len() + associated.len()),
            move |(plaintext, associated, nonce)| {
                let sealed = key.seal(nonce, plaintext, associated);
                done(
                    sealed
                        .map(|sealed| (key.version(), sealed))
                        .ok_or(Wrong::Machine),
                )
            },
        )
    }
}

impl OfSecret for proto::Open {
    const NAMES: (&'static str, &'static str) = ("open", "ciphertexts");

    fn key_id(&self) -> &str {
        &self.key_id
    }

    fn size(&self) -> (usize, usize) {
        let bytes = self.ciphertexts.iter().map(|one| {
            // What is sealed in one request opens in one.
            one.ciphertext.len().saturating_sub(OVERHEAD_BYTES) + one.associated_data.len()
        });
        (self.ciphertexts.len(), bytes.sum())
    }

    fn takes(algorithm: SecretAlgorithm) -> bool {
        proto::Seal::takes(algorithm)
    }

    fn batch(&mut self, key: Arc<SecretKey>) -> Batch {
        Batch::cut(
            std::mem::take(&mut self.ciphertexts),
            |one| time_of(one.ciphertext.len() + one.associated_data.len()),
            move |one| done(key.open(&one.ciphertext, &one.associated_data)),
        )
    }
}

fn wiped(all: Vec<Vec<u8>>) -> Vec<Zeroizing<Vec<u8>>> {
    all.into_iter().map(Zeroizing::new).collect()
}

fn done(result: Result<(u32, Zeroizing<Vec<u8>>), Wrong>) -> Result<Item, MachineFailed> {
    Ok(match result {
        Ok((version, bytes)) => Item {
            outcome: Ok(bytes),
            version,
        },
        Err(Wrong::Short) => Item::wrong(SHORT),
        Err(Wrong::Version) => Item::wrong(NO_VERSION),
        Err(Wrong::Bytes) => Item::wrong(NOT_AUTHENTIC),
        Err(Wrong::Machine) => return Err(MachineFailed),
    })
}

/// Returns the expected time of an item, within a factor of two on CPUs since 2020.
fn time_of(bytes: usize) -> Duration {
    Duration::from_nanos(ITEM_NS + 2 * bytes as u64)
}

const ITEM_NS: u64 = 1500;
const SHORT: &str = "shorter than any ciphertext of this server";
const NO_VERSION: &str =
    "the key has no such version: it was removed, or this was made by another key";
const NOT_AUTHENTIC: &str =
    "not authentic: it was changed, or made by another key or with other associated data";

const _: () = assert!(OVERHEAD_BYTES < super::ITEM_BYTES);
