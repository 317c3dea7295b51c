//! HMAC (EVP_MAC(3)).

use std::ffi::c_int;
use std::ffi::c_void;
use std::ptr::{null, null_mut};

use super::library::{Errors, SIDES, errors, libcrypto};
use super::param::Values;

/// A context of one provider.
pub(crate) struct Mac(*mut c_void);

impl Mac {
    /// The context of a provider, which is one of [`SIDES`].
    pub(crate) fn new(side: usize) -> Self {
        let libcrypto = libcrypto();
        // SAFETY: a live library context, and texts that end with a zero; what is fetched is freed once.
        unsafe {
            let fetch = libcrypto.EVP_MAC_fetch;
            let mac = fetch(libcrypto.context, c"HMAC".as_ptr(), SIDES[side].as_ptr());
            assert!(!mac.is_null(), "{:?} has no HMAC", SIDES[side]);
            let context = (libcrypto.EVP_MAC_CTX_new)(mac);
            (libcrypto.EVP_MAC_free)(mac);
            assert!(!context.is_null());
            Self(context)
        }
    }

    pub(crate) fn init(&self, key: Option<&[u8]>, values: &Values) -> (c_int, Errors) {
        let (first, bytes) = key.map_or((null(), 0), |key| (key.as_ptr(), key.len()));
        let init = libcrypto().EVP_MAC_init;
        // SAFETY: a live context, null or a key of `bytes` bytes, and an array that ends.
        let done = values.with(|params| unsafe { init(self.0, first, bytes, params) });
        (done, errors())
    }

    pub(crate) fn set(&self, values: &Values) -> (c_int, Errors) {
        let set = libcrypto().EVP_MAC_CTX_set_params;
        // SAFETY: the context of this MAC is live, and the array of `Values::with` ends.
        let done = values.with(|params| unsafe { set(self.0, params) });
        (done, errors())
    }

    pub(crate) fn update(&self, data: &[u8]) -> (c_int, Errors) {
        // SAFETY: a live context, and data with so many bytes.
        let done = unsafe { (libcrypto().EVP_MAC_update)(self.0, data.as_ptr(), data.len()) };
        (done, errors())
    }

    /// The tag into a place of which `room` bytes are said to be there, empty where that is refused.
    pub(crate) fn finish(&self, room: usize) -> (c_int, Vec<u8>, Errors) {
        // A digest of extendable length writes more than it says.
        let (mut tag, mut bytes) = (vec![0xa5; room + SLACK], usize::MAX);
        let finish = libcrypto().EVP_MAC_final;
        // SAFETY: a live context, a place for a length, and one with more than `room` bytes.
        let done = unsafe { finish(self.0, tag.as_mut_ptr(), &mut bytes, room) };
        tag.truncate(if done == 1 { bytes } else { 0 });
        (done, tag, errors())
    }

    /// The length of a tag, asked for without a place.
    pub(crate) fn tag_bytes(&self) -> (c_int, usize, Errors) {
        let mut bytes = 0;
        // SAFETY: a live context, and a place for a length.
        let done = unsafe { (libcrypto().EVP_MAC_final)(self.0, null_mut(), &mut bytes, 0) };
        (done, bytes, errors())
    }

    /// The lengths of tags and of blocks.
    pub(crate) fn sizes(&self) -> (usize, usize) {
        // SAFETY: a live context, which tells its sizes.
        let sizes = unsafe {
            (
                (libcrypto().EVP_MAC_CTX_get_mac_size)(self.0),
                (libcrypto().EVP_MAC_CTX_get_block_size)(self.0),
            )
        };
        errors();
        sizes
    }

    pub(crate) fn copy(&self) -> Self {
        // SAFETY: a live context, which is read alone.
        let copy = unsafe { (libcrypto().EVP_MAC_CTX_dup)(self.0) };
        assert!(!copy.is_null());
        Self(copy)
    }
}

impl Drop for Mac {
    fn drop(&mut self) {
        // SAFETY: a MAC context of `new` or `copy`, freed here alone.
        unsafe { (libcrypto().EVP_MAC_CTX_free)(self.0) };
    }
}

const SLACK: usize = 128;
