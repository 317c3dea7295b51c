//! Public-key operations that are measured. A new one adds its lines to [`PUBLIC_KEY_CASES`] and to
//! [`PublicKeyOperation`].

/// A line of the benchmark whose requests are short and slow, so that many are in flight.
#[derive(Clone, Debug)]
pub struct PublicKeyCase {
    /// As on the command line and in records.
    pub name: &'static str,
    /// What a subject has to do.
    pub operation: PublicKeyOperation,
}

/// A public-key operation. `bits` are those of the modulus.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PublicKeyOperation {
    /// An operation with an RSA key.
    Rsa {
        /// Which.
        operation: RsaOperation,
        /// 1024, 2048, 3072 or 4096.
        bits: usize,
    },
    /// A power modulo an odd number, with a base less than that and a secret exponent as long. There
    /// are as many moduli as RSA cases have keys; implementations that can set them up beforehand.
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

impl PublicKeyOperation {
    /// Bits of the modulus.
    pub const fn bits(self) -> usize {
        match self {
            Self::Rsa { bits, .. } | Self::ModExp { bits } => bits,
        }
    }
}

/// Every case of public-key operations, in the order in which they are measured, after
/// [`CASES`](super::CASES).
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
