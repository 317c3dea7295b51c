//! Mutual TLS for HTTP/2: version 1.3 only, with aws-lc.
//!
//! Neither side resumes sessions. A resumed session does not present its certificate again (RFC 8446, 2.2), so a client
//! whose authority was withdrawn could return with its tickets. Connections are long, so handshakes are few.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, VerifierBuilderError, WebPkiClientVerifier};
use rustls::version::TLS13;
use rustls::{CertificateError, ClientConfig, InconsistentKeys, RootCertStore, ServerConfig};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer, UnixTime};
use x509_cert::Certificate;
use x509_cert::certificate::Version;
use x509_cert::crl::CertificateList;
use x509_cert::der::{DateTime, Decode};
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::{DirectoryString, GeneralName};
use zeroize::Zeroizing;

/// The PEM files of one side of mutual TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate of this side, followed by the intermediate certificates up to a root.
    pub certificate: PathBuf,
    /// The private key of the certificate, not encrypted.
    pub key: PathBuf,
    /// The roots that the other side's certificate must chain to.
    pub roots: PathBuf,
    /// Revocation lists (RFC 5280, 5). If given, no certificate of the other side except the root may be on one, and each
    /// issuer needs a list that is not past its next update.
    pub revoked: Option<PathBuf>,
}

impl TlsFiles {
    /// Returns the path of the revocation lists for messages; empty if there is none.
    pub(crate) fn revoked_name(&self) -> String {
        let path = self.revoked.as_ref();
        path.map(|path| path.display().to_string())
            .unwrap_or_default()
    }

    /// Returns the configuration of a server.
    ///
    /// # Errors
    /// Names the file that cannot be read, holds something else, has expired, or does not match.
    pub fn server(&self) -> Result<Arc<ServerConfig>, TlsError> {
        Ok(self.server_side()?.config)
    }

    /// Returns a server's configuration together with the verifier of its clients.
    pub(crate) fn server_side(&self) -> Result<ServerSide, TlsError> {
        let (chain, key) = self.own()?;
        let roots = Arc::new(self.roots()?);
        let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider())
            .with_crls(self.revocation_lists()?)
            .enforce_revocation_expiration()
            .build()
            .map_err(|error| self.unfit(error))?;
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| TlsError::new(&self.certificate, error))?
            .with_client_cert_verifier(Arc::clone(&verifier))
            .with_single_cert(chain, key)
            .map_err(|error| self.mismatch(error))?;
        config.alpn_protocols = vec![HTTP_2.to_vec()];
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(ServerSide {
            config: Arc::new(config),
            verifier,
            files: Arc::new(self.clone()),
        })
    }

    /// Returns the configuration of a client.
    ///
    /// # Errors
    /// The same as for [`server`](Self::server).
    pub fn client(&self) -> Result<ClientTls, TlsError> {
        let (chain, key) = self.own()?;
        let roots = Arc::new(self.roots()?);
        let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider())
            .with_crls(self.revocation_lists()?)
            .enforce_revocation_expiration()
            .build()
            .map_err(|error| self.unfit(error))?;
        let mut config = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| TlsError::new(&self.certificate, error))?
            .with_webpki_verifier(verifier)
            .with_client_auth_cert(chain, key)
            .map_err(|error| self.mismatch(error))?;
        config.alpn_protocols = vec![HTTP_2.to_vec()];
        config.resumption = Resumption::disabled();
        Ok(ClientTls {
            config: Arc::new(config),
            files: Arc::new(self.clone()),
        })
    }

    fn own(&self) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), TlsError> {
        let chain = certificates(&self.certificate)?;
        for certificate in &chain {
            check_validity(certificate)
                .map_err(|problem| TlsError::new(&self.certificate, problem))?;
        }
        Ok((chain, private_key(&self.key)?))
    }

    fn roots(&self) -> Result<RootCertStore, TlsError> {
        let mut roots = RootCertStore::empty();
        for certificate in certificates(&self.roots)? {
            roots
                .add(certificate)
                .map_err(|error| TlsError::new(&self.roots, format!("not a root: {error}")))?;
        }
        Ok(roots)
    }

    fn revocation_lists(&self) -> Result<Vec<CertificateRevocationListDer<'static>>, TlsError> {
        let Some(path) = &self.revoked else {
            return Ok(Vec::new());
        };
        let pem = read(path)?;
        let lists: Vec<_> = CertificateRevocationListDer::pem_slice_iter(&pem)
            .collect::<Result<_, _>>()
            .map_err(|error| TlsError::new(path, format!("broken PEM: {error}")))?;
        if lists.is_empty() {
            let what = format!("no revocation list in PEM, but {}", contents(&pem));
            return Err(TlsError::new(path, what));
        }
        for list in &lists {
            check_next_update(list).map_err(|problem| TlsError::new(path, problem))?;
        }
        Ok(lists)
    }

    /// Returns the error for unusable roots or revocation lists.
    fn unfit(&self, error: VerifierBuilderError) -> TlsError {
        match (&self.revoked, error) {
            (Some(path), VerifierBuilderError::InvalidCrl(problem)) => {
                TlsError::new(path, format!("not a valid revocation list: {problem:?}"))
            }
            (_, error) => TlsError::new(&self.roots, error),
        }
    }

    fn mismatch(&self, error: rustls::Error) -> TlsError {
        let certificate = self.certificate.display();
        TlsError::new(
            &self.key,
            match error {
                rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                    format!("not the key of the certificate in {certificate}")
                }
                error => format!("cannot be used with the certificate in {certificate}: {error}"),
            },
        )
    }
}

