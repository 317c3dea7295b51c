//! What can be computed: the mechanisms, and the schemes that they and their parameters mean.

use cryptoki_sys::*;
use oarlock::keys::{KeyType, PublicKey};
use oarlock::rsa::{EncryptionScheme, Hash, PssSalt, SignatureScheme};

/// A mechanism as a program gives it.
pub(crate) struct Mechanism<'a> {
    pub(crate) kind: CK_MECHANISM_TYPE,
    pub(crate) parameter: Parameter<'a>,
}

/// The parameter of a mechanism.
pub(crate) enum Parameter<'a> {
    None,
    Pss(CK_RSA_PKCS_PSS_PARAMS),
    Oaep {
        hash: CK_MECHANISM_TYPE,
        mgf: CK_RSA_PKCS_MGF_TYPE,
        label: &'a [u8],
    },
    Eddsa {
        is_prehashed: bool,
        context: &'a [u8],
    },
    MlDsa {
        hedge: CK_HEDGE_TYPE,
        context: &'a [u8],
    },
}

/// A way to sign.
#[derive(Clone)]
pub(crate) enum Signing {
    /// RSA with PKCS#1 v1.5 of data that the program has made: usually a DigestInfo.
    Pkcs1Data,
    /// RSA; `hashes` if the data is the message, and not its digest.
    Rsa {
        scheme: SignatureScheme,
        hashes: bool,
    },
    /// ECDSA, with the hash function of the message, or none for digests.
    Ecdsa(Option<Hash>),
    Ed25519,
    MlDsa {
        context: Vec<u8>,
    },
}

impl Signing {
    /// Returns the hash function of messages; `None` if the data is taken as it is.
    pub(crate) fn hash(&self) -> Option<Hash> {
        match self {
            Self::Rsa {
                scheme,
                hashes: true,
            } => Some(scheme.hash()),
            Self::Ecdsa(hash) => *hash,
            _ => None,
        }
    }
}

/// A line of [`TABLE`].
pub(crate) struct Row {
    pub(crate) kind: CK_MECHANISM_TYPE,
    of: Of,
    flags: CK_FLAGS,
}

#[derive(Clone, Copy, PartialEq)]
enum Of {
    Rsa,
    Ec,
    Ed25519,
    MlDsa,
    Nothing,
}

const SIGNS: CK_FLAGS = CKF_SIGN | CKF_VERIFY;
const ENCRYPTS: CK_FLAGS = CKF_ENCRYPT | CKF_DECRYPT;
const EC: CK_FLAGS = SIGNS | CKF_EC_F_P | CKF_EC_NAMEDCURVE | CKF_EC_UNCOMPRESS;

const fn row(kind: CK_MECHANISM_TYPE, of: Of, flags: CK_FLAGS) -> Row {
    Row { kind, of, flags }
}

/// The mechanisms.
pub(crate) const TABLE: [Row; 23] = [
    row(CKM_RSA_PKCS, Of::Rsa, SIGNS | ENCRYPTS),
    row(CKM_SHA256_RSA_PKCS, Of::Rsa, SIGNS),
    row(CKM_SHA384_RSA_PKCS, Of::Rsa, SIGNS),
    row(CKM_SHA512_RSA_PKCS, Of::Rsa, SIGNS),
    row(CKM_SHA224_RSA_PKCS, Of::Rsa, SIGNS),
    row(CKM_RSA_PKCS_PSS, Of::Rsa, SIGNS),
    row(CKM_SHA256_RSA_PKCS_PSS, Of::Rsa, SIGNS),
    row(CKM_SHA384_RSA_PKCS_PSS, Of::Rsa, SIGNS),
    row(CKM_SHA512_RSA_PKCS_PSS, Of::Rsa, SIGNS),
    row(CKM_SHA224_RSA_PKCS_PSS, Of::Rsa, SIGNS),
    row(CKM_RSA_PKCS_OAEP, Of::Rsa, ENCRYPTS),
    row(CKM_ECDSA, Of::Ec, EC),
    row(CKM_ECDSA_SHA224, Of::Ec, EC),
    row(CKM_ECDSA_SHA256, Of::Ec, EC),
    row(CKM_ECDSA_SHA384, Of::Ec, EC),
    row(CKM_ECDSA_SHA512, Of::Ec, EC),
    row(CKM_EDDSA, Of::Ed25519, SIGNS),
    row(CKM_ML_DSA, Of::MlDsa, SIGNS),
    row(CKM_SHA_1, Of::Nothing, CKF_DIGEST),
    row(CKM_SHA224, Of::Nothing, CKF_DIGEST),
    row(CKM_SHA256, Of::Nothing, CKF_DIGEST),
    row(CKM_SHA384, Of::Nothing, CKF_DIGEST),
    row(CKM_SHA512, Of::Nothing, CKF_DIGEST),
];

