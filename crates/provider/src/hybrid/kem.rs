//! Encapsulation and decapsulation (provider-kem(7), EVP_KEM-MLX(7)).
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use oarlock_engine::Error;
use oarlock_engine::agreement::{Hybrid, HybridPublicKey};
use oarlock_engine::costs::Performed;
use zeroize::Zeroizing;

use super::keymgmt::{Halves, Key, answer};
use crate::abi::{Dispatch, Param, kem_function};
use crate::boxed;
use crate::caught::catching;
use crate::error::Reason;
use crate::place::Place;
use crate::provider::Provider;

/// A context that OpenSSL holds.
struct Context {
    halves: Halves,
    /// The core does not tear down a provider that has a context.
    provider: *const Provider,
}

/// Returns the functions for OpenSSL, the same for every hybrid.
pub(super) fn table() -> Vec<Dispatch> {
    let functions = [
        (kem_function::NEWCTX, newctx as *const c_void),
        (
            kem_function::ENCAPSULATE_INIT,
            encapsulate_init as *const c_void,
        ),
        (kem_function::ENCAPSULATE, encapsulate as *const c_void),
        (
            kem_function::DECAPSULATE_INIT,
            decapsulate_init as *const c_void,
        ),
        (kem_function::DECAPSULATE, decapsulate as *const c_void),
        (
            kem_function::FREECTX,
            boxed::free::<Context> as *const c_void,
        ),
        (
            kem_function::SET_CTX_PARAMS,
            set_ctx_params as *const c_void,
        ),
        (
            kem_function::SETTABLE_CTX_PARAMS,
            settable_ctx_params as *const c_void,
        ),
    ];
    let functions = functions.map(|(id, function)| Dispatch { id, function });
    functions.into_iter().chain([Dispatch::END]).collect()
}

impl Context {
    /// Runs a computation on a sufficient stack and counts it.
    fn compute(
        &self,
        hybrid: Hybrid,
        performed: Performed,
        compute: impl FnOnce() -> Result<(), Error>,
    ) -> Result<(), Reason> {
        // SAFETY: the core tears the provider down after its last context, and this one is in use.
        let provider = unsafe { &*self.provider };
        let done = provider.signer.on_deep_stack(compute);
        done.ok_or(Reason::Silent)?.map_err(reason)?;
        provider.count(super::of(hybrid), performed);
        Ok(())
    }

    fn encapsulate(&self, ciphertext: Place, secret: Place) -> Result<(), Reason> {
        let made;
        let key: &HybridPublicKey = match &self.halves {
            Halves::None => return Err(Reason::MissingKey),
            Halves::Public(key) => key,
            Halves::Both(key) => {
                made = key.public_key().map_err(|_| Reason::Silent)?;
                &made
            }
        };
        let hybrid = key.hybrid();
        let (ciphertext_bytes, secret_bytes) = (hybrid.ciphertext_bytes(), hybrid.secret_bytes());
        if ciphertext.is_absent() {
            if ciphertext.has_no_length() && secret.has_no_length() {
                return Err(Reason::Silent);
            }
            ciphertext.tell(ciphertext_bytes);
            secret.tell(secret_bytes);
            return Ok(());
        }
        if secret.is_absent() {
            return Err(Reason::NullOutputBuffer);
        }
        let ciphertext = ciphertext.take(ciphertext_bytes)?;
        let secret = secret.take(secret_bytes)?;
        let mut made = Zeroizing::new([0; SECRET_BYTES_MAX]);
        let made = &mut made[..secret_bytes];
        // SAFETY: the core's caller has room for a ciphertext, as `take` checked.
        let ciphertext = unsafe { std::slice::from_raw_parts_mut(ciphertext, ciphertext_bytes) };
        let encapsulate = || key.encapsulate(ciphertext, made);
        let done = self.compute(hybrid, Performed::Encapsulated, encapsulate);
        // SAFETY: the core's caller has room for a secret, as `take` checked. After a failure, `made` is all zeros.
        unsafe { made.as_ptr().copy_to(secret, secret_bytes) };
        done
    }

    fn decapsulate(&self, secret: Place, ciphertext: &[u8]) -> Result<(), Reason> {
        let Halves::Both(key) = &self.halves else {
            return Err(Reason::MissingKey);
        };
        let hybrid: Hybrid = key.hybrid();
        let bytes = hybrid.secret_bytes();
        if secret.is_absent() {
            if secret.has_no_length() {
                return Err(Reason::Silent);
            }
            secret.tell(bytes);
            return Ok(());
        }
        // Without a length, the buffer must be long enough.
        let place = match secret.has_no_length() {
            true => secret.first,
            false => secret.take(bytes)?,
        };
        if ciphertext.len() != hybrid.ciphertext_bytes() {
            return Err(Reason::WrongCiphertextSize);
        }
        let mut made = Zeroizing::new([0; SECRET_BYTES_MAX]);
        let made = &mut made[..bytes];
        let decapsulate = || key.decapsulate(ciphertext, made);
        let done = self.compute(hybrid, Performed::Decapsulated, decapsulate);
        // SAFETY: the core's caller has room for a secret. It may overlap the ciphertext, which is no longer used.
        // After a failure, `made` is all zeros.
        unsafe { made.as_ptr().copy_to(place, bytes) };
        done
    }
}

