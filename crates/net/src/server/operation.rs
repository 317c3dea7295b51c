//! Turns a message into a request that a device can compute, or refuses it.

use oarlock::Error;
use oarlock::device::{PublicKeyRequest, Shape};
use oarlock::keys::{KeyType, PrivateKey, Scheme};
use oarlock::rsa::{Base, ByteOrder, EncryptionScheme, Hash, RsaPrivateKey, RsaPrivateNumbers};
use prost::Message as _;
use tonic::Code;
use zeroize::Zeroizing;

use super::access::{Operation, Rights};
use super::config::ID_BYTES_MAX;
use super::dispatch::{Origin, Refusal, Work, refusal_of};
use super::items::{self, Batch, OfSecret};
use super::key::Key;
use super::keys::Keys;
use super::outbox::REPLY_BYTES;
use super::secret::SecretAlgorithm;
use super::signature::{MESSAGE_BYTES_MAX, Signature};
use crate::proto;

/// A valid request that its client is allowed to make.
#[derive(Debug)]
pub enum Prepared {
    /// Work for a device, or for one of its workers.
    Work {
        /// The computation.
        work: Work,
        /// The source of the numbers of its key.
        origin: Origin,
        /// Whether the bytes of the result are reversed.
        reverses: bool,
    },
    /// A number of random bytes.
    Random(usize),
    /// Several items, by a key of the server.
    Items(Batch),
}

/// Returns the operation of a request and the ID of its server key, which is empty without one; `None` if the request has no
/// operation.
pub fn subject(request: &proto::Request) -> Option<(Operation, &str)> {
    use proto::request::Operation as Asked;
    Some(match request.operation.as_ref()? {
        Asked::Sign(sign) => (Operation::Sign, &sign.key_id),
        Asked::Decrypt(decrypt) => (Operation::Decrypt, &decrypt.key_id),
        Asked::RawPrivate(raw) => (Operation::RawPrivate, &raw.key_id),
        Asked::ModExp(_) => (Operation::ModExp, ""),
        Asked::Random(_) => (Operation::Random, ""),
        Asked::Unwrap(unwrap) => (Operation::Unwrap, &unwrap.key_id),
        Asked::Mac(mac) => (Operation::Mac, &mac.key_id),
        Asked::VerifyMac(verify) => (Operation::VerifyMac, &verify.key_id),
        Asked::Seal(seal) => (Operation::Seal, &seal.key_id),
        Asked::Open(open) => (Operation::Open, &open.key_id),
    })
}

/// Returns the bytes that a request makes the server hold until its reply is read: those of the reply, those of a message
/// to be signed, those of the client's numbers, and those of several items.
pub(super) fn kept_bytes(request: &proto::Request) -> usize {
    use proto::request::Operation as Asked;
    match &request.operation {
        Some(Asked::Sign(sign)) => {
            let signature = match sign.scheme() {
                proto::SignatureScheme::MlDsa44
                | proto::SignatureScheme::MlDsa65
                | proto::SignatureScheme::MlDsa87 => ML_DSA_SIGNATURE_BYTES_MAX,
                _ => 0,
            };
            // Digests fit into the room for the reply. A message over the limit is refused at once.
            let message = sign.digest.len().min(MESSAGE_BYTES_MAX);
            REPLY_BYTES + signature + message.saturating_sub(DIGEST_BYTES_MAX)
        }
        Some(Asked::Random(random)) => REPLY_BYTES + (random.bytes as usize).min(RANDOM_BYTES_MAX),
        // The numbers wait for a worker that checks them. Longer ones are refused at once.
        Some(Asked::ModExp(numbers)) => REPLY_BYTES + numbers.encoded_len().min(NUMBERS_BYTES_MAX),
        Some(Asked::Unwrap(unwrap)) => REPLY_BYTES + items::unwrap_bytes(unwrap),
        Some(Asked::Mac(mac)) => REPLY_BYTES + mac.kept_bytes(),
        Some(Asked::VerifyMac(verify)) => REPLY_BYTES + verify.kept_bytes(),
        Some(Asked::Seal(seal)) => REPLY_BYTES + seal.kept_bytes(),
        Some(Asked::Open(open)) => REPLY_BYTES + open.kept_bytes(),
        _ => REPLY_BYTES,
    }
}

