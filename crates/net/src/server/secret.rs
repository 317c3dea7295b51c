//! A secret key with its versions: HMAC, or AES-256-GCM with a key of its own for each message.
//!
//! Ciphertexts are those of XAES-256-GCM (c2sp.org/XAES-256-GCM): the key of a message is derived from the secret key and
//! the first half of a random nonce of 24 bytes, so no number of messages in reach makes nonces collide.
//!
//! ```text
//! version of the key   4 bytes, big-endian
//! nonce               24 bytes
//! ciphertext           as long as the plaintext
//! tag                 16 bytes
//! ```

use std::fmt;
use std::sync::Arc;

use aes::Aes256Enc;
use aes::cipher::{BlockCipherEncrypt as _, KeyInit as _};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use oarlock::{Accelerator, Algorithm, Error};
use oarlock_engine::aead::{KeyedAead, TAG_BYTES};
use oarlock_engine::hash::{DIGEST_BYTES_MAX, Hash, Hmac, is_same};
use oarlock_engine::plan::Engine;
use serde::Deserialize;
use zeroize::Zeroizing;

/// A secret key with its versions, of which at least one exists.
pub struct SecretKey {
    algorithm: SecretAlgorithm,
    /// The versions, the newest last.
    versions: Vec<(u32, Version)>,
}

/// What a secret key is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretAlgorithm {
    /// HMAC with this hash function.
    Hmac(Hash),
    /// XAES-256-GCM.
    Aead,
}

enum Version {
    Hmac(Zeroizing<Vec<u8>>),
    Aead(Box<MessageKeys>),
}

/// Derives the keys of messages (c2sp.org/XAES-256-GCM).
struct MessageKeys {
    /// The key, which is compared when it is read again.
    key: Zeroizing<[u8; KEY_BYTES]>,
    cipher: Aes256Enc,
    /// K1 of CMAC (NIST SP 800-38B).
    mask: Zeroizing<[u8; BLOCK_BYTES]>,
    engine: Arc<Engine>,
}

/// Why a ciphertext does not open or a MAC does not verify.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// It is shorter than any.
    Short,
    /// The key has no such version.
    Version,
    /// It is not authentic.
    Bytes,
    /// The machine failed.
    Machine,
}

impl SecretAlgorithm {
    /// Its name, as `alg` of JSON Web Keys (RFC 7518).
    pub fn name(self) -> &'static str {
        match self {
            Self::Hmac(Hash::Sha256) => "HS256",
            Self::Hmac(Hash::Sha384) => "HS384",
            Self::Hmac(_) => "HS512",
            Self::Aead => "A256GCM",
        }
    }

    fn of_name(name: &str) -> Option<Self> {
        let all = [Hash::Sha256, Hash::Sha384, Hash::Sha512].map(Self::Hmac);
        let mut all = all.into_iter().chain([Self::Aead]);
        all.find(|one| one.name() == name)
    }

    /// Returns the bytes that a new key has: those of the digest, or of the cipher's key.
    pub(super) fn new_key_bytes(self) -> usize {
        self.key_bytes().0
    }

    /// Returns the fewest and the most bytes of a key.
    fn key_bytes(self) -> (usize, usize) {
        match self {
            // RFC 7518, 3.2; a longer key than a block would be hashed.
            Self::Hmac(Hash::Sha256) => (32, 64),
            Self::Hmac(Hash::Sha384) => (48, 128),
            Self::Hmac(_) => (64, 128),
            Self::Aead => (KEY_BYTES, KEY_BYTES),
        }
    }
}

/// A JSON Web Key (RFC 7517). Its secret stays in the text, which is wiped.
#[derive(Deserialize)]
struct Jwk<'a> {
    #[serde(borrow)]
    kty: &'a str,
    #[serde(borrow)]
    alg: Option<&'a str>,
    #[serde(borrow)]
    kid: Option<&'a str>,
    #[serde(borrow)]
    k: Option<&'a str>,
}

#[derive(Deserialize)]
struct JwkSet<'a> {
    #[serde(borrow)]
    keys: Vec<Jwk<'a>>,
}

