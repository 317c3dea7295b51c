//! A range of a file, or a buffer, to a socket as records of TLS 1.3 (RFC 8446, 5), in one call: what
//! sendfile(2) is for plain sockets.
//!
//! ```text
//! file -> preadv -> | header |  16 KiB  | type, tag | header |  16 KiB  | ...  -> sealed in place -> send
//! ```
//!
//! The application does the handshake with a library of its choice, and hands the keys over. Bytes are
//! read to where the records' contents lie, sealed there, and sent, so they are copied by the kernel alone:
//! into the buffer and out of it. docs/internals/packets.md has the other ways that were measured.

mod sender;

pub use self::sender::{Ended, Sender, Sent};
