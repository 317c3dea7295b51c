//! Signatures (provider-signature(7), EVP_SIGNATURE-ED25519(7), EVP_SIGNATURE-ML-DSA(7)): the functions that OpenSSL
//! calls.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};
use std::ptr::{null, null_mut};

use super::Pure;
use super::context::{Context, State, Work};
use crate::abi::{Dispatch, Param, Params, offered};
use crate::asked;
use crate::boxed::{self, with};
use crate::caught::catching;
use crate::default_provider::functions::{Describe, SignatureFunctions};
use crate::exported::{Key, Managed as _, Place, text};
use crate::provider::Provider;

/// Returns the functions for OpenSSL.
pub(super) fn table<P: Pure>(inner: &SignatureFunctions) -> Vec<Dispatch> {
    let mut table = Vec::new();
    offered!(table, inner, SignatureFunctions:
        newctx newctx::<P>,
        sign_init prehashed_init::<P, true>,
        sign sign::<P, false>,
        verify_init prehashed_init::<P, false>,
        verify verify::<P, false>,
        digest_sign_init digest_init::<P, true>,
        digest_sign sign::<P, true>,
        digest_verify_init digest_init::<P, false>,
        digest_verify verify::<P, true>,
        freectx boxed::free::<Context<P>>,
        dupctx boxed::dup::<Context<P>>,
        get_ctx_params get_ctx_params::<P>,
        gettable_ctx_params gettable_ctx_params::<P>,
        set_ctx_params set_ctx_params::<P>,
        settable_ctx_params settable_ctx_params::<P>,
        sign_message_init message_init::<P, true>,
        sign_message_update message_update::<P, true>,
        sign_message_final sign_message_final::<P>,
        verify_message_init message_init::<P, false>,
        verify_message_update message_update::<P, false>,
        verify_message_final verify_message_final::<P>,
    );
    // Functions that take no context are the default provider's own.
    let id = SignatureFunctions::query_key_types;
    table.extend(
        inner
            .query_key_types
            .map(|function| Dispatch { id, function }),
    );
    table.push(Dispatch::END);
    table
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core; `properties` is null or ends with a zero.
unsafe extern "C" fn newctx<P: Pure>(
    provider: *mut c_void,
    properties: *const c_char,
) -> *mut c_void {
    catching(null_mut(), || {
        asked::has_found_keys();
        // SAFETY: the core's property query, which ends with a zero, or null.
        let properties = unsafe { text(properties) };
        boxed::held(Context::<P> {
            provider: provider.cast(),
            properties: properties.map(ToOwned::to_owned),
            key: None,
            state: State::Idle,
        })
    })
}

/// Begins `work` with a key, if both are regular; otherwise has the default provider begin by `init`. If the functions
/// named after digests pass no key, the context continues with the key that it has: `openssl speed` begins each
/// signature this way.
///
/// # Safety
/// As for [`with`]; `key` is null or a key of ours that is not freed during the call.
unsafe fn begin<P: Pure>(
    context: *mut c_void,
    key: *mut c_void,
    work: Option<Work>,
    init: impl FnOnce(&SignatureFunctions, *mut c_void, *mut c_void) -> Option<c_int>,
) -> c_int {
    // SAFETY: the caller meets the conditions of `with` for `context`, and keeps the key.
    unsafe {
        with::<Context<P>>(context, |context| {
            let key = Key::<P>::shared(key);
            let by_digest = |work: Work| matches!(work, Work::DigestSign | Work::DigestVerify);
            let with = match context.state {
                State::Begun(before) if key.is_none() => {
                    let goes_on = by_digest(before) && work.is_some_and(by_digest);
                    context.key.as_ref().filter(|_| goes_on)
                }
                State::Elsewhere(_) => None,
                _ => key.as_ref(),
            };
            if let (Some(work), Some(with)) = (work, with)
                && let Some(ours) = with.ours()
                && (ours.has_private() || !work.signs())
            {
                if key.is_some() {
                    context.key = key;
                }
                context.state = State::Begun(work);
                return Some(1);
            }
            context.leave()?;
            let of_default = match &key {
                Some(key) => key.inner()?,
                None => null_mut(),
            };
            let inner = context.leave()?;
            let is_done = init(inner.functions(), inner.at(), of_default)?;
            if is_done == 1 && key.is_some() {
                context.key = key;
            }
            Some(is_done)
        })
    }
}

/// Whether the only parameter is the TLS version, which these signatures ignore.
///
/// # Safety
/// `params` is null or an array that ends with [`Param::END`].
unsafe fn are_plain(params: *const Param) -> bool {
    // SAFETY: the caller promises that they end.
    let params = unsafe { Params::new(params.cast_mut()) };
    let are_plain = params.each(|key, _| match key {
        b"tls-version" => Ok(()),
        _ => Err(()),
    });
    are_plain.is_ok()
}

/// # Safety
/// As for [`begin`]; `name` is null or ends with a zero, and `params` is null or an array that ends with
/// [`Param::END`].
unsafe extern "C" fn digest_init<P: Pure, const SIGNS: bool>(
    context: *mut c_void,
    name: *const c_char,
    key: *mut c_void,
    params: *const Param,
) -> c_int {
    // SAFETY: the core passes a context of ours for messages, a key of ours, a name or null, and parameters.
    unsafe {
        let is_plain = text(name).is_none_or(|name| name.is_empty()) && are_plain(params);
        let work = match SIGNS {
            true => Work::DigestSign,
            false => Work::DigestVerify,
        };
        begin::<P>(
            context,
            key,
            is_plain.then_some(work),
            |inner, context, key| {
                let init = match SIGNS {
                    true => inner.digest_sign_init,
                    false => inner.digest_verify_init,
                };
                Some(init?(context, name, key, params))
            },
        )
    }
}

/// # Safety
/// As for [`begin`]; `params` is null or an array that ends with [`Param::END`].
unsafe extern "C" fn message_init<P: Pure, const SIGNS: bool>(
    context: *mut c_void,
    key: *mut c_void,
    params: *const Param,
) -> c_int {
    // SAFETY: the core passes a context of ours to sign or verify messages with, a key of ours and parameters.
    unsafe {
        let work = match SIGNS {
            true => Work::SignMessage,
            false => Work::VerifyMessage,
        };
        let work = are_plain(params).then_some(work);
        begin::<P>(context, key, work, |inner, context, key| {
            let init = match SIGNS {
                true => inner.sign_message_init,
                false => inner.verify_message_init,
            };
            Some(init?(context, key, params))
        })
    }
}

/// Begins with digests of messages, which is left to the default provider.
///
/// # Safety
/// As for [`message_init`].
unsafe extern "C" fn prehashed_init<P: Pure, const SIGNS: bool>(
    context: *mut c_void,
    key: *mut c_void,
    params: *const Param,
) -> c_int {
    // SAFETY: the core passes a context of ours for digests, a key of ours and parameters.
    unsafe {
        begin::<P>(context, key, None, |inner, context, key| {
            let init = match SIGNS {
                true => inner.sign_init,
                false => inner.verify_init,
            };
            Some(init?(context, key, params))
        })
    }
}

/// # Safety
/// `data` is null or has `bytes` bytes, valid for `'a`.
unsafe fn slice<'a>(data: *const u8, bytes: usize) -> &'a [u8] {
    if data.is_null() || bytes == 0 {
        return &[];
    }
    // SAFETY: the caller promises `bytes` bytes at `data`, which is not null.
    unsafe { std::slice::from_raw_parts(data, bytes) }
}

/// Signs a message. `DIGESTS` tells the function that is named after digests from the one of release 3.4.
///
/// # Safety
/// As for [`with`]; places and message that are not null have the lengths given with them.
unsafe extern "C" fn sign<P: Pure, const DIGESTS: bool>(
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
    let work = match DIGESTS {
        true => Work::DigestSign,
        false => Work::SignMessage,
    };
    // SAFETY: the core passes a context of ours, a place for a signature or null, and a message with its length.
    unsafe {
        with::<Context<P>>(context, |context| {
            let given = slice(message, message_bytes);
            context.sign(work, given, place).or_else(|| {
                context.aside(|inner, context| {
                    let sign = match DIGESTS {
                        true => inner.digest_sign,
                        false => inner.sign,
                    };
                    Some(sign?(
                        context,
                        signature,
                        bytes,
                        room,
                        message,
                        message_bytes,
                    ))
                })
            })
        })
    }
}

/// Verifies a message, as [`sign`] signs it.
///
/// # Safety
/// As for [`with`]; signature and message that are not null have the lengths given with them.
unsafe extern "C" fn verify<P: Pure, const DIGESTS: bool>(
    context: *mut c_void,
    signature: *const u8,
    bytes: usize,
    message: *const u8,
    message_bytes: usize,
) -> c_int {
    let work = match DIGESTS {
        true => Work::DigestVerify,
        false => Work::VerifyMessage,
    };
    // SAFETY: the core passes a context of ours, and a signature and a message with their lengths.
    unsafe {
        with::<Context<P>>(context, |context| {
            let (given, signed) = (slice(signature, bytes), slice(message, message_bytes));
            let done = context.verify(work, signed, given);
            done.or_else(|| {
                context.aside(|inner, context| {
                    let verify = match DIGESTS {
                        true => inner.digest_verify,
                        false => inner.verify,
                    };
                    Some(verify?(context, signature, bytes, message, message_bytes))
                })
            })
        })
    }
}

/// Appends a piece to a message.
///
/// # Safety
/// As for [`with`]; `data` has `bytes` bytes.
unsafe extern "C" fn message_update<P: Pure, const SIGNS: bool>(
    context: *mut c_void,
    data: *const u8,
    bytes: usize,
) -> c_int {
    // SAFETY: the core passes a context of ours; the default provider's function gets its own, and the caller's data.
    unsafe {
        with::<Context<P>>(context, |context| {
            let inner = context.leave()?;
            let update = match SIGNS {
                true => inner.functions().sign_message_update,
                false => inner.functions().verify_message_update,
            };
            Some(update?(inner.at(), data, bytes))
        })
    }
}

/// # Safety
/// As for [`with`]; `bytes` is a place for a length, and a signature that is not null has `room` bytes.
unsafe extern "C" fn sign_message_final<P: Pure>(
    context: *mut c_void,
    signature: *mut u8,
    bytes: *mut usize,
    room: usize,
) -> c_int {
    // SAFETY: the core passes a context of ours; the default provider's function gets its own, and the caller's places.
    unsafe {
        with::<Context<P>>(context, |context| {
            let inner = context.leave()?;
            let end = inner.functions().sign_message_final?;
            Some(end(inner.at(), signature, bytes, room))
        })
    }
}

/// # Safety
/// As for [`with`].
unsafe extern "C" fn verify_message_final<P: Pure>(context: *mut c_void) -> c_int {
    // SAFETY: the core passes a context of ours; the default provider's function gets its own.
    unsafe {
        with::<Context<P>>(context, |context| {
            let inner = context.leave()?;
            Some(inner.functions().verify_message_final?(inner.at()))
        })
    }
}

/// # Safety
/// As for [`with`]; `params` is null or an array that ends with [`Param::END`].
unsafe extern "C" fn set_ctx_params<P: Pure>(context: *mut c_void, params: *mut Param) -> c_int {
    // SAFETY: the core passes a context of ours to set; the default provider's function gets its own, and the core's
    // parameters.
    unsafe {
        with::<Context<P>>(context, |context| {
            if matches!(context.state, State::Begun(_)) && Params::new(params).is_empty() {
                return Some(1);
            }
            let inner = context.leave()?;
            Some(inner.functions().set_ctx_params?(inner.at(), params))
        })
    }
}

/// # Safety
/// As for [`set_ctx_params`].
unsafe extern "C" fn get_ctx_params<P: Pure>(context: *mut c_void, params: *mut Param) -> c_int {
    // SAFETY: the core passes a context of ours to read from; the default provider's function gets its own, and places.
    unsafe {
        with::<Context<P>>(context, |context| {
            context.aside(|inner, context| Some(inner.get_ctx_params?(context, params)))
        })
    }
}

/// # Safety
/// As for [`described`].
unsafe extern "C" fn gettable_ctx_params<P: Pure>(
    context: *mut c_void,
    provider: *mut c_void,
) -> *const Param {
    // SAFETY: the core passes its provider, and a context of ours or null, to ask what can be got.
    unsafe { described::<P>(context, provider, |functions| functions.gettable_ctx_params) }
}

/// # Safety
/// As for [`described`].
unsafe extern "C" fn settable_ctx_params<P: Pure>(
    context: *mut c_void,
    provider: *mut c_void,
) -> *const Param {
    // SAFETY: the core passes its provider, and a context of ours or null, to ask what can be set.
    unsafe { described::<P>(context, provider, |functions| functions.settable_ctx_params) }
}

/// Returns the default provider's description of its parameters.
///
/// # Safety
/// As for [`with`]; `provider` is what `OSSL_provider_init` gave the core.
unsafe fn described<P: Pure>(
    context: *mut c_void,
    provider: *mut c_void,
    function: impl FnOnce(&SignatureFunctions) -> Option<Describe>,
) -> *const Param {
    catching(null(), || {
        let describe = || {
            // SAFETY: null or a context of ours that no other call uses, and the core's provider; the default
            // provider's function gets its own. Its lists are static.
            unsafe {
                let default = P::signatures((*provider.cast::<Provider>()).defaults.get()?)?;
                let describe = function(&default.functions)?;
                match context.cast::<Context<P>>().as_ref() {
                    Some(context) => {
                        context.aside(|_, inner| Some(describe(inner, default.context)))
                    }
                    None => Some(describe(null_mut(), default.context)),
                }
            }
        };
        describe().unwrap_or(null())
    })
}
