//! An authority in its folder, which issues, renews and revokes certificates.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, PublicKeyData as _, SanType, SerialNumber, date_time_ymd,
};
use rustls::crypto::aws_lc_rs;
use rustls_pki_types::{CertificateDer, ServerName};
use x509_cert::Certificate;
use x509_cert::der::pem::LineEnding;
use x509_cert::der::{Decode as _, DecodePem as _, Encode as _, EncodePem as _};
use x509_cert::ext::pkix::name::{DirectoryString, GeneralName};
use x509_cert::ext::pkix::{ExtendedKeyUsage, SubjectAltName};

use super::files::{self, File};
use super::revocation::{List, Signer};
use super::rules::{CA, PkiError, RESERVED, SERVER, check_client, check_days, new_key, now};
use crate::tls;

/// A certificate authority whose certificate and key lie in a folder, as [`PkiRequest::init`](super::PkiRequest::init)
/// writes them.
pub struct Authority {
    directory: PathBuf,
    name: String,
    key: KeyPair,
    /// The end of its certificate's validity, since 1970.
    not_after: Duration,
}

/// A file that was written, and the end of its validity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The path of the file.
    pub path: PathBuf,
    /// The end of the certificate's validity, as `2030-01-02T03:04:05Z`; `None` for other files.
    pub valid_until: Option<String>,
}

impl Authority {
    /// Reads the authority in `directory`.
    ///
    /// # Errors
    /// Names the file that is missing or wrong.
    pub fn open(directory: &Path) -> Result<Self, PkiError> {
        let path = directory.join("ca.pem");
        let certificate = read_certificate(&path)?;
        let wrong = |what: &str| PkiError::new(format!("{}: {what}", path.display()));
        let (name, key) = (common_name(&certificate), read_key(directory, CA)?);
        if key.subject_public_key_info() != public_key(&certificate)? {
            return Err(mismatch(directory, CA));
        }
        let name = name.ok_or_else(|| wrong(FOREIGN))?;
        let not_after = certificate.tbs_certificate().validity().not_after;
        let authority = Self {
            directory: directory.to_owned(),
            name,
            key,
            not_after: not_after.to_unix_duration(),
        };
        // Its certificates must name the issuer exactly as its own certificate does.
        let again = parse(&authority.own(1)?)?;
        if again.tbs_certificate().subject() != certificate.tbs_certificate().subject() {
            return Err(wrong(FOREIGN));
        }
        Ok(authority)
    }

    /// Creates an authority, and returns it with its certificate in PEM.
    pub(super) fn new(directory: &Path, days: u32) -> Result<(Self, String), PkiError> {
        let authority = Self {
            directory: directory.to_owned(),
            // Two CAs of one name in a file could not be told apart.
            name: format!("Oarlock test CA {}", hexadecimal(&random::<4>()?)),
            key: new_key()?,
            not_after: now()? + Duration::from_secs(u64::from(days) * DAY_SECONDS),
        };
        let pem = authority.own(days)?;
        Ok((authority, pem))
    }

    pub(super) fn key(&self) -> &KeyPair {
        &self.key
    }

    /// Returns an empty revocation list in PEM.
    pub(super) fn empty_list(&self) -> Result<String, PkiError> {
        List::new(&self.directory).to_pem(&self.signer()?)
    }

