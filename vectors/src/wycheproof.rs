//! Vectors of Project Wycheproof (C2SP): known attacks and corner cases.
//!
//! A set is a JSON file that `cargo xtask vectors` fetches with the Go module
//! `github.com/c2sp/wycheproof`; its `schemas` folder describes the format. Every function fails
//! with [`Error`] where a set cannot be read or holds no vectors.

mod macs;
mod ml_dsa;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::{
    AeadVector, CbcVector, EcdhVector, EcdsaVector, Error, MlKemVector, Padding,
    RsaEncryptionVector, RsaSignatureVector, RsaSigningVector, SignatureVector, fetched,
};
pub use macs::{hkdf, hmac};
pub use ml_dsa::{ml_dsa_keys, ml_dsa_signatures};

/// AES-GCM with nonces of 0 to 257 bytes and whole tags. An empty nonce must be refused.
///
/// # Errors
/// See [the module](self).
pub fn aes_gcm() -> Result<Vec<AeadVector>, Error> {
    read_aead("aes_gcm")
}

/// ChaCha20-Poly1305. A nonce of another length than 12 bytes must be refused.
///
/// # Errors
/// See [the module](self).
pub fn chacha20_poly1305() -> Result<Vec<AeadVector>, Error> {
    read_aead("chacha20_poly1305")
}

/// AES-CBC with PKCS#7 padding, which Wycheproof calls PKCS #5; bad padding must be refused.
///
/// # Errors
/// See [the module](self).
pub fn aes_cbc_pkcs7() -> Result<Vec<CbcVector>, Error> {
    let mut vectors = Vec::new();
    for Group { tests, .. } in read::<NothingShared, CipherTest>("aes_cbc_pkcs5")? {
        for (test, source) in tests {
            vectors.push(CbcVector {
                key: test.key.0,
                iv: test.iv.0[..]
                    .try_into()
                    .map_err(|_| Error(format!("{source}: the IV is not 16 bytes")))?,
                plaintext: test.msg.0,
                ciphertext: test.ct.0,
                padding: Padding::Pkcs7,
                is_valid: test.result.is_valid(&source)?,
                source,
            });
        }
    }
    some(vectors)
}

/// Signatures of RSASSA-PKCS1-v1_5 by SHA-1 and SHA-2 to verify, keys of 2048 to 4096 bits.
///
/// # Errors
/// See [the module](self).
pub fn rsa_pkcs1_signatures() -> Result<Vec<RsaSignatureVector>, Error> {
    let mut vectors = Vec::new();
    for file in files("rsa_signature_")? {
        for Group { of, tests } in read::<PublicGroup, SignatureTest>(&file)? {
            let Some(hash) = hash_name(&of.sha).filter(|_| of.key_size <= BITS_MAX) else {
                continue;
            };
            vectors.extend(tests.into_iter().map(|(test, source)| RsaSignatureVector {
                modulus: of.public_key.modulus.0.clone(),
                exponent: of.public_key.public_exponent.0.clone(),
                hash,
                mgf1: "",
                salt_bytes: 0,
                message: test.msg.0,
                signature: test.sig.0,
                // An acceptable signature lacks a NULL that RFC 8017, section 9.2 demands.
                is_valid: test.result == Outcome::Valid,
                source,
            }));
        }
    }
    some(vectors)
}

/// Signatures of RSASSA-PSS by SHA-1 and SHA-2 to verify, MGF1 by the same or another, and salts of
/// 0 to 64 bytes, keys of 2048 to 4096 bits.
///
/// # Errors
/// See [the module](self).
pub fn rsa_pss_signatures() -> Result<Vec<RsaSignatureVector>, Error> {
    let mut vectors = Vec::new();
    for file in files("rsa_pss_")? {
        for Group { of, tests } in read::<PublicGroup, SignatureTest>(&file)? {
            // A mask by SHAKE has no hash.
            let (Some(hash), Some(mgf1)) = (hash_name(&of.sha), hash_name(&of.mgf_sha)) else {
                continue;
            };
            vectors.extend(tests.into_iter().map(|(test, source)| RsaSignatureVector {
                modulus: of.public_key.modulus.0.clone(),
                exponent: of.public_key.public_exponent.0.clone(),
                hash,
                mgf1,
                salt_bytes: of.salt_bytes,
                message: test.msg.0,
                signature: test.sig.0,
                // An acceptable signature has a weak hash.
                is_valid: test.result != Outcome::Invalid,
                source,
            }));
        }
    }
    some(vectors)
}

