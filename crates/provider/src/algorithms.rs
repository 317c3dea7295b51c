//! Which algorithms are offered in addition to ciphers, once the default provider is loaded.

use oarlock_engine::Primitive;

use crate::abi::{Algorithm, OPERATION_DECODER};
use crate::default_provider::{DefaultProvider, Defaults};
use crate::offered::Offered;
use crate::provider::Provider;
use crate::{decoder, ec, hybrid, kdf, mac, ml_kem, pure, rsa, x25519};

/// Returns the lists; `None` while the default provider is not loaded.
///
/// # Safety
/// The core is calling, so it has not shut down.
#[allow(unsafe_code)]
pub(crate) unsafe fn offered(provider: &Provider) -> Option<&Offered> {
    if provider.offered.get().is_none() {
        let search = provider.search()?;
        // SAFETY: the core's table and handle, kept since `OSSL_provider_init`; the lock is held while the default
        // provider is looked up.
        let default = unsafe { DefaultProvider::find(search.handle, search.core) }?;
        // This is stored for good, so only after the default provider was found. Another thread may have stored it
        // first.
        let find = || Defaults::of(default, provider.offers_rsa);
        let _ = provider.defaults.set(provider.signer.on_deep_stack(find)??);
        let defaults = provider.defaults.get()?;
        let list = || lists(provider, defaults);
        let _ = provider.offered.set(provider.signer.on_deep_stack(list)?);
    }
    provider.offered.get()
}

fn lists(provider: &Provider, defaults: &Defaults) -> Offered {
    // A file that stands for a remote key is read into a key of this provider, by a key management that must not be
    // hidden. The same holds for a key that a program's own configuration wants here.
    let hides_keys = provider.host.reads_keys_by_names()
        && defaults.leaves_keys()
        && !provider.signer.has_relay();
    let mut offered = Offered::new(hides_keys);
    for primitive in provider.primitives.iter().copied() {
        match primitive {
            Primitive::Tls13Kdf | Primitive::Hkdf | Primitive::Tls1Prf => {
                kdf::offer(primitive, defaults, &mut offered);
            }
            Primitive::Hmac => mac::offer(defaults, &mut offered),
            // The three curves are offered together, under one name.
            Primitive::EcP256 => ec::offer(provider, defaults, &mut offered),
            Primitive::EcP384 | Primitive::EcP521 => {}
            Primitive::Ed25519 | Primitive::MlDsa44 | Primitive::MlDsa65 | Primitive::MlDsa87 => {
                pure::offer(primitive, defaults, &mut offered)
            }
            Primitive::MlKem512 | Primitive::MlKem768 | Primitive::MlKem1024 => {
                ml_kem::offer(primitive, defaults, &mut offered)
            }
            Primitive::X25519 => x25519::offer(defaults, &mut offered),
            Primitive::X25519MlKem768
            | Primitive::SecP256r1MlKem768
            | Primitive::SecP384r1MlKem1024 => hybrid::offer(primitive, &mut offered),
        }
    }
    if let Some(default) = &defaults.rsa {
        rsa::offer(provider, default, &mut offered);
    }
    if provider.signer.has_relay() {
        offered.add(OPERATION_DECODER, decoder::pem_table(), |table| {
            Algorithm::of(c"DER".as_ptr(), decoder::PEM_PROPERTIES, table)
        });
    }
    offered.end();
    offered
}
