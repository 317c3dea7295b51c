//! The function of TLS 1.2 (RFC 5246, 5). The function of TLS 1.0 and 1.1, with MD5 and SHA-1, is left to the default
//! provider.

use oarlock_engine::Primitive;
use oarlock_engine::kdf::tls12_prf;

use super::Kdf;
use super::settings::{Field, Given, Octets, Settings};

pub(super) struct Tls1Prf;

impl Kdf for Tls1Prf {
    const INDEX: usize = 2;
    const PRIMITIVE: Primitive = Primitive::Tls1Prf;

    fn field(name: &[u8]) -> Option<Field> {
        Some(match name {
            b"digest" => Field::Hash,
            b"secret" => Field::Octets(Octets::Key),
            b"seed" => Field::Joined(Octets::Data),
            _ => return None,
        })
    }

    /// Releases differ in whether a seed is appended to the previous one or replaces it.
    fn may_set(settings: &Settings, given: &Given<'_>) -> bool {
        settings.get(Octets::Data).is_none() || !given.has(Octets::Data)
    }

    fn derive(settings: &Settings, output: &mut [u8]) -> Option<()> {
        let secret = settings.get(Octets::Key)?;
        let seed = settings.get(Octets::Data)?;
        tls12_prf(settings.hash?, secret, &[seed], output);
        Some(())
    }
}
