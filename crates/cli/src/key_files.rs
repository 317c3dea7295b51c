//! Files of public and private keys in PEM.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use oarlock::keys::{PrivateKey, PublicKey};
use zeroize::Zeroizing;

use crate::failure::{Failure, reason, without_keys};

/// Reads a private key of any type.
pub(crate) fn private(path: &Path) -> Result<PrivateKey, Failure> {
    let text = read(path)?;
    is_text_of_key(&text)
        .then(|| PrivateKey::from_bytes(&text))
        .ok_or_else(|| {
            of(
                path,
                "not a private key in PEM, as oarlock keygen --type and openssl genpkey write it",
            )
        })?
        .map_err(|error| of(path, &error.to_string()))
}

/// Reads a public key of any type.
pub(crate) fn public(path: &Path) -> Result<PublicKey, Failure> {
    let text = read(path)?;
    is_text_of_key(&text)
        .then(|| PublicKey::from_bytes(&text))
        .ok_or_else(|| {
            of(
                path,
                "not a public key in PEM, as oarlock pubkey and openssl pkey -pubout write it",
            )
        })?
        .map_err(|error| of(path, &error.to_string()))
}

/// Reads a public key, or the public half of a private key. Returns also whether it is a private key.
pub(crate) fn public_half(path: &Path) -> Result<(PublicKey, bool), Failure> {
    let text = read(path)?;
    let is_private = text.windows(PRIVATE.len()).any(|part| part == PRIVATE);
    let key = match is_private {
        true => private(path)?.public_key().clone(),
        false => public(path)?,
    };
    Ok((key, is_private))
}

/// Reads the first [`BYTES_MAX`] bytes of a file, which is all of a key.
pub(crate) fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let failed = |error: std::io::Error| of(path, &reason(&error));
    // Reserve all of it at once: a buffer that grows would leave copies behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(BYTES_MAX as usize));
    let file = File::open(path).map_err(failed)?;
    file.take(BYTES_MAX)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    Ok(bytes)
}

fn is_text_of_key(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let beginnings = [&b"-----BEGIN "[..], b"ssh-", b"ecdsa-sha2-"];
    beginnings.iter().any(|first| text.starts_with(first))
}

fn of(path: &Path, what: &str) -> Failure {
    Failure::new(format!(
        "{}: {what}",
        without_keys(&path.display().to_string())
    ))
}

const PRIVATE: &[u8] = b"PRIVATE KEY-----";
/// The most bytes to read of a key or a signature, more than either has.
const BYTES_MAX: u64 = 64 << 10;