impl SecretKey {
    /// Reads a JSON Web Key or a set of them, which are versions of one key.
    ///
    /// # Errors
    /// The reason why it cannot be used, without anything of the key.
    pub(super) fn of_text(text: &str) -> Result<Self, String> {
        // Messages of the parser could have a part of the key.
        let broken = |error: serde_json::Error| {
            let (line, column) = (error.line(), error.column());
            format!(
                "not a JSON Web Key of the type oct, or a set of them: line {line}, column {column}"
            )
        };
        let keys = match serde_json::from_str::<JwkSet<'_>>(text) {
            Ok(set) => set.keys,
            Err(_) => vec![serde_json::from_str::<Jwk<'_>>(text).map_err(broken)?],
        };
        if keys.is_empty() || keys.len() > VERSIONS_MAX {
            return Err(format!(
                "{} JSON Web Keys: a key has 1 to {VERSIONS_MAX} versions",
                keys.len()
            ));
        }
        let engine = engine()?;
        let mut algorithm = None;
        let mut versions: Vec<(u32, Version)> = Vec::new();
        let is_alone = keys.len() == 1;
        for key in keys {
            let number = match key.kid {
                None if is_alone => 1,
                Some(kid) => kid
                    .parse()
                    .ok()
                    .filter(|number| *number > 0)
                    .ok_or_else(|| {
                        format!(
                            "kid {:?}: give the number of the version, from 1 on",
                            short(kid)
                        )
                    })?,
                None => return Err("a version without kid: give its number, from 1 on".to_owned()),
            };
            if versions.iter().any(|(other, _)| *other == number) {
                return Err(format!("version {number} stands twice"));
            }
            let own = key.algorithm()?;
            if algorithm.replace(own).is_some_and(|before| before != own) {
                return Err("versions with different alg: give each key its own file".to_owned());
            }
            versions.push((number, key.version(own, &engine)?));
        }
        let algorithm = algorithm.ok_or_else(|| "no version".to_owned())?;
        Ok(Self {
            algorithm,
            versions,
        })
    }

    /// Returns what it is for.
    pub fn algorithm(&self) -> SecretAlgorithm {
        self.algorithm
    }

    /// Returns the number of the newest version.
    pub fn version(&self) -> u32 {
        self.versions.last().map_or(0, |(number, _)| *number)
    }

    /// Returns how many versions it has.
    pub(super) fn versions_count(&self) -> usize {
        self.versions.len()
    }

    /// Returns the text of a file with all versions of this key, and a new one behind them, which has the highest number.
    pub(super) fn text_with(&self, bytes: &[u8]) -> Zeroizing<String> {
        let newest = self.versions.iter().map(|(number, _)| *number).max();
        let own = self.versions.iter();
        let own = own.map(|(number, version)| (*number, version.bytes()));
        let number = newest.unwrap_or(0).saturating_add(1);
        text_of(self.algorithm, own.chain([(number, bytes)]))
    }

    /// Whether both have the same versions.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.algorithm == other.algorithm
            && self.versions.len() == other.versions.len()
            && self
                .versions
                .iter()
                .zip(&other.versions)
                .all(|(one, other)| one.0 == other.0 && is_same(one.1.bytes(), other.1.bytes()))
    }

    /// Returns the MAC of a message by the newest version.
    pub(super) fn mac(&self, message: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        self.mac_by(self.versions.last()?, message)
    }

    /// Checks the MAC of a message by a version; 0 is the newest. Returns the version.
    pub(super) fn verify(&self, message: &[u8], mac: &[u8], version: u32) -> Result<u32, Wrong> {
        let version = match version {
            0 => self.versions.last(),
            number => self.versions.iter().find(|(own, _)| *own == number),
        };
        let version = version.ok_or(Wrong::Version)?;
        let expected = self.mac_by(version, message).ok_or(Wrong::Machine)?;
        match is_same(&expected, mac) {
            true => Ok(version.0),
            false => Err(Wrong::Bytes),
        }
    }

    fn mac_by(&self, (_, version): &(u32, Version), message: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let (SecretAlgorithm::Hmac(hash), Version::Hmac(key)) = (self.algorithm, version) else {
            return None;
        };
        let mut hmac = Hmac::new(hash, key)?;
        hmac.update(message);
        let mut mac = Zeroizing::new([0; DIGEST_BYTES_MAX]);
        let bytes = hmac.finish(&mut mac);
        Some(Zeroizing::new(mac[..bytes].to_vec()))
    }

    /// Seals a plaintext by the newest version with a nonce that was never used.
    pub(super) fn seal(
        &self,
        nonce: &[u8; NONCE_BYTES],
        plaintext: &[u8],
        associated: &[u8],
    ) -> Option<Zeroizing<Vec<u8>>> {
        let (number, Version::Aead(keys)) = self.versions.last()? else {
            return None;
        };
        let mut sealed = Zeroizing::new(Vec::with_capacity(plaintext.len() + OVERHEAD_BYTES));
        sealed.extend(number.to_be_bytes());
        sealed.extend(nonce);
        sealed.extend(plaintext);
        let (key, rest) = keys.of_message(nonce).ok()?;
        let tag = key
            .seal(rest, associated, (&mut sealed[HEAD_BYTES..]).into())
            .ok()?;
        sealed.extend(tag);
        Some(sealed)
    }

    /// Opens a ciphertext. Returns the version that sealed it with the plaintext.
    pub(super) fn open(
        &self,
        sealed: &[u8],
        associated: &[u8],
    ) -> Result<(u32, Zeroizing<Vec<u8>>), Wrong> {
        let (number, rest) = sealed.split_first_chunk().ok_or(Wrong::Short)?;
        let (nonce, rest) = rest.split_first_chunk().ok_or(Wrong::Short)?;
        let (data, tag) = rest.split_last_chunk().ok_or(Wrong::Short)?;
        let number = u32::from_be_bytes(*number);
        let version = self.versions.iter().find(|(own, _)| *own == number);
        let Some((_, Version::Aead(keys))) = version else {
            return Err(Wrong::Version);
        };
        let (key, rest) = keys.of_message(nonce).map_err(|_| Wrong::Machine)?;
        let mut data = Zeroizing::new(data.to_vec());
        match key.open(rest, associated, (&mut data[..]).into(), tag) {
            Ok(()) => Ok((number, data)),
            Err(Error::AuthenticationFailed) => Err(Wrong::Bytes),
            Err(_) => Err(Wrong::Machine),
        }
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretKey")
            .field("algorithm", &self.algorithm)
            .field("version", &self.version())
            .finish_non_exhaustive()
    }
}

