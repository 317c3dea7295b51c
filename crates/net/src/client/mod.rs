//! The client: several servers, with connections to each.
//!
//! Of two connections picked at random it takes the one with fewer requests under way (the power of
//! two choices, Mitzenmacher 2001; by tower). A broken connection is opened again; its requests go
//! to another one within their deadlines. Operations have no effect on a server, so repeating one
//! does no harm.

mod call;
mod connection;
mod device;
mod directory;
mod handshake;
mod page;
mod settings;

pub use self::call::Client;
pub use self::device::RemoteDevice;
pub use self::page::{PageDevice, PageFigures, PageRequests, SERIES_MAX};
pub use self::settings::{CallOptions, ClientError, Fallback, Settings};
pub use crate::proto::request::Operation;
