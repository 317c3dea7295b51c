//! New versions of keys, and how they stand in files. What is generated here leaves the server in no form but a file.

use std::{io, thread};

use age::secrecy::ExposeSecret as _;
use oarlock::keys::{Curve, KeyType, MlDsa, PrivateKey};
use oarlock::rsa::RsaPrivateKey;
use oarlock_engine::hash::Hash;
use oarlock_recipients::{NativeIdentity, hybrid};
use rustls::crypto::SecureRandom;
use tokio::sync::oneshot;
use zeroize::Zeroizing;

use super::super::key::Key;
use super::super::secret::{SecretAlgorithm, text_of};
use super::file::{VERSION, private_blocks};
use crate::proto;

/// The type of a new version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::server) enum Kind {
    /// A key of RSA with this many bits.
    Rsa(u16),
    /// A private key of another type.
    Private(KeyType),
    /// An identity of age: X25519, or the hybrid.
    Identity { is_hybrid: bool },
    /// A secret key.
    Secret(SecretAlgorithm),
}

impl Kind {
    /// Returns the kind that a client asks for; `None` if this server knows no such type.
    pub(in crate::server) fn of_type(number: i32) -> Option<Self> {
        use proto::KeyType as Named;
        let hmac = |hash| Self::Secret(SecretAlgorithm::Hmac(hash));
        Some(match Named::try_from(number).ok()? {
            Named::Unspecified => return None,
            Named::Rsa2048 => Self::Rsa(2048),
            Named::Rsa3072 => Self::Rsa(3072),
            Named::Rsa4096 => Self::Rsa(4096),
            Named::P256 => Self::Private(KeyType::Ec(Curve::P256)),
            Named::P384 => Self::Private(KeyType::Ec(Curve::P384)),
            Named::P521 => Self::Private(KeyType::Ec(Curve::P521)),
            Named::Ed25519 => Self::Private(KeyType::Ed25519),
            Named::MlDsa44 => Self::Private(KeyType::MlDsa(MlDsa::MlDsa44)),
            Named::MlDsa65 => Self::Private(KeyType::MlDsa(MlDsa::MlDsa65)),
            Named::MlDsa87 => Self::Private(KeyType::MlDsa(MlDsa::MlDsa87)),
            Named::A256gcm => Self::Secret(SecretAlgorithm::Aead),
            Named::Hs256 => hmac(Hash::Sha256),
            Named::Hs384 => hmac(Hash::Sha384),
            Named::Hs512 => hmac(Hash::Sha512),
            Named::AgeX25519 => Self::Identity { is_hybrid: false },
            Named::AgeHybrid => Self::Identity { is_hybrid: true },
        })
    }

    /// Returns the kind of a key's newest version; `None` if no such key can be generated.
    pub(super) fn of_key(key: &Key) -> Option<Self> {
        Some(match key {
            Key::Private(versions) => match versions.newest().as_rsa() {
                Some(rsa) => match rsa.public_key().bits() {
                    bits @ (2048 | 3072 | 4096) => Self::Rsa(bits as u16),
                    _ => return None,
                },
                None => Self::Private(versions.newest().key_type()),
            },
            Key::Identities(identities) => Self::Identity {
                is_hybrid: matches!(identities.newest()?, NativeIdentity::Hybrid(_)),
            },
            Key::Secret(key) => Self::Secret(key.algorithm()),
        })
    }

    /// Whether generating it takes a tenth of a second or more.
    pub(in crate::server) fn is_slow(self) -> bool {
        matches!(self, Self::Rsa(_))
    }

    /// Returns how many changes it counts as.
    pub(in crate::server) fn cost(self) -> u32 {
        match self {
            Self::Rsa(..3072) => 2,
            Self::Rsa(..4096) => 5,
            Self::Rsa(_) => 10,
            _ => 1,
        }
    }

    /// Returns the extension of its files.
    pub(super) fn extension(self) -> &'static str {
        match self {
            Self::Rsa(_) | Self::Private(_) => "pem",
            Self::Identity { .. } => "key",
            Self::Secret(_) => "jwk",
        }
    }

    fn generate(self, random: &dyn SecureRandom) -> Result<Made, String> {
        let failed = |error: oarlock::Error| error.to_string();
        Ok(match self {
            Self::Rsa(bits) => Made::Private(RsaPrivateKey::generate(bits).map_err(failed)?.into()),
            Self::Private(key_type) => {
                Made::Private(PrivateKey::generate(key_type).map_err(failed)?)
            }
            Self::Identity { is_hybrid: false } => {
                Made::Identity(NativeIdentity::X25519(age::x25519::Identity::generate()))
            }
            Self::Identity { is_hybrid: true } => {
                let identity = hybrid::Identity::generate().map_err(|error| error.to_string())?;
                Made::Identity(NativeIdentity::Hybrid(identity))
            }
            Self::Secret(algorithm) => {
                let mut bytes = Zeroizing::new(vec![0; algorithm.new_key_bytes()]);
                let filled = random.fill(&mut bytes);
                filled.map_err(|_| "the system's random generator failed".to_owned())?;
                Made::Secret(algorithm, bytes)
            }
        })
    }
}

