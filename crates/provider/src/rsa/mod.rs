//! RSA: signatures and decryption in lanes, everything else by the default provider.
//!
//! ```text
//! keymgmt.rs          a key: the default provider's, and ours, made once the key is used often; its functions are
//!                     those of `exported/`
//! context.rs          a context of the default provider, which has all settings and makes the signatures
//!                     that lanes cannot make; the digest of a message
//! default_context.rs  common parts of the contexts of signatures and of encryption
//! signature.rs        the functions of signatures
//! asym_cipher.rs      the functions of encryption
//! padding.rs          decodes the private power of a ciphertext
//! private_op.rs       the private operation
//! remote.rs           operations by remote keys
//! ../decoder.rs       reads the files that stand for remote keys
//! ../signer/          the private operation: in lanes with others, or alone
//! ```
//!
//! Keys stay in the default provider. OpenSSL prefers this provider's signatures and encryption, so it exports an
//! operation's key to this provider, once for each key. Key generation, formats and everything else about keys never
//! reach this provider. The default provider decides how a signature or a ciphertext is encoded, which digests and
//! paddings exist, and what is refused with which error: its context is asked just before it would sign or decrypt.

#![allow(unsafe_code)]

mod asym_cipher;
mod context;
mod default_context;
mod keymgmt;
mod padding;
mod private_op;
mod remote;
mod signature;

use std::ffi::{c_char, c_int};

use self::keymgmt::Rsa;
use crate::abi::{
    Algorithm, OPERATION_ASYM_CIPHER, OPERATION_DECODER, OPERATION_KEYMGMT, OPERATION_SIGNATURE,
};
use crate::asked;
use crate::decoder;
use crate::default_provider::rsa::DefaultRsa;
use crate::exported;
use crate::offered::Offered;
use crate::provider::Provider;

/// Adds the algorithms that are offered.
pub(crate) fn offer(provider: &Provider, default: &DefaultRsa, offered: &mut Offered) {
    let [rsa, pss] = &default.keys;
    offered.add_keys(
        rsa.names,
        exported::table::<Rsa<{ keymgmt::RSA }>>(&rsa.functions),
        operation_name,
    );
    // Never hidden: PSS keys sign by the RSA signature, and OpenSSL does not fetch that again once it was found for RSA
    // keys.
    offered.add(
        OPERATION_KEYMGMT,
        exported::table::<Rsa<{ keymgmt::PSS }>>(&pss.functions),
        |table| Algorithm::of_keys(pss.names, table),
    );
    for (operation, names, table) in [
        (
            OPERATION_SIGNATURE,
            default.signature.names,
            signature::table(&default.signature.functions),
        ),
        (
            OPERATION_ASYM_CIPHER,
            default.encryption.names,
            asym_cipher::table(&default.encryption.functions),
        ),
    ] {
        offered.add(operation, table, |table| {
            Algorithm::accelerated(names, table)
        });
    }
    // Files that stand for remote keys.
    if provider.signer.has_relay() {
        let table = decoder::der_table::<keymgmt::Key>();
        offered.add(OPERATION_DECODER, table, |table| {
            Algorithm::of(rsa.names, decoder::DER_PROPERTIES, table)
        });
    }
}

/// Names the operations of a key that is managed here.
extern "C" fn operation_name(_operation: c_int) -> *const c_char {
    asked::has_key();
    c"RSA".as_ptr()
}
