//! Derivation of key and IV from a passphrase: one string of bytes that begins with the key.

use std::num::NonZeroU32;

use hmac::EagerHash;
use md5::Md5;
use oarlock::Algorithm;
use pbkdf2::pbkdf2_hmac;
use sha1::Sha1;
use sha2::{Sha224, Sha256, Sha384, Sha512};
use zeroize::{Zeroize as _, Zeroizing};

/// The bytes of the salt.
pub const SALT_BYTES: usize = 8;
/// The bytes of the IV of every cipher. ChaCha20's begins with its counter, 4 bytes, little-endian.
pub const IV_BYTES: usize = 16;
/// The default rounds of PBKDF2, which are those of openssl's `-iter`.
pub const ITERATIONS: NonZeroU32 = NonZeroU32::new(10_000).unwrap();

/// A method of deriving a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Derivation {
    /// PBKDF2 with HMAC (RFC 8018, 5.2), as in `openssl enc -pbkdf2`.
    Pbkdf2 {
        /// The rounds, openssl's `-iter`. Its default is [`ITERATIONS`].
        iterations: NonZeroU32,
    },
    /// One hash, or several for a longer key, as openssl does without `-pbkdf2`. A guess costs almost nothing, so use this
    /// for existing files only.
    BytesToKey,
}

/// The hash of the derivation, openssl's `-md`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Digest {
    /// The default of openssl before 1.1.
    Md5,
    #[expect(missing_docs)]
    Sha1,
    #[expect(missing_docs)]
    Sha224,
    /// The default of openssl since 1.1.
    Sha256,
    #[expect(missing_docs)]
    Sha384,
    #[expect(missing_docs)]
    Sha512,
}

/// The key and IV of a passphrase. They are wiped on drop.
pub struct KeyAndIv {
    /// The key, of the cipher's length.
    pub key: Zeroizing<Vec<u8>>,
    /// The IV, which is also secret until it is used.
    pub iv: Zeroizing<[u8; IV_BYTES]>,
}

/// Derives key and IV for `cipher`. This takes some milliseconds with openssl's default derivation.
///
/// ```
/// use oarlock::Algorithm;
/// use oarlock_file::openssl_enc::{Derivation, Digest, derive};
///
/// // openssl enc -aes-128-cbc -md md5 -S 0011223344556677 -pass pass:secret -P
/// let salt = [0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77];
/// let cipher = Algorithm::Aes128Cbc;
/// let made = derive(cipher, b"secret", &salt, Derivation::BytesToKey, Digest::Md5);
/// assert_eq!(made.key[..4], [0x6c, 0x63, 0x4f, 0x48]);
/// assert_eq!(made.iv[..4], [0x9b, 0xae, 0xf0, 0x3e]);
/// ```
pub fn derive(
    cipher: Algorithm,
    passphrase: &[u8],
    salt: &[u8; SALT_BYTES],
    derivation: Derivation,
    digest: Digest,
) -> KeyAndIv {
    let with = match digest {
        Digest::Md5 => fill::<Md5>,
        Digest::Sha1 => fill::<Sha1>,
        Digest::Sha224 => fill::<Sha224>,
        Digest::Sha256 => fill::<Sha256>,
        Digest::Sha384 => fill::<Sha384>,
        Digest::Sha512 => fill::<Sha512>,
    };
    let mut bytes = Zeroizing::new(vec![0; cipher.key_bytes() + IV_BYTES]);
    with(passphrase, salt, derivation, &mut bytes);
    let (key, rest) = bytes.split_at(cipher.key_bytes());
    let mut iv = Zeroizing::new([0; IV_BYTES]);
    iv.copy_from_slice(rest);
    KeyAndIv {
        key: Zeroizing::new(key.to_vec()),
        iv,
    }
}

fn fill<D: EagerHash>(passphrase: &[u8], salt: &[u8], derivation: Derivation, bytes: &mut [u8]) {
    match derivation {
        Derivation::Pbkdf2 { iterations } => {
            pbkdf2_hmac::<D>(passphrase, salt, iterations.get(), bytes);
        }
        Derivation::BytesToKey => bytes_to_key::<D>(passphrase, salt, bytes),
    }
}

/// Implements OpenSSL's `EVP_BytesToKey` with a count of 1: each hash covers the previous one, the passphrase and the salt.
fn bytes_to_key<D: EagerHash>(passphrase: &[u8], salt: &[u8], bytes: &mut [u8]) {
    let mut before = Zeroizing::new(Vec::new());
    for piece in bytes.chunks_mut(<D as sha2::Digest>::output_size()) {
        let hash = D::new()
            .chain_update(&before[..])
            .chain_update(passphrase)
            .chain_update(salt);
        let mut hash = hash.finalize();
        before = Zeroizing::new(hash.to_vec());
        hash.as_mut_slice().zeroize();
        piece.copy_from_slice(&before[..piece.len()]);
    }
}
