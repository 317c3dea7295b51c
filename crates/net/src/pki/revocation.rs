//! The revocation list of an authority, `crl.pem`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rcgen::{
    CertificateParams, CertificateRevocationListParams, Issuer, KeyIdMethod, KeyPair,
    RevokedCertParams, SerialNumber, date_time_ymd,
};
use x509_cert::Certificate;
use x509_cert::crl::CertificateList;
use x509_cert::der::Decode as _;
use x509_cert::der::DecodePem as _;
use x509_cert::der::oid::AssociatedOid as _;
use x509_cert::ext::pkix::CrlNumber;
use x509_cert::ext::pkix::name::DirectoryString;

use super::files;
use super::rules::{PkiError, now};

/// The issuer of a list.
pub(super) struct Signer<'a> {
    /// The parameters that name the authority.
    pub(super) params: CertificateParams,
    pub(super) key: &'a KeyPair,
    /// The end of the authority's certificate, since 1970.
    pub(super) not_after: Duration,
}

/// The revoked serial numbers, each with the time of its revocation since 1970.
pub(super) struct List {
    path: PathBuf,
    entries: Vec<(Vec<u8>, Duration)>,
    number: u64,
}

impl List {
    /// Returns an empty list.
    pub(super) fn new(directory: &Path) -> Self {
        Self {
            path: directory.join(FILE),
            entries: Vec::new(),
            number: 0,
        }
    }

    /// Reads the list in `directory`, which must be of this authority. A missing file is an empty list: older folders have
    /// none.
    pub(super) fn read(directory: &Path, authority: &str) -> Result<Self, PkiError> {
        let mut list = Self::new(directory);
        if !list.path.exists() {
            return Ok(list);
        }
        let wrong = |what: String| PkiError::new(format!("{}: {what}", list.path.display()));
        let pem = std::fs::read(&list.path).map_err(|error| PkiError::file(&list.path, error))?;
        let read = <CertificateList>::from_pem(&pem)
            .map_err(|error| wrong(format!("not a revocation list: {error}")))?
            .tbs_cert_list;
        let issuer = read.issuer.common_name().ok().flatten();
        if issuer.as_ref().map(DirectoryString::value).as_deref() != Some(authority) {
            return Err(wrong(
                "a list of another CA than ca.pem: move it away".into(),
            ));
        }
        let number = read.crl_extensions.iter().flatten();
        let number = number
            .filter(|it| it.extn_id == CrlNumber::OID)
            .find_map(|it| {
                let number = CrlNumber::from_der(it.extn_value.as_bytes()).ok()?;
                let bytes = number.0.as_bytes();
                (bytes.len() <= 8).then(|| {
                    bytes
                        .iter()
                        .fold(0, |sum, byte| sum << 8 | u64::from(*byte))
                })
            });
        let entries = read.revoked_certificates.unwrap_or_default();
        let entries = entries.iter().map(|entry| {
            let serial = entry.serial_number.as_bytes().to_vec();
            (serial, entry.revocation_date.to_unix_duration())
        });
        list.entries = entries.collect();
        list.number = number.unwrap_or_default();
        Ok(list)
    }

    pub(super) fn has(&self, certificate: &Certificate) -> bool {
        let serial = certificate.tbs_certificate().serial_number().as_bytes();
        self.entries.iter().any(|(revoked, _)| revoked == serial)
    }

    pub(super) fn add(&mut self, certificate: &Certificate) -> Result<(), PkiError> {
        let serial = certificate.tbs_certificate().serial_number().as_bytes();
        self.entries.push((serial.to_vec(), now()?));
        Ok(())
    }

    /// Returns the list in PEM. Its next update is due when the authority ends.
    pub(super) fn to_pem(&self, signer: &Signer<'_>) -> Result<String, PkiError> {
        let at = |since: Duration| date_time_ymd(1970, 1, 1) + Duration::from_secs(since.as_secs());
        let revoked = |(serial, since): &(Vec<u8>, Duration)| RevokedCertParams {
            serial_number: SerialNumber::from_slice(serial),
            revocation_time: at(*since),
            reason_code: None,
            invalidity_date: None,
        };
        let params = CertificateRevocationListParams {
            // An hour ago, for machines whose clock is behind.
            this_update: at(now()?.saturating_sub(Duration::from_secs(3600))),
            next_update: at(signer.not_after),
            crl_number: SerialNumber::from(self.number + 1),
            issuing_distribution_point: None,
            revoked_certs: self.entries.iter().map(revoked).collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let issuer = Issuer::from_params(&signer.params, signer.key);
        Ok(params.signed_by(&issuer)?.pem()?)
    }

    /// Replaces the file and returns its path.
    pub(super) fn write(&self, signer: &Signer<'_>) -> Result<PathBuf, PkiError> {
        files::replace(&self.path, &self.to_pem(signer)?)?;
        Ok(self.path.clone())
    }
}

pub(super) const FILE: &str = "crl.pem";
