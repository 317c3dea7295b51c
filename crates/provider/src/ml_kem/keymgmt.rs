//! The functions of keys that are faster here (provider-keymgmt(7), EVP_PKEY-ML-KEM(7)): a pair that is generated, a share that is
//! taken and given. All others are those of keys that OpenSSL exports (`exported/`).
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};

use oarlock_engine::agreement::{MlKem, MlKemPrivateKey, MlKemPublicKey};
use oarlock_engine::costs::Performed;

use super::key::MlKemKey;
use crate::abi::{
    Dispatch, KEYMGMT_LOAD, Param, Params, SELECT_DOMAIN_PARAMETERS, SELECT_KEYPAIR,
    SELECT_PRIVATE_KEY, SELECT_PUBLIC_KEY,
};
use crate::caught::catching;
use crate::default_provider::functions::KeyFunctions;
use crate::exported::{self, Key, Ours as _};
use crate::hybrid::once;
use crate::provider::Provider;

/// The functions for OpenSSL.
pub(super) fn table<const SET: usize>(inner: &KeyFunctions) -> Vec<Dispatch> {
    let faster = [
        (KeyFunctions::gen_init, gen_init::<SET> as *const c_void),
        (
            KeyFunctions::gen_set_params,
            gen_set_params::<SET> as *const c_void,
        ),
        (KeyFunctions::generate, generate::<SET> as *const c_void),
        (
            KeyFunctions::gen_cleanup,
            gen_cleanup::<SET> as *const c_void,
        ),
        (KeyFunctions::get_params, get_params::<SET> as *const c_void),
        (KeyFunctions::set_params, set_params::<SET> as *const c_void),
    ];
    let mut table = exported::table::<MlKemKey<SET>>(inner);
    for one in &mut table {
        if let Some((_, function)) = faster.iter().find(|(id, _)| *id == one.id) {
            one.function = *function;
        }
    }
    // No file stands for such a key of another machine.
    table.retain(|one| one.id != KEYMGMT_LOAD);
    table
}

/// # Safety
/// `key` is null or a key of ours that nobody changes; `params` is null or an array that ends with [`Param::END`].
unsafe extern "C" fn get_params<const SET: usize>(key: *mut c_void, params: *mut Param) -> c_int {
    catching(0, || {
        // SAFETY: null or a key of ours that nobody changes, whose provider is there, and the core's parameters.
        unsafe {
            let ours = key.cast::<Key<MlKemKey<SET>>>().as_ref();
            let given = ours.and_then(|it| get(it.ours(), &*it.provider(), Params::new(params)));
            if given.is_some() {
                return 1;
            }
            exported::get_params::<MlKemKey<SET>>(key, params)
        }
    })
}

/// Gives what libssl asks for, of a blank key what each has; `None` where the default provider is to give all of it, or to refuse
/// it.
fn get<const SET: usize>(
    key: Option<&MlKemKey<SET>>,
    provider: &Provider,
    params: Params<'_>,
) -> Option<()> {
    let set = MlKemKey::<SET>::SET;
    let (bits, security_bits, category) = match set {
        MlKem::MlKem512 => (512_u32, 128_u32, 1_u32),
        MlKem::MlKem768 => (768, 192, 3),
        MlKem::MlKem1024 => (1024, 256, 5),
    };
    // Of one that stands twice the first counts, or both are refused.
    let mut seen = 0_u32;
    let are_single = params.each(|name, _| {
        let at = GETTABLE.iter().position(|one| *one == name);
        let bit = at.map_or(0, |at| 1 << at);
        let is_single = seen & bit == 0;
        seen |= bit;
        if is_single { Ok(()) } else { Err(()) }
    });
    are_single.ok()?;
    let given = params.each(|name, value| {
        let is_given = match name {
            b"bits" => value.set_number(bits),
            b"security-bits" => value.set_number(security_bits),
            b"max-size" => value.set_number(set.ciphertext_bytes() as u32),
            b"security-category" if provider.host.has_security_categories() => {
                value.set_number(category)
            }
            ENCODED | b"pub" if value.octets_place().is_some() => {
                let public = key.and_then(MlKemKey::public);
                public.is_some_and(|public| value.set_octets(&public))
            }
            // No release gives anything else.
            _ => !GETTABLE.contains(&name),
        };
        if is_given { Ok(()) } else { Err(()) }
    });
    given.ok()
}

/// # Safety
/// `key` is null or a key of ours that no other call uses; `params` is null or an array that ends with [`Param::END`].
unsafe extern "C" fn set_params<const SET: usize>(key: *mut c_void, params: *const Param) -> c_int {
    catching(0, || {
        // SAFETY: null or a key of ours that no other call uses, and the core's parameters.
        unsafe {
            let given = Params::new(params.cast_mut());
            let take = || {
                let share = given.only(c"encoded-pub-key")?.given_octets()?;
                let share = MlKemPublicKey::from_bytes(MlKemKey::<SET>::SET, share).ok()?;
                let key = key.cast::<Key<MlKemKey<SET>>>().as_ref()?;
                key.take(MlKemKey::Public(share))
            };
            if take().is_some() {
                return 1;
            }
            exported::set_params::<MlKemKey<SET>>(key, params)
        }
    })
}

/// A key that is being generated.
struct Generation {
    selection: c_int,
    /// The default provider's generation, once something was set that it alone knows of. Null before.
    inner: *mut c_void,
    provider: *const Provider,
}

/// The default provider's management of these keys.
///
/// # Safety
/// `provider` is there.
unsafe fn default_of<'a, const SET: usize>(
    provider: *const Provider,
) -> Option<(&'a KeyFunctions, *mut c_void)> {
    // SAFETY: the provider is there, as the caller says.
    let defaults = unsafe { (*provider).defaults.get()? };
    let default = MlKemKey::<SET>::default(defaults)?;
    Some((&default.functions, default.context))
}

