//! From a message to a request that a device can compute, or the reason for its refusal.

use oarlock::Error;
use oarlock::device::{PublicKeyRequest, Shape};
use oarlock::rsa::{
    Base, ByteOrder, EncryptionScheme, Hash, RsaPrivateKey, RsaPrivateNumbers, SignatureScheme,
};
use tonic::Code;
use zeroize::{Zeroize, Zeroizing};

use super::access::{Operation, Rights};
use super::config::ID_BYTES_MAX;
use super::dispatch::{Origin, Refusal, Work, refusal_of};
use super::keys::Keys;
use super::outbox::REPLY_BYTES;
use crate::proto;

/// A request that is valid and that its client may make.
#[derive(Debug)]
pub enum Prepared {
    /// Work for a device.
    Power {
        /// What the device computes.
        work: Work,
        /// Where the numbers of its key come from.
        origin: Origin,
        /// Whether the bytes of the result are reversed.
        reverses: bool,
    },
    /// This many random bytes.
    Random(usize),
}

/// The operation that a request asks for, and the id of the server key; `None` if it asks for
/// nothing.
pub fn subject(request: &proto::Request) -> Option<(Operation, &str)> {
    use proto::request::Operation as Asked;
    Some(match request.operation.as_ref()? {
        Asked::Sign(sign) => (Operation::Sign, &sign.key_id),
        Asked::Decrypt(decrypt) => (Operation::Decrypt, &decrypt.key_id),
        Asked::RawPrivate(raw) => (Operation::RawPrivate, &raw.key_id),
        Asked::ModExp(_) => (Operation::ModExp, ""),
        Asked::Random(_) => (Operation::Random, ""),
    })
}

/// How many bytes the reply to a request may have.
pub(super) fn reply_bytes(request: &proto::Request) -> usize {
    match &request.operation {
        Some(proto::request::Operation::Random(random)) => {
            REPLY_BYTES + (random.bytes as usize).min(RANDOM_BYTES_MAX)
        }
        _ => REPLY_BYTES,
    }
}

/// Checks a request of a client with these rights against these keys. Numbers that came with the
/// request are checked by a worker; they are wiped in any case.
///
/// # Errors
/// PERMISSION_DENIED for what the client may not do, including keys that do not exist: a client
/// without a right to a key is not told whether it exists. NOT_FOUND and INVALID_ARGUMENT for the
/// rest.
pub fn prepare(
    request: &mut proto::Request,
    rights: &Rights,
    keys: &Keys,
) -> Result<Prepared, Refusal> {
    use proto::request::Operation as Asked;
    let Some((operation, key_id)) = subject(request) else {
        return Err(invalid(
            "the request has no operation, or one unknown to this server",
        ));
    };
    if key_id.len() > ID_BYTES_MAX {
        return Err(invalid(format!(
            "the key id has {} bytes: ids have at most {ID_BYTES_MAX}",
            key_id.len()
        )));
    }
    if !rights.allows(key_id, operation) {
        let what = if operation.needs_key() {
            format!("{} with key {key_id:?}", name(operation))
        } else {
            name(operation).to_owned()
        };
        return Err(Refusal::repeating(
            Code::PermissionDenied,
            format!("the certificate of this client does not allow {what}"),
            "not allowed",
        ));
    }
    let key = if operation.needs_key() {
        keys.get(key_id)
    } else {
        None
    };
    let missing = || {
        let message = format!("there is no key {key_id:?} here: list the keys to see which exist");
        Refusal::repeating(Code::NotFound, message, "no such key")
    };
    let prepared = match (request.operation.as_ref(), key) {
        (Some(Asked::Sign(sign)), Some(key)) => {
            PublicKeyRequest::sign_digest(key, signature_scheme(sign.scheme)?, &sign.digest)
        }
        (Some(Asked::Decrypt(decrypt)), Some(key)) => {
            let scheme = encryption_scheme(decrypt.scheme, &decrypt.label)?;
            PublicKeyRequest::decrypt(key, &scheme, &decrypt.ciphertext)
        }
        (Some(Asked::RawPrivate(raw)), Some(key)) => {
            PublicKeyRequest::raw_private(key, &raw.number)
        }
        (Some(Asked::Random(random)), _) => {
            return match random.bytes as usize {
                bytes @ 1..=RANDOM_BYTES_MAX => Ok(Prepared::Random(bytes)),
                bytes => Err(invalid(format!(
                    "{bytes} random bytes: ask for 1 to {RANDOM_BYTES_MAX} at once"
                ))),
            };
        }
        (Some(Asked::ModExp(_)), _) => return mod_exp(request),
        _ => return Err(missing()),
    };
    Ok(Prepared::Power {
        work: Work::Request(Box::new(prepared.map_err(refusal_of)?)),
        origin: Origin::Server,
        reverses: false,
    })
}

