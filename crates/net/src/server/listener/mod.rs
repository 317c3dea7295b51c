//! Lets connections in: accepts them, does their handshakes, and hands on those of clients who are
//! known, with who they are.
//!
//! Handshakes go on beside each other, 256 at most; when that many are under way, the
//! next ones wait in the system's queue, so that clients who begin one and say no more delay others
//! by the time that is allowed for one, and take none of the places of connections that are done.

mod accept;
mod connection;
mod counts;

pub use self::accept::{Incoming, ListenError, Listener};
pub use self::connection::{Backoff, Connection, ConnectionInfo, moderate};
pub use self::counts::Counts;
