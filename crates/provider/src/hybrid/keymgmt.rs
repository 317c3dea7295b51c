//! Keys of the hybrids (provider-keymgmt(7), EVP_PKEY-MLX(7)).
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::Arc;

use oarlock_engine::agreement::{Hybrid, HybridPrivateKey, HybridPublicKey, MlKem};
use zeroize::Zeroizing;

use crate::abi::{
    Dispatch, Param, Params, SELECT_DOMAIN_PARAMETERS, SELECT_KEYPAIR, SELECT_PRIVATE_KEY,
    SELECT_PUBLIC_KEY, Value,
};
use crate::boxed;
use crate::caught::catching;
use crate::default_provider::functions::{Callback, KeyFunctions};
use crate::error::Reason;
use crate::provider::Provider;

/// A key that OpenSSL holds.
pub(super) struct Key {
    hybrid: Hybrid,
    pub(super) halves: Halves,
    /// The core does not tear down a provider that has a key.
    pub(super) provider: *const Provider,
}

/// The halves of a key. They do not change once there is one.
#[derive(Clone)]
pub(super) enum Halves {
    None,
    Public(Arc<HybridPublicKey>),
    Both(Arc<HybridPrivateKey>),
}

/// Returns the functions for OpenSSL.
pub(super) fn table(hybrid: Hybrid) -> Vec<Dispatch> {
    macro_rules! of {
        ($at:literal) => {
            (
                new::<$at> as *const c_void,
                gen_init::<$at> as *const c_void,
            )
        };
    }
    let (new, gen_init) = match hybrid {
        Hybrid::X25519MlKem768 => of!(0),
        Hybrid::SecP256r1MlKem768 => of!(1),
        Hybrid::SecP384r1MlKem1024 => of!(2),
    };
    let functions = [
        (KeyFunctions::new, new),
        (KeyFunctions::gen_init, gen_init),
        (
            KeyFunctions::gen_set_params,
            gen_set_params as *const c_void,
        ),
        (
            KeyFunctions::gen_settable_params,
            gen_settable_params as *const c_void,
        ),
        (KeyFunctions::generate, generate as *const c_void),
        (
            KeyFunctions::gen_cleanup,
            boxed::free::<Generation> as *const c_void,
        ),
        (KeyFunctions::free, boxed::free::<Key> as *const c_void),
        (KeyFunctions::get_params, get_params as *const c_void),
        (
            KeyFunctions::gettable_params,
            gettable_params as *const c_void,
        ),
        (KeyFunctions::set_params, set_params as *const c_void),
        (
            KeyFunctions::settable_params,
            settable_params as *const c_void,
        ),
        (KeyFunctions::has, has as *const c_void),
        (KeyFunctions::matches, matches as *const c_void),
        (KeyFunctions::import, import as *const c_void),
        (KeyFunctions::import_types, types as *const c_void),
        (KeyFunctions::export, export as *const c_void),
        (KeyFunctions::export_types, types as *const c_void),
        (KeyFunctions::dup, dup as *const c_void),
    ];
    let functions = functions.map(|(id, function)| Dispatch { id, function });
    functions.into_iter().chain([Dispatch::END]).collect()
}

impl Key {
    fn boxed(hybrid: Hybrid, halves: Halves, provider: *const Provider) -> *mut c_void {
        boxed::held(Self {
            hybrid,
            halves,
            provider,
        })
    }

    fn provider(&self) -> &Provider {
        // SAFETY: the core tears the provider down after its last key, and this one is in use.
        unsafe { &*self.provider }
    }

    /// Takes exported parameters. Next to a private key, which contains the public one, only the length of a public key
    /// counts.
    fn import(&mut self, selection: c_int, params: Params<'_>) -> Result<(), Reason> {
        if self.halves.has_public() {
            return Err(Reason::Silent);
        }
        once(self.provider(), params, &[PUBLIC, PRIVATE])?;
        let given = |name| params.find(name).map_or(Ok(&[][..]), octets);
        let public = given(PUBLIC)?;
        let private = match selection & SELECT_PRIVATE_KEY {
            0 => &[],
            _ => given(PRIVATE)?,
        };
        let is_right = |given: &[u8], bytes| given.is_empty() || given.len() == bytes;
        if public.is_empty() && private.is_empty() {
            return Err(Reason::MissingKey);
        }
        if !is_right(public, self.hybrid.public_key_bytes())
            || !is_right(private, self.hybrid.private_key_bytes())
        {
            return Err(Reason::InvalidKeyLength);
        }
        if private.is_empty() {
            return self.take_public(public);
        }
        let take = || HybridPrivateKey::from_bytes(self.hybrid, private);
        let key = self.provider().signer.on_deep_stack(take);
        let key = key.ok_or(Reason::Silent)?;
        self.halves = Halves::Both(Arc::new(key.map_err(|_| Reason::InvalidKey)?));
        Ok(())
    }

