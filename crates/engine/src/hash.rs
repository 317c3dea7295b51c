//! Hash functions and HMAC (FIPS 180-4, RFC 2104), selected at run time. For the short messages of key derivation,
//! RustCrypto's are faster than aws-lc's, whose contexts are four times as large. For SHA-2, aws-lc compresses the blocks
//! (`aws_lc/sha2.rs`).

use std::sync::OnceLock;

use hmac::digest::{FixedOutputReset, Reset};
use hmac::{EagerHash, Mac};
use sha1::Sha1;
use sha2::Digest as _;
use subtle::ConstantTimeEq as _;
use zeroize::Zeroize as _;

use crate::aws_lc::sha2::{Sha224, Sha256, Sha384, Sha512, Sha512_224, Sha512_256};
pub use crate::work::rsa::padding::Hash;

/// The longest digest in bytes, which is SHA-512's.
pub const DIGEST_BYTES_MAX: usize = 64;

macro_rules! digests {
    ($($hash:ident)+) => {
        #[derive(Clone)]
        enum AnyDigest {
            $($hash($hash),)+
        }

        impl Digest {
            /// Starts a message.
            pub fn new(hash: Hash) -> Self {
                Self(match hash {
                    $(Hash::$hash => AnyDigest::$hash($hash::new()),)+
                })
            }

            /// Appends data to the message.
            pub fn update(&mut self, data: &[u8]) {
                match &mut self.0 {
                    $(AnyDigest::$hash(digest) => digest.update(data),)+
                }
            }

            /// Writes the digest to the beginning of `output` and returns its length in bytes.
            pub fn finish(self, output: &mut [u8; DIGEST_BYTES_MAX]) -> usize {
                match self.0 {
                    $(AnyDigest::$hash(digest) => put(&digest.finalize(), output),)+
                }
            }
        }
    };
}

macro_rules! hmacs {
    ($($hash:ident)+) => {
        impl Hmac {
            /// Sets a key and starts a message. Returns `None` for a key longer than a block of the hash function.
            pub fn new(hash: Hash, key: &[u8]) -> Option<Self> {
                Some(Self(match hash {
                    $(Hash::$hash => {
                        const BYTES: usize = Hash::$hash.block_bytes();
                        Box::new(KeyedBy::<$hash, BYTES>::new(hash, key)?)
                    })+
                }))
            }
        }
    };
}

/// A hash of a message in progress.
#[derive(Clone)]
pub struct Digest(AnyDigest);

/// An HMAC key with a message in progress. Further messages need no new key setup. Wiped on drop.
pub struct Hmac(Box<dyn Keyed>);

digests! { Sha1 Sha224 Sha256 Sha384 Sha512 Sha512_224 Sha512_256 }
hmacs! { Sha1 Sha224 Sha256 Sha384 Sha512 Sha512_224 Sha512_256 }

impl Hmac {
    /// Returns the hash function.
    pub fn hash(&self) -> Hash {
        self.0.hash()
    }

    /// Whether this is the HMAC of this hash function and key. The keys are compared in constant time.
    pub fn has(&self, hash: Hash, key: &[u8]) -> bool {
        self.hash() == hash && is_same(self.key(), key)
    }

    /// Returns the key that was set.
    pub fn key(&self) -> &[u8] {
        self.0.key()
    }

    /// Appends data to the message.
    pub fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    /// Writes the tag to the beginning of `output`, returns its length in bytes, and starts the next message.
    pub fn finish(&mut self, output: &mut [u8; DIGEST_BYTES_MAX]) -> usize {
        self.0.finish(output)
    }

    /// Discards the message and starts the next one.
    pub fn restart(&mut self) {
        self.0.restart();
    }

    /// Returns a copy in the same state.
    pub fn copy(&self) -> Self {
        Self(self.0.copy())
    }
}

/// An HMAC key of one hash function. Boxing it takes only the memory of its own states: TLS keeps several for each
/// connection.
trait Keyed: Send + Sync {
    fn hash(&self) -> Hash;
    fn key(&self) -> &[u8];
    fn update(&mut self, data: &[u8]);
    fn finish(&mut self, output: &mut [u8; DIGEST_BYTES_MAX]) -> usize;
    fn restart(&mut self);
    fn copy(&self) -> Box<dyn Keyed>;
}

