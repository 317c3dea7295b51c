//! Signatures (provider-signature(7)): the functions that OpenSSL calls.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};
use std::ptr::{null, null_mut};

use oarlock_engine::costs::Computed;

use super::context::{Context, Message};
use super::default_context::{Around, described, forwarding, with};
use super::keymgmt::Key;
use crate::abi::{Dispatch, Param, Params, offered};
use crate::asked;
use crate::boxed;
use crate::caught::catching;
use crate::default_provider::functions::SignatureFunctions;
use crate::default_provider::rsa::Digest;
use crate::error::Reason;
use crate::exported::{Inner, Managed as _, Place, text};
use crate::provider::Provider;

/// Returns the functions for OpenSSL.
pub(super) fn table(inner: &SignatureFunctions) -> Vec<Dispatch> {
    let mut table = Vec::new();
    offered!(table, inner, SignatureFunctions:
        newctx newctx,
        sign_init sign_init,
        sign sign,
        verify_init verify_init,
        verify verify,
        verify_recover_init verify_recover_init,
        verify_recover verify_recover,
        digest_sign_init digest_sign_init,
        digest_sign_update digest_sign_update,
        digest_sign_final digest_sign_final,
        digest_verify_init digest_verify_init,
        digest_verify_update digest_verify_update,
        digest_verify_final digest_verify_final,
        freectx boxed::free::<Context>,
        dupctx boxed::dup::<Context>,
        get_ctx_params get_ctx_params,
        gettable_ctx_params gettable_ctx_params,
        set_ctx_params set_ctx_params,
        settable_ctx_params settable_ctx_params,
        get_ctx_md_params get_ctx_md_params,
        gettable_ctx_md_params gettable_ctx_md_params,
        set_ctx_md_params set_ctx_md_params,
        settable_ctx_md_params settable_ctx_md_params,
    );
    table.push(Dispatch::END);
    table
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core; `properties` is null or ends with a zero.
unsafe extern "C" fn newctx(provider: *mut c_void, properties: *const c_char) -> *mut c_void {
    catching(null_mut(), || {
        asked::has_found_keys();
        // SAFETY: the core passes its provider, and properties that are null or end with a zero.
        let (rsa, properties) = unsafe {
            (
                (*provider.cast::<Provider>()).default_rsa(),
                text(properties),
            )
        };
        let inner = rsa.and_then(|rsa| Inner::new(&rsa.signature, properties));
        inner.map_or(null_mut(), |inner| {
            boxed::held(Context {
                inner,
                provider: provider.cast(),
                properties: properties.map(ToOwned::to_owned),
                key: None,
                message: Message::Elsewhere,
                was_size_asked: false,
            })
        })
    })
}

/// Initializes with a key, or with the one that the context has.
///
/// # Safety
/// As for [`with`]; `key` is null or a key of ours, which is not freed during the call.
unsafe fn init(
    context: *mut c_void,
    key: *mut c_void,
    init: impl FnOnce(&SignatureFunctions, *mut c_void, *mut c_void) -> Option<c_int>,
    begin: impl FnOnce(&Context) -> Message,
) -> c_int {
    // SAFETY: the caller promises that `key` is null or one of ours, and meets the conditions of `with` for `context`.
    unsafe {
        let key = Key::shared(key);
        with::<Context>(context, |context, functions| {
            let of_default = key.as_ref().map_or(null_mut(), |key| key.inner);
            let is_done = init(functions, context.inner.at(), of_default)?;
            context.message = Message::Elsewhere;
            context.was_size_asked = false;
            if is_done == 1 {
                if key.is_some() {
                    context.key = key;
                }
                context.message = begin(context);
            }
            Some(is_done)
        })
    }
}

/// Defines initializations without a message.
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
            // SAFETY: the core passes a signature context of ours, a key of ours and parameters.
            unsafe {
                init(
                    context,
                    key,
                    |inner, context, key| Some(inner.$name?(context, key, params)),
                    |_| Message::Elsewhere,
                )
            }
        })+
    };
}

