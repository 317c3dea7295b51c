//! Keys on NIST's elliptic curves: ECDSA signatures (FIPS 186-5) and ECDH secrets (SP 800-56A).

pub use crate::aws_lc::ec::{
    Curve, EcPrivateKey, EcPublicKey, POINT_BYTES_MAX, SIGNATURE_BYTES_MAX,
};

#[cfg(test)]
mod tests;
