//! IPsec's Encapsulating Security Payload (RFC 4303).
//!
//! ```text
//! SPI (4) | sequence number (4) | IV | payload | TFC padding | padding | its length (1) | next header (1) | ICV
//!                                    |------------------------- encrypted ----------------------------|
//! |------------------------------------ authenticated -------------------------------------------------|
//! ```
//!
//! The upper half of an extended sequence number is authenticated too, and not sent. A [`Suite`] says what
//! encrypts and authenticates, and how long IV and ICV are.
//!
//! An [`Association`] goes one way: a sender makes an [`Outbound`] of it, a receiver an [`Inbound`]. Both
//! take many packets in a call, and share them among threads where that gains. How many threads may take
//! part can be changed while packets flow, by [`Workers`]. Whoever does a packet, its number and its result
//! go by the caller's order: the packets of a flow keep theirs.
//!
//! ```
//! use oarlock::Accelerator;
//! use oarlock::packet::esp::{Association, InboundPacket, OutboundPacket, Suite};
//!
//! let accelerator = Accelerator::builder().build()?;
//! // The key and, behind it, a salt of 4 bytes (RFC 4106, 8.1).
//! let suite = Suite::Aes256Gcm;
//! let association = Association::new(0x1001, suite, &[7; 36]);
//! let mut outbound = accelerator.esp_outbound(&association)?;
//! let mut inbound = accelerator.esp_inbound(&association)?;
//!
//! // A buffer with room before and behind the payload, which is an IPv4 packet (next header 4).
//! let start = suite.before_bytes();
//! let mut buffer = vec![0; start + 1400 + suite.behind_bytes_max()];
//! let mut packets = [OutboundPacket::new(&mut buffer, start..start + 1400, 4)];
//! outbound.seal(&mut packets);
//! let mut sent = packets[0].sealed()?.to_vec();
//!
//! let mut packets = [InboundPacket::new(&mut sent)];
//! inbound.open(&mut packets);
//! let opened = packets[0].opened()?;
//! assert_eq!((opened.payload, opened.next_header, opened.sequence), (&[0; 1400][..], 4, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod chained;
mod inbound;
mod outbound;
mod protection;
mod random;
mod suite;

use std::fmt;
use std::sync::Arc;

pub use self::inbound::{Inbound, InboundPacket, Opened};
pub use self::outbound::{Outbound, OutboundPacket};
use self::protection::Protection;
pub use self::suite::{Cipher, Integrity, Suite};
use self::suite::{HEADER_BYTES, Layout};
use crate::Error;
use crate::plan::engine::Engine;
use crate::plan::many::Flow;
pub use crate::plan::many::Workers;

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
    frame: Frame,
    protection: Protection,
    flow: Flow,
}

/// What a packet looks like.
#[derive(Clone, Copy)]
struct Frame {
    spi: u32,
    extended: bool,
    layout: Layout,
}

impl Parts {
    fn open(engine: &Arc<Engine>, association: &Association<'_>) -> Result<Self, Error> {
        let Association { spi, suite, .. } = *association;
        if spi == 0 {
            return Err(Error::InvalidInput(
                "an SPI of 0 is for local use and never sent (RFC 4303, 2.1)".into(),
            ));
        }
        if association.key.len() != suite.key_bytes() {
            return Err(Error::InvalidKey(format!(
                "the keying material of {suite:?} has {} bytes; this one has {}",
                suite.key_bytes(),
                association.key.len()
            )));
        }
        let (protection, flow) = Protection::open(engine, suite, association.key)?;
        Ok(Self {
            frame: Frame {
                spi,
                extended: association.extended,
                layout: suite.layout(),
            },
            protection,
            flow,
        })
    }

    /// Hands in what was counted, if helpers took part: else it waits until the end.
    fn hand_in_what_was_shared(&mut self) {
        if self.flow.has_shared() {
            self.hand_in();
        }
    }

    fn hand_in(&mut self) {
        if let Some((device, algorithm)) = self.protection.served_by() {
            self.flow.hand_in(&device, algorithm);
        }
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        self.hand_in();
    }
}

impl Frame {
    /// RFC 4106, 5: the header, with the upper half of an extended number in its middle.
    fn with_aad<T>(self, sequence: u64, then: impl FnOnce(&[u8]) -> T) -> T {
        let spi = self.spi.to_be_bytes();
        let mut aad = [0; HEADER_BYTES + UPPER_HALF_BYTES];
        aad[..4].copy_from_slice(&spi);
        if self.extended {
            aad[4..].copy_from_slice(&sequence.to_be_bytes());
            return then(&aad);
        }
        aad[4..8].copy_from_slice(&(sequence as u32).to_be_bytes());
        then(&aad[..8])
    }

    /// Bytes of the number that are authenticated behind a packet and not sent (RFC 4303, 3.3.2.1).
    fn hidden_bytes(self) -> usize {
        if self.extended { UPPER_HALF_BYTES } else { 0 }
    }
}

const UPPER_HALF_BYTES: usize = 4;
/// Of packets that only hide traffic (RFC 4303, 2.6).
const NO_NEXT_HEADER: u8 = 59;
