//! Published test vectors of the ciphers, for tests.
//!
//! [`short`] holds vectors typed in from the standards; [`acvp`], [`cavp`], [`kat`], [`wycheproof`]
//! and [`age`] read larger sets from the files that `cargo xtask vectors` fetches.
//! Reading nothing is an error: a test cannot pass because its vectors are missing.

pub mod acvp;
pub mod age;
pub mod cavp;
mod fetched;
pub mod kat;
mod response;
pub mod short;
#[cfg(test)]
mod tests;
pub mod wycheproof;

use std::fmt;

/// A message under AES-CTR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CtrVector {
    /// Where the vector is from, for messages about a failure.
    pub source: String,
    /// 16, 24 or 32 bytes.
    pub key: Vec<u8>,
    /// The first counter block.
    pub counter_block: [u8; 16],
    /// As long as the ciphertext; not always whole blocks.
    pub plaintext: Vec<u8>,
    /// What AES-CTR makes of the plaintext.
    pub ciphertext: Vec<u8>,
}

/// One block under AES.
///
/// It tests CTR too: with `plaintext` as the counter block, `ciphertext` is the keystream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockVector {
    /// Where the vector is from, for messages about a failure.
    pub source: String,
    /// 16, 24 or 32 bytes.
    pub key: Vec<u8>,
    /// The block before encryption.
    pub plaintext: [u8; 16],
    /// The block after it.
    pub ciphertext: [u8; 16],
}

/// A message under ChaCha20 (RFC 8439, section 2.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChaCha20Vector {
    /// Where the vector is from, for messages about a failure.
    pub source: String,
    /// 32 bytes.
    pub key: Vec<u8>,
    /// Constant over the message.
    pub nonce: [u8; 12],
    /// The block counter of the first block.
    pub counter: u32,
    /// As long as the ciphertext; not always whole blocks.
    pub plaintext: Vec<u8>,
    /// What ChaCha20 makes of the plaintext.
    pub ciphertext: Vec<u8>,
}

/// A message under an authenticated cipher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AeadVector {
    /// Where the vector is from, for messages about a failure.
    pub source: String,
    /// As long as the cipher wants it.
    pub key: Vec<u8>,
    /// The nonce, of any length, including lengths that must be refused.
    pub nonce: Vec<u8>,
    /// Associated data.
    pub aad: Vec<u8>,
    /// As long as the ciphertext; `None` where the vector is of a forged message and names none.
    pub plaintext: Option<Vec<u8>>,
    /// Without the tag.
    pub ciphertext: Vec<u8>,
    /// 16 bytes, or the first of them: 4 at least. None with some nonces that must be refused.
    pub tag: Vec<u8>,
    /// Whether the message must be opened; else it must be refused.
    pub is_valid: bool,
}

impl AeadVector {
    /// The length of the tag; less than 128 where it is cut off.
    #[must_use]
    pub fn tag_bits(&self) -> usize {
        8 * self.tag.len()
    }
}

/// A message under AES-CBC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CbcVector {
    /// Where the vector is from, for messages about a failure.
    pub source: String,
    /// 16, 24 or 32 bytes.
    pub key: Vec<u8>,
    /// The block before the first.
    pub iv: [u8; 16],
    /// Without padding.
    pub plaintext: Vec<u8>,
    /// With padding, where there is some.
    pub ciphertext: Vec<u8>,
    /// What was appended to the plaintext.
    pub padding: Padding,
    /// Whether the message must be decrypted; else its padding must be refused.
    pub is_valid: bool,
}

/// A signature by RSA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RsaSignatureVector {
    /// Where the vector is from, for messages about a failure.
    pub source: String,
    /// Big-endian, with any leading zeros.
    pub modulus: Vec<u8>,
    /// Big-endian, with any leading zeros.
    pub exponent: Vec<u8>,
    /// FIPS 180-4's name of what the message is hashed with.
    pub hash: &'static str,
    /// The name of the hash of MGF1, for PSS.
    pub mgf1: &'static str,
    /// The length of the salt, for PSS.
    pub salt_bytes: usize,
    /// The message, of any length.
    pub message: Vec<u8>,
    /// The signature, of any length.
    pub signature: Vec<u8>,
    /// Whether it must be taken; else it must be refused.
    pub is_valid: bool,
}

/// A signature to be made by RSASSA-PKCS1-v1_5.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RsaSigningVector {
    /// Where the vector is from, for messages about a failure.
    pub source: String,
    /// PKCS#8, DER.
    pub private_key: Vec<u8>,
    /// FIPS 180-4's name of what the message is hashed with.
    pub hash: &'static str,
    /// The message, of any length.
    pub message: Vec<u8>,
    /// As long as the modulus.
    pub signature: Vec<u8>,
}

/// A message encrypted by RSA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RsaEncryptionVector {
    /// Where the vector is from, for messages about a failure.
    pub source: String,
    /// PKCS#8, DER.
    pub private_key: Vec<u8>,
    /// FIPS 180-4's name of the hash of the label, for OAEP.
    pub hash: &'static str,
    /// The name of the hash of MGF1, for OAEP.
    pub mgf1: &'static str,
    /// The label, for OAEP.
    pub label: Vec<u8>,
    /// Empty if there is none.
    pub message: Vec<u8>,
    /// The ciphertext, of any length.
    pub ciphertext: Vec<u8>,
    /// Whether it must be decrypted; else it must not be to this message.
    pub is_valid: bool,
}

/// A signature by ECDSA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EcdsaVector {
    /// Where the vector is from, for messages about a failure.
    pub source: String,
    /// SEC 2's name of the curve.
    pub curve: String,
    /// A point, uncompressed.
    pub public_key: Vec<u8>,
    /// FIPS 180-4's name of what the message is hashed with.
    pub hash: &'static str,
    /// The message, of any length.
    pub message: Vec<u8>,
    /// The signature, of any length; DER where it is valid.
    pub signature: Vec<u8>,
    /// Whether it must be taken; else it must be refused.
    pub is_valid: bool,
}

