//! ML-KEM-512, 768 and 1024 (FIPS 203), which OpenSSL has since release 3.5.
//!
//! This provider generates key pairs, reads public keys, encapsulates and decapsulates. The default provider does
//! everything else, with its own form of the key, made when it is first needed. So the key type is complete and raises
//! OpenSSL's errors.
//!
//! ```text
//! key.rs        keys in the engine's form
//! keymgmt.rs    the functions of keys that are faster here
//! kem.rs        encapsulation and decapsulation
//! ```

mod kem;
mod key;
mod keymgmt;

use oarlock_engine::Primitive;

use crate::abi::{Algorithm, OPERATION_KEM, OPERATION_KEYMGMT};
use crate::default_provider::Defaults;
use crate::offered::Offered;

/// Adds one parameter set, if it is offered.
pub(crate) fn offer(primitive: Primitive, defaults: &Defaults, offered: &mut Offered) {
    match primitive {
        Primitive::MlKem512 => offer_one::<0>(defaults, offered),
        Primitive::MlKem768 => offer_one::<1>(defaults, offered),
        Primitive::MlKem1024 => offer_one::<2>(defaults, offered),
        _ => {}
    }
}

/// Adds keys and encapsulation together, or neither.
fn offer_one<const SET: usize>(defaults: &Defaults, offered: &mut Offered) {
    let default = &defaults.ml_kem[SET];
    let (Some(keys), Some(kem)) = (&default.keys, &default.kem) else {
        return;
    };
    let table = keymgmt::table::<SET>(&keys.functions);
    offered.add(OPERATION_KEYMGMT, table, |table| {
        Algorithm::accelerated(keys.names, table)
    });
    let table = kem::table::<SET>(&kem.functions);
    offered.add(OPERATION_KEM, table, |table| {
        Algorithm::accelerated(kem.names, table)
    });
}
