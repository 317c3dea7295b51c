//! Encrypted and authenticated RTP and RTCP (SRTP and SRTCP: RFC 3711, RFC 6188, RFC 7714).
//!
//! ```text
//! SRTP    RTP header, CSRCs, extension | payload, padding |        MKI | tag (4 or 10)       AES-CM, HMAC-SHA1
//!         RTP header, CSRCs, extension | payload, padding | tag (16) | MKI                   AES-GCM
//!                                      |--- encrypted ----|
//! SRTCP   RTCP header, SSRC | the rest |            E and index (4) | MKI | tag (10)         AES-CM, HMAC-SHA1
//!         RTCP header, SSRC | the rest | tag (16) | E and index (4) | MKI                    AES-GCM
//! ```
//!
//! A sender creates an [`Outbound`] from a [`Policy`], a receiver an [`Inbound`]. Each serves a bounded number of
//! synchronization sources, keeps a roll-over counter and replay window for each, and takes many packets per call.
//!
//! ```
//! use oarlock::Accelerator;
//! use oarlock::packet::srtp::{InboundPacket, OutboundPacket, Policy, Suite};
//!
//! let accelerator = Accelerator::builder().build()?;
//! // The master key, then the master salt of 14 bytes.
//! let policy = Policy::new(Suite::AesCm128HmacSha1_80, &[7; 30]);
//! let mut outbound = accelerator.srtp_outbound(&policy)?;
//! let mut inbound = accelerator.srtp_inbound(&policy)?;
//!
//! // Version 2, payload type 96, sequence number 1, a timestamp, an SSRC, and 160 bytes of sound.
//! let header = [0x80, 96, 0, 1, 0, 0, 0, 160, 0xca, 0xfe, 0xba, 0xbe];
//! let mut buffer = [0; 12 + 160 + Suite::BEHIND_BYTES_MAX];
//! buffer[..12].copy_from_slice(&header);
//! let mut packets = [OutboundPacket::new(&mut buffer, 172)];
//! outbound.protect(&mut packets);
//! let mut sent = packets[0].protected()?.to_vec();
//!
//! let mut packets = [InboundPacket::new(&mut sent)];
//! inbound.unprotect(&mut packets);
//! let unprotected = packets[0].unprotected()?;
//! assert_eq!(unprotected.packet, [&header[..], &[0; 160]].concat());
//! assert_eq!((unprotected.ssrc, unprotected.index), (0xcafe_babe, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Session keys are derived once from each master key (a key derivation rate of 0, as in SDES and DTLS-SRTP). Header
//! extensions are authenticated but not encrypted.

mod inbound;
mod keys;
mod mac;
mod outbound;
mod state;
mod streams;
#[cfg(test)]
mod vectors;
mod wire;

use std::fmt;

pub use self::inbound::{Inbound, InboundPacket, Unprotected};
pub use self::outbound::{Outbound, OutboundPacket};
pub use self::state::State;
use crate::name_in;
use oarlock_engine::Algorithm;

/// The algorithms that encrypt and authenticate packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Suite {
    /// AES-CM with a 16-byte key and a 10-byte tag (RFC 3711): `AES_CM_128_HMAC_SHA1_80`.
    AesCm128HmacSha1_80,
    /// The same with a 4-byte tag for SRTP and a 10-byte tag for SRTCP (RFC 4568, 6.2): `AES_CM_128_HMAC_SHA1_32`.
    AesCm128HmacSha1_32,
    /// AES-CM with a 24-byte key and a 10-byte tag (RFC 6188): `AES_192_CM_HMAC_SHA1_80`.
    AesCm192HmacSha1_80,
    /// The same with a 4-byte tag for SRTP.
    AesCm192HmacSha1_32,
    /// AES-CM with a 32-byte key and a 10-byte tag (RFC 6188): `AES_256_CM_HMAC_SHA1_80`.
    AesCm256HmacSha1_80,
    /// The same with a 4-byte tag for SRTP.
    AesCm256HmacSha1_32,
    /// AES-GCM with a 16-byte key and a 16-byte tag (RFC 7714): `AEAD_AES_128_GCM`.
    Aes128Gcm,
    /// AES-GCM with a 32-byte key.
    Aes256Gcm,
    /// No encryption and a 10-byte tag: `SRTP_NULL_HMAC_SHA1_80` of RFC 5764.
    NullHmacSha1_80,
    /// The same with a 4-byte tag for SRTP.
    NullHmacSha1_32,
}

