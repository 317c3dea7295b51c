//! Buffers that a library writes to, between guard bytes.
//!
//! The memory next to a buffer may hold anything: a key, a length, a return address. Once a library has written there, no
//! state of the process can be trusted, so the process ends.

use std::io::Write;
use std::path::Path;

use zeroize::Zeroizing;

pub(super) struct Guarded {
    /// A guard, the buffer, a guard.
    bytes: Zeroizing<Vec<u8>>,
}

impl Guarded {
    pub(super) fn new(len: usize) -> Self {
        let mut bytes = Zeroizing::new(Vec::with_capacity(GUARD.len() + len + GUARD.len()));
        bytes.extend_from_slice(&GUARD);
        bytes.resize(GUARD.len() + len, 0);
        bytes.extend_from_slice(&GUARD);
        Self { bytes }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len() - 2 * GUARD.len()
    }

    /// Returns a pointer to the bytes between the guards. It may also be used to reach the guards, so that the compiler
    /// does not assume that they stay as they are.
    pub(super) fn as_mut_ptr(&mut self) -> *mut u8 {
        self.bytes.as_mut_ptr().wrapping_add(GUARD.len())
    }

    /// Returns the bytes between the guards after checking both.
    ///
    /// Ends the process if the library at `path` has changed a guard.
    pub(super) fn checked(&self, path: &Path, what: &str) -> &[u8] {
        let (before, rest) = self.bytes.split_at(GUARD.len());
        let (bytes, behind) = rest.split_at(self.len());
        if before != GUARD {
            end(path, what, "before");
        }
        if behind != GUARD {
            end(path, what, "behind");
        }
        bytes
    }
}

/// Aborts: no destructor runs and no other thread answers a request.
fn end(path: &Path, what: &str, place: &str) -> ! {
    // eprintln would panic if standard error is closed.
    let _ = writeln!(
        std::io::stderr(),
        "oarlock: device library {path:?} has written {place} the {what} it was given: the process \
         ends, for its memory can no longer be trusted"
    );
    std::process::abort();
}

/// No byte is 0 or 0xff, the usual values of an overrun, and no two are the same.
const GUARD: [u8; 32] = {
    let mut guard = [0; 32];
    let mut at = 0;
    while at < guard.len() {
        guard[at] = 0xa5 ^ (at as u8 * 7);
        at += 1;
    }
    guard
};
