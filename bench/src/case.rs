//! What is measured. A new cipher adds its lines to [`CASES`] and to [`Algorithm`], a new
//! public-key operation to [`PUBLIC_KEY_CASES`] and to [`Operation`].

use crate::Error;
use crate::glob;

/// One line of the benchmark.
#[derive(Clone, Debug)]
pub struct Case {
    /// As on the command line and in records.
    pub name: &'static str,
    /// What its figures count.
    pub unit: Unit,
    /// What a subject has to do.
    pub algorithm: Algorithm,
    /// Which way.
    pub direction: Direction,
    /// Whether the consumer takes HMAC-SHA256 of every request too, with the same code for
    /// everybody: one that is busy with something else than the cipher.
    pub then_hmac: bool,
}

/// What figures count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// 10^9 bytes of input a second.
    GigabytesPerSecond,
    /// Requests done a second.
    OperationsPerSecond,
}

impl Unit {
    /// As in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::GigabytesPerSecond => "GB/s",
            Self::OperationsPerSecond => "op/s",
        }
    }
}

/// A cipher and its mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Algorithm {
    /// AES in counter mode (SP 800-38A).
    AesCtr {
        /// 16, 24 or 32.
        key_bytes: usize,
    },
    /// AES in cipher block chaining mode (SP 800-38A), without padding.
    AesCbc {
        /// 16 or 32.
        key_bytes: usize,
    },
    /// AES in Galois/counter mode (SP 800-38D).
    AesGcm {
        /// 16 or 32.
        key_bytes: usize,
    },
    /// RFC 8439, from block 0 on.
    ChaCha20,
    /// RFC 8439.
    ChaCha20Poly1305,
    /// Camellia (RFC 3713) in counter mode.
    Camellia128Ctr,
    /// Triple DES with three keys (SP 800-67) in counter mode.
    TripleDesCtr,
}

/// Encryption or decryption; the same for a stream cipher.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// AEADs: seal.
    Encrypt,
    /// AEADs: open.
    Decrypt,
}

impl Algorithm {
    /// Bytes of key that it takes.
    pub const fn key_bytes(self) -> usize {
        match self {
            Self::AesCtr { key_bytes }
            | Self::AesCbc { key_bytes }
            | Self::AesGcm { key_bytes } => key_bytes,
            Self::ChaCha20 | Self::ChaCha20Poly1305 => 32,
            Self::Camellia128Ctr => 16,
            Self::TripleDesCtr => 24,
        }
    }

    /// Bytes that a request has to be a multiple of.
    pub const fn granule_bytes(self) -> usize {
        match self {
            Self::AesCbc { .. } => 16,
            _ => 1,
        }
    }

    /// Most that Oarlock makes ahead of its use by default, for each helper:
    /// two streams of 4096 blocks.
    pub(crate) const fn ahead_bytes(self) -> usize {
        match self {
            Self::AesCtr { .. } | Self::Camellia128Ctr => 2 * 4096 * 16,
            Self::ChaCha20 => 2 * 4096 * 64,
            Self::TripleDesCtr => 2 * 4096 * 8,
            Self::AesCbc { .. } | Self::AesGcm { .. } | Self::ChaCha20Poly1305 => 0,
        }
    }

    /// Whether requests are messages with a tag each.
    pub const fn is_aead(self) -> bool {
        matches!(self, Self::AesGcm { .. } | Self::ChaCha20Poly1305)
    }

    /// Whether a core makes less than 1 GB/s of it anywhere.
    pub const fn is_slow(self) -> bool {
        matches!(self, Self::Camellia128Ctr | Self::TripleDesCtr)
    }
}

/// Every case, in the order in which they are measured.
pub const CASES: &[Case] = &[
    encrypt("aes-128-ctr", Algorithm::AesCtr { key_bytes: 16 }),
    encrypt("aes-192-ctr", Algorithm::AesCtr { key_bytes: 24 }),
    encrypt("aes-256-ctr", Algorithm::AesCtr { key_bytes: 32 }),
    encrypt("aes-128-gcm", Algorithm::AesGcm { key_bytes: 16 }),
    decrypt("aes-128-gcm-open", Algorithm::AesGcm { key_bytes: 16 }),
    encrypt("aes-256-gcm", Algorithm::AesGcm { key_bytes: 32 }),
    decrypt("aes-256-gcm-open", Algorithm::AesGcm { key_bytes: 32 }),
    encrypt("chacha20-poly1305", Algorithm::ChaCha20Poly1305),
    decrypt("chacha20-poly1305-open", Algorithm::ChaCha20Poly1305),
    encrypt("aes-128-cbc", Algorithm::AesCbc { key_bytes: 16 }),
    decrypt("aes-128-cbc-decrypt", Algorithm::AesCbc { key_bytes: 16 }),
    encrypt("aes-256-cbc", Algorithm::AesCbc { key_bytes: 32 }),
    decrypt("aes-256-cbc-decrypt", Algorithm::AesCbc { key_bytes: 32 }),
    encrypt("chacha20", Algorithm::ChaCha20),
    encrypt("camellia-128-ctr", Algorithm::Camellia128Ctr),
    encrypt("des-ede3-ctr", Algorithm::TripleDesCtr),
    Case {
        then_hmac: true,
        ..encrypt("aes-128-ctr-then-hmac", Algorithm::AesCtr { key_bytes: 16 })
    },
];