impl Suite {
    /// All suites.
    pub const ALL: &[Self] = &[
        Self::AesCm128HmacSha1_80,
        Self::AesCm128HmacSha1_32,
        Self::AesCm192HmacSha1_80,
        Self::AesCm192HmacSha1_32,
        Self::AesCm256HmacSha1_80,
        Self::AesCm256HmacSha1_32,
        Self::Aes128Gcm,
        Self::Aes256Gcm,
        Self::NullHmacSha1_80,
        Self::NullHmacSha1_32,
    ];

    /// All suites, by their names in RFC 3711, 4568, 5764, 6188 and 7714.
    pub const NAMED: &[(&str, Self)] = &[
        ("AES_CM_128_HMAC_SHA1_80", Self::AesCm128HmacSha1_80),
        ("AES_CM_128_HMAC_SHA1_32", Self::AesCm128HmacSha1_32),
        ("AES_192_CM_HMAC_SHA1_80", Self::AesCm192HmacSha1_80),
        ("AES_192_CM_HMAC_SHA1_32", Self::AesCm192HmacSha1_32),
        ("AES_256_CM_HMAC_SHA1_80", Self::AesCm256HmacSha1_80),
        ("AES_256_CM_HMAC_SHA1_32", Self::AesCm256HmacSha1_32),
        ("AEAD_AES_128_GCM", Self::Aes128Gcm),
        ("AEAD_AES_256_GCM", Self::Aes256Gcm),
        ("SRTP_NULL_HMAC_SHA1_80", Self::NullHmacSha1_80),
        ("SRTP_NULL_HMAC_SHA1_32", Self::NullHmacSha1_32),
    ];

    /// Returns the name, such as `AEAD_AES_128_GCM`.
    pub fn name(self) -> &'static str {
        name_in(Self::NAMED, self)
    }

    /// The most bytes that any suite needs after an RTP or RTCP packet without an MKI.
    pub const BEHIND_BYTES_MAX: usize = AEAD_TAG_BYTES + WORD_BYTES;

    /// Returns the length of the key material in bytes: the master key, then the master salt.
    pub const fn key_bytes(self) -> usize {
        self.master_key_bytes() + self.salt_bytes()
    }

    /// Returns the length of the master key alone, which is that of the cipher's session key.
    const fn master_key_bytes(self) -> usize {
        match self {
            Self::AesCm192HmacSha1_80 | Self::AesCm192HmacSha1_32 => 24,
            Self::AesCm256HmacSha1_80 | Self::AesCm256HmacSha1_32 | Self::Aes256Gcm => 32,
            _ => 16,
        }
    }

    const fn salt_bytes(self) -> usize {
        match self.aead() {
            Some(_) => AEAD_SALT_BYTES,
            None => SALT_BYTES,
        }
    }

    const fn aead(self) -> Option<Algorithm> {
        match self {
            Self::Aes128Gcm => Some(Algorithm::Aes128Gcm),
            Self::Aes256Gcm => Some(Algorithm::Aes256Gcm),
            _ => None,
        }
    }

    const fn encrypts(self) -> bool {
        !matches!(self, Self::NullHmacSha1_80 | Self::NullHmacSha1_32)
    }

    const fn tag_bytes(self, protocol: Protocol) -> usize {
        match (self, protocol) {
            (Self::Aes128Gcm | Self::Aes256Gcm, _) => AEAD_TAG_BYTES,
            (
                Self::AesCm128HmacSha1_32
                | Self::AesCm192HmacSha1_32
                | Self::AesCm256HmacSha1_32
                | Self::NullHmacSha1_32,
                Protocol::Rtp,
            ) => 4,
            _ => 10,
        }
    }
}

/// The two protocols that share a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    Rtp,
    Rtcp,
}

/// A master key and the identifier by which packets name it.
#[derive(Clone, Copy)]
pub struct MasterKey<'a> {
    /// The master key identifier (RFC 3711, 3.1), which every packet carries: 1 to
    /// [`MKI_BYTES_MAX`](Self::MKI_BYTES_MAX) bytes, of one length for all keys of a policy.
    pub mki: &'a [u8],
    /// The master key, then the master salt: [`Suite::key_bytes`] bytes.
    pub key: &'a [u8],
}

