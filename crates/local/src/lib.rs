//! Computes private operations of several processes of one machine together.
//!
//! The workers of a server such as nginx are processes. Each has one signature to compute at a time, which leaves lanes
//! empty. Processes with the same private key share memory, a board: each writes its number there and sleeps, and the one
//! that fills the lanes computes for all. No other process has to wake up, and no key leaves a process.
//!
//! A [`Server`] brings them together. A client that proves possession of the private key, running as the same user, gets
//! that key's board. The server itself computes nothing, holds no key and can stop at any time: processes that have their
//! board continue to use it.
//!
//! [`relay`] is for keys that are on another machine.
//!
//! A [`Client`] never waits long for others: it then computes alone, and tries again later. It has no thread and no runtime,
//! and keeps no descriptor, so a library may use it in any process.
//!
//! ```
//! use oarlock::Accelerator;
//! use oarlock::rsa::RsaPrivateKey;
//! use oarlock_local::Client;
//!
//! let accelerator = Accelerator::builder().build()?;
//! let key = RsaPrivateKey::from_pem(include_str!("../../oarlock/tests/keys/rsa2048.pem"))?;
//! let rsa = accelerator.rsa(&key);
//! let client = Client::new("/run/oarlock/local.sock");
//! let together = client.visit(&rsa).and_then(|visit| visit.power(&[2]));
//! let power = match together {
//!     Some(power) => power,
//!     None => rsa.raw_private(&[2])?,
//! };
//! assert_eq!(power, rsa.raw_private(&[2])?);
//! # Ok::<(), oarlock::Error>(())
//! ```

mod board;
mod client;
mod error;
mod join;
mod reception;
pub mod relay;
mod server;
mod socket;
mod visits;

#[doc(hidden)]
pub use self::board::{BareBoard, BareRequest, Place};
pub use self::client::{Client, Visit};
pub use self::error::Error;
pub use self::server::{Limits, Server};
