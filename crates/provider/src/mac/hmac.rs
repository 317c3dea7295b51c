//! HMAC (RFC 2104, EVP_MAC-HMAC(7)). A key that is set again is recognized, and not set up again.
//!
//! A context handles the regular cases. For anything else, such as a digest that we lack, a long key or the record of a
//! TLS suite with CBC, it creates a context of the default provider with the same digest and key, and forwards every
//! further call to it. All copies of a context share one such context to copy from: libssl makes a copy for each
//! record.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::{Arc, OnceLock};

use oarlock_engine::Primitive;
use oarlock_engine::costs::Performed;
use oarlock_engine::hash::{DIGEST_BYTES_MAX, Hash, Hmac};
use zeroize::Zeroizing;

use crate::abi::{Algorithm, Dispatch, OPERATION_MAC, Param, Params, offered};
use crate::boxed::{self, Copied};
use crate::caught::catching;
use crate::default_provider::functions::{Describe, MacFunctions};
use crate::default_provider::mac::MacContext;
use crate::default_provider::rsa::named_for_oaep as hash_named;
use crate::default_provider::{DefaultAlgorithm, Defaults};
use crate::offered::Offered;
use crate::provider::Provider;

/// Adds HMAC.
pub(super) fn offer(defaults: &Defaults, offered: &mut Offered) {
    let Some(default) = &defaults.hmac else {
        return;
    };
    let mut table = Vec::new();
    offered!(table, default.functions, MacFunctions:
        newctx newctx,
        dupctx boxed::dup::<Context>,
        freectx boxed::free::<Context>,
        init init,
        update update,
        finish finish,
        get_ctx_params get_ctx_params,
        set_ctx_params set_ctx_params,
        gettable_ctx_params gettable_ctx_params,
        settable_ctx_params settable_ctx_params,
    );
    table.push(Dispatch::END);
    offered.add(OPERATION_MAC, table, |table| {
        Algorithm::accelerated(default.names, table)
    });
}

/// A context, as OpenSSL holds it.
struct Context {
    /// The hash function that the next key is set up with.
    hash: Option<Hash>,
    /// A key that is set up.
    keyed: Option<Hmac>,
    /// The default provider's context with this key. All copies of this context copy it when they need their own. Several
    /// threads may make the first copies at once.
    common: OnceLock<Arc<OnceLock<MacContext>>>,
    message: Message,
    /// The default provider's context, once something was not regular.
    left: Option<MacContext>,
    /// The default provider's context for the next message, if something that is not regular was set during this one.
    next: Option<MacContext>,
    /// The core does not tear down a provider that has a context.
    provider: *const Provider,
}

/// The state of the message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Message {
    New,
    Begun,
    Ended,
}

impl Context {
    fn new(provider: *const Provider) -> Self {
        Self {
            hash: None,
            keyed: None,
            common: OnceLock::new(),
            message: Message::New,
            left: None,
            next: None,
            provider,
        }
    }

    fn default(&self) -> Option<&DefaultAlgorithm<MacFunctions>> {
        // SAFETY: the core does not tear down a provider that has an HMAC context.
        unsafe { default_of(self.provider) }
    }

    /// Sets parameters and then a key; `None` if either is not regular, and then nothing is set.
    fn set(&mut self, params: Params<'_>, key: Option<&[u8]>) -> Option<()> {
        let (mut hash, mut given) = (None, None);
        let taken = params.each(|name, value| match name {
            b"digest" if hash.is_none() => {
                hash = Some(value.text().and_then(hash_named).ok_or(())?);
                Ok(())
            }
            b"key" if given.is_none() => {
                given = Some(value.given_octets().ok_or(())?);
                Ok(())
            }
            _ => Err(()),
        });
        taken.ok()?;
        let hash = hash.or(self.hash);
        // The default provider sets them in this order: the second wins.
        let key = key.or(given);
        if let Some(key) = key {
            let hash = hash?;
            if !self.keyed.as_ref().is_some_and(|it| it.has(hash, key)) {
                self.keyed = Some(Hmac::new(hash, key)?);
                self.common = OnceLock::new();
                self.message = Message::New;
            }
            self.restart()?;
        }
        self.hash = hash;
        Some(())
    }