/// Returns the bytes that the items of a decoded request take in addition to their content.
pub(super) fn items_bytes(request: &proto::Request) -> usize {
    use proto::request::Operation as Asked;
    fn of<T>(items: &[T]) -> usize {
        items.len() * (size_of::<T>() + ALLOCATION_BYTES)
    }
    match &request.operation {
        Some(Asked::Unwrap(unwrap)) => {
            let arguments = unwrap.stanzas.iter().map(|stanza| of(&stanza.arguments));
            of(&unwrap.stanzas) + arguments.sum::<usize>()
        }
        Some(Asked::Mac(mac)) => of(&mac.messages),
        Some(Asked::VerifyMac(verify)) => of(&verify.macs),
        Some(Asked::Seal(seal)) => of(&seal.plaintexts),
        Some(Asked::Open(open)) => of(&open.ciphertexts),
        _ => 0,
    }
}

/// Returns room for the bytes of a key in a list, with its older versions if `has_older`.
pub(super) fn listed_bytes(key: &Key, has_older: bool) -> usize {
    match key {
        Key::Private(versions) => {
            let public = match versions.newest().key_type() {
                KeyType::MlDsa(set) => REPLY_BYTES + set.public_key_bytes(),
                _ => REPLY_BYTES,
            };
            let older = if has_older { versions.older().len() } else { 0 };
            public * (1 + older)
        }
        Key::Identities(identities) => REPLY_BYTES + identities.recipient().len(),
        Key::Secret(_) => REPLY_BYTES,
    }
}

/// Whether a key serves an operation at all, if a client has the right to it.
pub(super) fn serves(key: &Key, operation: Operation) -> bool {
    match (key, operation) {
        (Key::Private(_), Operation::Sign) => true,
        (Key::Private(_), Operation::Decrypt | Operation::RawPrivate | Operation::Unwrap) => {
            key.as_rsa().is_some()
        }
        (Key::Identities(_), Operation::Unwrap) => true,
        (Key::Secret(key), Operation::Mac | Operation::VerifyMac) => {
            key.algorithm() != SecretAlgorithm::Aead
        }
        (Key::Secret(key), Operation::Seal | Operation::Open) => {
            key.algorithm() == SecretAlgorithm::Aead
        }
        _ => false,
    }
}