/// A client's TLS configuration. Clones share it.
#[derive(Clone, Debug)]
pub struct ClientTls {
    config: Arc<ClientConfig>,
    /// The files that it was built from, for errors.
    files: Arc<TlsFiles>,
}

impl ClientTls {
    /// Returns the rustls configuration.
    pub fn config(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.config)
    }

    pub(crate) fn files(&self) -> &TlsFiles {
        &self.files
    }
}

/// A server's TLS configuration and the verifier of its clients.
#[derive(Clone, Debug)]
pub(crate) struct ServerSide {
    config: Arc<ServerConfig>,
    verifier: Arc<dyn ClientCertVerifier>,
    /// The files that both were built from, for the log.
    files: Arc<TlsFiles>,
}

/// A server's TLS configuration, which can be replaced while the server runs. New connections use the new one; open
/// connections keep theirs.
#[derive(Debug)]
pub struct ServerTls {
    current: RwLock<ServerSide>,
}

impl ServerTls {
    /// Loads the configuration from files.
    ///
    /// # Errors
    /// The same as for [`TlsFiles::server`].
    pub fn load(files: &TlsFiles) -> Result<Self, TlsError> {
        let current = RwLock::new(files.server_side()?);
        Ok(Self { current })
    }

    /// Reads `files`, the same or others, and uses them for new connections.
    ///
    /// # Errors
    /// The same as for [`TlsFiles::server`]; the current configuration then stays.
    pub fn reload(&self, files: &TlsFiles) -> Result<(), TlsError> {
        self.replace(files.server_side()?);
        Ok(())
    }

    /// Uses `new` for new connections.
    pub(crate) fn replace(&self, new: ServerSide) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        *current = new;
    }

    /// Returns the configuration for a new connection.
    pub fn current(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.side().config)
    }

    /// Returns the files of the current configuration.
    pub(crate) fn files(&self) -> Arc<TlsFiles> {
        self.side().files
    }

    /// Whether the current files withdraw a client's certificate: it is on a revocation list, its authority is gone, or it
    /// has expired. Unusable lists withdraw nothing; they only keep new connections out.
    pub fn withdraws(&self, chain: &[CertificateDer<'_>]) -> bool {
        let Some((own, between)) = chain.split_first() else {
            return true;
        };
        let verifier = self.side().verifier;
        let verified = verifier.verify_client_cert(own, between, UnixTime::now());
        use CertificateError as Error;
        matches!(
            verified,
            Err(rustls::Error::InvalidCertificate(
                Error::Revoked
                    | Error::UnknownIssuer
                    | Error::Expired
                    | Error::ExpiredContext { .. }
            ))
        )
    }

    fn side(&self) -> ServerSide {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        current.clone()
    }
}

/// Returns the earliest expiry of these certificates; `None` if one cannot be parsed.
pub(crate) fn expiry(chain: &[CertificateDer<'_>]) -> Option<SystemTime> {
    let of = |certificate: &CertificateDer<'_>| {
        let certificate = Certificate::from_der(certificate).ok()?;
        let validity = certificate.tbs_certificate().validity();
        Some(validity.not_after.to_system_time())
    };
    let all: Option<Vec<_>> = chain.iter().map(of).collect();
    all?.into_iter().min()
}

/// Formats a time the way the other messages do.
pub(crate) fn date(time: UnixTime) -> String {
    match DateTime::from_unix_duration(Duration::from_secs(time.as_secs())) {
        Ok(date) => date.to_string(),
        Err(_) => format!("{} s after 1970", time.as_secs()),
    }
}

/// The identity of a client: the first URI among the alternative names of its certificate, else the first DNS name, else the
/// common name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identity(Arc<str>);

impl Identity {
    /// Creates an identity from text.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// Returns `anonymous`, the identity of every client without TLS.
    pub fn anonymous() -> Self {
        Self::new("anonymous")
    }

