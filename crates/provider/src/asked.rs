//! Keys that are found by the operations that use them, and by nothing else.
//!
//! Keys of RSA, of elliptic curves and of Ed25519 stay with the default provider. Their managements are there because
//! OpenSSL looks for one in the provider of a signature or a decryption, right after it has found that operation. Up to release
//! 3.1 reading any key of a type takes 10 us more for each further management of the type (docs/internals/provider.md), which
//! a list that is given at that one search, and not to be kept, does not cost. OpenSSL keeps what the search has found.
//!
//! So next to these releases, where the default query leaves keys with their provider (`?oarlock.keys=no`), what is noted is
//! which provider a thread has just asked for such an operation. Where that is wrong, nothing fails: a search that finds no keys
//! makes OpenSSL use the default provider's operation, and one that finds some has keys that work.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr::null;

use crate::abi::{OPERATION_ASYM_CIPHER, OPERATION_KEYMGMT, OPERATION_SIGNATURE};

thread_local! {
    /// The provider whose operations with keys this thread has asked for last; null once it has asked for anything else.
    static ASKED: Cell<*const c_void> = const { Cell::new(null()) };
}

/// Notes that OpenSSL asks for an operation. Returns whether it looks for the keys of one that it has asked for just before.
pub(crate) fn looks_for_keys(provider: *const c_void, operation: c_int) -> bool {
    let uses_keys = matches!(operation, OPERATION_SIGNATURE | OPERATION_ASYM_CIPHER);
    let asks = if uses_keys { provider } else { null() };
    let asked = ASKED.replace(asks);
    operation == OPERATION_KEYMGMT && std::ptr::eq(asked, provider)
}

/// Notes that OpenSSL makes a context of such an operation, so that it has found keys for it before.
pub(crate) fn has_found_keys() {
    ASKED.set(null());
}