/// Checks a request of a client with these rights against these keys. A worker checks the numbers that came with the
/// request; they are wiped in any case.
///
/// # Errors
/// PERMISSION_DENIED for what the client may not do, including keys that do not exist: a client without a right to a key
/// does not learn whether it exists. NOT_FOUND and INVALID_ARGUMENT for the rest.
pub fn prepare(
    request: &mut proto::Request,
    rights: &Rights,
    keys: &Keys,
) -> Result<Prepared, Refusal> {
    use proto::request::Operation as Asked;
    let Some((operation, key_id)) = subject(request) else {
        return Err(invalid(NO_OPERATION));
    };
    if key_id.len() > ID_BYTES_MAX {
        return Err(id_too_long(key_id));
    }
    if !rights.allows(key_id, operation) {
        return Err(denied(operation, key_id));
    }
    let key = if operation.needs_key() {
        keys.get(key_id)
    } else {
        None
    };
    if operation.needs_key() && key.is_none() {
        return Err(match keys.entry(key_id) {
            Some(_) => disabled(key_id),
            None => no_such_key(key_id),
        });
    }
    let digest = public_digest(&request.public_key_sha256, operation)?;
    let prepared = match (request.operation.as_mut(), key) {
        (Some(Asked::Sign(sign)), Some(key)) => {
            newest_is_meant(key, &sign.key_id, digest)?;
            signature(sign, key)?
        }
        (Some(Asked::Decrypt(decrypt)), Some(key)) => {
            let scheme = encryption_scheme(decrypt.scheme, &decrypt.label)?;
            rsa_key(key, &decrypt.key_id, operation)?;
            let key = rsa_version(key, &decrypt.key_id, decrypt.key_version, digest)?;
            of_rsa(PublicKeyRequest::decrypt(key, &scheme, &decrypt.ciphertext))?
        }
        (Some(Asked::RawPrivate(raw)), Some(key)) => {
            newest_is_meant(key, &raw.key_id, digest)?;
            let key = rsa_key(key, &raw.key_id, operation)?;
            of_rsa(PublicKeyRequest::raw_private(key, &raw.number))?
        }
        (Some(Asked::Unwrap(asked)), Some(key)) => {
            return Ok(Prepared::Items(items::unwrap(asked, key)?));
        }
        (Some(Asked::Mac(asked)), Some(key)) => return of_secret(asked, key),
        (Some(Asked::VerifyMac(asked)), Some(key)) => return of_secret(asked, key),
        (Some(Asked::Seal(asked)), Some(key)) => return of_secret(asked, key),
        (Some(Asked::Open(asked)), Some(key)) => return of_secret(asked, key),
        (Some(Asked::Random(random)), _) => {
            return match random.bytes as usize {
                bytes @ 1..=RANDOM_BYTES_MAX => Ok(Prepared::Random(bytes)),
                bytes => Err(invalid(format!(
                    "{bytes} random bytes: ask for 1 to {RANDOM_BYTES_MAX} at once"
                ))),
            };
        }
        (Some(Asked::ModExp(_)), _) => return mod_exp(request),
        _ => return Err(invalid(NO_OPERATION)),
    };
    Ok(Prepared::Work {
        work: prepared,
        origin: Origin::Server,
        reverses: false,
    })
}

fn of_secret(asked: &mut impl OfSecret, key: &Key) -> Result<Prepared, Refusal> {
    items::of_secret(asked, key).map(Prepared::Items)
}

fn of_rsa(request: Result<PublicKeyRequest, Error>) -> Result<Work, Refusal> {
    Ok(Work::Request(Box::new(request.map_err(refusal_of)?)))
}

fn signature(sign: &proto::Sign, key: &Key) -> Result<Work, Refusal> {
    let (named, key_type, scheme) = signature_scheme(sign.scheme)?;
    let key = key
        .as_private()
        .ok_or_else(|| unfit(&sign.key_id, key, "sign takes private keys"))?;
    if key.key_type() != key_type {
        return Err(Refusal::repeating(
            Code::InvalidArgument,
            format!(
                "{} signs with keys of {key_type}, and key {:?} is one of {}",
                named.as_str_name(),
                sign.key_id,
                key.key_type()
            ),
            "the scheme does not fit the key",
        ));
    }
    match (scheme, key.as_rsa()) {
        (Scheme::Rsa(scheme), Some(key)) => {
            of_rsa(PublicKeyRequest::sign_digest(key, scheme, &sign.digest))
        }
        (scheme, _) => {
            let signature = Signature::new(key, scheme, &sign.digest).map_err(refusal_of)?;
            Ok(Work::Signature(Box::new(signature)))
        }
    }
}

/// Returns the RSA key for an operation that only RSA has.
fn rsa_key<'a>(key: &'a Key, id: &str, operation: Operation) -> Result<&'a RsaPrivateKey, Refusal> {
    let taken = format!("{} takes RSA keys", name(operation));
    key.as_rsa().ok_or_else(|| unfit(id, key, &taken))
}

