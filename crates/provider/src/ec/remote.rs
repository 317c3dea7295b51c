//! Signatures by keys on another machine, and the files that stand for these keys.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_int, c_void};
use std::ptr::null_mut;
use std::sync::Arc;

use oarlock::keys::KeyType;
use oarlock_engine::ec::EcPublicKey;
use oarlock_local::relay::{Operation, Reference};
use zeroize::Zeroizing;

use super::context::Context;
use super::ours::EcKey;
use crate::decoder::Referred;
use crate::error::Reason;
use crate::exported::{Key, Place, free};
use crate::provider::Provider;
use crate::signer::WRONG_ANSWER;

/// An EC key on another machine.
pub(super) type Remote = crate::remote::Remote<EcPublicKey>;

impl Referred for Key<EcKey> {
    const NAME: &CStr = c"EC";
    const FREE: unsafe extern "C" fn(*mut c_void) = free::<Self>;

    fn made(provider: &Provider, reference: &Reference) -> *mut c_void {
        let key = || {
            let KeyType::Ec(curve) = reference.key().key_type() else {
                return None;
            };
            let point = reference.key().to_raw().ok()?;
            EcPublicKey::new(curve, &point).ok()
        };
        key().map_or(null_mut(), |key| {
            let remote = Remote::new(reference, key);
            Self::of(provider, EcKey::Remote(Arc::new(remote)))
        })
    }
}

impl Context {
    /// Signs a digest, or raises an error that names the key. The default provider, which has no private half, is not
    /// asked.
    pub(super) fn sign_remotely(&self, remote: &Remote, digest: &[u8], place: Place) -> c_int {
        // SAFETY: this context was created by the provider, which the core keeps until its last context is freed.
        let provider = unsafe { &*self.provider };
        if place.room < remote.key.curve().signature_bytes_max() {
            provider.errors.raise(Reason::OutputBufferTooSmall);
            return 0;
        }
        let made = signed(provider, remote, digest);
        // SAFETY: the buffer was checked to have room for the longest signature, and its length has a place.
        unsafe { remote.finish(provider, made, place, Reason::FailedToSign) }
    }
}

/// Returns the signature of a digest, or the reason why there is none.
fn signed(
    provider: &Provider,
    remote: &Remote,
    digest: &[u8],
) -> Result<Zeroizing<Vec<u8>>, String> {
    let curve = remote.key.curve();
    let operation = Operation::sign_ecdsa(curve, digest);
    let operation = operation.ok_or("its settings are none that a cryptoserver knows")?;
    let made = remote.ask(provider, operation)?;
    // Check the length as well. A signature that verifies is DER, and none is longer than this.
    let is_right =
        made.len() <= curve.signature_bytes_max() && remote.key.verify(digest, &made).is_ok();
    is_right
        .then_some(made)
        .ok_or_else(|| WRONG_ANSWER.to_owned())
}