/// A key and its states for a hash function with blocks of `BYTES` bytes.
#[derive(Clone)]
struct KeyedBy<D: EagerHash, const BYTES: usize> {
    /// The keyed state, set up when first needed: a long message may be computed elsewhere. Several threads may copy it at once.
    hmac: OnceLock<hmac::HmacReset<D>>,
    key: [u8; BYTES],
    key_bytes: u8,
    hash: Hash,
}

impl<D: EagerHash, const BYTES: usize> KeyedBy<D, BYTES> {
    fn new(hash: Hash, key: &[u8]) -> Option<Self> {
        let mut octets = [0; BYTES];
        octets.get_mut(..key.len())?.copy_from_slice(key);
        Some(Self {
            hmac: OnceLock::new(),
            key: octets,
            // No hash function has blocks of more than 128 bytes.
            key_bytes: key.len() as u8,
            hash,
        })
    }

    fn set_up(&self)
    where
        hmac::HmacReset<D>: hmac::KeyInit,
    {
        if self.hmac.get().is_none() {
            // `get_or_init` would make other threads wait, and a process forked at that time would wait forever.
            let _ = self
                .hmac
                .set(keyed(&self.key[..usize::from(self.key_bytes)]));
        }
    }
}

impl<D, const BYTES: usize> Keyed for KeyedBy<D, BYTES>
where
    D: EagerHash + 'static,
    hmac::HmacReset<D>: Mac + hmac::KeyInit + FixedOutputReset + Reset + Clone + Send + Sync,
{
    fn hash(&self) -> Hash {
        self.hash
    }

    fn key(&self) -> &[u8] {
        &self.key[..usize::from(self.key_bytes)]
    }

    fn update(&mut self, data: &[u8]) {
        self.set_up();
        if let Some(hmac) = self.hmac.get_mut() {
            Mac::update(hmac, data);
        }
    }

    fn finish(&mut self, output: &mut [u8; DIGEST_BYTES_MAX]) -> usize {
        let output = &mut output[..self.hash.bytes()];
        self.set_up();
        if let (Some(hmac), Ok(output)) = (self.hmac.get_mut(), (&mut *output).try_into()) {
            hmac.finalize_into_reset(output);
        }
        output.len()
    }

    fn restart(&mut self) {
        if let Some(hmac) = self.hmac.get_mut() {
            Reset::reset(hmac);
        }
    }

    /// Sets up the key first, so that the copies need not.
    fn copy(&self) -> Box<dyn Keyed> {
        self.set_up();
        Box::new(self.clone())
    }
}

impl<D: EagerHash, const BYTES: usize> Drop for KeyedBy<D, BYTES> {
    fn drop(&mut self) {
        self.key[..usize::from(self.key_bytes)].zeroize();
    }
}

impl Hash {
    /// Returns the block length in bytes: 64 or 128.
    pub const fn block_bytes(self) -> usize {
        match self {
            Self::Sha1 | Self::Sha224 | Self::Sha256 => 64,
            Self::Sha384 | Self::Sha512 | Self::Sha512_224 | Self::Sha512_256 => 128,
        }
    }
}

/// Whether two secrets are equal, compared in time that depends only on their lengths.
pub fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.ct_eq(other).into()
}

/// Evaluates an expression with the HMAC type of a hash function.
macro_rules! with_hmac {
    ($hash:expr, $mac:ident => $run:expr) => {{
        use crate::aws_lc::sha2::{Sha224, Sha256, Sha384, Sha512, Sha512_224, Sha512_256};
        macro_rules! by {
            ($of:ty) => {{
                type $mac = hmac::Hmac<$of>;
                $run
            }};
        }
        match $hash {
            Hash::Sha1 => by!(sha1::Sha1),
            Hash::Sha224 => by!(Sha224),
            Hash::Sha256 => by!(Sha256),
            Hash::Sha384 => by!(Sha384),
            Hash::Sha512 => by!(Sha512),
            Hash::Sha512_224 => by!(Sha512_224),
            Hash::Sha512_256 => by!(Sha512_256),
        }
    }};
}
pub(crate) use with_hmac;

