//! Requests and their expected answers.

use clap::ValueEnum;
use oarlock::Accelerator;
use oarlock::keys::{Curve, KeyType, PrivateKey, PublicKey, Scheme};
use oarlock::rsa::{Base, ByteOrder, EncryptionScheme, Hash, RsaPrivateKey, SignatureScheme};
use oarlock_net::client::Operation;
use oarlock_net::proto;
use pkcs1::RsaPrivateKeyRef;
use pkcs1::der::{Decode as _, SecretDocument};
use rand::rngs::StdRng;
use rand::{Rng, RngExt as _, SeedableRng as _};

/// A kind of request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Kind {
    /// Signatures under RSA-2048 keys of the server, `key-0` to `key-7`
    Sign,
    /// Signatures under a P-256 key of the server, `p256`
    SignP256,
    /// Powers of RSA-1024 with all numbers sent along
    ModExp,
    /// The same with the numbers of the Chinese remainder theorem
    ModExpCrt,
    /// All operations; two of three are signatures
    Mixed,
}

/// A request and its expected answer.
#[derive(Clone)]
pub(crate) struct Ask {
    pub(crate) operation: Operation,
    expected: Expected,
}

#[derive(Clone)]
enum Expected {
    Bytes(Vec<u8>),
    /// An ECDSA signature of this digest by this key: each is another one.
    Signature(PublicKey, [u8; 32]),
    /// This many bytes of any value.
    Random(usize),
}

/// An RSA-2048 key, and digests to sign with it.
pub(crate) struct Signing {
    pub(crate) keys: Vec<RsaPrivateKey>,
    pub(crate) digests: Vec<[u8; 32]>,
}

pub(crate) const SCHEME: SignatureScheme = SignatureScheme::Pkcs1(Hash::Sha256);
pub(crate) const P256: Scheme = Scheme::Ecdsa(Hash::Sha256);

/// The P-256 key of the server: this number, which protects nothing.
pub(crate) fn p256() -> Result<PrivateKey, String> {
    let key = PrivateKey::from_raw(KeyType::Ec(Curve::P256), &[7; 32]);
    key.map_err(|error| error.to_string())
}

impl Ask {
    /// Whether a server's answer is right.
    pub(crate) fn is_right(&self, answer: &[u8]) -> bool {
        match &self.expected {
            Expected::Bytes(bytes) => answer == bytes,
            Expected::Signature(key, digest) => key.verify_digest(&P256, digest, answer).is_ok(),
            Expected::Random(bytes) => answer.len() == *bytes,
        }
    }
}

impl Signing {
    pub(crate) fn new() -> Result<Self, String> {
        let mut random = StdRng::seed_from_u64(7);
        let keys = keys(RSA_2048)?.into_iter().map(|der| key_of(&der));
        Ok(Self {
            keys: keys.collect::<Result<_, _>>()?,
            digests: (0..ASKS).map(|_| random.random()).collect(),
        })
    }
}

/// Distinct requests, to be sent in turn. The library computes their answers here.
pub(crate) fn of(kind: Kind) -> Result<Vec<Ask>, String> {
    let accelerator = Accelerator::builder().max_threads(0).build();
    let accelerator = accelerator.map_err(|error| error.to_string())?;
    match kind {
        Kind::Sign => signatures(&accelerator),
        Kind::SignP256 => p256_signatures(),
        Kind::ModExp => powers(&accelerator, false),
        Kind::ModExpCrt => powers(&accelerator, true),
        Kind::Mixed => mixed(&accelerator),
    }
}

fn signatures(accelerator: &Accelerator) -> Result<Vec<Ask>, String> {
    let Signing { keys, digests } = Signing::new()?;
    let asks = digests.iter().enumerate().map(|(number, digest)| {
        let key = number % keys.len();
        let signature = accelerator.rsa(&keys[key]).sign_digest(SCHEME, digest);
        Ok(Ask {
            operation: Operation::Sign(proto::Sign {
                key_id: format!("key-{key}"),
                scheme: proto::SignatureScheme::RsaPkcs1Sha256.into(),
                digest: digest.to_vec(),
            }),
            expected: Expected::Bytes(signature.map_err(|error| error.to_string())?),
        })
    });
    asks.collect()
}

fn p256_signatures() -> Result<Vec<Ask>, String> {
    let key = p256()?;
    let asks = Signing::new()?.digests.into_iter().map(|digest| Ask {
        operation: Operation::Sign(proto::Sign {
            key_id: "p256".into(),
            scheme: proto::SignatureScheme::EcdsaP256Sha256.into(),
            digest: digest.to_vec(),
        }),
        expected: Expected::Signature(key.public_key().clone(), digest),
    });
    Ok(asks.collect())
}

