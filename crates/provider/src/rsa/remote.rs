//! Signatures by keys that are on another machine: a relay is asked, and what it says is checked.
#![allow(unsafe_code)]

use std::ffi::c_int;

use oarlock::costs::Signed;
use oarlock::rsa::{PssSalt, SignatureScheme};
use oarlock_local::relay::{Operation, Question, Reference};

use super::context::{Context, Encoding, Place};
use crate::error::Reason;

impl Context {
    /// Signs a digest, or what else the context is set to.
    pub(super) fn sign_remotely(
        &self,
        reference: &Reference,
        place: Place,
        message: &[u8],
    ) -> c_int {
        // SAFETY: the provider lives as long as its contexts.
        let errors = unsafe { (*self.provider).errors };
        if place.room < reference.key().bytes() {
            errors.raise(Reason::OutputBufferTooSmall);
            return 0;
        }
        match self.signed_remotely(reference, message) {
            Ok(signature) => {
                // SAFETY: there is room for as many bytes as the modulus has, and a place for their number.
                unsafe {
                    signature
                        .as_ptr()
                        .copy_to_nonoverlapping(place.signature, signature.len());
                    *place.bytes = signature.len();
                }
                self.count(true, Signed::Remotely);
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
        let reference = self.key.as_ref().and_then(|key| key.reference());
        let id = reference.map_or("", |reference| reference.key_id());
        // SAFETY: the provider lives as long as its contexts.
        let errors = unsafe { (*self.provider).errors };
        errors.raise_saying(Reason::FailedToSign, &format!("remote key {id:?}: {why}"));
    }

    fn signed_remotely(&self, reference: &Reference, message: &[u8]) -> Result<Vec<u8>, String> {
        // SAFETY: the provider lives as long as its contexts.
        let provider = unsafe { &*self.provider };
        let key = reference.key();
        let encoding = self.encoding(key, message);
        let encoding = encoding.ok_or("its settings are none that a cryptoserver knows")?;
        let operation = match &encoding {
            Encoding::Made(number) => Operation::RawPrivate(number.clone()),
            Encoding::Of(scheme) => match Operation::sign(named(*scheme), message) {
                Some(operation) => operation,
                None => {
                    let number = scheme.encode(message, key);
                    Operation::RawPrivate(number.map_err(|error| error.to_string())?)
                }
            },
        };
        let question = Question {
            key_id: reference.key_id().to_owned(),
            operation,
        };
        let made = provider.signer.ask(&question)?;
        let public = provider.accelerator.rsa_public(key);
        let is_right = made.len() == key.bytes()
            && match (&encoding, &question.operation) {
                (Encoding::Of(scheme), Operation::Sign { .. }) => {
                    public.verify_digest(*scheme, message, &made).is_ok()
                }
                (_, Operation::RawPrivate(number)) => {
                    public.raw_public(&made).is_ok_and(|power| power == *number)
                }
                (Encoding::Made(_), Operation::Sign { .. }) => false,
            };
        // Whoever has a wrong one may work out the key (Boneh, DeMillo and Lipton 1997).
        is_right.then(|| made.to_vec()).ok_or_else(|| {
            "the signature is not of this key: has the server another one of that name by now (oarlock pubkey --reference)?"
                .to_owned()
        })
    }
}

/// PSS as the protocol names it, where the salt is as long as the digest and one hash function is for both.
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
