//! ML-KEM keys in the engine's form.

use std::ffi::c_int;

use oarlock_engine::Primitive;
use oarlock_engine::agreement::{
    ML_KEM_SECRET_BYTES, ML_KEM_SEED_BYTES, MlKem, MlKemPrivateKey, MlKemPublicKey,
};
use zeroize::Zeroizing;

use crate::abi::{Param, Params, SELECT_KEYPAIR, SELECT_PRIVATE_KEY, SELECT_PUBLIC_KEY};
use crate::default_provider::functions::KeyFunctions;
use crate::default_provider::{DefaultAlgorithm, Defaults};
use crate::exported::Ours;

/// A key of the parameter set at index `SET` of [`MlKem::ALL`].
pub(super) enum MlKemKey<const SET: usize> {
    Public(MlKemPublicKey),
    /// Includes the public key.
    Private(MlKemPrivateKey),
}

impl<const SET: usize> MlKemKey<SET> {
    pub(super) const SET: MlKem = MlKem::ALL[SET];
    pub(super) const PRIMITIVE: Primitive = [
        Primitive::MlKem512,
        Primitive::MlKem768,
        Primitive::MlKem1024,
    ][SET];

    pub(super) fn public(&self) -> Option<Vec<u8>> {
        let mut public = vec![0; Self::SET.public_key_bytes()];
        let written = match self {
            Self::Public(key) => key.write_to(&mut public),
            Self::Private(key) => key.write_public_to(&mut public),
        };
        written.ok().map(|()| public)
    }

    /// Encapsulates a secret for the public key.
    pub(super) fn encapsulate(
        &self,
        ciphertext: &mut [u8],
        secret: &mut [u8; ML_KEM_SECRET_BYTES],
    ) -> Option<()> {
        let done = match self {
            Self::Public(key) => key.encapsulate(ciphertext, secret),
            Self::Private(_) => MlKemPublicKey::from_bytes(Self::SET, &self.public()?)
                .and_then(|key| key.encapsulate(ciphertext, secret)),
        };
        done.ok()
    }

    /// Returns the private key in its expanded form.
    fn expanded(key: &MlKemPrivateKey) -> Option<Zeroizing<Vec<u8>>> {
        let mut private = Zeroizing::new(vec![0; Self::SET.private_key_bytes()]);
        key.write_to(&mut private).ok().map(|()| private)
    }
}

impl<const SET: usize> Ours for MlKemKey<SET> {
    const LEAST: c_int = SELECT_PUBLIC_KEY;
    const FITS_A_JOB: bool = false;

    fn default(defaults: &Defaults) -> Option<&DefaultAlgorithm<KeyFunctions>> {
        defaults.ml_kem[SET].keys.as_ref()
    }

    /// Leaves parts that do not match to the default provider, which refuses them.
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
            if place.is_some() {
                return Err(());
            }
            *place = Some(value.given_octets().ok_or(())?);
            Ok(())
        });
        taken.ok()?;
        if selection & SELECT_PRIVATE_KEY == 0 || (seed, private) == (None, None) {
            let key = MlKemPublicKey::from_bytes(Self::SET, public?).ok()?;
            return Some(Self::Public(key));
        }
        let key = match seed {
            Some(seed) => {
                let seed = <&[u8; ML_KEM_SEED_BYTES]>::try_from(seed).ok()?;
                let key = MlKemPrivateKey::from_seed(Self::SET, seed).ok()?;
                // Parts that the default provider exports match.
                let fits = !is_all || private.is_none_or(|private| key.is_expanded(private));
                fits.then_some(())?;
                key
            }
            None => MlKemPrivateKey::from_bytes(Self::SET, private?).ok()?,
        };
        let key = Self::Private(key);
        if let Some(public) = public {
            (key.public()? == public).then_some(())?;
        }
        Some(key)
    }

    fn has_private(&self) -> bool {
        matches!(self, Self::Private(_))
    }

    fn give<T>(&self, give: impl FnOnce(c_int, *const Param) -> T) -> T {
        let mut params = [Param::END; 2];
        let Self::Private(key) = self else {
            let public = self.public().unwrap_or_default();
            params[0] = Param::giving_octets(c"pub", &public);
            return give(SELECT_PUBLIC_KEY, params.as_ptr());
        };
        let seed = key.seed();
        let expanded;
        params[0] = match &seed {
            Some(seed) => Param::giving_octets(c"seed", &**seed),
            None => {
                // If it cannot be written, it is empty, which the import refuses.
                expanded = Self::expanded(key).unwrap_or_default();
                Param::giving_octets(c"priv", &expanded)
            }
        };
        give(SELECT_KEYPAIR, params.as_ptr())
    }
}
