//! HMAC and HKDF.

use serde::Deserialize;

use super::{Group, HASHES, Hex, Outcome, read, some};
use crate::{Error, HkdfVector, HmacVector};

/// Tags by HMAC with SHA-1 and SHA-2, whole and truncated.
///
/// # Errors
/// See [the module](super).
pub fn hmac() -> Result<Vec<HmacVector>, Error> {
    let mut vectors = Vec::new();
    for hash in HASHES {
        let file = format!("hmac_{}", in_file_names(hash));
        for Group { tests, .. } in read::<super::NothingShared, HmacTest>(&file)? {
            for (test, source) in tests {
                vectors.push(HmacVector {
                    hash,
                    key: test.key.0,
                    message: test.msg.0,
                    tag: test.tag.0,
                    is_valid: test.result.is_valid(&source)?,
                    source,
                });
            }
        }
    }
    some(vectors)
}

/// Outputs of HKDF with SHA-1, SHA-256, SHA-384 and SHA-512. Of those that are not valid too much is asked for.
///
/// # Errors
/// See [the module](super).
pub fn hkdf() -> Result<Vec<HkdfVector>, Error> {
    let mut vectors = Vec::new();
    for hash in ["SHA-1", "SHA-256", "SHA-384", "SHA-512"] {
        let file = format!("hkdf_{}", in_file_names(hash));
        for Group { tests, .. } in read::<super::NothingShared, HkdfTest>(&file)? {
            for (test, source) in tests {
                vectors.push(HkdfVector {
                    hash,
                    secret: test.ikm.0,
                    salt: test.salt.0,
                    info: test.info.0,
                    bytes: test.size,
                    output: test.okm.0,
                    is_valid: test.result.is_valid(&source)?,
                    source,
                });
            }
        }
    }
    some(vectors)
}

/// As in `hmac_sha512_224_test.json`.
fn in_file_names(hash: &str) -> String {
    hash.to_lowercase().replacen('-', "", 1).replace('/', "_")
}

#[derive(Deserialize)]
struct HmacTest {
    key: Hex,
    msg: Hex,
    tag: Hex,
    result: Outcome,
}

#[derive(Deserialize)]
struct HkdfTest {
    ikm: Hex,
    salt: Hex,
    info: Hex,
    size: usize,
    okm: Hex,
    result: Outcome,
}
