//! Authenticated ciphers.

use std::ffi::{c_char, c_int, c_void};

use oarlock::Accelerator;
use oarlock::aead::AcceleratedAead;

use crate::accelerator::free_shared;
use crate::algorithms::named;
use crate::buffers::{apart, both, input, output, place, text};
use crate::failure::call;
use crate::handles::{Handle, ManyCalls, Object};

impl Object for AcceleratedAead {
    const KIND: u64 = 3;
    const NAME: &'static str = "AEAD";
}

impl ManyCalls for AcceleratedAead {}

const TAG_BYTES: usize = 16;

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `aead`, or it is NULL; `algorithm` is NULL or ends with a NUL; `key` is NULL or has `key_bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_aead_new(
    accelerator: Handle<Accelerator>,
    aead: *mut Handle<AcceleratedAead>,
    algorithm: *const c_char,
    key: *const c_void,
    key_bytes: usize,
) -> c_int {
    call(|| {
        // SAFETY: the caller says that it owns `aead`, or it is NULL.
        let to = unsafe { place(aead, "the place of the AEAD") }?;
        *to = Handle::NULL;
        let accelerator = accelerator.shared()?;
        // SAFETY: the caller says that `algorithm` is NULL or ends with a NUL.
        let algorithm = named(unsafe { text(algorithm, "the name of the algorithm") }?)?;
        // SAFETY: the caller of `oarlock_aead_new` says that `key` is NULL or has `key_bytes` bytes.
        let key = unsafe { input(key, key_bytes, "the key") }?;
        *to = Handle::new(accelerator.aead(algorithm, key)?)?;
        Ok(())
    })
}

/// See `oarlock.h`.
#[unsafe(no_mangle)]
pub extern "C" fn oarlock_aead_free(aead: Handle<AcceleratedAead>) -> c_int {
    free_shared(aead)
}

/// See `oarlock.h`.
///
/// # Safety
/// Each pointer is NULL or has the bytes of the length that follows it, or 16 for the tag; the caller owns those of `out`
/// and `tag`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_aead_seal(
    aead: Handle<AcceleratedAead>,
    out: *mut c_void,
    tag: *mut c_void,
    nonce: *const c_void,
    nonce_bytes: usize,
    aad: *const c_void,
    aad_bytes: usize,
    data: *const c_void,
    bytes: usize,
) -> c_int {
    call(|| {
        let aead = aead.shared()?;
        const TAG: &str = "the tag has a buffer of its own";
        apart(tag, TAG_BYTES, out, bytes, TAG)?;
        apart(tag, TAG_BYTES, data, bytes, TAG)?;
        const OTHERS: &str = "nonce and associated data have buffers of their own";
        for (other, other_bytes) in [(nonce, nonce_bytes), (aad, aad_bytes)] {
            apart(out, bytes, other, other_bytes, OTHERS)?;
            apart(tag, TAG_BYTES, other, other_bytes, OTHERS)?;
        }
        // SAFETY: the caller says that each buffer is NULL or has its bytes, and that it owns `out` and `tag`; neither
        // overlaps any other buffer, except that `out` and `data` may be the same, as was checked.
        let (data, tag, nonce, aad) = unsafe {
            (
                both(out, data, bytes)?,
                output(tag, TAG_BYTES, "the place of the tag")?,
                input(nonce, nonce_bytes, "the nonce")?,
                input(aad, aad_bytes, "the associated data")?,
            )
        };
        tag.copy_from_slice(&aead.seal(nonce, aad, data)?);
        Ok(())
    })
}

/// See `oarlock.h`.
///
/// # Safety
/// Each pointer is NULL or has the bytes of the length that follows it, or 16 for the tag; the caller owns those of `out`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_aead_open(
    aead: Handle<AcceleratedAead>,
    out: *mut c_void,
    tag: *const c_void,
    nonce: *const c_void,
    nonce_bytes: usize,
    aad: *const c_void,
    aad_bytes: usize,
    data: *const c_void,
    bytes: usize,
) -> c_int {
    call(|| {
        let aead = aead.shared()?;
        const OTHERS: &str = "tag, nonce and associated data have buffers of their own";
        for (other, other_bytes) in [(tag, TAG_BYTES), (nonce, nonce_bytes), (aad, aad_bytes)] {
            apart(out, bytes, other, other_bytes, OTHERS)?;
        }
        // SAFETY: the caller says that each buffer is NULL or has its bytes, and that it owns `out`, which overlaps no other
        // buffer except that it may be the same as `data`, as was checked.
        let (data, tag, nonce, aad) = unsafe {
            (
                both(out, data, bytes)?,
                input(tag, TAG_BYTES, "the tag")?,
                input(nonce, nonce_bytes, "the nonce")?,
                input(aad, aad_bytes, "the associated data")?,
            )
        };
        Ok(aead.open(nonce, aad, data, tag)?)
    })
}