    fn take_public(&mut self, public: &[u8]) -> Result<(), Reason> {
        let take = || HybridPublicKey::from_bytes(self.hybrid, public);
        let key = self.provider().signer.on_deep_stack(take);
        let key = key.ok_or(Reason::Silent)?;
        self.halves = Halves::Public(Arc::new(key.map_err(|_| Reason::InvalidKey)?));
        Ok(())
    }

    /// Passes the selected halves that the key has to a callback.
    ///
    /// # Safety
    /// `callback` takes `argument`.
    unsafe fn export(
        &self,
        selection: c_int,
        callback: Callback,
        argument: *mut c_void,
    ) -> Result<(), Reason> {
        if selection & SELECT_KEYPAIR == 0 {
            return Err(Reason::Silent);
        }
        if !self.halves.has_public() {
            return Err(Reason::MissingKey);
        }
        let (mut public, mut private) = (None, None);
        if selection & SELECT_PUBLIC_KEY != 0 {
            public = Some(self.halves.public(self.hybrid)?);
        }
        if selection & SELECT_PRIVATE_KEY != 0 {
            private = self.halves.private()?;
        }
        let mut params = [Param::END; 3];
        let given = [
            public.as_ref().map(|octets| (c"pub", &octets[..])),
            private.as_ref().map(|octets| (c"priv", &octets[..])),
        ];
        for (place, (name, octets)) in params.iter_mut().zip(given.into_iter().flatten()) {
            *place = Param::giving_octets(name, octets);
        }
        // SAFETY: the array ends with `Param::END`, and the caller says that the callback takes the argument.
        match unsafe { callback(params.as_ptr(), argument) } {
            1 => Ok(()),
            _ => Err(Reason::Silent),
        }
    }

    fn get(&self, params: Params<'_>) -> Result<(), Reason> {
        once(self.provider(), params, &GETTABLE)?;
        let (bits, security_bits, category) = match self.hybrid.ml_kem() {
            MlKem::MlKem512 => (512_u32, 128_u32, 1_u32),
            MlKem::MlKem768 => (768, 192, 3),
            MlKem::MlKem1024 => (1024, 256, 5),
        };
        let max_bytes = self.hybrid.ciphertext_bytes() as u32;
        for (name, number) in [
            (b"bits" as &[u8], bits),
            (b"security-bits", security_bits),
            (b"security-category", category),
            (b"max-size", max_bytes),
        ] {
            if name == b"security-category" && !self.provider().host.has_security_categories() {
                continue;
            }
            if !params
                .find(name)
                .is_none_or(|value| value.set_number(number))
            {
                return Err(Reason::Silent);
            }
        }
        if !self.halves.has_public() {
            return Ok(());
        }
        if let Some(value) = params.find(ENCODED) {
            put(value, &self.halves.public(self.hybrid)?)?;
        }
        if let (Some(value), Some(private)) = (params.find(PRIVATE), self.halves.private()?) {
            put(value, &private)?;
        }
        Ok(())
    }

    fn set(&mut self, params: Params<'_>) -> Result<(), Reason> {
        once(self.provider(), params, &[ENCODED, PROPERTIES])?;
        // The query for the parts is only checked: the parts are computed here. Releases before 3.6 read it after a
        // share only.
        let has_query = match params.find(PROPERTIES).is_none_or(Value::is_text) {
            true => Ok(()),
            false => Err(Reason::Silent),
        };
        if self.provider().host.refuses_repetition() {
            has_query?;
        }
        let Some(value) = params.find(ENCODED) else {
            return Ok(());
        };
        if self.halves.has_public() {
            return Err(Reason::OperationNotSupportedForThisKeytype);
        }
        let octets = octets(value)?;
        has_query?;
        if octets.len() != self.hybrid.public_key_bytes() {
            return Err(Reason::InvalidKey);
        }
        self.take_public(octets)
    }

    fn copy(&self, selection: c_int) -> Result<Halves, Reason> {
        match selection & SELECT_KEYPAIR {
            0 => Ok(Halves::None),
            SELECT_KEYPAIR => Ok(self.halves.clone()),
            _ if !self.halves.has_public() => Ok(Halves::None),
            _ => Err(Reason::UnsupportedSelection),
        }
    }
}