/// Returns a mechanism's key sizes and what it does.
pub(crate) fn info(kind: CK_MECHANISM_TYPE) -> Result<CK_MECHANISM_INFO, CK_RV> {
    let row = find(kind)?;
    let (least, most) = match row.of {
        Of::Rsa => (1024, 4096),
        Of::Ec => (256, 521),
        Of::Ed25519 => (255, 255),
        // Bytes of a public key.
        Of::MlDsa => (1312, 2592),
        Of::Nothing => (0, 0),
    };
    Ok(CK_MECHANISM_INFO {
        ulMinKeySize: least,
        ulMaxKeySize: most,
        flags: row.flags,
    })
}

/// Returns the mechanisms for keys of a type, in the form of CKA_ALLOWED_MECHANISMS.
pub(crate) fn allowed(key_type: KeyType) -> Vec<u8> {
    let of = of(key_type);
    let rows = TABLE.iter().filter(|row| row.of == of);
    rows.flat_map(|row| row.kind.to_ne_bytes()).collect()
}

/// Returns the way to sign or verify with a key.
pub(crate) fn signing(mechanism: &Mechanism<'_>, key: &PublicKey) -> Result<Signing, CK_RV> {
    let row = for_key(mechanism.kind, SIGNS, key.key_type())?;
    if let Some(hash) = ecdsa_hash(row.kind) {
        return without_parameter(mechanism, Signing::Ecdsa(hash));
    }
    match (row.kind, &mechanism.parameter) {
        (CKM_RSA_PKCS, _) => without_parameter(mechanism, Signing::Pkcs1Data),
        (CKM_EDDSA, Parameter::None) => Ok(Signing::Ed25519),
        // Ed25519ctx with an empty context would be another scheme, and Ed25519ph is not there.
        (
            CKM_EDDSA,
            Parameter::Eddsa {
                is_prehashed: false,
                context: [],
            },
        ) => Ok(Signing::Ed25519),
        (CKM_ML_DSA, Parameter::None) => Ok(Signing::MlDsa {
            context: Vec::new(),
        }),
        (CKM_ML_DSA, Parameter::MlDsa { hedge, context }) => {
            // Signatures are hedged.
            let can_be = *hedge == CKH_HEDGE_PREFERRED || *hedge == CKH_HEDGE_REQUIRED;
            if !can_be || context.len() > CONTEXT_BYTES_MAX {
                return Err(CKR_MECHANISM_PARAM_INVALID);
            }
            Ok(Signing::MlDsa {
                context: context.to_vec(),
            })
        }
        (_, parameter) => {
            let (hash, is_pss) = match row.kind {
                CKM_SHA224_RSA_PKCS => (Some(Hash::Sha224), false),
                CKM_SHA256_RSA_PKCS => (Some(Hash::Sha256), false),
                CKM_SHA384_RSA_PKCS => (Some(Hash::Sha384), false),
                CKM_SHA512_RSA_PKCS => (Some(Hash::Sha512), false),
                CKM_SHA224_RSA_PKCS_PSS => (Some(Hash::Sha224), true),
                CKM_SHA256_RSA_PKCS_PSS => (Some(Hash::Sha256), true),
                CKM_SHA384_RSA_PKCS_PSS => (Some(Hash::Sha384), true),
                CKM_SHA512_RSA_PKCS_PSS => (Some(Hash::Sha512), true),
                CKM_RSA_PKCS_PSS => (None, true),
                _ => return Err(CKR_MECHANISM_PARAM_INVALID),
            };
            match (hash, parameter) {
                (Some(hash), Parameter::None) if !is_pss => Ok(Signing::Rsa {
                    scheme: SignatureScheme::Pkcs1(hash),
                    hashes: true,
                }),
                (_, Parameter::Pss(parameter)) if is_pss => {
                    let scheme = pss(parameter, hash, key)?;
                    Ok(Signing::Rsa {
                        scheme,
                        hashes: hash.is_some(),
                    })
                }
                _ => Err(CKR_MECHANISM_PARAM_INVALID),
            }
        }
    }
}

/// Returns the way to encrypt or decrypt with a key.
pub(crate) fn encryption(
    mechanism: &Mechanism<'_>,
    key: &PublicKey,
) -> Result<EncryptionScheme, CK_RV> {
    let row = for_key(mechanism.kind, ENCRYPTS, key.key_type())?;
    match (row.kind, &mechanism.parameter) {
        (CKM_RSA_PKCS, Parameter::None) => Ok(EncryptionScheme::Pkcs1),
        (CKM_RSA_PKCS_OAEP, Parameter::Oaep { hash, mgf, label }) => Ok(EncryptionScheme::Oaep {
            hash: hash_of(*hash).ok_or(CKR_MECHANISM_PARAM_INVALID)?,
            mgf1: mgf1_of(*mgf).ok_or(CKR_MECHANISM_PARAM_INVALID)?,
            label: label.to_vec(),
        }),
        _ => Err(CKR_MECHANISM_PARAM_INVALID),
    }
}

