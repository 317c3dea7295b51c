//! The client: several servers, each reached by connections of its own.
//!
//! Of two connections picked at random the one with fewer requests under way is taken (the power of
//! two choices, Mitzenmacher 2001; by tower). A connection that breaks is made anew; what was on its
//! way goes to another one, within the deadline of the request: nothing that a server does changes
//! anything, so that doing it twice does no harm.

mod call;
mod connection;
mod device;
mod directory;
mod settings;

pub use self::call::Client;
pub use self::device::RemoteDevice;
pub use self::settings::{CallOptions, ClientError, Fallback, Settings};
pub use crate::proto::request::Operation;
