//! The listener: accepts connections, does their handshakes, and hands on those of known clients
//! with their identities.
//!
//! At most 256 handshakes run at a time; while that many are under way, further connections wait in
//! the system's queue. So clients that begin a handshake and fall silent delay others by one
//! handshake timeout at most, and take no place of an established connection.

mod accept;
mod connection;
mod counts;

pub use self::accept::{Incoming, ListenError, Listener};
pub use self::connection::{Backoff, Connection, ConnectionInfo, moderate};
pub use self::counts::Counts;
