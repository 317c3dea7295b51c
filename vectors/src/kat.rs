//! Known answers of FIPS 203 and FIPS 204: keys, secrets and signatures made of a DRBG's bytes, in the files of
//! pyca/cryptography that `cargo xtask vectors` fetches.
//!
//! Every function fails with [`Error`] where a file is not there, holds no vectors, or says
//! something unexpected.

use crate::response::read_in;
use crate::{Error, MlDsaVector, MlKemVector, SignatureVector};

/// Keys of ML-KEM, of all three parameter sets, each with three vectors: the key and the secret in a
/// ciphertext, how that ciphertext is made, and the secret of another ciphertext, which is rejected
/// implicitly.
///
/// # Errors
/// See [the module](self).
pub fn ml_kem() -> Result<Vec<MlKemVector>, Error> {
    let mut vectors = Vec::new();
    for set in ["512", "768", "1024"] {
        let file = format!("kat_MLKEM_{set}.rsp");
        read_in("asymmetric/MLKEM", &file, |source, record| {
            let none = MlKemVector {
                source,
                set: format!("ML-KEM-{set}"),
                seed: Vec::new(),
                public_key: record.bytes("pk")?,
                private_key: Vec::new(),
                random: Vec::new(),
                ciphertext: record.bytes("ct")?,
                secret: record.bytes("ss")?,
                is_valid: true,
            };
            let key = MlKemVector {
                seed: [record.bytes("d")?, record.bytes("z")?].concat(),
                private_key: record.bytes("sk")?,
                ..none.clone()
            };
            let rejected = MlKemVector {
                source: format!("{} ct_n", none.source),
                seed: Vec::new(),
                public_key: Vec::new(),
                ciphertext: record.bytes("ct_n")?,
                secret: record.bytes("ss_n")?,
                ..key.clone()
            };
            let made = MlKemVector {
                random: record.bytes("msg")?,
                ..none
            };
            vectors.extend([key, made, rejected]);
            Ok(())
        })?;
    }
    Ok(vectors)
}

/// Keys of ML-DSA, as a seed and expanded, of all three parameter sets, with a context and the signature that each
/// makes without random bytes.
///
/// # Errors
/// See [the module](self).
pub fn ml_dsa() -> Result<Vec<MlDsaVector>, Error> {
    let mut vectors = Vec::new();
    for (set, algorithm) in [(44, "ML-DSA-44"), (65, "ML-DSA-65"), (87, "ML-DSA-87")] {
        let file = format!("kat_MLDSA_{set}_det_pure.rsp");
        read_in("asymmetric/MLDSA", &file, |source, record| {
            let message = record.bytes("msg")?;
            let mut signature = record.bytes("sm")?;
            if !signature.ends_with(&message) {
                return Err("sm does not end with the message".into());
            }
            signature.truncate(signature.len() - message.len());
            vectors.push(MlDsaVector {
                signed: SignatureVector {
                    source,
                    algorithm,
                    public_key: record.bytes("pk")?,
                    context: record.bytes("ctx")?,
                    message,
                    signature,
                    is_valid: true,
                },
                seed: record.bytes("xi")?,
                private_key: record.bytes("sk")?,
                pkcs8: Vec::new(),
            });
            Ok(())
        })?;
    }
    Ok(vectors)
}
