//! Requests to the cryptoserver from arbitrary bytes: no panic, no allocation larger than the input, and
//! an accepted request computes what it asks for.

use std::fs;
use std::sync::LazyLock;

use arbitrary::Arbitrary;
use num_bigint::BigUint;
use oarlock::device::{SoftwareDevice, complete};
use oarlock::keys::{KeyType, PrivateKey};
use oarlock_net::proto::{self, request};
use oarlock_net::server::access::{Access, Rights};
use oarlock_net::server::config::Config;
use oarlock_net::server::dispatch::{Request, Work};
use oarlock_net::server::items::{Item, Piece};
use oarlock_net::server::keys::{KeyStore, Keys};
use oarlock_net::server::operation::{Prepared, prepare, subject};
use oarlock_net::tls::Identity;
use prost::Message as _;

fuzz_target!(|input: Input| {
    if let Input::Power { .. } = &input {
        let power = input.clone().requests().pop().and_then(|it| it.operation);
        let Some(request::Operation::ModExp(power)) = power else {
            unreachable!("a power is asked for")
        };
        check_power(&power);
    }
    input.requests().into_iter().for_each(check);
});

/// What a client sends.
#[derive(Arbitrary, Clone, Debug)]
pub(crate) enum Input {
    Any(Vec<u8>),
    Power {
        base: Vec<u8>,
        is_negative: bool,
        exponent: Vec<u8>,
        modulus: Vec<u8>,
        order: u8,
    },
    Crt {
        numbers: [Vec<u8>; 8],
        base: Vec<u8>,
        order: u8,
    },
    Sign {
        is_known: bool,
        scheme: i8,
        digest: Vec<u8>,
    },
    Decrypt {
        is_known: bool,
        scheme: i8,
        ciphertext: Vec<u8>,
        label: Vec<u8>,
    },
    Raw {
        is_known: bool,
        number: Vec<u8>,
    },
    Unwrap {
        key: u8,
        stanzas: Vec<(String, Vec<String>, Vec<u8>)>,
    },
    Open {
        ciphertexts: Vec<(Vec<u8>, Vec<u8>)>,
    },
    VerifyMac {
        macs: Vec<(Vec<u8>, Vec<u8>, u32)>,
    },
}

impl Input {
    /// The requests that it holds.
    pub(crate) fn requests(self) -> Vec<proto::Request> {
        let operation = match self {
            Self::Any(bytes) => {
                let one = proto::Request::decode(&bytes[..]).into_iter();
                let batch = proto::RequestBatch::decode(&bytes[..]);
                let some = batch.into_iter().flat_map(|batch| batch.requests);
                return one.chain(some.take(8)).collect();
            }
            Self::Power {
                base,
                is_negative,
                exponent,
                modulus,
                order,
            } => request::Operation::ModExp(proto::ModExp {
                base,
                base_is_negative: is_negative,
                exponent,
                modulus,
                byte_order: order.into(),
                crt: None,
            }),
            Self::Crt {
                numbers,
                base,
                order,
            } => {
                let [p, q, dp, dq, qinv, public_exponent, modulus, exponent] = numbers;
                request::Operation::ModExp(proto::ModExp {
                    base,
                    exponent,
                    modulus,
                    byte_order: order.into(),
                    crt: Some(proto::Crt {
                        p,
                        q,
                        dp,
                        dq,
                        qinv,
                        public_exponent,
                    }),
                    base_is_negative: false,
                })
            }
            Self::Sign {
                is_known,
                scheme,
                digest,
            } => request::Operation::Sign(proto::Sign {
                key_id: match is_known {
                    true => signer(scheme.into()).to_owned(),
                    false => id(false),
                },
                scheme: scheme.into(),
                digest,
            }),
            Self::Decrypt {
                is_known,
                scheme,
                ciphertext,
                label,
            } => request::Operation::Decrypt(proto::Decrypt {
                key_id: id(is_known),
                scheme: scheme.into(),
                ciphertext,
                label,
                key_version: 0,
            }),
            Self::Raw { is_known, number } => request::Operation::RawPrivate(proto::RawPrivate {
                key_id: id(is_known),
                number,
            }),
            Self::Unwrap { key, stanzas } => request::Operation::Unwrap(proto::Unwrap {
                key_id: ["x25519", "hybrid", "rsa1024"][usize::from(key % 3)].to_owned(),
                stanzas: stanzas
                    .into_iter()
                    .map(|(tag, arguments, body)| proto::Stanza {
                        tag,
                        arguments,
                        body,
                    })
                    .collect(),
            }),
            Self::Open { ciphertexts } => request::Operation::Open(proto::Open {
                key_id: "aead".to_owned(),
                ciphertexts: ciphertexts
                    .into_iter()
                    .map(|(ciphertext, associated_data)| proto::Ciphertext {
                        ciphertext,
                        associated_data,
                    })
                    .collect(),
            }),
            Self::VerifyMac { macs } => request::Operation::VerifyMac(proto::VerifyMac {
                key_id: "hmac".to_owned(),
                macs: macs
                    .into_iter()
                    .map(|(message, mac, key_version)| proto::MacOf {
                        message,
                        mac,
                        key_version,
                    })
                    .collect(),
            }),
        };
        vec![of(operation)]
    }
}

