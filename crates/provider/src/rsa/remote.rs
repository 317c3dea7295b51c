//! Private operations by remote keys: a relay is asked, and its answer is checked.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use oarlock::rsa::{PssSalt, RsaPublicKey, SignatureScheme};
use oarlock_engine::costs::Computed;
use oarlock_local::relay::{Operation, Question, Reference};
use zeroize::Zeroizing;

use super::context::{Context, Encoding};
use super::default_context::Around;
use super::keymgmt::Key;
use crate::decoder;
use crate::default_provider::functions::Callback;
use crate::error::Reason;
use crate::exported::{Place, free};
use crate::provider::Provider;
use crate::signer::WRONG_ANSWER;

/// An RSA key of another machine.
pub(super) struct Remote {
    key_id: String,
    key: RsaPublicKey,
}

impl Remote {
    /// Returns the key's ID on its machine.
    pub(super) fn key_id(&self) -> &str {
        &self.key_id
    }

    /// Returns the public half.
    pub(super) fn key(&self) -> &RsaPublicKey {
        &self.key
    }
}

/// Makes a key from the file that stands for it.
///
/// # Safety
/// The core calls, with its provider, a BIO, and a callback that takes `argument`.
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
        let Some(key) = reference.key().as_rsa() else {
            return null_mut();
        };
        let remote = Remote {
            key_id: reference.key_id().to_owned(),
            key: key.clone(),
        };
        // SAFETY: the default RSA belongs to the provider, which the core holds.
        let made = |default| unsafe { Key::remote(provider, default, remote) };
        provider.default_rsa().map_or(null_mut(), made)
    };
    // SAFETY: the core's arguments are passed on; `free` takes keys from `Key::remote`.
    unsafe {
        decoder::decode(
            provider,
            bio,
            (callback, argument),
            c"RSA",
            make,
            free::<Key>,
        )
    }
}

/// Returns the private power of `number`, which is as long as the modulus, or the reason why there is none.
pub(super) fn power(
    provider: &Provider,
    reference: &Remote,
    number: &[u8],
) -> Result<Zeroizing<Vec<u8>>, String> {
    let question = Question {
        key_id: reference.key_id().to_owned(),
        operation: Operation::RawPrivate(number.to_vec()),
    };
    let power = provider.signer.ask(&question)?;
    let public = provider.accelerator.rsa_public(reference.key());
    let is_right =
        power.len() == number.len() && public.raw_public(&power).is_ok_and(|made| made == number);
    is_right
        .then_some(power)
        .ok_or_else(|| WRONG_ANSWER.to_owned())
}

/// Raises an error that names the key.
#[cold]
pub(super) fn refuse(provider: &Provider, key: &Key, reason: Reason, why: &str) {
    let id = key.reference().map_or("", |reference| reference.key_id());
    let errors = &provider.errors;
    errors.raise_saying(reason, &format!("remote key {id:?}: {why}"));
}

impl Context {
    /// Signs a digest, or whatever the context is set to sign.
    pub(super) fn sign_remotely(&self, reference: &Remote, place: Place, message: &[u8]) -> c_int {
        if place.room < reference.key().bytes() {
            self.provider().errors.raise(Reason::OutputBufferTooSmall);
            return 0;
        }
        match self.signed_remotely(reference, message) {
            Ok(signature) => {
                // SAFETY: there is room for a signature as long as the modulus, as checked above, and a place for its
                // length.
                unsafe { place.set(&signature) };
                self.provider().count_private(Computed::Remotely);
                1
            }
            Err(why) => {
                self.refuse_remotely(&why);
                0
            }
        }
    }

    #[cold]
    pub(super) fn refuse_remotely(&self, why: &str) {
        if let Some(key) = &self.key {
            refuse(self.provider(), key, Reason::FailedToSign, why);
        }
    }

    fn signed_remotely(&self, reference: &Remote, message: &[u8]) -> Result<Vec<u8>, String> {
        let provider = self.provider();
        let key = reference.key();
        let encoding = self.encoding(key, message);
        let encoding = encoding.ok_or("its settings are none that a cryptoserver knows")?;
        let sign = match &encoding {
            Encoding::Made(_) => None,
            Encoding::Of(scheme) => Operation::sign(named(*scheme), message),
        };
        let (operation, scheme) = match (sign, encoding) {
            (Some(operation), Encoding::Of(scheme)) => (operation, scheme),
            (_, Encoding::Made(number)) => return Ok(power(provider, reference, &number)?.to_vec()),
            (None, Encoding::Of(scheme)) => {
                let number = scheme.encode(message, key);
                let number = number.map_err(|error| error.to_string())?;
                return Ok(power(provider, reference, &number)?.to_vec());
            }
        };
        let question = Question {
            key_id: reference.key_id().to_owned(),
            operation,
        };
        let made = provider.signer.ask(&question)?;
        let public = provider.accelerator.rsa_public(key);
        let is_right =
            made.len() == key.bytes() && public.verify_digest(scheme, message, &made).is_ok();
        is_right
            .then(|| made.to_vec())
            .ok_or_else(|| WRONG_ANSWER.to_owned())
    }
}

/// Returns the protocol's name for PSS whose salt is as long as the digest and whose hash functions are the same.
/// Returns other schemes unchanged.
fn named(scheme: SignatureScheme) -> SignatureScheme {
    match scheme {
        SignatureScheme::PssWith {
            hash,
            mgf1,
            salt: PssSalt::Bytes(salt),
        } if hash == mgf1 && salt == hash.bytes() => SignatureScheme::Pss(hash),
        scheme => scheme,
    }
}
