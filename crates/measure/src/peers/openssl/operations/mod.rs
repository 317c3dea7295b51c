//! Operations other than ciphers, as libssl calls them, including the objects that each one fetches, creates and frees.
//!
//! ```text
//! mod.rs         what the benchmark measures   calls.rs  what calibration measures, with and without the provider
//! derivation.rs  secrets and MACs              keys.rs   agreements and encapsulation
//! tools.rs       libcrypto's objects           signatures.rs  signatures, and keys read
//! ```

mod calls;
mod derivation;
mod keys;
mod signatures;
mod tools;

use std::ffi::CStr;
use std::fmt;
use std::rc::Rc;

use super::library::World;
use crate::error::Error;
pub use calls::Call;
pub(crate) use calls::{Caller, Material};
use derivation::Derivation;
use tools::{Names, OUTPUT_BYTES, Once, Output, Tools};

/// An operation to measure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// A secret of 32 bytes with a TLS 1.3 label (`tls13_hkdf_expand`).
    Label,
    /// All secrets that one end of a TLS 1.3 handshake derives: three extracted, nineteen expanded.
    KeySchedule,
    /// 64 bytes with HKDF, extracted and expanded, in a new context or in a kept one.
    Hkdf {
        /// Whether the context is kept.
        is_kept: bool,
    },
    /// An HMAC of 64 bytes, in a new context, or in a kept one with the same key set again.
    Hmac {
        /// Whether the context is kept.
        is_kept: bool,
    },
    /// The binder of a session (`tls_psk_do_binder`): an HMAC with a key for it.
    Binder,
    /// A key for this agreement, generated like a client's (`ssl_generate_pkey_group`).
    Generate(Agreement),
    /// A key for this agreement, generated in a kept context.
    GenerateAgain(Agreement),
    /// The other end's share, read into a key (`tls_parse_ctos_key_share`).
    Share(Agreement),
    /// The secret of a key and the other end's (`ssl_derive`).
    Derive(Agreement),
    /// The secret of two keys, derived in a kept context with both.
    DeriveAgain(Agreement),
    /// A secret and its ciphertext for the owner of a share (`ssl_encapsulate`), including reading the share.
    Encapsulate(Agreement),
    /// The secret of a ciphertext (`ssl_decapsulate`).
    Decapsulate(Agreement),
    /// A signature with a kept key (`tls_construct_cert_verify`).
    Sign(SigningKey),
    /// A signature of a digest, in a kept context.
    SignAgain(SigningKey),
    /// The verification of a signature with a kept key (`tls_process_cert_verify`).
    Verify(SigningKey),
    /// The verification of a digest's signature, in a kept context.
    VerifyAgain(SigningKey),
    /// A public key read from a certificate (`d2i_PUBKEY`).
    ReadPublic(SigningKey),
}

/// A key agreement, or a key encapsulation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Agreement {
    /// X25519 (RFC 7748).
    X25519,
    /// ECDH on P-256.
    P256,
    /// ML-KEM-768 alone (FIPS 203).
    MlKem768,
    /// X25519 with ML-KEM-768, the hybrid of TLS.
    X25519MlKem768,
}

/// A key for signatures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SigningKey {
    /// ECDSA on P-256 with SHA-256.
    P256,
    /// ECDSA on P-384 with SHA-384.
    P384,
    /// RSA-2048, PKCS#1 v1.5 with SHA-256.
    Rsa2048,
    /// Ed25519 (RFC 8032).
    Ed25519,
}

impl Agreement {
    fn names(self) -> Names {
        match self {
            Self::X25519 => (c"X25519", Some(c"x25519")),
            Self::P256 => (c"EC", Some(c"prime256v1")),
            Self::MlKem768 => (c"ML-KEM-768", None),
            Self::X25519MlKem768 => (c"X25519MLKEM768", None),
        }
    }

    fn is_kem(self) -> bool {
        matches!(self, Self::MlKem768 | Self::X25519MlKem768)
    }
}

/// Formats the name in cases.
impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::X25519 => "x25519",
            Self::P256 => "ecdh-p256",
            Self::MlKem768 => "ml-kem-768",
            Self::X25519MlKem768 => "hybrid",
        })
    }
}

impl SigningKey {
    fn names(self) -> Names {
        match self {
            Self::P256 => (c"EC", Some(c"P-256")),
            Self::P384 => (c"EC", Some(c"P-384")),
            Self::Rsa2048 => (c"RSA", None),
            Self::Ed25519 => (c"ED25519", None),
        }
    }

