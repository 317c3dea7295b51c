//! Sends a range of a file, or a buffer, to a socket as records of TLS 1.3 (RFC 8446, 5) in one call, as sendfile(2) does
//! for plain sockets.
//!
//! ```text
//! file -> preadv -> | header |  16 KiB  | type, tag | header |  16 KiB  | ...  -> sealed in place -> send
//! ```
//!
//! The application does the handshake with a library of its choice, and hands over the keys. Bytes are read to the place of
//! the records' contents, sealed there, and sent, so only the kernel copies them: into the buffer and out of it.
//! docs/internals/packets.md describes the other ways that were measured.

mod sender;

pub use self::sender::{Ended, Sender, Sent};