/// Signatures of RSASSA-PKCS1-v1_5 by SHA-1 and SHA-2 to make, keys of 1024 to 4096 bits.
///
/// # Errors
/// See [the module](self).
pub fn rsa_pkcs1_signing() -> Result<Vec<RsaSigningVector>, Error> {
    let mut vectors = Vec::new();
    for file in files("rsa_pkcs1_")? {
        if !file.ends_with("_sig_gen") {
            continue;
        }
        for Group { of, tests } in read::<PrivateGroup, SignatureTest>(&file)? {
            let Some(hash) = hash_name(&of.sha) else {
                continue;
            };
            // An acceptable signature has a short key.
            vectors.extend(tests.into_iter().map(|(test, source)| RsaSigningVector {
                private_key: of.pkcs8.0.clone(),
                hash,
                message: test.msg.0,
                signature: test.sig.0,
                source,
            }));
        }
    }
    some(vectors)
}

/// Messages under RSAES-OAEP with SHA-1 and SHA-2, MGF1 by the same or by SHA-1, keys of two primes
/// and up to 4096 bits.
///
/// # Errors
/// See [the module](self).
pub fn rsa_oaep() -> Result<Vec<RsaEncryptionVector>, Error> {
    read_oaep("rsa_oaep_")
}

/// As [`rsa_oaep`], with keys of three primes (RFC 8017, section 3.2).
///
/// # Errors
/// See [the module](self).
pub fn rsa_oaep_three_primes() -> Result<Vec<RsaEncryptionVector>, Error> {
    read_oaep("rsa_three_primes_oaep_")
}

/// Messages under RSAES-PKCS1-v1_5, keys of 2048 to 4096 bits.
///
/// # Errors
/// See [the module](self).
pub fn rsa_pkcs1_messages() -> Result<Vec<RsaEncryptionVector>, Error> {
    let mut vectors = Vec::new();
    for file in ["rsa_pkcs1_2048", "rsa_pkcs1_3072", "rsa_pkcs1_4096"] {
        for Group { of, tests } in read::<PrivateGroup, EncryptionTest>(file)? {
            for (test, source) in tests {
                vectors.push(RsaEncryptionVector {
                    private_key: of.pkcs8.0.clone(),
                    hash: "",
                    mgf1: "",
                    label: Vec::new(),
                    message: test.msg.0,
                    ciphertext: test.ct.0,
                    is_valid: test.result.is_valid(&source)?,
                    source,
                });
            }
        }
    }
    some(vectors)
}

/// Signatures by ECDSA in DER to verify, with SHA-2, on P-256, P-384 and P-521.
///
/// # Errors
/// See [the module](self).
pub fn ecdsa() -> Result<Vec<EcdsaVector>, Error> {
    let mut vectors = Vec::new();
    for file in files_of_curves("ecdsa_")? {
        if file.ends_with("_p1363") {
            continue;
        }
        for Group { of, tests } in read::<EcGroup, SignatureTest>(&file)? {
            let Some(hash) = hash_name(&of.sha) else {
                continue;
            };
            for (test, source) in tests {
                vectors.push(EcdsaVector {
                    curve: of.public_key.curve.clone(),
                    public_key: of.public_key.uncompressed.0.clone(),
                    hash,
                    message: test.msg.0,
                    signature: test.sig.0,
                    is_valid: test.result.is_valid(&source)?,
                    source,
                });
            }
        }
    }
    some(vectors)
}

/// Secrets agreed on by ECDH on P-256, P-384 and P-521, with a peer's encoded point.
///
/// # Errors
/// See [the module](self).
pub fn ecdh() -> Result<Vec<EcdhVector>, Error> {
    let mut vectors = Vec::new();
    for file in files_of_curves("ecdh_")? {
        if !file.ends_with("_ecpoint") {
            continue;
        }
        for Group { of, tests } in read::<CurveGroup, AgreementTest>(&file)? {
            vectors.extend(tests.into_iter().map(|(test, source)| EcdhVector {
                curve: of.curve.clone(),
                public_key: test.public.0,
                private_key: test.private.0,
                secret: test.shared.0,
                // An acceptable point is compressed.
                is_valid: test.result != Outcome::Invalid,
                source,
            }));
        }
    }
    some(vectors)
}

/// Secrets agreed on by X25519; those with points of small order are all zero, and are to be refused.
///
/// # Errors
/// See [the module](self).
pub fn x25519() -> Result<Vec<EcdhVector>, Error> {
    let mut vectors = Vec::new();
    for Group { of, tests } in read::<CurveGroup, AgreementTest>("x25519")? {
        vectors.extend(tests.into_iter().map(|(test, source)| EcdhVector {
            curve: of.curve.clone(),
            is_valid: test.shared.0.iter().any(|byte| *byte != 0),
            public_key: test.public.0,
            private_key: test.private.0,
            secret: test.shared.0,
            source,
        }));
    }
    some(vectors)
}

