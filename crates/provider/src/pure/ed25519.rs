//! Keys of Ed25519.

use std::ffi::c_int;

use oarlock_engine::Primitive;
use oarlock_engine::ed25519::{Ed25519PrivateKey, Ed25519PublicKey, KEY_BYTES, SIGNATURE_BYTES};

use super::Pure;
use crate::abi::{Param, Params, SELECT_KEYPAIR, SELECT_PRIVATE_KEY, SELECT_PUBLIC_KEY};
use crate::default_provider::functions::{KeyFunctions, SignatureFunctions};
use crate::default_provider::{DefaultAlgorithm, Defaults};
use crate::exported::Ours;

pub(super) enum Ed25519Key {
    Public(Ed25519PublicKey),
    Private(Box<Ed25519PrivateKey>),
}

impl Ed25519Key {
    fn public(&self) -> &Ed25519PublicKey {
        match self {
            Self::Public(key) => key,
            Self::Private(key) => key.public_key(),
        }
    }
}

impl Ours for Ed25519Key {
    const LEAST: c_int = SELECT_PUBLIC_KEY;

    fn default(defaults: &Defaults) -> Option<&DefaultAlgorithm<KeyFunctions>> {
        defaults.ed25519.keys.as_ref()
    }

    /// Makes a key. A private key with a public key that is not its own is left to the default provider.
    fn of(selection: c_int, params: Params<'_>, is_all: bool) -> Option<Self> {
        let (mut public, mut seed) = (None, None);
        let taken = params.each(|name, value| {
            let octets =
                || <&[u8; KEY_BYTES]>::try_from(value.given_octets().ok_or(())?).map_err(|_| ());
            match name {
                b"pub" if public.is_none() => public = Some(octets()?),
                b"priv" if seed.is_none() => seed = Some(octets()?),
                _ if !is_all => {}
                _ => return Err(()),
            }
            Ok(())
        });
        taken.ok()?;
        let public = public.map(Ed25519PublicKey::from_bytes)?;
        let Some(seed) = seed.filter(|_| selection & SELECT_PRIVATE_KEY != 0) else {
            return Some(Self::Public(public));
        };
        let key = Ed25519PrivateKey::from_seed(seed);
        (key.public_key().as_bytes() == public.as_bytes()).then(|| Self::Private(Box::new(key)))
    }

    fn has_private(&self) -> bool {
        matches!(self, Self::Private(_))
    }

    fn give<T>(&self, give: impl FnOnce(c_int, *const Param) -> T) -> T {
        let mut params = [Param::END; 3];
        params[0] = Param::giving_octets(c"pub", self.public().as_bytes());
        let mut selection = SELECT_PUBLIC_KEY;
        if let Self::Private(key) = self {
            params[1] = Param::giving_octets(c"priv", key.seed());
            selection = SELECT_KEYPAIR;
        }
        give(selection, params.as_ptr())
    }
}

impl Pure for Ed25519Key {
    const PRIMITIVE: Primitive = Primitive::Ed25519;
    const SIGNATURE_BYTES: usize = SIGNATURE_BYTES;

    fn signatures(defaults: &Defaults) -> Option<&DefaultAlgorithm<SignatureFunctions>> {
        defaults.ed25519.signatures.as_ref()
    }

    fn sign(&self, message: &[u8], signature: &mut [u8]) -> Option<()> {
        let Self::Private(key) = self else {
            return None;
        };
        signature.copy_from_slice(&key.sign_unchecked(message));
        Some(())
    }

    fn verify(&self, message: &[u8], signature: &[u8]) -> Option<()> {
        self.public().verify(message, signature).ok()
    }
}
