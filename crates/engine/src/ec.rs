//! Elliptic-curve keys of NIST's curves: signatures by ECDSA (FIPS 186-5) and secrets by ECDH (SP 800-56A).

pub use crate::aws_lc::ec::{
    Curve, EcPrivateKey, EcPublicKey, POINT_BYTES_MAX, SIGNATURE_BYTES_MAX,
};

#[cfg(test)]
mod tests;
