//! Records of TLS 1.3 (RFC 8446, 5), and in [`dtls`] of DTLS 1.3 (RFC 9147).
//!
//! ```text
//! type, version, length (5) | content | content type (1) | padding | tag (16)
//!                           |-------------- encrypted -------------|
//! |------ authenticated ---------------------------------------------------|
//! ```
//!
//! Another library does the handshake and provides [`Keys`]: a traffic secret, or key, IV and sequence number. A sender
//! creates an [`Outbound`] from them, a receiver an [`Inbound`]. Both take many records per call and spread them over
//! threads if that is faster. Records are numbered and processed in order, whatever the number of threads.
//!
//! ```
//! use oarlock::Accelerator;
//! use oarlock::packet::tls::{ContentType, InboundRecord, Keys, OutboundRecord, Suite};
//!
//! let accelerator = Accelerator::builder().build()?;
//! let keys = Keys::from_secret(Suite::Aes256GcmSha384, &[7; 48]);
//! let mut outbound = accelerator.tls_outbound(&keys)?;
//! let mut inbound = accelerator.tls_inbound(&keys)?;
//!
//! // A buffer with room around the content.
//! let start = OutboundRecord::BEFORE_BYTES;
//! let mut buffer = [0; OutboundRecord::BEFORE_BYTES + 5 + OutboundRecord::BEHIND_BYTES];
//! buffer[start..start + 5].copy_from_slice(b"hello");
//! let content_type = ContentType::APPLICATION_DATA;
//! let mut records = [OutboundRecord::new(&mut buffer, start..start + 5, content_type)];
//! outbound.seal(&mut records);
//! let mut stream = records[0].sealed()?.to_vec();
//! // The start of the next record.
//! stream.extend([23, 3, 3]);
//!
//! let mut records = vec![InboundRecord::default(); 16];
//! let opened = inbound.open(&mut stream, &mut records);
//! opened.end?;
//! assert_eq!((opened.records, opened.bytes), (1, 27));
//! assert_eq!(&stream[records[0].content()], b"hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cut;
pub mod dtls;
mod inbound;
mod inner;
mod keys;
mod message;
mod outbound;
mod outbound_record;
mod secret;
mod suite;

pub use self::cut::{Cut, Padding};
pub use self::inbound::{End, Inbound, InboundRecord, Opened};
pub use self::keys::Keys;
pub use self::message::{is_key_update, key_update};
pub use self::outbound::Outbound;
pub use self::outbound_record::OutboundRecord;
pub use self::suite::{ContentType, Suite};
pub use oarlock_engine::plan::Workers;
