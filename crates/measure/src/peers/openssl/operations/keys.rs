//! Keys that agree on a secret, or encapsulate one.

use std::ptr;
use std::rc::Rc;

use super::Agreement;
use super::tools::{Key, KeyContext, Made, Tools};

impl Tools {
    /// A context that makes keys.
    pub(super) fn generator(self: &Rc<Self>, agreement: Agreement) -> Option<Made<KeyContext>> {
        self.context_by_name(agreement.names(), self.calls.EVP_PKEY_keygen_init)
    }

    pub(super) fn generate_in(self: &Rc<Self>, generator: &Made<KeyContext>) -> Option<Made<Key>> {
        self.made_in(generator, self.calls.EVP_PKEY_keygen)
    }

    pub(super) fn generate(self: &Rc<Self>, agreement: Agreement) -> Option<Made<Key>> {
        self.generate_in(&self.generator(agreement)?)
    }

    /// What the other end gets of this key.
    pub(super) fn share_of(&self, key: &Made<Key>) -> Option<Vec<u8>> {
        let mut place = ptr::null_mut();
        // SAFETY: the key is live; what was made has as many bytes and is freed once.
        unsafe {
            let bytes = (self.calls.EVP_PKEY_get1_encoded_public_key)(key.object(), &mut place);
            if place.is_null() {
                return None;
            }
            let share = std::slice::from_raw_parts(place, bytes).to_vec();
            (self.calls.CRYPTO_free)(place.cast(), c"".as_ptr(), 0);
            Some(share)
        }
    }

    pub(super) fn read_share(
        self: &Rc<Self>,
        agreement: Agreement,
        share: &[u8],
    ) -> Option<Made<Key>> {
        let calls = &self.calls;
        let context = self.context_by_name(agreement.names(), calls.EVP_PKEY_paramgen_init)?;
        let blank = self.made_in(&context, calls.EVP_PKEY_paramgen)?;
        let set = calls.EVP_PKEY_set1_encoded_public_key;
        // SAFETY: the key is live, and the share has its length.
        let is_set = unsafe { set(blank.object(), share.as_ptr(), share.len()) };
        (is_set == 1).then_some(blank)
    }

    /// A context that has both keys.
    pub(super) fn deriving(
        self: &Rc<Self>,
        own: &Made<Key>,
        other: &Made<Key>,
    ) -> Option<Made<KeyContext>> {
        let context = self.context_of(own)?;
        // SAFETY: the context and the key are live.
        let is_set = unsafe {
            (self.calls.EVP_PKEY_derive_init)(context.object()) == 1
                && (self.calls.EVP_PKEY_derive_set_peer)(context.object(), other.object()) == 1
        };
        is_set.then_some(context)
    }

    pub(super) fn derive_in(&self, context: &Made<KeyContext>) -> Option<[u8; 64]> {
        let mut secret = [0; 64];
        let (derive, mut bytes) = (self.calls.EVP_PKEY_derive, secret.len());
        // SAFETY: the context is live; one without keys is refused; the place has as many bytes as are said.
        let derived = unsafe { derive(context.object(), secret.as_mut_ptr(), &mut bytes) };
        (derived == 1).then_some(secret)
    }

    pub(super) fn derive(self: &Rc<Self>, own: &Made<Key>, other: &Made<Key>) -> Option<[u8; 64]> {
        let context = self.deriving(own, other)?;
        // libssl asks for the length first.
        let (derive, object) = (self.calls.EVP_PKEY_derive, context.object());
        // SAFETY: the context is live; without an output buffer only the length is written.
        let told = unsafe { derive(object, ptr::null_mut(), &mut 0) };
        self.derive_in(&context).filter(|_| told == 1)
    }

    /// Gives what tells the secret to the owner of the share.
    pub(super) fn encapsulate(
        self: &Rc<Self>,
        agreement: Agreement,
        share: &[u8],
    ) -> Option<Vec<u8>> {
        let key = self.read_share(agreement, share)?;
        let context = self.context_of(&key)?;
        let (context, encapsulate) = (context.object(), self.calls.EVP_PKEY_encapsulate);
        let (nowhere, mut told_bytes, mut secret_bytes) = (ptr::null_mut(), 0, 0);
        // SAFETY: the context is live; without places nothing but lengths is written.
        let is_asked = unsafe {
            (self.calls.EVP_PKEY_encapsulate_init)(context, ptr::null()) == 1
                && encapsulate(
                    context,
                    nowhere,
                    &mut told_bytes,
                    nowhere,
                    &mut secret_bytes,
                ) == 1
        };
        let (mut told, mut secret) = (vec![0; told_bytes], vec![0; secret_bytes]);
        let [to, of] = [&mut told, &mut secret].map(|place| place.as_mut_ptr());
        // SAFETY: the context is live; places are as long as they were asked to be.
        let done = unsafe { encapsulate(context, to, &mut told_bytes, of, &mut secret_bytes) };
        (is_asked && done == 1).then_some(told)
    }

    pub(super) fn decapsulate(self: &Rc<Self>, key: &Made<Key>, told: &[u8]) -> Option<Vec<u8>> {
        let context = self.context_of(key)?;
        let (context, decapsulate) = (context.object(), self.calls.EVP_PKEY_decapsulate);
        let (from, length) = (told.as_ptr(), told.len());
        let (nowhere, mut bytes) = (ptr::null_mut(), 0);
        // SAFETY: the context is live; without a place nothing but the length is written.
        let is_asked = unsafe {
            (self.calls.EVP_PKEY_decapsulate_init)(context, ptr::null()) == 1
                && decapsulate(context, nowhere, &mut bytes, from, length) == 1
        };
        let mut secret = vec![0; bytes];
        // SAFETY: the context is live; the place is as long as it was asked to be.
        let done = unsafe { decapsulate(context, secret.as_mut_ptr(), &mut bytes, from, length) };
        (is_asked && done == 1).then_some(secret)
    }
}
