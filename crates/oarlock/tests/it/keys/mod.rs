//! Keys of every type from outside: other programs' files, jobs, and RustCrypto's traits.

mod jobs;
#[cfg(feature = "ssh")]
mod openssh;
mod programs;
mod traits;

use oarlock::keys::{KeyType, PrivateKey};

/// Returns every key type that can be generated.
fn types() -> impl Iterator<Item = KeyType> {
    let types = KeyType::ALL.into_iter();
    types.filter(|one| *one != KeyType::Rsa)
}

/// Generates a key of every type that signs.
fn signing() -> Vec<PrivateKey> {
    let signing = types().filter(|one| one.signs());
    let mut keys: Vec<_> = signing
        .map(|one| PrivateKey::generate(one).unwrap())
        .collect();
    keys.push(PrivateKey::from_bytes(crate::common::keys::RSA1024.as_bytes()).unwrap());
    keys
}
