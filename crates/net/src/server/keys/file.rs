//! The files of keys: which of a directory count, and the key in each.

use std::fmt;
use std::fs::{self, File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use oarlock::device::{PublicKeyRequest, SoftwareDevice, complete};
use oarlock::keys::{PrivateKey, Scheme};
use oarlock::rsa::{Hash, SignatureScheme};
use pkcs8::{EncryptedPrivateKeyInfoRef, SecretDocument};
use zeroize::Zeroizing;

use super::super::config::{self, Secret};
use super::super::key::{Key, VERSIONS_MAX, Versions};

/// Returns all regular `*.pem`, `*.key` and `*.jwk` files that are not hidden, and the number of those whose names cannot be
/// IDs. In a managed directory, files of disabled keys count too, and whatever else has such a name.
pub(super) fn files(directory: &Path, is_managed: bool) -> Result<(Vec<PathBuf>, usize), String> {
    let cannot = |error| format!("cannot be read: {error}");
    let (mut paths, mut nameless) = (Vec::new(), 0);
    for entry in fs::read_dir(directory).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        let is_hidden = path
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        let enabled = config::enabled(&path).filter(|_| is_managed);
        let is_of_a_key = enabled
            .as_deref()
            .unwrap_or(&path)
            .extension()
            .is_some_and(|it| EXTENSIONS.iter().any(|one| it == *one));
        if !is_of_a_key || is_hidden || enabled.is_none() && !path.is_file() {
            continue;
        }
        if config::id_of_file(enabled.as_deref().unwrap_or(&path)).is_none() {
            tracing::warn!("{}: skipped: its name cannot be an id", path.display());
            nameless += 1;
            continue;
        }
        paths.push(path);
    }
    Ok((paths, nameless))
}

/// Reads the key in a file; `None` if the file has only other PEM, such as certificates.
pub(super) fn read_file(
    path: &Path,
    passphrase: Option<&Secret>,
) -> Result<(Option<Stamp>, Option<Key>), String> {
    let (metadata, text) = read_text(path)?;
    let key = key_of_text(&text, passphrase)?;
    if key.is_some() && metadata.mode() & OTHERS != 0 {
        tracing::warn!(
            "{}: others may read or write this key: chmod o-rwx",
            path.display()
        );
    }
    Ok((Stamp::settled(&metadata), key))
}

/// Reads the text of a file.
pub(super) fn read_text(path: &Path) -> Result<(Metadata, Zeroizing<String>), String> {
    let cannot = |error| format!("cannot be read: {error}");
    // Opening a pipe could block.
    if !fs::metadata(path).map_err(cannot)?.is_file() {
        return Err("not a regular file".to_owned());
    }
    let file = File::open(path).map_err(cannot)?;
    let metadata = file.metadata().map_err(cannot)?;
    // The buffer holds the whole file, so that growing it leaves no copy of the key behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(FILE_BYTES_MAX + 1));
    file.take(FILE_BYTES_MAX as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(cannot)?;
    if bytes.len() > FILE_BYTES_MAX {
        return Err(format!("more than {FILE_BYTES_MAX} bytes: not a key"));
    }
    let text = String::from_utf8(std::mem::take(&mut *bytes));
    let text = text.map_err(|error| {
        drop(Zeroizing::new(error.into_bytes()));
        NO_KEY.to_owned()
    })?;
    Ok((metadata, Zeroizing::new(text)))
}

/// Parses the key in a file's text, and proves that it works; `None` if the text has only other PEM.
pub(super) fn key_of_text(text: &str, passphrase: Option<&Secret>) -> Result<Option<Key>, String> {
    let blocks = private_blocks(text)?;
    if blocks.is_empty() {
        return match text.contains(BEGIN) {
            true => Ok(None),
            false => Key::of_text(text)?
                .ok_or_else(|| NO_KEY.to_owned())
                .map(Some),
        };
    }
    let mut versions: Vec<(u32, PrivateKey)> = Vec::with_capacity(blocks.len());
    for block in blocks {
        let key = parse(block.pem, passphrase)?;
        prove(&key)?;
        if let Some((_, before)) = versions.last()
            && before.key_type() != key.key_type()
        {
            return Err("versions of different types: give each key its own file".to_owned());
        }
        versions.push((block.version.unwrap_or(0), key));
    }
    Ok(Versions::new(versions).map(Key::Private))
}

/// Signs with the key, which shows that its primes are prime, or that its halves belong together. A key that failed every
/// request would look like one failing device after another.
fn prove(key: &PrivateKey) -> Result<(), String> {
    let Some(scheme) = Scheme::usual(key.key_type()) else {
        return Err(format!(
            "a key of {}, which signs nothing: this server takes those of RSA, P-256, P-384, P-521, Ed25519 and ML-DSA",
            key.key_type()
        ));
    };
    let Some(key) = key.as_rsa() else {
        let signature = key.sign(&scheme, PROOF);
        let proven = signature.and_then(|made| key.public_key().verify(&scheme, PROOF, &made));
        return proven.map_err(|error| format!("the key does not sign: {error}"));
    };
    let scheme = SignatureScheme::Pss(Hash::Sha256);
    let request = PublicKeyRequest::sign(key, scheme, PROOF);
    let request = request.map_err(|error| error.to_string())?;
    let mut proven = Ok(());
    complete(&SoftwareDevice::new(), &[&request], &mut |_, result| {
        proven = result.map(drop)
    });
    proven.map_err(|error| format!("the key does not sign: {error}"))
}

/// A private key in a text.
pub(super) struct Block<'a> {
    /// The place of its first character.
    pub(super) start: usize,
    pub(super) pem: &'a str,
    /// The number in the line before it: `# version: 2`.
    pub(super) version: Option<u32>,
}

