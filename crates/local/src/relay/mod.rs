//! Signatures with keys that are on another machine.
//!
//! A [`Relay`] has connections to that machine, and the certificate for its requests. Programs of this machine ask the relay
//! through a socket, without their own thread or runtime: one question per connection, or, if they ask often, one after the
//! other on a connection that stays open.
//!
//! ```text
//! reference.rs  the file that refers to such a key
//! message.rs    a question and its answer
//! keys.rs       a list of keys
//! breaker.rs    limits how often a program waits without an answer
//! client.rs     sends questions
//! lasting.rs    sends questions on connections that stay open
//! server.rs     accepts questions, and sends the answers that its caller provides
//! ```

mod breaker;
mod client;
mod keys;
mod lasting;
mod message;
mod reference;
mod server;

pub use self::breaker::RelayBreaker;
pub use self::client::{Asked, Client, NoAnswer};
pub use self::keys::{KeyList, ListedKey, Rights, read_list};
pub use self::lasting::LastingClient;
pub use self::message::{Answer, Operation, Question, Scheme, read_answer};
pub use self::reference::{InvalidReference, Reference, public_key_digest};
pub use self::server::{Allowed, Relay, Reply};
