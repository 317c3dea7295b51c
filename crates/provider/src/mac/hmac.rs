//! HMAC (RFC 2104, EVP_MAC-HMAC(7)). A key that is set again is recognised, and set up once.
//!
//! A context computes what is regular. At anything else, such as a digest that we lack, a long key or the record of a TLS
//! suite with CBC, it makes a context of the default provider's with the same digest and key, and passes everything on
//! from then on.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};

use oarlock_engine::hash::{DIGEST_BYTES_MAX, Hash, Hmac, is_same};
use zeroize::{Zeroize as _, Zeroizing};

use crate::abi::{Algorithm, Dispatch, OPERATION_MAC, Param, Params, offered};
use crate::caught::catching;
use crate::default_provider::functions::{Describe, MacFunctions};
use crate::default_provider::rsa::named_for_oaep as hash_named;
use crate::default_provider::{DefaultAlgorithm, Defaults, hash_name};
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
        dupctx dupctx,
        freectx freectx,
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
    /// What the next key is set up with.
    hash: Option<Hash>,
    /// Apart, so that a context of the default provider's costs little more than that: TLS keeps several.
    keyed: Option<Box<Keyed>>,
    message: Message,
    /// The default provider's context, once something was not regular. Null before.
    inner: *mut c_void,
    /// The core tears no provider down that has a context.
    provider: *const Provider,
}

/// Whether a hash function is ours: OpenSSL computes those of SHA-512's kind in two thirds of the time.
fn is_ours(hash: Hash) -> bool {
    matches!(hash, Hash::Sha1 | Hash::Sha224 | Hash::Sha256)
}

/// A key that is set up.
#[derive(Clone)]
struct Keyed {
    hash: Hash,
    hmac: Hmac,
    key: Key,
}

/// How far the message is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Message {
    New,
    Begun,
    Ended,
}

/// The key as it was set. Wiped on drop.
#[derive(Clone)]
struct Key {
    octets: [u8; KEY_BYTES_MAX],
    bytes: usize,
}

/// A block of SHA-256. Longer keys are rare, and have to be hashed before.
const KEY_BYTES_MAX: usize = 64;

impl Key {
    /// `None` for one that is too long.
    fn new(key: &[u8]) -> Option<Self> {
        let mut octets = [0; KEY_BYTES_MAX];
        octets.get_mut(..key.len())?.copy_from_slice(key);
        Some(Self {
            octets,
            bytes: key.len(),
        })
    }

    fn get(&self) -> &[u8] {
        &self.octets[..self.bytes]
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        self.octets[..self.bytes].zeroize();
    }
}

impl Context {
    fn new(provider: *const Provider) -> Self {
        Self {
            hash: None,
            keyed: None,
            message: Message::New,
            inner: null_mut(),
            provider,
        }
    }

    fn default(&self) -> Option<&DefaultAlgorithm<MacFunctions>> {
        // SAFETY: the core tears no provider down that has a context of HMAC.
        unsafe { default_of(self.provider) }
    }

