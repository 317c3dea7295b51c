//! Keys agreed with a peer.

mod hybrid;

pub use crate::aws_lc::ml_kem::{
    MlKem, MlKemPrivateKey, MlKemPublicKey, SECRET_BYTES as ML_KEM_SECRET_BYTES,
    SEED_BYTES as ML_KEM_SEED_BYTES,
};
pub use crate::aws_lc::x25519::{BYTES as X25519_BYTES, X25519PrivateKey};
pub use hybrid::{Hybrid, HybridPrivateKey, HybridPublicKey};
