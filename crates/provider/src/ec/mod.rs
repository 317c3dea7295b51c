//! Elliptic-curve keys and ECDSA: the engine signs and verifies on P-256, P-384 and P-521, and the default provider
//! does everything else.
//!
//! ```text
//! ours.rs        what the engine computes with, of keys that stay with the default provider (`exported/`)
//! context.rs     a context of a signature: what was begun, and the way to the default provider
//! signature.rs   the functions of signatures
//! remote.rs      signatures by keys of other machines, and the files that stand for these
//! ```
//!
//! A context handles regular requests itself: SHA-2, one of the three curves, and no parameter except the hash
//! function. For anything else it creates a context of the default provider with the same key and settings, which
//! handles all later calls. If signing or verifying fails, the default provider repeats it and so raises its own error.

mod context;
mod ours;
mod remote;
mod signature;

use crate::abi::{Algorithm, OPERATION_DECODER, OPERATION_SIGNATURE};
use crate::decoder;
use crate::default_provider::Defaults;
use crate::exported;
use crate::offered::Offered;
use crate::provider::Provider;

/// Adds keys and signatures together, or neither.
pub(crate) fn offer(provider: &Provider, defaults: &Defaults, offered: &mut Offered) {
    let (Some(keys), Some(ecdsa)) = (&defaults.ec, &defaults.ecdsa) else {
        return;
    };
    let table = exported::table::<ours::EcKey>(&keys.functions);
    offered.add_keys(keys.names, table);
    let table = signature::table(&ecdsa.functions);
    offered.add(OPERATION_SIGNATURE, table, |table| {
        Algorithm::accelerated(ecdsa.names, table)
    });
    if provider.signer.has_relay() {
        let table = decoder::der_table(remote::key_of_der);
        offered.add(OPERATION_DECODER, table, |table| {
            Algorithm::of_decoder(keys.names, decoder::DER_PROPERTIES, table)
        });
    }
}
