//! The file keys in stanzas of age files (age-encryption.org/v1).
//!
//! What is refused is what the `age` crate refuses: another number of arguments, Base64 that is not canonical, a share or a
//! body of another length, a point of low order, and a tag that does not authenticate the file key. A stanza that is
//! well-formed fails with one text, whatever its bytes are, so the server tells no more than age does.

use std::sync::Arc;
use std::time::Duration;

use age::{DecryptError, Identity as _};
use age_core::format::{FILE_KEY_BYTES, Stanza};
use age_core::secrecy::ExposeSecret as _;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use oarlock::device::PublicKeyRequest;
use oarlock::rsa::{EncryptionScheme, Hash, RsaPrivateKey};
use oarlock_engine::hash::{DIGEST_BYTES_MAX, Digest};
use tonic::Code;
use zeroize::Zeroizing;

use super::super::dispatch::{Refusal, Work, refusal_of};
use super::super::key::{Identities, Key, Versions};
use super::super::operation::unfit;
use super::{Batch, Item, Piece, check_size, kept_bytes};
use crate::proto;

/// Prepares the stanzas of a request, which it takes.
///
/// # Errors
/// INVALID_ARGUMENT if there are too many, or the key unwraps nothing.
pub fn unwrap(asked: &mut proto::Unwrap, key: &Key) -> Result<Batch, Refusal> {
    check_size("stanzas", asked.stanzas.len(), STANZAS_MAX, bytes_of(asked))?;
    let stanzas = std::mem::take(&mut asked.stanzas).into_iter();
    let stanzas = stanzas.map(|stanza| Stanza {
        tag: stanza.tag,
        args: stanza.arguments,
        body: stanza.body,
    });
    match (key, key.as_rsa()) {
        (Key::Identities(identities), _) => Ok(by_identities(identities, stanzas.collect())),
        (Key::Private(versions), Some(_)) => by_rsa(versions, stanzas),
        (Key::Private(_), None) | (Key::Secret(_), _) => {
            let taken = "unwrap takes identities of age and RSA keys";
            Err(unfit(&asked.key_id, key, taken))
        }
    }
}

/// Returns the bytes that a request for file keys makes the server hold.
pub fn unwrap_bytes(asked: &proto::Unwrap) -> usize {
    kept_bytes(asked.stanzas.len(), bytes_of(asked))
}

fn bytes_of(asked: &proto::Unwrap) -> usize {
    let stanzas = asked.stanzas.iter();
    let bytes = stanzas.map(|stanza| {
        let arguments: usize = stanza
            .arguments
            .iter()
            .map(|one| one.len() + STRING_BYTES)
            .sum();
        stanza.tag.len() + arguments + stanza.body.len()
    });
    bytes.sum()
}

fn by_identities(identities: &Arc<Identities>, stanzas: Vec<Stanza>) -> Batch {
    let (of_time, identities) = (Arc::clone(identities), Arc::clone(identities));
    Batch::cut(
        stanzas,
        move |stanza| match &stanza.tag[..] {
            "X25519" => X25519_TIME,
            _ => HYBRID_TIME,
        } * of_time.of_tag(&stanza.tag).count().max(1) as u32,
        move |stanza| Ok(file_key(&identities, stanza)),
    )
}

/// Tries the versions of an identity, the newest first.
fn file_key(identities: &Identities, stanza: &Stanza) -> Item {
    let mut is_of_kind = false;
    for (version, identity) in identities.of_tag(&stanza.tag) {
        is_of_kind = true;
        match identity.unwrap_stanza(stanza) {
            None | Some(Err(DecryptError::DecryptionFailed)) => {}
            Some(Err(_)) => return Item::wrong(MALFORMED),
            Some(Ok(file_key)) => {
                return Item {
                    outcome: Ok(Zeroizing::new(file_key.expose_secret().to_vec())),
                    version,
                };
            }
        }
    }
    Item::wrong(if is_of_kind {
        NOT_OURS
    } else {
        OF_ANOTHER_KIND
    })
}

