//! The algorithms that protect an association's packets, and the layout that follows.

use oarlock_kernels::tdes;

use oarlock_engine::Algorithm;
use oarlock_engine::aead::TAG_BYTES;

/// The algorithms that encrypt and authenticate an association's packets.
///
/// Prefer an AEAD. The other suites are for peers without one. Their key material is the cipher's key, its salt if it
/// has one, then the HMAC's key (RFC 7296, 2.17).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Suite {
    /// AES-GCM with a 16-byte key and a 16-byte ICV (RFC 4106).
    Aes128Gcm,
    /// AES-GCM with a 24-byte key.
    Aes192Gcm,
    /// AES-GCM with a 32-byte key.
    Aes256Gcm,
    /// ChaCha20-Poly1305 (RFC 7634).
    ChaCha20Poly1305,
    /// A cipher, and an HMAC of its ciphertext.
    EncryptThenMac(Cipher, Integrity),
}

/// The cipher of an association that an HMAC authenticates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cipher {
    /// No encryption: packets are authenticated and readable (RFC 2410).
    Null,
    /// AES-CBC with a 16-byte key and a random IV (RFC 3602).
    Aes128Cbc,
    /// AES-CBC with a 24-byte key.
    Aes192Cbc,
    /// AES-CBC with a 32-byte key.
    Aes256Cbc,
    /// AES-CTR with a 16-byte key and a 4-byte salt, which RFC 3686 calls the nonce.
    Aes128Ctr,
    /// AES-CTR with a 24-byte key.
    Aes192Ctr,
    /// AES-CTR with a 32-byte key.
    Aes256Ctr,
    /// Triple DES in CBC mode with three keys, 24 bytes together (RFC 2451), only for old peers. With 8-byte blocks,
    /// collisions become likely after tens of gigabytes (Bhargavan, Leurent, CCS 2016): renew keys long before that.
    TripleDesCbc,
}

/// The HMAC of an association, truncated to the bytes that a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Integrity {
    /// 12 bytes of HMAC-MD5 (RFC 2403), only for old peers.
    HmacMd5_96,
    /// 12 bytes of HMAC-SHA-1 (RFC 2404).
    HmacSha1_96,
    /// 16 bytes of HMAC-SHA-256 (RFC 4868).
    HmacSha256_128,
    /// 24 bytes of HMAC-SHA-384 (RFC 4868).
    HmacSha384_192,
    /// 32 bytes of HMAC-SHA-512 (RFC 4868).
    HmacSha512_256,
}

impl Suite {
    /// All suites.
    pub const ALL: &[Self] = &all();

    /// The most bytes that any suite needs before a payload.
    pub const BEFORE_BYTES_MAX: usize = HEADER_BYTES + BLOCK_BYTES;

    /// The most bytes that any suite needs after a payload without TFC padding.
    pub const BEHIND_BYTES_MAX: usize = BLOCK_BYTES - 1 + TRAILER_BYTES + ICV_BYTES_MAX;

    /// Returns the length of the key material in bytes.
    pub const fn key_bytes(self) -> usize {
        match self {
            Self::EncryptThenMac(cipher, integrity) => cipher.key_bytes() + integrity.key_bytes(),
            Self::Aes128Gcm => 16 + SALT_BYTES,
            Self::Aes192Gcm => 24 + SALT_BYTES,
            Self::Aes256Gcm | Self::ChaCha20Poly1305 => 32 + SALT_BYTES,
        }
    }

    /// Returns the bytes that a packet needs before its payload.
    pub const fn before_bytes(self) -> usize {
        HEADER_BYTES + self.iv_bytes()
    }

    /// Returns the most bytes that a packet needs after a payload without TFC padding.
    pub const fn behind_bytes_max(self) -> usize {
        self.align() - 1 + TRAILER_BYTES + self.icv_bytes()
    }

    pub(super) const fn layout(self) -> Layout {
        Layout {
            iv_bytes: self.iv_bytes(),
            icv_bytes: self.icv_bytes(),
            align: self.align(),
        }
    }

    const fn iv_bytes(self) -> usize {
        match self {
            Self::EncryptThenMac(cipher, _) => cipher.iv_bytes(),
            _ => COUNTER_IV_BYTES,
        }
    }

    const fn icv_bytes(self) -> usize {
        match self {
            Self::EncryptThenMac(_, integrity) => integrity.icv_bytes(),
            _ => TAG_BYTES,
        }
    }

    const fn align(self) -> usize {
        match self {
            Self::EncryptThenMac(cipher, _) => cipher.align(),
            _ => ALIGN,
        }
    }

    pub(super) const fn aead(self) -> Option<Algorithm> {
        match self {
            Self::Aes128Gcm => Some(Algorithm::Aes128Gcm),
            Self::Aes192Gcm => Some(Algorithm::Aes192Gcm),
            Self::Aes256Gcm => Some(Algorithm::Aes256Gcm),
            Self::ChaCha20Poly1305 => Some(Algorithm::ChaCha20Poly1305),
            Self::EncryptThenMac(..) => None,
        }
    }
}

impl Cipher {
    /// All ciphers.
    pub const ALL: &[Self] = &[
        Self::Null,
        Self::Aes128Cbc,
        Self::Aes192Cbc,
        Self::Aes256Cbc,
        Self::Aes128Ctr,
        Self::Aes192Ctr,
        Self::Aes256Ctr,
        Self::TripleDesCbc,
    ];