impl Generation {
    /// Whether nothing is set that the default provider is to see: libssl names the group, and a query for algorithms has nothing
    /// to choose here.
    fn is_regular(&self, params: Params<'_>) -> bool {
        // SAFETY: the provider lives as long as what it generates.
        if once(unsafe { &*self.provider }, params, &[b"properties"]).is_err() {
            return false;
        }
        let looked = params.each(|name, value| match name {
            b"properties" if value.is_text() => Ok(()),
            b"properties" | b"seed" => Err(()),
            _ => Ok(()),
        });
        looked.is_ok()
    }

    /// Has the default provider set parameters, which then makes the key.
    ///
    /// # Safety
    /// `params` is an array that ends with [`Param::END`].
    unsafe fn leave<const SET: usize>(&mut self, params: *const Param) -> Option<c_int> {
        // SAFETY: the provider lives as long as what it generates; the default provider's functions with its context and the
        // caller's parameters.
        unsafe {
            let (functions, context) = default_of::<SET>(self.provider)?;
            if self.inner.is_null() {
                self.inner = functions.gen_init?(context, self.selection, null());
            }
            if self.inner.is_null() {
                return None;
            }
            Some(functions.gen_set_params?(self.inner, params))
        }
    }
}

/// # Safety
/// `provider` is what `OSSL_provider_init` gave the core; `params` is null or an array that ends with [`Param::END`].
unsafe extern "C" fn gen_init<const SET: usize>(
    provider: *mut c_void,
    selection: c_int,
    params: *const Param,
) -> *mut c_void {
    if selection & (SELECT_DOMAIN_PARAMETERS | SELECT_PRIVATE_KEY) == 0 {
        return null_mut();
    }
    catching(null_mut(), || {
        let generation = Box::into_raw(Box::new(Generation {
            selection,
            inner: null_mut(),
            provider: provider.cast(),
        }));
        // SAFETY: a generation of ML-KEM that nobody else has, and parameters that end.
        unsafe {
            if gen_set_params::<SET>(generation.cast(), params) != 1 {
                gen_cleanup::<SET>(generation.cast());
                return null_mut();
            }
        }
        generation.cast()
    })
}

/// # Safety
/// `generation` is null or of `gen_init`, and no other call with it is under way; `params` is null or an array that ends with
/// [`Param::END`].
unsafe extern "C" fn gen_set_params<const SET: usize>(
    generation: *mut c_void,
    params: *const Param,
) -> c_int {
    catching(0, || {
        // SAFETY: null or a generation of ML-KEM that no other call uses, and parameters that end.
        unsafe {
            let Some(generation) = generation.cast::<Generation>().as_mut() else {
                return 0;
            };
            let given = Params::new(params.cast_mut());
            if generation.inner.is_null() && generation.is_regular(given) {
                return 1;
            }
            generation.leave::<SET>(params).unwrap_or(0)
        }
    })
}

/// # Safety
/// `generation` is null or of `gen_init`, and no other call with it is under way.
unsafe extern "C" fn generate<const SET: usize>(
    generation: *mut c_void,
    callback: *const c_void,
    argument: *mut c_void,
) -> *mut c_void {
    catching(null_mut(), || {
        // SAFETY: null or a generation of ML-KEM that no other call uses, whose provider the core does not tear down.
        let (generation, provider) = unsafe {
            let Some(generation) = generation.cast::<Generation>().as_ref() else {
                return null_mut();
            };
            (generation, &*generation.provider)
        };
        if !generation.inner.is_null() {
            // SAFETY: the default provider's function with its own generation, and its key that nobody else has.
            let made = || unsafe {
                let (functions, _) = default_of::<SET>(provider)?;
                let made = functions.generate?(generation.inner, callback, argument);
                Some(Key::<MlKemKey<SET>>::around(provider, made))
            };
            return made().unwrap_or(null_mut());
        }
        match generation.selection & SELECT_KEYPAIR {
            SELECT_PUBLIC_KEY => null_mut(),
            // EVP_PKEY_paramgen(3).
            0 => Key::<MlKemKey<SET>>::empty(provider),
            _ => {
                let generate = || MlKemPrivateKey::generate(MlKemKey::<SET>::SET);
                match provider.signer.on_deep_stack(generate) {
                    Some(Ok(key)) => {
                        provider.count(MlKemKey::<SET>::PRIMITIVE, Performed::Generated);
                        Key::of(provider, MlKemKey::<SET>::Private(key))
                    }
                    _ => null_mut(),
                }
            }
        }
    })
}

/// # Safety
/// `generation` is null or of `gen_init`, and this is the core's last call with it.
unsafe extern "C" fn gen_cleanup<const SET: usize>(generation: *mut c_void) {
    if generation.is_null() {
        return;
    }
    catching((), || {
        // SAFETY: a generation of ML-KEM in a box, and this is the core's last call with it; the default provider's function with
        // its own.
        unsafe {
            let generation = Box::from_raw(generation.cast::<Generation>());
            let default = default_of::<SET>(generation.provider);
            let cleanup = default.and_then(|(functions, _)| functions.gen_cleanup);
            if let (Some(cleanup), false) = (cleanup, generation.inner.is_null()) {
                cleanup(generation.inner);
            }
        }
    });
}

const ENCODED: &[u8] = b"encoded-pub-key";
const GETTABLE: [&[u8]; 8] = [
    b"bits",
    b"security-bits",
    b"max-size",
    b"security-category",
    b"pub",
    b"priv",
    b"seed",
    ENCODED,
];
