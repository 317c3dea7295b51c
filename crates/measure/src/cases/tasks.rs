//! The tasks of every implementation: the same keys, and requests that differ from each other.

use std::sync::Arc;

use oarlock::Accelerator;
use oarlock::rsa::{Hash, RsaPrivateKey, SignatureScheme};
use pkcs1::RsaPrivateKeyRef;
use pkcs1::der::{Decode, SecretDocument};
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};
use sha2::{Digest, Sha256};

use super::public_key::{PublicKeyCase, PublicKeyOperation, RsaOperation};
use crate::error::Error;

/// The requests of a case, taken in turn.
#[derive(Clone, Debug)]
pub enum Tasks {
    /// Operations with RSA keys.
    Rsa(Arc<RsaTasks>),
    /// Powers without a key.
    ModExp(Arc<ModExpTasks>),
}

/// Requests with RSA keys.
#[derive(Clone, Debug)]
pub struct RsaTasks {
    /// The operation of each request.
    pub operation: RsaOperation,
    /// The keys, all of one size, with 65537 as e.
    pub keys: Vec<RsaKey>,
    /// The requests, which use the keys in rotation.
    pub requests: Vec<RsaRequest>,
}

/// A private key with two primes.
#[derive(Clone, Debug)]
pub struct RsaKey {
    /// The key as RSAPrivateKey (RFC 8017, A.1.2).
    pub der: SecretDocument,
}

/// A request with an RSA key.
#[derive(Clone, Debug)]
pub struct RsaRequest {
    /// The index of its key.
    pub key: usize,
    /// The message, for implementations that sign messages.
    pub message: [u8; 32],
    /// The SHA-256 digest of the message.
    pub digest: [u8; 32],
    /// The input of the bare operation, as long as the modulus and less than it: the padded digest (EMSA-PKCS1-v1_5;
    /// RFC 8017, 9.2), or any number if the operation has no padding.
    pub number: Vec<u8>,
    /// The signature of the digest, as long as the modulus; empty unless signatures are verified.
    pub signature: Vec<u8>,
}

/// Powers without a key. All numbers are big-endian and of the same length.
#[derive(Clone, Debug)]
pub struct ModExpTasks {
    /// The moduli: odd, with the top bit set.
    pub moduli: Vec<Vec<u8>>,
    /// The requests, which use the moduli in rotation.
    pub requests: Vec<ModExpRequest>,
}

/// A base to the power of an exponent.
#[derive(Clone, Debug)]
pub struct ModExpRequest {
    /// The index of its modulus.
    pub modulus: usize,
    /// The base, less than the modulus.
    pub base: Vec<u8>,
    /// The exponent, with the top bit set.
    pub exponent: Vec<u8>,
}

impl ModExpTasks {
    /// Returns the length of every number in bytes.
    pub fn bytes(&self) -> usize {
        self.moduli.first().map_or(0, Vec::len)
    }
}

impl Tasks {
    /// Creates the tasks of a case, the same in every process.
    pub(crate) fn of(case: &PublicKeyCase) -> Result<Self, Error> {
        let bytes = case.operation.bits() / 8;
        let mut random = StdRng::seed_from_u64(bytes as u64);
        match case.operation {
            PublicKeyOperation::Rsa { operation, bits } => {
                let keys = rsa_keys(bits)?;
                let requests = (0..REQUESTS)
                    .map(|number| {
                        let place = number % keys.len();
                        rsa_request(&mut random, operation, place, &keys[place], bytes)
                    })
                    .collect::<Result<_, _>>()?;
                Ok(Self::Rsa(Arc::new(RsaTasks {
                    operation,
                    keys,
                    requests,
                })))
            }
            PublicKeyOperation::ModExp { .. } => {
                let mut tasks = ModExpTasks {
                    moduli: Vec::new(),
                    requests: Vec::new(),
                };
                for _ in 0..MODULI {
                    tasks.moduli.push(number(&mut random, bytes, 0x80, 1));
                }
                for place in 0..REQUESTS {
                    tasks.requests.push(ModExpRequest {
                        modulus: place % MODULI,
                        base: without_top(number(&mut random, bytes, 0, 0)),
                        exponent: number(&mut random, bytes, 0x80, 0),
                    });
                }
                Ok(Self::ModExp(Arc::new(tasks)))
            }
        }
    }

    /// Returns the number of requests.
    pub fn count(&self) -> usize {
        match self {
            Self::Rsa(tasks) => tasks.requests.len(),
            Self::ModExp(tasks) => tasks.requests.len(),
        }
    }

    /// Returns the tasks with one wrong bit in each signature, at a different place in each; `None` if no signatures
    /// are verified.
    pub(crate) fn with_wrong_signatures(&self) -> Option<Self> {
        let Self::Rsa(tasks) = self else { return None };
        if tasks.operation != RsaOperation::Verify {
            return None;
        }
        let mut tasks = RsaTasks::clone(tasks);
        for (number, request) in tasks.requests.iter_mut().enumerate() {
            let bit = number * 31 % (8 * request.signature.len());
            let last = request.signature.len() - 1;
            request.signature[last - bit / 8] ^= 1 << (bit % 8);
        }
        Some(Self::Rsa(Arc::new(tasks)))
    }
}

impl RsaKey {
    /// Returns a key of `bits` bits: 1024, 2048, 3072 or 4096.
    ///
    /// # Errors
    /// [`Error::Failed`] for other lengths.
    pub fn of_bits(bits: usize) -> Result<Self, Error> {
        let first = rsa_keys(bits)?.into_iter().next();
        first.ok_or_else(|| not_a_key("a file is empty"))
    }

