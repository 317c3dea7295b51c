//! Keys that stay with the default provider: OpenSSL exports each one here for its first operation, once.
//!
//! ```text
//! key.rs       a key: ours, the default provider's, or both
//! keymgmt.rs   the functions of keys, of every type
//! context.rs   contexts of the default provider's signatures, and places for them
//! ```
//!
//! OpenSSL prefers this provider's operations, and so has the key of an operation exported to it. A key that is refused would be
//! refused again in each operation, which costs more than to pass it on: so all keys of a type are taken.

mod context;
mod key;
mod keymgmt;

pub(crate) use context::{Inner, Place, text};
pub(crate) use key::{Key, Ours};
pub(crate) use keymgmt::{free, get_params, set_params, table};