fn of(operation: request::Operation) -> proto::Request {
    proto::Request {
        operation: Some(operation),
        ..Default::default()
    }
}

fn id(is_known: bool) -> String {
    if is_known { "rsa1024" } else { "nothing" }.to_owned()
}

/// The key that a scheme is for.
fn signer(scheme: i32) -> &'static str {
    let meaning = proto::SignatureScheme::try_from(scheme).ok();
    let meaning = meaning.and_then(proto::SignatureScheme::meaning);
    match meaning {
        None | Some((KeyType::Rsa, _)) => "rsa1024",
        Some((key_type, _)) => key_type.name(),
    }
}

/// Whatever it is: it is refused with a reason, or answered by a device.
fn check(mut request: proto::Request) {
    let asks = subject(&request).is_some();
    match prepare(&mut request, &SERVER.0, &SERVER.1) {
        Err(refusal) => assert!(!refusal.message.is_empty()),
        Ok(prepared) => {
            assert!(asks);
            match prepared {
                Prepared::Random(bytes) => assert!((1..=65_536).contains(&bytes)),
                Prepared::Work { work, .. } => check_work(work),
                Prepared::Items(batch) => batch.into_pieces().into_iter().for_each(check_piece),
            }
        }
    }
}

fn check_work(work: Work) {
    let request = match work.into_request() {
        Ok(Request::Power(request)) => request,
        Ok(Request::Signature(signature)) => {
            let made = signature.make("fuzz").expect("a key that signs");
            return assert!(!made.is_empty() && made.len() <= 4627);
        }
        Ok(Request::Part(part)) => {
            return part
                .compute("fuzz")
                .expect("a machine that works")
                .into_iter()
                .for_each(check_item);
        }
        Err(refusal) => return assert!(!refusal.message.is_empty()),
    };
    let mut answers = 0;
    complete(&*DEVICE, &[&request], &mut |_, result| {
        answers += 1;
        if let Ok(result) = result {
            assert!(result.len() <= 512);
        }
    });
    assert_eq!(answers, 1);
}

fn check_piece(piece: Piece) {
    match piece {
        Piece::Done(items) => items.into_iter().for_each(check_item),
        Piece::Part(part) => {
            let items = part.compute("fuzz").expect("a machine that works");
            assert!(!items.is_empty());
            items.into_iter().for_each(check_item);
        }
        Piece::Request(work, _) => check_work(work),
    }
}

/// No item can have more bytes than all items of a request and what a ciphertext is longer by.
fn check_item(item: Item) {
    match item.outcome {
        Ok(bytes) => assert!(bytes.len() <= 262_144 + 44),
        Err(refusal) => assert!(!refusal.message.is_empty() && refusal.message.len() < 100),
    }
}