    /// Takes parameters and then a key; `None` if either is not regular, and then nothing is set.
    fn set(&mut self, params: Params<'_>, key: Option<&[u8]>) -> Option<()> {
        let (mut hash, mut given) = (None, None);
        let taken = params.each(|name, value| match name {
            b"digest" if hash.is_none() => {
                let named = value
                    .text()
                    .and_then(hash_named)
                    .filter(|hash| is_ours(*hash));
                hash = Some(named.ok_or(())?);
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
        // One after the other, as the default provider sets them: the second counts.
        let key = key.or(given);
        if let Some(key) = key {
            let hash = hash?;
            let is_it = |keyed: &Keyed| keyed.hash == hash && is_same(keyed.key.get(), key);
            if !self.keyed.as_deref().is_some_and(is_it) {
                self.keyed = Some(Box::new(Keyed {
                    hash,
                    key: Key::new(key)?,
                    hmac: Hmac::new(hash, key)?,
                }));
                self.message = Message::New;
            }
            self.restart()?;
        }
        self.hash = hash;
        Some(())
    }

    /// Begins another message; `None` without a key.
    fn restart(&mut self) -> Option<()> {
        let keyed = self.keyed.as_mut()?;
        if self.message == Message::Begun {
            keyed.hmac.restart();
        }
        self.message = Message::New;
        Some(())
    }

    fn update(&mut self, data: &[u8]) -> Option<c_int> {
        let keyed = self.keyed.as_mut()?;
        if self.message == Message::Ended {
            return Some(0);
        }
        keyed.hmac.update(data);
        self.message = Message::Begun;
        Some(1)
    }

    /// Writes the tag to the beginning of `output`, and returns its length; 0 after it was had.
    fn finish(&mut self, output: &mut [u8; DIGEST_BYTES_MAX]) -> Option<usize> {
        let keyed = self.keyed.as_mut()?;
        if self.message == Message::Ended {
            return Some(0);
        }
        self.message = Message::Ended;
        Some(keyed.hmac.finish(output))
    }

    /// Leaves this context's work to the default provider. `None` in the middle of a message, of which nothing was kept.
    fn leave(&mut self) -> Option<(*mut c_void, MacFunctions)> {
        if self.inner.is_null() {
            if self.message == Message::Begun {
                return None;
            }
            self.inner = self.replayed()?;
            self.keyed = None;
        }
        Some((self.inner, self.default()?.functions))
    }

    /// Makes a context of the default provider's with the same digest and key.
    fn replayed(&self) -> Option<*mut c_void> {
        let default = self.default()?;
        // SAFETY: the default provider's functions with its context, an array that ends as it must, and a key with so
        // many bytes.
        unsafe {
            let inner = default.functions.newctx?(default.context);
            if inner.is_null() {
                return None;
            }
            let set_hash = |hash| {
                let name = Param::giving_text(c"digest", hash_name(hash).to_bytes());
                let mut params = [name, Param::END];
                let done = default.functions.set_ctx_params?(inner, params.as_mut_ptr());
                (done == 1).then_some(())
            };
            let set = || {
                let with = self.keyed.as_ref().map(|keyed| keyed.hash);
                if let Some(keyed) = &self.keyed {
                    set_hash(keyed.hash)?;
                    let (key, bytes) = (keyed.key.get().as_ptr(), keyed.key.get().len());
                    if default.functions.init?(inner, key, bytes, null()) != 1 {
                        return None;
                    }
                }
                // Another one for the next key.
                match self.hash {
                    Some(hash) if self.hash != with => set_hash(hash),
                    _ => Some(()),
                }
            };
            if set().is_none() {
                default.functions.freectx?(inner);
                return None;
            }
            Some(inner)
        }
    }
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core, which has not torn it down.
unsafe fn default_of<'a>(provider: *const Provider) -> Option<&'a DefaultAlgorithm<MacFunctions>> {
    // SAFETY: the caller says that the provider is there.
    unsafe { (*provider).defaults.get()?.hmac.as_ref() }
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core.
unsafe extern "C" fn newctx(provider: *mut c_void) -> *mut c_void {
    catching(null_mut(), || {
        Box::into_raw(Box::new(Context::new(provider.cast()))).cast()
    })
}

/// # Safety
/// `context` is null or of `newctx` or `dupctx`, and this is the core's last call with it.
unsafe extern "C" fn freectx(context: *mut c_void) {
    if !context.is_null() {
        catching((), || {
            // SAFETY: of `newctx` or `dupctx`, and this is the core's last call with it; the default provider's function
            // with its context, which nobody else has.
            unsafe {
                let context = Box::from_raw(context.cast::<Context>());
                let free = context.default().and_then(|it| it.functions.freectx);
                if let (Some(free), false) = (free, context.inner.is_null()) {
                    free(context.inner);
                }
            }
        });
    }
}

/// # Safety
/// `context` is null or a context of ours, and no other call with it is under way.
unsafe extern "C" fn dupctx(context: *mut c_void) -> *mut c_void {
    catching(null_mut(), || {
        // SAFETY: the core copies a context of `newctx` or `dupctx`, or null; the default provider's function with its
        // context.
        unsafe {
            let Some(context) = context.cast::<Context>().as_ref() else {
                return null_mut();
            };
            let mut inner = null_mut();
            if !context.inner.is_null() {
                let dup = context.default().and_then(|it| it.functions.dupctx);
                inner = dup.map_or(null_mut(), |dup| dup(context.inner));
                if inner.is_null() {
                    return null_mut();
                }
            }
            Box::into_raw(Box::new(Context {
                hash: context.hash,
                keyed: context.keyed.clone(),
                message: context.message,
                inner,
                provider: context.provider,
            }))
            .cast()
        }
    })
}

/// # Safety
/// As [`dupctx`]; a key that is not null has so many bytes, and `params` is null or an array that ends with
/// [`Param::END`].
unsafe extern "C" fn init(
    context: *mut c_void,
    key: *const u8,
    key_bytes: usize,
    params: *const Param,
) -> c_int {
    catching(0, || {
        // SAFETY: null or a context of ours that no other call uses; the caller's key and parameters.
        unsafe {
            let Some(context) = context.cast::<Context>().as_mut() else {
                return 0;
            };
            let given = (!key.is_null()).then(|| match key_bytes {
                0 => &[][..],
                bytes => std::slice::from_raw_parts(key, bytes),
            });
            let is_regular = context.inner.is_null() && {
                let is_set = context.set(Params::new(params.cast_mut()), given);
                is_set.and_then(|()| context.restart()).is_some()
            };
            if is_regular {
                return 1;
            }
            // Whatever the message was, this ends it.
            context.restart();
            match context.leave() {
                Some((inner, functions)) => functions
                    .init
                    .map_or(0, |init| init(inner, key, key_bytes, params)),
                None => 0,
            }
        }
    })
}

/// # Safety
/// As [`dupctx`]; `data` has so many bytes.
unsafe extern "C" fn update(context: *mut c_void, data: *const u8, bytes: usize) -> c_int {
    catching(0, || {
        // SAFETY: null or a context of ours that no other call uses; the caller's data.
        unsafe {
            let Some(context) = context.cast::<Context>().as_mut() else {
                return 0;
            };
            if context.inner.is_null() {
                let given = match bytes {
                    0 => &[][..],
                    bytes => std::slice::from_raw_parts(data, bytes),
                };
                if let Some(done) = context.update(given) {
                    return done;
                }
            }
            match context.leave() {
                Some((inner, functions)) => functions
                    .update
                    .map_or(0, |update| update(inner, data, bytes)),
                None => 0,
            }
        }
    })
}

/// # Safety
/// As [`dupctx`]; `written` is a place for a length, and `output` has room for as many bytes as `room` says.
unsafe extern "C" fn finish(
    context: *mut c_void,
    output: *mut u8,
    written: *mut usize,
    room: usize,
) -> c_int {
    catching(0, || {
        // SAFETY: null or a context of ours that no other call uses; the caller's places.
        unsafe {
            let Some(context) = context.cast::<Context>().as_mut() else {
                return 0;
            };
            let has_room = context
                .keyed
                .as_ref()
                .is_some_and(|keyed| keyed.hash.bytes() <= room);
            if context.inner.is_null() && has_room && !output.is_null() {
                let mut tag = Zeroizing::new([0; DIGEST_BYTES_MAX]);
                let bytes = context.finish(&mut tag).unwrap_or_default();
                if bytes == 0 {
                    return 0;
                }
                output.copy_from_nonoverlapping(tag.as_ptr(), bytes);
                *written = bytes;
                return 1;
            }
            match context.leave() {
                Some((inner, functions)) => functions
                    .finish
                    .map_or(0, |finish| finish(inner, output, written, room)),
                None => 0,
            }
        }
    })
}

/// # Safety
/// As [`dupctx`]; `params` is null or an array that ends with [`Param::END`].
unsafe extern "C" fn set_ctx_params(context: *mut c_void, params: *mut Param) -> c_int {
    catching(0, || {
        // SAFETY: null or a context of ours that no other call uses; parameters that end.
        unsafe {
            let Some(context) = context.cast::<Context>().as_mut() else {
                return 0;
            };
            let given = Params::new(params);
            if context.inner.is_null() && context.set(given, None).is_some() {
                return 1;
            }
            match context.leave() {
                Some((inner, functions)) => {
                    functions.set_ctx_params.map_or(0, |set| set(inner, params))
                }
                None => 0,
            }
        }
    })
}

/// # Safety
/// As [`set_ctx_params`].
unsafe extern "C" fn get_ctx_params(context: *mut c_void, params: *mut Param) -> c_int {
    catching(0, || {
        // SAFETY: null or a context of ours that no other call uses; parameters with places; the default provider's
        // functions with its context.
        unsafe {
            let Some(context) = context.cast::<Context>().as_ref() else {
                return 0;
            };
            let given = Params::new(params);
            if let (true, Some(keyed), Some(value)) =
                (context.inner.is_null(), &context.keyed, given.only(c"size"))
            {
                return value.set_number(keyed.hash.bytes() as u64).into();
            }
            let get = || {
                let functions = context.default()?.functions;
                if !context.inner.is_null() {
                    return Some(functions.get_ctx_params?(context.inner, params));
                }
                let inner = context.replayed()?;
                let done = functions.get_ctx_params.map(|get| get(inner, params));
                functions.freectx?(inner);
                done
            };
            get().unwrap_or(0)
        }
    })
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core.
unsafe extern "C" fn gettable_ctx_params(
    _context: *mut c_void,
    provider: *mut c_void,
) -> *const Param {
    // SAFETY: the core asks with its provider what can be got of a MAC.
    unsafe { described(provider, |functions| functions.gettable_ctx_params) }
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core.
unsafe extern "C" fn settable_ctx_params(
    _context: *mut c_void,
    provider: *mut c_void,
) -> *const Param {
    // SAFETY: the core asks with its provider what can be set of a MAC.
    unsafe { described(provider, |functions| functions.settable_ctx_params) }
}

/// What the default provider says of its parameters.
///
/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core.
unsafe fn described(
    provider: *mut c_void,
    function: impl FnOnce(&MacFunctions) -> Option<Describe>,
) -> *const Param {
    // SAFETY: the caller hands over the core's provider. The default provider's HMAC takes no notice of its first
    // argument, which may be null.
    unsafe {
        let describe = || {
            let default = default_of(provider.cast())?;
            Some(function(&default.functions)?(null_mut(), default.context))
        };
        describe().unwrap_or(null())
    }
}
