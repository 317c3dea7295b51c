//! aws-lc, made safe: RSA and modular exponentiation, elliptic curves, Ed25519, X25519, ML-KEM, ML-DSA, SHA-2, and the
//! generator of random numbers.
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

/// Frees what aws-lc keeps for the calling thread, before the thread's end does so. That takes locks of aws-lc, and a
/// child that is forked at that moment would inherit them locked and never see them released. Source: aws-lc,
/// crypto/fipsmodule/rand/rand.c, `thread_local_states_list_lock`, and crypto/thread_pthread.c, `g_destructors_lock`.
pub(crate) fn leave_thread() {
    // Elsewhere aws-lc-sys 0.47 has no binding for it.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    // SAFETY: the state is this thread's; aws-lc makes it again when the thread next needs it.
    process::forks_wait_for(|| unsafe { aws_lc_sys::AWSLC_thread_local_clear() });
}

/// What aws-lc could not do. It has no name of its own in errors but that of its device.
fn failed(reason: &str) -> Error {
    Error::DeviceFailed {
        device: "software".into(),
        reason: reason.into(),
    }
}