/// Keys, ciphertexts and secrets of ML-KEM, of all three parameter sets. Some have a seed or a private key, some a public
/// key and the random bytes of an encapsulation.
///
/// # Errors
/// See [the module](self).
pub fn ml_kem() -> Result<Vec<MlKemVector>, Error> {
    let mut vectors = Vec::new();
    for file in files("mlkem_")? {
        for Group { of, tests } in read::<MlKemGroup, MlKemTest>(&file)? {
            for (test, source) in tests {
                vectors.push(MlKemVector {
                    set: of.parameter_set.clone(),
                    seed: test.seed.0,
                    public_key: test.ek.0,
                    private_key: test.dk.0,
                    random: test.m.0,
                    ciphertext: test.c.0,
                    secret: test.k.0,
                    is_valid: test.result.is_valid(&source)?,
                    source,
                });
            }
        }
    }
    some(vectors)
}

/// Signatures by Ed25519 to verify.
///
/// # Errors
/// See [the module](self).
pub fn ed25519() -> Result<Vec<SignatureVector>, Error> {
    let mut vectors = Vec::new();
    for Group { of, tests } in read::<EdwardsGroup, SignatureTest>("ed25519")? {
        for (test, source) in tests {
            vectors.push(SignatureVector {
                algorithm: "Ed25519",
                public_key: of.public_key.pk.0.clone(),
                context: Vec::new(),
                message: test.msg.0,
                signature: test.sig.0,
                is_valid: test.result.is_valid(&source)?,
                source,
            });
        }
    }
    some(vectors)
}

fn read_aead(file: &str) -> Result<Vec<AeadVector>, Error> {
    let mut vectors = Vec::new();
    for Group { tests, .. } in read::<NothingShared, CipherTest>(file)? {
        for (test, source) in tests {
            vectors.push(AeadVector {
                key: test.key.0,
                nonce: test.iv.0,
                aad: test.aad.0,
                plaintext: Some(test.msg.0),
                ciphertext: test.ct.0,
                tag: test.tag.0,
                is_valid: test.result.is_valid(&source)?,
                source,
            });
        }
    }
    some(vectors)
}

fn read_oaep(prefix: &str) -> Result<Vec<RsaEncryptionVector>, Error> {
    let mut vectors = Vec::new();
    for file in files(prefix)? {
        for Group { of, tests } in read::<PrivateGroup, EncryptionTest>(&file)? {
            let (Some(hash), Some(mgf1)) = (hash_name(&of.sha), hash_name(&of.mgf_sha)) else {
                continue;
            };
            if of.key_size > BITS_MAX {
                continue;
            }
            for (test, source) in tests {
                // Where the padding makes a tiny number, one may refuse or not.
                if test.result == Outcome::Acceptable {
                    continue;
                }
                vectors.push(RsaEncryptionVector {
                    private_key: of.pkcs8.0.clone(),
                    hash,
                    mgf1,
                    label: test.label.0,
                    message: test.msg.0,
                    ciphertext: test.ct.0,
                    is_valid: test.result.is_valid(&source)?,
                    source,
                });
            }
        }
    }
    some(vectors)
}

/// The names of the sets that begin with `prefix`, in order, without the ending.
fn files(prefix: &str) -> Result<Vec<String>, Error> {
    let folder = fetched::folder(FOLDER);
    let missing = |error| fetched::missing(&folder, &error);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(missing)? {
        let name = entry.map_err(missing)?.file_name();
        let name = name.to_string_lossy();
        if let Some(name) = name
            .strip_suffix(ENDING)
            .filter(|name| name.starts_with(prefix))
        {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// As [`files`], of the curves that Oarlock has.
fn files_of_curves(prefix: &str) -> Result<Vec<String>, Error> {
    let mut names = Vec::new();
    for curve in ["secp256r1", "secp384r1", "secp521r1"] {
        names.extend(files(&format!("{prefix}{curve}_"))?);
    }
    Ok(names)
}

/// A group of one set: what its tests share, and each test with its source.
struct Group<G, T> {
    of: G,
    tests: Vec<(T, String)>,
}

fn read<G: DeserializeOwned, T: DeserializeOwned>(file: &str) -> Result<Vec<Group<G, T>>, Error> {
    let path = fetched::folder(FOLDER).join(format!("{file}{ENDING}"));
    let text = std::fs::read(&path).map_err(|error| fetched::missing(&path, &error))?;
    let set: Set<G, T> = serde_json::from_slice(&text)
        .map_err(|error| Error(format!("{}: {error}", path.display())))?;
    let groups = set.test_groups.into_iter().map(|group| Group {
        of: group.of,
        tests: group
            .tests
            .into_iter()
            .map(|test| named(file, test))
            .collect(),
    });
    Ok(groups.collect())
}

fn named<T>(file: &str, test: Test<T>) -> (T, String) {
    let Test {
        number,
        comment,
        flags,
        of,
    } = test;
    (
        of,
        format!("wycheproof {file} #{number} {comment:?} {flags:?}"),
    )
}

fn some<T>(vectors: Vec<T>) -> Result<Vec<T>, Error> {
    if vectors.is_empty() {
        return Err(Error("wycheproof: a set holds no vectors".to_owned()));
    }
    Ok(vectors)
}

/// The name of a hash that Oarlock has: SHA-1 and SHA-2.
fn hash_name(name: &str) -> Option<&'static str> {
    HASHES.into_iter().find(|&hash| hash == name)
}

#[derive(Deserialize)]
#[serde(
    rename_all = "camelCase",
    bound(deserialize = "G: DeserializeOwned, T: DeserializeOwned")
)]
struct Set<G, T> {
    test_groups: Vec<RawGroup<G, T>>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "G: DeserializeOwned, T: DeserializeOwned"))]
