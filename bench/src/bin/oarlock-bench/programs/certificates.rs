//! Server keys and certificates, made by `openssl req`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use oarlock_measure::Error;

use crate::system::child::said;

/// The type and size of a certificate's key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum KeyKind {
    /// RSA, with the bits of the modulus.
    Rsa(usize),
    P256,
    P384,
}

impl KeyKind {
    /// Returns the arguments for `openssl req`.
    fn arguments(self) -> Vec<String> {
        let arguments = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect();
        match self {
            Self::Rsa(bits) => arguments(&["-newkey", &format!("rsa:{bits}")]),
            Self::P256 => arguments(&["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]),
            Self::P384 => arguments(&["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384"]),
        }
    }
}

/// Writes the name that cases use.
impl fmt::Display for KeyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rsa(bits) => write!(f, "rsa-{bits}"),
            Self::P256 => f.write_str("p256"),
            Self::P384 => f.write_str("p384"),
        }
    }
}

/// The files of a certificate and its key.
#[derive(Clone, Debug)]
pub(crate) struct Certificate {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl Certificate {
    /// Creates two certificates: a self-signed root, and one for `localhost` signed by it, in the files `NAME.pem` and
    /// `NAME.key` of `folder`.
    pub(crate) fn chain(folder: &Path, name: &str, kind: KeyKind) -> Result<[Self; 2], Error> {
        let [root, leaf] = Self::of_chain(folder, name);
        root.make(kind, ROOT, None)?;
        leaf.make(kind, LEAF, Some(&root))?;
        Ok([root, leaf])
    }

    /// Returns the files of such a chain, which need not exist.
    pub(crate) fn of_chain(folder: &Path, name: &str) -> [Self; 2] {
        [format!("{name}-root"), name.to_owned()].map(|name| Self {
            certificate: folder.join(format!("{name}.pem")),
            key: folder.join(format!("{name}.key")),
        })
    }

    fn make(
        &self,
        kind: KeyKind,
        [subject, constraints]: [&str; 2],
        issuer: Option<&Self>,
    ) -> Result<(), Error> {
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
        request.arg("-keyout").arg(&self.key);
        request.arg("-out").arg(&self.certificate);
        said(request.env_remove("OPENSSL_CONF")).map(drop)
    }
}

/// The subjects and basic constraints.
const ROOT: [&str; 2] = ["/CN=root", "basicConstraints=critical,CA:TRUE"];
const LEAF: [&str; 2] = ["/CN=localhost", "basicConstraints=critical,CA:FALSE"];