impl Version {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Hmac(key) => key,
            Self::Aead(keys) => &keys.key[..],
        }
    }
}

impl MessageKeys {
    fn new(key: Zeroizing<[u8; KEY_BYTES]>, engine: &Arc<Engine>) -> Self {
        let cipher = Aes256Enc::new((&*key).into());
        let mut mask = Zeroizing::new([0; BLOCK_BYTES]);
        cipher.encrypt_block((&mut *mask).into());
        double(&mut mask);
        let engine = Arc::clone(engine);
        Self {
            key,
            cipher,
            mask,
            engine,
        }
    }

    /// Returns the key of a message, and the rest of its nonce.
    fn of_message<'a>(&self, nonce: &'a [u8; NONCE_BYTES]) -> Result<(KeyedAead, &'a [u8]), Error> {
        let (first, rest) = nonce.split_at(BLOCK_BYTES - LABEL_BYTES);
        let mut key = Zeroizing::new([0; KEY_BYTES]);
        for (counter, block) in (1..).zip(key.as_chunks_mut::<BLOCK_BYTES>().0) {
            block[..LABEL_BYTES].copy_from_slice(&[0, counter, b'X', 0]);
            block[LABEL_BYTES..].copy_from_slice(first);
            for (byte, mask) in block.iter_mut().zip(&*self.mask) {
                *byte ^= mask;
            }
            self.cipher.encrypt_block(block.into());
        }
        let key = KeyedAead::open_session(&self.engine, Algorithm::Aes256Gcm, &key[..])?;
        Ok((key, rest))
    }
}

/// Doubles in the field of CMAC (NIST SP 800-38B, 6.1), without a branch on the bits.
fn double(block: &mut [u8; BLOCK_BYTES]) {
    let value = u128::from_be_bytes(*block);
    let carry = 0u128.wrapping_sub(value >> 127);
    *block = ((value << 1) ^ (carry & 0x87)).to_be_bytes();
}

impl Jwk<'_> {
    fn algorithm(&self) -> Result<SecretAlgorithm, String> {
        if self.kty != "oct" {
            return Err(format!(
                "kty {:?}: only secret keys, oct, are read from JSON",
                short(self.kty)
            ));
        }
        let known = "HS256, HS384, HS512 or A256GCM";
        match self.alg {
            None => Err(format!("no alg: give {known}")),
            Some(name) => SecretAlgorithm::of_name(name)
                .ok_or_else(|| format!("alg {:?}: give {known}", short(name))),
        }
    }

    fn version(&self, algorithm: SecretAlgorithm, engine: &Arc<Engine>) -> Result<Version, String> {
        let text = self.k.ok_or_else(|| "no k, the key itself".to_owned())?;
        // All its bytes at once: a buffer that grows would leave copies behind.
        let mut bytes = Zeroizing::new(vec![0; text.len()]);
        let length = BASE64_URL_SAFE_NO_PAD.decode_slice(text, &mut bytes);
        let length = length.map_err(|_| "k is not Base64url without padding".to_owned())?;
        bytes.truncate(length);
        let (least, most) = algorithm.key_bytes();
        if !(least..=most).contains(&length) {
            let name = algorithm.name();
            let takes = match least == most {
                true => least.to_string(),
                false => format!("{least} to {most}"),
            };
            return Err(format!("a key of {length} bytes: {name} takes {takes}"));
        }
        match algorithm {
            SecretAlgorithm::Hmac(_) => Ok(Version::Hmac(bytes)),
            SecretAlgorithm::Aead => {
                let mut key = Zeroizing::new([0; KEY_BYTES]);
                key.copy_from_slice(&bytes);
                Ok(Version::Aead(Box::new(MessageKeys::new(key, engine))))
            }
        }
    }
}