impl Halves {
    pub(super) fn has_public(&self) -> bool {
        !matches!(self, Self::None)
    }

    /// Returns the encoding of the public half.
    fn public(&self, hybrid: Hybrid) -> Result<Vec<u8>, Reason> {
        let mut octets = vec![0; hybrid.public_key_bytes()];
        let written = match self {
            Self::None => return Err(Reason::MissingKey),
            Self::Public(key) => key.write_to(&mut octets),
            Self::Both(key) => key.write_public_to(&mut octets),
        };
        written.map(|()| octets).map_err(|_| Reason::Silent)
    }

    /// Returns the encoding of the private half, if there is one.
    fn private(&self) -> Result<Option<Zeroizing<Vec<u8>>>, Reason> {
        match self {
            Self::Both(key) => key.to_bytes().map(Some).map_err(|_| Reason::Silent),
            _ => Ok(None),
        }
    }
}

/// Returns the octets that the caller passes, which may be empty.
fn octets(value: Value<'_>) -> Result<&[u8], Reason> {
    match value.octets() {
        None => Err(Reason::Silent),
        Some(_) => Ok(value.given_octets().unwrap_or_default()),
    }
}

/// Copies octets to the caller's buffer, or reports their number if that is null.
fn put(value: Value<'_>, octets: &[u8]) -> Result<(), Reason> {
    match value.octets_place() {
        None => Err(Reason::Silent),
        Some(_) if value.set_octets(octets) => Ok(()),
        Some(_) => Err(Reason::OutputBufferTooSmall),
    }
}

/// Refuses a repeated parameter, as OpenSSL does since release 3.6. Earlier releases use the first.
pub(crate) fn once(provider: &Provider, params: Params<'_>, known: &[&[u8]]) -> Result<(), Reason> {
    if !provider.host.refuses_repetition() {
        return Ok(());
    }
    let mut seen = 0_u32;
    params.each(|name, _| {
        if let Some(at) = known.iter().position(|one| *one == name) {
            if seen & 1 << at != 0 {
                return Err(Reason::RepeatedParameter);
            }
            seen |= 1 << at;
        }
        Ok(())
    })
}

/// Calls `work` with a key, and raises the error that it returns.
///
/// # Safety
/// `key` is null or one of our keys, which no other call changes.
unsafe fn with(key: *const c_void, work: impl FnOnce(&Key) -> Result<(), Reason>) -> c_int {
    catching(0, || {
        // SAFETY: `key` is null or a hybrid's key that no other call changes, as the caller says.
        let Some(key) = (unsafe { key.cast::<Key>().as_ref() }) else {
            return 0;
        };
        answer(key.provider(), work(key))
    })
}

/// Calls `work` with a key that it may change, and raises the error that it returns.
///
/// # Safety
/// `key` is null or one of our keys, which no other call uses.
unsafe fn changing(key: *mut c_void, work: impl FnOnce(&mut Key) -> Result<(), Reason>) -> c_int {
    catching(0, || {
        // SAFETY: `key` is null or a hybrid's key that no other call uses, as the caller says.
        let Some(key) = (unsafe { key.cast::<Key>().as_mut() }) else {
            return 0;
        };
        let done = work(key);
        answer(key.provider(), done)
    })
}

