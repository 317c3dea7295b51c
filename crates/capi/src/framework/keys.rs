//! RSA requests, which a device may execute.

use std::ffi::{c_char, c_int, c_void};

use oarlock::device::PublicKeyRequest;
use oarlock::framework::{Framework, Place};
use oarlock::rsa::{AcceleratedRsa, Base, ByteOrder};

use crate::buffers::input;
use crate::failure::{Failure, call};
use crate::handles::Handle;
use crate::job::{AnyJob, queue_full, submitted};
use crate::rsa::{encryption_scheme, signature_scheme};

/// Defines calls that submit a request with a private key.
macro_rules! requesting {
    ($($name:ident($parse:ident, $what:literal)
        |$private:ident, $scheme:ident, $octets:ident| $request:expr;)+) => {
        $(/// See `oarlock.h`.
        ///
        /// # Safety
        /// The caller owns `job`, or it is NULL; the name of the scheme ends with a NUL; the octets are `octets_bytes` long;
        /// each may be NULL.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            framework: Handle<Framework>,
            private: Handle<AcceleratedRsa>,
            job: *mut Handle<AnyJob>,
            $scheme: *const c_char,
            $octets: *const c_void,
            octets_bytes: usize,
        ) -> c_int {
            let request = || {
                // SAFETY: the caller says that the name is NULL or ends with a NUL, and that the octets are NULL or
                // `octets_bytes` long.
                let ($scheme, $octets) = unsafe {
                    ($parse($scheme)?, input($octets, octets_bytes, $what)?)
                };
                let private = private.shared()?;
                let $private = private.key();
                Ok($request?)
            };
            // SAFETY: the caller of a request says that it owns `job`, or it is NULL.
            call(|| unsafe { submit(framework, job, request) })
        })+
    };
}

requesting! {
    oarlock_framework_submit_sign(signature_scheme, "the message")
        |private, scheme, message| PublicKeyRequest::sign(private, scheme, message);
    oarlock_framework_submit_sign_digest(signature_scheme, "the digest")
        |private, scheme, digest| PublicKeyRequest::sign_digest(private, scheme, digest);
    oarlock_framework_submit_decrypt(encryption_scheme, "the ciphertext")
        |private, scheme, ciphertext| PublicKeyRequest::decrypt(private, &scheme, ciphertext);
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
