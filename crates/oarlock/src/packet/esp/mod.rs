//! IPsec's Encapsulating Security Payload (RFC 4303).
//!
//! ```text
//! SPI (4) | sequence number (4) | IV (8) | payload | TFC padding | padding | its length (1) | next header (1) | ICV (16)
//!                                        |------------------------- encrypted ----------------------------|
//! |------------ authenticated; with extended numbers their upper half lies between ---------------------|
//! ```
//!
//! An [`Association`] goes one way: a sender makes an [`Outbound`] of it, a receiver an [`Inbound`]. Both
//! take many packets in a call, and share them among threads where that gains.
//!
//! ```
//! use oarlock::Accelerator;
//! use oarlock::packet::esp::{Association, InboundPacket, OutboundPacket, Suite};
//!
//! let accelerator = Accelerator::builder().build()?;
//! // The key and, behind it, a salt of 4 bytes (RFC 4106, 8.1).
//! let association = Association::new(0x1001, Suite::Aes256Gcm, &[7; 36]);
//! let mut outbound = accelerator.esp_outbound(&association)?;
//! let mut inbound = accelerator.esp_inbound(&association)?;
//!
//! // A buffer with room before and behind the payload, which is an IPv4 packet (next header 4).
//! let mut buffer = [0; 16 + 1400 + Suite::BEHIND_BYTES_MAX];
//! let mut packets = [OutboundPacket::new(&mut buffer, 16..1416, 4)];
//! outbound.seal(&mut packets);
//! let mut sent = packets[0].sealed()?.to_vec();
//!
//! let mut packets = [InboundPacket::new(&mut sent)];
//! inbound.open(&mut packets);
//! let opened = packets[0].opened()?;
//! assert_eq!((opened.payload, opened.next_header, opened.sequence), (&[0; 1400][..], 4, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod inbound;
mod outbound;

use std::fmt;
use std::sync::Arc;

pub use self::inbound::{Inbound, InboundPacket, Opened};
pub use self::outbound::{Outbound, OutboundPacket};
use crate::Error;
use crate::aead::AcceleratedAead;
use crate::aead::TAG_BYTES;
use crate::plan::engine::Engine;
use crate::work::algorithm::Algorithm;

/// What encrypts and authenticates the packets of an association.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Suite {
    /// AES-GCM with a key of 16 bytes and an ICV of 16 (RFC 4106).
    Aes128Gcm,
    /// AES-GCM with a key of 24 bytes.
    Aes192Gcm,
    /// AES-GCM with a key of 32 bytes.
    Aes256Gcm,
    /// ChaCha20-Poly1305 (RFC 7634).
    ChaCha20Poly1305,
}

impl Suite {
    /// Every suite.
    pub const ALL: &[Self] = &[
        Self::Aes128Gcm,
        Self::Aes192Gcm,
        Self::Aes256Gcm,
        Self::ChaCha20Poly1305,
    ];

    /// The most bytes that any suite needs behind a payload without TFC padding.
    pub const BEHIND_BYTES_MAX: usize = PAD_BYTES_MAX + TRAILER_BYTES + TAG_BYTES;

    /// Bytes of its keying material: the key, and the salt behind it.
    pub const fn key_bytes(self) -> usize {
        self.algorithm().key_bytes() + SALT_BYTES
    }

    const fn algorithm(self) -> Algorithm {
        match self {
            Self::Aes128Gcm => Algorithm::Aes128Gcm,
            Self::Aes192Gcm => Algorithm::Aes192Gcm,
            Self::Aes256Gcm => Algorithm::Aes256Gcm,
            Self::ChaCha20Poly1305 => Algorithm::ChaCha20Poly1305,
        }
    }
}

/// One direction of a security association, as a key exchange agrees on it.
#[derive(Clone, Copy)]
pub struct Association<'a> {
    spi: u32,
    suite: Suite,
    key: &'a [u8],
    extended: bool,
    window: usize,
}

