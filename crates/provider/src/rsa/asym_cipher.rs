//! The functions of encryption with RSA keys (provider-asym_cipher(7)): the default provider's, with the private
//! operation taken over.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::Arc;

use oarlock::rsa::RsaPublicKey;
use oarlock_engine::costs::Computed;

use super::default_context::{Around, described, forwarding, with};
use super::keymgmt::Key;
use super::padding::Padding;
use super::private_op::compute;
use super::remote::{self, Remote};
use crate::abi::{Dispatch, Param, offered};
use crate::asked;
use crate::boxed::{self, Copied};
use crate::caught::catching;
use crate::default_provider::Inner;
use crate::default_provider::functions::{Crypt, EncryptionFunctions};
use crate::default_provider::rsa::DefaultRsa;
use crate::error::{Reason, RsaReason};
use crate::exported::{Managed as _, Place};
use crate::provider::Provider;

/// A context, as OpenSSL holds it.
struct Context {
    /// The default provider's context, with all settings.
    inner: Inner<EncryptionFunctions>,
    /// The core does not tear down a provider that has a context.
    provider: *const Provider,
    key: Option<Arc<Key>>,
}

/// Returns the functions for OpenSSL.
pub(super) fn table(inner: &EncryptionFunctions) -> Vec<Dispatch> {
    let mut table = Vec::new();
    offered!(table, inner, EncryptionFunctions:
        newctx newctx,
        encrypt_init encrypt_init,
        encrypt encrypt,
        decrypt_init decrypt_init,
        decrypt decrypt,
        freectx boxed::free::<Context>,
        dupctx boxed::dup::<Context>,
        get_ctx_params get_ctx_params,
        gettable_ctx_params gettable_ctx_params,
        set_ctx_params set_ctx_params,
        settable_ctx_params settable_ctx_params,
    );
    table.push(Dispatch::END);
    table
}

impl Around for Context {
    type Functions = EncryptionFunctions;

    fn functions_of(rsa: &DefaultRsa) -> &EncryptionFunctions {
        &rsa.encryption.functions
    }

    fn inner(&self) -> *mut c_void {
        self.inner.at()
    }

    fn provider(&self) -> &Provider {
        // SAFETY: the provider outlives its encryption contexts.
        unsafe { &*self.provider }
    }
}

impl Context {
    /// Returns the padding, if the ciphertext can be decrypted here: it fits the key, and the place has room.
    fn padding(&self, key: &RsaPublicKey, place: Place, ciphertext: &[u8]) -> Option<Padding> {
        if ciphertext.len() != key.bytes() || ciphertext >= key.modulus() {
            return None;
        }
        let get = self.functions()?.get_ctx_params?;
        // SAFETY: the default provider's function with its context and places that stay for the call.
        let padding = unsafe { Padding::read(|params| get(self.inner.at(), params)) }?;
        place.has_room(padding.room(key.bytes())).then_some(padding)
    }

    fn decrypt(&self, place: Place, ciphertext: &[u8], by_default: impl Fn() -> c_int) -> c_int {
        if let Some(reference) = self.key.as_ref().and_then(|key| key.reference()) {
            return self.decrypt_remotely(reference, place, ciphertext);
        }
        let prepared = || {
            let key = self.key.as_ref()?;
            key.count();
            let key = key.accelerated()?;
            let padding = self.padding(key.key().public_key(), place, ciphertext)?;
            Some((key, padding))
        };
        let Some((key, padding)) = prepared() else {
            let is_done = by_default();
            if is_done == 1 {
                self.provider().count_private(Computed::Here);
            }
            return is_done;
        };
        let number = || Ok(ciphertext.to_vec());
        compute(self.provider(), key, true, number, by_default, |power| {
            match padding.message(power, ciphertext, Some(key.key())) {
                Ok(message) => {
                    // SAFETY: no message is longer than the padding's room, which the place has; it also has a place
                    // for the length.
                    unsafe { place.set(&message) };
                    1
                }
                Err(_) => {
                    let errors = &self.provider().errors;
                    errors.raise_of_rsa(RsaReason::OaepDecodingError);
                    0
                }
            }
        })
    }