/// Returns the version of an RSA key that has this number, or the one that has this public half if the number is 0.
fn rsa_version<'a>(
    key: &'a Key,
    id: &str,
    version: u32,
    digest: Option<&[u8]>,
) -> Result<&'a RsaPrivateKey, Refusal> {
    let versions = key.as_versions();
    let numbered = versions.and_then(|versions| versions.get(version));
    let numbered = numbered.ok_or_else(|| {
        Refusal::repeating(
            Code::InvalidArgument,
            format!("key {id:?} has no version {version}"),
            "no such version",
        )
    })?;
    let meant = match digest {
        None => Some(numbered),
        Some(digest) => versions
            .and_then(|versions| versions.of_public(digest))
            .filter(|meant| version == 0 || meant.public_key() == numbered.public_key()),
    };
    meant
        .and_then(PrivateKey::as_rsa)
        .ok_or_else(|| replaced(id))
}

/// Returns the digest of the public half that a request names.
fn public_digest(digest: &[u8], operation: Operation) -> Result<Option<&[u8]>, Refusal> {
    match (digest.len(), operation) {
        (0, _) => Ok(None),
        (32, Operation::Sign | Operation::Decrypt | Operation::RawPrivate) => Ok(Some(digest)),
        (32, _) => Err(invalid(format!(
            "public_key_sha256 with {}: sign, decrypt and raw_private take it",
            name(operation)
        ))),
        (bytes, _) => Err(invalid(format!(
            "public_key_sha256 has {bytes} bytes: a digest by SHA-256 has 32"
        ))),
    }
}

/// Refuses a key whose newest version is not the one that a request names.
fn newest_is_meant(key: &Key, id: &str, digest: Option<&[u8]>) -> Result<(), Refusal> {
    match (key.as_versions(), digest) {
        (Some(versions), Some(digest)) if !versions.is_newest(digest) => Err(replaced(id)),
        _ => Ok(()),
    }
}

fn replaced(id: &str) -> Refusal {
    let message =
        format!("key {id:?} was replaced or rotated since the client listed it: list the keys");
    Refusal::repeating(Code::FailedPrecondition, message, "the key was replaced")
}

pub(super) fn id_too_long(id: &str) -> Refusal {
    invalid(format!(
        "the key id has {} bytes: ids have at most {ID_BYTES_MAX}",
        id.len()
    ))
}

/// Returns the refusal of what a client may not do. It is the same whether the key exists or not.
pub(super) fn denied(operation: Operation, key_id: &str) -> Refusal {
    let what = if operation.needs_key() {
        format!("{} with key {key_id:?}", name(operation))
    } else {
        name(operation).to_owned()
    };
    Refusal::repeating(
        Code::PermissionDenied,
        format!("the certificate of this client does not allow {what}"),
        "not allowed",
    )
}

pub(super) fn no_such_key(id: &str) -> Refusal {
    let message = format!("there is no key {id:?} here: list the keys to see which exist");
    Refusal::repeating(Code::NotFound, message, "no such key")
}

fn disabled(id: &str) -> Refusal {
    let message = format!("key {id:?} is disabled: a client with the right to do so enables it");
    Refusal::repeating(Code::FailedPrecondition, message, "the key is disabled")
}

/// Returns the refusal of an operation that a key does not serve.
pub(super) fn unfit(id: &str, key: &Key, taken: &str) -> Refusal {
    let only = match key {
        Key::Private(_) => "which only signs",
        Key::Identities(_) => "which only unwraps",
        Key::Secret(key) if key.algorithm() == SecretAlgorithm::Aead => {
            "which only seals and opens"
        }
        Key::Secret(_) => "which only makes and verifies MACs",
    };
    Refusal::repeating(
        Code::InvalidArgument,
        format!(
            "{taken}, and key {id:?} is one of {}, {only}",
            key.type_name()
        ),
        "the operation does not fit the key",
    )
}