fn powers(accelerator: &Accelerator, has_crt: bool) -> Result<Vec<Ask>, String> {
    let mut random = StdRng::seed_from_u64(11);
    let ders = keys(RSA_1024)?;
    let asks = (0..ASKS).map(|number| {
        let der = &ders[number % ders.len()];
        let numbers = RsaPrivateKeyRef::from_der(der.as_bytes()).map_err(not_a_key)?;
        let modulus = numbers.modulus.as_bytes();
        let base = less_than(&mut random, modulus);
        let exponent = numbers.private_exponent.as_bytes();
        let expected = accelerator
            .modexp(modulus, ByteOrder::BigEndian)
            .and_then(|modexp| modexp.power(Base::from(&base[..]), exponent))
            .map_err(|error| error.to_string())?;
        let crt = has_crt.then(|| proto::Crt {
            p: numbers.prime1.as_bytes().to_vec(),
            q: numbers.prime2.as_bytes().to_vec(),
            dp: numbers.exponent1.as_bytes().to_vec(),
            dq: numbers.exponent2.as_bytes().to_vec(),
            qinv: numbers.coefficient.as_bytes().to_vec(),
            public_exponent: numbers.public_exponent.as_bytes().to_vec(),
        });
        Ok(Ask {
            operation: Operation::ModExp(proto::ModExp {
                base,
                base_is_negative: false,
                exponent: exponent.to_vec(),
                modulus: modulus.to_vec(),
                byte_order: proto::ByteOrder::BigEndian.into(),
                crt,
            }),
            expected: Expected::Bytes(expected.to_vec()),
        })
    });
    asks.collect()
}

/// Returns a mixed load. Of twelve requests eight are signatures, one a decryption, one a bare private operation, one
/// a power with CRT and one without; in every fourth twelve, random bytes replace the last.
fn mixed(accelerator: &Accelerator) -> Result<Vec<Ask>, String> {
    let mut random = StdRng::seed_from_u64(13);
    let Signing { keys, .. } = Signing::new()?;
    let signatures = signatures(accelerator)?;
    let [with_crt, without] = [powers(accelerator, true)?, powers(accelerator, false)?];
    let mut asks = Vec::new();
    for number in 0..ASKS {
        let id = number % keys.len();
        let (key, key_id) = (&keys[id], format!("key-{id}"));
        let ask = match number % 12 {
            3 => {
                let message: [u8; 48] = random.random();
                let scheme = EncryptionScheme::Oaep {
                    hash: Hash::Sha256,
                    mgf1: Hash::Sha256,
                    label: Vec::new(),
                };
                let public = accelerator.rsa_public(key.public_key());
                let ciphertext = public.encrypt(&scheme, &message);
                Ask {
                    operation: Operation::Decrypt(proto::Decrypt {
                        key_id,
                        scheme: proto::EncryptionScheme::RsaOaepSha256.into(),
                        ciphertext: ciphertext.map_err(|error| error.to_string())?,
                        ..Default::default()
                    }),
                    expected: Expected::Bytes(message.to_vec()),
                }
            }
            6 => {
                let number = less_than(&mut random, key.public_key().modulus());
                let expected = accelerator.rsa(key).raw_private(&number);
                let expected = expected.map_err(|error| error.to_string())?;
                Ask {
                    operation: Operation::RawPrivate(proto::RawPrivate { key_id, number }),
                    expected: Expected::Bytes(expected.to_vec()),
                }
            }
            9 => with_crt[number].clone(),
            11 if number / 12 % 4 == 3 => Ask {
                operation: Operation::Random(proto::Random { bytes: 64 }),
                expected: Expected::Random(64),
            },
            11 => without[number].clone(),
            _ => signatures[number].clone(),
        };
        asks.push(ask);
    }
    Ok(asks)
}

/// A number as long as a modulus, and less than it.
fn less_than(random: &mut impl Rng, modulus: &[u8]) -> Vec<u8> {
    let mut number = vec![0; modulus.len()];
    random.fill_bytes(&mut number);
    number[0] = 0;
    number
}

fn keys(pems: &str) -> Result<Vec<SecretDocument>, String> {
    let pems = pems.split_inclusive(END).map(str::trim);
    pems.filter(|pem| !pem.is_empty())
        .map(|pem| Ok(SecretDocument::from_pem(pem).map_err(not_a_key)?.1))
        .collect()
}

fn key_of(der: &SecretDocument) -> Result<RsaPrivateKey, String> {
    RsaPrivateKey::from_der(der.as_bytes()).map_err(not_a_key)
}

fn not_a_key(error: impl std::fmt::Display) -> String {
    format!("crates/measure/keys: {error}")
}

/// Keys of the benchmark, which protect nothing.
const RSA_1024: &str = include_str!("../../../crates/measure/keys/rsa1024.pem");
const RSA_2048: &str = include_str!("../../../crates/measure/keys/rsa2048.pem");
const END: &str = "-----END RSA PRIVATE KEY-----";
/// About as many as are usually under way at once, and a multiple of the keys.
const ASKS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_differ_and_wrong_answers_are_seen() {
        for kind in [
            Kind::Sign,
            Kind::SignP256,
            Kind::ModExp,
            Kind::ModExpCrt,
            Kind::Mixed,
        ] {
            let asks = of(kind).unwrap();
            assert_eq!(asks.len(), ASKS);
            for ask in &asks {
                assert!(!ask.is_right(b"wrong"), "{kind:?}");
                if let Expected::Signature(_, digest) = &ask.expected {
                    let signature = p256().unwrap().sign_digest(&P256, digest).unwrap();
                    let same = asks.iter().filter(|other| other.is_right(&signature));
                    assert!(ask.is_right(&signature) && same.count() == 1);
                }
                if let Expected::Bytes(bytes) = &ask.expected {
                    assert!(ask.is_right(bytes));
                    let same = asks.iter().filter(|other| other.is_right(bytes));
                    assert_eq!(same.count(), 1, "{kind:?}");
                }
            }
        }
    }
}
