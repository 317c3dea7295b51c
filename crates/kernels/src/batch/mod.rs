//! Many independent requests in one call, each with its own key, nonce or IV, and length.
//!
//! Work that is a chain within one message (CBC encryption, a hash) leaves most of a processor idle. Here each lane of the
//! registers has its own message. A lane whose message ends takes the next one, so requests may have any lengths; time
//! depends on lengths, never on contents.
//!
//! docs/internals/packets.md has the instruction counts behind the design of the kernels.

#[cfg(target_arch = "x86_64")]
mod beside;
mod cbc;
mod chained;
mod ctr;
mod gcm;
mod hmac;
mod tdes;

pub use crate::hash::{Md5, Sha1, Sha256, Sha384, Sha512};
pub use cbc::{CbcStream, encrypt_cbc};
pub use chained::{CbcHmac, Cipher, encrypt_then_mac};
pub use ctr::{CtrPacket, apply_ctr};
pub use gcm::{GcmPacket, open_gcm, seal_gcm};
pub use hmac::{Hash, HashBackend, HmacKey, Mac, hmac};
pub use tdes::{TdesCbcStream, encrypt_tdes_cbc};

#[cfg(debug_assertions)]
pub use crate::dispatch::batch as dispatch;
