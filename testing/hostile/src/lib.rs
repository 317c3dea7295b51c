//! Clients of the cryptoserver that behave badly. Tests run each kind for a number of actions together with a client
//! that behaves well; `oarlock-bench --targets='hostile-*'` runs each for a minute.
//!
//! ```text
//! kinds     one function for each kind, and the table of them
//!   ↓
//! http2     frames (RFC 9113) over TLS, written by hand: libraries refuse to send most of these
//! grpc      requests as protobuf encodes them, valid and not
//! numbers   keys that are consistent and wrong
//! target    the server, and certificates for as many clients as a kind needs
//! course    how long a client goes on, and what it has done so far
//! watch     what is seen of the server from outside: memory, pages
//! ```
//!
//! It knows nothing of the server's own code, so that an error there is not repeated here. Each kind
//! holds a bounded number of connections and little memory, and talks to loopback addresses only.

mod course;
mod grpc;
mod http2;
mod kinds;
mod numbers;
mod target;
pub mod watch;

pub use course::Course;
pub use kinds::{Kind, Neighbour, calls, kind, kinds, lists, signatures};
pub use target::{MESSAGE_KEY, Target};
