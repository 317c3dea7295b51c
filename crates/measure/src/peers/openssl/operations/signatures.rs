//! Signatures, and public keys that are read.

use std::ffi::{CStr, c_long};
use std::ptr;
use std::rc::Rc;

use super::SigningKey;
use super::tools::{Init, Key, KeyContext, Made, Tools};

impl Tools {
    pub(super) fn signing(self: &Rc<Self>, kind: SigningKey) -> Option<Made<Key>> {
        let (name, group, _) = kind.names();
        let generator = self.context_by_name((name, group), self.calls.EVP_PKEY_keygen_init)?;
        self.made_in(&generator, self.calls.EVP_PKEY_keygen)
    }

    pub(super) fn sign(self: &Rc<Self>, kind: SigningKey, key: &Made<Key>) -> Option<Vec<u8>> {
        let context = self.digest_context()?;
        let (calls, context, none) = (&self.calls, context.object(), ptr::null());
        let params = self.beginning(kind.names().2);
        let digest = kind.names().2.map_or(ptr::null(), CStr::as_ptr);
        let (init, sign) = (calls.EVP_DigestSignInit_ex, calls.EVP_DigestSign);
        let (from, length) = (SIGNED.as_ptr(), SIGNED.len());
        let (nowhere, mut bytes) = (ptr::null_mut(), 0);
        // SAFETY: the context and the key are live; without a place nothing but the length is written.
        let is_asked = unsafe {
            init(
                context,
                nowhere,
                digest,
                self.ctx(),
                none,
                key.object(),
                params.as_ptr(),
            ) == 1
                && sign(context, ptr::null_mut(), &mut bytes, from, length) == 1
        };
        let mut signature = vec![0; bytes];
        // SAFETY: the context is live; the place is as long as it was asked to be.
        let done = unsafe { sign(context, signature.as_mut_ptr(), &mut bytes, from, length) };
        signature.truncate(bytes);
        (is_asked && done == 1).then_some(signature)
    }

    pub(super) fn verify(
        self: &Rc<Self>,
        kind: SigningKey,
        key: &Made<Key>,
        signature: &[u8],
    ) -> Option<()> {
        let context = self.digest_context()?;
        let (calls, context, none) = (&self.calls, context.object(), ptr::null());
        let params = self.beginning(kind.names().2);
        let digest = kind.names().2.map_or(ptr::null(), CStr::as_ptr);
        let (init, verify) = (calls.EVP_DigestVerifyInit_ex, calls.EVP_DigestVerify);
        let (from, length) = (SIGNED.as_ptr(), SIGNED.len());
        let (given, bytes) = (signature.as_ptr(), signature.len());
        let nowhere = ptr::null_mut();
        // SAFETY: the context and the key are live; lengths are those of their places.
        let done = unsafe {
            init(
                context,
                nowhere,
                digest,
                self.ctx(),
                none,
                key.object(),
                params.as_ptr(),
            ) == 1
                && verify(context, given, bytes, from, length) == 1
        };
        done.then_some(())
    }

    /// A context that signs.
    pub(super) fn signer(self: &Rc<Self>, key: &Made<Key>) -> Option<Made<KeyContext>> {
        self.ready(key, self.calls.EVP_PKEY_sign_init)
    }

    /// A context that verifies.
    pub(super) fn verifier(self: &Rc<Self>, key: &Made<Key>) -> Option<Made<KeyContext>> {
        self.ready(key, self.calls.EVP_PKEY_verify_init)
    }

    fn ready(self: &Rc<Self>, key: &Made<Key>, init: Init) -> Option<Made<KeyContext>> {
        let context = self.context_of(key)?;
        // SAFETY: the context is live and new.
        (unsafe { init(context.object()) } == 1).then_some(context)
    }

    pub(super) fn sign_in(&self, context: &Made<KeyContext>, digest: &[u8]) -> Option<Vec<u8>> {
        let mut signature = vec![0; BYTES_MAX];
        let mut bytes = signature.len();
        let (sign, from) = (self.calls.EVP_PKEY_sign, digest.as_ptr());
        // SAFETY: the context is live; one that does not sign is refused; lengths are those of their places.
        let done = unsafe {
            let place = signature.as_mut_ptr();
            sign(context.object(), place, &mut bytes, from, digest.len())
        };
        signature.truncate(bytes);
        (done == 1).then_some(signature)
    }

    pub(super) fn verify_in(
        &self,
        context: &Made<KeyContext>,
        signature: &[u8],
        digest: &[u8],
    ) -> Option<()> {
        let (verify, given, bytes) = (
            self.calls.EVP_PKEY_verify,
            signature.as_ptr(),
            signature.len(),
        );
        // SAFETY: the context is live; one that does not verify is refused; lengths are those of their places.
        let done = unsafe {
            verify(
                context.object(),
                given,
                bytes,
                digest.as_ptr(),
                digest.len(),
            )
        };
        (done == 1).then_some(())
    }

    /// In DER.
    pub(super) fn public_of(&self, key: &Made<Key>) -> Option<Vec<u8>> {
        let mut der = vec![0; BYTES_MAX];
        // SAFETY: the key is live, and shorter than its place.
        let bytes = unsafe { (self.calls.i2d_PUBKEY)(key.object(), &mut der.as_mut_ptr()) };
        der.truncate(usize::try_from(bytes).ok()?);
        Some(der)
    }

    pub(super) fn read_public(self: &Rc<Self>, der: &[u8]) -> Option<Made<Key>> {
        let (mut from, bytes) = (der.as_ptr(), c_long::try_from(der.len()).ok()?);
        let (read, nowhere) = (self.calls.d2i_PUBKEY_ex, ptr::null_mut());
        // SAFETY: there are as many bytes as are said; the library context is live; it makes a new key.
        unsafe {
            let key = read(nowhere, &mut from, bytes, self.ctx(), ptr::null());
            self.made(key, self.calls.EVP_PKEY_free)
        }
    }
}

/// As long as what a server of TLS 1.3 signs with SHA-256 (RFC 8446, 4.4.3).
const SIGNED: [u8; 130] = [6; 130];
/// The most bytes of a signature, and of a public key in DER.
const BYTES_MAX: usize = 1024;
