//! Elliptic-curve keys and ECDSA: the engine signs and verifies on P-256, P-384 and P-521, and the default provider
//! does everything else.
//!
//! ```text
//! ours.rs        what the engine computes with, of keys that stay with the default provider (`exported/`)
//! exchange.rs    shared secrets of keys that OpenSSL manages here
//! context.rs     a context of a signature: what was begun, and the way to the default provider
//! signature.rs   the functions of signatures
//! remote.rs      signatures by keys of other machines, and the files that stand for these
//! ```
//!
//! A context handles regular requests itself: SHA-2, one of the three curves, and no parameter except the hash
//! function. For anything else it creates a context of the default provider with the same key and settings, which
//! handles all later calls. If signing or verifying fails, the default provider repeats it and so raises its own error.

mod context;
mod exchange;
mod ours;
mod remote;
mod signature;

use self::ours::EcKey;
use crate::abi::{Algorithm, OPERATION_DECODER, OPERATION_SIGNATURE};
use crate::decoder;
use crate::default_provider::Defaults;
use crate::default_provider::functions::KeyFunctions;
use crate::exported::{self, Key};
use crate::offered::Offered;
use crate::provider::Provider;

/// Adds keys and signatures together, or neither.
pub(crate) fn offer(provider: &Provider, defaults: &Defaults, offered: &mut Offered) {
    let (Some(keys), Some(ecdsa)) = (&defaults.ec, &defaults.ecdsa) else {
        return;
    };
    let mut table = exported::table::<EcKey>(&keys.functions);
    let ecdh = defaults.ecdh.as_ref().filter(|_| offered.hides_keys());
    if ecdh.is_some() {
        let mut entries = table.iter_mut();
        if let Some(entry) = entries.find(|it| it.id == KeyFunctions::query_operation_name) {
            entry.function = exchange::operation_name as *const std::ffi::c_void;
        }
    }
    let management = offered.add_keys(keys.names, table);
    if let Some(ecdh) = ecdh {
        let table = exchange::table(&ecdh.functions);
        offered.add_exchange(exchange::NAME, table, keys.names, management);
    }
    let table = signature::table(&ecdsa.functions);
    offered.add(OPERATION_SIGNATURE, table, |table| {
        Algorithm::accelerated(ecdsa.names, table)
    });
    if provider.signer.has_relay() {
        let table = decoder::der_table::<Key<EcKey>>();
        offered.add(OPERATION_DECODER, table, |table| {
            Algorithm::of(keys.names, decoder::DER_PROPERTIES, table)
        });
    }
}
