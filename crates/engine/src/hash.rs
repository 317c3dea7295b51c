//! Hash functions and HMAC (FIPS 180-4, RFC 2104), chosen at run time. RustCrypto computes them: for the short messages of
//! key derivation it is faster than aws-lc, whose contexts are four times as large.

use hmac::Mac as _;
use hmac::digest::{FixedOutputReset as _, Reset};
use sha1::Sha1;
use sha2::{Digest as _, Sha224, Sha256, Sha384, Sha512, Sha512_224, Sha512_256};
use subtle::ConstantTimeEq as _;

pub use crate::work::rsa::padding::Hash;

/// The longest digest in bytes, SHA-512's.
pub const DIGEST_BYTES_MAX: usize = 64;

macro_rules! digests {
    ($($hash:ident)+) => {
        #[derive(Clone)]
        enum AnyDigest {
            $($hash($hash),)+
        }

        impl Digest {
            /// Begins a message.
            pub fn new(hash: Hash) -> Self {
                Self(match hash {
                    $(Hash::$hash => AnyDigest::$hash($hash::new()),)+
                })
            }

            /// Continues the message.
            pub fn update(&mut self, data: &[u8]) {
                match &mut self.0 {
                    $(AnyDigest::$hash(digest) => digest.update(data),)+
                }
            }

            /// Writes the digest to the beginning of `output`, and returns its length in bytes.
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
        #[derive(Clone)]
        enum AnyHmac {
            $($hash(hmac::HmacReset<$hash>),)+
        }

        impl Hmac {
            /// Takes a key of any length and begins a message; `None` for a hash function of SHA-512's kind, whose state
            /// has twice the size.
            pub fn new(hash: Hash, key: &[u8]) -> Option<Self> {
                Some(Self(match hash {
                    $(Hash::$hash => AnyHmac::$hash(keyed(key)),)+
                    _ => return None,
                }))
            }

            /// Continues the message.
            pub fn update(&mut self, data: &[u8]) {
                match &mut self.0 {
                    $(AnyHmac::$hash(hmac) => hmac.update(data),)+
                }
            }

            /// Writes the tag to the beginning of `output`, and returns its length in bytes. The next message begins.
            pub fn finish(&mut self, output: &mut [u8; DIGEST_BYTES_MAX]) -> usize {
                match &mut self.0 {
                    $(AnyHmac::$hash(hmac) => {
                        let output = output.first_chunk_mut::<{ Hash::$hash.bytes() }>();
                        output.map_or(0, |output| {
                            hmac.finalize_into_reset(output.into());
                            output.len()
                        })
                    })+
                }
            }

            /// Drops the message, and begins the next.
            pub fn restart(&mut self) {
                match &mut self.0 {
                    $(AnyHmac::$hash(hmac) => Reset::reset(hmac),)+
                }
            }
        }
    };
}

/// A message on its way through a hash function.
#[derive(Clone)]
pub struct Digest(AnyDigest);

/// A key of HMAC with a message on its way, and further ones after that without another key set-up. Wiped on drop.
#[derive(Clone)]
pub struct Hmac(AnyHmac);

digests! { Sha1 Sha224 Sha256 Sha384 Sha512 Sha512_224 Sha512_256 }
hmacs! { Sha1 Sha224 Sha256 }

impl Hash {
    /// The length in bytes of the blocks that it works in: 64 or 128.
    pub const fn block_bytes(self) -> usize {
        match self {
            Self::Sha1 | Self::Sha224 | Self::Sha256 => 64,
            Self::Sha384 | Self::Sha512 | Self::Sha512_224 | Self::Sha512_256 => 128,
        }
    }
}

/// Whether two secrets are the same, in time by their lengths alone.
pub fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.ct_eq(other).into()
}

/// Evaluates an expression with the type of HMAC by a hash function.
macro_rules! with_hmac {
    ($hash:expr, $mac:ident => $run:expr) => {{
        use sha2::{Sha224, Sha256, Sha384, Sha512, Sha512_224, Sha512_256};
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

    /// HMAC by its definition (RFC 2104, section 2), around each hash function.
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
                    assert_eq!(hash.block_bytes(), 128);
                    continue;
                };
                for mut hmac in [keyed.clone(), keyed] {
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
}
