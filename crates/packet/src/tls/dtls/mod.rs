//! Records of DTLS 1.3 (RFC 9147, 4).
//!
//! ```text
//! 001CSLEE (1) | connection ID | number (1 or 2) | length (0 or 2) | content | content type (1) | padding | tag (16)
//!                              |--- encrypted ---|                 |-------------- encrypted -------------|
//! |------------------------------------ authenticated --------------------------------------------------------|
//! ```
//!
//! E is the low two bits of the epoch. C, S and L say whether there is a connection ID, a two-byte number, and a
//! length. A record without a length ends with its datagram.
//!
//! ```
//! use oarlock::Accelerator;
//! use oarlock::packet::tls::{ContentType, Keys, OutboundRecord, Suite};
//!
//! let accelerator = Accelerator::builder().build()?;
//! // Epoch 3 is that of the first application data.
//! let keys = Keys::from_secret(Suite::ChaCha20Poly1305Sha256, &[7; 32]);
//! let mut outbound = accelerator.dtls_outbound(3, &keys)?;
//! let mut inbound = accelerator.dtls_inbound(3, &keys)?;
//!
//! let start = outbound.before_bytes();
//! let mut buffer = vec![0; start + 5 + OutboundRecord::BEHIND_BYTES];
//! buffer[start..start + 5].copy_from_slice(b"hello");
//! let content_type = ContentType::APPLICATION_DATA;
//! let mut records = [OutboundRecord::new(&mut buffer, start..start + 5, content_type)];
//! outbound.seal(&mut records);
//! let mut datagram = records[0].sealed()?.to_vec();
//!
//! let mut records: Vec<_> = inbound.split(&mut datagram).collect();
//! inbound.open(&mut records);
//! let opened = records[0].opened()?;
//! assert_eq!((opened.content, opened.epoch, opened.sequence), (&b"hello"[..], 3, 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod epoch;
mod header;
mod inbound;
mod inbound_record;
mod mask;
mod outbound;

pub use self::header::{ConnectionId, Format};
pub use self::inbound::Inbound;
pub use self::inbound_record::{InboundRecord, Opened, Split};
pub use self::outbound::Outbound;
