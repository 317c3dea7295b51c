//! A calibration's trial: TLS handshakes in memory with what it offers, compared with stock OpenSSL's. Whatever single calls
//! gain, a program that loses in its handshakes has gained nothing.

use std::path::Path;
use std::time::Duration;

use oarlock_engine::costs::openssl::LEVEL_MIN;
use oarlock_measure::Error;
use oarlock_measure::peers::openssl::{Ends, Handshake};
use oarlock_measure::run::compared::Compared;
use oarlock_measure::run::provided::Provided;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, PKCS_ECDSA_P256_SHA256,
};
use serde::{Deserialize, Serialize};

use super::library::Library;
use crate::failure::{Failure, reason};

/// One end of a handshake.
#[derive(Clone, Serialize, Deserialize, PartialEq, Eq, Debug)]
pub(crate) struct Trial {
    /// The handshake and the end, as in "resumed-client".
    pub(crate) end: String,
    /// The ratio in thousandths.
    pub(crate) thousandths: u32,
    /// Whether it certainly loses, whatever other work did to the samples.
    pub(crate) is_lost: bool,
}

/// The time of one end.
type OfEnd = fn(&Ends) -> Duration;

/// Compares both ends of a handshake and of a resumed one, with TLS 1.3, X25519 and a certificate on P-256. Returns nothing
/// where no libssl that may be loaded lies next to the libcrypto.
pub(super) fn measure(both: &Provided, libcrypto: &Path) -> Result<Vec<Trial>, Failure> {
    let Some(libssl) = Library::libssl_next_to(libcrypto) else {
        return Ok(Vec::new());
    };
    let folder = tempfile::tempdir().map_err(|error| Failure::new(reason(&error)))?;
    write_chain(folder.path())?;
    let ends: [(&str, OfEnd); 2] = [
        ("server", |ends| ends.server),
        ("client", |ends| ends.client),
    ];
    let mut cases = Vec::new();
    for (name, is_resumed) in [("full", false), ("resumed", true)] {
        for (end, of_end) in ends {
            let handshake = handshake(folder.path(), &libssl, is_resumed);
            match Compared::of_handshake(both, &handshake, of_end, SAMPLE) {
                Ok(compared) => cases.push((format!("{name}-{end}"), compared)),
                Err(Error::Unavailable(_)) => return Ok(Vec::new()),
                Err(error) => return Err(Failure::new(error.to_string())),
            }
        }
    }
    for _ in 0..PAIRS {
        for (_, compared) in &mut cases {
            compared
                .go_on(1)
                .map_err(|error| Failure::new(error.to_string()))?;
        }
    }
    let trial = |(end, compared): (String, Compared)| {
        let spread = compared.spread();
        Trial {
            end,
            thousandths: (spread.median * 1000.0).round() as u32,
            is_lost: spread.high * 1000.0 < f64::from(LEVEL_MIN),
        }
    };
    Ok(cases.into_iter().map(trial).collect())
}

fn handshake(folder: &Path, libssl: &Library, is_resumed: bool) -> Handshake {
    Handshake {
        certificate: folder.join(LEAF),
        key: folder.join(KEY),
        root: folder.join(ROOT),
        version: 0x0304,
        suite: "TLS_AES_128_GCM_SHA256",
        groups: "X25519",
        is_resumed,
        libssl: Some(libssl.path().into()),
    }
}

/// Writes a certificate on P-256, its key, and its issuer's certificate, all in PEM.
fn write_chain(folder: &Path) -> Result<(), Failure> {
    let wrong = |error: rcgen::Error| Failure::new(format!("a certificate: {error}"));
    let key = || KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(wrong);
    let params = |name: &str| -> Result<_, Failure> {
        let mut params = CertificateParams::new([name.to_owned()]).map_err(wrong)?;
        // The issuer needs a name of its own.
        params.distinguished_name.push(DnType::CommonName, name);
        Ok(params)
    };
    let (root_key, leaf_key) = (key()?, key()?);
    let mut root = params("root")?;
    root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let leaf = params("localhost")?
        .signed_by(&leaf_key, &Issuer::from_params(&root, &root_key))
        .map_err(wrong)?;
    let root = root.self_signed(&root_key).map_err(wrong)?;
    for (name, text) in [
        (ROOT, root.pem()),
        (LEAF, leaf.pem()),
        (KEY, leaf_key.serialize_pem()),
    ] {
        let path = folder.join(name);
        std::fs::write(&path, text)
            .map_err(|error| Failure::new(format!("{}: {}", path.display(), reason(&error))))?;
    }
    Ok(())
}

const ROOT: &str = "root.pem";
const LEAF: &str = "leaf.pem";
const KEY: &str = "leaf.key";
/// One handshake takes longer.
const SAMPLE: Duration = Duration::from_micros(1);
/// These take half a second.
const PAIRS: usize = if cfg!(debug_assertions) { 5 } else { 151 };
