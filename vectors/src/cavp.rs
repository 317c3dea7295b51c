//! Vectors of NIST's CAVP, and others in the same form, out of the files that
//! `cargo xtask vectors` fetches.
//!
//! Every function fails with [`Error`] where a file is not there, holds no vectors, or says
//! something unexpected.

use std::collections::HashMap;

use crate::response::{Record, open, read};
use crate::{
    AeadVector, BlockVector, CbcVector, ChaCha20Vector, CtrVector, Error, Padding,
    RsaSignatureVector,
};

/// AES-CTR vectors of pyca/cryptography, after RFC 3686.
///
/// # Errors
/// See [the module](self).
pub fn aes_ctr() -> Result<Vec<CtrVector>, Error> {
    let mut vectors = Vec::new();
    for bits in [128, 192, 256] {
        read(&format!("AES/CTR/aes-{bits}-ctr.txt"), |source, record| {
            let vector = CtrVector {
                source,
                key: record.bytes("KEY")?,
                counter_block: record.block("IV")?,
                plaintext: record.bytes("PLAINTEXT")?,
                ciphertext: record.bytes("CIPHERTEXT")?,
            };
            let same = same_length(&vector.plaintext, &vector.ciphertext);
            vectors.push(vector);
            same
        })?;
    }
    Ok(vectors)
}

/// NIST's known answers of AES: GFSbox, KeySbox, VarKey, VarTxt, and the blocks of the multi-block
/// messages, for all three key sizes, from the encryption and the decryption halves.
///
/// # Errors
/// See [the module](self).
pub fn aes_blocks() -> Result<Vec<BlockVector>, Error> {
    let mut vectors = Vec::new();
    for set in SETS {
        for bits in [128, 192, 256] {
            read(&format!("AES/ECB/ECB{set}{bits}.rsp"), |source, record| {
                let key = record.bytes("KEY")?;
                let (plaintext, rest) = record.blocks("PLAINTEXT")?;
                let (ciphertext, more) = record.blocks("CIPHERTEXT")?;
                if plaintext.len() != ciphertext.len() || rest || more {
                    return Err("plaintext and ciphertext are not the same whole blocks".into());
                }
                vectors.extend(plaintext.into_iter().zip(ciphertext).enumerate().map(
                    |(i, (plaintext, ciphertext))| BlockVector {
                        source: format!("{source} block {i}"),
                        key: key.clone(),
                        plaintext,
                        ciphertext,
                    },
                ));
                Ok(())
            })?;
        }
    }
    Ok(vectors)
}

/// The same sets under AES-CBC: whole blocks, without padding.
///
/// # Errors
/// See [the module](self).
pub fn aes_cbc() -> Result<Vec<CbcVector>, Error> {
    let mut vectors = Vec::new();
    for set in SETS {
        for bits in [128, 192, 256] {
            read(&format!("AES/CBC/CBC{set}{bits}.rsp"), |source, record| {
                let vector = CbcVector {
                    source,
                    key: record.bytes("KEY")?,
                    iv: record.block("IV")?,
                    plaintext: record.bytes("PLAINTEXT")?,
                    ciphertext: record.bytes("CIPHERTEXT")?,
                    padding: Padding::None,
                    is_valid: true,
                };
                let same = same_length(&vector.plaintext, &vector.ciphertext);
                vectors.push(vector);
                same
            })?;
        }
    }
    Ok(vectors)
}

/// NIST's AES-GCM vectors, encryption and decryption, for nonces of 1, 12 and 128 bytes and tags
/// of 4 to 16; a quarter of the decryptions must fail.
///
/// # Errors
/// See [the module](self).
pub fn aes_gcm() -> Result<Vec<AeadVector>, Error> {
    let mut vectors = Vec::new();
    for half in ["EncryptExtIV", "Decrypt"] {
        for bits in [128, 192, 256] {
            read(&format!("AES/GCM/gcm{half}{bits}.rsp"), |source, record| {
                let is_valid = record.text("FAIL").is_none();
                let names = ["Key", "IV", "AAD", "PT", "CT", "Tag"];
                vectors.push(aead(source, record, names, is_valid)?);
                Ok(())
            })?;
        }
    }
    Ok(vectors)
}

/// ChaCha20-Poly1305 vectors of OpenSSL and BoringSSL.
///
/// # Errors
/// See [the module](self).
pub fn chacha20_poly1305() -> Result<Vec<AeadVector>, Error> {
    let mut vectors = Vec::new();
    for (file, names) in [
        (
            "openssl",
            ["Key", "IV", "AAD", "Plaintext", "Ciphertext", "Tag"],
        ),
        ("boringssl", ["KEY", "NONCE", "AD", "IN", "CT", "TAG"]),
    ] {
        read(&format!("ChaCha20Poly1305/{file}.txt"), |source, record| {
            let is_valid = record.text("Result").is_none();
            vectors.push(aead(source, record, names, is_valid)?);
            Ok(())
        })?;
    }
    Ok(vectors)
}

