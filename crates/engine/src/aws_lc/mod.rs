//! Safe wrappers of aws-lc: RSA and modular exponentiation, elliptic curves, Ed25519, X25519, ML-KEM, ML-DSA, SHA-2,
//! and the random number generator.
#![allow(unsafe_code)]

pub mod ec;
pub mod ed25519;
pub mod ml_dsa;
pub mod ml_kem;
pub(crate) mod modexp;
mod pkey;
pub(crate) mod random;
pub(crate) mod rsa;
pub(crate) mod sha2;
pub mod x25519;

use crate::Error;
use oarlock_threads::process;

/// Frees aws-lc's state of the calling thread before the thread ends. Otherwise the thread's end would free it under
/// locks of aws-lc, and a child forked at that moment would inherit them locked forever. Source: aws-lc,
/// crypto/fipsmodule/rand/rand.c, `thread_local_states_list_lock`, and crypto/thread_pthread.c, `g_destructors_lock`.
pub(crate) fn leave_thread() {
    // On other architectures, aws-lc-sys 0.47 has no binding for it.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    // SAFETY: the state belongs to this thread; aws-lc creates it again when the thread next needs it.
    process::forks_wait_for(|| unsafe { aws_lc_sys::AWSLC_thread_local_clear() });
}

/// Returns an error of aws-lc, which appears under its device's name.
fn failed(reason: &str) -> Error {
    Error::DeviceFailed {
        device: "software".into(),
        reason: reason.into(),
    }
}
