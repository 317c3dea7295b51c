//! Buffers that a library writes to, with bytes around them that it may not touch.
//!
//! The memory next to a buffer may hold anything: a key, a length, the code's next step. Once a library has written
//! there, nothing that the process does can be trusted, so it ends.

use std::io::Write;
use std::path::Path;

use zeroize::Zeroizing;

pub(super) struct Guarded {
    /// The guard, the bytes, the guard.
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

    /// The bytes between the guards, once these have been looked at.
    ///
    /// Ends the process where the library at `path` has written to them.
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

/// No destructor runs, and nothing that another thread could still answer with.
fn end(path: &Path, what: &str, place: &str) -> ! {
    // Not by eprintln, which panics where standard error is closed.
    let _ = writeln!(
        std::io::stderr(),
        "oarlock: device library {path:?} has written {place} the {what} it was given: the process \
         ends, for its memory can no longer be trusted"
    );
    std::process::abort();
}

/// Neither zeros nor ones, which overruns are mostly made of; no two bytes are the same.
const GUARD: [u8; 32] = {
    let mut guard = [0; 32];
    let mut at = 0;
    while at < guard.len() {
        guard[at] = 0xa5 ^ (at as u8 * 7);
        at += 1;
    }
    guard
};
