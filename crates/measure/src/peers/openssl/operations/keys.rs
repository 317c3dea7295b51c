//! Key agreement and encapsulation.

use std::ptr;
use std::rc::Rc;

use super::tools::{Key, KeyContext, Made, Names, Output, Tools};

impl Tools {
    /// Creates a context that generates keys.
    pub(super) fn generator(self: &Rc<Self>, names: Names) -> Option<Made<KeyContext>> {
        self.context_by_name(names, self.calls.EVP_PKEY_keygen_init)
    }

    pub(super) fn generate_in(self: &Rc<Self>, generator: &Made<KeyContext>) -> Option<Made<Key>> {
        self.made_in(generator, self.calls.EVP_PKEY_keygen)
    }

    pub(super) fn generate(self: &Rc<Self>, names: Names) -> Option<Made<Key>> {
        self.generate_in(&self.generator(names)?)
    }

    /// Returns the encoded public key that the other end receives.
    pub(super) fn share_of(&self, key: &Made<Key>) -> Option<Vec<u8>> {
        let mut place = ptr::null_mut();
        // SAFETY: the key is live; the new buffer has the returned length and is freed once.
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

    /// Reads a peer's share into a blank key, as libssl does.
    pub(super) fn read_share(self: &Rc<Self>, names: Names, share: &[u8]) -> Option<Made<Key>> {
        let calls = &self.calls;
        let context = self.context_by_name(names, calls.EVP_PKEY_paramgen_init)?;
        let blank = self.made_in(&context, calls.EVP_PKEY_paramgen)?;
        let set = calls.EVP_PKEY_set1_encoded_public_key;
        // SAFETY: the key is live, and the share has its length.
        let is_set = unsafe { set(blank.object(), share.as_ptr(), share.len()) };
        (is_set == 1).then_some(blank)
    }

    /// Creates a context with both keys.
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

    pub(super) fn agree_in(
        &self,
        context: &Made<KeyContext>,
        output: &mut Output,
    ) -> Option<usize> {
        let (derive, mut bytes) = (self.calls.EVP_PKEY_derive, output.len());
        // SAFETY: the context is live; one without keys is refused; `bytes` is the length of `output`.
        let derived = unsafe { derive(context.object(), output.as_mut_ptr(), &mut bytes) };
        (derived == 1).then_some(bytes)
    }

    pub(super) fn agree(
        self: &Rc<Self>,
        own: &Made<Key>,
        other: &Made<Key>,
        output: &mut Output,
    ) -> Option<usize> {
        let context = self.deriving(own, other)?;
        // libssl asks for the length first.
        let (derive, object) = (self.calls.EVP_PKEY_derive, context.object());
        // SAFETY: the context is live; without an output buffer only the length is written.
        let told = unsafe { derive(object, ptr::null_mut(), &mut 0) };
        self.agree_in(&context, output).filter(|_| told == 1)
    }

    /// Encapsulates a secret; returns its length, and the ciphertext for the owner of the share.
    pub(super) fn encapsulate(
        self: &Rc<Self>,
        names: Names,
        share: &[u8],
        output: &mut Output,
    ) -> Option<(usize, Vec<u8>)> {
        let key = self.read_share(names, share)?;
        let context = self.context_of(&key)?;
        let (context, encapsulate) = (context.object(), self.calls.EVP_PKEY_encapsulate);
        let (nowhere, mut told_bytes, mut bytes) = (ptr::null_mut(), 0, 0);
        // SAFETY: the context is live; without buffers only lengths are written.
        let is_asked = unsafe {
            (self.calls.EVP_PKEY_encapsulate_init)(context, ptr::null()) == 1
                && encapsulate(context, nowhere, &mut told_bytes, nowhere, &mut bytes) == 1
        };
        if !is_asked || bytes > output.len() {
            return None;
        }
        let mut told = vec![0; told_bytes];
        let [to, of] = [told.as_mut_ptr(), output.as_mut_ptr()];
        // SAFETY: the context is live; the buffers have at least the requested lengths.
        let done = unsafe { encapsulate(context, to, &mut told_bytes, of, &mut bytes) };
        (done == 1).then_some((bytes, told))
    }

    pub(super) fn decapsulate(
        self: &Rc<Self>,
        key: &Made<Key>,
        told: &[u8],
        output: &mut Output,
    ) -> Option<usize> {
        let context = self.context_of(key)?;
        let (context, decapsulate) = (context.object(), self.calls.EVP_PKEY_decapsulate);
        let (from, length) = (told.as_ptr(), told.len());
        let (nowhere, mut bytes) = (ptr::null_mut(), 0);
        // SAFETY: the context is live; without a buffer only the length is written.
        let is_asked = unsafe {
            (self.calls.EVP_PKEY_decapsulate_init)(context, ptr::null()) == 1
                && decapsulate(context, nowhere, &mut bytes, from, length) == 1
        };
        if !is_asked || bytes > output.len() {
            return None;
        }
        // SAFETY: the context is live; the buffer is at least as long as requested.
        let done = unsafe { decapsulate(context, output.as_mut_ptr(), &mut bytes, from, length) };
        (done == 1).then_some(bytes)
    }
}
