//! The key schedule of TLS 1.3 (RFC 8446, 7.1), as libssl uses it: it extracts a secret with the previous one, or
//! expands a secret with a label.

use oarlock_engine::Primitive;
use oarlock_engine::hash::DIGEST_BYTES_MAX;
use oarlock_engine::kdf::{digest_of_nothing, expand_label, extract};
use zeroize::Zeroizing;

use super::Kdf;
use super::settings::{Field, Given, Mode, Octets, Settings};

pub(super) struct Tls13;

impl Kdf for Tls13 {
    const INDEX: usize = 0;
    const PRIMITIVE: Primitive = Primitive::Tls13Kdf;

    fn field(name: &[u8]) -> Option<Field> {
        Some(match name {
            b"mode" => Field::Mode,
            b"digest" => Field::Hash,
            b"key" => Field::Octets(Octets::Key),
            b"salt" => Field::Octets(Octets::Salt),
            b"prefix" => Field::Octets(Octets::Prefix),
            b"label" => Field::Octets(Octets::Label),
            b"data" => Field::Octets(Octets::Data),
            _ => return None,
        })
    }

    /// The default provider forgets the data whenever anything is set, and sets nothing without a mode.
    fn may_set(settings: &Settings, given: &Given<'_>) -> bool {
        let mode = given.mode.or(settings.mode);
        let has_mode = matches!(mode, Some(Mode::ExtractOnly | Mode::ExpandOnly));
        has_mode && (settings.get(Octets::Data).is_none() || given.has(Octets::Data))
    }

    fn derive(settings: &Settings, output: &mut [u8]) -> Option<()> {
        let hash = settings.hash?;
        let key = settings.get(Octets::Key);
        let prefix = settings.get(Octets::Prefix)?;
        let label = settings.get(Octets::Label)?;
        match settings.mode? {
            Mode::ExpandOnly => {
                let data = settings.get(Octets::Data).unwrap_or_default();
                expand_label(hash, key?, prefix, label, data, output).ok()
            }
            Mode::ExtractOnly if output.len() == hash.bytes() => {
                let bytes = hash.bytes();
                let mut nothing = [0; DIGEST_BYTES_MAX];
                let mut salt = Zeroizing::new([0; DIGEST_BYTES_MAX]);
                let mut salt_bytes = 0;
                if let Some(before) = settings.get(Octets::Salt) {
                    digest_of_nothing(hash, &mut nothing);
                    let salt = &mut salt[..bytes];
                    expand_label(hash, before, prefix, label, &nothing[..bytes], salt).ok()?;
                    salt_bytes = bytes;
                }
                let zeros = [0; DIGEST_BYTES_MAX];
                let key = key.unwrap_or(&zeros[..bytes]);
                let mut secret = Zeroizing::new([0; DIGEST_BYTES_MAX]);
                extract(hash, &salt[..salt_bytes], key, &mut secret);
                output.copy_from_slice(&secret[..bytes]);
                Some(())
            }
            _ => None,
        }
    }
}
