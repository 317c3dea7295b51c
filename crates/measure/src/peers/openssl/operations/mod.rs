//! Operations other than ciphers, as libssl calls them: each with what it fetches and makes for one, and frees.
//!
//! ```text
//! derivation.rs  secrets and MACs     keys.rs  agreements and encapsulation
//! tools.rs       libcrypto's objects  signatures.rs  signatures, and public keys read
//! ```

mod derivation;
mod keys;
mod signatures;
mod tools;

use std::ffi::CStr;
use std::fmt;
use std::rc::Rc;

use super::library::World;
use crate::error::Error;
use tools::Tools;

/// What is done once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// A secret of 32 bytes by a label of TLS 1.3 (`tls13_hkdf_expand`).
    Label,
    /// What one end of a handshake of TLS 1.3 derives: three secrets extracted, nineteen expanded.
    KeySchedule,
    /// 64 bytes by HKDF, extracted and expanded, in a context that is made for it, or in one that is kept.
    Hkdf {
        /// Whether the context is kept.
        is_kept: bool,
    },
    /// An HMAC of 64 bytes, in a context that is made for it, or with the same key again in one that is kept.
    Hmac {
        /// Whether the context is kept.
        is_kept: bool,
    },
    /// The binder of a session (`tls_psk_do_binder`): an HMAC by a key of its own.
    Binder,
    /// A key for this agreement, as a client makes one (`ssl_generate_pkey_group`).
    Generate(Agreement),
    /// The same by a context that is kept.
    GenerateAgain(Agreement),
    /// The other end's share, read into a key (`tls_parse_ctos_key_share`).
    Share(Agreement),
    /// The secret of a key and the other end's (`ssl_derive`).
    Derive(Agreement),
    /// The same by a context that is kept with both keys.
    DeriveAgain(Agreement),
    /// A secret and what tells it to the owner of a share (`ssl_encapsulate`), with the share read.
    Encapsulate(Agreement),
    /// The secret that was told (`ssl_decapsulate`).
    Decapsulate(Agreement),
    /// A signature by a key that is kept (`tls_construct_cert_verify`).
    Sign(SigningKey),
    /// The same of a digest, by a context that is kept.
    SignAgain(SigningKey),
    /// A signature verified by a key that is kept (`tls_process_cert_verify`).
    Verify(SigningKey),
    /// The same of a digest, by a context that is kept.
    VerifyAgain(SigningKey),
    /// A public key read from a certificate (`d2i_PUBKEY`).
    ReadPublic(SigningKey),
}

/// A key agreement, or a key encapsulation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Agreement {
    /// RFC 7748.
    X25519,
    /// ECDH of P-256.
    P256,
    /// ML-KEM-768 alone (FIPS 203).
    MlKem768,
    /// With ML-KEM-768, as TLS has it.
    X25519MlKem768,
}

/// A key for signatures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SigningKey {
    /// ECDSA with SHA-256.
    P256,
    /// ECDSA with SHA-384.
    P384,
    /// PKCS#1 v1.5 with SHA-256.
    Rsa2048,
    /// RFC 8032.
    Ed25519,
}

impl Agreement {
    /// The names of the key and of its group.
    fn names(self) -> (&'static CStr, Option<&'static CStr>) {
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

/// As in names of cases.
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
    /// The names of the key and of its group, and of the digest.
    fn names(self) -> (&'static CStr, Option<&'static CStr>, Option<&'static CStr>) {
        match self {
            Self::P256 => (c"EC", Some(c"P-256"), Some(c"SHA256")),
            Self::P384 => (c"EC", Some(c"P-384"), Some(c"SHA384")),
            Self::Rsa2048 => (c"RSA", None, Some(c"SHA256")),
            Self::Ed25519 => (c"ED25519", None, None),
        }
    }

    /// The digest of some message.
    fn digest(self) -> &'static [u8] {
        match self {
            Self::P384 => &[3; 48],
            _ => &[3; 32],
        }
    }
}

/// As in names of cases.
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

/// Operations of one kind in a library context, with the keys that they take.
pub struct Operations(Work);

/// Does one; whether it was done.
type Work = Box<dyn FnMut() -> bool>;