/// The same as by another library, of numbers short enough for it.
fn check_power(power: &proto::ModExp) {
    let numbers = [&power.base, &power.exponent, &power.modulus];
    if numbers.iter().any(|number| number.len() > 64) {
        return;
    }
    let mut request = of(request::Operation::ModExp(power.clone()));
    let Ok(Prepared::Work { work, reverses, .. }) = prepare(&mut request, &SERVER.0, &SERVER.1)
    else {
        return;
    };
    let Ok(Request::Power(request)) = work.into_request() else {
        return;
    };
    let is_little = power.byte_order == i32::from(proto::ByteOrder::LittleEndian);
    let [base, exponent, modulus] = numbers.map(|number| match is_little {
        true => BigUint::from_bytes_le(number),
        false => BigUint::from_bytes_be(number),
    });
    let mut expected = base.modpow(&exponent, &modulus);
    let is_odd = exponent.bit(0);
    if power.base_is_negative && is_odd && expected.bits() > 0 {
        expected = &modulus - expected;
    }
    complete(&*DEVICE, &[&request], &mut |_, result| {
        let mut result = match result {
            Ok(result) => result,
            // Only a power by two primes can be found wrong: by primes that are none.
            Err(error) => return assert!(power.crt.is_some(), "{error}"),
        };
        if reverses {
            result.reverse();
        }
        let result = match is_little {
            true => BigUint::from_bytes_le(&result),
            false => BigUint::from_bytes_be(&result),
        };
        assert_eq!(result, expected);
    });
}

pub(crate) static DEVICE: LazyLock<SoftwareDevice> = LazyLock::new(SoftwareDevice::new);

/// The rights of a client that may do everything, and the keys of the server.
pub(crate) static SERVER: LazyLock<(Rights, std::sync::Arc<Keys>)> = LazyLock::new(|| {
    let text = "listen = [\"127.0.0.1:0\"]\nplaintext = true\n[[key]]\ndirectory = \".\"\n\
         [[client]]\nidentity = \"*\"\nkeys = [\"*\"]\n\
         operations = [\"sign\", \"decrypt\", \"raw_private\", \"unwrap\", \"mac\", \"verify_mac\", \"seal\", \"open\", \
         \"mod_exp\", \"random\", \"list\"]\n";
    let keys = std::env::temp_dir().join(format!("oarlock-fuzz-{}", std::process::id()));
    fs::create_dir_all(&keys).expect("a folder");
    let write = |name: &str, text: &str| {
        fs::write(keys.join(format!("{name}.pem")), text).expect("a file");
    };
    write(
        "rsa1024",
        include_str!("../../crates/oarlock/tests/keys/rsa1024.pem"),
    );
    let others = KeyType::ALL.into_iter().filter(|one| *one != KeyType::Rsa);
    for key_type in others.filter(|one| one.signs()) {
        let key = PrivateKey::generate(key_type).expect("a new key");
        write(key_type.name(), &key.to_pkcs8_pem().expect("a key in PEM"));
    }
    let identities = [("x25519", X25519_IDENTITY), ("hybrid", HYBRID_IDENTITY)];
    for (name, identity) in identities {
        write(name, identity);
    }
    for (name, alg) in [("hmac", "HS256"), ("aead", "A256GCM")] {
        let k = "A".repeat(43);
        write(
            name,
            &format!("{{\"kty\":\"oct\",\"alg\":\"{alg}\",\"k\":\"{k}\"}}"),
        );
    }
    let config = Config::parse(text, &keys).expect("a configuration that is right");
    let none = |_: &str| Err("no tokens".to_owned());
    let store = KeyStore::load(&config.keys, &none).expect("a key that is there");
    fs::remove_dir_all(&keys).expect("the folder");
    let rights = Access::new(&config.clients).of(&Identity::anonymous());
    (rights.expect("all fit"), store.current())
});

/// The identities of the age v1 test vectors, which protect nothing.
const X25519_IDENTITY: &str =
    "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX";
const HYBRID_IDENTITY: &str =
    "AGE-SECRET-KEY-PQ-1XX76JRALNLXDMEW0CRK45QMCCH4X06SE84UN3VPM33W6HWDX0H3SK3ZQFR";
