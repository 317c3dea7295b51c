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
//!
//! With a key that is managed here OpenSSL needs the management again, and may have dropped it from its cache: right after it
//! has asked the key for the name of an operation, and in an exchange (`ec/exchange.rs`) for the peer's half, at any later
//! time and in any thread.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr::null;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::abi::{
    OPERATION_ASYM_CIPHER, OPERATION_KEYEXCH, OPERATION_KEYMGMT, OPERATION_SIGNATURE,
};

thread_local! {
    /// The provider that this thread last asked for an operation with keys; null after a request for anything else.
    static ASKED: Cell<*const c_void> = const { Cell::new(null()) };
    /// Whether this thread is about to look for an operation of a key that is managed here.
    static HAS_KEY: Cell<bool> = const { Cell::new(false) };
}

/// The exchanges in progress of keys that are managed here.
static EXCHANGES: AtomicUsize = AtomicUsize::new(0);

/// The reason why OpenSSL may look for keys.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seeker {
    /// None that needs a hidden key management.
    Other,
    /// The operation that it asked for immediately before.
    Operation,
    /// An operation of a key that is managed here.
    KeyHere,
}

/// Notes that OpenSSL asks for an operation. Returns the reason why it may look for keys.
pub(crate) fn seeker(provider: *const c_void, operation: c_int) -> Seeker {
    let uses_keys = matches!(operation, OPERATION_SIGNATURE | OPERATION_ASYM_CIPHER);
    // The operation is looked for first.
    let has_key = !uses_keys && operation != OPERATION_KEYEXCH && HAS_KEY.take();
    let asks = if uses_keys { provider } else { null() };
    let asked = ASKED.replace(asks);
    if operation != OPERATION_KEYMGMT {
        Seeker::Other
    } else if has_key || EXCHANGES.load(Ordering::Relaxed) > 0 {
        Seeker::KeyHere
    } else if std::ptr::eq(asked, provider) {
        Seeker::Operation
    } else {
        Seeker::Other
    }
}

/// Notes that OpenSSL asks a key that is managed here for the name of an operation.
pub(crate) fn has_key() {
    HAS_KEY.set(true);
}

/// Notes that OpenSSL creates a context of such an operation, so it has already found keys for it.
pub(crate) fn has_found_keys() {
    ASKED.set(null());
    HAS_KEY.set(false);
}

/// An exchange in progress. As long as one exists, OpenSSL may look for the keys of a peer.
pub(crate) struct InExchange(());

impl InExchange {
    pub(crate) fn new() -> Self {
        has_found_keys();
        EXCHANGES.fetch_add(1, Ordering::Relaxed);
        Self(())
    }
}

impl Drop for InExchange {
    fn drop(&mut self) {
        EXCHANGES.fetch_sub(1, Ordering::Relaxed);
    }
}
