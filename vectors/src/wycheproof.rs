//! Vectors of Project Wycheproof: known attacks and corner cases.
//!
//! Every function fails with [`Error`] where a set cannot be read or holds no vectors.

use ::wycheproof::{
    HashFunction, TestResult, aead, cipher, rsa_oaep, rsa_pkcs1_decrypt, rsa_pkcs1_verify,
    rsa_pss_verify,
};

use crate::{AeadVector, CbcVector, Error, Padding, RsaEncryptionVector, RsaSignatureVector};

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

/// Signatures of RSASSA-PKCS1-v1_5 by SHA-1 and SHA-2, keys of 2048 to 4096 bits.
///
/// # Errors
/// See [the module](self).
pub fn rsa_pkcs1_signatures() -> Result<Vec<RsaSignatureVector>, Error> {
    let mut vectors = Vec::new();
    for name in rsa_pkcs1_verify::TestName::all() {
        let set = rsa_pkcs1_verify::TestSet::load(name)
            .map_err(|error| Error(format!("wycheproof {name:?}: {error}")))?;
        for group in set.test_groups {
            let Some(hash) = hash_name(group.hash).filter(|_| group.key_size <= 4096) else {
                continue;
            };
            for test in group.tests {
                let source = source(&format!("{name:?}"), test.tc_id, &test.comment, &test.flags);
                vectors.push(Ok(RsaSignatureVector {
                    modulus: group.key.n.to_vec(),
                    exponent: group.key.e.to_vec(),
                    hash,
                    mgf1: "",
                    salt_bytes: 0,
                    message: test.msg.to_vec(),
                    signature: test.sig.to_vec(),
                    // What is acceptable lacks a NULL that RFC 8017, 9.2 demands.
                    is_valid: test.result == TestResult::Valid,
                    source,
                }));
            }
        }
    }
    some(vectors.into_iter().collect())
}

/// Signatures of RSASSA-PSS by SHA-1 and SHA-2, MGF1 by the same or another, and salts of 0 to 64
/// bytes, keys of 2048 to 4096 bits.
///
/// # Errors
/// See [the module](self).
pub fn rsa_pss_signatures() -> Result<Vec<RsaSignatureVector>, Error> {
    let mut vectors = Vec::new();
    for name in rsa_pss_verify::TestName::all() {
        let set = rsa_pss_verify::TestSet::load(name)
            .map_err(|error| Error(format!("wycheproof {name:?}: {error}")))?;
        for group in set.test_groups {
            // A mask by SHAKE has no hash.
            let mgf1 = group.mgf_hash.and_then(hash_name);
            let (Some(hash), Some(mgf1)) = (hash_name(group.hash), mgf1) else {
                continue;
            };
            for test in group.tests {
                let source = source(&format!("{name:?}"), test.tc_id, &test.comment, &test.flags);
                vectors.push(Ok(RsaSignatureVector {
                    modulus: group.key.n.to_vec(),
                    exponent: group.key.e.to_vec(),
                    hash,
                    mgf1,
                    salt_bytes: group.salt_size,
                    message: test.msg.to_vec(),
                    signature: test.sig.to_vec(),
                    // What is acceptable has a weak hash.
                    is_valid: test.result != TestResult::Invalid,
                    source,
                }));
            }
        }
    }
    some(vectors.into_iter().collect())
}

/// Messages under RSAES-OAEP with SHA-1 and SHA-2, MGF1 by the same or by SHA-1, keys of up to 4096
/// bits.
///
/// # Errors
/// See [the module](self).
pub fn rsa_oaep() -> Result<Vec<RsaEncryptionVector>, Error> {
    let mut vectors = Vec::new();
    for name in rsa_oaep::TestName::all() {
        let set = rsa_oaep::TestSet::load(name)
            .map_err(|error| Error(format!("wycheproof {name:?}: {error}")))?;
        for group in set.test_groups {
            let (Some(hash), Some(mgf1)) = (hash_name(group.hash), hash_name(group.mgf_hash))
            else {
                continue;
            };
            if group.key_size > 4096 {
                continue;
            }
            for test in group.tests {
                // Where the padding makes a tiny number, one may refuse or not.
                if test.result == TestResult::Acceptable {
                    continue;
                }
                let source = source(&format!("{name:?}"), test.tc_id, &test.comment, &test.flags);
                vectors.push(Ok(RsaEncryptionVector {
                    private_key: group.pkcs8.to_vec(),
                    hash,
                    mgf1,
                    label: test.label.to_vec(),
                    message: test.pt.to_vec(),
                    ciphertext: test.ct.to_vec(),
                    is_valid: is_valid(&source, test.result)?,
                    source,
                }));
            }
        }
    }
    some(vectors.into_iter().collect())
}

/// Messages under RSAES-PKCS1-v1_5, keys of 2048 to 4096 bits.
///
/// # Errors
/// See [the module](self).
pub fn rsa_pkcs1_messages() -> Result<Vec<RsaEncryptionVector>, Error> {
    use rsa_pkcs1_decrypt::TestName::*;
    let mut vectors = Vec::new();
    for (name, file) in [
        (Rsa2048, "rsa_pkcs1_2048"),
        (Rsa3072, "rsa_pkcs1_3072"),
        (Rsa4096, "rsa_pkcs1_4096"),
    ] {
        let set = rsa_pkcs1_decrypt::TestSet::load(name)
            .map_err(|error| Error(format!("wycheproof {file}: {error}")))?;
        for group in set.test_groups {
            for test in group.tests {
                let source = source(file, test.tc_id, &test.comment, &test.flags);
                vectors.push(Ok(RsaEncryptionVector {
                    private_key: group.pkcs8.to_vec(),
                    hash: "",
                    mgf1: "",
                    label: Vec::new(),
                    message: test.pt.to_vec(),
                    ciphertext: test.ct.to_vec(),
                    is_valid: is_valid(&source, test.result)?,
                    source,
                }));
            }
        }
    }
    some(vectors.into_iter().collect())
}

/// Of SHA-1 and SHA-2; of others none.
fn hash_name(hash: HashFunction) -> Option<&'static str> {
    match hash {
        HashFunction::Sha1 => Some("SHA-1"),
        HashFunction::Sha2_224 => Some("SHA-224"),
        HashFunction::Sha2_256 => Some("SHA-256"),
        HashFunction::Sha2_384 => Some("SHA-384"),
        HashFunction::Sha2_512 => Some("SHA-512"),
        HashFunction::Sha2_512_224 => Some("SHA-512/224"),
        HashFunction::Sha2_512_256 => Some("SHA-512/256"),
        _ => None,
    }
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