/// Returns the text of a file with these versions of a key, the newest last.
pub(super) fn text_of<'a>(
    algorithm: SecretAlgorithm,
    versions: impl Iterator<Item = (u32, &'a [u8])>,
) -> Zeroizing<String> {
    // All its bytes at once: a buffer that grows would leave copies behind.
    let mut text = Zeroizing::new(String::with_capacity(VERSIONS_MAX * VERSION_BYTES_MAX));
    let name = algorithm.name();
    let mut before = "{\"keys\": [\n";
    for (number, bytes) in versions {
        text.push_str(before);
        text.push_str(&format!(
            "{{\"kty\": \"oct\", \"alg\": \"{name}\", \"kid\": \"{number}\", \"k\": \""
        ));
        let mut encoded = Zeroizing::new(vec![0; 4 * bytes.len().div_ceil(3)]);
        // It has room for all of them, and is ASCII.
        let length = BASE64_URL_SAFE_NO_PAD.encode_slice(bytes, &mut encoded);
        text.push_str(str::from_utf8(&encoded[..length.unwrap_or(0)]).unwrap_or_default());
        text.push_str("\"}");
        before = ",\n";
    }
    text.push_str("\n]}\n");
    text
}

fn engine() -> Result<Arc<Engine>, String> {
    let accelerator = Accelerator::builder()
        .build()
        .map_err(|error| error.to_string())?;
    Ok(Arc::clone(accelerator.as_ref()))
}

/// Returns the beginning of a text for a message.
fn short(text: &str) -> &str {
    &text[..text.floor_char_boundary(16)]
}