/// RFC 8439, appendix A.2, in the form of pyca/cryptography: ChaCha20 alone.
///
/// # Errors
/// See [the module](self).
pub fn chacha20() -> Result<Vec<ChaCha20Vector>, Error> {
    let mut vectors = Vec::new();
    read("ChaCha20/rfc7539.txt", |source, record| {
        let counter = record.text("INITIAL_BLOCK_COUNTER").unwrap_or_default();
        let nonce = record.bytes("NONCE")?;
        let vector = ChaCha20Vector {
            source,
            key: record.bytes("KEY")?,
            nonce: nonce.try_into().map_err(|_| "NONCE is not 12 bytes")?,
            counter: counter
                .parse()
                .map_err(|_| "INITIAL_BLOCK_COUNTER is not a number")?,
            plaintext: record.bytes("PLAINTEXT")?,
            ciphertext: record.bytes("CIPHERTEXT")?,
        };
        let same = same_length(&vector.plaintext, &vector.ciphertext);
        vectors.push(vector);
        same
    })?;
    Ok(vectors)
}

/// Signatures of RSASSA-PKCS1-v1_5 by SHA-1 and SHA-2, keys of 1024 to 4096 bits: those of NIST's
/// generator, which are right, and those for verifiers, which are right or not.
///
/// # Errors
/// See [the module](self).
pub fn rsa_pkcs1_signatures() -> Result<Vec<RsaSignatureVector>, Error> {
    Ok([
        rsa_signatures("SigGen15_186-3.rsp")?,
        rsa_signatures("SigVer15_186-3.rsp")?,
    ]
    .concat())
}

/// Signatures of RSASSA-PSS, MGF1 by the same hash, as
/// [those of PKCS#1 v1.5](rsa_pkcs1_signatures).
///
/// # Errors
/// See [the module](self).
pub fn rsa_pss_signatures() -> Result<Vec<RsaSignatureVector>, Error> {
    Ok([
        rsa_signatures("SigGenPSS_186-3.rsp")?,
        rsa_signatures("SigVerPSS_186-3.rsp")?,
    ]
    .concat())
}

/// A file of lines `NAME = value`, each of which holds until the next one of its name. What a line
/// `Result = P` or `Result = F (reason)` follows is a vector, or, where there are no results, what a
/// signature ends.
fn rsa_signatures(name: &str) -> Result<Vec<RsaSignatureVector>, Error> {
    let (path, text) = open(&format!("asymmetric/RSA/FIPS_186-2/{name}"))?;
    let has_results = text.contains("\nResult = ");
    // Which the files of generators say once, in a comment.
    let salt = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("# Salt len: "));
    let mut fields = HashMap::new();
    let mut vectors = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let Some((field, value)) = line.trim().split_once(" = ") else {
            continue;
        };
        fields.insert(field, value);
        if field != if has_results { "Result" } else { "S" } {
            continue;
        }
        let source = format!("{name}, line {number}");
        let fail = |reason: &str| Error(format!("{}: {source}: {reason}", path.display()));
        let bytes = |field: &str| {
            let value = fields
                .get(field)
                .ok_or_else(|| fail(&format!("no {field}")))?;
            hex::decode(value).map_err(|error| fail(&format!("{field}: {error}")))
        };
        let hash = match fields.get("SHAAlg") {
            Some(&"SHA1") => "SHA-1",
            Some(&"SHA224") => "SHA-224",
            Some(&"SHA256") => "SHA-256",
            Some(&"SHA384") => "SHA-384",
            Some(&"SHA512") => "SHA-512",
            other => return Err(fail(&format!("a hash {other:?}"))),
        };
        vectors.push(RsaSignatureVector {
            modulus: bytes("n")?,
            exponent: bytes("e")?,
            hash,
            mgf1: hash,
            salt_bytes: match salt {
                Some(salt) => salt.trim().parse().map_err(|_| fail("a salt length"))?,
                None => 0,
            },
            message: bytes("Msg")?,
            signature: bytes("S")?,
            is_valid: fields
                .get("Result")
                .is_none_or(|result| result.starts_with('P')),
            source: source.clone(),
        });
    }
    if vectors.is_empty() {
        return Err(Error(format!("{}: it holds no vectors", path.display())));
    }
    Ok(vectors)
}

fn aead(
    source: String,
    record: &Record<'_>,
    [key, nonce, aad, plaintext, ciphertext, tag]: [&str; 6],
    is_valid: bool,
) -> Result<AeadVector, String> {
    let vector = AeadVector {
        source,
        key: record.bytes(key)?,
        nonce: record.bytes(nonce)?,
        aad: record.bytes(aad)?,
        plaintext: match record.text(plaintext) {
            None if !is_valid => None,
            _ => Some(record.bytes(plaintext)?),
        },
        ciphertext: record.bytes(ciphertext)?,
        tag: record.bytes(tag)?,
        is_valid,
    };
    if let Some(plaintext) = &vector.plaintext {
        same_length(plaintext, &vector.ciphertext)?;
    }
    Ok(vector)
}

fn same_length(plaintext: &[u8], ciphertext: &[u8]) -> Result<(), String> {
    if plaintext.len() == ciphertext.len() {
        Ok(())
    } else {
        Err("plaintext and ciphertext differ in length".into())
    }
}

/// AESAVS, section 6: known answers and multi-block messages.
const SETS: [&str; 5] = ["GFSbox", "KeySbox", "VarKey", "VarTxt", "MMT"];
