//! Elliptic-curve keys and ECDSA: signatures on P-256, P-384 and P-521 by the engine, everything else by the default
//! provider.
//!
//! ```text
//! key.rs         a key: ours, the default provider's, or both
//! keymgmt.rs     the functions of keys
//! context.rs     a context of a signature: what was begun, and the way to the default provider
//! signature.rs   the functions of signatures
//! ```
//!
//! Keys stay in the default provider. OpenSSL prefers this one's signatures, and so has the key of an operation exported to
//! it, once for each key. Keys of other curves come here too: one that is refused would be refused again in each operation,
//! which costs more than to pass it on.
//!
//! A context signs and verifies itself what is regular: SHA-2, one of the three curves, no parameter but the hash function. For
//! anything else it makes a context of the default provider's with the same key and settings, and passes everything on from
//! then on. What it fails to sign or to verify, the default provider does once more: so the error is its own.

mod context;
mod key;
mod keymgmt;
mod signature;

use crate::abi::{Algorithm, OPERATION_KEYMGMT, OPERATION_SIGNATURE};
use crate::default_provider::Defaults;
use crate::offered::Offered;

/// Adds what is offered: keys and signatures together, or neither.
pub(crate) fn offer(defaults: &Defaults, offered: &mut Offered) {
    let (Some(keys), Some(ecdsa)) = (&defaults.ec, &defaults.ecdsa) else {
        return;
    };
    let table = keymgmt::table(&keys.functions);
    offered.add(OPERATION_KEYMGMT, table, |table| {
        Algorithm::of_keys(keys.names, table)
    });
    let table = signature::table(&ecdsa.functions);
    offered.add(OPERATION_SIGNATURE, table, |table| {
        Algorithm::accelerated(ecdsa.names, table)
    });
}