const KEY_BYTES: usize = 32;
const BLOCK_BYTES: usize = 16;
const LABEL_BYTES: usize = 4;
/// The bytes of a nonce.
pub const NONCE_BYTES: usize = 24;
const HEAD_BYTES: usize = 4 + NONCE_BYTES;
/// The bytes of a ciphertext beyond those of its plaintext.
pub const OVERHEAD_BYTES: usize = HEAD_BYTES + TAG_BYTES;
/// The most bytes of a version in the text of a file.
const VERSION_BYTES_MAX: usize = 256;
/// The most versions of a key.
const VERSIONS_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::super::items::{Piece, of_secret};
    use super::super::key::Key;
    use super::*;
    use crate::proto;

    fn hex(text: &str) -> Vec<u8> {
        let pairs = text.as_bytes().chunks(2);
        let digits = pairs.map(|pair| str::from_utf8(pair).unwrap());
        digits
            .map(|pair| u8::from_str_radix(pair, 16).unwrap())
            .collect()
    }

    fn jwk(rest: &str, key: &[u8]) -> String {
        let key = BASE64_URL_SAFE_NO_PAD.encode(key);
        format!("{{\"kty\":\"oct\",{rest}\"k\":\"{key}\"}}")
    }

    /// The vectors of c2sp.org/XAES-256-GCM.
    #[test]
    fn the_published_vectors_come_out() {
        for (byte, associated, expected) in [
            (
                1,
                "",
                "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271",
            ),
            (
                3,
                "c2sp.org/XAES-256-GCM",
                "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d",
            ),
        ] {
            let key = SecretKey::of_text(&jwk("\"alg\":\"A256GCM\",", &[byte; 32])).unwrap();
            let nonce = b"ABCDEFGHIJKLMNOPQRSTUVWX";
            let sealed = key
                .seal(nonce, b"XAES-256-GCM", associated.as_bytes())
                .unwrap();
            let whole = [&1_u32.to_be_bytes()[..], nonce, &hex(expected)].concat();
            assert_eq!(*sealed, whole);
            let opened = key.open(&sealed, associated.as_bytes()).unwrap();
            assert_eq!((opened.0, &opened.1[..]), (1, &b"XAES-256-GCM"[..]));
        }
    }

    /// A machine that fails says nothing about an item, so no item is blamed for it.
    #[test]
    fn a_machine_that_fails_fails_the_part() {
        let mut hmac = SecretKey::of_text(&jwk("\"alg\":\"HS256\",", &[7; 32])).unwrap();
        let mut aead = SecretKey::of_text(&jwk("\"alg\":\"A256GCM\",", &[7; 32])).unwrap();
        // As keys whose set-up fails.
        std::mem::swap(&mut hmac.versions, &mut aead.versions);
        let [hmac, aead] = [hmac, aead].map(|key| Key::Secret(Arc::new(key)));
        let parts = [
            of_secret(
                &mut proto::Mac {
                    key_id: String::new(),
                    messages: vec![vec![1]],
                },
                &hmac,
            ),
            of_secret(
                &mut proto::VerifyMac {
                    key_id: String::new(),
                    macs: vec![proto::MacOf::default()],
                },
                &hmac,
            ),
            of_secret(
                &mut proto::Seal {
                    key_id: String::new(),
                    plaintexts: vec![proto::Plaintext::default()],
                },
                &aead,
            ),
        ];
        for batch in parts {
            let pieces = batch.unwrap().into_pieces();
            let [Piece::Part(part)] = &pieces[..] else {
                panic!("{pieces:?}");
            };
            let failed = part.compute("cpu").unwrap_err();
            assert!(matches!(failed, Error::DeviceFailed { device, .. } if device == "cpu"));
        }
    }

    #[test]
    fn what_is_no_key_is_refused_without_a_word_of_it() {
        let alg = "\"alg\":\"A256GCM\",";
        let good = [7; 32];
        let secret = BASE64_URL_SAFE_NO_PAD.encode(good);
        let one = jwk(alg, &good);
        let numbered = |kid: &str| jwk(&format!("{alg}\"kid\":{kid},"), &good);
        let set = |keys: &[String]| format!("{{\"keys\":[{}]}}", keys.join(","));
        let other = jwk("\"alg\":\"HS256\",\"kid\":\"2\",", &good);
        let escaped = one.replace(&secret, &format!("\\u0041{}", &secret[1..]));
        let cases = [
            ("{".to_owned(), "line 1, column 1"),
            ("{}".to_owned(), "not a JSON Web Key"),
            (one.replace("oct", "EC"), "kty \"EC\""),
            (one.replace("A256GCM", "A128GCM"), "alg \"A128GCM\""),
            (one.replace(alg, ""), "no alg"),
            (one.replace("\"k\"", "\"x\""), "no k"),
            (one.replace(&secret, &format!("{secret}=")), "not Base64url"),
            (escaped, "not a JSON Web Key"),
            (jwk(alg, &good[1..]), "a key of 31 bytes: A256GCM takes 32"),
            (
                jwk("\"alg\":\"HS256\",", &good[1..]),
                "HS256 takes 32 to 64",
            ),
            (
                jwk("\"alg\":\"HS512\",", &[7; 129]),
                "HS512 takes 64 to 128",
            ),
            (numbered("\"0\""), "kid \"0\""),
            (numbered("\"-1\""), "kid \"-1\""),
            (numbered("\"4294967296\""), "kid \"4294967296\""),
            (
                numbered("\"a long name of a key\""),
                "kid \"a long name of a\"",
            ),
            (set(&[]), "0 JSON Web Keys"),
            (set(&[one.clone(), one.clone()]), "without kid"),
            (
                set(&[numbered("\"2\""), numbered("\"2\"")]),
                "version 2 stands twice",
            ),
            (set(&[numbered("\"1\""), other]), "different alg"),
            (set(&vec![numbered("\"1\""); 65]), "65 JSON Web Keys"),
        ];
        for (text, expected) in cases {
            let said = SecretKey::of_text(&text).unwrap_err();
            assert!(said.contains(expected), "{text}: {said}");
            assert!(!said.contains(&secret[..8]), "{said}");
        }
        let key = SecretKey::of_text(&set(&[numbered("\"2\""), numbered("\"7\"")])).unwrap();
        assert_eq!(key.version(), 7);
        assert_eq!(
            format!("{key:?}"),
            "SecretKey { algorithm: Aead, version: 7, .. }"
        );
        // Versions 2 and 7 have the same bytes here, and the same number opens.
        let sealed = key.seal(&[0; NONCE_BYTES], b"text", b"").unwrap();
        assert_eq!(key.open(&sealed, b"").unwrap().0, 7);
    }
}