    fn signer(&self) -> Result<Signer<'_>, PkiError> {
        Ok(Signer {
            params: self.params()?,
            key: &self.key,
            not_after: self.not_after,
        })
    }

    /// Creates a key and a certificate for a client. Overwrites nothing.
    ///
    /// # Errors
    /// A bad name or validity, a file that already exists, or one that cannot be written.
    pub fn client(&self, name: &str, days: u32) -> Result<Vec<Written>, PkiError> {
        check_client(name)?;
        check_days(days)?;
        let key = new_key()?;
        let pem = self.issue(&Subject::client(name)?, &key, days)?;
        let certificate = self.directory.join(format!("{name}.pem"));
        let secret = self.directory.join(format!("{name}.key"));
        if let Some(there) = [&certificate, &secret].iter().find(|path| path.exists()) {
            return Err(PkiError::new(format!(
                "{}: exists already: oarlock pki renew renews a certificate",
                there.display()
            )));
        }
        self.record(&pem)?;
        files::write_new(&[
            File::public(certificate.clone(), &pem),
            File::secret(secret.clone(), &key),
        ])?;
        Ok(vec![
            Written::certificate(certificate, &pem)?,
            Written::other(secret),
        ])
    }

    /// Renews the certificates with these names and keeps their keys; without names, all of them and the authority's own.
    /// `ca` names the authority's certificate, and the revocation list is renewed with it. Also returns the names that it
    /// skipped because their certificates are revoked.
    ///
    /// # Errors
    /// Names what cannot be renewed; certificates renewed before that stay renewed.
    pub fn renew(
        &mut self,
        names: &[String],
        days: u32,
    ) -> Result<(Vec<Written>, Vec<String>), PkiError> {
        check_days(days)?;
        let all = names.is_empty();
        let names = if all { self.names()? } else { names.to_vec() };
        let list = List::read(&self.directory, &self.name)?;
        let (mut written, mut left) = (Vec::new(), Vec::new());
        // The authority goes first, since no certificate outlives it.
        if names.iter().any(|name| name == CA) {
            let path = self.directory.join("ca.pem");
            let pem = self.own(days)?;
            self.not_after = now()? + Duration::from_secs(u64::from(days) * DAY_SECONDS);
            files::replace(&path, &pem)?;
            written.push(Written::certificate(path, &pem)?);
            written.push(Written::other(list.write(&self.signer()?)?));
        }
        for name in names.iter().filter(|name| *name != CA) {
            let path = self.directory.join(format!("{name}.pem"));
            let old = read_certificate(&path)?;
            if list.has(&old) {
                if all {
                    left.push(name.clone());
                    continue;
                }
                return Err(PkiError::new(format!(
                    "{}: is revoked: remove it and its key, then make others with oarlock pki client",
                    path.display()
                )));
            }
            let key = read_key(&self.directory, name)?;
            if key.subject_public_key_info() != public_key(&old)? {
                return Err(mismatch(&self.directory, name));
            }
            let subject = Subject::of(&old)
                .ok_or_else(|| PkiError::new(format!("{}: has no common name", path.display())))?;
            let pem = self.issue(&subject, &key, days)?;
            self.record(&pem)?;
            files::replace(&path, &pem)?;
            written.push(Written::certificate(path, &pem)?);
        }
        Ok((written, left))
    }

    /// Puts all certificates of `name` that have not expired on the revocation list, `crl.pem`. Returns how many were added.
    ///
    /// # Errors
    /// Fails if there are none, or all of them are already on the list.
    pub fn revoke(&self, name: &str) -> Result<usize, PkiError> {
        let path = self.directory.join(format!("{name}.pem"));
        let current = path.exists().then(|| read_certificate(&path)).transpose()?;
        let is_its = |subject: &Subject| match &current {
            Some(certificate) => Subject::of(certificate).is_some_and(|it| it.is_same(subject)),
            None => !subject.is_server && subject.name == name,
        };
        let mut certificates = self.issued()?;
        certificates.retain(|certificate| Subject::of(certificate).is_some_and(|it| is_its(&it)));
        certificates.extend(current);
        if certificates.is_empty() || [CA, ""].contains(&name) {
            return Err(PkiError::new(format!(
                "{}: has no certificate of {name:?}",
                self.directory.display()
            )));
        }
        let mut list = List::read(&self.directory, &self.name)?;
        let mut count = 0;
        for certificate in &certificates {
            if !list.has(certificate) {
                list.add(certificate)?;
                count += 1;
            }
        }
        if count == 0 {
            return Err(PkiError::new(format!(
                "{name}: all certificates of this name are revoked already"
            )));
        }
        list.write(&self.signer()?)?;
        Ok(count)
    }

    /// Returns the authority's parameters, which name it in the certificates that it issues.
    fn params(&self) -> Result<CertificateParams, PkiError> {
        let mut params = CertificateParams::new([])?;
        params.distinguished_name = common(&self.name);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        Ok(params)
    }

    /// Returns the authority's own certificate in PEM.
    fn own(&self, days: u32) -> Result<String, PkiError> {
        let mut params = self.params()?;
        let until = now()? + Duration::from_secs(u64::from(days) * DAY_SECONDS);
        dated(&mut params, until)?;
        Ok(params.self_signed(&self.key)?.pem())
    }

    /// Issues a certificate in PEM. It ends no later than the authority's.
    pub(super) fn issue(
        &self,
        subject: &Subject,
        key: &KeyPair,
        days: u32,
    ) -> Result<String, PkiError> {
        if self.not_after <= now()? {
            return Err(PkiError::new(format!(
                "{}: has expired: renew it with oarlock pki renew",
                self.directory.join("ca.pem").display()
            )));
        }
        let mut params = CertificateParams::new([])?;
        params.distinguished_name = common(&subject.name);
        params.subject_alt_names = subject.alternative.clone();
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![if subject.is_server {
            ExtendedKeyUsagePurpose::ServerAuth
        } else {
            ExtendedKeyUsagePurpose::ClientAuth
        }];
        params.use_authority_key_identifier_extension = true;
        let until = now()? + Duration::from_secs(u64::from(days) * DAY_SECONDS);
        dated(&mut params, until.min(self.not_after))?;
        let own = self.params()?;
        let issuer = Issuer::from_params(&own, &self.key);
        Ok(params.signed_by(key, &issuer)?.pem())
    }

    /// Returns the names of the authority's certificates in the folder, `ca` first.
    fn names(&self) -> Result<Vec<String>, PkiError> {
        let failed = |error| PkiError::file(&self.directory, error);
        let mut names = vec![CA.to_owned()];
        for entry in fs::read_dir(&self.directory).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let stem = path.file_stem().and_then(|stem| stem.to_str());
            let Some(name) = stem.filter(|name| *name == SERVER || !RESERVED.contains(name)) else {
                continue;
            };
            let is_pem = path.extension().is_some_and(|extension| extension == "pem");
            let has_key = self.directory.join(format!("{name}.key")).is_file();
            if is_pem && has_key && read_certificate(&path).is_ok_and(|it| self.issued_it(&it)) {
                names.push(name.to_owned());
            }
        }
        names[1..].sort();
        Ok(names)
    }

    fn issued_it(&self, certificate: &Certificate) -> bool {
        let issuer = certificate.tbs_certificate().issuer().common_name();
        let issuer = issuer.ok().flatten();
        issuer.as_ref().map(DirectoryString::value).as_deref() == Some(&self.name)
    }

    /// Adds a certificate to the record of those issued, and drops expired ones from it.
    fn record(&self, pem: &str) -> Result<(), PkiError> {
        let now = now()?;
        let mut text = String::new();
        for certificate in self.issued()? {
            if certificate
                .tbs_certificate()
                .validity()
                .not_after
                .to_unix_duration()
                > now
            {
                text.push_str(&to_pem(&certificate)?);
            }
        }
        text.push_str(pem);
        files::replace(&self.directory.join(ISSUED), &text)
    }

    fn issued(&self) -> Result<Vec<Certificate>, PkiError> {
        let path = self.directory.join(ISSUED);
        if !path.exists() {
            return Ok(Vec::new());
        }
        let all = tls::certificates(&path).map_err(PkiError::new)?;
        all.iter().map(|der| decode(&path, der)).collect()
    }
}

