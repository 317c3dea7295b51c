//! Cipher suites and content types.

use oarlock_engine::Algorithm;

/// A cipher suite of TLS 1.3 and DTLS 1.3 (RFC 8446, appendix B.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Suite {
    /// `TLS_AES_128_GCM_SHA256`.
    Aes128GcmSha256,
    /// `TLS_AES_256_GCM_SHA384`.
    Aes256GcmSha384,
    /// `TLS_CHACHA20_POLY1305_SHA256`.
    ChaCha20Poly1305Sha256,
}

impl Suite {
    /// All suites.
    pub const ALL: &[Self] = &[
        Self::Aes128GcmSha256,
        Self::Aes256GcmSha384,
        Self::ChaCha20Poly1305Sha256,
    ];

    /// Returns the number in the registry of TLS cipher suites.
    pub const fn id(self) -> u16 {
        match self {
            Self::Aes128GcmSha256 => 0x1301,
            Self::Aes256GcmSha384 => 0x1302,
            Self::ChaCha20Poly1305Sha256 => 0x1303,
        }
    }

    /// Returns the suite with this number.
    pub fn from_id(id: u16) -> Option<Self> {
        Self::ALL.iter().copied().find(|suite| suite.id() == id)
    }

    /// Returns the length of a key in bytes.
    pub const fn key_bytes(self) -> usize {
        match self {
            Self::Aes128GcmSha256 => 16,
            Self::Aes256GcmSha384 | Self::ChaCha20Poly1305Sha256 => 32,
        }
    }

    /// Returns the length of a traffic secret in bytes, which is that of the suite's hash.
    pub const fn secret_bytes(self) -> usize {
        match self {
            Self::Aes128GcmSha256 | Self::ChaCha20Poly1305Sha256 => 32,
            Self::Aes256GcmSha384 => 48,
        }
    }

    /// Returns the most records that a key may protect: 2^24.5 with AES-GCM (RFC 8446, 5.5; RFC 9147, 4.5.3). With
    /// ChaCha20-Poly1305, only the sequence numbers limit it.
    pub const fn records_max(self) -> u64 {
        match self {
            Self::Aes128GcmSha256 | Self::Aes256GcmSha384 => 23_726_566,
            Self::ChaCha20Poly1305Sha256 => u64::MAX,
        }
    }

    pub(super) const fn algorithm(self) -> Algorithm {
        match self {
            Self::Aes128GcmSha256 => Algorithm::Aes128Gcm,
            Self::Aes256GcmSha384 => Algorithm::Aes256Gcm,
            Self::ChaCha20Poly1305Sha256 => Algorithm::ChaCha20Poly1305,
        }
    }
}

/// The type of a record's content (RFC 8446, 5.1; RFC 9147, 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ContentType(pub u8);

impl ContentType {
    /// An alert, such as `close_notify`.
    pub const ALERT: Self = Self(21);
    /// A handshake message or a part of one, such as KeyUpdate.
    pub const HANDSHAKE: Self = Self(22);
    /// Application data.
    pub const APPLICATION_DATA: Self = Self(23);
    /// A DTLS acknowledgement (RFC 9147, 7).
    pub const ACK: Self = Self(26);

    /// Whether a record may have this type and length. Type 0 is padding, and change_cipher_spec is never protected
    /// (RFC 8446, 5). Alerts and handshake messages are not empty (5.1).
    pub(super) fn may_have(self, content_bytes: usize) -> bool {
        match self {
            Self(0 | CHANGE_CIPHER_SPEC) => false,
            Self::ALERT | Self::HANDSHAKE => content_bytes > 0,
            _ => true,
        }
    }
}

const CHANGE_CIPHER_SPEC: u8 = 20;
