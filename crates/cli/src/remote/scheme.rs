//! Signature schemes, and the bytes that they sign.

use std::io::Read as _;
use std::path::Path;

use clap::ValueEnum;
use oarlock::keys;
use oarlock::keys::{Curve, KeyType, MlDsa};
use oarlock::rsa::Hash;
use oarlock_net::proto;
use sha2::{Digest, Sha256, Sha384, Sha512};

use crate::failure::{Failure, reason};
use crate::input::Input;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scheme {
    RsaPkcs1Sha256,
    RsaPkcs1Sha384,
    RsaPkcs1Sha512,
    RsaPssSha256,
    RsaPssSha384,
    RsaPssSha512,
    EcdsaP256Sha256,
    EcdsaP384Sha384,
    EcdsaP521Sha512,
    Ed25519,
    #[value(name = "ml-dsa-44")]
    MlDsa44,
    #[value(name = "ml-dsa-65")]
    MlDsa65,
    #[value(name = "ml-dsa-87")]
    MlDsa87,
}

impl Scheme {
    /// Returns the default scheme for a type of key.
    pub(crate) fn of_key(key_type: KeyType) -> Result<Self, Failure> {
        Ok(match key_type {
            KeyType::Rsa => Self::RsaPkcs1Sha256,
            KeyType::Ec(Curve::P256) => Self::EcdsaP256Sha256,
            KeyType::Ec(Curve::P384) => Self::EcdsaP384Sha384,
            KeyType::Ec(Curve::P521) => Self::EcdsaP521Sha512,
            KeyType::Ed25519 => Self::Ed25519,
            KeyType::MlDsa(MlDsa::MlDsa44) => Self::MlDsa44,
            KeyType::MlDsa(MlDsa::MlDsa65) => Self::MlDsa65,
            KeyType::MlDsa(MlDsa::MlDsa87) => Self::MlDsa87,
            other => {
                return Err(Failure::new(format!(
                    "a key of {other} signs nothing: take one of RSA, P-256, P-384, P-521, Ed25519 or ML-DSA"
                )));
            }
        })
    }

    /// Returns the scheme in the protocol's terms.
    pub(crate) fn named(self) -> proto::SignatureScheme {
        use proto::SignatureScheme as Named;
        match self {
            Self::RsaPkcs1Sha256 => Named::RsaPkcs1Sha256,
            Self::RsaPkcs1Sha384 => Named::RsaPkcs1Sha384,
            Self::RsaPkcs1Sha512 => Named::RsaPkcs1Sha512,
            Self::RsaPssSha256 => Named::RsaPssSha256,
            Self::RsaPssSha384 => Named::RsaPssSha384,
            Self::RsaPssSha512 => Named::RsaPssSha512,
            Self::EcdsaP256Sha256 => Named::EcdsaP256Sha256,
            Self::EcdsaP384Sha384 => Named::EcdsaP384Sha384,
            Self::EcdsaP521Sha512 => Named::EcdsaP521Sha512,
            Self::Ed25519 => Named::Ed25519,
            Self::MlDsa44 => Named::MlDsa44,
            Self::MlDsa65 => Named::MlDsa65,
            Self::MlDsa87 => Named::MlDsa87,
        }
    }

    /// Returns the type of keys for the scheme, and the scheme in the library's terms.
    fn meaning(self) -> (KeyType, keys::Scheme) {
        #[allow(clippy::expect_used)] // Only the unspecified scheme has none.
        self.named().meaning().expect("a scheme that is specified")
    }

    /// Returns the name on the command line.
    pub(crate) fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Returns the scheme in the library's terms; refuses a key of another type.
    pub(crate) fn check(self, key_type: KeyType) -> Result<keys::Scheme, Failure> {
        let (fits, scheme) = self.meaning();
        if fits == key_type {
            return Ok(scheme);
        }
        let usual = match Self::of_key(key_type) {
            Ok(usual) => format!(": give --scheme {}, or none", usual.name()),
            Err(_) => String::new(),
        };
        Err(Failure::usage(format!(
            "--scheme {} is for keys of {fits}, and this one is of {key_type}{usual}",
            self.name()
        )))
    }

    /// Returns the bytes to sign: the digest of the file, or the whole file for a scheme without a hash function. Without a
    /// file it reads standard input; `hex` is a digest in place of a file.
    pub(crate) fn input(self, hex: Option<&str>, file: Option<&Path>) -> Result<Vec<u8>, Failure> {
        let hash = self.meaning().1.hash();
        let Some(hex) = hex else {
            let mut input = Input::open(file)?;
            return match hash {
                None => whole(&mut input, self),
                Some(Hash::Sha256) => hashed::<Sha256>(&mut input),
                Some(Hash::Sha384) => hashed::<Sha384>(&mut input),
                Some(_) => hashed::<Sha512>(&mut input),
            };
        };
        let Some(bytes) = hash.map(Hash::bytes) else {
            return Err(Failure::usage(format!(
                "--digest: {} signs whole messages: name the file",
                self.name()
            )));
        };
        match hex::decode(hex.trim()) {
            Ok(digest) if digest.len() == bytes => Ok(digest),
            _ => Err(Failure::usage(format!(
                "--digest: a digest of this scheme has {} hexadecimal digits",
                2 * bytes
            ))),
        }
    }

    /// Verifies a signature of the bytes that [`input`](Self::input) returned.
    pub(crate) fn verify(
        self,
        key: &keys::PublicKey,
        input: &[u8],
        signature: &[u8],
    ) -> Result<(), oarlock::Error> {
        let (_, scheme) = self.meaning();
        match scheme.hash() {
            Some(_) => key.verify_digest(&scheme, input, signature),
            None => key.verify(&scheme, input, signature),
        }
    }

    /// Signs the bytes that [`input`](Self::input) returned.
    pub(crate) fn sign(
        self,
        key: &keys::PrivateKey,
        input: &[u8],
    ) -> Result<Vec<u8>, oarlock::Error> {
        let (_, scheme) = self.meaning();
        match scheme.hash() {
            Some(_) => key.sign_digest(&scheme, input),
            None => key.sign(&scheme, input),
        }
    }
}

fn hashed<D: Digest>(input: &mut Input) -> Result<Vec<u8>, Failure> {
    let mut digest = D::new();
    each(input, |bytes| {
        digest.update(bytes);
        Ok(())
    })?;
    Ok(digest.finalize().to_vec())
}

fn whole(input: &mut Input, scheme: Scheme) -> Result<Vec<u8>, Failure> {
    let mut all = Vec::new();
    let name = input.name.clone();
    each(input, |bytes| {
        if all.len() + bytes.len() > MESSAGE_BYTES_MAX {
            return Err(Failure::new(format!(
                "{name}: longer than {} MiB: {} takes a message as a whole; sign a digest of it by another scheme",
                MESSAGE_BYTES_MAX >> 20,
                scheme.name()
            )));
        }
        all.extend_from_slice(bytes);
        Ok(())
    })?;
    Ok(all)
}

/// Passes the whole input to `take`, in pieces.
fn each(
    input: &mut Input,
    mut take: impl FnMut(&[u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut buffer = vec![0; 1 << 18];
    loop {
        match input.file.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => take(&buffer[..count])?,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => {
                return Err(Failure::new(format!("{}: {}", input.name, reason(&error))));
            }
        }
    }
    input.check_unchanged()
}

/// The longest message that is signed as a whole.
const MESSAGE_BYTES_MAX: usize = 256 << 20;