    /// Returns the identity in a certificate. `None` if it has no name, a name with control characters, which could forge
    /// log lines, or one of more than 2048 bytes (the limit of SPIFFE IDs).
    pub fn of(certificate: &CertificateDer<'_>) -> Option<Self> {
        let certificate = Certificate::from_der(certificate).ok()?;
        let certificate = certificate.tbs_certificate();
        let names = match certificate.get_extension::<SubjectAltName>() {
            Ok(names) => names.map_or_else(Vec::new, |(_, names)| names.0),
            Err(_) => return None,
        };
        let uri = names.iter().find_map(|name| match name {
            GeneralName::UniformResourceIdentifier(uri) => Some(uri.as_str()),
            _ => None,
        });
        let dns = || {
            names.iter().find_map(|name| match name {
                GeneralName::DnsName(name) => Some(name.as_str()),
                _ => None,
            })
        };
        let common = certificate.subject().common_name().ok().flatten();
        let common = common.as_ref().map(DirectoryString::value);
        let name = uri.or_else(dns).or(common.as_deref())?;
        let is_plain = (1..=IDENTITY_BYTES_MAX).contains(&name.len());
        let is_plain = is_plain && !name.contains(char::is_control);
        is_plain.then(|| Self::new(name))
    }

    /// Returns the identity as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An error in a TLS file: the path, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsError {
    path: PathBuf,
    what: String,
}

impl TlsError {
    fn new(path: &Path, what: impl fmt::Display) -> Self {
        Self {
            path: path.to_owned(),
            what: what.to_string(),
        }
    }
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.what)
    }
}

impl std::error::Error for TlsError {}

/// Returns the provider explicitly, so that the process-wide default does not matter.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

pub(crate) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let pem = read(path)?;
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&pem)
        .collect::<Result<_, _>>()
        .map_err(|error| TlsError::new(path, format!("broken PEM: {error}")))?;
    if chain.is_empty() {
        let what = format!("no certificate in PEM, but {}", contents(&pem));
        return Err(TlsError::new(path, what));
    }
    Ok(chain)
}

pub(crate) fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let pem = read(path)?;
    PrivateKeyDer::from_pem_slice(&pem).map_err(|error| {
        let what = match error {
            rustls_pki_types::pem::Error::NoItemsFound => {
                format!("no private key in PEM, but {}", contents(&pem))
            }
            error => format!("broken PEM: {error}"),
        };
        TlsError::new(path, what)
    })
}

fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, TlsError> {
    let bytes = std::fs::read(path)
        .map_err(|error| TlsError::new(path, format!("cannot be read: {error}")))?;
    Ok(Zeroizing::new(bytes))
}

/// Describes what a file holds instead: the labels of its PEM blocks.
fn contents(pem: &[u8]) -> String {
    let text = Zeroizing::new(String::from_utf8_lossy(pem).into_owned());
    let labels: Vec<_> = text
        .lines()
        .filter_map(|line| line.strip_prefix("-----BEGIN ")?.strip_suffix("-----"))
        // A label must not carry terminal control sequences into a message.
        .filter(|label| label.len() <= LABEL_BYTES_MAX && !label.contains(char::is_control))
        .take(LABELS_MAX)
        .collect();
    match &labels[..] {
        [] if pem.is_empty() => "nothing at all".to_owned(),
        [] => "something else: convert it with openssl x509 or openssl pkey".to_owned(),
        ["ENCRYPTED PRIVATE KEY"] => {
            "an encrypted one: decrypt it with openssl pkey, readable by the server's user only"
                .to_owned()
        }
        labels => labels.join(", "),
    }
}

fn check_next_update(list: &CertificateRevocationListDer<'_>) -> Result<(), String> {
    let list = <CertificateList>::from_der(list)
        .map_err(|error| format!("not a revocation list of version 2 (RFC 5280): {error}"))?;
    let next_update = list.tbs_cert_list.next_update;
    let is_past = next_update.is_some_and(|time| time.to_system_time() < SystemTime::now());
    if is_past && let Some(time) = next_update {
        let (issuer, date) = (list.tbs_cert_list.issuer, time.to_date_time());
        return Err(format!(
            "the next update of the revocation list of {issuer} was due at {date}: fetch it"
        ));
    }
    Ok(())
}

fn check_validity(certificate: &CertificateDer<'_>) -> Result<(), String> {
    let certificate = Certificate::from_der(certificate)
        .map_err(|error| format!("broken certificate: {error}"))?;
    let certificate = certificate.tbs_certificate();
    let validity = certificate.validity();
    let (name, now) = (certificate.subject(), SystemTime::now());
    if certificate.version() != Version::V3 {
        return Err(format!(
            "the certificate of {name} is not of version 3: with openssl x509 -req, give extensions with -extfile"
        ));
    }
    if validity.not_after.to_system_time() < now {
        let date = validity.not_after.to_date_time();
        return Err(format!(
            "the certificate of {name} expired at {date}: renew it"
        ));
    }
    if validity.not_before.to_system_time() > now {
        let date = validity.not_before.to_date_time();
        return Err(format!(
            "the certificate of {name} is valid from {date} on: wait, or set the clock"
        ));
    }
    Ok(())
}

const HTTP_2: &[u8] = b"h2";
const LABELS_MAX: usize = 4;
const LABEL_BYTES_MAX: usize = 64;
/// The most bytes of an identity, as for SPIFFE IDs (SPIFFE-ID, 2.3).
const IDENTITY_BYTES_MAX: usize = 2048;
