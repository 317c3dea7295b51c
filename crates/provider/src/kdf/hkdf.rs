//! HKDF (RFC 5869).

use oarlock_engine::Primitive;
use oarlock_engine::hash::DIGEST_BYTES_MAX;
use oarlock_engine::kdf::{expand, extract};
use zeroize::Zeroizing;

use super::Kdf;
use super::settings::{Field, Given, Mode, Octets, Settings};

pub(super) struct Hkdf;

impl Kdf for Hkdf {
    const INDEX: usize = 1;
    const PRIMITIVE: Primitive = Primitive::Hkdf;

    fn field(name: &[u8]) -> Option<Field> {
        Some(match name {
            b"mode" => Field::Mode,
            b"digest" => Field::Hash,
            b"key" => Field::Octets(Octets::Key),
            b"salt" => Field::Octets(Octets::Salt),
            b"info" => Field::Joined(Octets::Data),
            _ => return None,
        })
    }

    fn may_set(_: &Settings, _: &Given<'_>) -> bool {
        true
    }

    fn derive(settings: &Settings, output: &mut [u8]) -> Option<()> {
        let hash = settings.hash?;
        let key = settings.get(Octets::Key)?;
        let salt = settings.get(Octets::Salt).unwrap_or_default();
        let info = settings.get(Octets::Data).unwrap_or_default();
        let mut secret = Zeroizing::new([0; DIGEST_BYTES_MAX]);
        match settings.mode.unwrap_or(Mode::ExtractAndExpand) {
            Mode::ExtractAndExpand => {
                let bytes = extract(hash, salt, key, &mut secret);
                expand(hash, &secret[..bytes], &[info], output).ok()
            }
            Mode::ExtractOnly if output.len() == hash.bytes() => {
                let bytes = extract(hash, salt, key, &mut secret);
                output.copy_from_slice(&secret[..bytes]);
                Some(())
            }
            Mode::ExtractOnly => None,
            Mode::ExpandOnly => expand(hash, key, &[info], output).ok(),
        }
    }
}
