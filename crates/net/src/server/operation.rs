//! From a message to a request that a device can compute, or the reason for its refusal.

use oarlock::device::PublicKeyRequest;
use oarlock::rsa::{
    Base, ByteOrder, EncryptionScheme, Hash, RsaPrivateKey, RsaPrivateNumbers, SignatureScheme,
};
use tonic::Code;
use zeroize::{Zeroize, Zeroizing};

use super::access::{Operation, Rights};
use super::dispatch::{Origin, Refusal, refusal_of};
use super::keys::Keys;
use crate::proto;

/// A request that is valid and that its client may make.
#[derive(Debug)]
pub enum Prepared {
    /// Work for a device.
    Power {
        /// What the device computes.
        request: Box<PublicKeyRequest>,
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

/// Checks a request of a client with these rights against these keys. It wipes the numbers that
/// came with the request.
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
    if !rights.allows(key_id, operation) {
        let what = if operation.needs_key() {
            format!("{} with key {key_id:?}", name(operation))
        } else {
            name(operation).to_owned()
        };
        let message = format!("the certificate of this client does not allow {what}");
        return Err(Refusal::new(Code::PermissionDenied, message));
    }
    let key = if operation.needs_key() {
        keys.get(key_id)
    } else {
        None
    };
    let missing = || {
        let message = format!("there is no key {key_id:?} here: list the keys to see which exist");
        Refusal::new(Code::NotFound, message)
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
        request: Box::new(prepared.map_err(refusal_of)?),
        origin: Origin::Server,
        reverses: false,
    })
}

fn mod_exp(request: &mut proto::Request) -> Result<Prepared, Refusal> {
    let Some(proto::request::Operation::ModExp(numbers)) = &mut request.operation else {
        return Err(invalid("the request has no operation"));
    };
    let prepared = power(numbers);
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
    prepared
}

fn power(numbers: &proto::ModExp) -> Result<Prepared, Refusal> {
    let order = match proto::ByteOrder::try_from(numbers.byte_order) {
        Ok(proto::ByteOrder::BigEndian) => ByteOrder::BigEndian,
        Ok(proto::ByteOrder::LittleEndian) => ByteOrder::LittleEndian,
        Err(_) => return Err(unknown("byte order", numbers.byte_order)),
    };
    for (what, number) in [("base", &numbers.base), ("exponent", &numbers.exponent)] {
        if number.len() > NUMBER_BYTES_MAX {
            return Err(invalid(format!(
                "the {what} has {} bytes: the limit is {NUMBER_BYTES_MAX}",
                number.len()
            )));
        }
    }
    let base = Base {
        magnitude: &numbers.base[..],
        is_negative: numbers.base_is_negative,
    };
    let Some(crt) = &numbers.crt else {
        let request = PublicKeyRequest::power(&numbers.modulus, base, &numbers.exponent, order)
            .map_err(refusal_of)?;
        // This request keeps the byte order by itself.
        return Ok(Prepared::Power {
            request: Box::new(request),
            origin: Origin::Client,
            reverses: false,
        });
    };
    if crt.public_exponent.is_empty() {
        return Err(invalid(
            "crt without public_exponent, which the result is checked with because a wrong one would \
             reveal the primes: send it, or leave crt out",
        ));
    }
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
    })
    .map_err(refusal_of)?;
    let request = PublicKeyRequest::raw_private_of_any(&key, base, order).map_err(refusal_of)?;
    Ok(Prepared::Power {
        request: Box::new(request),
        origin: Origin::Client,
        reverses: order == ByteOrder::LittleEndian,
    })
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
/// For a base or an exponent: sixteen times the longest modulus. A longer one would occupy a device
/// in proportion.
const NUMBER_BYTES_MAX: usize = 8192;
