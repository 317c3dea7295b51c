//! Key exchange by ML-KEM and a curve together, as in TLS 1.3, with keys of this provider's own throughout.
//!
//! OpenSSL has these algorithms since release 3.5, and this provider refuses the same input with the same errors. In
//! older releases it offers them only if the configuration asks for them, along with their TLS groups.
//!
//! ```text
//! keymgmt.rs    keys
//! kem.rs        encapsulation and decapsulation
//! ```

mod kem;
mod keymgmt;

use std::ffi::CStr;

use oarlock_engine::Primitive;
use oarlock_engine::agreement::Hybrid;

pub(crate) use self::keymgmt::once;
use crate::abi::{Algorithm, OPERATION_KEM, OPERATION_KEYMGMT};
use crate::default_provider::Defaults;
use crate::offered::Offered;
use crate::provider::Provider;

/// Adds the keys and the encapsulation of a hybrid.
pub(crate) fn offer(primitive: Primitive, offered: &mut Offered) {
    for (hybrid, names) in NAMES {
        if of(hybrid) != primitive {
            continue;
        }
        offered.add(OPERATION_KEYMGMT, keymgmt::table(hybrid), |table| {
            Algorithm::offering(names, table)
        });
        offered.add(OPERATION_KEM, kem::table(), |table| {
            Algorithm::offering(names, table)
        });
    }
}

/// Returns the hybrids to announce to libssl because OpenSSL's own provider does not.
pub(crate) fn announced(
    provider: &Provider,
    defaults: &Defaults,
) -> impl Iterator<Item = (Hybrid, &'static CStr)> {
    let is_announced =
        |hybrid| provider.primitives.contains(&of(hybrid)) && !defaults.has_hybrid(hybrid);
    NAMES
        .into_iter()
        .filter(move |(hybrid, _)| is_announced(*hybrid))
}

/// Returns the primitive of a hybrid.
fn of(hybrid: Hybrid) -> Primitive {
    match hybrid {
        Hybrid::X25519MlKem768 => Primitive::X25519MlKem768,
        Hybrid::SecP256r1MlKem768 => Primitive::SecP256r1MlKem768,
        Hybrid::SecP384r1MlKem1024 => Primitive::SecP384r1MlKem1024,
    }
}

const NAMES: [(Hybrid, &CStr); 3] = [
    (Hybrid::X25519MlKem768, c"X25519MLKEM768"),
    (Hybrid::SecP256r1MlKem768, c"SecP256r1MLKEM768"),
    (Hybrid::SecP384r1MlKem1024, c"SecP384r1MLKEM1024"),
];
