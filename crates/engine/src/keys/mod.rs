//! Public keys of any type: RSA, ECDSA and ECDH, Ed25519, X25519, ML-KEM and ML-DSA.

mod session;
mod traits;

pub use self::session::{AcceleratedKey, AcceleratedPublicKey};
pub use self::traits::{KeySigner, KeyVerifier};
pub use crate::aws_lc::ec::Curve;
pub use crate::aws_lc::ml_dsa::{CONTEXT_BYTES_MAX, MlDsa};
pub use crate::aws_lc::ml_kem::MlKem;
pub use crate::work::keys::scheme::Scheme;
pub use crate::work::keys::signature::Signature;
pub use crate::work::keys::{KeyType, PrivateKey, PublicKey};
pub use crate::work::rsa::padding::Hash;
