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
use crate::exported::{self, Key};
use crate::offered::Offered;
use crate::provider::Provider;

/// Adds keys and signatures together, or neither.
pub(crate) fn offer(provider: &Provider, defaults: &Defaults, offered: &mut Offered) {
    let (Some(keys), Some(ecdsa), Some(ecdh)) = (&defaults.ec, &defaults.ecdsa, &defaults.ecdh)
    else {
        return;
    };
    let table = exported::table::<EcKey>(&keys.functions);
    let management = offered.add_keys(keys.names, table, exchange::operation_name);
    if offered.hides_keys() {
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