/// Makes each stanza a decryption by RSA (age's `ssh-rsa`: RSAES-OAEP with SHA-256 and a label).
fn by_rsa(versions: &Versions, stanzas: impl Iterator<Item = Stanza>) -> Result<Batch, Refusal> {
    let scheme = EncryptionScheme::Oaep {
        hash: Hash::Sha256,
        mgf1: Hash::Sha256,
        label: RSA_LABEL.to_vec(),
    };
    let older = versions.older().iter().rev().map(|(_, key)| key);
    let keys = [versions.newest()].into_iter().chain(older);
    let keys: Vec<_> = keys
        .filter_map(|key| key.as_rsa())
        .map(|key| (ssh_tag(key), key))
        .collect();
    let piece = |stanza: Stanza| {
        let wrong = |message| Ok(Piece::Done(vec![Item::wrong(message)]));
        if stanza.tag != RSA_TAG {
            return wrong(OF_ANOTHER_KIND);
        }
        let [argument] = &stanza.args[..] else {
            return wrong(MALFORMED);
        };
        let fits = |key: &RsaPrivateKey| stanza.body.len() == key.public_key().bytes();
        if argument.len() != TAG_CHARACTERS || !keys.iter().any(|(_, key)| fits(key)) {
            return wrong(MALFORMED);
        }
        let named = keys.iter().find(|(tag, _)| argument == tag);
        let Some((_, key)) = named.filter(|(_, key)| fits(key)) else {
            return wrong(NOT_OURS);
        };
        match PublicKeyRequest::decrypt(key, &scheme, &stanza.body).map_err(refusal_of) {
            Ok(request) => Ok(Piece::Request(Work::Request(Box::new(request)), rsa_item)),
            Err(refusal) if refusal.code == Code::InvalidArgument => wrong(NOT_OURS),
            Err(refusal) => Err(refusal),
        }
    };
    Ok(Batch {
        pieces: stanzas.map(piece).collect::<Result<_, _>>()?,
        is_over: Arc::default(),
    })
}

fn rsa_item(decrypted: Result<Zeroizing<Vec<u8>>, Refusal>) -> Result<Item, Refusal> {
    match decrypted {
        Ok(file_key) if file_key.len() == FILE_KEY_BYTES => Ok(Item {
            outcome: Ok(file_key),
            version: 0,
        }),
        Ok(_) => Ok(Item::wrong(NOT_OURS)),
        Err(refusal) if refusal.code == Code::InvalidArgument => Ok(Item::wrong(NOT_OURS)),
        Err(refusal) => Err(refusal),
    }
}

/// Returns the argument by which stanzas of an RSA key name it: the beginning of the digest of its SSH encoding (RFC 4253,
/// 6.6), which age calls the tag.
fn ssh_tag(key: &RsaPrivateKey) -> String {
    let mut digest = Digest::new(Hash::Sha256);
    let mut put = |bytes: &[u8]| {
        // An RSA key has 512 bytes at most.
        digest.update(&(bytes.len() as u32).to_be_bytes());
        digest.update(bytes);
    };
    put(RSA_TAG.as_bytes());
    for number in [key.public_key().exponent(), key.public_key().modulus()] {
        let start = number.iter().take_while(|byte| **byte == 0).count();
        let number = &number[start..];
        // A number is signed, so one whose first bit is set gets a zero byte.
        let is_high = number.first().is_some_and(|byte| byte & 0x80 != 0);
        put(&[&[0][..usize::from(is_high)], number].concat());
    }
    let mut whole = [0; DIGEST_BYTES_MAX];
    digest.finish(&mut whole);
    BASE64_STANDARD_NO_PAD.encode(&whole[..TAG_BYTES])
}

const MALFORMED: &str = "a malformed stanza: its arguments or its body are not those of its type";
const NOT_OURS: &str = "the stanza is for another key, or was changed";
const OF_ANOTHER_KIND: &str = "the key opens no stanzas of this type";

const RSA_TAG: &str = "ssh-rsa";
const RSA_LABEL: &[u8] = b"age-encryption.org/v1/ssh-rsa";
const TAG_BYTES: usize = 4;
const TAG_CHARACTERS: usize = 6;

/// The most stanzas of a request: those of the hybrid have 1.5 KiB each.
const STANZAS_MAX: usize = 128;
/// What an empty string takes besides its bytes.
const STRING_BYTES: usize = size_of::<String>();
/// Times of one stanza, within a factor of two on CPUs since 2020. Clients pay for the measured time of their own requests.
const X25519_TIME: Duration = Duration::from_micros(80);
const HYBRID_TIME: Duration = Duration::from_micros(200);
