//! Signatures, and keys that are read and copied.

use std::ffi::{CStr, c_char, c_int, c_long, c_void};
use std::ptr;
use std::rc::Rc;

use super::super::library::Param;
use super::tools::{Decode, DigestContext, Encode, Init, Key, KeyContext, Made, Output, Tools};

/// A function that begins a signature or a verification with a digest, a key and parameters.
type Begin = unsafe extern "C" fn(
    *mut c_void,
    *mut *mut c_void,
    *const c_char,
    *mut c_void,
    *const c_char,
    *mut c_void,
    *const Param,
) -> c_int;

impl Tools {
    fn begun(
        self: &Rc<Self>,
        begin: Begin,
        digest: Option<&CStr>,
        key: &Made<Key>,
        params: &[Param; 3],
    ) -> Option<Made<DigestContext>> {
        let context = self.digest_context()?;
        let name = digest.map_or(ptr::null(), CStr::as_ptr);
        let (nowhere, none) = (ptr::null_mut(), ptr::null());
        // SAFETY: contexts and the key are live, the name ends with a zero or is null, and the parameter array is
        // terminated.
        let done = unsafe {
            let (context, key) = (context.object(), key.object());
            begin(
                context,
                nowhere,
                name,
                self.ctx(),
                none,
                key,
                params.as_ptr(),
            )
        };
        (done == 1).then_some(context)
    }

    /// Creates a context that signs, with no parameters set.
    pub(super) fn signing_context(
        self: &Rc<Self>,
        digest: Option<&CStr>,
        key: &Made<Key>,
    ) -> Option<Made<DigestContext>> {
        let begin = self.calls.EVP_DigestSignInit_ex;
        self.begun(begin, digest, key, &[Param::END; 3])
    }

    /// Signs data of the length that a TLS 1.3 certificate key signs, with libssl's calls.
    pub(super) fn sign(
        self: &Rc<Self>,
        digest: Option<&CStr>,
        key: &Made<Key>,
        output: &mut Output,
    ) -> Option<usize> {
        let begin = self.calls.EVP_DigestSignInit_ex;
        let context = self.begun(begin, digest, key, &self.beginning(digest))?;
        let (sign, context) = (self.calls.EVP_DigestSign, context.object());
        let (from, length) = (SIGNED.as_ptr(), SIGNED.len());
        let (nowhere, mut bytes) = (ptr::null_mut(), 0);
        // SAFETY: the context is live; without a buffer only the length is written.
        let is_asked = unsafe { sign(context, nowhere, &mut bytes, from, length) } == 1;
        if !is_asked || bytes > output.len() {
            return None;
        }
        // SAFETY: the context is live; the buffer is longer than the length requested.
        let done = unsafe { sign(context, output.as_mut_ptr(), &mut bytes, from, length) };
        (done == 1).then_some(bytes)
    }

    pub(super) fn verify(
        self: &Rc<Self>,
        digest: Option<&CStr>,
        key: &Made<Key>,
        signature: &[u8],
    ) -> Option<usize> {
        let begin = self.calls.EVP_DigestVerifyInit_ex;
        let context = self.begun(begin, digest, key, &self.beginning(digest))?;
        let (verify, given, bytes) = (
            self.calls.EVP_DigestVerify,
            signature.as_ptr(),
            signature.len(),
        );
        // SAFETY: the context is live; all lengths are those of their slices.
        let done = unsafe {
            let (from, length) = (SIGNED.as_ptr(), SIGNED.len());
            verify(context.object(), given, bytes, from, length)
        };
        (done == 1).then_some(0)
    }

    /// Creates a context that signs digests.
    pub(super) fn signer(self: &Rc<Self>, key: &Made<Key>) -> Option<Made<KeyContext>> {
        self.ready(key, self.calls.EVP_PKEY_sign_init)
    }

    /// Creates a context that verifies signatures of digests.
    pub(super) fn verifier(self: &Rc<Self>, key: &Made<Key>) -> Option<Made<KeyContext>> {
        self.ready(key, self.calls.EVP_PKEY_verify_init)
    }

    fn ready(self: &Rc<Self>, key: &Made<Key>, init: Init) -> Option<Made<KeyContext>> {
        let context = self.context_of(key)?;
        // SAFETY: the context is live and new.
        (unsafe { init(context.object()) } == 1).then_some(context)
    }

    pub(super) fn sign_in(
        &self,
        context: &Made<KeyContext>,
        digest: &[u8],
        output: &mut Output,
    ) -> Option<usize> {
        let mut bytes = output.len();
        let (sign, from) = (self.calls.EVP_PKEY_sign, digest.as_ptr());
        // SAFETY: the context is live; one that does not sign is refused; lengths are those of their slices.
        let done = unsafe {
            let place = output.as_mut_ptr();
            sign(context.object(), place, &mut bytes, from, digest.len())
        };
        (done == 1).then_some(bytes)
    }

    pub(super) fn verify_in(
        &self,
        context: &Made<KeyContext>,
        signature: &[u8],
        digest: &[u8],
    ) -> Option<usize> {
        let (verify, context) = (self.calls.EVP_PKEY_verify, context.object());
        let (given, bytes) = (signature.as_ptr(), signature.len());
        let (from, length) = (digest.as_ptr(), digest.len());
        // SAFETY: the context is live; one that does not verify is refused; lengths are those of their slices.
        let done = unsafe { verify(context, given, bytes, from, length) };
        (done == 1).then_some(0)
    }

    /// Encodes a key in DER.
    pub(super) fn der(&self, key: &Made<Key>, encode: Encode) -> Option<Vec<u8>> {
        let mut der = vec![0; size_of::<Output>()];
        // SAFETY: the key is live, and no key of these types is longer than the buffer.
        let bytes = unsafe { encode(key.object(), &mut der.as_mut_ptr()) };
        der.truncate(usize::try_from(bytes).ok()?);
        Some(der)
    }

    pub(super) fn read(self: &Rc<Self>, decode: Decode, der: &[u8]) -> Option<Made<Key>> {
        let (mut from, bytes) = (der.as_ptr(), c_long::try_from(der.len()).ok()?);
        // SAFETY: `der` has `bytes` bytes; the library context is live; no one else holds the new key.
        unsafe {
            let key = decode(ptr::null_mut(), &mut from, bytes, self.ctx(), ptr::null());
            self.made(key, self.calls.EVP_PKEY_free)
        }
    }

    /// Copies a key without the data that OpenSSL caches with it.
    pub(super) fn copied(self: &Rc<Self>, key: &Made<Key>) -> Option<Made<Key>> {
        // SAFETY: the key is live; the call creates a new one.
        unsafe {
            let copy = (self.calls.EVP_PKEY_dup)(key.object());
            self.made(copy, self.calls.EVP_PKEY_free)
        }
    }
}

/// The signed data, as long as that of a TLS 1.3 server with SHA-256 (RFC 8446, 4.4.3).
const SIGNED: [u8; 130] = [6; 130];
