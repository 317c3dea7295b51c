//! RTP and RTCP, encrypted and authenticated (SRTP and SRTCP: RFC 3711, RFC 6188, RFC 7714).
//!
//! ```text
//! SRTP    RTP header, CSRCs, extension | payload, padding |        MKI | tag (4 or 10)       AES-CM, HMAC-SHA1
//!         RTP header, CSRCs, extension | payload, padding | tag (16) | MKI                   AES-GCM
//!                                      |--- encrypted ----|
//! SRTCP   RTCP header, SSRC | the rest |            E and index (4) | MKI | tag (10)         AES-CM, HMAC-SHA1
//!         RTCP header, SSRC | the rest | tag (16) | E and index (4) | MKI                    AES-GCM
//! ```
//!
//! A sender makes an [`Outbound`] of a [`Policy`], a receiver an [`Inbound`]. Each serves any number of
//! synchronization sources up to a bound, keeps roll-over counter and replay window of each, and takes
//! many packets in a call.
//!
//! ```
//! use oarlock::Accelerator;
//! use oarlock::packet::srtp::{InboundPacket, OutboundPacket, Policy, Suite};
//!
//! let accelerator = Accelerator::builder().build()?;
//! // The master key and, behind it, the master salt of 14 bytes.
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
//! Session keys are derived once from each master key (a key derivation rate of 0, as SDES and DTLS-SRTP
//! have it). Header extensions are authenticated and not encrypted.

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
use oarlock_engine::Algorithm;

/// What encrypts and authenticates the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Suite {
    /// AES-CM with a key of 16 bytes and a tag of 10 (RFC 3711): `AES_CM_128_HMAC_SHA1_80`.
    AesCm128HmacSha1_80,
    /// The same with a tag of 4 bytes for SRTP, 10 for SRTCP (RFC 4568, 6.2): `AES_CM_128_HMAC_SHA1_32`.
    AesCm128HmacSha1_32,
    /// AES-CM with a key of 24 bytes and a tag of 10 (RFC 6188): `AES_192_CM_HMAC_SHA1_80`.
    AesCm192HmacSha1_80,
    /// The same with a tag of 4 bytes for SRTP.
    AesCm192HmacSha1_32,
    /// AES-CM with a key of 32 bytes and a tag of 10 (RFC 6188): `AES_256_CM_HMAC_SHA1_80`.
    AesCm256HmacSha1_80,
    /// The same with a tag of 4 bytes for SRTP.
    AesCm256HmacSha1_32,
    /// AES-GCM with a key of 16 bytes and a tag of 16 (RFC 7714): `AEAD_AES_128_GCM`.
    Aes128Gcm,
    /// AES-GCM with a key of 32 bytes.
    Aes256Gcm,
    /// No encryption, and a tag of 10 bytes: `SRTP_NULL_HMAC_SHA1_80` of RFC 5764.
    NullHmacSha1_80,
    /// The same with a tag of 4 bytes for SRTP.
    NullHmacSha1_32,
}

impl Suite {
    /// Every suite.
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

    /// The most bytes that any suite needs behind a packet of RTP or RTCP without an MKI.
    pub const BEHIND_BYTES_MAX: usize = AEAD_TAG_BYTES + WORD_BYTES;

    /// Bytes of its keying material: the master key, and the master salt behind it.
    pub const fn key_bytes(self) -> usize {
        self.master_key_bytes() + self.salt_bytes()
    }

    /// Bytes of the master key alone, which is as long as the session key of the cipher.
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

/// A master key, and how packets name it.
#[derive(Clone, Copy)]
pub struct MasterKey<'a> {
    /// The master key identifier (RFC 3711, 3.1), which every packet carries; of 1 to
    /// [`MKI_BYTES_MAX`](Self::MKI_BYTES_MAX) bytes, as many for each key of a policy.
    pub mki: &'a [u8],
    /// The master key, and the master salt behind it: [`Suite::key_bytes`] bytes.
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

/// What both ends have agreed on for one direction, as SDES or DTLS-SRTP does.
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
    /// Makes a policy with one master key and no MKI. `key` has [`Suite::key_bytes`] bytes.
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

    /// With up to [`KEYS_MAX`](Self::KEYS_MAX) master keys, which packets name. A sender begins with the
    /// first and goes on to another with [`Outbound::use_key`]; a receiver takes packets under each.
    pub fn with_keys(suite: Suite, keys: &'a [MasterKey<'a>]) -> Self {
        Self {
            keys: PolicyKeys::Named(keys),
            ..Self::new(suite, &[])
        }
    }

    /// The most master keys of a policy.
    pub const KEYS_MAX: usize = 16;

    /// Whether SRTCP is encrypted, as it is unless both ends have agreed otherwise (RFC 4568,
    /// `UNENCRYPTED_SRTCP`). A receiver refuses what is not as agreed.
    #[must_use]
    pub fn encrypt_rtcp(mut self, encrypt: bool) -> Self {
        self.rtcp_encrypted = encrypt && self.suite.encrypts();
        self
    }

    /// Packets that may arrive late, or leave late: 128 unless set, and up to
    /// [`ReplayWindow::SIZE_MAX`](super::ReplayWindow::SIZE_MAX).
    #[must_use]
    pub fn replay_window(mut self, packets: usize) -> Self {
        self.window = packets;
        self
    }

    /// Has the sender keep the tags of as many packets of each source, up to the window, so that it can
    /// protect one of them again: only if header and payload are the same, since two packets under one
    /// number give both away. Without this, a number that was used is refused.
    #[must_use]
    pub fn retransmissions(mut self, packets: usize) -> Self {
        self.retransmissions = packets;
        self
    }

    /// The most synchronization sources of a context, 256 unless set. A receiver counts those of authentic
    /// packets alone.
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

/// The length of a salt, of a master key or of the session key made of it, except for AES-GCM.
const SALT_BYTES: usize = 14;
/// RFC 7714, section 8.1.
const AEAD_SALT_BYTES: usize = 12;
const AEAD_TAG_BYTES: usize = 16;
/// The length of E and the index of SRTCP, and of the roll-over counter.
const WORD_BYTES: usize = 4;
/// The longest packet, protected: what the length field of IP or UDP, or that of RFC 4571, can say.
const PACKET_BYTES_MAX: usize = 65_535;