    /// Returns the name of the hash function that it signs with.
    fn hash(self) -> Option<&'static CStr> {
        match self {
            Self::P256 | Self::Rsa2048 => Some(c"SHA256"),
            Self::P384 => Some(c"SHA384"),
            Self::Ed25519 => None,
        }
    }

    /// Returns the digest of some message.
    fn digest(self) -> &'static [u8] {
        match self {
            Self::P384 => &[3; 48],
            _ => &[3; 32],
        }
    }
}

/// Formats the name in cases.
impl fmt::Display for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::P256 => "p256",
            Self::P384 => "p384",
            Self::Rsa2048 => "rsa-2048",
            Self::Ed25519 => "ed25519",
        })
    }
}

/// Operations of one kind in a library context, with the keys that they need.
pub struct Operations {
    once: Once,
    output: Box<Output>,
}

impl Operations {
    /// Creates what the operations need, and executes one.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if `world` does not have it.
    pub(crate) fn new(world: &Rc<World>, operation: Operation) -> Result<Self, Error> {
        let tools = Tools::new(world)?;
        let mut output = Box::new([0; OUTPUT_BYTES]);
        let made = once(&tools, operation, &mut output);
        let made = made.map(|once| Self { once, output });
        made.and_then(|mut made| made.run().then_some(made))
            .ok_or_else(|| Error::Unavailable(format!("OpenSSL does not do this: {operation:?}")))
    }

    /// Executes one operation; returns whether it succeeded.
    pub fn run(&mut self) -> bool {
        (self.once)(&mut self.output).is_some()
    }
}

/// Prepares an operation; `output` receives what the preparation computes.
fn once(tools: &Rc<Tools>, operation: Operation, output: &mut Output) -> Option<Once> {
    let tools = Rc::clone(tools);
    Some(match operation {
        Operation::Label => {
            let label = Derivation::labelled(&derivation::TRAFFIC, DIGEST, &SECRET);
            Box::new(move |output| tools.derive_once(&label, output))
        }
        Operation::KeySchedule => {
            let labelled = |label| Derivation::labelled(label, DIGEST, &SECRET);
            let labels = derivation::SCHEDULE.each_ref().map(labelled);
            Box::new(move |output| {
                let mut derived = labels.iter().map(|label| tools.derive_once(label, output));
                derived.try_fold(0, |all, bytes| Some(all + bytes?))
            })
        }
        Operation::Hkdf { is_kept } => {
            let hkdf = Derivation::hkdf(DIGEST, &SECRET, 64);
            let kept = tools.kdf_context(&hkdf)?;
            match is_kept {
                true => Box::new(move |output| tools.derive_in(&kept, &hkdf, output)),
                false => Box::new(move |output| tools.derive_once(&hkdf, output)),
            }
        }
        Operation::Hmac { is_kept } => {
            let mac = tools.hmac()?;
            let kept = tools.mac_context(&mac)?;
            tools.begin(&kept, Some(&SECRET), Some(DIGEST))?;
            match is_kept {
                true => Box::new(move |output| {
                    tools.begin(&kept, Some(&SECRET), None)?;
                    tools.tag(&kept, &MESSAGE, output)
                }),
                false => Box::new(move |output| {
                    let context = tools.mac_context(&mac)?;
                    tools.begin(&context, Some(&SECRET), Some(DIGEST))?;
                    tools.tag(&context, &MESSAGE, output)
                }),
            }
        }
        Operation::Binder => Box::new(move |output| tools.binder(DIGEST, &SECRET, output)),
        Operation::Generate(agreement) => {
            Box::new(move |_| tools.generate(agreement.names()).map(|_| 0))
        }
        Operation::GenerateAgain(agreement) => {
            let generator = tools.generator(agreement.names())?;
            Box::new(move |_| tools.generate_in(&generator).map(|_| 0))
        }
        Operation::Share(agreement) => {
            let share = tools.share_of(&tools.generate(agreement.names())?)?;
            Box::new(move |_| tools.read_share(agreement.names(), &share).map(|_| 0))
        }
        Operation::Derive(agreement) => {
            let names = agreement.names();
            let [own, other] = [tools.generate(names)?, tools.generate(names)?];
            Box::new(move |output| tools.agree(&own, &other, output))
        }
        Operation::DeriveAgain(agreement) => {
            let names = agreement.names();
            let [own, other] = [tools.generate(names)?, tools.generate(names)?];
            let context = tools.deriving(&own, &other)?;
            Box::new(move |output| tools.agree_in(&context, output))
        }
        Operation::Encapsulate(agreement) if agreement.is_kem() => {
            let share = tools.share_of(&tools.generate(agreement.names())?)?;
            Box::new(move |output| {
                let made = tools.encapsulate(agreement.names(), &share, output);
                made.map(|(bytes, _)| bytes)
            })
        }
        Operation::Decapsulate(agreement) if agreement.is_kem() => {
            let key = tools.generate(agreement.names())?;
            let share = tools.share_of(&key)?;
            let (_, told) = tools.encapsulate(agreement.names(), &share, output)?;
            Box::new(move |output| tools.decapsulate(&key, &told, output))
        }
        // TLS uses no other agreement as a KEM.
        Operation::Encapsulate(_) | Operation::Decapsulate(_) => return None,
        Operation::Sign(kind) => {
            let key = tools.generate(kind.names())?;
            Box::new(move |output| tools.sign(kind.hash(), &key, output))
        }
        Operation::SignAgain(kind) => {
            let context = tools.signer(&tools.generate(kind.names())?)?;
            Box::new(move |output| tools.sign_in(&context, kind.digest(), output))
        }
        Operation::Verify(kind) => {
            let key = tools.generate(kind.names())?;
            let bytes = tools.sign(kind.hash(), &key, output)?;
            let signature = output[..bytes].to_vec();
            Box::new(move |_| tools.verify(kind.hash(), &key, &signature))
        }
        Operation::VerifyAgain(kind) => {
            let key = tools.generate(kind.names())?;
            let bytes = tools.sign_in(&tools.signer(&key)?, kind.digest(), output)?;
            let signature = output[..bytes].to_vec();
            let context = tools.verifier(&key)?;
            Box::new(move |_| tools.verify_in(&context, &signature, kind.digest()))
        }
        Operation::ReadPublic(kind) => {
            let (read, write) = (tools.calls.d2i_PUBKEY_ex, tools.calls.i2d_PUBKEY);
            let der = tools.der(&tools.generate(kind.names())?, write)?;
            Box::new(move |_| tools.read(read, &der).map(|_| 0))
        }
    })
}