fn mod_exp(request: &mut proto::Request) -> Result<Prepared, Refusal> {
    let Some(proto::request::Operation::ModExp(numbers)) = request.operation.take() else {
        return Err(invalid("the request has no operation"));
    };
    let numbers = Numbers(numbers);
    let order = match proto::ByteOrder::try_from(numbers.0.byte_order) {
        Ok(proto::ByteOrder::BigEndian) => ByteOrder::BigEndian,
        Ok(proto::ByteOrder::LittleEndian) => ByteOrder::LittleEndian,
        Err(_) => return Err(unknown("byte order", numbers.0.byte_order)),
    };
    let modulus = &numbers.0.modulus;
    let longest = (NUMBER_PER_MODULUS * modulus.len()).max(NUMBER_BYTES_MIN);
    if modulus.len() > MODULUS_BYTES_MAX {
        return Err(invalid(format!(
            "the modulus has {} bytes: the limit is {MODULUS_BYTES_MAX}",
            modulus.len()
        )));
    }
    let lengths = [
        ("base", numbers.0.base.len(), BASE_BYTES_MAX),
        ("exponent", numbers.0.exponent.len(), longest),
    ];
    for (what, length, limit) in lengths {
        if length > limit {
            return Err(invalid(format!(
                "the {what} has {length} bytes: with this modulus the limit is {limit}"
            )));
        }
    }
    let bits = bits(modulus, order);
    let (shape, reverses) = match &numbers.0.crt {
        // A request without primes keeps the byte order by itself.
        None => (Shape::of_power(bits, numbers.0.exponent.len()), false),
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
    let make = Box::new(move || power(&numbers.0, order).map_err(refusal_of));
    Ok(Prepared::Power {
        work: Work::Numbers { shape, make },
        origin: Origin::Client,
        reverses,
    })
}

/// The numbers of a client, wiped when they are dropped.
struct Numbers(proto::ModExp);

impl Drop for Numbers {
    fn drop(&mut self) {
        let numbers = &mut self.0;
        for number in [
            &mut numbers.base,
            &mut numbers.exponent,
            &mut numbers.modulus,
        ] {
            number.zeroize();
        }
        if let Some(crt) = &mut numbers.crt {
            for number in [
                &mut crt.p,
                &mut crt.q,
                &mut crt.dp,
                &mut crt.dq,
                &mut crt.qinv,
            ] {
                number.zeroize();
            }
        }
    }
}

/// The bits of a number without its leading zeros.
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

/// Checks the numbers of a client. With primes that takes a millisecond of a core.
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

fn signature_scheme(number: i32) -> Result<SignatureScheme, Refusal> {
    use proto::SignatureScheme as Named;
    Ok(match Named::try_from(number) {
        Ok(Named::RsaPkcs1Sha256) => SignatureScheme::Pkcs1(Hash::Sha256),
        Ok(Named::RsaPkcs1Sha384) => SignatureScheme::Pkcs1(Hash::Sha384),
        Ok(Named::RsaPkcs1Sha512) => SignatureScheme::Pkcs1(Hash::Sha512),
        Ok(Named::RsaPssSha256) => SignatureScheme::Pss(Hash::Sha256),
        Ok(Named::RsaPssSha384) => SignatureScheme::Pss(Hash::Sha384),
        Ok(Named::RsaPssSha512) => SignatureScheme::Pss(Hash::Sha512),
        Ok(Named::Unspecified) | Err(_) => return Err(unknown("signature scheme", number)),
    })
}

fn encryption_scheme(number: i32, label: &[u8]) -> Result<EncryptionScheme, Refusal> {
    use proto::EncryptionScheme as Named;
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

/// The name in configuration and audit.
pub(crate) fn name(operation: Operation) -> &'static str {
    match operation {
        Operation::Sign => "sign",
        Operation::Decrypt => "decrypt",
        Operation::RawPrivate => "raw_private",
        Operation::ModExp => "mod_exp",
        Operation::Random => "random",
        Operation::List => "list",
    }
}

fn unknown(what: &str, number: i32) -> Refusal {
    invalid(format!("{what} {number} is unknown to this server"))
}

fn invalid(message: impl Into<String>) -> Refusal {
    Refusal::new(Code::InvalidArgument, message)
}

const RANDOM_BYTES_MAX: usize = 65_536;
/// The longest modulus accepted, with leading zeros: twice the longest one without.
const MODULUS_BYTES_MAX: usize = 1024;
/// Sixteen times the longest modulus: a base is reduced once.
const BASE_BYTES_MAX: usize = 8192;
/// An exponent may have this many times the bytes of the modulus, as blinded ones have. A longer one
/// would occupy a device in proportion.
const NUMBER_PER_MODULUS: usize = 2;
/// An exponent may have this many bytes, however short the modulus is.
const NUMBER_BYTES_MIN: usize = 64;
