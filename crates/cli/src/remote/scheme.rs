//! Signature schemes, and the digests that they sign.

use std::io::Read as _;
use std::path::Path;

use clap::ValueEnum;
use oarlock::rsa::{Hash, SignatureScheme};
use oarlock_net::proto;
use sha2::{Digest, Sha256, Sha384, Sha512};

use crate::failure::{Failure, reason};
use crate::input::Input;

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Scheme {
    RsaPkcs1Sha256,
    RsaPkcs1Sha384,
    RsaPkcs1Sha512,
    RsaPssSha256,
    RsaPssSha384,
    RsaPssSha512,
}

impl Scheme {
    /// As the protocol and as the engine name it.
    pub(crate) fn both(self) -> (proto::SignatureScheme, SignatureScheme) {
        use proto::SignatureScheme as Named;
        match self {
            Self::RsaPkcs1Sha256 => (Named::RsaPkcs1Sha256, SignatureScheme::Pkcs1(Hash::Sha256)),
            Self::RsaPkcs1Sha384 => (Named::RsaPkcs1Sha384, SignatureScheme::Pkcs1(Hash::Sha384)),
            Self::RsaPkcs1Sha512 => (Named::RsaPkcs1Sha512, SignatureScheme::Pkcs1(Hash::Sha512)),
            Self::RsaPssSha256 => (Named::RsaPssSha256, SignatureScheme::Pss(Hash::Sha256)),
            Self::RsaPssSha384 => (Named::RsaPssSha384, SignatureScheme::Pss(Hash::Sha384)),
            Self::RsaPssSha512 => (Named::RsaPssSha512, SignatureScheme::Pss(Hash::Sha512)),
        }
    }

    /// Returns the length of a digest.
    fn bytes(self) -> usize {
        match self {
            Self::RsaPkcs1Sha256 | Self::RsaPssSha256 => 32,
            Self::RsaPkcs1Sha384 | Self::RsaPssSha384 => 48,
            Self::RsaPkcs1Sha512 | Self::RsaPssSha512 => 64,
        }
    }

    /// The digest in hexadecimal, or that of the file; of standard input where neither is given.
    pub(crate) fn digest(self, hex: Option<&str>, file: Option<&Path>) -> Result<Vec<u8>, Failure> {
        let Some(hex) = hex else {
            return self.digest_of(file);
        };
        let bytes = self.bytes();
        match hex::decode(hex.trim()) {
            Ok(digest) if digest.len() == bytes => Ok(digest),
            _ => Err(Failure::usage(format!(
                "--digest: a digest of this scheme has {} hexadecimal digits",
                2 * bytes
            ))),
        }
    }

    fn digest_of(self, file: Option<&Path>) -> Result<Vec<u8>, Failure> {
        let mut input = Input::open(file)?;
        match self.bytes() {
            32 => hashed::<Sha256>(&mut input),
            48 => hashed::<Sha384>(&mut input),
            _ => hashed::<Sha512>(&mut input),
        }
    }
}

fn hashed<D: Digest>(input: &mut Input) -> Result<Vec<u8>, Failure> {
    let mut digest = D::new();
    let mut buffer = vec![0; 1 << 18];
    loop {
        match input.file.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => digest.update(&buffer[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => {
                return Err(Failure::new(format!("{}: {}", input.name, reason(&error))));
            }
        }
    }
    input.check_unchanged()?;
    Ok(digest.finalize().to_vec())
}
