//! X25519 (RFC 7748): keys of our own from generation to derivation, as TLS uses them, and their exchange.
//!
//! ```text
//! keymgmt.rs    keys, and their import and export
//! exchange.rs   the shared secret
//! ```

mod exchange;
mod keymgmt;

use crate::abi::{Algorithm, OPERATION_KEYEXCH, OPERATION_KEYMGMT};
use crate::default_provider::Defaults;
use crate::offered::Offered;

/// Adds keys and exchange together, or neither.
pub(crate) fn offer(defaults: &Defaults, offered: &mut Offered) {
    let (Some(keys), Some(exchange)) = (&defaults.x25519, &defaults.x25519_exchange) else {
        return;
    };
    let table = keymgmt::table(&keys.functions);
    offered.add(OPERATION_KEYMGMT, table, |table| {
        Algorithm::accelerated(keys.names, table)
    });
    let table = exchange::table(&exchange.functions);
    offered.add(OPERATION_KEYEXCH, table, |table| {
        Algorithm::accelerated(exchange.names, table)
    });
}
