//! Certificates, revocation lists and keys in files, and the folder of an authority, from arbitrary bytes and from those of
//! an authority with some bytes changed: no panic, and messages and identities that a terminal shows as they are.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use arbitrary::Arbitrary;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use oarlock_net::pki::{Authority, PkiRequest};
use oarlock_net::tls::{Identity, ServerTls, TlsFiles};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;

use crate::files::edited;

fuzz_target!(|input: Input| {
    match &input {
        Input::Der(der) => identity(der),
        Input::Certificate(edits) => {
            identity(&edited(&EXAMPLE.client, edits));
            // Whatever it says of it: such a certificate has no connection.
            let chain = [CertificateDer::from(edited(&EXAMPLE.client, edits))];
            let _ = EXAMPLE.server.withdraws(&chain);
        }
        Input::Text(file, text) => folder(*file, text),
        Input::File(file, edits) => {
            let (_, text) = &EXAMPLE.files[usize::from(*file) % EXAMPLE.files.len()];
            folder(*file, &edited(text, edits));
        }
        Input::Inside(file, edits) => {
            let (_, text) = &EXAMPLE.files[usize::from(*file) % EXAMPLE.files.len()];
            folder(*file, &edited_inside(text, edits));
        }
    }
});

#[derive(Arbitrary, Debug)]
enum Input {
    Der(Vec<u8>),
    Certificate(Vec<(u16, u8)>),
    /// In place of one of the files.
    Text(u8, Vec<u8>),
    File(u8, Vec<(u16, u8)>),
    /// Edits of what PEM encodes.
    Inside(u8, Vec<(u16, u8)>),
}

fn identity(der: &[u8]) {
    if let Some(identity) = Identity::of(&CertificateDer::from(der)) {
        let name = identity.as_str();
        assert!((1..=2048).contains(&name.len()));
        assert!(!name.contains(char::is_control), "{name:?}");
    }
}

/// All that reads the folder, with `text` for one of its files.
fn folder(file: u8, text: &[u8]) {
    let folder = Folder::new();
    for (number, (name, right)) in EXAMPLE.files.iter().enumerate() {
        let is_it = number == usize::from(file) % EXAMPLE.files.len();
        fs::write(folder.0.join(name), if is_it { text } else { right }).unwrap();
    }
    let tls = files(&folder.0);
    let outcomes = [
        ServerTls::load(&tls).map(drop).map_err(|it| it.to_string()),
        tls.client().map(drop).map_err(|it| it.to_string()),
        authority(&folder.0),
    ];
    for said in outcomes.iter().filter_map(|it| it.as_ref().err()) {
        assert!(
            !said.is_empty() && !said.contains(['\n', '\r', '\x1b']),
            "{said:?}"
        );
    }
}

fn authority(folder: &Path) -> Result<(), String> {
    let mut authority = Authority::open(folder).map_err(|it| it.to_string())?;
    let said = [
        authority.revoke("web").map(drop),
        authority.renew(&["server".into()], 30).map(drop),
        authority.renew(&[], 30).map(drop),
        authority.client("other", 30).map(drop),
    ];
    let first = said.into_iter().find_map(Result::err);
    first.map_or(Ok(()), |it| Err(it.to_string()))
}

fn files(folder: &Path) -> TlsFiles {
    TlsFiles {
        certificate: folder.join("server.pem"),
        key: folder.join("server.key"),
        roots: folder.join("ca.pem"),
        revoked: Some(folder.join("crl.pem")),
    }
}

/// The first block of PEM, with some of its bytes changed, and what follows it.
fn edited_inside(text: &[u8], edits: &[(u16, u8)]) -> Vec<u8> {
    let text = String::from_utf8_lossy(text);
    let Some((head, rest)) = text.split_once("-----\n") else {
        return text.into_owned().into_bytes();
    };
    let (body, tail) = rest.split_once("-----END").unwrap_or((rest, ""));
    let body: String = body.split_whitespace().collect();
    let der = BASE64_STANDARD.decode(body).unwrap_or_default();
    let body = BASE64_STANDARD.encode(edited(&der, edits));
    let lines = body.as_bytes().chunks(64).map(String::from_utf8_lossy);
    let lines: Vec<_> = lines.collect();
    format!("{head}-----\n{}\n-----END{tail}", lines.join("\n")).into_bytes()
}

struct Example {
    /// By name.
    files: Vec<(String, Vec<u8>)>,
    client: Vec<u8>,
    server: ServerTls,
}

static EXAMPLE: LazyLock<Example> = LazyLock::new(|| {
    let folder = Folder::new();
    let request = PkiRequest {
        server_names: vec!["localhost".into(), "127.0.0.1".into()],
        clients: vec!["web".into()],
        days: 30,
    };
    let mut paths = request.init(&folder.0).unwrap();
    paths.sort();
    let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    let files = paths
        .iter()
        .map(|path| (name(path), fs::read(path).unwrap()));
    let client = CertificateDer::from_pem_file(folder.0.join("web.pem")).unwrap();
    Example {
        files: files.collect(),
        client: client.to_vec(),
        server: ServerTls::load(&self::files(&folder.0)).unwrap(),
    }
});

/// Removed with all that is in it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("oarlock-fuzz-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
