//! Which there are, with their lengths, and on which sides.

use std::ffi::CStr;

use super::super::SIDES;
use crate::driver::libcrypto;

/// A hybrid and its lengths.
#[derive(Clone, Copy)]
pub struct Hybrid {
    pub name: &'static CStr,
    pub public: usize,
    pub private: usize,
    pub ciphertext: usize,
    pub secret: usize,
    /// Where the part of ML-KEM begins in a public key.
    pub ml_kem_at: usize,
}

pub const HYBRIDS: [Hybrid; 3] = [
    Hybrid {
        name: c"X25519MLKEM768",
        public: 1216,
        private: 2432,
        ciphertext: 1120,
        secret: 64,
        ml_kem_at: 0,
    },
    Hybrid {
        name: c"SecP256r1MLKEM768",
        public: 1249,
        private: 2432,
        ciphertext: 1153,
        secret: 64,
        ml_kem_at: 65,
    },
    Hybrid {
        name: c"SecP384r1MLKEM1024",
        public: 1665,
        private: 3216,
        ciphertext: 1665,
        secret: 80,
        ml_kem_at: 97,
    },
];

/// ML-KEM by itself.
pub const ML_KEMS: [Hybrid; 3] = [
    Hybrid {
        name: c"ML-KEM-512",
        public: 800,
        private: 1632,
        ciphertext: 768,
        secret: 32,
        ml_kem_at: 0,
    },
    Hybrid {
        name: c"ML-KEM-768",
        public: 1184,
        private: 2400,
        ciphertext: 1088,
        secret: 32,
        ml_kem_at: 0,
    },
    Hybrid {
        name: c"ML-KEM-1024",
        public: 1568,
        private: 3168,
        ciphertext: 1568,
        secret: 32,
        ml_kem_at: 0,
    },
];

impl Hybrid {
    pub fn has_curve(self) -> bool {
        self.secret > 32
    }
}

/// The hybrids, and ML-KEM by itself where OpenSSL has it.
pub fn kinds() -> Vec<Hybrid> {
    let alone = ML_KEMS.into_iter().filter(|_| sides().len() == SIDES.len());
    HYBRIDS.into_iter().chain(alone).collect()
}

/// Those that there are, ours last.
pub fn sides() -> &'static [&'static CStr] {
    match libcrypto().release() < (3, 5) {
        true => &SIDES[1..],
        false => &SIDES,
    }
}