/// The server or client that a certificate is for.
pub(super) struct Subject {
    name: String,
    alternative: Vec<SanType>,
    is_server: bool,
}

impl Subject {
    pub(super) fn server(names: &[String]) -> Result<Self, PkiError> {
        Ok(Self {
            name: names.first().cloned().unwrap_or_default(),
            alternative: CertificateParams::new(names)?.subject_alt_names,
            is_server: true,
        })
    }

    pub(super) fn client(name: &str) -> Result<Self, PkiError> {
        let is_dns = matches!(ServerName::try_from(name), Ok(ServerName::DnsName(_)));
        let alternative = if is_dns {
            vec![name.to_owned()]
        } else {
            vec![]
        };
        Ok(Self {
            name: name.to_owned(),
            alternative: CertificateParams::new(alternative)?.subject_alt_names,
            is_server: false,
        })
    }

    /// Returns the subject of a certificate; `None` without a common name.
    fn of(certificate: &Certificate) -> Option<Self> {
        let parts = certificate.tbs_certificate();
        let alternative = parts.get_extension::<SubjectAltName>().ok()?;
        let alternative = alternative.map_or_else(Vec::new, |(_, names)| names.0);
        let usage = parts.get_extension::<ExtendedKeyUsage>().ok()?;
        Some(Self {
            name: common_name(certificate)?,
            alternative: alternative.iter().filter_map(alternative_name).collect(),
            is_server: usage.is_some_and(|(_, usage)| {
                usage
                    .0
                    .iter()
                    .any(|purpose| purpose.to_string() == SERVER_AUTH)
            }),
        })
    }

    fn is_same(&self, other: &Self) -> bool {
        (self.is_server, &self.name) == (other.is_server, &other.name)
    }
}

impl Written {
    pub(super) fn certificate(path: PathBuf, pem: &str) -> Result<Self, PkiError> {
        let certificate = parse(pem)?;
        let until = certificate.tbs_certificate().validity().not_after;
        Ok(Self {
            path,
            valid_until: Some(until.to_date_time().to_string()),
        })
    }