    /// Starts another message; `None` without a key.
    fn restart(&mut self) -> Option<()> {
        let keyed = self.keyed.as_mut()?;
        if self.message == Message::Begun {
            keyed.restart();
        }
        self.message = Message::New;
        Some(())
    }

    /// Appends data to the message; `None` if the default provider must do it.
    fn update(&mut self, data: &[u8]) -> Option<c_int> {
        let keyed = self.keyed.as_mut()?;
        if self.message == Message::Ended {
            return Some(0);
        }
        let is_long = data.len() >= LONG_BYTES && keyed.hash().block_bytes() == 128;
        if is_long && self.message == Message::New {
            return None;
        }
        keyed.update(data);
        self.message = Message::Begun;
        Some(1)
    }

    /// Writes the tag to the beginning of `output` and returns its length, or 0 if the tag was already returned.
    fn finish(&mut self, output: &mut [u8; DIGEST_BYTES_MAX]) -> Option<usize> {
        let keyed = self.keyed.as_mut()?;
        if self.message == Message::Ended {
            return Some(0);
        }
        self.message = Message::Ended;
        Some(keyed.finish(output))
    }

    /// Hands this context's work to the default provider. `None` in the middle of a message, whose data was not kept.
    fn leave(&mut self) -> Option<&MacContext> {
        if self.left.is_none() {
            if self.message == Message::Begun {
                return None;
            }
            self.left = Some(match self.next.take() {
                Some(next) => next,
                None => self.replayed()?,
            });
            self.keyed = None;
            self.common = OnceLock::new();
        }
        self.left.as_ref()
    }

    /// Has the default provider set what is not regular in the middle of a message: a key ends the message, and all else
    /// counts for the next one. `None` if it would change this message, whose data was not kept.
    fn set_during(
        &mut self,
        params: Params<'_>,
        set: impl FnOnce(&MacContext) -> Option<c_int>,
    ) -> Option<c_int> {
        if params.have(b"tls-data-size") {
            return None;
        }
        if self.next.is_none() {
            self.next = Some(self.replayed()?);
        }
        let done = self.next.as_ref().and_then(set)?;
        if done == 1 && params.have(b"key") {
            self.message = Message::New;
            self.leave();
        }
        Some(done)
    }

    /// Hands a context without settings to the default provider, with a digest that is not ours, and returns whether it
    /// accepted the digest. `None` if `params` has more than the digest's name.
    fn leave_with(&mut self, params: Params<'_>) -> Option<(&MacContext, bool)> {
        let is_new = self.left.is_none() && self.keyed.is_none() && self.hash.is_none();
        let name = params.only(c"digest").filter(|_| is_new)?.text()?;
        // SAFETY: the core does not tear down a provider that has a context, such as this one.
        let defaults = unsafe { (*self.provider).defaults.get()? };
        let begun = defaults.hmac_digests.context(defaults.hmac.as_ref()?, name);
        let (left, is_set) = begun?;
        Some((self.left.insert(left), is_set))
    }

    /// Creates a context of the default provider with the same digest and key.
    fn replayed(&self) -> Option<MacContext> {
        let Some(common) = self.common.get() else {
            return self.set_up();
        };
        // `get_or_init` would make others wait: a child that is forked during it would wait forever.
        if common.get().is_none() {
            let _ = common.set(self.set_up()?);
        }
        let left = common.get()?.copy()?;
        self.set_next_hash(&left)?;
        Some(left)
    }

    fn set_up(&self) -> Option<MacContext> {
        let left = MacContext::new(self.default()?)?;
        if let Some(keyed) = &self.keyed {
            left.set_hash(keyed.hash())?;
            left.set_key(keyed.key())?;
        }
        if self.common.get().is_none() {
            self.set_next_hash(&left)?;
        }
        Some(left)
    }

    /// Sets the hash function for the next key, if it is not that of the present one.
    fn set_next_hash(&self, left: &MacContext) -> Option<()> {
        match self.hash {
            Some(hash) if self.keyed.as_ref().is_none_or(|it| it.hash() != hash) => {
                left.set_hash(hash)
            }
            _ => Some(()),
        }
    }
}

