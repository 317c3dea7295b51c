//! Signatures with keys that are on another machine.
//!
//! A [`Relay`] has connections to that machine, and the certificate for its requests. Programs of this machine ask the relay
//! through a socket, one question per connection, without their own thread or runtime.
//!
//! ```text
//! reference.rs  the file that refers to such a key
//! message.rs    a question and its answer
//! client.rs     sends questions
//! server.rs     accepts questions, and sends the answers that its caller provides
//! ```

mod client;
mod message;
mod reference;
mod server;

pub use self::client::{Asked, Client, NoAnswer};
pub use self::message::{Answer, Operation, Question, Scheme, read_answer};
pub use self::reference::{InvalidReference, Reference};
pub use self::server::{Allowed, Relay, Reply};