/// Returns the PEM blocks of the private keys in a text, which may contain certificates too. Several are versions of one key,
/// with a number each, in ascending order.
pub(super) fn private_blocks(text: &str) -> Result<Vec<Block<'_>>, String> {
    let mut found: Vec<Block<'_>> = Vec::new();
    for (start, _) in text.match_indices(BEGIN) {
        let rest = &text[start..];
        let Some((label, _)) = rest[BEGIN.len()..].split_once(DASHES) else {
            return Err("broken PEM: the first line has no end".to_owned());
        };
        if !label.ends_with("PRIVATE KEY") {
            continue;
        }
        let end = format!("-----END {label}-----");
        let Some(at) = rest.find(&end) else {
            return Err(format!("broken PEM: {label} without its last line"));
        };
        found.push(Block {
            start,
            pem: &rest[..at + end.len()],
            version: version_before(&text[..start])?,
        });
    }
    let are_numbered = found.iter().all(|block| block.version.is_some());
    if found.len() > 1 && !are_numbered {
        return Err(
            "more than one private key: give each its own file, or versions of one key a line \"# version: NUMBER\" each"
                .to_owned(),
        );
    }
    if found.len() > VERSIONS_MAX {
        return Err(format!(
            "more than {VERSIONS_MAX} versions: remove the oldest"
        ));
    }
    if !found.is_sorted_by(|one, next| one.version < next.version) {
        return Err("versions that do not ascend: put the newest last".to_owned());
    }
    Ok(found)
}

/// Returns the number in the last line of the text before a key, if that names a version.
fn version_before(text: &str) -> Result<Option<u32>, String> {
    let line = text.trim_end().rsplit('\n').next().unwrap_or_default();
    let Some(number) = line.trim().strip_prefix(VERSION) else {
        return Ok(None);
    };
    let number = number.trim().parse().ok().filter(|number| *number > 0);
    let number = number.ok_or("a line \"# version:\" without a number from 1 on")?;
    Ok(Some(number))
}

fn parse(pem: &str, passphrase: Option<&Secret>) -> Result<PrivateKey, String> {
    let is_encrypted = pem
        .strip_prefix(BEGIN)
        .is_some_and(|rest| rest.starts_with("ENCRYPTED PRIVATE KEY"));
    if !is_encrypted {
        return PrivateKey::from_bytes(pem.as_bytes()).map_err(|error| error.to_string());
    }
    let Some(passphrase) = passphrase else {
        return Err(
            "encrypted: give its [[key]] passphrase_file or passphrase_env, or decrypt it with openssl pkey"
                .to_owned(),
        );
    };
    let passphrase = passphrase.read()?;
    let broken = |error: &dyn fmt::Display| format!("broken PKCS#8: {error}");
    let (_, document) = SecretDocument::from_pem(pem).map_err(|error| broken(&error))?;
    let info = EncryptedPrivateKeyInfoRef::try_from(document.as_bytes())
        .map_err(|error| broken(&error))?;
    let decrypted = info.decrypt(passphrase.as_bytes()).map_err(|error| {
        format!(
            "cannot be decrypted: a wrong passphrase, or not PBES2 with AES and PBKDF2 or scrypt ({error})"
        )
    })?;
    PrivateKey::from_bytes(decrypted.as_bytes()).map_err(|error| error.to_string())
}

/// The metadata that identifies a version of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    pub(super) fn of_path(path: &Path) -> Option<Self> {
        Self::settled(&fs::metadata(path).ok()?)
    }

    /// Returns the stamp of this file under another name, which a rename has just given it; `None` if it is another file
    /// there, or was written since.
    pub(super) fn renamed(self, path: &Path) -> Option<Self> {
        let now = Self::of_path(path)?;
        let before = Self {
            changed: now.changed,
            ..self
        };
        (now == before).then_some(now)
    }

    /// Returns the stamp of a file that has not changed for a while. `None` for a younger one: file times advance in ticks
    /// of up to 10 ms, so another change could leave the same time.
    fn settled(metadata: &Metadata) -> Option<Self> {
        let written = metadata.modified().ok()?;
        let age = SystemTime::now().duration_since(written).ok()?;
        (age > YOUNG).then(|| Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}

const PROOF: &[u8] = b"oarlock: proof of a key";
const BEGIN: &str = "-----BEGIN ";
const DASHES: &str = "-----";
pub(super) const NO_KEY: &str = "neither a private key in PEM, to which openssl pkey converts others, nor an identity of age or a JSON Web Key";
/// The beginning of the line before a private key with a version.
pub(super) const VERSION: &str = "# version:";
/// The ends of the names of files with keys.
pub(super) const EXTENSIONS: [&str; 3] = ["pem", "key", "jwk"];
pub(super) const FILE_BYTES_MAX: usize = 1 << 18;
/// The mode bits that let users other than the owner and the group read or write.
const OTHERS: u32 = 0o006;
const YOUNG: Duration = Duration::from_secs(1);
