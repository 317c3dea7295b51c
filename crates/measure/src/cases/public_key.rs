//! The measured public-key operations. A new one adds its lines to [`PUBLIC_KEY_CASES`] and to [`PublicKeyOperation`].

/// A line of the benchmark whose requests are short and slow, so that many are in flight.
#[derive(Clone, Debug)]
pub struct PublicKeyCase {
    /// The name on the command line and in records.
    pub name: &'static str,
    /// The operation.
    pub operation: PublicKeyOperation,
}

/// A public-key operation. `bits` is the length of the modulus.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PublicKeyOperation {
    /// An operation with an RSA key.
    Rsa {
        /// The operation with the key.
        operation: RsaOperation,
        /// The length of the modulus: 1024, 2048, 3072 or 4096.
        bits: usize,
    },
    /// A power modulo an odd number, with a base less than that and a secret exponent of the same length. The number of
    /// moduli is that of the keys of an RSA case; implementations that can set them up in advance.
    ModExp {
        /// The length of the modulus: 1024, 2048 or 4096.
        bits: usize,
    },
}

/// An operation with an RSA key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RsaOperation {
    /// A number to the power of d, with CRT and without padding.
    Private,
    /// The PKCS#1 v1.5 signature of a SHA-256 digest.
    Sign,
    /// The verification of such a signature; e is 65537.
    Verify,
}

impl PublicKeyOperation {
    /// Returns the length of the modulus in bits.
    pub const fn bits(self) -> usize {
        match self {
            Self::Rsa { bits, .. } | Self::ModExp { bits } => bits,
        }
    }
}

/// All cases of public-key operations in the order of measurement, after [`CASES`](super::CASES).
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
    let operation = PublicKeyOperation::Rsa { operation, bits };
    PublicKeyCase { name, operation }
}

const fn mod_exp(name: &'static str, bits: usize) -> PublicKeyCase {
    let operation = PublicKeyOperation::ModExp { bits };
    PublicKeyCase { name, operation }
}