/// A tag by HMAC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HmacVector {
    /// Where the vector is from, for messages about a failure.
    pub source: String,
    /// The hash function: `SHA-1`, `SHA-256`, `SHA-512/224` and so on.
    pub hash: &'static str,
    /// The key, of any length.
    pub key: Vec<u8>,
    /// The message.
    pub message: Vec<u8>,
    /// The whole tag, or its first bytes.
    pub tag: Vec<u8>,
    /// Whether it is the tag of the message.
    pub is_valid: bool,
}

/// An output of HKDF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HkdfVector {
    /// Where the vector is from, for messages about a failure.
    pub source: String,
    /// The hash function: `SHA-1`, `SHA-256`, `SHA-384` or `SHA-512`.
    pub hash: &'static str,
    /// The input keying material.
    pub secret: Vec<u8>,
    /// The salt, which may be empty.
    pub salt: Vec<u8>,
    /// The info, which may be empty.
    pub info: Vec<u8>,
    /// How many bytes are asked for.
    pub bytes: usize,
    /// What is derived; empty where it is too much.
    pub output: Vec<u8>,
    /// Whether as many bytes can be derived.
    pub is_valid: bool,
}

/// A secret agreed on by ECDH.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EcdhVector {
    /// Where the vector is from, for messages about a failure.
    pub source: String,
    /// SEC 2's name of the curve.
    pub curve: String,
    /// The peer's point, uncompressed or compressed.
    pub public_key: Vec<u8>,
    /// Big-endian, with any leading zeros.
    pub private_key: Vec<u8>,
    /// As long as a coordinate.
    pub secret: Vec<u8>,
    /// Whether the point must be taken; else it must be refused.
    pub is_valid: bool,
}

/// A key of ML-KEM, or what was done with it. What a vector does not have is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MlKemVector {
    /// Where the vector is from, for messages about a failure.
    pub source: String,
    /// FIPS 203's name of the parameter set.
    pub set: String,
    /// d and z, which the key pair is made from.
    pub seed: Vec<u8>,
    /// The encapsulation key.
    pub public_key: Vec<u8>,
    /// The decapsulation key, expanded.
    pub private_key: Vec<u8>,
    /// m, which the secret and the ciphertext are made from.
    pub random: Vec<u8>,
    /// The ciphertext, of any length.
    pub ciphertext: Vec<u8>,
    /// The shared secret.
    pub secret: Vec<u8>,
    /// Whether all of it must be taken; else it must be refused.
    pub is_valid: bool,
}

/// A signature by Ed25519 or ML-DSA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignatureVector {
    /// Where the vector is from, for messages about a failure.
    pub source: String,
    /// The standards' name of the algorithm and parameter set.
    pub algorithm: &'static str,
    /// The public key, of any length.
    pub public_key: Vec<u8>,
    /// What the message was signed for, of any length.
    pub context: Vec<u8>,
    /// The message, of any length.
    pub message: Vec<u8>,
    /// The signature, of any length.
    pub signature: Vec<u8>,
    /// Whether it must be taken; else it must be refused.
    pub is_valid: bool,
}

/// A key of ML-DSA, and a signature by it. What a vector does not have is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MlDsaVector {
    /// The public key, the message and the signature, if there is any.
    pub signed: SignatureVector,
    /// ξ, which the key pair is made from, of any length.
    pub seed: Vec<u8>,
    /// The private key, expanded, of any length.
    pub private_key: Vec<u8>,
    /// The private key in PKCS#8.
    pub pkcs8: Vec<u8>,
}

/// What was appended to a plaintext before encryption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// Nothing: it is whole blocks.
    None,
    /// RFC 5652, section 6.3.
    Pkcs7,
}

/// A Monte Carlo test of AES-CBC (AESAVS, section 6.4.2): 100 times 1000 single blocks, each made
/// of those before it, each thousand with a new key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MonteCarloVector {
    /// Where the vector is from, for messages about a failure.
    pub source: String,
    /// The first key: 16, 24 or 32 bytes.
    pub key: Vec<u8>,
    /// The first IV.
    pub iv: [u8; 16],
    /// The first block.
    pub input: [u8; 16],
    /// The last block made.
    pub output: [u8; 16],
    /// Whether blocks are encrypted; else they are decrypted.
    pub encrypts: bool,
}

impl MonteCarloVector {
    /// The last block made, to be compared with `output`.
    ///
    /// `with_key` takes a key and returns what encrypts (or decrypts, as `encrypts` says) one
    /// block after another under it, chained from the IV of its first call: it is given that IV
    /// once, and blocks.
    pub fn run<C: FnMut([u8; 16]) -> [u8; 16]>(
        &self,
        mut with_key: impl FnMut(&[u8], [u8; 16]) -> C,
    ) -> [u8; 16] {
        let mut key = self.key.clone();
        let (mut iv, mut input) = (self.iv, self.input);
        let mut output = [0; 16];
        for _ in 0..100 {
            let mut crypt = with_key(&key, iv);
            let mut before = iv;
            for _ in 0..1000 {
                let made = crypt(input);
                input = before;
                before = made;
            }
            // `input` is the last block but one; the key takes as much of both as it is long.
            output = before;
            let both = [input, output].concat();
            let ends = both.len() - key.len();
            key.iter_mut().zip(&both[ends..]).for_each(|(k, b)| *k ^= b);
            iv = output;
        }
        output
    }
}

/// Why vectors could not be read: one line.
#[derive(Debug)]
pub struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
