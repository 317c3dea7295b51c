//! A key of the server: a private key, an identity of age or a secret key, the last two with their older versions.

use std::sync::Arc;

use oarlock::keys::{PrivateKey, PublicKey};
use oarlock::rsa::{Hash, RsaPrivateKey};
use oarlock_engine::hash::{DIGEST_BYTES_MAX, Digest};
use oarlock_recipients::NativeIdentity;

use super::secret::SecretKey;

/// A key of the server. Clones share it.
#[derive(Clone, Debug)]
pub enum Key {
    /// A private key, which signs; one of RSA decrypts too.
    Private(Versions),
    /// Identities of age, which unwrap file keys.
    Identities(Arc<Identities>),
    /// A secret key, for MACs or ciphertexts.
    Secret(Arc<SecretKey>),
}

impl Key {
    /// Reads a key that is not in PEM; `None` if the text is of no kind known here.
    ///
    /// # Errors
    /// The reason why such a key cannot be used.
    pub(super) fn of_text(text: &str) -> Result<Option<Self>, String> {
        if text.trim_start().starts_with('{') {
            return Ok(Some(Self::Secret(Arc::new(SecretKey::of_text(text)?))));
        }
        let mut lines = meaningful(text);
        let is_identity = lines.any(|(_, line)| line.starts_with(NativeIdentity::PREFIX));
        if !is_identity {
            return Ok(None);
        }
        let identities = Identities::of_text(text)?;
        Ok(Some(Self::Identities(Arc::new(identities))))
    }

    /// Returns the newest version, if it is a private key.
    pub fn as_private(&self) -> Option<&PrivateKey> {
        self.as_versions().map(|versions| &versions.newest)
    }

    /// Returns all versions, if it is a private key.
    pub fn as_versions(&self) -> Option<&Versions> {
        match self {
            Self::Private(versions) => Some(versions),
            Self::Identities(_) | Self::Secret(_) => None,
        }
    }

    /// Returns the number of the newest version; 0 for a private key whose file gives none.
    pub fn version(&self) -> u32 {
        match self {
            Self::Private(versions) => versions.number,
            Self::Identities(identities) => identities.version(),
            Self::Secret(key) => key.version(),
        }
    }

    /// Returns how many versions it has.
    pub(super) fn versions_count(&self) -> usize {
        match self {
            Self::Private(versions) => 1 + versions.older.len(),
            Self::Identities(identities) => identities.all.len(),
            Self::Secret(key) => key.versions_count(),
        }
    }

    /// Returns the newest version, if it is an RSA key.
    pub fn as_rsa(&self) -> Option<&RsaPrivateKey> {
        self.as_private()?.as_rsa()
    }

    /// Returns the public half that has a SubjectPublicKeyInfo.
    pub fn public_key(&self) -> Option<&PublicKey> {
        Some(self.as_private()?.public_key())
    }

    /// Returns the name of its type for messages.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Private(versions) => versions.newest.key_type().name(),
            Self::Identities(_) => "age",
            Self::Secret(key) => key.algorithm().name(),
        }
    }

    /// Whether both are the same key, by their public halves.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Private(one), Self::Private(other)) => one.is_same(other),
            (Self::Identities(one), Self::Identities(other)) => one.recipients == other.recipients,
            (Self::Secret(one), Self::Secret(other)) => one.is_same(other),
            _ => false,
        }
    }
}

impl From<PrivateKey> for Key {
    fn from(key: PrivateKey) -> Self {
        Self::Private(Versions::of(key, 0, Vec::new()))
    }
}

/// The versions of a private key. The newest signs; older ones of RSA still decrypt and unwrap. Clones share them.
#[derive(Clone, Debug)]
pub struct Versions {
    newest: PrivateKey,
    number: u32,
    /// The others with their numbers, the oldest first.
    older: Arc<[(u32, PrivateKey)]>,
    /// The SHA-256 digest of the SubjectPublicKeyInfo of each version, in their order.
    digests: Arc<[[u8; 32]]>,
}

impl Versions {
    /// Creates a key from versions with their numbers, the newest last; `None` without any.
    pub(super) fn new(mut versions: Vec<(u32, PrivateKey)>) -> Option<Self> {
        let (number, newest) = versions.pop()?;
        Some(Self::of(newest, number, versions))
    }

