//! RSA: signatures and decryption in lanes, everything else by the default provider.
//!
//! ```text
//! key.rs         a key: the default provider's, and beside it ours, made when it is first used often
//! context.rs     a context of the default provider's, which has all settings and does whatever is not a signature
//!                that lanes can make; the digest of a message
//! signature.rs   the functions of signatures
//! encryption.rs  those of encryption     decryption.rs   what a private power is decrypted to
//! remote.rs      operations by keys of other machines     decoder.rs   reads the files that stand for these
//! ../signer/     the private operation: in lanes with others, or alone
//! ```
//!
//! Keys stay in the default provider. OpenSSL prefers this one's signatures and its encryption, and so has the key of an
//! operation exported to it, once for each key. Key generation, formats and everything else about keys never come here.
//! What a signature or a ciphertext is to be, which digests and paddings there are, and what is refused with which
//! error, is the default provider's to say: its context is asked just before it would sign or decrypt.

#![allow(unsafe_code)]

mod context;
mod decoder;
mod decryption;
mod encryption;
mod key;
mod remote;
mod signature;

use std::ffi::c_int;

use oarlock::Error;
use oarlock::costs::Computed;
use oarlock::rsa::{AcceleratedRsa, Power};

use crate::abi::{
    Algorithm, OPERATION_ASYM_CIPHER, OPERATION_DECODER, OPERATION_KEYMGMT, OPERATION_SIGNATURE,
};
use crate::provider::{OfferedRsa, Provider};

/// What is offered for an operation, up to [`Algorithm::END`]; `None` while the default provider is not there, or without
/// lanes.
///
/// # Safety
/// The core calls, so that it has not ended.
pub(crate) unsafe fn algorithms(provider: &Provider, operation: i32) -> Option<&[Algorithm]> {
    // SAFETY: as the caller says.
    let default = unsafe { provider.find_default_rsa() }?;
    let offered = provider.rsa.get_or_init(|| {
        let tables = [
            key::table::<{ key::RSA }>(&default.keys[key::RSA]),
            key::table::<{ key::PSS }>(&default.keys[key::PSS]),
            signature::table(&default.signature),
            decoder::pem_table(),
            decoder::der_table(),
            encryption::table(&default.encryption),
        ];
        let [rsa, pss] = default.key_names;
        OfferedRsa {
            managements: [
                Algorithm::of_keys(rsa, tables[0].as_ptr()),
                Algorithm::of_keys(pss, tables[1].as_ptr()),
                Algorithm::END,
            ],
            signatures: [
                Algorithm::accelerated(default.signature_names, tables[2].as_ptr()),
                Algorithm::END,
            ],
            encryption: [
                Algorithm::accelerated(default.encryption_names, tables[5].as_ptr()),
                Algorithm::END,
            ],
            decoders: [
                Algorithm::of_decoder(
                    c"DER".as_ptr(),
                    c"provider=oarlock,input=pem",
                    tables[3].as_ptr(),
                ),
                Algorithm::of_decoder(
                    rsa,
                    c"provider=oarlock,input=der,structure=oarlock-remote-key",
                    tables[4].as_ptr(),
                ),
                Algorithm::END,
            ],
            _tables: tables,
        }
    });
    match operation {
        OPERATION_KEYMGMT => Some(&offered.managements),
        OPERATION_SIGNATURE => Some(&offered.signatures),
        OPERATION_ASYM_CIPHER => Some(&offered.encryption),
        OPERATION_DECODER => Some(&offered.decoders),
        _ => None,
    }
}

/// Computes the private power of the number that `number` makes: by `by_default`, the default provider, which does all of
/// it, or here, where `finish` does the rest. Both return 1 if they have succeeded.
fn compute(
    provider: &Provider,
    key: &AcceleratedRsa,
    number: impl Fn() -> Result<Vec<u8>, Error>,
    by_default: impl Fn() -> c_int,
    finish: impl FnOnce(&[u8]) -> c_int,
) -> c_int {
    let is_done = match provider.signer.power(key, number, by_default) {
        Power::Alone(is_done) => is_done,
        Power::InLanes(power) => finish(&power),
    };
    if is_done == 1 {
        provider.count_private(Computed::Here);
    }
    is_done
}

/// Where the result of an operation goes, as OpenSSL hands it over.
#[derive(Clone, Copy)]
struct Place {
    octets: *mut u8,
    bytes: *mut usize,
    room: usize,
}

impl Place {
    fn has_room(self, bytes: usize) -> bool {
        !self.octets.is_null() && self.room >= bytes
    }

    /// # Safety
    /// There is room for as many bytes as `result` has, and a place for their number.
    unsafe fn set(self, result: &[u8]) {
        // SAFETY: as the caller says.
        unsafe {
            result
                .as_ptr()
                .copy_to_nonoverlapping(self.octets, result.len());
            *self.bytes = result.len();
        }
    }
}
