//! Signing keys, and keys built from parts.

use std::ffi::CStr;
use std::ops::Deref;
use std::process::Command;
use std::sync::OnceLock;

use super::calls::{Call, Contexts, SIDES, Signatures};
use crate::driver::rsa::{KEYPAIR, PUBLIC_KEY, RsaKey};
use crate::driver::{Param, libcrypto};
use crate::host::{succeeds, with_conf};

/// Returns keys of the curves that are ours and of others, with explicit parameters and with compressed points.
pub fn keys() -> &'static [(&'static str, String)] {
    static KEYS: OnceLock<Vec<(&str, String)>> = OnceLock::new();
    KEYS.get_or_init(|| {
        let made = |name, arguments: &str| {
            let mut command = Command::new("openssl");
            command.args(["genpkey", "-algorithm", "EC"]);
            for option in arguments.split(' ') {
                command.args(["-pkeyopt", option]);
            }
            let output = succeeds(with_conf(&mut command, None));
            (name, String::from_utf8(output).unwrap())
        };
        vec![
            made("P-256", "ec_paramgen_curve:P-256"),
            made("P-384", "ec_paramgen_curve:P-384"),
            made("P-521", "ec_paramgen_curve:P-521"),
            made("secp256k1", "ec_paramgen_curve:secp256k1"),
            made("P-224", "ec_paramgen_curve:P-224"),
            made(
                "P-256, explicit",
                "ec_paramgen_curve:P-256 ec_param_enc:explicit",
            ),
            made(
                "P-384, compressed",
                "ec_paramgen_curve:P-384 point-format:compressed",
            ),
        ]
    })
}

/// A key of one side, whose signatures all sides verify.
pub struct Key(pub RsaKey, usize);

impl Deref for Key {
    type Target = RsaKey;

    fn deref(&self) -> &RsaKey {
        &self.0
    }
}

impl Key {
    /// Returns signatures by this key, valid or damaged in one of three ways. A public key makes none.
    pub fn signatures(&self, damage: usize) -> Signatures {
        let side = &SIDES[self.1];
        let mut contexts = Contexts::new(side, self);
        for call in [
            Call::SignInit,
            Call::Sign(32, 0),
            Call::DigestSignInit(Some("SHA256")),
            Call::Update(100),
            Call::Final(0),
        ] {
            contexts.call(&call, side, self);
        }
        let mut made = std::mem::take(&mut contexts.signatures);
        for signature in [&mut made.of_digest, &mut made.of_message] {
            let last = signature.len().saturating_sub(1);
            match (signature.get_mut(last), damage) {
                (Some(byte), 1) => *byte ^= 1,
                (Some(_), 2) => signature.truncate(last),
                (Some(_), 3) => signature.push(0),
                _ => {}
            }
        }
        libcrypto().errors();
        made
    }
}

/// Returns the same keys in each side's provider, with and without the private half.
pub fn on_every_side() -> Vec<(&'static str, [Key; SIDES.len()])> {
    let context = libcrypto().library_context();
    let mut made = Vec::new();
    for (name, pem) in keys() {
        let read = |side: usize| {
            let query = SIDES[side].key;
            Key(RsaKey::read(context, pem, query), side)
        };
        let sides = [read(0), read(1), read(2)];
        if *name == "P-256" || *name == "P-521" {
            let public = [0, 1, 2].map(|side| {
                let key = sides[0].copied(SIDES[side].key, PUBLIC_KEY);
                Key(key, side)
            });
            made.push(match *name {
                "P-256" => ("P-256, public", public),
                _ => ("P-521, public", public),
            });
        }
        made.push((*name, sides));
    }
    made
}

/// Builds a key from parts, in the provider that `query` requires; `None` if they are invalid.
pub fn made_of(query: &CStr, group: &CStr, point: &[u8], scalar: Option<&[u8]>) -> Option<RsaKey> {
    let mut params = vec![Param::text(c"group", group), Param::octets(c"pub", point)];
    params.extend(scalar.map(|scalar| {
        let place = scalar.as_ptr().cast_mut();
        Param::new(c"priv", Param::UNSIGNED_INTEGER, place, scalar.len())
    }));
    params.push(Param::END);
    let selection = match scalar {
        Some(_) => KEYPAIR,
        None => PUBLIC_KEY,
    };
    RsaKey::made(c"EC", query, selection, &mut params)
}

/// Whether a public half is accepted where a pair is requested, as when a key moves between providers.
pub fn is_taken_as_pair(query: &CStr) -> bool {
    let mut params = [
        Param::text(c"group", c"P-256"),
        Param::octets(c"pub", POINT),
        Param::END,
    ];
    RsaKey::made(c"EC", query, KEYPAIR, &mut params).is_some()
}

/// The base point of P-256, uncompressed.
pub const POINT: &[u8] = &[
    0x04, 0x6b, 0x17, 0xd1, 0xf2, 0xe1, 0x2c, 0x42, 0x47, 0xf8, 0xbc, 0xe6, 0xe5, 0x63, 0xa4, 0x40,
    0xf2, 0x77, 0x03, 0x7d, 0x81, 0x2d, 0xeb, 0x33, 0xa0, 0xf4, 0xa1, 0x39, 0x45, 0xd8, 0x98, 0xc2,
    0x96, 0x4f, 0xe3, 0x42, 0xe2, 0xfe, 0x1a, 0x7f, 0x9b, 0x8e, 0xe7, 0xeb, 0x4a, 0x7c, 0x0f, 0x9e,
    0x16, 0x2b, 0xce, 0x33, 0x57, 0x6b, 0x31, 0x5e, 0xce, 0xcb, 0xb6, 0x40, 0x68, 0x37, 0xbf, 0x51,
    0xf5,
];
/// The order of the base point, big-endian.
pub const ORDER: &[u8] = &[
    0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xbc, 0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51,
];