pub(crate) fn keyed<M: hmac::KeyInit>(key: &[u8]) -> M {
    #[allow(clippy::expect_used)] // RFC 2104, section 3: a key of any length.
    M::new_from_slice(key).expect("HMAC takes a key of any length")
}

fn put(digest: &[u8], output: &mut [u8; DIGEST_BYTES_MAX]) -> usize {
    output[..digest.len()].copy_from_slice(digest);
    digest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Hash; 7] = [
        Hash::Sha1,
        Hash::Sha224,
        Hash::Sha256,
        Hash::Sha384,
        Hash::Sha512,
        Hash::Sha512_224,
        Hash::Sha512_256,
    ];

    /// Computes HMAC by its definition (RFC 2104, section 2) with each hash function.
    #[test]
    fn hmac_is_what_it_is_defined_as() {
        for hash in ALL {
            for key in [&b""[..], b"key", &[7; 128], &[8; 200]] {
                let mut padded = vec![0; hash.block_bytes()];
                if key.len() > padded.len() {
                    let mut digest = [0; DIGEST_BYTES_MAX];
                    let mut whole = Digest::new(hash);
                    whole.update(key);
                    let bytes = whole.finish(&mut digest);
                    padded[..bytes].copy_from_slice(&digest[..bytes]);
                } else {
                    padded[..key.len()].copy_from_slice(key);
                }
                let digest = |pad: u8, message: &[u8]| {
                    let mut digest = Digest::new(hash);
                    digest.update(&padded.iter().map(|byte| byte ^ pad).collect::<Vec<_>>());
                    digest.update(message);
                    let mut output = [0; DIGEST_BYTES_MAX];
                    let bytes = digest.finish(&mut output);
                    assert_eq!(bytes, hash.bytes());
                    output[..bytes].to_vec()
                };
                let expected = digest(0x5c, &digest(0x36, b"a message"));
                let Some(keyed) = Hmac::new(hash, key) else {
                    assert!(key.len() > hash.block_bytes());
                    continue;
                };
                assert!(keyed.has(hash, key) && !keyed.has(hash, b"another"));
                assert_eq!((keyed.hash(), keyed.key()), (hash, key));
                for mut hmac in [keyed.copy(), keyed] {
                    for _ in 0..2 {
                        hmac.update(b"dropped");
                        hmac.restart();
                        hmac.update(b"a mes");
                        hmac.update(b"sage");
                        let mut tag = [0; DIGEST_BYTES_MAX];
                        let bytes = hmac.finish(&mut tag);
                        assert_eq!(tag[..bytes], expected, "{hash:?}");
                    }
                }
            }
        }
        assert!(is_same(b"", b"") && is_same(b"ab", b"ab"));
        assert!(!is_same(b"ab", b"ac") && !is_same(b"ab", b"abc"));
    }
    #[test]
    fn tags_of_wycheproof_are_taken_or_refused() {
        let (mut valid, mut invalid, mut hashed_keys) = (0, 0, 0);
        for vector in oarlock_vectors::wycheproof::hmac().unwrap() {
            let hash = ALL.into_iter().find(|hash| hash.name() == vector.hash);
            let hash = hash.unwrap();
            let Some(mut hmac) = Hmac::new(hash, &vector.key) else {
                assert!(vector.key.len() > hash.block_bytes());
                hashed_keys += 1;
                continue;
            };
            hmac.update(&vector.message);
            let mut tag = [0; DIGEST_BYTES_MAX];
            let bytes = hmac.finish(&mut tag);
            let is_right = tag[..bytes].starts_with(&vector.tag);
            assert_eq!(is_right, vector.is_valid, "{}", vector.source);
            *if is_right { &mut valid } else { &mut invalid } += 1;
        }
        assert_eq!((valid, invalid, hashed_keys), HMAC_VECTORS);
    }

    /// How many are right, how many are wrong, and how many have a key that is longer than a block.
    const HMAC_VECTORS: (usize, usize, usize) = (444, 750, 18);
}
