//! A certificate authority for tests and first steps, with certificates for servers and clients.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, PKCS_RSA_SHA256, RsaKeySize,
    date_time_ymd,
};
use rustls_pki_types::ServerName;
use zeroize::Zeroizing;

/// Which certificates to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PkiRequest {
    /// DNS names and IP addresses of the server; at least one.
    pub server_names: Vec<String>,
    /// Identities of clients. Each gets a certificate in a file of that name.
    pub clients: Vec<String>,
    /// Days of validity: 1 to 36500.
    pub days: u32,
}

impl PkiRequest {
    /// Writes `ca.pem`, `server.pem` and a `.pem` for each client into `directory`, which it
    /// creates if necessary. Beside each lies its key (ECDSA on P-256, PKCS#8) in a `.key` that
    /// only its owner may read. Returns the paths.
    ///
    /// # Errors
    /// What cannot be made. It overwrites nothing, and removes what it had begun.
    pub fn init(&self, directory: &Path) -> Result<Vec<PathBuf>, PkiError> {
        self.check()?;
        let pairs = self.pairs()?;
        fs::create_dir_all(directory).map_err(|error| PkiError::file(directory, error))?;
        let mut written = Vec::new();
        for (name, pair) in &pairs {
            let certificate = directory.join(format!("{name}.pem"));
            let key = directory.join(format!("{name}.key"));
            let files = [
                (certificate, pair.certificate.as_bytes(), 0o644),
                (key, pair.key.as_bytes(), 0o600),
            ];
            for (path, bytes, mode) in files {
                if let Err(error) = write(&path, bytes, mode) {
                    for path in &written {
                        // The error on its way says what is left.
                        let _ = fs::remove_file(path);
                    }
                    return Err(PkiError::file(&path, error));
                }
                written.push(path);
            }
        }
        Ok(written)
    }

    fn check(&self) -> Result<(), PkiError> {
        if self.server_names.is_empty() {
            return Err(PkiError::new(
                "no server name: give a DNS name or an IP address",
            ));
        }
        for name in &self.server_names {
            if ServerName::try_from(&name[..]).is_err() {
                let what = format!("{name:?} is neither a DNS name nor an IP address");
                return Err(PkiError::new(what));
            }
        }
        for (i, name) in self.clients.iter().enumerate() {
            let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_.@".contains(char);
            if !(1..=64).contains(&name.len())
                || name.starts_with(['.', '-'])
                || !name.chars().all(is_plain)
            {
                return Err(PkiError::new(format!(
                    "client {name:?}: use 1 to 64 letters, digits and - _ . @, not starting with . or -"
                )));
            }
            if [CA, SERVER].contains(&&name[..]) || self.clients[..i].contains(name) {
                let what = format!("client {name:?}: the name is taken, choose another");
                return Err(PkiError::new(what));
            }
        }
        if !(1..=DAYS_MAX).contains(&self.days) {
            let what = format!("{} days: choose 1 to {DAYS_MAX}", self.days);
            return Err(PkiError::new(what));
        }
        Ok(())
    }

    /// Certificates and keys with the names of their files.
    fn pairs(&self) -> Result<Vec<(&str, Pair)>, PkiError> {
        let key = new_key()?;
        let mut authority = self.params("Oarlock test CA", &[])?;
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let certificate = authority.self_signed(&key)?;
        let mut pairs = vec![(CA, Pair::new(certificate.pem(), &key))];
        let issuer = Issuer::from_params(&authority, &key);

        let mut issue = |file, name: &str, alternative: &[String], usage| {
            let mut params = self.params(name, alternative)?;
            params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
            params.extended_key_usages = vec![usage];
            params.use_authority_key_identifier_extension = true;
            let key = new_key()?;
            let certificate = params.signed_by(&key, &issuer)?;
            pairs.push((file, Pair::new(certificate.pem(), &key)));
            Ok::<_, PkiError>(())
        };
        issue(
            SERVER,
            &self.server_names[0],
            &self.server_names,
            ExtendedKeyUsagePurpose::ServerAuth,
        )?;
        for client in &self.clients {
            let is_dns = matches!(
                ServerName::try_from(&client[..]),
                Ok(ServerName::DnsName(_))
            );
            let alternative = if is_dns { vec![client.clone()] } else { vec![] };
            issue(
                client,
                client,
                &alternative,
                ExtendedKeyUsagePurpose::ClientAuth,
            )?;
        }
        Ok(pairs)
    }

    fn params(&self, name: &str, alternative: &[String]) -> Result<CertificateParams, PkiError> {
        let mut params = CertificateParams::new(alternative)?;
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_err(|_| PkiError::new("the clock is before 1970: set it"))?;
        let now = date_time_ymd(1970, 1, 1) + Duration::from_secs(now.as_secs());
        // For machines whose clock is behind.
        params.not_before = now - Duration::from_secs(3600);
        params.not_after = now + Duration::from_secs(u64::from(self.days) * 86400);
        Ok(params)
    }
}

/// Makes an RSA key of 2048, 3072 or 4096 bits, as PKCS#8 PEM.
///
/// # Errors
/// Another size, or a failed generation.
pub fn new_rsa_key(bits: usize) -> Result<Zeroizing<String>, PkiError> {
    let size = match bits {
        2048 => RsaKeySize::_2048,
        3072 => RsaKeySize::_3072,
        4096 => RsaKeySize::_4096,
        bits => {
            let what = format!("{bits} bits: choose 2048, 3072 or 4096");
            return Err(PkiError::new(what));
        }
    };
    let key = KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, size)?;
    Ok(Zeroizing::new(key.serialize_pem()))
}

/// Why no certificates were made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PkiError(String);

impl PkiError {
    fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }

    fn file(path: &Path, error: std::io::Error) -> Self {
        let path = path.display();
        Self(match error.kind() {
            std::io::ErrorKind::AlreadyExists => {
                format!("{path}: exists already: choose another directory, or remove it")
            }
            _ => format!("{path}: cannot be written: {error}"),
        })
    }
}

impl From<rcgen::Error> for PkiError {
    fn from(error: rcgen::Error) -> Self {
        Self(format!("a certificate could not be made: {error}"))
    }
}

impl fmt::Display for PkiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PkiError {}

struct Pair {
    certificate: String,
    key: Zeroizing<String>,
}

impl Pair {
    fn new(certificate: String, key: &KeyPair) -> Self {
        let key = Zeroizing::new(key.serialize_pem());
        Self { certificate, key }
    }
}

fn new_key() -> Result<KeyPair, PkiError> {
    Ok(KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?)
}

fn write(path: &Path, bytes: &[u8], mode: u32) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(mode).open(path)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    if written.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(path);
    }
    written
}

const CA: &str = "ca";
const SERVER: &str = "server";
const DAYS_MAX: u32 = 36_500;