struct RawGroup<G, T> {
    #[serde(flatten)]
    of: G,
    tests: Vec<Test<T>>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "T: DeserializeOwned"))]
struct Test<T> {
    #[serde(rename = "tcId")]
    number: usize,
    #[serde(default)]
    comment: String,
    #[serde(default)]
    flags: Vec<String>,
    #[serde(flatten)]
    of: T,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    Valid,
    Invalid,
    Acceptable,
}

impl Outcome {
    fn is_valid(self, source: &str) -> Result<bool, Error> {
        match self {
            Self::Valid => Ok(true),
            Self::Invalid => Ok(false),
            Self::Acceptable => Err(Error(format!("{source}: neither valid nor invalid"))),
        }
    }
}

/// A group whose tests share nothing.
#[derive(Deserialize)]
struct NothingShared {}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PublicGroup {
    key_size: usize,
    sha: String,
    #[serde(default)]
    mgf_sha: String,
    #[serde(default, rename = "sLen")]
    salt_bytes: usize,
    public_key: PublicKey,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PublicKey {
    modulus: Hex,
    public_exponent: Hex,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PrivateGroup {
    key_size: usize,
    #[serde(default)]
    sha: String,
    #[serde(default)]
    mgf_sha: String,
    #[serde(rename = "privateKeyPkcs8")]
    pkcs8: Hex,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EcGroup {
    sha: String,
    public_key: EcPoint,
}

#[derive(Deserialize)]
struct EcPoint {
    curve: String,
    uncompressed: Hex,
}

#[derive(Deserialize)]
struct CurveGroup {
    curve: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EdwardsGroup {
    public_key: EdwardsPoint,
}

#[derive(Deserialize)]
struct EdwardsPoint {
    pk: Hex,
}

#[derive(Deserialize)]
struct AgreementTest {
    public: Hex,
    private: Hex,
    shared: Hex,
    result: Outcome,
}

#[derive(Deserialize)]
struct CipherTest {
    key: Hex,
    iv: Hex,
    #[serde(default)]
    aad: Hex,
    msg: Hex,
    ct: Hex,
    #[serde(default)]
    tag: Hex,
    result: Outcome,
}

#[derive(Deserialize)]
struct SignatureTest {
    msg: Hex,
    sig: Hex,
    result: Outcome,
}

#[derive(Deserialize)]
struct EncryptionTest {
    msg: Hex,
    ct: Hex,
    #[serde(default)]
    label: Hex,
    result: Outcome,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MlKemGroup {
    parameter_set: String,
}

#[derive(Deserialize)]
struct MlKemTest {
    #[serde(default)]
    seed: Hex,
    #[serde(default)]
    ek: Hex,
    #[serde(default)]
    dk: Hex,
    #[serde(default)]
    m: Hex,
    #[serde(default)]
    c: Hex,
    #[serde(default, rename = "K")]
    k: Hex,
    result: Outcome,
}

/// Bytes, written in hexadecimal.
#[derive(Default, Deserialize)]
#[serde(try_from = "String")]
struct Hex(Vec<u8>);

impl TryFrom<String> for Hex {
    type Error = hex::FromHexError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        hex::decode(text).map(Self)
    }
}

const FOLDER: &str = "vectors/wycheproof/testvectors_v1";
const ENDING: &str = "_test.json";
/// The longest RSA key that Oarlock has.
const BITS_MAX: usize = 4096;
const HASHES: [&str; 7] = [
    "SHA-1",
    "SHA-224",
    "SHA-256",
    "SHA-384",
    "SHA-512",
    "SHA-512/224",
    "SHA-512/256",
];
