//! RSA: keys, signatures, encryption, the bare operation.

mod fork;
mod keys;
mod openssl;
mod operations;
mod traits;

use oarlock::Error;
use oarlock::rsa::{Hash, RsaPrivateKey};

use crate::common::keys::{RSA1024, RSA2048, RSA3072, RSA4096};

const HASHES: [Hash; 6] = [
    Hash::Sha224,
    Hash::Sha256,
    Hash::Sha384,
    Hash::Sha512,
    Hash::Sha512_224,
    Hash::Sha512_256,
];
const KEYS: [&str; 4] = [RSA1024, RSA2048, RSA3072, RSA4096];

fn key(pem: &str) -> RsaPrivateKey {
    RsaPrivateKey::from_pem(pem).unwrap()
}

fn said<T>(result: Result<T, Error>) -> String {
    match result.map(|_| ()) {
        Err(Error::InvalidKey(said) | Error::InvalidInput(said)) => said,
        other => panic!("{other:?} says nothing"),
    }
}