pub(super) fn answer(provider: &Provider, done: Result<(), Reason>) -> c_int {
    match done {
        Ok(()) => 1,
        Err(reason) => {
            provider.errors.raise(reason);
            0
        }
    }
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core.
unsafe extern "C" fn new<const AT: usize>(provider: *mut c_void) -> *mut c_void {
    catching(null_mut(), || {
        Key::boxed(Hybrid::ALL[AT], Halves::None, provider.cast())
    })
}

/// # Safety
/// `key` is null or one of our keys, which no other call changes.
unsafe extern "C" fn dup(key: *const c_void, selection: c_int) -> *mut c_void {
    let mut copy = null_mut();
    // SAFETY: the core passes null or a key to copy that no other call changes.
    unsafe {
        with(key, |key| {
            copy = Key::boxed(key.hybrid, key.copy(selection)?, key.provider);
            Ok(())
        });
    }
    copy
}

/// Returns whether a key has the selected halves. EVP_PKEY_copy_parameters(3) calls it without a key.
///
/// # Safety
/// `key` is null or one of our keys, which no other call changes.
unsafe extern "C" fn has(key: *const c_void, selection: c_int) -> c_int {
    // SAFETY: the core passes null or a key to look at that no other call changes.
    unsafe {
        with(key, |key| {
            let has = match selection & SELECT_KEYPAIR {
                0 => true,
                SELECT_PUBLIC_KEY => key.halves.has_public(),
                _ => matches!(key.halves, Halves::Both(_)),
            };
            if has { Ok(()) } else { Err(Reason::Silent) }
        })
    }
}

/// # Safety
/// Each is null or one of our keys, of the same management, which no other call changes.
unsafe extern "C" fn matches(one: *const c_void, other: *const c_void, selection: c_int) -> c_int {
    // SAFETY: the core passes null or two keys of this management that no other call changes.
    unsafe {
        let Some(other) = other.cast::<Key>().as_ref() else {
            return 0;
        };
        with(one, |one| {
            let are_same = selection & SELECT_KEYPAIR == 0
                || match [&one.halves, &other.halves] {
                    [Halves::None, Halves::None] => true,
                    [Halves::None, _] | [_, Halves::None] => false,
                    [halves, others] => {
                        halves.public(one.hybrid)? == others.public(other.hybrid)?
                    }
                };
            if are_same {
                Ok(())
            } else {
                Err(Reason::Silent)
            }
        })
    }
}

/// # Safety
/// `key` is null or one of our keys, which no other call uses; `params` is null or an array that ends with
/// [`Param::END`].
unsafe extern "C" fn import(key: *mut c_void, selection: c_int, params: *const Param) -> c_int {
    // SAFETY: the core passes null or a new key that no other call uses, and an array to import that ends.
    unsafe {
        changing(key, |key| match selection & SELECT_KEYPAIR {
            0 => Err(Reason::Silent),
            _ => key.import(selection, Params::new(params.cast_mut())),
        })
    }
}

/// # Safety
/// `key` is null or one of our keys, which no other call changes; `callback` takes `argument`.
unsafe extern "C" fn export(
    key: *const c_void,
    selection: c_int,
    callback: Option<Callback>,
    argument: *mut c_void,
) -> c_int {
    let Some(callback) = callback else {
        return 0;
    };
    // SAFETY: the core passes null or a key that no other call changes, and a callback with its argument.
    unsafe { with(key, |key| key.export(selection, callback, argument)) }
}

/// # Safety
/// `key` is null or one of our keys, which no other call changes; `params` is null or an array that ends with
/// [`Param::END`].
unsafe extern "C" fn get_params(key: *mut c_void, params: *mut Param) -> c_int {
    // SAFETY: the core passes null or a key that no other call changes, and an array of buffers that ends.
    unsafe { with(key, |key| key.get(Params::new(params))) }
}

/// # Safety
/// `key` is null or one of our keys, which no other call uses; `params` is null or an array that ends with
/// [`Param::END`].
unsafe extern "C" fn set_params(key: *mut c_void, params: *const Param) -> c_int {
    // SAFETY: the core passes null or a key that no other call uses, and an array of values to set that ends.
    unsafe { changing(key, |key| key.set(Params::new(params.cast_mut()))) }
}

/// The generation of a key.
struct Generation {
    hybrid: Hybrid,
    selection: c_int,
    provider: *const Provider,
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core; `params` is null or an array that ends with [`Param::END`].
unsafe extern "C" fn gen_init<const AT: usize>(
    provider: *mut c_void,
    selection: c_int,
    params: *const Param,
) -> *mut c_void {
    if selection & (SELECT_DOMAIN_PARAMETERS | SELECT_PRIVATE_KEY) == 0 {
        return null_mut();
    }
    catching(null_mut(), || {
        let generation = Generation {
            hybrid: Hybrid::ALL[AT],
            selection,
            provider: provider.cast(),
        };
        let generation = boxed::held(generation);
        // SAFETY: the generation is new and has no other user, and the core's array ends.
        unsafe {
            if gen_set_params(generation, params) != 1 {
                boxed::free::<Generation>(generation);
                return null_mut();
            }
        }
        generation
    })
}

/// Checks the parameters. A query in "properties" would select algorithms for the parts, which are computed here; the
/// group that libssl names is known.
///
/// # Safety
/// `generation` is null or from `gen_init`; `params` is null or an array that ends with [`Param::END`].
unsafe extern "C" fn gen_set_params(generation: *mut c_void, params: *const Param) -> c_int {
    catching(0, || {
        // SAFETY: `generation` is null or from `gen_init`, its provider exists as long as it does, and the core's array
        // ends.
        let (provider, params) = unsafe {
            let Some(generation) = generation.cast::<Generation>().as_ref() else {
                return 0;
            };
            (&*generation.provider, Params::new(params.cast_mut()))
        };
        let done = once(provider, params, &[PROPERTIES]).and_then(|()| {
            let is_text = params.find(PROPERTIES).is_none_or(Value::is_text);
            if is_text { Ok(()) } else { Err(Reason::Silent) }
        });
        answer(provider, done)
    })
}

/// # Safety
/// `generation` is null or from `gen_init`.
unsafe extern "C" fn generate(
    generation: *mut c_void,
    _callback: *const c_void,
    _argument: *mut c_void,
) -> *mut c_void {
    catching(null_mut(), || {
        // SAFETY: the core passes null or a generation from `gen_init`.
        let Some(generation) = (unsafe { generation.cast::<Generation>().as_ref() }) else {
            return null_mut();
        };
        let halves = match generation.selection & SELECT_KEYPAIR {
            SELECT_PUBLIC_KEY => return null_mut(),
            // EVP_PKEY_paramgen(3) asks for no key pair.
            0 => Halves::None,
            _ => {
                // SAFETY: the core does not tear down a provider that has a generation, and this one is in use.
                let provider = unsafe { &*generation.provider };
                let generate = || HybridPrivateKey::generate(generation.hybrid);
                match provider.signer.on_deep_stack(generate) {
                    Some(Ok(key)) => Halves::Both(Arc::new(key)),
                    _ => return null_mut(),
                }
            }
        };
        Key::boxed(generation.hybrid, halves, generation.provider)
    })
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core.
unsafe extern "C" fn gettable_params(provider: *mut c_void) -> *const Param {
    static BEFORE_3_6: [Param; 6] = [
        Param::int(c"bits"),
        Param::int(c"security-bits"),
        Param::int(c"max-size"),
        Param::octets(c"encoded-pub-key"),
        Param::octets(c"priv"),
        Param::END,
    ];
    static SINCE_3_6: [Param; 7] = [
        Param::int(c"bits"),
        Param::int(c"security-bits"),
        Param::int(c"max-size"),
        Param::int(c"security-category"),
        Param::octets(c"encoded-pub-key"),
        Param::octets(c"priv"),
        Param::END,
    ];
    // SAFETY: the core passes its provider when it asks for a hybrid's gettable parameters.
    match unsafe { &*provider.cast::<Provider>() }
        .host
        .has_security_categories()
    {
        true => SINCE_3_6.as_ptr(),
        false => BEFORE_3_6.as_ptr(),
    }
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core.
unsafe extern "C" fn settable_params(provider: *mut c_void) -> *const Param {
    static BEFORE_3_6: [Param; 2] = [Param::octets(c"encoded-pub-key"), Param::END];
    static SINCE_3_6: [Param; 3] = [
        Param::octets(c"encoded-pub-key"),
        Param::text(c"properties"),
        Param::END,
    ];
    // SAFETY: the core passes its provider when it asks for a hybrid's settable parameters.
    match unsafe { &*provider.cast::<Provider>() }
        .host
        .refuses_repetition()
    {
        true => SINCE_3_6.as_ptr(),
        false => BEFORE_3_6.as_ptr(),
    }
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core.
unsafe extern "C" fn gen_settable_params(
    _generation: *mut c_void,
    provider: *mut c_void,
) -> *const Param {
    static BEFORE_3_6: [Param; 2] = [Param::octets(c"properties"), Param::END];
    static SINCE_3_6: [Param; 2] = [Param::text(c"properties"), Param::END];
    // SAFETY: the core passes its provider when it asks for the parameters of a generation.
    match unsafe { &*provider.cast::<Provider>() }
        .host
        .refuses_repetition()
    {
        true => SINCE_3_6.as_ptr(),
        false => BEFORE_3_6.as_ptr(),
    }
}

extern "C" fn types(selection: c_int) -> *const Param {
    static TYPES: [Param; 3] = [Param::octets(c"pub"), Param::octets(c"priv"), Param::END];
    match selection & SELECT_KEYPAIR {
        0 => null(),
        _ => TYPES.as_ptr(),
    }
}

const PUBLIC: &[u8] = b"pub";
const PRIVATE: &[u8] = b"priv";
const ENCODED: &[u8] = b"encoded-pub-key";
const PROPERTIES: &[u8] = b"properties";
const GETTABLE: [&[u8]; 6] = [
    b"bits",
    b"security-bits",
    b"max-size",
    b"security-category",
    ENCODED,
    PRIVATE,
];
