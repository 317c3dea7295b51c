//! Many independent requests in one call, each with its own key, nonce or IV, and length.
//!
//! What chains within one message (CBC encryption, a hash) leaves most of a processor idle. Here each
//! lane of the registers has a message of its own. A lane whose message ends takes the next one, so
//! requests may have any lengths; time depends on lengths, never on contents.
//!
//! docs/packets.md has the counts that the kernels were designed by.

mod cbc;
mod chained;
pub(crate) mod hash;
mod hmac;
pub(crate) mod words;

pub use cbc::{CbcStream, encrypt_cbc};
pub use chained::{CbcHmac, encrypt_then_mac};
pub use hash::{Hash, Md5, Sha1, Sha256, Sha384, Sha512};
pub use hmac::{HashBackend, HmacKey, Mac, hmac};

#[cfg(debug_assertions)]
pub use crate::dispatch::batch as dispatch;
