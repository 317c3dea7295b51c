//! Packets and records, many in one call: what `oarlock.packet` exports.
//!
//! Each class is one direction of an association or connection. A call copies its packets behind one another, with room for
//! headers and tags. The library works in that buffer.

mod batch;
mod dtls;
mod esp;
mod failure;
mod origin;
mod srtp;
mod tls;

pub use self::dtls::{DtlsInbound, DtlsOutbound};
pub use self::esp::{EspInbound, EspOutbound};
pub use self::failure::add_to;
pub use self::srtp::{SrtpInbound, SrtpOutbound};
pub use self::tls::{TlsInbound, TlsOutbound};