    /// Returns the length of the key material in bytes: the key and, for AES-CTR, the salt after it.
    pub const fn key_bytes(self) -> usize {
        match self {
            Self::Null => 0,
            Self::Aes128Cbc => 16,
            Self::Aes192Cbc => 24,
            Self::Aes256Cbc => 32,
            Self::Aes128Ctr => 16 + SALT_BYTES,
            Self::Aes192Ctr => 24 + SALT_BYTES,
            Self::Aes256Ctr => 32 + SALT_BYTES,
            Self::TripleDesCbc => tdes::KEY_BYTES,
        }
    }

    /// Returns the algorithm that statistics count it as.
    pub(super) const fn algorithm(self) -> Option<Algorithm> {
        match self {
            Self::Null | Self::TripleDesCbc => None,
            Self::Aes128Cbc => Some(Algorithm::Aes128Cbc),
            Self::Aes192Cbc => Some(Algorithm::Aes192Cbc),
            Self::Aes256Cbc => Some(Algorithm::Aes256Cbc),
            Self::Aes128Ctr => Some(Algorithm::Aes128Ctr),
            Self::Aes192Ctr => Some(Algorithm::Aes192Ctr),
            Self::Aes256Ctr => Some(Algorithm::Aes256Ctr),
        }
    }

    const fn iv_bytes(self) -> usize {
        match self {
            Self::Null => 0,
            Self::Aes128Cbc | Self::Aes192Cbc | Self::Aes256Cbc => BLOCK_BYTES,
            Self::Aes128Ctr | Self::Aes192Ctr | Self::Aes256Ctr => COUNTER_IV_BYTES,
            Self::TripleDesCbc => tdes::BLOCK_BYTES,
        }
    }

    const fn align(self) -> usize {
        match self {
            Self::Aes128Cbc | Self::Aes192Cbc | Self::Aes256Cbc => BLOCK_BYTES,
            Self::TripleDesCbc => tdes::BLOCK_BYTES,
            _ => ALIGN,
        }
    }
}

impl Integrity {
    /// All HMACs.
    pub const ALL: &[Self] = &[
        Self::HmacMd5_96,
        Self::HmacSha1_96,
        Self::HmacSha256_128,
        Self::HmacSha384_192,
        Self::HmacSha512_256,
    ];

    /// Returns the length of the key in bytes, which is that of the digest.
    pub const fn key_bytes(self) -> usize {
        match self {
            Self::HmacMd5_96 => 16,
            Self::HmacSha1_96 => 20,
            Self::HmacSha256_128 => 32,
            Self::HmacSha384_192 => 48,
            Self::HmacSha512_256 => 64,
        }
    }

    /// Returns the length of the ICV in bytes.
    pub const fn icv_bytes(self) -> usize {
        match self {
            Self::HmacMd5_96 | Self::HmacSha1_96 => 12,
            Self::HmacSha256_128 => 16,
            Self::HmacSha384_192 => 24,
            Self::HmacSha512_256 => ICV_BYTES_MAX,
        }
    }
}

/// The lengths of a packet's parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) iv_bytes: usize,
    pub(super) icv_bytes: usize,
    /// The encrypted length is a multiple of this (RFC 4303, 2.4).
    pub(super) align: usize,
}

impl Layout {
    pub(super) const fn before(self) -> usize {
        HEADER_BYTES + self.iv_bytes
    }
}

const fn all() -> [Suite; AEADS.len() + Cipher::ALL.len() * Integrity::ALL.len()] {
    let mut all = [Suite::Aes128Gcm; AEADS.len() + Cipher::ALL.len() * Integrity::ALL.len()];
    let mut place = 0;
    while place < all.len() {
        all[place] = if place < AEADS.len() {
            AEADS[place]
        } else {
            let number = place - AEADS.len();
            Suite::EncryptThenMac(
                Cipher::ALL[number / Integrity::ALL.len()],
                Integrity::ALL[number % Integrity::ALL.len()],
            )
        };
        place += 1;
    }
    all
}

const AEADS: [Suite; 4] = [
    Suite::Aes128Gcm,
    Suite::Aes192Gcm,
    Suite::Aes256Gcm,
    Suite::ChaCha20Poly1305,
];

/// The length of SPI and sequence number.
pub(super) const HEADER_BYTES: usize = 8;
/// The length of an IV that is a counter.
pub(super) const COUNTER_IV_BYTES: usize = 8;
pub(super) const BLOCK_BYTES: usize = 16;
pub(super) const SALT_BYTES: usize = 4;
/// The length of the padding length and next header fields.
pub(super) const TRAILER_BYTES: usize = 2;
pub(super) const ICV_BYTES_MAX: usize = 32;
/// The smallest alignment (RFC 4303, 2.4).
const ALIGN: usize = 4;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_suite_is_there_once_and_within_the_limits() {
        let all: HashSet<_> = Suite::ALL.iter().collect();
        assert_eq!(all.len(), 4 + 8 * 5);
        for suite in Suite::ALL {
            assert!(suite.before_bytes() <= Suite::BEFORE_BYTES_MAX);
            assert!(suite.behind_bytes_max() <= Suite::BEHIND_BYTES_MAX);
            // The upper half of an extended number occupies the place of the ICV while it is computed.
            assert!(suite.icv_bytes() >= 12);
            assert!(suite.layout().align.is_power_of_two());
        }
    }
}
