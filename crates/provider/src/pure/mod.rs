//! Signatures of whole messages, without a hash function before them: Ed25519 (RFC 8032) and ML-DSA (FIPS 204) by the
//! engine, only in the pure form. Everything else is left to the default provider.
//!
//! ```text
//! ed25519.rs     keys of Ed25519
//! ml_dsa.rs      keys of ML-DSA
//! context.rs     a context of a signature: its state, and the switch to the default provider
//! signature.rs   the functions of signatures
//! ```
//!
//! A context signs and verifies messages that come in one piece and without parameters. For anything else, such as a
//! context string, another instance or a message in pieces, it creates a context of the default provider with the same
//! key, and forwards every further call to it. If it fails to sign or to verify, the default provider repeats the
//! operation, so the error is the default provider's.

mod context;
mod ed25519;
mod ml_dsa;
mod signature;

use std::ffi::{c_char, c_int};
use std::ptr::null;

use oarlock_engine::Primitive;

use crate::abi::{Algorithm, OPERATION_SIGNATURE};
use crate::asked;
use crate::default_provider::functions::SignatureFunctions;
use crate::default_provider::{DefaultAlgorithm, Defaults};
use crate::exported::{self, Ours};
use crate::offered::Offered;

/// Keys that sign whole messages.
trait Pure: Ours {
    /// Returns the default provider's signatures.
    fn signatures(defaults: &Defaults) -> Option<&DefaultAlgorithm<SignatureFunctions>>;

    /// The primitive that operations are counted under.
    const PRIMITIVE: Primitive;

    /// The length in bytes of every signature.
    const SIGNATURE_BYTES: usize;

    /// Fills `signature`, which has [`SIGNATURE_BYTES`](Self::SIGNATURE_BYTES) bytes; `None` if the default provider
    /// must do it.
    fn sign(&self, message: &[u8], signature: &mut [u8]) -> Option<()>;

    /// Verifies a signature; `None` if it is not this key's signature of the message.
    fn verify(&self, message: &[u8], signature: &[u8]) -> Option<()>;
}

/// Adds an algorithm that is offered.
pub(crate) fn offer(primitive: Primitive, defaults: &Defaults, offered: &mut Offered) {
    match primitive {
        Primitive::Ed25519 => offer_one::<ed25519::Ed25519Key>(defaults, offered),
        Primitive::MlDsa44 => offer_one::<ml_dsa::MlDsaKey<0>>(defaults, offered),
        Primitive::MlDsa65 => offer_one::<ml_dsa::MlDsaKey<1>>(defaults, offered),
        Primitive::MlDsa87 => offer_one::<ml_dsa::MlDsaKey<2>>(defaults, offered),
        _ => {}
    }
}

/// Adds keys and signatures together, or neither.
fn offer_one<P: Pure>(defaults: &Defaults, offered: &mut Offered) {
    let (Some(keys), Some(signatures)) = (P::default(defaults), P::signatures(defaults)) else {
        return;
    };
    let table = exported::table::<P>(&keys.functions);
    offered.add_keys(keys.names, table, operation_name);
    let table = signature::table::<P>(&signatures.functions);
    offered.add(OPERATION_SIGNATURE, table, |table| {
        Algorithm::accelerated(signatures.names, table)
    });
}

/// Names the operations of a hidden key that is managed here: of an Ed25519 key, since OpenSSL has had ML-DSA only since keys
/// are in no need of hiding.
extern "C" fn operation_name(operation: c_int) -> *const c_char {
    asked::has_key();
    match operation {
        OPERATION_SIGNATURE => c"ED25519".as_ptr(),
        _ => null(),
    }
}