impl MasterKey<'_> {
    /// The longest identifier.
    pub const MKI_BYTES_MAX: usize = 128;
}

impl fmt::Debug for MasterKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MasterKey")
            .field("mki", &self.mki)
            .finish_non_exhaustive()
    }
}

/// What both ends have agreed on for one direction, for example by SDES or DTLS-SRTP.
#[derive(Clone, Copy)]
pub struct Policy<'a> {
    suite: Suite,
    keys: PolicyKeys<'a>,
    rtcp_encrypted: bool,
    window: usize,
    retransmissions: usize,
    streams_max: usize,
}

#[derive(Clone, Copy)]
enum PolicyKeys<'a> {
    Unnamed(&'a [u8]),
    Named(&'a [MasterKey<'a>]),
}

impl<'a> Policy<'a> {
    /// Creates a policy with one master key and no MKI. `key` has [`Suite::key_bytes`] bytes.
    pub fn new(suite: Suite, key: &'a [u8]) -> Self {
        Self {
            suite,
            keys: PolicyKeys::Unnamed(key),
            rtcp_encrypted: suite.encrypts(),
            window: 128,
            retransmissions: 0,
            streams_max: 256,
        }
    }

    /// Creates a policy with up to [`KEYS_MAX`](Self::KEYS_MAX) master keys, which packets name. A sender begins with
    /// the first and changes keys with [`Outbound::use_key`]. A receiver accepts packets under any of them.
    pub fn with_keys(suite: Suite, keys: &'a [MasterKey<'a>]) -> Self {
        Self {
            keys: PolicyKeys::Named(keys),
            ..Self::new(suite, &[])
        }
    }

    /// The most master keys of a policy.
    pub const KEYS_MAX: usize = 16;

    /// Sets whether SRTCP is encrypted. It is, unless both ends have agreed otherwise (RFC 4568, `UNENCRYPTED_SRTCP`).
    /// A receiver refuses packets that do not match.
    #[must_use]
    pub fn encrypt_rtcp(mut self, encrypt: bool) -> Self {
        self.rtcp_encrypted = encrypt && self.suite.encrypts();
        self
    }

    /// Sets how many packets may arrive or leave late: 128 by default, and up to
    /// [`ReplayWindow::SIZE_MAX`](super::ReplayWindow::SIZE_MAX).
    #[must_use]
    pub fn replay_window(mut self, packets: usize) -> Self {
        self.window = packets;
        self
    }

    /// Makes the sender keep the tags of `packets` packets of each source, up to the window, so that it can protect
    /// them again. A repeated packet must have the same header and payload, because two packets under one number would
    /// reveal both. By default, a number that was used is refused.
    #[must_use]
    pub fn retransmissions(mut self, packets: usize) -> Self {
        self.retransmissions = packets;
        self
    }

    /// Sets the most synchronization sources of a context: 256 by default. A receiver counts only those with an
    /// authentic packet or an expected roll-over counter.
    #[must_use]
    pub fn streams_max(mut self, streams: usize) -> Self {
        self.streams_max = streams;
        self
    }
}

impl fmt::Debug for Policy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Policy")
            .field("suite", &self.suite)
            .finish_non_exhaustive()
    }
}

/// The length of a master salt and of the session salt derived from it, except for AES-GCM.
const SALT_BYTES: usize = 14;
/// The length of a salt for AES-GCM (RFC 7714, 8.1).
const AEAD_SALT_BYTES: usize = 12;
const AEAD_TAG_BYTES: usize = 16;
/// The length of E and the SRTCP index, and of the roll-over counter.
const WORD_BYTES: usize = 4;
/// The longest protected packet that the length field of IP, UDP or RFC 4571 can express.
const PACKET_BYTES_MAX: usize = 65_535;

#[cfg(test)]
mod tests {
    use super::Suite;

    #[test]
    fn every_suite_has_a_name_of_its_own() {
        let names: std::collections::HashSet<_> = Suite::ALL.iter().map(|it| it.name()).collect();
        assert_eq!(names.len(), Suite::ALL.len());
        assert!(!names.contains(""));
    }
}
