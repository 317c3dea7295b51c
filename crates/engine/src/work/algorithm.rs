//! The algorithms, by name.

use std::fmt;

#[cfg(feature = "legacy")]
use oarlock_legacy::Cipher;

/// The way in which an algorithm transforms its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Generates a keystream from a counter. Its sessions are [`AcceleratedCtr`](crate::cipher::AcceleratedCtr).
    Stream {
        /// Bytes of keystream per counter block: 8, 16 or 64.
        block_bytes: usize,
        /// Bits of the counter block that count: 32, 64 or 128. The rest are fixed.
        counter_bits: u32,
        /// The length of the IV in bytes.
        iv_bytes: usize,
    },
    /// Encrypts and authenticates. Its sessions are [`AcceleratedAead`](crate::aead::AcceleratedAead).
    Aead,
    /// Chains blocks. Its sessions are [`AcceleratedCbc`](crate::cipher::AcceleratedCbc).
    Cbc,
}

const CTR_128: Kind = Kind::Stream {
    block_bytes: 16,
    counter_bits: 128,
    iv_bytes: 16,
};
const CTR_64: Kind = Kind::Stream {
    block_bytes: 8,
    counter_bits: 64,
    iv_bytes: 8,
};
const CHACHA: Kind = Kind::Stream {
    block_bytes: 64,
    counter_bits: 32,
    iv_bytes: 12,
};

/// The direction of a cipher's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// Encryption, or sealing with an AEAD.
    Encrypt,
    /// Decryption, or opening with an AEAD.
    Decrypt,
}

impl Direction {
    /// Returns the name used in listings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Encrypt => "encrypt",
            Self::Decrypt => "decrypt",
        }
    }
}

/// An error: the key does not fit the algorithm.
#[derive(Debug)]
pub(crate) struct InvalidKey(pub(crate) String);