impl Copied for Context {
    fn copy(&self) -> Option<Self> {
        if self.keyed.is_some() && self.common.get().is_none() {
            let _ = self.common.set(Arc::default());
        }
        Some(Self {
            hash: self.hash,
            keyed: self.keyed.as_ref().map(Hmac::copy),
            common: self.common.clone(),
            message: self.message,
            left: copied(&self.left)?,
            next: copied(&self.next)?,
            provider: self.provider,
        })
    }
}

/// Copies a context of the default provider's, if there is one. Returns `None` if that fails.
fn copied(context: &Option<MacContext>) -> Option<Option<MacContext>> {
    match context {
        Some(context) => context.copy().map(Some),
        None => Some(None),
    }
}

/// Returns the default provider's context in a context of ours; `None` if it has none.
///
/// # Safety
/// `context` is null or a context of ours, and no other call uses it.
#[inline(always)]
unsafe fn left<'a>(context: *mut c_void) -> Option<&'a MacContext> {
    // SAFETY: the caller promises that it is null or one of ours, which no other call uses.
    unsafe { context.cast::<Context>().as_ref()?.left.as_ref() }
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core, which has not torn it down.
unsafe fn default_of<'a>(provider: *const Provider) -> Option<&'a DefaultAlgorithm<MacFunctions>> {
    // SAFETY: the caller promises that the provider exists.
    unsafe { (*provider).defaults.get()?.hmac.as_ref() }
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core.
unsafe extern "C" fn newctx(provider: *mut c_void) -> *mut c_void {
    catching(null_mut(), || boxed::held(Context::new(provider.cast())))
}

/// # Safety
/// As for [`boxed::dup`]; a key that is not null has `key_bytes` bytes, and `params` is null or an array that ends with
/// [`Param::END`].
unsafe extern "C" fn init(
    context: *mut c_void,
    key: *const u8,
    key_bytes: usize,
    params: *const Param,
) -> c_int {
    // SAFETY: null or a context of ours that no other call uses; the default provider's function with its own, and the
    // caller's key and parameters.
    unsafe {
        let by =
            |left: &MacContext| Some(left.functions().init?(left.at(), key, key_bytes, params));
        if let Some(left) = left(context) {
            return by(left).unwrap_or(0);
        }
        catching(0, || {
            let Some(context) = context.cast::<Context>().as_mut() else {
                return 0;
            };
            let given = (!key.is_null()).then(|| match key_bytes {
                0 => &[][..],
                bytes => std::slice::from_raw_parts(key, bytes),
            });
            if context.next.is_some() {
                context.message = Message::New;
                return context.leave().and_then(by).unwrap_or(0);
            }
            let is_set = context.set(Params::new(params.cast_mut()), given);
            if is_set.and_then(|()| context.restart()).is_some() {
                return 1;
            }
            match context.leave_with(Params::new(params.cast_mut())) {
                Some((left, true)) => {
                    let init = left.functions().init;
                    return init.map_or(0, |init| init(left.at(), key, key_bytes, null()));
                }
                Some((_, false)) => return 0,
                None => {}
            }
            // This ends any message that was in progress.
            context.restart();
            context.leave().and_then(by).unwrap_or(0)
        })
    }
}

/// # Safety
/// As for [`boxed::dup`]; `data` has `bytes` bytes.
unsafe extern "C" fn update(context: *mut c_void, data: *const u8, bytes: usize) -> c_int {
    // SAFETY: null or a context of ours that no other call uses; the default provider's function with its own, and the
    // caller's data.
    unsafe {
        let by = |left: &MacContext| Some(left.functions().update?(left.at(), data, bytes));
        if let Some(left) = left(context) {
            return by(left).unwrap_or(0);
        }
        catching(0, || {
            let Some(context) = context.cast::<Context>().as_mut() else {
                return 0;
            };
            let given = match bytes {
                0 => &[][..],
                bytes => std::slice::from_raw_parts(data, bytes),
            };
            let done = context.update(given);
            done.or_else(|| context.leave().and_then(by)).unwrap_or(0)
        })
    }
}

/// # Safety
/// As for [`boxed::dup`]; `written` is a place for a length, and an `output` that is not null has room for `room` bytes.
unsafe extern "C" fn finish(
    context: *mut c_void,
    output: *mut u8,
    written: *mut usize,
    room: usize,
) -> c_int {
    // SAFETY: null or a context of ours that no other call uses; the default provider's function with its own, and the
    // caller's places; the core does not tear down a provider that has a context.
    unsafe {
        let by =
            |left: &MacContext| Some(left.functions().finish?(left.at(), output, written, room));
        if let Some(left) = left(context) {
            return by(left).unwrap_or(0);
        }
        catching(0, || {
            let Some(context) = context.cast::<Context>().as_mut() else {
                return 0;
            };
            let has_room = context
                .keyed
                .as_ref()
                .is_some_and(|keyed| keyed.hash().bytes() <= room);
            if !has_room || output.is_null() {
                return context.leave().and_then(by).unwrap_or(0);
            }
            let mut tag = Zeroizing::new([0; DIGEST_BYTES_MAX]);
            let bytes = context.finish(&mut tag).unwrap_or_default();
            if bytes == 0 {
                return 0;
            }
            output.copy_from_nonoverlapping(tag.as_ptr(), bytes);
            *written = bytes;
            (*context.provider).count(Primitive::Hmac, Performed::Authenticated);
            1
        })
    }
}

/// # Safety
/// As for [`boxed::dup`]; `params` is null or an array that ends with [`Param::END`].
unsafe extern "C" fn set_ctx_params(context: *mut c_void, params: *mut Param) -> c_int {
    // SAFETY: null or a context of ours that no other call uses; the default provider's function with its own, and
    // parameters that end.
    unsafe {
        let by = |left: &MacContext| Some(left.functions().set_ctx_params?(left.at(), params));
        if let Some(left) = left(context) {
            return by(left).unwrap_or(0);
        }
        catching(0, || {
            let Some(context) = context.cast::<Context>().as_mut() else {
                return 0;
            };
            let given = Params::new(params);
            if context.next.is_none() && context.set(given, None).is_some() {
                return 1;
            }
            if let Some((_, is_set)) = context.leave_with(given) {
                return is_set.into();
            }
            let done = match context.message {
                Message::Begun => context.set_during(given, by),
                Message::New | Message::Ended => context.leave().and_then(by),
            };
            done.unwrap_or(0)
        })
    }
}

/// # Safety
/// As for [`set_ctx_params`].
unsafe extern "C" fn get_ctx_params(context: *mut c_void, params: *mut Param) -> c_int {
    // SAFETY: null or a context of ours that no other call uses; the default provider's function with its own, and
    // parameters with places.
    unsafe {
        let by = |left: &MacContext| Some(left.functions().get_ctx_params?(left.at(), params));
        if let Some(left) = left(context) {
            return by(left).unwrap_or(0);
        }
        catching(0, || {
            let Some(context) = context.cast::<Context>().as_ref() else {
                return 0;
            };
            let given = Params::new(params);
            if let (Some(keyed), Some(value)) = (&context.keyed, given.only(c"size")) {
                return value.set_number(keyed.hash().bytes() as u64).into();
            }
            match &context.next {
                Some(next) => by(next),
                None => context.replayed().as_ref().and_then(by),
            }
            .unwrap_or(0)
        })
    }
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core.
unsafe extern "C" fn gettable_ctx_params(
    _context: *mut c_void,
    provider: *mut c_void,
) -> *const Param {
    // SAFETY: the core passes its provider to ask what can be got from a MAC.
    unsafe { described(provider, |functions| functions.gettable_ctx_params) }
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core.
unsafe extern "C" fn settable_ctx_params(
    _context: *mut c_void,
    provider: *mut c_void,
) -> *const Param {
    // SAFETY: the core passes its provider to ask what can be set in a MAC.
    unsafe { described(provider, |functions| functions.settable_ctx_params) }
}

/// Returns the default provider's description of its parameters.
///
/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core.
unsafe fn described(
    provider: *mut c_void,
    function: impl FnOnce(&MacFunctions) -> Option<Describe>,
) -> *const Param {
    // SAFETY: the caller passes the core's provider. The default provider's HMAC ignores its first argument, which may
    // be null.
    unsafe {
        let describe = || {
            let default = default_of(provider.cast())?;
            Some(function(&default.functions)?(null_mut(), default.context))
        };
        describe().unwrap_or(null())
    }
}

/// From this length on, OpenSSL's faster SHA-512 and its truncations make up for the cost of a second context.
const LONG_BYTES: usize = 1024;