impl Operations {
    /// Makes what they take, and does one.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where `world` does not have it.
    pub(crate) fn new(world: &Rc<World>, operation: Operation) -> Result<Self, Error> {
        let tools = Tools::new(world)?;
        work(&tools, operation)
            .and_then(|mut work| work().then_some(Self(work)))
            .ok_or_else(|| Error::Unavailable(format!("OpenSSL does not do this: {operation:?}")))
    }

    /// Does one; whether it was done.
    pub fn run(&mut self) -> bool {
        self.0()
    }
}

fn work(tools: &Rc<Tools>, operation: Operation) -> Option<Work> {
    let tools = Rc::clone(tools);
    Some(match operation {
        Operation::Label => Box::new(move || tools.label(&derivation::LABEL)),
        Operation::KeySchedule => {
            let labels = &derivation::SCHEDULE;
            Box::new(move || labels.iter().all(|label| tools.label(label)))
        }
        Operation::Hkdf { is_kept } => {
            let kept = tools.kdf_context(c"HKDF")?;
            match is_kept {
                true => Box::new(move || tools.hkdf(&kept).is_some()),
                false => Box::new(move || {
                    let context = tools.kdf_context(c"HKDF");
                    context.is_some_and(|context| tools.hkdf(&context).is_some())
                }),
            }
        }
        Operation::Hmac { is_kept } => {
            let mac = tools.hmac()?;
            let kept = tools.mac_context(&mac)?;
            tools.tag(&kept, true)?;
            match is_kept {
                true => Box::new(move || tools.tag(&kept, false).is_some()),
                false => Box::new(move || {
                    let context = tools.mac_context(&mac);
                    context.is_some_and(|context| tools.tag(&context, true).is_some())
                }),
            }
        }
        Operation::Binder => Box::new(move || tools.binder().is_some()),
        Operation::Generate(agreement) => Box::new(move || tools.generate(agreement).is_some()),
        Operation::GenerateAgain(agreement) => {
            let generator = tools.generator(agreement)?;
            Box::new(move || tools.generate_in(&generator).is_some())
        }
        Operation::Share(agreement) => {
            let share = tools.share_of(&tools.generate(agreement)?)?;
            Box::new(move || tools.read_share(agreement, &share).is_some())
        }
        Operation::Derive(agreement) => {
            let [own, other] = [tools.generate(agreement)?, tools.generate(agreement)?];
            Box::new(move || tools.derive(&own, &other).is_some())
        }
        Operation::DeriveAgain(agreement) => {
            let [own, other] = [tools.generate(agreement)?, tools.generate(agreement)?];
            let context = tools.deriving(&own, &other)?;
            Box::new(move || tools.derive_in(&context).is_some())
        }
        Operation::Encapsulate(agreement) if agreement.is_kem() => {
            let share = tools.share_of(&tools.generate(agreement)?)?;
            Box::new(move || tools.encapsulate(agreement, &share).is_some())
        }
        Operation::Decapsulate(agreement) if agreement.is_kem() => {
            let key = tools.generate(agreement)?;
            let told = tools.encapsulate(agreement, &tools.share_of(&key)?)?;
            Box::new(move || tools.decapsulate(&key, &told).is_some())
        }
        // TLS takes no other agreement for a KEM.
        Operation::Encapsulate(_) | Operation::Decapsulate(_) => return None,
        Operation::Sign(kind) => {
            let key = tools.signing(kind)?;
            Box::new(move || tools.sign(kind, &key).is_some())
        }
        Operation::SignAgain(kind) => {
            let context = tools.signer(&tools.signing(kind)?)?;
            Box::new(move || tools.sign_in(&context, kind.digest()).is_some())
        }
        Operation::Verify(kind) => {
            let key = tools.signing(kind)?;
            let signature = tools.sign(kind, &key)?;
            Box::new(move || tools.verify(kind, &key, &signature).is_some())
        }
        Operation::VerifyAgain(kind) => {
            let key = tools.signing(kind)?;
            let signature = tools.sign_in(&tools.signer(&key)?, kind.digest())?;
            let context = tools.verifier(&key)?;
            Box::new(move || {
                tools
                    .verify_in(&context, &signature, kind.digest())
                    .is_some()
            })
        }
        Operation::ReadPublic(kind) => {
            let der = tools.public_of(&tools.signing(kind)?)?;
            Box::new(move || tools.read_public(&der).is_some())
        }
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::library::Libcrypto;
    use super::*;

    /// Stock, whatever release it is: only ML-KEM may be missing.
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
            // Neither is a KEM as libssl takes one.
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