fn mod_exp(request: &mut proto::Request) -> Result<Prepared, Refusal> {
    let Some(proto::request::Operation::ModExp(numbers)) = request.operation.take() else {
        return Err(invalid("the request has no operation"));
    };
    let order = match proto::ByteOrder::try_from(numbers.byte_order) {
        Ok(proto::ByteOrder::BigEndian) => ByteOrder::BigEndian,
        Ok(proto::ByteOrder::LittleEndian) => ByteOrder::LittleEndian,
        Err(_) => return Err(unknown("byte order", numbers.byte_order)),
    };
    let modulus = &numbers.modulus;
    let longest = (NUMBER_PER_MODULUS * modulus.len()).max(NUMBER_BYTES_MIN);
    if modulus.len() > MODULUS_BYTES_MAX {
        return Err(invalid(format!(
            "the modulus has {} bytes: the limit is {MODULUS_BYTES_MAX}",
            modulus.len()
        )));
    }
    let lengths = [
        ("base", numbers.base.len(), BASE_BYTES_MAX),
        ("exponent", numbers.exponent.len(), longest),
    ];
    for (what, length, limit) in lengths {
        if length > limit {
            return Err(invalid(format!(
                "the {what} has {length} bytes: with this modulus the limit is {limit}"
            )));
        }
    }
    let bits = bits(modulus, order);
    let (shape, reverses) = match &numbers.crt {
        // A request without primes handles the byte order itself.
        None => (Shape::of_power(bits, numbers.exponent.len()), false),
        Some(crt) if crt.public_exponent.is_empty() => {
            return Err(invalid(
                "crt without public_exponent, which the result is checked with because a wrong one would \
                 reveal the primes: send it, or leave crt out",
            ));
        }
        Some(crt) => {
            let all = [
                &crt.public_exponent,
                &crt.p,
                &crt.q,
                &crt.dp,
                &crt.dq,
                &crt.qinv,
            ];
            if all.iter().any(|number| number.len() > longest) {
                return Err(invalid("a number of crt is longer than twice the modulus"));
            }
            let reverses = order == ByteOrder::LittleEndian;
            (Shape::of_private_by_primes(bits), reverses)
        }
    };
    let make = Box::new(move || power(&numbers, order).map_err(refusal_of));
    Ok(Prepared::Work {
        work: Work::Numbers { shape, make },
        origin: Origin::Client,
        reverses,
    })
}

/// Returns the length of a number in bits, without leading zeros.
fn bits(number: &[u8], order: ByteOrder) -> usize {
    let bits = |mut bytes: std::slice::Iter<'_, u8>, is_reversed| loop {
        let top = if is_reversed {
            bytes.next_back()
        } else {
            bytes.next()
        };
        match top {
            None => return 0,
            Some(0) => {}
            Some(top) => return 8 * bytes.len() + (8 - top.leading_zeros() as usize),
        }
    };
    bits(number.iter(), order == ByteOrder::LittleEndian)
}

/// Checks the numbers of a client. With primes, that takes a core a millisecond.
fn power(numbers: &proto::ModExp, order: ByteOrder) -> Result<PublicKeyRequest, Error> {
    let base = Base {
        magnitude: &numbers.base[..],
        is_negative: numbers.base_is_negative,
    };
    let Some(crt) = &numbers.crt else {
        return PublicKeyRequest::power(&numbers.modulus, base, &numbers.exponent, order);
    };
    let big_endian = |number: &[u8]| {
        let mut number = Zeroizing::new(number.to_vec());
        if order == ByteOrder::LittleEndian {
            number.reverse();
        }
        number
    };
    let [n, e, d, p, q, dp, dq, qinv] = [
        &numbers.modulus,
        &crt.public_exponent,
        &numbers.exponent,
        &crt.p,
        &crt.q,
        &crt.dp,
        &crt.dq,
        &crt.qinv,
    ]
    .map(|number| big_endian(number));
    let key = RsaPrivateKey::from_all_numbers(&RsaPrivateNumbers {
        n: &n,
        e: &e,
        d: &d,
        p: &p,
        q: &q,
        dp: &dp,
        dq: &dq,
        qinv: &qinv,
    })?;
    PublicKeyRequest::raw_private_of_any(&key, base, order)
}