fn reason(error: Error) -> Reason {
    match error {
        // The curve's share is invalid, or of small order.
        Error::InvalidKey(_) => Reason::FailedDuringDerivation,
        _ => Reason::Silent,
    }
}

/// # Safety
/// `context` is null or from `newctx`, and no other call with it is in progress.
unsafe fn with(
    context: *mut c_void,
    work: impl FnOnce(&mut Context) -> Result<(), Reason>,
) -> c_int {
    catching(0, || {
        // SAFETY: `context` is null or a hybrid's context that no other call uses, as the caller says.
        let Some(context) = (unsafe { context.cast::<Context>().as_mut() }) else {
            return 0;
        };
        let done = work(context);
        // SAFETY: the core does not tear down a provider that has a context, and this one was created by `newctx`.
        answer(unsafe { &*context.provider }, done)
    })
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core.
unsafe extern "C" fn newctx(provider: *mut c_void) -> *mut c_void {
    catching(null_mut(), || {
        boxed::held(Context {
            halves: Halves::None,
            provider: provider.cast(),
        })
    })
}

/// # Safety
/// As [`with`]; `key` is null or one of our keys, which no other call changes.
unsafe fn init(
    context: *mut c_void,
    key: *mut c_void,
    is_enough: impl Fn(&Halves) -> bool,
) -> c_int {
    // SAFETY: `context` is as `with` requires, and `key` is null or a hybrid's key that no other call changes.
    unsafe {
        with(context, |context| match key.cast::<Key>().as_ref() {
            Some(key) if is_enough(&key.halves) => {
                context.halves = key.halves.clone();
                Ok(())
            }
            _ => Err(Reason::MissingKey),
        })
    }
}

/// # Safety
/// As [`init`].
unsafe extern "C" fn encapsulate_init(
    context: *mut c_void,
    key: *mut c_void,
    _params: *const Param,
) -> c_int {
    // SAFETY: the core passes a context and a key for encapsulation that match this table.
    unsafe { init(context, key, Halves::has_public) }
}

/// # Safety
/// As [`init`].
unsafe extern "C" fn decapsulate_init(
    context: *mut c_void,
    key: *mut c_void,
    _params: *const Param,
) -> c_int {
    // SAFETY: the core passes a context and a key for decapsulation that match this table.
    unsafe { init(context, key, |halves| matches!(halves, Halves::Both(_))) }
}

/// # Safety
/// As [`with`]; each buffer is null or as long as its length says, which is null or valid.
unsafe extern "C" fn encapsulate(
    context: *mut c_void,
    ciphertext: *mut u8,
    ciphertext_bytes: *mut usize,
    secret: *mut u8,
    secret_bytes: *mut usize,
) -> c_int {
    let ciphertext = Place {
        first: ciphertext,
        bytes: ciphertext_bytes,
    };
    let secret = Place {
        first: secret,
        bytes: secret_bytes,
    };
    // SAFETY: the core passes a context for encapsulation that no other call uses.
    unsafe { with(context, |context| context.encapsulate(ciphertext, secret)) }
}

/// # Safety
/// As [`with`]; `secret` is null or as long as its length says, which is null or valid. `ciphertext` is null or has
/// `ciphertext_bytes` bytes.
unsafe extern "C" fn decapsulate(
    context: *mut c_void,
    secret: *mut u8,
    secret_bytes: *mut usize,
    ciphertext: *const u8,
    ciphertext_bytes: usize,
) -> c_int {
    let secret = Place {
        first: secret,
        bytes: secret_bytes,
    };
    let ciphertext = match ciphertext.is_null() {
        true => &[],
        // SAFETY: the caller vouches for the length, and no thread changes the bytes before the secret is written.
        false => unsafe { std::slice::from_raw_parts(ciphertext, ciphertext_bytes) },
    };
    // SAFETY: the core passes a context for decapsulation that no other call uses.
    unsafe { with(context, |context| context.decapsulate(secret, ciphertext)) }
}

extern "C" fn set_ctx_params(_context: *mut c_void, _params: *const Param) -> c_int {
    1
}

extern "C" fn settable_ctx_params(_context: *mut c_void, _provider: *mut c_void) -> *const Param {
    static SETTABLE: [Param; 1] = [Param::END];
    SETTABLE.as_ptr()
}

/// The length of the longest secret, that of ML-KEM-1024 and P-384.
const SECRET_BYTES_MAX: usize = 32 + 48;
