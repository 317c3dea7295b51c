//! Vectors of Project Wycheproof: known attacks and corner cases.
//!
//! Every function fails with [`Error`] where a set cannot be read or holds no vectors.

use ::wycheproof::{TestResult, aead, cipher};

use crate::{AeadVector, CbcVector, Error, Padding};

/// AES-GCM with nonces of 0 to 257 bytes and whole tags. An empty nonce must be refused.
///
/// # Errors
/// See [the module](self).
pub fn aes_gcm() -> Result<Vec<AeadVector>, Error> {
    read_aead("aes_gcm", aead::TestName::AesGcm)
}

/// ChaCha20-Poly1305. A nonce of another length than 12 bytes must be refused.
///
/// # Errors
/// See [the module](self).
pub fn chacha20_poly1305() -> Result<Vec<AeadVector>, Error> {
    read_aead("chacha20_poly1305", aead::TestName::ChaCha20Poly1305)
}

/// AES-CBC with PKCS#7 padding, which Wycheproof calls PKCS #5; bad padding must be refused.
///
/// # Errors
/// See [the module](self).
pub fn aes_cbc_pkcs7() -> Result<Vec<CbcVector>, Error> {
    let set = cipher::TestSet::load(cipher::TestName::AesCbcPkcs5)
        .map_err(|error| Error(format!("wycheproof aes_cbc_pkcs5: {error}")))?;
    let tests = set.test_groups.into_iter().flat_map(|group| group.tests);
    let vectors = tests.map(|test| {
        let source = source("aes_cbc_pkcs5", test.tc_id, &test.comment, &test.flags);
        Ok(CbcVector {
            key: test.key.to_vec(),
            iv: test.nonce[..]
                .try_into()
                .map_err(|_| Error(format!("{source}: the IV is not 16 bytes")))?,
            plaintext: test.pt.to_vec(),
            ciphertext: test.ct.to_vec(),
            padding: Padding::Pkcs7,
            is_valid: is_valid(&source, test.result)?,
            source,
        })
    });
    some(vectors.collect())
}

fn read_aead(file: &str, name: aead::TestName) -> Result<Vec<AeadVector>, Error> {
    let set =
        aead::TestSet::load(name).map_err(|error| Error(format!("wycheproof {file}: {error}")))?;
    let tests = set.test_groups.into_iter().flat_map(|group| group.tests);
    let vectors = tests.map(|test| {
        let source = source(file, test.tc_id, &test.comment, &test.flags);
        Ok(AeadVector {
            key: test.key.to_vec(),
            nonce: test.nonce.to_vec(),
            aad: test.aad.to_vec(),
            plaintext: Some(test.pt.to_vec()),
            ciphertext: test.ct.to_vec(),
            tag: test.tag.to_vec(),
            is_valid: is_valid(&source, test.result)?,
            source,
        })
    });
    some(vectors.collect())
}

fn source(file: &str, number: usize, comment: &str, flags: &[impl std::fmt::Debug]) -> String {
    format!("wycheproof {file} #{number} {comment:?} {flags:?}")
}

fn is_valid(source: &str, result: TestResult) -> Result<bool, Error> {
    match result {
        TestResult::Valid => Ok(true),
        TestResult::Invalid => Ok(false),
        TestResult::Acceptable => Err(Error(format!("{source}: neither valid nor invalid"))),
    }
}

fn some<T>(vectors: Result<Vec<T>, Error>) -> Result<Vec<T>, Error> {
    match vectors {
        Ok(vectors) if vectors.is_empty() => {
            Err(Error("wycheproof: a set holds no vectors".to_owned()))
        }
        other => other,
    }
}
