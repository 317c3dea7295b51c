//! Signatures (provider-signature(7), EVP_SIGNATURE-ECDSA(7)): the functions that OpenSSL calls.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};
use std::ptr::{null, null_mut};

use oarlock_engine::hash::DIGEST_BYTES_MAX;

use super::context::{Context, HashName, Message, Purpose, State};
use crate::abi::{Dispatch, Param, Params, offered};
use crate::asked;
use crate::boxed::{self, with};
use crate::caught::catching;
use crate::default_provider::functions::{Describe, SignatureFunctions};
use crate::exported::{Key, Managed as _, Ours as _, Place, text};
use crate::provider::Provider;

/// Returns the functions for OpenSSL.
pub(super) fn table(inner: &SignatureFunctions) -> Vec<Dispatch> {
    let mut table = Vec::new();
    offered!(table, inner, SignatureFunctions:
        newctx newctx,
        sign_init init::<true>,
        sign sign,
        verify_init init::<false>,
        verify verify,
        digest_sign_init digest_init::<true>,
        digest_sign_update digest_update::<true>,
        digest_sign_final digest_sign_final,
        digest_verify_init digest_init::<false>,
        digest_verify_update digest_update::<false>,
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
        // SAFETY: `properties` is null or a text that ends with a zero.
        let properties = unsafe { text(properties) };
        boxed::held(Context {
            provider: provider.cast(),
            properties: properties.map(ToOwned::to_owned),
            key: None,
            state: State::Idle,
        })
    })
}

/// Begins an operation with a key, or with the context's key if that is null. `here` returns the new state, or nothing
/// if the default provider must begin, by `init`.
///
/// # Safety
/// As [`with`]; `key` is null or one of our keys, which is not freed during the call.
unsafe fn begin(
    context: *mut c_void,
    key: *mut c_void,
    is_plain: bool,
    here: impl FnOnce(&State) -> Option<State>,
    init: impl FnOnce(&SignatureFunctions, *mut c_void, *mut c_void) -> Option<c_int>,
) -> c_int {
    // SAFETY: `context` is as `with` requires, and `key` is null or one of our keys, as the caller says.
    unsafe {
        with::<Context>(context, |context| {
            let key = Key::shared(key);
            let given = key.is_some();
            let is_first = matches!(context.state, State::Idle);
            let is_regular = is_first == given && is_plain;
            let here = is_regular.then(|| here(&context.state)).flatten();
            if let Some(state) = here {
                let ours = key
                    .as_ref()
                    .or(context.key.as_ref())
                    .and_then(|key| key.ours());
                let signs = match &state {
                    State::Digests(purpose, _) => *purpose == Purpose::Sign,
                    State::Message(message) => message.purpose == Purpose::Sign,
                    _ => false,
                };
                if ours.is_some_and(|ours| !signs || ours.has_private()) {
                    context.key = key.or(context.key.take());
                    context.state = state;
                    return Some(1);
                }
            }
            context.leave()?;
            let of_default = match &key {
                Some(key) => key.inner()?,
                None => null_mut(),
            };
            let inner = context.leave()?;
            let is_done = init(inner.functions(), inner.at(), of_default)?;
            if is_done == 1 && given {
                context.key = key;
            }
            Some(is_done)
        })
    }
}

/// # Safety
/// As [`begin`]; `params` is null or an array that ends with [`Param::END`].
unsafe extern "C" fn init<const SIGNS: bool>(
    context: *mut c_void,
    key: *mut c_void,
    params: *const Param,
) -> c_int {
    // SAFETY: the core passes a context for digests, null or a key of this type, and parameters that end.
    unsafe {
        begin(
            context,
            key,
            Params::new(params.cast_mut()).is_empty(),
            |state| digests(state, Purpose::of(SIGNS)),
            |inner, context, key| {
                let init = match SIGNS {
                    true => inner.sign_init,
                    false => inner.verify_init,
                };
                Some(init?(context, key, params))
            },
        )
    }
}

/// Returns the state for signing or verifying digests, which keeps a hash function that is set.
fn digests(state: &State, purpose: Purpose) -> Option<State> {
    match state {
        State::Idle => Some(State::Digests(purpose, None)),
        State::Digests(before, hash) if *before == purpose => Some(State::Digests(purpose, *hash)),
        _ => None,
    }
}

