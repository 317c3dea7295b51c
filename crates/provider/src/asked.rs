//! Keys that only the operations that use them can find.
//!
//! RSA, elliptic curve and Ed25519 keys stay in the default provider. Their key managements exist here because, right
//! after it has found a signature or a decryption, OpenSSL looks for a key management in that operation's provider. Up
//! to release 3.1, each further key management of a type makes reading any key of that type 10 us slower
//! (docs/internals/provider.md). A list that is returned for that one search, and marked as not to be cached, avoids
//! this cost. OpenSSL caches what the search has found.
//!
//! So with these releases, if the default query leaves keys with their provider (`?oarlock.keys=no`), each thread notes
//! which provider it last asked for such an operation. If the note is wrong, nothing fails: if a search finds no keys,
//! OpenSSL uses the default provider's operation, and if it finds some, those keys work.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr::null;

use crate::abi::{
    OPERATION_ASYM_CIPHER, OPERATION_KEYEXCH, OPERATION_KEYMGMT, OPERATION_SIGNATURE,
};

thread_local! {
    /// The provider that this thread last asked for an operation with keys; null after a request for anything else.
    static ASKED: Cell<*const c_void> = const { Cell::new(null()) };
    /// Whether this thread is about to search for the key management that it already has.
    static HAS_KEY: Cell<bool> = const { Cell::new(false) };
}

/// Notes that OpenSSL asks for an operation. Returns whether it looks for the keys of the operation that it asked for
/// immediately before.
pub(crate) fn looks_for_keys(provider: *const c_void, operation: c_int) -> bool {
    // The exchange is searched first.
    if operation != OPERATION_KEYEXCH && HAS_KEY.take() && operation == OPERATION_KEYMGMT {
        ASKED.set(null());
        return true;
    }
    let uses_keys = matches!(operation, OPERATION_SIGNATURE | OPERATION_ASYM_CIPHER);
    let asks = if uses_keys { provider } else { null() };
    let asked = ASKED.replace(asks);
    operation == OPERATION_KEYMGMT && std::ptr::eq(asked, provider)
}

/// Notes that OpenSSL looks for an exchange for a key of this provider, and then for the key's management. Without that, no
/// other exchange would take the key.
pub(crate) fn has_key() {
    HAS_KEY.set(true);
}

/// Notes that OpenSSL creates a context of such an operation, so it has already found keys for it.
pub(crate) fn has_found_keys() {
    ASKED.set(null());
    HAS_KEY.set(false);
}