    pub(super) fn other(path: PathBuf) -> Self {
        Self {
            path,
            valid_until: None,
        }
    }
}

fn alternative_name(name: &GeneralName) -> Option<SanType> {
    match name {
        GeneralName::DnsName(name) => Some(SanType::DnsName(name.as_str().try_into().ok()?)),
        GeneralName::UniformResourceIdentifier(uri) => {
            Some(SanType::URI(uri.as_str().try_into().ok()?))
        }
        GeneralName::IpAddress(address) => {
            let bytes = address.as_bytes();
            let four = <[u8; 4]>::try_from(bytes).map(|it| IpAddr::V4(Ipv4Addr::from(it)));
            let any = four
                .or_else(|_| <[u8; 16]>::try_from(bytes).map(|it| IpAddr::V6(Ipv6Addr::from(it))));
            any.ok().map(SanType::IpAddress)
        }
        _ => None,
    }
}

/// Sets validity from an hour ago, for machines whose clock is behind, and a random serial number, since a key may have
/// several certificates.
fn dated(params: &mut CertificateParams, until: Duration) -> Result<(), PkiError> {
    let from = now()?.saturating_sub(Duration::from_secs(3600));
    let epoch = date_time_ymd(1970, 1, 1);
    params.not_before = epoch + Duration::from_secs(from.as_secs());
    params.not_after = epoch + Duration::from_secs(until.as_secs());
    let mut serial = random::<SERIAL_BYTES>()?;
    // The number is positive, and all have the same length.
    serial[0] = (serial[0] & 0x3f) | 0x40;
    params.serial_number = Some(SerialNumber::from_slice(&serial));
    Ok(())
}

fn random<const BYTES: usize>() -> Result<[u8; BYTES], PkiError> {
    let mut bytes = [0; BYTES];
    let source = aws_lc_rs::default_provider().secure_random;
    source
        .fill(&mut bytes)
        .map_err(|_| PkiError::new("the system has no random numbers"))?;
    Ok(bytes)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn common(name: &str) -> DistinguishedName {
    let mut names = DistinguishedName::new();
    names.push(DnType::CommonName, name);
    names
}

fn common_name(certificate: &Certificate) -> Option<String> {
    let name = certificate.tbs_certificate().subject().common_name();
    let name = name.ok().flatten();
    name.as_ref().map(|it| it.value().into_owned())
}

fn read_certificate(path: &Path) -> Result<Certificate, PkiError> {
    let all = tls::certificates(path).map_err(PkiError::new)?;
    let first = all.first().ok_or_else(|| PkiError::new("no certificate"))?;
    decode(path, first)
}

fn read_key(directory: &Path, name: &str) -> Result<KeyPair, PkiError> {
    let path = directory.join(format!("{name}.key"));
    let der = tls::private_key(&path).map_err(PkiError::new)?;
    KeyPair::try_from(&der)
        .map_err(|error| PkiError::new(format!("{}: not a usable key: {error}", path.display())))
}

fn mismatch(directory: &Path, name: &str) -> PkiError {
    let path = directory.join(name);
    let path = path.display();
    PkiError::new(format!(
        "{path}.key: not the key of the certificate in {path}.pem"
    ))
}

fn decode(path: &Path, der: &CertificateDer<'_>) -> Result<Certificate, PkiError> {
    Certificate::from_der(der)
        .map_err(|error| PkiError::new(format!("{}: broken certificate: {error}", path.display())))
}

fn public_key(certificate: &Certificate) -> Result<Vec<u8>, PkiError> {
    let info = certificate.tbs_certificate().subject_public_key_info();
    info.to_der()
        .map_err(|error| PkiError::new(format!("broken certificate: {error}")))
}

fn parse(pem: &str) -> Result<Certificate, PkiError> {
    Certificate::from_pem(pem)
        .map_err(|error| PkiError::new(format!("broken certificate: {error}")))
}

fn to_pem(certificate: &Certificate) -> Result<String, PkiError> {
    certificate
        .to_pem(LineEnding::LF)
        .map_err(|error| PkiError::new(format!("broken certificate: {error}")))
}

const FOREIGN: &str = "not made by oarlock pki init: use the program that made it";
/// The record of every certificate that has not expired, so that all certificates of a client can be revoked after a
/// renewal.
pub(super) const ISSUED: &str = "issued.pem";
/// The OID of id-kp-serverAuth (RFC 5280, 4.2.1.12).
const SERVER_AUTH: &str = "1.3.6.1.5.5.7.3.1";
const SERIAL_BYTES: usize = 16;
const DAY_SECONDS: u64 = 86_400;
