//! Operations under way in a session.

use std::sync::Arc;

use cryptoki_sys::*;
use oarlock::rsa::{EncryptionScheme, Hash};
use oarlock_engine::hash::{DIGEST_BYTES_MAX, Digest};
use zeroize::Zeroizing;

use crate::key::Key;
use crate::mechanisms::Signing;

/// A signature that is made or verified.
pub(crate) struct Signature {
    key: Arc<Key>,
    signing: Signing,
    data: Data,
    /// Whether the data comes in parts.
    is_in_parts: bool,
}

/// An encryption or decryption.
pub(crate) struct Encryption {
    key: Arc<Key>,
    scheme: EncryptionScheme,
    data: Zeroizing<Vec<u8>>,
    is_in_parts: bool,
    kept: Option<Kept>,
}

/// A message that did not fit where the program wanted it. The program asks again, perhaps for another ciphertext.
struct Kept {
    ciphertext: Vec<u8>,
    message: Zeroizing<Vec<u8>>,
}

/// A digest.
pub(crate) struct Hashing {
    hash: Hash,
    digest: Digest,
    is_in_parts: bool,
}

enum Data {
    Whole(Vec<u8>),
    Digest(Digest),
}

impl Signature {
    pub(crate) fn new(key: Arc<Key>, signing: Signing) -> Self {
        Self {
            data: match signing.hash() {
                Some(hash) => Data::Digest(Digest::new(hash)),
                None => Data::Whole(Vec::new()),
            },
            key,
            signing,
            is_in_parts: false,
        }
    }

    pub(crate) fn is_in_parts(&self) -> bool {
        self.is_in_parts
    }

    pub(crate) fn bytes(&self) -> usize {
        self.key.signature_bytes()
    }

    pub(crate) fn update(&mut self, part: &[u8]) -> Result<(), CK_RV> {
        self.is_in_parts = true;
        match &mut self.data {
            Data::Digest(digest) => digest.update(part),
            Data::Whole(data) => append(data, part)?,
        }
        Ok(())
    }

    /// Signs what came in parts, and `part`.
    pub(crate) fn sign(mut self, part: &[u8]) -> Result<Vec<u8>, CK_RV> {
        if let (Data::Whole(_), false) = (&self.data, self.is_in_parts) {
            return self.key.sign(&self.signing, part);
        }
        self.update(part)?;
        let (key, signing) = (&self.key, &self.signing);
        self.data.with(|data| key.sign(signing, data))
    }

    /// Verifies a signature of what came in parts, and `part`.
    pub(crate) fn verify(mut self, part: &[u8], signature: &[u8]) -> Result<(), CK_RV> {
        self.update(part)?;
        let (key, signing) = (&self.key, &self.signing);
        self.data.with(|data| key.verify(signing, data, signature))
    }
}

impl Data {
    fn with<T>(self, run: impl FnOnce(&[u8]) -> T) -> T {
        match self {
            Self::Whole(data) => run(&data),
            Self::Digest(digest) => {
                let mut output = [0; DIGEST_BYTES_MAX];
                let bytes = digest.finish(&mut output);
                run(&output[..bytes])
            }
        }
    }
}

impl Encryption {
    pub(crate) fn new(key: Arc<Key>, scheme: EncryptionScheme) -> Self {
        Self {
            key,
            scheme,
            data: Zeroizing::default(),
            is_in_parts: false,
            kept: None,
        }
    }

    pub(crate) fn is_in_parts(&self) -> bool {
        self.is_in_parts
    }

    /// Returns the length of ciphertexts, which messages do not exceed.
    pub(crate) fn bytes_max(&self) -> usize {
        self.key.modulus_bytes()
    }

    pub(crate) fn update(&mut self, part: &[u8]) -> Result<(), CK_RV> {
        self.is_in_parts = true;
        if self.data.len() + part.len() > self.bytes_max() {
            return Err(CKR_DATA_LEN_RANGE);
        }
        // Room for all that may come: what grows would leave copies behind.
        let left = self.bytes_max() - self.data.len();
        self.data.reserve_exact(left);
        self.data.extend_from_slice(part);
        Ok(())
    }

    pub(crate) fn encrypt(mut self, part: &[u8]) -> Result<Vec<u8>, CK_RV> {
        self.update(part)?;
        self.key.encrypt(&self.scheme, &self.data)
    }

    /// Returns the length of the message, or a bound of it before it is decrypted.
    pub(crate) fn message_bytes(&self, whole: &[u8]) -> usize {
        let ciphertext = self.ciphertext(whole);
        let kept = self
            .kept
            .as_ref()
            .filter(|kept| kept.ciphertext == ciphertext);
        kept.map_or(self.bytes_max(), |kept| kept.message.len())
    }

    /// Decrypts what came in parts, or else `whole`.
    pub(crate) fn decrypt(&mut self, whole: &[u8]) -> Result<Zeroizing<Vec<u8>>, CK_RV> {
        let kept = self.kept.take();
        let ciphertext = self.ciphertext(whole);
        match kept {
            Some(kept) if kept.ciphertext == ciphertext => Ok(kept.message),
            _ if ciphertext.len() > self.bytes_max() => Err(CKR_ENCRYPTED_DATA_LEN_RANGE),
            _ => self.key.decrypt(&self.scheme, ciphertext),
        }
    }

    /// Keeps a message, for a call that asks for the same ciphertext again.
    pub(crate) fn keep(&mut self, whole: &[u8], message: Zeroizing<Vec<u8>>) {
        let ciphertext = self.ciphertext(whole).to_vec();
        self.kept = Some(Kept {
            ciphertext,
            message,
        });
    }

    fn ciphertext<'a>(&'a self, whole: &'a [u8]) -> &'a [u8] {
        match self.is_in_parts {
            true => &self.data,
            false => whole,
        }
    }
}

impl Hashing {
    pub(crate) fn new(hash: Hash) -> Self {
        Self {
            hash,
            digest: Digest::new(hash),
            is_in_parts: false,
        }
    }

    pub(crate) fn is_in_parts(&self) -> bool {
        self.is_in_parts
    }

    pub(crate) fn bytes(&self) -> usize {
        self.hash.bytes()
    }

    pub(crate) fn update(&mut self, part: &[u8]) {
        self.is_in_parts = true;
        self.digest.update(part);
    }

    pub(crate) fn finish(mut self, part: &[u8]) -> Vec<u8> {
        self.digest.update(part);
        let mut output = [0; DIGEST_BYTES_MAX];
        let bytes = self.digest.finish(&mut output);
        output[..bytes].to_vec()
    }
}

fn append(data: &mut Vec<u8>, part: &[u8]) -> Result<(), CK_RV> {
    if part.len() > DATA_BYTES_MAX - data.len() {
        return Err(CKR_DATA_LEN_RANGE);
    }
    data.extend_from_slice(part);
    Ok(())
}

/// The most bytes that are kept of a message which comes in parts and is signed as a whole.
const DATA_BYTES_MAX: usize = 16 << 20;
