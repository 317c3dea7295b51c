//! Keys that stay with the default provider. OpenSSL exports each key to this provider once, for its first operation.
//!
//! ```text
//! key.rs       a key: ours, the default provider's, or both
//! keymgmt.rs   the functions of keys, of every type
//! context.rs   contexts of the default provider's signatures, and places for results
//! ```
//!
//! OpenSSL prefers this provider's operations, so it exports the key of an operation here. A refused key would be
//! exported and refused again in each operation, which costs more than passing it on. So all keys of a type are
//! accepted.

mod context;
mod key;
mod keymgmt;

pub(crate) use context::{Inner, Place, text};
pub(crate) use key::{Key, Ours};
pub(crate) use keymgmt::{
    Managed, Management, Wrapped, free, gen_settable_params, get_params, gettable_params,
    set_params, settable_params, table,
};
