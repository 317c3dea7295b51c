//! Many packets in one call: the contents of a batch, and the sides that compute it.
//!
//! ```text
//! buffers.rs   keys, IVs and buffers, the same for every side      side.rs   what a side is
//! each.rs      libraries that take a packet at a time
//! ```

mod buffers;
pub(crate) mod each;
mod side;

pub(crate) use buffers::{Batch, PACKETS_MAX, Packets, bytes_of, iv_of, with_requests};
pub(crate) use side::{Done, Side};