const DIGEST: &CStr = c"SHA256";
static SECRET: [u8; 32] = [7; 32];
const MESSAGE: [u8; 64] = [5; 64];

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::library::Libcrypto;
    use super::*;

    /// Uses stock OpenSSL of any release: only ML-KEM may be missing.
    #[test]
    fn openssl_does_every_operation() {
        let world = World::new(&Arc::new(Libcrypto::load().unwrap()), None).unwrap();
        let of_agreement = |agreement| {
            [
                Operation::Generate(agreement),
                Operation::GenerateAgain(agreement),
                Operation::Share(agreement),
                Operation::Derive(agreement),
                Operation::DeriveAgain(agreement),
                Operation::Encapsulate(agreement),
                Operation::Decapsulate(agreement),
            ]
        };
        let of_key = |kind| {
            [
                Operation::Sign(kind),
                Operation::Verify(kind),
                Operation::ReadPublic(kind),
            ]
        };
        let mut all = vec![
            Operation::Label,
            Operation::KeySchedule,
            Operation::Hkdf { is_kept: false },
            Operation::Hkdf { is_kept: true },
            Operation::Hmac { is_kept: false },
            Operation::Hmac { is_kept: true },
            Operation::Binder,
            Operation::SignAgain(SigningKey::P256),
            Operation::VerifyAgain(SigningKey::P256),
        ];
        for agreement in [Agreement::X25519, Agreement::P256] {
            // libssl uses neither as a KEM.
            all.extend(&of_agreement(agreement)[..5]);
            for operation in &of_agreement(agreement)[5..] {
                assert!(
                    Operations::new(&world, *operation).is_err(),
                    "{operation:?}"
                );
            }
        }
        for kind in [
            SigningKey::P256,
            SigningKey::P384,
            SigningKey::Rsa2048,
            SigningKey::Ed25519,
        ] {
            all.extend(of_key(kind));
        }
        if Operations::new(&world, Operation::Generate(Agreement::MlKem768)).is_ok() {
            for agreement in [Agreement::MlKem768, Agreement::X25519MlKem768] {
                let kem = of_agreement(agreement);
                all.extend([kem[0], kem[1], kem[2], kem[5], kem[6]]);
            }
        }
        for operation in all {
            let mut operations = Operations::new(&world, operation).unwrap();
            assert!(operations.run() && operations.run(), "{operation:?}");
        }
    }
}
