//! RSA: signatures and decryption in lanes, everything else by the default provider.
//!
//! ```text
//! keymgmt.rs          a key: the default provider's, and also ours, made when it is first used often
//! context.rs          a context of the default provider's, which has all settings and does whatever is not a
//!                     signature that lanes can make; the digest of a message
//! default_context.rs  what the contexts of signatures and of encryption have in common
//! signature.rs        the functions of signatures
//! asym_cipher.rs      the functions of encryption
//! padding.rs          what a private power is decrypted to
//! private_op.rs       the private power, and where results go
//! remote.rs           operations by keys of other machines
//! decoder.rs          reads the files that stand for these
//! ../signer/          the private operation: in lanes with others, or alone
//! ```
//!
//! Keys stay in the default provider. OpenSSL prefers this one's signatures and its encryption, and so has the key of an
//! operation exported to it, once for each key. Key generation, formats and everything else about keys never come here.
//! What a signature or a ciphertext is to be, which digests and paddings there are, and what is refused with which
//! error, is the default provider's to say: its context is asked just before it would sign or decrypt.

#![allow(unsafe_code)]

mod asym_cipher;
mod context;
mod decoder;
mod default_context;
mod keymgmt;
mod padding;
mod private_op;
mod remote;
mod signature;

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
    // SAFETY: the core calls, as the caller says, and has not ended.
    let default = unsafe { provider.find_default_rsa() }?;
    let offered = provider.rsa.get_or_init(|| {
        let tables = [
            keymgmt::table::<{ keymgmt::RSA }>(&default.keys[keymgmt::RSA]),
            keymgmt::table::<{ keymgmt::PSS }>(&default.keys[keymgmt::PSS]),
            signature::table(&default.signature),
            decoder::pem_table(),
            decoder::der_table(),
            asym_cipher::table(&default.encryption),
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