impl<'a> Association<'a> {
    /// With numbers of 32 bits and a window of 64 packets. `key` has [`Suite::key_bytes`] bytes.
    pub fn new(spi: u32, suite: Suite, key: &'a [u8]) -> Self {
        Self {
            spi,
            suite,
            key,
            extended: false,
            window: 64,
        }
    }

    /// With sequence numbers of 64 bits (RFC 4303, 2.2.1), where both ends have agreed on them.
    #[must_use]
    pub fn extended_sequence_numbers(mut self, extended: bool) -> Self {
        self.extended = extended;
        self
    }

    /// Packets that may arrive late, up to [`ReplayWindow::SIZE_MAX`](super::ReplayWindow::SIZE_MAX).
    #[must_use]
    pub fn replay_window(mut self, packets: usize) -> Self {
        self.window = packets;
        self
    }
}

impl fmt::Debug for Association<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Association")
            .field("spi", &self.spi)
            .field("suite", &self.suite)
            .finish_non_exhaustive()
    }
}

/// What both directions share.
struct Parts {
    spi: u32,
    extended: bool,
    salt: [u8; SALT_BYTES],
    aead: AcceleratedAead,
}

impl Parts {
    fn open(engine: &Arc<Engine>, association: &Association<'_>) -> Result<Self, Error> {
        let Association { spi, suite, .. } = *association;
        if spi == 0 {
            return Err(Error::InvalidInput(
                "an SPI of 0 is for local use and never sent (RFC 4303, 2.1)".into(),
            ));
        }
        let Some((key, salt)) = association
            .key
            .split_last_chunk()
            .filter(|(key, _)| key.len() == suite.algorithm().key_bytes())
        else {
            return Err(Error::InvalidKey(format!(
                "the keying material of {suite:?} has {} bytes, the last {SALT_BYTES} of which are the \
                 salt; this one has {}",
                suite.key_bytes(),
                association.key.len()
            )));
        };
        Ok(Self {
            spi,
            extended: association.extended,
            salt: *salt,
            aead: AcceleratedAead::open_session(engine, suite.algorithm(), key)?,
        })
    }

    fn nonce(&self, iv: [u8; IV_BYTES]) -> [u8; SALT_BYTES + IV_BYTES] {
        let mut nonce = [0; SALT_BYTES + IV_BYTES];
        nonce[..SALT_BYTES].copy_from_slice(&self.salt);
        nonce[SALT_BYTES..].copy_from_slice(&iv);
        nonce
    }

    /// RFC 4106, 5: the header, with the upper half of an extended number in its middle.
    fn with_aad<T>(&self, sequence: u64, then: impl FnOnce(&[u8]) -> T) -> T {
        let spi = self.spi.to_be_bytes();
        let mut aad = [0; 12];
        aad[..4].copy_from_slice(&spi);
        if self.extended {
            aad[4..].copy_from_slice(&sequence.to_be_bytes());
            return then(&aad);
        }
        aad[4..8].copy_from_slice(&(sequence as u32).to_be_bytes());
        then(&aad[..8])
    }
}

/// SPI and sequence number.
const HEADER_BYTES: usize = 8;
const IV_BYTES: usize = 8;
const SALT_BYTES: usize = 4;
/// Length of the padding, and next header.
const TRAILER_BYTES: usize = 2;
/// What is encrypted has a multiple of this (RFC 4303, 2.4).
const ALIGN: usize = 4;
const PAD_BYTES_MAX: usize = ALIGN - 1;
/// Of packets that only hide traffic (RFC 4303, 2.6).
const NO_NEXT_HEADER: u8 = 59;

/// The padding before the trailer, so that `bytes` and both end aligned.
const fn pad_bytes(bytes: usize) -> usize {
    (bytes + TRAILER_BYTES).next_multiple_of(ALIGN) - bytes - TRAILER_BYTES
}
