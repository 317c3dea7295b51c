//! The client: several servers, with connections to each.
//!
//! A request goes to the connection with fewer requests under way of two picked at random (the power of two choices,
//! Mitzenmacher 2001; by tower). The client reopens a broken connection and sends its requests to another one within their
//! deadlines. Operations have no side effects on a server, so repeating one does no harm. Changes of keys (`manage`) have, and are
//! sent once.

mod call;
mod connection;
mod device;
mod directory;
mod handshake;
mod identity;
mod items;
mod job;
mod manage;
mod page;
mod settings;

pub use self::call::Client;
pub use self::device::RemoteDevice;
pub use self::identity::RemoteIdentity;
pub use self::items::{FileKey, Made};
pub use self::job::compute;
pub use self::page::{PageDevice, PageFigures, PageRequests, SERIES_MAX};
pub use self::settings::{CallOptions, ClientError, Fallback, Settings};
pub use crate::proto::request::Operation;