macro_rules! algorithms {
    ($($(#[$doc:meta])* $variant:ident $name:literal $key_bytes:literal $kind:expr,)+) => {
        /// An algorithm with its key size.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Algorithm {
            $($(#[$doc])* $variant,)+
        }

        impl Algorithm {
            /// Every algorithm.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Returns the name used in listings, statistics and on the command line. It is OpenSSL's name if there is one.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// Returns the key length in bytes.
            pub const fn key_bytes(self) -> usize {
                match self {
                    $(Self::$variant => $key_bytes,)+
                }
            }

            /// Returns how the algorithm transforms its data.
            pub const fn kind(self) -> Kind {
                match self {
                    $(Self::$variant => $kind,)+
                }
            }
        }
    };
}

algorithms! {
    /// AES-CTR (SP 800-38A, 6.5) with a 16-byte key.
    Aes128Ctr "aes-128-ctr" 16 CTR_128,
    /// AES-CTR with a 24-byte key.
    Aes192Ctr "aes-192-ctr" 24 CTR_128,
    /// AES-CTR with a 32-byte key.
    Aes256Ctr "aes-256-ctr" 32 CTR_128,
    /// ChaCha20 (RFC 8439, 2.4) with a nonce of 12 bytes; the block counter starts at 0.
    ChaCha20 "chacha20" 32 CHACHA,
    /// AES-GCM (SP 800-38D) with a 16-byte key.
    Aes128Gcm "aes-128-gcm" 16 Kind::Aead,
    /// AES-GCM with a 24-byte key.
    Aes192Gcm "aes-192-gcm" 24 Kind::Aead,
    /// AES-GCM with a 32-byte key.
    Aes256Gcm "aes-256-gcm" 32 Kind::Aead,
    /// ChaCha20-Poly1305 (RFC 8439, 2.8).
    ChaCha20Poly1305 "chacha20-poly1305" 32 Kind::Aead,
    /// AES-CBC (SP 800-38A, 6.2) with a 16-byte key.
    Aes128Cbc "aes-128-cbc" 16 Kind::Cbc,
    /// AES-CBC with a 24-byte key.
    Aes192Cbc "aes-192-cbc" 24 Kind::Cbc,
    /// AES-CBC with a 32-byte key.
    Aes256Cbc "aes-256-cbc" 32 Kind::Cbc,
    /// Camellia (RFC 3713) in counter mode, 16-byte key.
    Camellia128Ctr "camellia-128-ctr" 16 CTR_128,
    /// Camellia in counter mode, 24-byte key.
    Camellia192Ctr "camellia-192-ctr" 24 CTR_128,
    /// Camellia in counter mode, 32-byte key.
    Camellia256Ctr "camellia-256-ctr" 32 CTR_128,
    /// Twofish in counter mode, 16-byte key.
    Twofish128Ctr "twofish-128-ctr" 16 CTR_128,
    /// Twofish in counter mode, 32-byte key.
    Twofish256Ctr "twofish-256-ctr" 32 CTR_128,
    /// Serpent in counter mode, 16-byte key.
    Serpent128Ctr "serpent-128-ctr" 16 CTR_128,
    /// Serpent in counter mode, 32-byte key.
    Serpent256Ctr "serpent-256-ctr" 32 CTR_128,
    /// ARIA (RFC 5794) in counter mode, 16-byte key.
    Aria128Ctr "aria-128-ctr" 16 CTR_128,
    /// ARIA in counter mode, 24-byte key.
    Aria192Ctr "aria-192-ctr" 24 CTR_128,
    /// ARIA in counter mode, 32-byte key.
    Aria256Ctr "aria-256-ctr" 32 CTR_128,
    /// SM4 (GB/T 32907) in counter mode, 16-byte key.
    Sm4Ctr "sm4-ctr" 16 CTR_128,
    /// CAST-128 (RFC 2144) in counter mode, 16-byte key; 8-byte blocks.
    Cast5Ctr "cast5-ctr" 16 CTR_64,
    /// Blowfish in counter mode, 16-byte key; 8-byte blocks.
    BlowfishCtr "bf-ctr" 16 CTR_64,
    /// Triple DES (SP 800-67) in counter mode, 24-byte key; 8-byte blocks.
    TripleDesCtr "des-ede3-ctr" 24 CTR_64,
    /// A block cipher with 16-byte blocks in counter mode, supplied by the caller: `Accelerator::block_ctr`. The cipher
    /// itself manages its keys.
    OtherCtr "other-ctr" 0 CTR_128,
    /// Like `OtherCtr`, with 8-byte blocks.
    OtherCtr64 "other-ctr-64" 0 CTR_64,
}

impl Algorithm {
    /// Returns the algorithm with this [`name`](Self::name), unless it is one that callers supply.
    pub fn named(name: &str) -> Option<Self> {
        let known = Self::ALL.iter().copied();
        known
            .filter(|one| one.key_bytes() > 0)
            .find(|one| one.name() == name)
    }

    /// Whether this library's own kernels compute the algorithm. Ciphers that a caller supplies are not built in, nor are
    /// the legacy ones without the feature `legacy`.
    pub const fn is_built_in(self) -> bool {
        match self {
            Self::Aes128Ctr
            | Self::Aes192Ctr
            | Self::Aes256Ctr
            | Self::ChaCha20
            | Self::Aes128Gcm
            | Self::Aes192Gcm
            | Self::Aes256Gcm
            | Self::ChaCha20Poly1305
            | Self::Aes128Cbc
            | Self::Aes192Cbc
            | Self::Aes256Cbc => true,
            _ => cfg!(feature = "legacy") && self.key_bytes() > 0,
        }
    }

    /// Returns the `oarlock-legacy` cipher of this algorithm, or `None` for others.
    #[cfg(feature = "legacy")]
    pub(crate) const fn legacy_cipher(self) -> Option<Cipher> {
        match self {
            Self::Camellia128Ctr | Self::Camellia192Ctr | Self::Camellia256Ctr => {
                Some(Cipher::Camellia)
            }
            Self::Aria128Ctr | Self::Aria192Ctr | Self::Aria256Ctr => Some(Cipher::Aria),
            Self::Serpent128Ctr | Self::Serpent256Ctr => Some(Cipher::Serpent),
            Self::Twofish128Ctr | Self::Twofish256Ctr => Some(Cipher::Twofish),
            Self::Sm4Ctr => Some(Cipher::Sm4),
            Self::Cast5Ctr => Some(Cipher::Cast5),
            Self::BlowfishCtr => Some(Cipher::Blowfish),
            _ => None,
        }
    }

    pub(crate) const fn aes_ctr(key_bytes: usize) -> Option<Self> {
        match key_bytes {
            16 => Some(Self::Aes128Ctr),
            24 => Some(Self::Aes192Ctr),
            32 => Some(Self::Aes256Ctr),
            _ => None,
        }
    }

    pub(crate) const fn aes_cbc(key_bytes: usize) -> Option<Self> {
        match key_bytes {
            16 => Some(Self::Aes128Cbc),
            24 => Some(Self::Aes192Cbc),
            32 => Some(Self::Aes256Cbc),
            _ => None,
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
