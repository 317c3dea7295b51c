//! Signatures by keys on another machine: a relay is asked, and its answer is verified.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::Arc;

use oarlock::keys::KeyType;
use oarlock_engine::costs::Computed;
use oarlock_engine::ec::EcPublicKey;
use oarlock_local::relay::{Operation, Question, Reference};
use zeroize::Zeroizing;

use super::context::Context;
use super::ours::EcKey;
use crate::decoder;
use crate::default_provider::functions::Callback;
use crate::error::Reason;
use crate::exported::{Key, Place, free};
use crate::provider::Provider;
use crate::signer::WRONG_ANSWER;

/// An EC key on another machine.
pub(super) struct Remote {
    /// The key's id on that machine.
    pub(super) key_id: String,
    /// The public half.
    pub(super) key: EcPublicKey,
}

impl Remote {
    fn of(reference: &Reference) -> Option<Self> {
        let KeyType::Ec(curve) = reference.key().key_type() else {
            return None;
        };
        let point = reference.key().to_raw().ok()?;
        Some(Self {
            key_id: reference.key_id().to_owned(),
            key: EcPublicKey::new(curve, &point).ok()?,
        })
    }
}

/// Creates a key from a file that refers to it.
///
/// # Safety
/// The core calls this with its provider, a BIO, and a callback that takes `argument`.
pub(super) unsafe extern "C" fn key_of_der(
    provider: *mut c_void,
    bio: *mut c_void,
    _selection: c_int,
    callback: Callback,
    argument: *mut c_void,
    _ask_passphrase: *const c_void,
    _passphrase_argument: *mut c_void,
) -> c_int {
    let make = |provider: &Provider, reference: Reference| {
        let made = Remote::of(&reference);
        made.map_or(null_mut(), |remote| {
            Key::of(provider, EcKey::Remote(Arc::new(remote)))
        })
    };
    // SAFETY: the core's arguments are passed on, and `free` accepts keys that `Key::of` created.
    unsafe {
        decoder::decode(
            provider,
            bio,
            (callback, argument),
            c"EC",
            make,
            free::<Key<EcKey>>,
        )
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
        match signed(provider, remote, digest) {
            Ok(signature) => {
                // SAFETY: the buffer was checked to have room for the longest signature, and its length has a place.
                unsafe { place.set(&signature) };
                provider.count_private(Computed::Remotely);
                1
            }
            Err(why) => {
                let said = format!("remote key {:?}: {why}", remote.key_id);
                provider.errors.raise_saying(Reason::FailedToSign, &said);
                0
            }
        }
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
    let question = Question {
        key_id: remote.key_id.clone(),
        operation: operation.ok_or("its settings are none that a cryptoserver knows")?,
    };
    let made = provider.signer.ask(&question)?;
    // Check the length as well. A signature that verifies is DER, and none is longer than this.
    let is_right =
        made.len() <= curve.signature_bytes_max() && remote.key.verify(digest, &made).is_ok();
    is_right
        .then_some(made)
        .ok_or_else(|| WRONG_ANSWER.to_owned())
}
