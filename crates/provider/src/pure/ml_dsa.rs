//! Keys of ML-DSA, which OpenSSL has since release 3.5.

use std::ffi::c_int;

use oarlock_engine::Primitive;
use oarlock_engine::ml_dsa::{MlDsa, MlDsaPrivateKey, MlDsaPublicKey, SEED_BYTES};
use zeroize::Zeroizing;

use super::Pure;
use crate::abi::{Param, Params, SELECT_KEYPAIR, SELECT_PRIVATE_KEY, SELECT_PUBLIC_KEY};
use crate::default_provider::functions::{KeyFunctions, SignatureFunctions};
use crate::default_provider::{DefaultAlgorithm, Defaults};
use crate::exported::Ours;

/// A key of the parameter set at index `SET` of [`MlDsa::ALL`].
pub(super) enum MlDsaKey<const SET: usize> {
    Public(MlDsaPublicKey),
    Private(MlDsaPrivateKey),
}

impl<const SET: usize> MlDsaKey<SET> {
    const SET: MlDsa = MlDsa::ALL[SET];

    fn public(&self) -> Option<Vec<u8>> {
        let mut public = vec![0; Self::SET.public_key_bytes()];
        let written = match self {
            Self::Public(key) => key.write_to(&mut public),
            Self::Private(key) => key.write_public_to(&mut public),
        };
        written.ok().map(|()| public)
    }
}

impl<const SET: usize> Ours for MlDsaKey<SET> {
    const LEAST: c_int = SELECT_PUBLIC_KEY;
    const FITS_A_JOB: bool = false;

    fn default(defaults: &Defaults) -> Option<&DefaultAlgorithm<KeyFunctions>> {
        defaults.ml_dsa[SET].keys.as_ref()
    }

    /// Makes a key. Halves that do not belong together are left to the default provider.
    fn of(selection: c_int, params: Params<'_>, is_all: bool) -> Option<Self> {
        let (mut public, mut seed, mut private) = (None, None, None);
        let taken = params.each(|name, value| {
            let place = match name {
                b"pub" => &mut public,
                b"seed" => &mut seed,
                b"priv" => &mut private,
                _ if !is_all => return Ok(()),
                _ => return Err(()),
            };
            // Releases differ in what a second one of a name means.
            match place.replace(value.given_octets().ok_or(())?) {
                None => Ok(()),
                Some(_) => Err(()),
            }
        });
        taken.ok()?;
        let public = public?;
        if selection & SELECT_PRIVATE_KEY == 0 || (seed, private) == (None, None) {
            let key = MlDsaPublicKey::from_bytes(Self::SET, public).ok()?;
            return Some(Self::Public(key));
        }
        let key = match (seed, private) {
            (Some(seed), _) => {
                MlDsaPrivateKey::from_seed(Self::SET, <&[u8; SEED_BYTES]>::try_from(seed).ok()?)
            }
            (None, private) => MlDsaPrivateKey::from_bytes(Self::SET, private?),
        };
        let key = key.ok()?;
        if seed.is_some() && private.is_some_and(|private| !key.is_expanded(private)) {
            return None;
        }
        let key = Self::Private(key);
        (key.public()? == public).then_some(key)
    }

    fn has_private(&self) -> bool {
        matches!(self, Self::Private(_))
    }

    fn give<T>(&self, give: impl FnOnce(c_int, *const Param) -> T) -> T {
        let public = self.public().unwrap_or_default();
        let mut params = [Param::END; 3];
        params[0] = Param::giving_octets(c"pub", &public);
        let Self::Private(key) = self else {
            return give(SELECT_PUBLIC_KEY, params.as_ptr());
        };
        let seed = key.seed();
        let mut private = Zeroizing::new(Vec::new());
        params[1] = match &seed {
            Some(seed) => Param::giving_octets(c"seed", &**seed),
            None => {
                private.resize(Self::SET.private_key_bytes(), 0);
                // An import refuses a key that was not written.
                let _ = key.write_to(&mut private);
                Param::giving_octets(c"priv", &private)
            }
        };
        give(SELECT_KEYPAIR, params.as_ptr())
    }
}

impl<const SET: usize> Pure for MlDsaKey<SET> {
    const PRIMITIVE: Primitive = [Primitive::MlDsa44, Primitive::MlDsa65, Primitive::MlDsa87][SET];
    const SIGNATURE_BYTES: usize = Self::SET.signature_bytes();

    fn signatures(defaults: &Defaults) -> Option<&DefaultAlgorithm<SignatureFunctions>> {
        defaults.ml_dsa[SET].signatures.as_ref()
    }

    fn sign(&self, message: &[u8], signature: &mut [u8]) -> Option<()> {
        let Self::Private(key) = self else {
            return None;
        };
        let made = key.sign(message, &[]).ok()?;
        signature.copy_from_slice(&made);
        Some(())
    }

    fn verify(&self, message: &[u8], signature: &[u8]) -> Option<()> {
        let verified = match self {
            Self::Public(key) => key.verify(message, &[], signature),
            Self::Private(_) => MlDsaPublicKey::from_bytes(Self::SET, &self.public()?)
                .and_then(|key| key.verify(message, &[], signature)),
        };
        verified.ok()
    }
}
