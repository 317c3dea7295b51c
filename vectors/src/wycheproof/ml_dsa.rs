//! Keys and signatures of ML-DSA.

use serde::Deserialize;

use super::{Group, Hex, Outcome, read, some};
use crate::{Error, MlDsaVector, SignatureVector};

/// Signatures by ML-DSA to verify, of all three parameter sets.
///
/// # Errors
/// See [the module](super).
pub fn ml_dsa_signatures() -> Result<Vec<SignatureVector>, Error> {
    let vectors = read_ml_dsa("verify")?;
    Ok(vectors.into_iter().map(|vector| vector.signed).collect())
}

/// Keys of ML-DSA, as seeds or expanded, and signatures that they make without random bytes, of all three parameter sets.
/// Those whose message was hashed by the caller are left out.
///
/// # Errors
/// See [the module](super).
pub fn ml_dsa_keys() -> Result<Vec<MlDsaVector>, Error> {
    let mut vectors = read_ml_dsa("sign_seed")?;
    vectors.extend(read_ml_dsa("sign_noseed")?);
    Ok(vectors)
}

fn read_ml_dsa(what: &str) -> Result<Vec<MlDsaVector>, Error> {
    let mut vectors = Vec::new();
    for (set, algorithm) in [(44, "ML-DSA-44"), (65, "ML-DSA-65"), (87, "ML-DSA-87")] {
        let file = format!("mldsa_{set}_{what}");
        for Group { of, tests } in read::<MlDsaGroup, MlDsaTest>(&file)? {
            for (test, source) in tests {
                let Some(message) = test.msg else { continue };
                vectors.push(MlDsaVector {
                    seed: of.private_seed.0.clone(),
                    private_key: of.private_key.0.clone(),
                    pkcs8: of.private_key_pkcs8.0.clone(),
                    signed: SignatureVector {
                        algorithm,
                        public_key: of
                            .public_key
                            .as_ref()
                            .map_or(Vec::new(), |key| key.0.clone()),
                        context: test.ctx.0,
                        message: message.0,
                        signature: test.sig.0,
                        is_valid: test.result.is_valid(&source)?,
                        source,
                    },
                });
            }
        }
    }
    some(vectors)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MlDsaGroup {
    #[serde(default)]
    private_seed: Hex,
    #[serde(default)]
    private_key: Hex,
    #[serde(default)]
    private_key_pkcs8: Hex,
    /// Null where a private key is wrong.
    public_key: Option<Hex>,
}

#[derive(Deserialize)]
struct MlDsaTest {
    msg: Option<Hex>,
    #[serde(default)]
    ctx: Hex,
    #[serde(default)]
    sig: Hex,
    result: Outcome,
}