/// Returns the hash function of a digest.
pub(crate) fn digest(mechanism: &Mechanism<'_>) -> Result<Hash, CK_RV> {
    let hash = hash_of(mechanism.kind).ok_or(CKR_MECHANISM_INVALID)?;
    without_parameter(mechanism, hash)
}

fn pss(
    parameter: &CK_RSA_PKCS_PSS_PARAMS,
    hash: Option<Hash>,
    key: &PublicKey,
) -> Result<SignatureScheme, CK_RV> {
    let named = hash_of(parameter.hashAlg);
    let (Some(named), Some(mgf1)) = (named, mgf1_of(parameter.mgf)) else {
        return Err(CKR_MECHANISM_PARAM_INVALID);
    };
    let salt = usize::try_from(parameter.sLen).unwrap_or(usize::MAX);
    // RFC 8017, 9.1.1, where the encoded message has one bit less than the modulus.
    let bits = key.as_rsa().map_or(0, |key| key.bits());
    let room = bits.saturating_sub(1).div_ceil(8);
    let fits = salt <= room && named.bytes() + salt + 2 <= room;
    if !fits || hash.is_some_and(|hash| hash != named) {
        return Err(CKR_MECHANISM_PARAM_INVALID);
    }
    // The name that a cryptoserver knows, where it has one.
    if named == mgf1 && salt == named.bytes() {
        return Ok(SignatureScheme::Pss(named));
    }
    Ok(SignatureScheme::PssWith {
        hash: named,
        mgf1,
        salt: PssSalt::Bytes(salt),
    })
}

fn without_parameter<T>(mechanism: &Mechanism<'_>, meant: T) -> Result<T, CK_RV> {
    match mechanism.parameter {
        Parameter::None => Ok(meant),
        _ => Err(CKR_MECHANISM_PARAM_INVALID),
    }
}

fn for_key(
    kind: CK_MECHANISM_TYPE,
    flags: CK_FLAGS,
    key_type: KeyType,
) -> Result<&'static Row, CK_RV> {
    let row = find(kind)?;
    if row.flags & flags == 0 {
        return Err(CKR_MECHANISM_INVALID);
    }
    match row.of == of(key_type) {
        true => Ok(row),
        false => Err(CKR_KEY_TYPE_INCONSISTENT),
    }
}

fn find(kind: CK_MECHANISM_TYPE) -> Result<&'static Row, CK_RV> {
    TABLE
        .iter()
        .find(|row| row.kind == kind)
        .ok_or(CKR_MECHANISM_INVALID)
}

fn of(key_type: KeyType) -> Of {
    match key_type {
        KeyType::Rsa => Of::Rsa,
        KeyType::Ec(_) => Of::Ec,
        KeyType::Ed25519 => Of::Ed25519,
        KeyType::MlDsa(_) => Of::MlDsa,
        _ => Of::Nothing,
    }
}

fn ecdsa_hash(kind: CK_MECHANISM_TYPE) -> Option<Option<Hash>> {
    Some(match kind {
        CKM_ECDSA => None,
        CKM_ECDSA_SHA224 => Some(Hash::Sha224),
        CKM_ECDSA_SHA256 => Some(Hash::Sha256),
        CKM_ECDSA_SHA384 => Some(Hash::Sha384),
        CKM_ECDSA_SHA512 => Some(Hash::Sha512),
        _ => return None,
    })
}

fn hash_of(kind: CK_MECHANISM_TYPE) -> Option<Hash> {
    Some(match kind {
        CKM_SHA_1 => Hash::Sha1,
        CKM_SHA224 => Hash::Sha224,
        CKM_SHA256 => Hash::Sha256,
        CKM_SHA384 => Hash::Sha384,
        CKM_SHA512 => Hash::Sha512,
        _ => return None,
    })
}

fn mgf1_of(kind: CK_RSA_PKCS_MGF_TYPE) -> Option<Hash> {
    Some(match kind {
        CKG_MGF1_SHA1 => Hash::Sha1,
        CKG_MGF1_SHA224 => Hash::Sha224,
        CKG_MGF1_SHA256 => Hash::Sha256,
        CKG_MGF1_SHA384 => Hash::Sha384,
        CKG_MGF1_SHA512 => Hash::Sha512,
        _ => return None,
    })
}

/// FIPS 204, 5.2.
const CONTEXT_BYTES_MAX: usize = 255;
