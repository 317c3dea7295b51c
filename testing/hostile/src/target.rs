//! The server, and certificates for as many clients as a kind needs.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, Issuer, KeyPair,
    date_time_ymd,
};
use rustls::client::Resumption;
use rustls::crypto::aws_lc_rs;
use rustls::version::TLS13;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// The id of an Ed25519 key that the hostile client may use: such keys sign messages as a whole.
pub const MESSAGE_KEY: &str = "ed25519";

/// The server under attack, and what is needed to be let in.
#[derive(Debug)]
pub struct Target {
    /// Where it serves over TLS.
    pub server: SocketAddr,
    /// Its metrics page.
    pub metrics: SocketAddr,
    /// The id of an RSA-2048 key that the hostile client may use.
    pub key: String,
    /// The hostile client's own certificate.
    pub(crate) client: Arc<ClientConfig>,
    roots: RootCertStore,
    /// The authority's key. It issues certificates for further clients.
    authority: String,
}

impl Target {
    /// With the files of `oarlock pki init` in `pki`, as `client`.
    ///
    /// # Errors
    /// An address that is not of the loopback interface, or which file cannot be used.
    pub fn new(
        server: SocketAddr,
        metrics: SocketAddr,
        pki: &Path,
        client: &str,
        key: &str,
    ) -> Result<Self, String> {
        if !server.ip().is_loopback() || !metrics.ip().is_loopback() {
            return Err(format!("{server}, {metrics}: choose loopback addresses"));
        }
        let file = |name: String| {
            let path = pki.join(name);
            std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
        };
        let mut roots = RootCertStore::empty();
        let authority = CertificateDer::from_pem_slice(file("ca.pem".into())?.as_bytes());
        let authority = authority.map_err(|error| format!("ca.pem: {error}"))?;
        roots
            .add(authority)
            .map_err(|error| format!("ca.pem: {error}"))?;
        let config = config(
            &roots,
            &file(format!("{client}.pem"))?,
            &file(format!("{client}.key"))?,
        )?;
        Ok(Self {
            server,
            metrics,
            key: key.to_owned(),
            client: config,
            roots,
            authority: file("ca.key".into())?,
        })
    }

    /// A certificate of the server's authority for the client `name`.
    pub(crate) fn minted(&self, name: &str, valid: Duration) -> io::Result<Arc<ClientConfig>> {
        self.mint(name, valid).map_err(io::Error::other)
    }

    fn mint(&self, name: &str, valid: Duration) -> Result<Arc<ClientConfig>, String> {
        let failed = |error: rcgen::Error| error.to_string();
        let key = KeyPair::from_pem(&self.authority).map_err(failed)?;
        // Only its name and key matter to who checks a certificate.
        let mut authority = CertificateParams::new([]).map_err(failed)?;
        authority.distinguished_name = named(self.authority_name()?);
        let issuer = Issuer::new(authority, key);
        let mut params = CertificateParams::new([name.to_owned()]).map_err(failed)?;
        params.distinguished_name = named(name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_err(|error| error.to_string())?;
        let now = date_time_ymd(1970, 1, 1) + Duration::from_secs(now.as_secs());
        params.not_before = now - Duration::from_secs(60);
        params.not_after = now + valid;
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = params.signed_by(&key, &issuer).map_err(failed)?;
        config(&self.roots, &certificate.pem(), &key.serialize_pem())
    }

    /// The common name of the server's authority.
    fn authority_name(&self) -> Result<&str, String> {
        let root = self.roots.roots.first().ok_or("there is no root")?;
        let subject: &[u8] = &root.subject;
        let name = subject
            .windows(COMMON_NAME.len())
            .position(|window| window == COMMON_NAME)
            .and_then(|at| subject[at + COMMON_NAME.len()..].split_first())
            .and_then(|(length, rest)| rest.get(..usize::from(*length)));
        let name = name.ok_or("the root has no common name")?;
        str::from_utf8(name).map_err(|error| error.to_string())
    }

    /// A connection after its handshake. In TLS 1.3 a client learns later whether the server likes
    /// its certificate.
    pub(crate) async fn connect(
        &self,
        client: &Arc<ClientConfig>,
    ) -> io::Result<TlsStream<TcpStream>> {
        let stream = TcpStream::connect(self.server).await?;
        stream.set_nodelay(true)?;
        let name = ServerName::try_from("localhost").map_err(io::Error::other)?;
        let connector = TlsConnector::from(Arc::clone(client));
        connector.connect(name, stream).await
    }
}

fn config(roots: &RootCertStore, chain: &str, key: &str) -> Result<Arc<ClientConfig>, String> {
    let chain = CertificateDer::pem_slice_iter(chain.as_bytes()).collect::<Result<_, _>>();
    let chain = chain.map_err(|error| error.to_string())?;
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|error| error.to_string())?;
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots.clone())
        .with_client_auth_cert(chain, key)
        .map_err(|error| error.to_string())?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    config.resumption = Resumption::disabled();
    Ok(Arc::new(config))
}

fn named(name: &str) -> DistinguishedName {
    let mut named = DistinguishedName::new();
    named.push(DnType::CommonName, name);
    named
}

/// DER of id-at-commonName and the tag of a UTF8String, which its length follows (RFC 5280, A.1).
const COMMON_NAME: [u8; 6] = [6, 3, 0x55, 4, 3, 12];