    fn of(newest: PrivateKey, number: u32, older: Vec<(u32, PrivateKey)>) -> Self {
        let all = older.iter().map(|(_, key)| key).chain([&newest]);
        Self {
            digests: all.map(digest).collect(),
            newest,
            number,
            older: older.into(),
        }
    }

    /// Returns the newest version.
    pub fn newest(&self) -> &PrivateKey {
        &self.newest
    }

    /// Returns the older versions with their numbers, the oldest first.
    pub fn older(&self) -> &[(u32, PrivateKey)] {
        &self.older
    }

    /// Returns a version; 0 is the newest.
    pub(super) fn get(&self, number: u32) -> Option<&PrivateKey> {
        if number == 0 || number == self.number.max(1) {
            return Some(&self.newest);
        }
        let mut older = self.older.iter();
        older.find(|(own, _)| *own == number).map(|(_, key)| key)
    }

    /// Whether the newest version has a public half with this digest.
    pub(super) fn is_newest(&self, digest: &[u8]) -> bool {
        self.digests.last().is_some_and(|newest| newest == digest)
    }

    /// Returns the version whose public half has this digest.
    pub(super) fn of_public(&self, digest: &[u8]) -> Option<&PrivateKey> {
        let place = self.digests.iter().rposition(|known| known == digest)?;
        Some(self.older.get(place).map_or(&self.newest, |(_, key)| key))
    }

    /// Whether both have the same public halves and numbers.
    fn is_same(&self, other: &Self) -> bool {
        let all = |versions: &Self| {
            let older = versions.older.iter().cloned();
            let newest = (versions.number, versions.newest.clone());
            older.chain([newest]).collect::<Vec<_>>()
        };
        let (own, other) = (all(self), all(other));
        own.len() == other.len()
            && own
                .iter()
                .zip(&other)
                .all(|(one, other)| one.0 == other.0 && one.1.public_key() == other.1.public_key())
    }
}

fn digest(key: &PrivateKey) -> [u8; 32] {
    let mut hashing = Digest::new(Hash::Sha256);
    hashing.update(&key.public_key().to_spki_der().unwrap_or_default());
    let mut output = [0; DIGEST_BYTES_MAX];
    hashing.finish(&mut output);
    *output.first_chunk().unwrap_or(&[0; 32])
}

/// The versions of an identity of age, in the order of their file. Files are encrypted to the last one.
#[derive(Debug)]
pub struct Identities {
    all: Vec<NativeIdentity>,
    recipients: Vec<String>,
}

impl Identities {
    fn of_text(text: &str) -> Result<Self, String> {
        let mut all = Vec::new();
        for (number, line) in meaningful(text) {
            if all.len() == VERSIONS_MAX {
                return Err(format!(
                    "more than {VERSIONS_MAX} identities: remove the oldest, which no file needs any more"
                ));
            }
            let identity: NativeIdentity = line
                .parse()
                .map_err(|what| format!("line {number}: {what}"))?;
            all.push(identity);
        }
        let recipients = all.iter().map(NativeIdentity::to_recipient).collect();
        Ok(Self { all, recipients })
    }

    /// Returns the newest version.
    pub(super) fn newest(&self) -> Option<&NativeIdentity> {
        self.all.last()
    }

    /// Returns the recipient of the newest version.
    pub fn recipient(&self) -> &str {
        self.recipients.last().map_or("", String::as_str)
    }

    /// Returns the number of the newest version. The oldest is 1.
    pub fn version(&self) -> u32 {
        // At most VERSIONS_MAX.
        self.all.len() as u32
    }

    /// Returns the versions that open stanzas with this tag, with their numbers, the newest first.
    pub(super) fn of_tag<'a>(
        &'a self,
        tag: &'a str,
    ) -> impl Iterator<Item = (u32, &'a NativeIdentity)> {
        let newest_first = (1..=self.version()).rev().zip(self.all.iter().rev());
        newest_first.filter(move |(_, identity)| identity.stanza_tag() == tag)
    }
}

/// Returns the lines that are neither empty nor comments, with their numbers.
fn meaningful(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate();
    let lines = lines.map(|(number, line)| (number + 1, line.trim()));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// The most versions of a key.
pub(super) const VERSIONS_MAX: usize = 64;