const fn encrypt(name: &'static str, algorithm: Algorithm) -> Case {
    Case {
        name,
        unit: Unit::GigabytesPerSecond,
        algorithm,
        direction: Direction::Encrypt,
        then_hmac: false,
    }
}

const fn decrypt(name: &'static str, algorithm: Algorithm) -> Case {
    Case {
        direction: Direction::Decrypt,
        ..encrypt(name, algorithm)
    }
}

/// A line of the benchmark whose requests are short and take long, so that many are in flight.
#[derive(Clone, Debug)]
pub struct PublicKeyCase {
    /// As on the command line and in records.
    pub name: &'static str,
    /// What a subject has to do.
    pub operation: Operation,
}

/// A public-key operation. `bits` are those of the modulus.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Of an RSA key.
    Rsa {
        /// Which.
        operation: RsaOperation,
        /// 1024, 2048, 3072 or 4096.
        bits: usize,
    },
    /// A power modulo an odd number, with a base less than that and a secret exponent as long. There
    /// are as many moduli as RSA cases have keys, set up beforehand by who can.
    ModExp {
        /// 1024, 2048 or 4096.
        bits: usize,
    },
}

/// What is done with an RSA key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RsaOperation {
    /// A number to the power of d, by CRT, without padding.
    Private,
    /// The PKCS#1 v1.5 signature of a SHA-256 digest.
    Sign,
    /// Whether such a signature is right; e is 65537.
    Verify,
}

impl Operation {
    /// Bits of the modulus.
    pub const fn bits(self) -> usize {
        match self {
            Self::Rsa { bits, .. } | Self::ModExp { bits } => bits,
        }
    }
}

/// Every case of public-key operations, in the order in which they are measured, after [`CASES`].
pub const PUBLIC_KEY_CASES: &[PublicKeyCase] = &[
    rsa("rsa-1024-private", RsaOperation::Private, 1024),
    rsa("rsa-2048-sign", RsaOperation::Sign, 2048),
    rsa("rsa-3072-sign", RsaOperation::Sign, 3072),
    rsa("rsa-4096-sign", RsaOperation::Sign, 4096),
    rsa("rsa-2048-verify", RsaOperation::Verify, 2048),
    mod_exp("modexp-1024", 1024),
    mod_exp("modexp-2048", 2048),
    mod_exp("modexp-4096", 4096),
];

const fn rsa(name: &'static str, operation: RsaOperation, bits: usize) -> PublicKeyCase {
    let operation = Operation::Rsa { operation, bits };
    PublicKeyCase { name, operation }
}

const fn mod_exp(name: &'static str, bits: usize) -> PublicKeyCase {
    let operation = Operation::ModExp { bits };
    PublicKeyCase { name, operation }
}

/// Cases of both kinds.
#[derive(Clone, Debug)]
pub(crate) struct Matching {
    pub(crate) ciphers: Vec<&'static Case>,
    pub(crate) public_key: Vec<&'static PublicKeyCase>,
}

impl Matching {
    pub(crate) fn of_ciphers(cases: &[&'static Case]) -> Self {
        Self {
            ciphers: cases.to_vec(),
            public_key: Vec::new(),
        }
    }

    pub(crate) fn of_public_key(cases: &[&'static PublicKeyCase]) -> Self {
        Self {
            ciphers: Vec::new(),
            public_key: cases.to_vec(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ciphers.is_empty() && self.public_key.is_empty()
    }
}

/// The cases whose names `glob` matches; at least one.
pub(crate) fn matching(glob: &str) -> Result<Matching, Error> {
    let asked = |name| glob::matches(glob, name);
    let public_key = PUBLIC_KEY_CASES.iter();
    let found = Matching {
        ciphers: CASES.iter().filter(|case| asked(case.name)).collect(),
        public_key: public_key.filter(|case| asked(case.name)).collect(),
    };
    if found.is_empty() {
        return Err(Error::Usage(format!(
            "no case matches {glob:?}: there are {}",
            names().collect::<Vec<_>>().join(", ")
        )));
    }
    Ok(found)
}

/// Of every case.
fn names() -> impl Iterator<Item = &'static str> {
    let ciphers = CASES.iter().map(|case| case.name);
    ciphers.chain(PUBLIC_KEY_CASES.iter().map(|case| case.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_are_each_there_once() {
        let count = |glob: &str| {
            let found = matching(glob).unwrap();
            (found.ciphers.len(), found.public_key.len())
        };
        for (glob, found) in [
            ("*", (CASES.len(), PUBLIC_KEY_CASES.len())),
            ("aes-128-ctr", (1, 0)),
            ("aes-*-ctr", (3, 0)),
            ("aes-*-gcm*", (4, 0)),
            ("*-open", (3, 0)),
            ("rsa-*-sign", (0, 3)),
            ("modexp-????", (0, 3)),
            ("*1024*", (0, 2)),
        ] {
            assert_eq!(count(glob), found, "{glob}");
        }
        for name in names() {
            let (ciphers, public_key) = count(name);
            assert_eq!(ciphers + public_key, 1, "{name}");
        }
        for glob in ["", "aes-128", "aes-?-ctr", "rsa"] {
            let message = matching(glob).unwrap_err().to_string();
            assert!(message.contains("aes-256-ctr"), "{message}");
            assert!(message.contains("modexp-4096"), "{message}");
        }
    }
}