    /// Decrypts by a remote key. Implicit rejection of PKCS#1 v1.5 needs the private key, which is not here, so of the
    /// PKCS#1 v1.5 paddings only that of TLS servers is possible.
    fn decrypt_remotely(&self, reference: &Remote, place: Place, ciphertext: &[u8]) -> c_int {
        let decrypted = || {
            let public = &reference.key;
            if ciphertext.len() != public.bytes() || ciphertext >= public.modulus() {
                return Err(format!(
                    "a ciphertext of {} bytes, which is none of this key",
                    ciphertext.len()
                ));
            }
            let padding = self.padding(public, place, ciphertext);
            let padding =
                padding.ok_or("its settings are none that a key of another machine decrypts by, or the place for the message is too small")?;
            let power = remote::power(self.provider(), reference, ciphertext)?;
            let message = padding.message(&power, ciphertext, None);
            message.map_err(|error| error.to_string())
        };
        let provider = self.provider();
        // SAFETY: the place has room for any message of this padding, as in `decrypt`, and a place for the length.
        unsafe { reference.finish(provider, decrypted(), place, Reason::FailedToDecrypt) }
    }
}

impl Copied for Context {
    fn copy(&self) -> Option<Self> {
        Some(Self {
            inner: self.inner.copy()?,
            provider: self.provider,
            key: self.key.clone(),
        })
    }
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core.
unsafe extern "C" fn newctx(provider: *mut c_void) -> *mut c_void {
    catching(null_mut(), || {
        asked::has_found_keys();
        // SAFETY: the core passes its provider; the default provider's `newctx` gets its context.
        let made = || unsafe {
            let default = &(*provider.cast::<Provider>()).default_rsa()?.encryption;
            let functions = &default.functions;
            Inner::of(functions, functions.newctx?(default.context))
        };
        made().map_or(null_mut(), |inner| {
            boxed::held(Context {
                inner,
                provider: provider.cast(),
                key: None,
            })
        })
    })
}

macro_rules! initializing {
    ($($name:ident)+) => {
        $(/// # Safety
          /// As for [`with`]; `key` is null or a key of ours; `params` is null or an array that ends with
          /// [`Param::END`].
        unsafe extern "C" fn $name(
            context: *mut c_void,
            key: *mut c_void,
            params: *const Param,
        ) -> c_int {
            // SAFETY: the core passes an encryption context of ours, a key of ours and parameters.
            unsafe {
                let key = Key::shared(key);
                with::<Context>(context, |context, inner| {
                    let of_default = key.as_ref().map_or(null_mut(), |key| key.inner);
                    let is_done = inner.$name?(context.inner.at(), of_default, params);
                    if is_done == 1 && key.is_some() {
                        context.key = key;
                    }
                    Some(is_done)
                })
            }
        })+
    };
}

initializing!(encrypt_init decrypt_init);

forwarding! {
    Context:
    encrypt(output: *mut u8, written: *mut usize, room: usize, input: *const u8, bytes: usize);
    get_ctx_params(params: *mut Param);
    set_ctx_params(params: *mut Param);
}

/// # Safety
/// As for [`with`]; places and ciphertext that are not null have the lengths given with them.
unsafe extern "C" fn decrypt(
    context: *mut c_void,
    output: *mut u8,
    written: *mut usize,
    room: usize,
    input: *const u8,
    bytes: usize,
) -> c_int {
    let place = Place {
        octets: output,
        bytes: written,
        room,
    };
    // SAFETY: the core passes a context of ours, and a ciphertext of `bytes` bytes; only a caller who asks for a size
    // may pass none.
    unsafe {
        with::<Context>(context, |context, inner| {
            let decrypt: Crypt = inner.decrypt?;
            let by_default = || decrypt(context.inner.at(), output, written, room, input, bytes);
            if output.is_null() || input.is_null() {
                return Some(by_default());
            }
            if bytes > MODULUS_BYTES_MAX {
                let is_done = by_default();
                if is_done == 1 {
                    context.provider().count_private(Computed::Here);
                }
                return Some(is_done);
            }
            // A copy: the ciphertext may overlap the place for the message.
            let ciphertext = std::slice::from_raw_parts(input, bytes).to_vec();
            Some(context.decrypt(place, &ciphertext, by_default))
        })
    }
}

/// The longest modulus, in bytes, of the keys that lanes compute with.
const MODULUS_BYTES_MAX: usize = 512;

/// # Safety
/// As for [`described`].
unsafe extern "C" fn gettable_ctx_params(
    context: *mut c_void,
    provider: *mut c_void,
) -> *const Param {
    // SAFETY: the core passes its provider, and an encryption context of ours or null, to ask what can be got.
    unsafe { described::<Context>(context, provider, |functions| functions.gettable_ctx_params) }
}

/// # Safety
/// As for [`described`].
unsafe extern "C" fn settable_ctx_params(
    context: *mut c_void,
    provider: *mut c_void,
) -> *const Param {
    // SAFETY: the core passes its provider, and an encryption context of ours or null, to ask what can be set.
    unsafe { described::<Context>(context, provider, |functions| functions.settable_ctx_params) }
}
