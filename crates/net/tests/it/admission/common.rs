//! Helpers that several of the tests need.

use std::fmt::{Debug, Write};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, Once};

use oarlock_net::pki::PkiRequest;
use oarlock_net::tls::{Identity, TlsFiles};
use rcgen::{BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, KeyPair};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use tempfile::TempDir;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber, span};

/// A date before which no list is past its next update.
pub const FAR: &str = "29000102030405Z";

/// Creates an authority, a server with the names of loopback, and clients with these names.
pub fn pki(clients: &[&str]) -> TempDir {
    let folder = TempDir::new().unwrap();
    let request = PkiRequest {
        server_names: vec!["localhost".to_owned(), "127.0.0.1".to_owned()],
        clients: clients.iter().map(|name| (*name).to_owned()).collect(),
        days: 30,
    };
    request.init(folder.path()).unwrap();
    folder
}

pub fn tls_files(folder: &Path, name: &str) -> TlsFiles {
    TlsFiles {
        certificate: folder.join(format!("{name}.pem")),
        key: folder.join(format!("{name}.key")),
        roots: folder.join("ca.pem"),
        revoked: None,
    }
}

/// Returns a revocation list of the authority in `folder`, written by openssl, with the certificates of these clients and of
/// all clients named in earlier calls. Its next update is at `next`, as `20300102030405Z`.
pub fn revocation_list(folder: &Path, clients: &[&str], next: &str) -> PathBuf {
    let config = folder.join("openssl.cnf");
    if !config.exists() {
        let at = folder.display();
        let text = format!(
            "[ca]\ndefault_ca = own\n[own]\ndatabase = {at}/index.txt\ndefault_md = sha256\n\
             certificate = {at}/ca.pem\nprivate_key = {at}/ca.key\n\
             crlnumber = {at}/crlnumber\ncrl_extensions = extensions\n\
             [extensions]\nauthorityKeyIdentifier = keyid\n"
        );
        fs::write(folder.join("crlnumber"), "01\n").unwrap();
        fs::write(&config, text).unwrap();
        fs::write(folder.join("index.txt"), "").unwrap();
    }
    let list = folder.join("crl.pem");
    let [config, crl] = [&config, &list].map(|path| path.to_str().unwrap());
    for client in clients {
        let certificate = folder.join(format!("{client}.pem"));
        let certificate = certificate.to_str().unwrap();
        run(
            "openssl",
            &["ca", "-config", config, "-revoke", certificate],
        );
    }
    let dates = [
        "-crl_lastupdate",
        "20200102030405Z",
        "-crl_nextupdate",
        next,
    ];
    let arguments = [
        &["ca", "-config", config, "-gencrl", "-out", crl][..],
        &dates,
    ]
    .concat();
    run("openssl", &arguments);
    list
}

/// Creates an authority in `folder` with the same name as that in `roots`, but a different key.
pub fn namesake(roots: &Path, folder: &Path) {
    let pem = fs::read(roots).unwrap();
    let name = Identity::of(&CertificateDer::from_pem_slice(&pem).unwrap()).unwrap();
    let mut params = CertificateParams::new([]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name = DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::CommonName, name.as_str());
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    fs::write(folder.join("ca.pem"), certificate.pem()).unwrap();
    fs::write(folder.join("ca.key"), key.serialize_pem()).unwrap();
}

/// Runs a program that has to succeed.
pub fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {said}");
}

/// The warnings of one thread, one per line.
#[derive(Clone)]
pub struct Log(Arc<Mutex<String>>);

impl Default for Log {
    /// Also installs one listener for all threads. With only those of single tests, which come and go, events logged while
    /// one is installed could be lost, because events without a listener are switched off.
    fn default() -> Self {
        static FOR_ALL: Once = Once::new();
        FOR_ALL.call_once(|| {
            let _ = tracing::subscriber::set_global_default(Self(Arc::default()));
        });
        Self(Arc::default())
    }
}

impl Log {
    pub fn text(&self) -> String {
        self.0.lock().unwrap().clone()
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN && metadata.target().starts_with("oarlock")
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        struct Line<'a>(&'a mut String);
        impl Visit for Line<'_> {
            fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
                if field.name() == "message" {
                    writeln!(self.0, "{value:?}").unwrap();
                }
            }
        }
        event.record(&mut Line(&mut self.0.lock().unwrap()));
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}