/// # Safety
/// As [`begin`]; `name` is null or ends with a zero, and `params` is null or an array that ends with [`Param::END`].
unsafe extern "C" fn digest_init<const SIGNS: bool>(
    context: *mut c_void,
    name: *const c_char,
    key: *mut c_void,
    params: *const Param,
) -> c_int {
    // SAFETY: the core passes a context for a message, null or a key of this type, a name or null, and parameters that
    // end.
    unsafe {
        begin(
            context,
            key,
            are_plain(params, name),
            |state| message(state, Purpose::of(SIGNS), name),
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

/// Returns whether the parameters are only the name of the hash function and the version of TLS, which ECDSA does not
/// depend on: libssl passes both since 4.0.
///
/// # Safety
/// `params` is null or an array that ends with [`Param::END`]; `name` is null or ends with a zero.
unsafe fn are_plain(params: *const Param, name: *const c_char) -> bool {
    // SAFETY: the array and the name are each null or end as they must, as the caller says.
    let (params, name) = unsafe { (Params::new(params.cast_mut()), text(name)) };
    let name = name.map(|name| name.to_bytes());
    let are_plain = params.each(|key, value| match key {
        b"tls-version" => Ok(()),
        b"digest" if name.is_some() && value.text() == name => Ok(()),
        _ => Err(()),
    });
    are_plain.is_ok()
}

/// Returns the state for signing or verifying a message.
///
/// # Safety
/// `name` is null or ends with a zero.
unsafe fn message(state: &State, purpose: Purpose, name: *const c_char) -> Option<State> {
    // SAFETY: the name is null or ends with a zero, as the caller says.
    let name = unsafe { text(name) }.map(|name| name.to_bytes());
    let hash = match (state, name) {
        (State::Idle, Some(name)) => HashName::of(name)?,
        // The same operation is begun again.
        (State::Message(message), name)
            if message.purpose == purpose
                && message.aside.is_none()
                && name.is_none_or(|name| message.hash.is(name)) =>
        {
            message.hash
        }
        _ => return None,
    };
    Some(State::Message(Box::new(Message::new(purpose, hash))))
}

/// # Safety
/// As [`with`]; a signature buffer and a digest that are not null have the lengths passed with them.
unsafe extern "C" fn sign(
    context: *mut c_void,
    signature: *mut u8,
    bytes: *mut usize,
    room: usize,
    digest: *const u8,
    digest_bytes: usize,
) -> c_int {
    let place = Place {
        octets: signature,
        bytes,
        room,
    };
    // SAFETY: the core passes a context to sign with, a buffer with a place for its length, and a digest with its
    // length; only a caller that asks for a size passes no digest.
    unsafe {
        with::<Context>(context, |context| {
            if let State::Digests(Purpose::Sign, hash) = context.state {
                if signature.is_null()
                    && let Some(bytes_max) = context.signature_bytes_max()
                {
                    *bytes = bytes_max;
                    return Some(1);
                }
                let fits = hash.is_none_or(|it| it.hash.bytes() == digest_bytes);
                if fits && !digest.is_null() && !signature.is_null() {
                    let digest = std::slice::from_raw_parts(digest, digest_bytes);
                    if let Some(done) = context.sign(digest, place) {
                        return Some(done);
                    }
                }
            }
            context.aside(|inner, context| {
                Some(inner.sign?(
                    context,
                    signature,
                    bytes,
                    room,
                    digest,
                    digest_bytes,
                ))
            })
        })
    }
}

/// # Safety
/// As [`with`]; a signature and a digest that are not null have the lengths passed with them.
unsafe extern "C" fn verify(
    context: *mut c_void,
    signature: *const u8,
    bytes: usize,
    digest: *const u8,
    digest_bytes: usize,
) -> c_int {
    // SAFETY: the core passes a context to verify with, and a signature and a digest with their lengths.
    unsafe {
        with::<Context>(context, |context| {
            if let State::Digests(Purpose::Verify, hash) = context.state {
                let fits = hash.is_none_or(|it| it.hash.bytes() == digest_bytes);
                if fits && !signature.is_null() && !digest.is_null() {
                    let signature = std::slice::from_raw_parts(signature, bytes);
                    let digest = std::slice::from_raw_parts(digest, digest_bytes);
                    if let Some(done) = context.verify(digest, signature) {
                        return Some(done);
                    }
                }
            }
            context.aside(|inner, context| {
                Some(inner.verify?(
                    context,
                    signature,
                    bytes,
                    digest,
                    digest_bytes,
                ))
            })
        })
    }
}

/// # Safety
/// As [`with`]; `data` has `bytes` bytes.
unsafe extern "C" fn digest_update<const SIGNS: bool>(
    context: *mut c_void,
    data: *const u8,
    bytes: usize,
) -> c_int {
    // SAFETY: the core passes a context with a message, and data of `bytes` bytes.
    unsafe {
        with::<Context>(context, |context| match &mut context.state {
            State::Message(message) => {
                let digest = message.digest.as_mut()?;
                if !data.is_null() && bytes > 0 {
                    message.has_begun = true;
                    digest.update(std::slice::from_raw_parts(data, bytes));
                }
                Some(1)
            }
            _ => context.aside(|inner, context| {
                let update = match SIGNS {
                    true => inner.digest_sign_update,
                    false => inner.digest_verify_update,
                };
                Some(update?(context, data, bytes))
            }),
        })
    }
}

/// # Safety
/// As [`with`]; `bytes` is a place for a length, and a signature that is not null has `room` bytes.
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
    // SAFETY: the core passes a context with a message to sign, and a buffer of `room` bytes with a place for its
    // length.
    unsafe {
        with::<Context>(context, |context| match &mut context.state {
            State::Message(message) if message.purpose == Purpose::Sign => {
                if signature.is_null() {
                    message.takes_hash = true;
                    if let Some(aside) = &message.aside {
                        return Some(aside.functions().digest_sign_final?(
                            aside.at(),
                            null_mut(),
                            bytes,
                            0,
                        ));
                    }
                    let bytes = message.hash.hash.bytes();
                    let Some(bytes_max) = context.signature_bytes_max() else {
                        let digest = [0; DIGEST_BYTES_MAX];
                        return context.sign_by_default(&digest[..bytes], place);
                    };
                    *place.bytes = bytes_max;
                    return Some(1);
                }
                let (digest, bytes) = message.end()?;
                let digest = &digest[..bytes];
                let is_here = message.aside.is_none();
                let done = is_here.then(|| context.sign(digest, place)).flatten();
                done.or_else(|| context.sign_by_default(digest, place))
            }
            _ => context.aside(|inner, context| {
                Some(inner.digest_sign_final?(context, signature, bytes, room))
            }),
        })
    }
}

/// # Safety
/// As [`with`]; a signature that is not null has `bytes` bytes.
unsafe extern "C" fn digest_verify_final(
    context: *mut c_void,
    signature: *const u8,
    bytes: usize,
) -> c_int {
    // SAFETY: the core passes a context with a message to verify, and a signature of `bytes` bytes.
    unsafe {
        with::<Context>(context, |context| match &mut context.state {
            State::Message(message) if message.purpose == Purpose::Verify => {
                let (digest, digest_bytes) = message.end()?;
                let digest = &digest[..digest_bytes];
                let signature = match signature.is_null() {
                    true => &[],
                    false => std::slice::from_raw_parts(signature, bytes),
                };
                let done = context.verify(digest, signature);
                done.or_else(|| context.verify_by_default(digest, signature))
            }
            _ => context.aside(|inner, context| {
                Some(inner.digest_verify_final?(context, signature, bytes))
            }),
        })
    }
}

/// # Safety
/// As [`with`]; `params` is null or an array that ends with [`Param::END`].
unsafe extern "C" fn set_ctx_params(context: *mut c_void, params: *mut Param) -> c_int {
    // SAFETY: the core passes a context, and parameters to set that end.
    unsafe {
        with::<Context>(context, |context| {
            let given = Params::new(params);
            if given.is_empty() {
                return Some(1);
            }
            if let State::Digests(_, hash) = &mut context.state {
                let name = given.only(c"digest").and_then(|name| name.text());
                if let Some(name) = name.and_then(HashName::of) {
                    *hash = Some(name);
                    return Some(1);
                }
            }
            let is_in_the_middle =
                matches!(&context.state, State::Message(message) if message.has_begun);
            if !is_in_the_middle {
                let inner = context.leave()?;
                return Some(inner.functions().set_ctx_params?(inner.at(), params));
            }
            let replayed = match &context.state {
                State::Message(message) if message.aside.is_none() => Some(context.replayed()?),
                _ => None,
            };
            let State::Message(message) = &mut context.state else {
                return None;
            };
            let aside = message.aside.take().or(replayed)?;
            let is_set = aside.functions().set_ctx_params?(aside.at(), params);
            // The default provider accepts no other hash function during a message. It does if the message has ended
            // for it.
            if is_set == 1 && message.takes_hash && given.have(b"digest") {
                context.state = State::Elsewhere(aside);
            } else {
                message.aside = Some(aside);
            }
            Some(is_set)
        })
    }
}

/// # Safety
/// As [`set_ctx_params`].
unsafe extern "C" fn get_ctx_params(context: *mut c_void, params: *mut Param) -> c_int {
    // SAFETY: the core passes a context, and parameters to get that end, for the default provider's function.
    unsafe {
        with::<Context>(context, |context| {
            context.aside(|inner, context| Some(inner.get_ctx_params?(context, params)))
        })
    }
}

/// # Safety
/// As [`set_ctx_params`].
unsafe extern "C" fn get_ctx_md_params(context: *mut c_void, params: *mut Param) -> c_int {
    // SAFETY: the core passes a context, and a digest's parameters to get that end, for the default provider's
    // function.
    unsafe {
        with::<Context>(context, |context| {
            context.aside(|inner, context| Some(inner.get_ctx_md_params?(context, params)))
        })
    }
}

/// Leaves a digest's parameters to the default provider: the hash functions computed here have none, and it says so
/// itself.
///
/// # Safety
/// As [`set_ctx_params`].
unsafe extern "C" fn set_ctx_md_params(context: *mut c_void, params: *mut Param) -> c_int {
    // SAFETY: the core passes a context, and a digest's parameters to set that end, for the default provider's
    // function.
    unsafe {
        with::<Context>(context, |context| {
            context.aside(|inner, context| Some(inner.set_ctx_md_params?(context, params)))
        })
    }
}

/// # Safety
/// As [`described`].
unsafe extern "C" fn gettable_ctx_params(
    context: *mut c_void,
    provider: *mut c_void,
) -> *const Param {
    // SAFETY: the core passes its provider, and null or the context whose gettable parameters it asks for.
    unsafe { described(context, provider, |functions| functions.gettable_ctx_params) }
}

/// # Safety
/// As [`described`].
unsafe extern "C" fn settable_ctx_params(
    context: *mut c_void,
    provider: *mut c_void,
) -> *const Param {
    // SAFETY: the core passes its provider, and null or the context whose settable parameters it asks for.
    unsafe { described(context, provider, |functions| functions.settable_ctx_params) }
}

/// Returns the default provider's list of parameters.
///
/// # Safety
/// As [`with`]; `provider` is what `OSSL_provider_init` gave the core.
unsafe fn described(
    context: *mut c_void,
    provider: *mut c_void,
    function: impl FnOnce(&SignatureFunctions) -> Option<Describe>,
) -> *const Param {
    catching(null(), || {
        let describe = || {
            // SAFETY: `context` is null or one of ECDSA that no other call uses, and the core passes its provider; the
            // default provider's function gets its own context, and its lists are static.
            unsafe {
                let default = (*provider.cast::<Provider>())
                    .defaults
                    .get()?
                    .ecdsa
                    .as_ref()?;
                let describe = function(&default.functions)?;
                match context.cast::<Context>().as_ref() {
                    // The list of a context with a message is shorter.
                    Some(context)
                        if matches!(context.state, State::Message(_) | State::Elsewhere(_)) =>
                    {
                        context.aside(|_, inner| Some(describe(inner, default.context)))
                    }
                    _ => Some(describe(null_mut(), default.context)),
                }
            }
        };
        describe().unwrap_or(null())
    })
}

/// # Safety
/// As [`with`].
unsafe extern "C" fn gettable_ctx_md_params(context: *mut c_void) -> *const Param {
    // SAFETY: the core asks which of a digest's parameters it can get from a context of ECDSA.
    unsafe { described_md(context, |functions| functions.gettable_ctx_md_params) }
}

/// # Safety
/// As [`with`].
unsafe extern "C" fn settable_ctx_md_params(context: *mut c_void) -> *const Param {
    // SAFETY: the core asks which of a digest's parameters it can set in a context of ECDSA.
    unsafe { described_md(context, |functions| functions.settable_ctx_md_params) }
}

/// Returns the list of the default provider's hash function, which outlives the context that the list is read from.
///
/// # Safety
/// As [`with`].
unsafe fn described_md(
    context: *mut c_void,
    function: impl FnOnce(
        &SignatureFunctions,
    ) -> Option<unsafe extern "C" fn(*mut c_void) -> *const Param>,
) -> *const Param {
    catching(null(), || {
        // SAFETY: `context` is null or one of ECDSA that no other call uses; the default provider's function gets its
        // own context.
        unsafe {
            let context = context.cast::<Context>().as_ref();
            let described = context.and_then(|context| {
                context.aside(|functions, inner| Some(function(functions)?(inner)))
            });
            described.unwrap_or(null())
        }
    })
}
