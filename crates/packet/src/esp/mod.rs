//! IPsec's Encapsulating Security Payload (RFC 4303).
//!
//! ```text
//! SPI (4) | sequence number (4) | IV | payload | TFC padding | padding | its length (1) | next header (1) | ICV
//!                                    |------------------------- encrypted ----------------------------|
//! |------------------------------------ authenticated -------------------------------------------------|
//! ```
//!
//! The upper half of an extended sequence number is authenticated but not sent. A [`Suite`] defines encryption,
//! authentication, and the lengths of IV and ICV.
//!
//! An [`Association`] has one direction: a sender creates an [`Outbound`] from it, a receiver an [`Inbound`]. Both take
//! many packets per call and spread them over threads if that is faster; [`Workers`] changes the number of threads
//! while packets flow. Sequence numbers and results follow the caller's order, whichever thread computes a packet.
//!
//! ```
//! use oarlock::Accelerator;
//! use oarlock::packet::esp::{Association, InboundPacket, OutboundPacket, Suite};
//!
//! let accelerator = Accelerator::builder().build()?;
//! // The key, then a salt of 4 bytes (RFC 4106, 8.1).
//! let suite = Suite::Aes256Gcm;
//! let association = Association::new(0x1001, suite, &[7; 36]);
//! let mut outbound = accelerator.esp_outbound(&association)?;
//! let mut inbound = accelerator.esp_inbound(&association)?;
//!
//! // A buffer with room before and after the payload, which is an IPv4 packet (next header 4).
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

mod association;
mod chained;
mod frame;
mod inbound;
mod inbound_packet;
mod names;
mod outbound;
mod outbound_packet;
mod protection;
mod random;
mod suite;

pub use self::association::Association;
pub use self::inbound::Inbound;
pub use self::inbound_packet::{InboundPacket, Opened};
pub use self::outbound::Outbound;
pub use self::outbound_packet::OutboundPacket;
pub use self::suite::{Cipher, Integrity, Suite};
pub use oarlock_engine::plan::Workers;