/// A new version that no file has yet.
pub(in crate::server) enum Made {
    Private(PrivateKey),
    Identity(NativeIdentity),
    Secret(SecretAlgorithm, Zeroizing<Vec<u8>>),
}

impl Made {
    /// Generates a version. One of RSA is generated by a thread of its own, whose priority is low, so that it takes little
    /// time from requests; it goes on if the future is dropped.
    ///
    /// # Errors
    /// The reason why the machine cannot.
    pub(in crate::server) async fn generate(
        kind: Kind,
        random: &'static dyn SecureRandom,
    ) -> Result<Self, String> {
        if !kind.is_slow() {
            return kind.generate(random);
        }
        let (sender, made) = oneshot::channel();
        let started: io::Result<_> = thread::Builder::new()
            .name("oarlock-keygen".to_owned())
            .spawn(move || {
                // If the priority cannot be lowered, the thread runs with that of the others.
                let _ = rustix::process::nice(NICE);
                // The client may have gone.
                let _ = sender.send(kind.generate(random));
            });
        started.map_err(|error| format!("no thread: {error}"))?;
        made.await
            .unwrap_or_else(|_| Err("the generator panicked".to_owned()))
    }

    pub(super) fn kind(&self) -> Option<Kind> {
        match self {
            Self::Private(key) => Kind::of_key(&Key::from(key.clone())),
            Self::Identity(identity) => Some(Kind::Identity {
                is_hybrid: matches!(identity, NativeIdentity::Hybrid(_)),
            }),
            Self::Secret(algorithm, _) => Some(Kind::Secret(*algorithm)),
        }
    }

    /// Returns the text of a file with this as the first version of a key.
    pub(super) fn text(&self) -> Result<Zeroizing<String>, String> {
        match self {
            Self::Private(_) | Self::Identity(_) => self.appended("", 1),
            Self::Secret(algorithm, bytes) => {
                Ok(text_of(*algorithm, [(1, &bytes[..])].into_iter()))
            }
        }
    }

    /// Returns the text of a key's file with this as its newest version.
    pub(super) fn text_behind(&self, text: &str, key: &Key) -> Result<Zeroizing<String>, String> {
        match (self, key) {
            (Self::Secret(_, bytes), Key::Secret(key)) => Ok(key.text_with(bytes)),
            (Self::Private(_), Key::Private(_)) => match &private_blocks(text)?[..] {
                // The key becomes the first version.
                [only] if only.version.is_none() => {
                    let (before, rest) = text.split_at(only.start);
                    let line_end = match before.is_empty() || before.ends_with('\n') {
                        true => "",
                        false => "\n",
                    };
                    let first = concat(&[before, line_end, VERSION, " 1\n", rest]);
                    self.appended(&first, 2)
                }
                [.., last] => {
                    let number = last.version.unwrap_or(0).checked_add(1);
                    self.appended(text, number.ok_or("no number is left for a version")?)
                }
                [] => Err("its file has no private key".to_owned()),
            },
            (Self::Identity(_), Key::Identities(_)) => self.appended(text, 0),
            _ => Err("its file has a key of another kind".to_owned()),
        }
    }

    fn appended(&self, text: &str, number: u32) -> Result<Zeroizing<String>, String> {
        let line_end = match text.is_empty() || text.ends_with('\n') {
            true => "",
            false => "\n",
        };
        match self {
            Self::Private(key) => {
                let pem = key.to_pkcs8_pem().map_err(|error| error.to_string())?;
                let head = format!("{VERSION} {number}\n");
                Ok(concat(&[text, line_end, &head, &pem]))
            }
            Self::Identity(identity) => {
                let head = format!("# public key: {}\n", identity.to_recipient());
                let secret = identity.to_string();
                Ok(concat(&[
                    text,
                    line_end,
                    &head,
                    secret.expose_secret(),
                    "\n",
                ]))
            }
            Self::Secret(..) => Err("a secret key is not appended".to_owned()),
        }
    }
}

/// Joins texts in a buffer that does not grow, which would leave copies behind.
fn concat(parts: &[&str]) -> Zeroizing<String> {
    let bytes = parts.iter().map(|part| part.len()).sum();
    let mut whole = Zeroizing::new(String::with_capacity(bytes));
    parts.iter().for_each(|part| whole.push_str(part));
    whole
}

/// The nice value, which has about a tenth of the weight of other threads (sched(7)).
const NICE: i32 = 10;