initializing!(sign_init verify_init verify_recover_init);

forwarding! {
    Context:
    verify(signature: *const u8, bytes: usize, message: *const u8, message_bytes: usize);
    verify_recover(
        message: *mut u8,
        bytes: *mut usize,
        room: usize,
        signature: *const u8,
        signature_bytes: usize
    );
    digest_verify_update(data: *const u8, bytes: usize);
    digest_verify_final(signature: *const u8, bytes: usize);
    get_ctx_params(params: *mut Param);
    get_ctx_md_params(params: *mut Param);
    set_ctx_md_params(params: *mut Param);
}

/// # Safety
/// As for [`init`]; `name` is null or ends with a zero; `params` is null or an array that ends with [`Param::END`].
unsafe extern "C" fn digest_sign_init(
    context: *mut c_void,
    name: *const c_char,
    key: *mut c_void,
    params: *const Param,
) -> c_int {
    // SAFETY: the core passes a context of ours, a key of ours, the name of a hash function or null, and parameters.
    unsafe {
        init(
            context,
            key,
            |inner, context, key| Some(inner.digest_sign_init?(context, name, key, params)),
            |context| {
                let digest = || {
                    let key = context.key.as_ref()?;
                    if key.reference().is_none() {
                        key.accelerated()?;
                    }
                    let hash = context.settings()?.hash()??;
                    Digest::begin(context.rsa()?, hash)
                };
                digest().map_or(Message::Elsewhere, Message::Here)
            },
        )
    }
}

/// # Safety
/// As for [`digest_sign_init`].
unsafe extern "C" fn digest_verify_init(
    context: *mut c_void,
    name: *const c_char,
    key: *mut c_void,
    params: *const Param,
) -> c_int {
    // SAFETY: the core passes a context and a key of ours; the name and parameters are for the default provider's
    // function.
    unsafe {
        init(
            context,
            key,
            |inner, context, key| Some(inner.digest_verify_init?(context, name, key, params)),
            |_| Message::Elsewhere,
        )
    }
}

/// # Safety
/// As for [`with`]; places and message that are not null have the lengths given with them.
unsafe extern "C" fn sign(
    context: *mut c_void,
    signature: *mut u8,
    bytes: *mut usize,
    room: usize,
    message: *const u8,
    message_bytes: usize,
) -> c_int {
    let place = Place {
        octets: signature,
        bytes,
        room,
    };
    // SAFETY: the core passes a context of ours, and a message of `message_bytes` bytes; only a caller who asks for a
    // size may pass none.
    unsafe {
        with::<Context>(context, |context, inner| {
            if signature.is_null() || message.is_null() {
                let sign = inner.sign?;
                return Some(sign(
                    context.inner.at(),
                    signature,
                    bytes,
                    room,
                    message,
                    message_bytes,
                ));
            }
            let message = std::slice::from_raw_parts(message, message_bytes);
            Some(context.sign(place, message, false))
        })
    }
}

/// # Safety
/// As for [`with`]; `data` has `bytes` bytes.
unsafe extern "C" fn digest_sign_update(
    context: *mut c_void,
    data: *const u8,
    bytes: usize,
) -> c_int {
    // SAFETY: the core passes a context of ours, and data of `bytes` bytes for either hash function.
    unsafe {
        with::<Context>(context, |context, inner| match &context.message {
            Message::Elsewhere => Some(inner.digest_sign_update?(context.inner.at(), data, bytes)),
            Message::Here(digest) => digest.update(data, bytes),
            Message::Ended => None,
        })
    }
}

