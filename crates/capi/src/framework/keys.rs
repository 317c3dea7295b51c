//! RSA requests, which a device may execute.

use std::ffi::{c_char, c_int, c_void};

use oarlock::device::PublicKeyRequest;
use oarlock::framework::{Framework, Place};
use oarlock::rsa::{AcceleratedRsa, Base, ByteOrder};

use crate::buffers::input;
use crate::failure::{Failure, call};
use crate::handles::Handle;
use crate::job::{AnyJob, submitted};
use crate::rsa::{encryption_scheme, queue_full, signature_scheme};

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `job`, or it is NULL; `scheme` ends with a NUL and `message` has `message_bytes` bytes; each may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_framework_submit_sign(
    framework: Handle<Framework>,
    private: Handle<AcceleratedRsa>,
    job: *mut Handle<AnyJob>,
    scheme: *const c_char,
    message: *const c_void,
    message_bytes: usize,
) -> c_int {
    let request = || {
        // SAFETY: the caller says that `scheme` is NULL or ends with a NUL; and `message` is NULL or has
        // `message_bytes` bytes.
        let (scheme, message) = unsafe {
            (
                signature_scheme(scheme)?,
                input(message, message_bytes, "the message")?,
            )
        };
        let private = private.shared()?;
        Ok(PublicKeyRequest::sign(private.key(), scheme, message)?)
    };
    // SAFETY: the caller of `oarlock_framework_submit_sign` says that it owns `job`, or it is NULL.
    call(|| unsafe { submit(framework, job, request) })
}

/// See `oarlock.h`.
///
/// # Safety
/// The same as for [`oarlock_framework_submit_sign`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_framework_submit_sign_digest(
    framework: Handle<Framework>,
    private: Handle<AcceleratedRsa>,
    job: *mut Handle<AnyJob>,
    scheme: *const c_char,
    digest: *const c_void,
    digest_bytes: usize,
) -> c_int {
    let request = || {
        // SAFETY: the caller says that `scheme` is NULL or ends with a NUL; and `digest` is NULL or has
        // `digest_bytes` bytes.
        let (scheme, digest) = unsafe {
            (
                signature_scheme(scheme)?,
                input(digest, digest_bytes, "the digest")?,
            )
        };
        let private = private.shared()?;
        Ok(PublicKeyRequest::sign_digest(
            private.key(),
            scheme,
            digest,
        )?)
    };
    // SAFETY: the caller of `oarlock_framework_submit_sign_digest` says that it owns `job`, or it is NULL.
    call(|| unsafe { submit(framework, job, request) })
}

/// See `oarlock.h`.
///
/// # Safety
/// The same as for [`oarlock_framework_submit_sign`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_framework_submit_decrypt(
    framework: Handle<Framework>,
    private: Handle<AcceleratedRsa>,
    job: *mut Handle<AnyJob>,
    scheme: *const c_char,
    ciphertext: *const c_void,
    ciphertext_bytes: usize,
) -> c_int {
    let request = || {
        // SAFETY: the caller says that `scheme` is NULL or ends with a NUL; and `ciphertext` is NULL or has
        // `ciphertext_bytes` bytes.
        let (scheme, ciphertext) = unsafe {
            (
                encryption_scheme(scheme)?,
                input(ciphertext, ciphertext_bytes, "the ciphertext")?,
            )
        };
        let private = private.shared()?;
        Ok(PublicKeyRequest::decrypt(
            private.key(),
            &scheme,
            ciphertext,
        )?)
    };
    // SAFETY: the caller of `oarlock_framework_submit_decrypt` says that it owns `job`, or it is NULL.
    call(|| unsafe { submit(framework, job, request) })
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `job`, or it is NULL; the numbers are NULL or have the lengths given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_framework_submit_power(
    framework: Handle<Framework>,
    job: *mut Handle<AnyJob>,
    modulus: *const c_void,
    modulus_bytes: usize,
    base: *const c_void,
    base_bytes: usize,
    exponent: *const c_void,
    exponent_bytes: usize,
) -> c_int {
    let request = || {
        // SAFETY: the caller says that `modulus` is NULL or has `modulus_bytes` bytes; `base` is NULL or has
        // `base_bytes` bytes; and `exponent` is NULL or has `exponent_bytes` bytes.
        let (modulus, magnitude, exponent) = unsafe {
            (
                input(modulus, modulus_bytes, "the modulus")?,
                input(base, base_bytes, "the base")?,
                input(exponent, exponent_bytes, "the exponent")?,
            )
        };
        let base = Base {
            magnitude,
            is_negative: false,
        };
        Ok(PublicKeyRequest::power(
            modulus,
            base,
            exponent,
            ByteOrder::BigEndian,
        )?)
    };
    // SAFETY: the caller of `oarlock_framework_submit_power` says that it owns `job`, or it is NULL.
    call(|| unsafe { submit(framework, job, request) })
}

/// # Safety
/// The caller owns `job`, or it is NULL.
unsafe fn submit(
    framework: Handle<Framework>,
    job: *mut Handle<AnyJob>,
    request: impl FnOnce() -> Result<PublicKeyRequest, Failure>,
) -> Result<(), Failure> {
    let submit = || {
        let framework = framework.shared()?;
        let job = framework
            .submit_public_key(request()?, Place::Auto)
            .map_err(queue_full)?;
        Ok(job.map(|answer| answer.outcome.map(|()| answer.power)))
    };
    // SAFETY: the caller says that it owns `job`, or it is NULL, as `submitted` requires.
    unsafe { submitted(job, submit) }
}
