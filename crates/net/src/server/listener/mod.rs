//! The listener: accepts connections, performs their handshakes, and hands on those of known clients with their identities.
//!
//! A bounded number of connections wait for their handshakes; while all places are taken, a further connection displaces the
//! oldest silent one of the network with the most (`crowd`). So clients that begin a handshake and fall silent delay no
//! others, and take no place of an established connection. Handshakes take turns (`turns`), so that a flood of them does not
//! delay open connections.

mod accept;
mod activity;
mod connection;
mod counts;
mod crowd;
mod debt;
mod descriptors;
mod refusal;
mod slice;
mod standing;
mod turns;

pub use self::accept::{Incoming, ListenError, Listener};
pub use self::activity::Activity;
pub use self::connection::{Backoff, Connection, ConnectionInfo, moderate};
pub use self::counts::Counts;
pub(super) use self::crowd::{Bounds, Crowd, Member, Stage};
pub use self::debt::Debt;
pub(super) use self::debt::spent;
pub(super) use self::descriptors::{are_out, share_of, take_all};
pub use self::standing::Standing;