/// # Safety
/// As for [`with`]; `bytes` is a place for a length, and a signature that is not null has `room` bytes.
unsafe extern "C" fn digest_sign_final(
    context: *mut c_void,
    signature: *mut u8,
    bytes: *mut usize,
    room: usize,
) -> c_int {
    let place = Place {
        octets: signature,
        bytes,
        room,
    };
    // SAFETY: the core passes a context of ours, and a place of `room` bytes for the signature.
    unsafe {
        with::<Context>(context, |context, inner| {
            let digest = match &mut context.message {
                Message::Here(digest) if !signature.is_null() => digest.end()?,
                Message::Ended if !signature.is_null() => return None,
                _ => {
                    match &context.key {
                        _ if signature.is_null() => context.was_size_asked = true,
                        Some(key) => match key.reference() {
                            Some(reference) => {
                                let why = "it signs digests of SHA-2 alone";
                                reference.refuse(context.provider(), Reason::FailedToSign, why);
                                return None;
                            }
                            None => key.count(),
                        },
                        None => {}
                    }
                    let is_done =
                        inner.digest_sign_final?(context.inner.at(), signature, bytes, room);
                    if is_done == 1 && !signature.is_null() {
                        context.provider().count_private(Computed::Here);
                    }
                    return Some(is_done);
                }
            };
            context.message = Message::Ended;
            let (digest, bytes) = digest;
            Some(context.sign(place, &digest[..bytes], true))
        })
    }
}

/// # Safety
/// As for [`with`]; `params` is null or an array that ends with [`Param::END`].
unsafe extern "C" fn set_ctx_params(context: *mut c_void, params: *mut Param) -> c_int {
    // SAFETY: the core passes a context of ours, and parameters, which are read after the default provider's function.
    unsafe {
        with::<Context>(context, |context, inner| {
            let is_set = inner.set_ctx_params?(context.inner.at(), params);
            let mut sets_digest = false;
            let _ = Params::new(params).each(|name, _| {
                sets_digest |= name == b"digest";
                Ok::<(), ()>(())
            });
            // The default provider accepts another hash function during a message only if it was asked for the size of
            // the signature before: then the message has ended.
            if is_set == 1 && sets_digest && context.was_size_asked {
                context.message = Message::Elsewhere;
            }
            Some(is_set)
        })
    }
}

/// # Safety
/// As for [`described`].
unsafe extern "C" fn gettable_ctx_params(
    context: *mut c_void,
    provider: *mut c_void,
) -> *const Param {
    // SAFETY: the core passes a context of ours or null, and the provider; the default provider's list is static.
    unsafe { described::<Context>(context, provider, |functions| functions.gettable_ctx_params) }
}

/// # Safety
/// As for [`described`].
unsafe extern "C" fn settable_ctx_params(
    context: *mut c_void,
    provider: *mut c_void,
) -> *const Param {
    // SAFETY: the core passes a context of ours or null, and the provider, as for gettable parameters.
    unsafe { described::<Context>(context, provider, |functions| functions.settable_ctx_params) }
}

/// # Safety
/// As for [`described_md`].
unsafe extern "C" fn gettable_ctx_md_params(context: *mut c_void) -> *const Param {
    // SAFETY: the core passes a context of ours, to ask what its hash function has.
    unsafe { described_md(context, |functions| functions.gettable_ctx_md_params) }
}

/// # Safety
/// As for [`described_md`].
unsafe extern "C" fn settable_ctx_md_params(context: *mut c_void) -> *const Param {
    // SAFETY: the core passes a context of ours, to ask what its hash function takes.
    unsafe { described_md(context, |functions| functions.settable_ctx_md_params) }
}

/// # Safety
/// As for [`with`].
unsafe fn described_md(
    context: *mut c_void,
    function: impl FnOnce(
        &SignatureFunctions,
    ) -> Option<unsafe extern "C" fn(*mut c_void) -> *const Param>,
) -> *const Param {
    // SAFETY: the caller meets the conditions of `with` for `context`; the default provider's function gets its own.
    unsafe {
        let describe = || {
            let context = context.cast::<Context>().as_ref()?;
            Some(function(context.functions()?)?(context.inner.at()))
        };
        describe().unwrap_or(null())
    }
}