/// Returns a scheme with the type of its keys and the library's scheme.
fn signature_scheme(number: i32) -> Result<(proto::SignatureScheme, KeyType, Scheme), Refusal> {
    let named = proto::SignatureScheme::try_from(number).ok();
    let known = named.and_then(|named| Some((named, named.meaning()?)));
    let (named, (key_type, scheme)) = known.ok_or_else(|| unknown("signature scheme", number))?;
    Ok((named, key_type, scheme))
}

fn encryption_scheme(number: i32, label: &[u8]) -> Result<EncryptionScheme, Refusal> {
    use proto::EncryptionScheme as Named;
    if label.len() > LABEL_BYTES_MAX {
        return Err(invalid(format!(
            "the label has {} bytes: the limit is {LABEL_BYTES_MAX}",
            label.len()
        )));
    }
    let oaep = |hash| EncryptionScheme::Oaep {
        hash,
        mgf1: hash,
        label: label.to_vec(),
    };
    Ok(match Named::try_from(number) {
        Ok(Named::RsaPkcs1) => EncryptionScheme::Pkcs1,
        Ok(Named::RsaOaepSha1) => oaep(Hash::Sha1),
        Ok(Named::RsaOaepSha256) => oaep(Hash::Sha256),
        Ok(Named::RsaOaepSha384) => oaep(Hash::Sha384),
        Ok(Named::RsaOaepSha512) => oaep(Hash::Sha512),
        Ok(Named::Unspecified) | Err(_) => return Err(unknown("encryption scheme", number)),
    })
}

/// Returns the name of an operation in configuration and audit.
pub(crate) fn name(operation: Operation) -> &'static str {
    match operation {
        Operation::Sign => "sign",
        Operation::Decrypt => "decrypt",
        Operation::RawPrivate => "raw_private",
        Operation::ModExp => "mod_exp",
        Operation::Random => "random",
        Operation::Unwrap => "unwrap",
        Operation::Mac => "mac",
        Operation::VerifyMac => "verify_mac",
        Operation::Seal => "seal",
        Operation::Open => "open",
        Operation::List => "list",
        Operation::Create => "create",
        Operation::Rotate => "rotate",
        Operation::Disable => "disable",
        Operation::Enable => "enable",
    }
}

fn unknown(what: &str, number: i32) -> Refusal {
    invalid(format!("{what} {number} is unknown to this server"))
}

fn invalid(message: impl Into<String>) -> Refusal {
    Refusal::new(Code::InvalidArgument, message)
}

/// The allocator's overhead for each item, in bytes.
const ALLOCATION_BYTES: usize = 32;
const NO_OPERATION: &str = "the request has no operation, or one unknown to this server";
const RANDOM_BYTES_MAX: usize = 65_536;
/// The longest OAEP label, which is held with its request. Protocols use far shorter names.
const LABEL_BYTES_MAX: usize = 1024;
/// The longest digest, that of SHA-512.
const DIGEST_BYTES_MAX: usize = 64;
/// The longest signature, that of ML-DSA-87.
const ML_DSA_SIGNATURE_BYTES_MAX: usize = 4627;
/// The longest modulus accepted with its leading zeros: twice the longest one without.
const MODULUS_BYTES_MAX: usize = 1024;
/// The longest base, which is reduced once: sixteen times the longest modulus.
const BASE_BYTES_MAX: usize = 8192;
/// The most bytes of all numbers of a request: its base, its modulus, and seven numbers of twice the length of that.
const NUMBERS_BYTES_MAX: usize =
    BASE_BYTES_MAX + (1 + 7 * NUMBER_PER_MODULUS) * MODULUS_BYTES_MAX + 64;
/// The most bytes of an exponent per byte of the modulus; blinded exponents need two. A longer one would occupy a device in
/// proportion.
const NUMBER_PER_MODULUS: usize = 2;
/// An exponent may always have this many bytes, however short the modulus is.
const NUMBER_BYTES_MIN: usize = 64;
