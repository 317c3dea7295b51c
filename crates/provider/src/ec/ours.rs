//! Elliptic-curve keys in the engine's form.

use std::ffi::{CStr, c_int};
use std::sync::Arc;

use oarlock_engine::ec::{Curve, EcPrivateKey, EcPublicKey, POINT_BYTES_MAX};
use zeroize::Zeroizing;

use super::remote::Remote;
use crate::abi::{
    Param, Params, SELECT_ALL, SELECT_DOMAIN_PARAMETERS, SELECT_PRIVATE_KEY, SELECT_PUBLIC_KEY,
    Value,
};
use crate::default_provider::functions::KeyFunctions;
use crate::default_provider::{DefaultAlgorithm, Defaults};
use crate::exported::Ours;

/// A key on one of the engine's curves.
pub(super) enum EcKey {
    /// A public key is kept as its point, a fifth of aws-lc's form, because a client has one for each connection.
    /// Reading it takes a hundredth of the time of a verification.
    Public(Curve, Box<[u8]>),
    Private(EcPrivateKey),
    /// A key whose private half is on another machine.
    Remote(Arc<Remote>),
}

impl EcKey {
    pub(super) fn curve(&self) -> Curve {
        match self {
            Self::Public(curve, _) => *curve,
            Self::Private(key) => key.public_key().curve(),
            Self::Remote(remote) => remote.key.curve(),
        }
    }

    /// Calls `call` with the public half.
    pub(super) fn with_public<T>(&self, call: impl FnOnce(&EcPublicKey) -> T) -> Option<T> {
        Some(match self {
            Self::Public(curve, point) => call(&EcPublicKey::new(*curve, point).ok()?),
            Self::Private(key) => call(key.public_key()),
            Self::Remote(remote) => call(&remote.key),
        })
    }

    /// Verifies a signature of a digest. Returns `None` if it is not valid for this key and digest.
    pub(super) fn verify(&self, digest: &[u8], signature: &[u8]) -> Option<()> {
        self.with_public(|key| key.verify(digest, signature))?.ok()
    }

    pub(super) fn private(&self) -> Option<&EcPrivateKey> {
        match self {
            Self::Private(key) => Some(key),
            Self::Public(..) | Self::Remote(_) => None,
        }
    }

    pub(super) fn remote(&self) -> Option<&Arc<Remote>> {
        match self {
            Self::Remote(remote) => Some(remote),
            Self::Public(..) | Self::Private(_) => None,
        }
    }

    /// Returns the point, uncompressed.
    fn point<'a>(&'a self, place: &'a mut [u8; POINT_BYTES_MAX]) -> &'a [u8] {
        match self {
            Self::Public(_, point) => point,
            Self::Private(key) => key.public_key().point(place),
            Self::Remote(remote) => remote.key.point(place),
        }
    }
}

impl Ours for EcKey {
    const LEAST: c_int = SELECT_DOMAIN_PARAMETERS | SELECT_PUBLIC_KEY;

    fn default(defaults: &Defaults) -> Option<&DefaultAlgorithm<KeyFunctions>> {
        defaults.ec.as_ref()
    }

    fn of(selection: c_int, params: Params<'_>, is_all: bool) -> Option<Self> {
        let (mut curve, mut point, mut scalar) = (None, None, None);
        let taken = params.each(|name, value| {
            match name {
                // Releases differ in what a second one of a name means.
                b"group" if curve.is_none() => {
                    curve = Some(curve_named(value.text().ok_or(())?).ok_or(())?)
                }
                b"pub" if point.is_none() => point = Some(value.given_octets().ok_or(())?),
                b"priv" if scalar.is_none() => scalar = Some(value.number_octets().ok_or(())?),
                _ if !is_all || is_usual(name, value) => {}
                _ => return Err(()),
            }
            Ok(())
        });
        taken.ok()?;
        let (curve, point) = (curve?, point?);
        let scalar = scalar.filter(|_| selection & SELECT_PRIVATE_KEY != 0);
        let Some(scalar) = scalar else {
            let key = EcPublicKey::new(curve, point).ok()?;
            let mut place = [0; POINT_BYTES_MAX];
            return Some(Self::Public(curve, key.point(&mut place).into()));
        };
        // The parameter is little-endian.
        let mut reversed = Zeroizing::new([0; SCALAR_BYTES_MAX]);
        let reversed = reversed.get_mut(..scalar.len())?;
        reversed.copy_from_slice(scalar);
        reversed.reverse();
        let key = EcPrivateKey::with_point(curve, reversed, point);
        key.ok().map(Self::Private)
    }

    fn has_private(&self) -> bool {
        !matches!(self, Self::Public(..))
    }

    fn elsewhere(&self) -> Option<Self> {
        self.remote().map(|remote| Self::Remote(Arc::clone(remote)))
    }

    fn give<T>(&self, give: impl FnOnce(c_int, *const Param) -> T) -> T {
        let mut place = [0; POINT_BYTES_MAX];
        let point = self.point(&mut place);
        let mut scalar = self.private().map(EcPrivateKey::scalar);
        let mut params = [Param::END; 4];
        let name = group_name(self.curve());
        params[0] = Param::giving_text(c"group", name.to_bytes());
        params[1] = Param::giving_octets(c"pub", point);
        let mut selection = SELECT_ALL & !SELECT_PRIVATE_KEY;
        if let Some(scalar) = &mut scalar {
            scalar.reverse();
            params[2] = Param::giving_number(c"priv", scalar);
            selection = SELECT_ALL;
        }
        give(selection, params.as_ptr())
    }
}

/// Returns the curve with this name, in any spelling that OpenSSL accepts.
fn curve_named(name: &[u8]) -> Option<Curve> {
    let mut names = GROUPS.iter();
    let found = names.find(|(one, _)| name.eq_ignore_ascii_case(one.to_bytes()));
    found.map(|(_, curve)| *curve)
}

/// Returns the name that the default provider uses.
fn group_name(curve: Curve) -> &'static CStr {
    match curve {
        Curve::P256 => c"prime256v1",
        Curve::P384 => c"secp384r1",
        Curve::P521 => c"secp521r1",
    }
}

/// Returns whether a parameter has its default value, or one that affects neither signatures nor shared secrets.
fn is_usual(name: &[u8], value: Value<'_>) -> bool {
    let text = |usual: &[u8]| {
        value
            .text()
            .is_some_and(|it| it.eq_ignore_ascii_case(usual))
    };
    match name {
        b"point-format" => text(b"uncompressed"),
        b"encoding" => text(b"named_curve"),
        b"group-check" => text(b"default"),
        b"decoded-from-explicit" => value.number() == Some(0_u32),
        // These curves have a cofactor of 1.
        b"use-cofactor-flag" => matches!(value.number(), Some(0 | 1_u32)),
        _ => false,
    }
}

const GROUPS: [(&CStr, Curve); 6] = [
    (c"prime256v1", Curve::P256),
    (c"P-256", Curve::P256),
    (c"secp384r1", Curve::P384),
    (c"P-384", Curve::P384),
    (c"secp521r1", Curve::P521),
    (c"P-521", Curve::P521),
];
const SCALAR_BYTES_MAX: usize = 66;
