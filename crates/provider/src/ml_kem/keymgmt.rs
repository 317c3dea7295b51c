//! Key management where it is faster than the default provider's (provider-keymgmt(7), EVP_PKEY-ML-KEM(7)): generating
//! key pairs, and reading and writing public keys. The rest is the management of keys that OpenSSL exports
//! (`exported/`).
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use oarlock_engine::agreement::{MlKem, MlKemPrivateKey, MlKemPublicKey};
use oarlock_engine::costs::Performed;

use super::key::MlKemKey;
use crate::abi::{
    Dispatch, KEYMGMT_LOAD, Param, Params, SELECT_DOMAIN_PARAMETERS, SELECT_KEYPAIR,
    SELECT_PRIVATE_KEY, SELECT_PUBLIC_KEY,
};
use crate::caught::catching;
use crate::default_provider::functions::KeyFunctions;
use crate::exported::{self, Key, Managed as _, Management as _, Wrapped as _};
use crate::generation::{self, Generated, Generation};
use crate::hybrid::once;
use crate::provider::Provider;

/// Returns the functions for OpenSSL.
pub(super) fn table<const SET: usize>(inner: &KeyFunctions) -> Vec<Dispatch> {
    let faster = [
        (
            KeyFunctions::gen_init,
            generation::init::<MlKemKey<SET>> as *const c_void,
        ),
        (
            KeyFunctions::gen_set_params,
            generation::set_params::<MlKemKey<SET>> as *const c_void,
        ),
        (KeyFunctions::generate, generate::<SET> as *const c_void),
        (
            KeyFunctions::gen_cleanup,
            generation::cleanup::<MlKemKey<SET>> as *const c_void,
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
    // No file refers to an ML-KEM key on another machine.
    table.retain(|one| one.id != KEYMGMT_LOAD);
    table
}

/// # Safety
/// `key` is null or one of our keys, which no other call changes; `params` is null or an array that ends with
/// [`Param::END`].
unsafe extern "C" fn get_params<const SET: usize>(key: *mut c_void, params: *mut Param) -> c_int {
    catching(0, || {
        // SAFETY: `key` is null or an ML-KEM key that no other call changes, whose provider exists, and the core's
        // array ends.
        unsafe {
            let ours = key.cast::<Key<MlKemKey<SET>>>().as_ref();
            let given = ours.and_then(|it| get(it.ours(), it.provider(), Params::new(params)));
            if given.is_some() {
                return 1;
            }
            exported::get_params::<MlKemKey<SET>>(key, params)
        }
    })
}

/// Returns the parameters that libssl asks for; a blank key has those that do not depend on it. Returns `None` if the
/// default provider should return all of them, or refuse.
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
    // The default provider handles repeated parameters: it uses the first, or refuses both.
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
            // No release returns any other parameter.
            _ => !GETTABLE.contains(&name),
        };
        if is_given { Ok(()) } else { Err(()) }
    });
    given.ok()
}

/// # Safety
/// `key` is null or one of our keys, which no other call uses; `params` is null or an array that ends with
/// [`Param::END`].
unsafe extern "C" fn set_params<const SET: usize>(key: *mut c_void, params: *const Param) -> c_int {
    catching(0, || {
        // SAFETY: `key` is null or an ML-KEM key that no other call uses, and the core's array ends.
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

impl<const SET: usize> Generated for MlKemKey<SET> {
    fn is_generated(selection: c_int) -> bool {
        selection & (SELECT_DOMAIN_PARAMETERS | SELECT_PRIVATE_KEY) != 0
    }

    /// libssl names the group, and a query for algorithms has nothing to select here.
    fn is_regular(provider: &Provider, params: Params<'_>) -> bool {
        if once(provider, params, &[b"properties"]).is_err() {
            return false;
        }
        let looked = params.each(|name, value| match name {
            b"properties" if value.is_text() => Ok(()),
            b"properties" | b"seed" => Err(()),
            _ => Ok(()),
        });
        looked.is_ok()
    }
}

/// # Safety
/// `generation` is null or from `generation::init`, and no other call with it is in progress.
unsafe extern "C" fn generate<const SET: usize>(
    generation: *mut c_void,
    callback: *const c_void,
    argument: *mut c_void,
) -> *mut c_void {
    catching(null_mut(), || {
        // SAFETY: `generation` is null or one of ML-KEM that no other call uses; the core has not torn its provider
        // down.
        let (generation, provider) = unsafe {
            let Some(generation) = generation.cast::<Generation>().as_ref() else {
                return null_mut();
            };
            (generation, &*generation.provider)
        };
        if !generation.inner.is_null() {
            // SAFETY: the default provider's function gets its own generation, and its new key has no other owner.
            let made = || unsafe {
                let functions = &MlKemKey::<SET>::of_default(provider)?.functions;
                let made = functions.generate?(generation.inner, callback, argument);
                Some(MlKemKey::<SET>::around(provider, made))
            };
            return made().unwrap_or(null_mut());
        }
        match generation.selection & SELECT_KEYPAIR {
            SELECT_PUBLIC_KEY => null_mut(),
            // EVP_PKEY_paramgen(3) asks for no key pair.
            0 => MlKemKey::<SET>::empty(provider),
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
