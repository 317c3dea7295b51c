//! Keys and certificates of a directory.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use oarlock::keys::PrivateKey;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use zeroize::Zeroizing;

use crate::attributes::Certificate;
use crate::report::tell;

/// What a directory has.
#[derive(Default)]
pub(crate) struct Files {
    /// Keys with their names: those of the files without the extension.
    pub(crate) keys: Vec<(String, PrivateKey)>,
    /// Certificates with their names.
    pub(crate) certificates: Vec<(String, Certificate)>,
}

/// The state of a directory: it is read again if that differs.
pub(crate) type Seen = Vec<(PathBuf, Option<Stamp>)>;

/// Identifies a version of a file. Two versions may have the same length and modification time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// Returns the stamp of a file that has not changed for a while. `None` for a younger one: file times advance in ticks
    /// of up to 10 ms, so another change could leave the same time.
    fn settled(status: &Metadata) -> Option<Self> {
        let changed = Duration::from_secs(u64::try_from(status.ctime()).ok()?);
        let age = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH + changed);
        (age.ok()? > YOUNG).then(|| Self {
            device: status.dev(),
            inode: status.ino(),
            bytes: status.size(),
            modified: (status.mtime(), status.mtime_nsec()),
            changed: (status.ctime(), status.ctime_nsec()),
        })
    }
}

/// Whether a directory has not changed.
pub(crate) fn are_same(now: &Seen, before: &Seen) -> bool {
    now == before && now.iter().all(|(_, stamp)| stamp.is_some())
}

/// Returns the files of a directory, in the order of their names.
pub(crate) fn look(directory: &Path) -> io::Result<Seen> {
    let mut seen = Seen::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let path = entry.path();
        // A link leads to the file; one that leads nowhere is no file.
        let Ok(status) = fs::metadata(&path) else {
            continue;
        };
        if status.is_file() && status.len() <= FILE_BYTES_MAX {
            seen.push((path, Stamp::settled(&status)));
        }
        if seen.len() > FILES_MAX {
            return Err(io::Error::other(format!(
                "the directory has more than {FILES_MAX} files"
            )));
        }
    }
    seen.sort();
    Ok(seen)
}

/// Reads files. What is neither a key nor a certificate is left out; a key that cannot be used is reported.
pub(crate) fn read(seen: &Seen) -> Files {
    let mut files = Files::default();
    for (path, _) in seen {
        let text = match text_of(path) {
            Ok(text) => text,
            Err(error) => {
                tell(&format!("{}: {error}", path.display()));
                continue;
            }
        };
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if let Some(key) = private_part(&text, path) {
            match PrivateKey::from_bytes(key) {
                Ok(key) if key.key_type().signs() => files.keys.push((name.clone(), key)),
                Ok(_) => {}
                Err(error) => tell(&format!("{}: {error}", path.display())),
            }
        }
        let certificates = certificates(&text, path).into_iter();
        files
            .certificates
            .extend(certificates.map(|one| (name.clone(), one)));
    }
    files
}

/// Returns the part of a file that is a private key: one block of PEM, or the whole file in DER.
fn private_part<'a>(text: &'a [u8], path: &Path) -> Option<&'a [u8]> {
    let mut rest = text;
    while let Some(begin) = find(rest, b"-----BEGIN ") {
        let block = &rest[begin..];
        let label = &block[11..];
        let label = &label[..find(label, b"-----")?];
        let end = [b"-----END ", label, b"-----"].concat();
        let length = find(block, &end)? + end.len();
        if label.ends_with(b"PRIVATE KEY") {
            return Some(&block[..length]);
        }
        rest = &block[length..];
    }
    let is_key = ["der", "key", "pk8", "p8"]
        .iter()
        .any(|one| has_extension(path, one));
    // DER is a sequence; a certificate in DER has another one in it.
    let is_der = text.first() == Some(&0x30) && Certificate::from_der(text).is_none();
    (is_key && is_der).then_some(text)
}

fn certificates(text: &[u8], path: &Path) -> Vec<Certificate> {
    if find(text, b"-----BEGIN ").is_some() {
        // Only these blocks: the parser would leave copies of private keys behind.
        let (mut rest, mut found) = (text, Vec::new());
        while let Some(begin) = find(rest, b"-----BEGIN CERTIFICATE-----") {
            let block = &rest[begin..];
            let Some(end) = find(block, CERTIFICATE_END) else {
                break;
            };
            let (block, after) = block.split_at(end + CERTIFICATE_END.len());
            let der = CertificateDer::from_pem_slice(block).ok();
            found.extend(der.and_then(|der| Certificate::from_der(&der)));
            rest = after;
        }
        return found;
    }
    let is_one = ["der", "crt", "cer"]
        .iter()
        .any(|one| has_extension(path, one));
    let certificate = is_one.then(|| Certificate::from_der(text)).flatten();
    certificate.into_iter().collect()
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension()
        .is_some_and(|it| it.eq_ignore_ascii_case(extension))
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|here| here == wanted)
}

fn text_of(path: &Path) -> io::Result<Zeroizing<Vec<u8>>> {
    // Room for a whole file: what grows would leave copies of the key behind.
    let mut text = Zeroizing::new(Vec::with_capacity(FILE_BYTES_MAX as usize + 1));
    File::open(path)?
        .take(FILE_BYTES_MAX)
        .read_to_end(&mut text)?;
    Ok(text)
}

const CERTIFICATE_END: &[u8] = b"-----END CERTIFICATE-----";
const FILE_BYTES_MAX: u64 = 256 << 10;
const FILES_MAX: usize = 10_000;
const YOUNG: Duration = Duration::from_secs(2);