    /// Returns the numbers of the key.
    ///
    /// # Errors
    /// [`Error::Failed`] if it is not an RSAPrivateKey.
    pub fn numbers(&self) -> Result<RsaPrivateKeyRef<'_>, Error> {
        RsaPrivateKeyRef::from_der(self.der.as_bytes()).map_err(not_a_key)
    }

    fn sign(&self, digest: &[u8]) -> Result<Vec<u8>, Error> {
        let key = RsaPrivateKey::from_der(self.der.as_bytes())?;
        let accelerator = Accelerator::builder().max_threads(0).build()?;
        let scheme = SignatureScheme::Pkcs1(Hash::Sha256);
        Ok(accelerator.rsa(&key).sign_digest(scheme, digest)?)
    }
}

/// Returns the keys of `crates/measure/keys`, which protect nothing: `openssl genrsa -traditional` generated them.
fn rsa_keys(bits: usize) -> Result<Vec<RsaKey>, Error> {
    let text = match bits {
        1024 => include_str!("../../keys/rsa1024.pem"),
        2048 => include_str!("../../keys/rsa2048.pem"),
        3072 => include_str!("../../keys/rsa3072.pem"),
        4096 => include_str!("../../keys/rsa4096.pem"),
        _ => {
            return Err(Error::Failed(format!(
                "crates/measure/keys has no RSA-{bits}"
            )));
        }
    };
    text.split_inclusive(END)
        .map(str::trim)
        .filter(|pem| !pem.is_empty())
        .map(|pem| {
            let (_, der) = SecretDocument::from_pem(pem).map_err(not_a_key)?;
            Ok(RsaKey { der })
        })
        .collect()
}

fn not_a_key(error: impl std::fmt::Display) -> Error {
    Error::Failed(format!("crates/measure/keys: {error}"))
}

fn rsa_request(
    random: &mut impl Rng,
    operation: RsaOperation,
    place: usize,
    key: &RsaKey,
    bytes: usize,
) -> Result<RsaRequest, Error> {
    let message: [u8; 32] = random.random();
    let digest: [u8; 32] = Sha256::digest(message).into();
    let number = match operation {
        RsaOperation::Private => without_top(number(random, bytes, 0, 0)),
        RsaOperation::Sign | RsaOperation::Verify => padded(&digest, bytes),
    };
    let signature = match operation {
        RsaOperation::Verify => key.sign(&digest)?,
        RsaOperation::Private | RsaOperation::Sign => Vec::new(),
    };
    Ok(RsaRequest {
        key: place,
        message,
        digest,
        number,
        signature,
    })
}

/// Returns a random number with these bits of its first and last byte set.
fn number(random: &mut impl Rng, bytes: usize, first: u8, last: u8) -> Vec<u8> {
    let mut number = vec![0; bytes];
    random.fill_bytes(&mut number);
    number[0] |= first;
    number[bytes - 1] |= last;
    number
}

/// Clears the top bit, which makes the number less than any of the same length with that bit set.
fn without_top(mut number: Vec<u8>) -> Vec<u8> {
    number[0] &= 0x7f;
    number
}

/// Returns the EMSA-PKCS1-v1_5 encoding (RFC 8017, 9.2) of a SHA-256 digest.
fn padded(digest: &[u8; 32], bytes: usize) -> Vec<u8> {
    let ones = bytes - 3 - SHA256_INFO.len() - digest.len();
    [&[0, 1], &*vec![0xff; ones], &[0], SHA256_INFO, digest].concat()
}

/// The DigestInfo that precedes the digest (RFC 8017, 9.2, note 1).
const SHA256_INFO: &[u8] = &[
    0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05,
    0x00, 0x04, 0x20,
];
const END: &str = "-----END RSA PRIVATE KEY-----";
/// The number of requests: a multiple of the keys, and usually the most in flight at once.
const REQUESTS: usize = 64;
/// The number of moduli, the same as of the keys of each size in `crates/measure/keys`.
const MODULI: usize = 8;

#[cfg(test)]
mod tests {
    use super::super::public_key::PUBLIC_KEY_CASES;
    use super::*;

    #[test]
    fn requests_differ_and_follow_each_other_through_all_keys() {
        for case in PUBLIC_KEY_CASES {
            let tasks = Tasks::of(case).unwrap();
            let bytes = case.operation.bits() / 8;
            let mut numbers: Vec<Vec<u8>> = match &tasks {
                Tasks::Rsa(tasks) => {
                    let RsaTasks { keys, requests, .. } = &**tasks;
                    assert_eq!(keys.len(), 8);
                    for (number, request) in requests.iter().enumerate() {
                        assert_eq!(request.key, number % 8);
                        let key = keys[request.key].numbers().unwrap();
                        assert_eq!(key.modulus.as_bytes().len(), bytes, "{}", case.name);
                        assert_eq!(key.public_exponent.as_bytes(), [1, 0, 1]);
                        assert!(request.number[..] < *key.modulus.as_bytes());
                    }
                    requests.iter().map(|one| one.number.clone()).collect()
                }
                Tasks::ModExp(tasks) => {
                    for (number, request) in tasks.requests.iter().enumerate() {
                        assert_eq!(request.modulus, number % 8);
                        assert!(request.base < tasks.moduli[request.modulus]);
                        assert_eq!(request.exponent.len(), bytes);
                    }
                    let bases = tasks.requests.iter().map(|one| one.base.clone());
                    bases.collect()
                }
            };
            assert!(numbers.iter().all(|number| number.len() == bytes));
            numbers.sort();
            numbers.dedup();
            assert_eq!(numbers.len(), tasks.count(), "{}", case.name);
        }
    }
}
