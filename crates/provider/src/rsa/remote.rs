//! Private operations by remote keys: a relay is asked, and its answer is checked.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_int, c_void};
use std::ptr::null_mut;

use oarlock::rsa::{PssSalt, RsaPublicKey, SignatureScheme};
use oarlock_local::relay::{Operation, Reference};
use zeroize::Zeroizing;

use super::context::{Context, Encoding};
use super::default_context::Around;
use super::keymgmt::Key;
use crate::decoder::Referred;
use crate::error::Reason;
use crate::exported::{Place, free};
use crate::provider::Provider;
use crate::signer::WRONG_ANSWER;

/// An RSA key of another machine.
pub(super) type Remote = crate::remote::Remote<RsaPublicKey>;

impl Referred for Key {
    const NAME: &CStr = c"RSA";
    const FREE: unsafe extern "C" fn(*mut c_void) = free::<Self>;

    fn made(provider: &Provider, reference: &Reference) -> *mut c_void {
        let (Some(key), Some(default)) = (reference.key().as_rsa(), provider.default_rsa()) else {
            return null_mut();
        };
        // SAFETY: the default RSA belongs to the provider, which the core holds.
        unsafe { Self::remote(provider, default, Remote::new(reference, key.clone())) }
    }
}

/// Returns the private power of `number`, which is as long as the modulus, or the reason why there is none.
pub(super) fn power(
    provider: &Provider,
    reference: &Remote,
    number: &[u8],
) -> Result<Zeroizing<Vec<u8>>, String> {
    let power = reference.ask(provider, Operation::RawPrivate(number.to_vec()))?;
    let public = provider.accelerator.rsa_public(&reference.key);
    let is_right =
        power.len() == number.len() && public.raw_public(&power).is_ok_and(|made| made == number);
    is_right
        .then_some(power)
        .ok_or_else(|| WRONG_ANSWER.to_owned())
}

impl Context {
    /// Signs a digest, or whatever the context is set to sign.
    pub(super) fn sign_remotely(&self, reference: &Remote, place: Place, message: &[u8]) -> c_int {
        if place.room < reference.key.bytes() {
            self.provider().errors.raise(Reason::OutputBufferTooSmall);
            return 0;
        }
        let made = self.signed_remotely(reference, message);
        // SAFETY: there is room for a signature as long as the modulus, as checked above, and a place for its length.
        unsafe { reference.finish(self.provider(), made, place, Reason::FailedToSign) }
    }

    fn signed_remotely(&self, reference: &Remote, message: &[u8]) -> Result<Vec<u8>, String> {
        let provider = self.provider();
        let key = &reference.key;
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
        let made = reference.ask(provider, operation)?;
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
