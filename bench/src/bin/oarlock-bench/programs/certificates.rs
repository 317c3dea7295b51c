//! Keys and certificates of servers, made by `openssl req`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use oarlock_measure::Error;

use crate::system::child::said;

/// What a certificate's key is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum KeyKind {
    /// By the bits of the modulus.
    Rsa(usize),
    P256,
    P384,
}

impl KeyKind {
    /// What `openssl req` takes.
    fn arguments(self) -> Vec<String> {
        let arguments = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect();
        match self {
            Self::Rsa(bits) => arguments(&["-newkey", &format!("rsa:{bits}")]),
            Self::P256 => arguments(&["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]),
            Self::P384 => arguments(&["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384"]),
        }
    }
}

/// As in names of cases.
impl fmt::Display for KeyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rsa(bits) => write!(f, "rsa-{bits}"),
            Self::P256 => f.write_str("p256"),
            Self::P384 => f.write_str("p384"),
        }
    }
}

/// A certificate and its key, in files.
#[derive(Clone, Debug)]
pub(crate) struct Certificate {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl Certificate {
    /// Makes one of `localhost` in the files `NAME.pem` and `NAME.key` of `folder`, signed by itself.
    pub(crate) fn new(folder: &Path, name: &str, kind: KeyKind) -> Result<Self, Error> {
        Self::made(folder, name, kind, LEAF, None)
    }

    /// Makes two: one signed by itself, which signs the other, of `localhost`.
    pub(crate) fn chain(folder: &Path, name: &str, kind: KeyKind) -> Result<[Self; 2], Error> {
        let root = Self::made(folder, &format!("{name}-root"), kind, ROOT, None)?;
        let leaf = Self::made(folder, name, kind, LEAF, Some(&root))?;
        Ok([root, leaf])
    }

    fn made(
        folder: &Path,
        name: &str,
        kind: KeyKind,
        [subject, constraints]: [&str; 2],
        issuer: Option<&Self>,
    ) -> Result<Self, Error> {
        let made = Self {
            certificate: folder.join(format!("{name}.pem")),
            key: folder.join(format!("{name}.key")),
        };
        let mut request = Command::new("openssl");
        request.args(["req", "-x509", "-nodes", "-days", "2", "-subj", subject]);
        request.args(["-addext", "subjectAltName=DNS:localhost"]);
        request
            .args(["-addext", constraints])
            .args(kind.arguments());
        if let Some(issuer) = issuer {
            request.arg("-CA").arg(&issuer.certificate);
            request.arg("-CAkey").arg(&issuer.key);
        }
        request.arg("-keyout").arg(&made.key);
        request.arg("-out").arg(&made.certificate);
        said(request.env_remove("OPENSSL_CONF"))?;
        Ok(made)
    }
}

/// Subjects and what they may do.
const ROOT: [&str; 2] = ["/CN=root", "basicConstraints=critical,CA:TRUE"];
const LEAF: [&str; 2] = ["/CN=localhost", "basicConstraints=critical,CA:FALSE"];
