//! The attributes of keys and certificates.

use cryptoki_sys::*;
use der::{Encode as _, Header, Reader as _, SliceReader, Tag};
use oarlock::keys::{Curve, KeyType, MlDsa, PublicKey};
use oarlock::rsa::Hash;
use oarlock_engine::hash::{DIGEST_BYTES_MAX, Digest};

use crate::key::Key;
use crate::mechanisms;
use crate::objects::Attributes;

/// A certificate (RFC 5280, 4.1), with the parts that are attributes.
#[derive(Clone)]
pub(crate) struct Certificate {
    pub(crate) whole: Vec<u8>,
    serial: Vec<u8>,
    issuer: Vec<u8>,
    subject: Vec<u8>,
    pub(crate) public_key: Vec<u8>,
}

impl Certificate {
    /// Parses DER. It checks no more than what it takes out.
    pub(crate) fn from_der(whole: &[u8]) -> Option<Self> {
        let parse = || {
            let mut reader = SliceReader::new(whole)?;
            let parts = reader.sequence(|reader| {
                let parts = reader.sequence(|reader| {
                    if Tag::peek(reader)?.is_context_specific() {
                        reader.tlv_bytes()?; // the version
                    }
                    let serial = reader.tlv_bytes()?;
                    reader.tlv_bytes()?; // the signature's algorithm
                    let issuer = reader.tlv_bytes()?;
                    reader.tlv_bytes()?; // the validity
                    let subject = reader.tlv_bytes()?;
                    let public_key = reader.tlv_bytes()?;
                    skip_rest(reader)?;
                    Ok::<_, der::Error>([serial, issuer, subject, public_key])
                })?;
                skip_rest(reader)?;
                Ok::<_, der::Error>(parts)
            })?;
            reader.finish()?;
            Ok::<_, der::Error>(parts)
        };
        let [serial, issuer, subject, public_key] = parse().ok()?.map(<[u8]>::to_vec);
        Some(Self {
            whole: whole.to_vec(),
            serial,
            issuer,
            subject,
            public_key,
        })
    }
}

fn skip_rest<'a>(reader: &mut impl der::Reader<'a>) -> der::Result<()> {
    while !reader.is_finished() {
        reader.tlv_bytes()?;
    }
    Ok(())
}

/// Returns the attributes of a private key.
pub(crate) fn private_key(
    key: &Key,
    label: &str,
    certificate: Option<&Certificate>,
    is_private: bool,
) -> Attributes {
    let mut of = Attributes::default();
    common(&mut of, CKO_PRIVATE_KEY, label, is_private);
    public_half(&mut of, key, certificate);
    of.truth(CKA_SENSITIVE, true)
        .truth(CKA_EXTRACTABLE, false)
        // Keys come from files, so nobody knows what happened to them before.
        .truth(CKA_ALWAYS_SENSITIVE, false)
        .truth(CKA_NEVER_EXTRACTABLE, false)
        .truth(CKA_ALWAYS_AUTHENTICATE, false)
        .truth(CKA_WRAP_WITH_TRUSTED, false)
        .truth(CKA_SIGN, key.signs())
        .truth(CKA_SIGN_RECOVER, false)
        .truth(CKA_DECRYPT, key.decrypts())
        .truth(CKA_UNWRAP, false);
    of.sensitive = match key.public().key_type() {
        KeyType::Rsa => &[
            CKA_PRIVATE_EXPONENT,
            CKA_PRIME_1,
            CKA_PRIME_2,
            CKA_EXPONENT_1,
            CKA_EXPONENT_2,
            CKA_COEFFICIENT,
        ],
        KeyType::MlDsa(_) => &[CKA_VALUE, CKA_SEED],
        _ => &[CKA_VALUE],
    };
    of.sort();
    of
}

/// Returns the attributes of a public key.
pub(crate) fn public_key(key: &Key, label: &str, certificate: Option<&Certificate>) -> Attributes {
    let mut of = Attributes::default();
    common(&mut of, CKO_PUBLIC_KEY, label, false);
    public_half(&mut of, key, certificate);
    let public = key.public();
    let is_rsa = public.key_type() == KeyType::Rsa;
    of.truth(CKA_VERIFY, public.key_type().signs())
        .truth(CKA_VERIFY_RECOVER, false)
        .truth(CKA_ENCRYPT, is_rsa)
        .truth(CKA_WRAP, false)
        .truth(CKA_TRUSTED, false);
    if let Some(rsa) = public.as_rsa() {
        of.number(CKA_MODULUS_BITS, rsa.bits() as CK_ULONG);
    }
    if let (KeyType::MlDsa(_), Ok(raw)) = (public.key_type(), public.to_raw()) {
        of.bytes(CKA_VALUE, raw);
    }
    of.sort();
    of
}

/// Returns the attributes of a certificate.
pub(crate) fn certificate(certificate: &Certificate, label: &str) -> Attributes {
    let mut of = Attributes::default();
    common(&mut of, CKO_CERTIFICATE, label, false);
    let check = digest(Hash::Sha1, &certificate.whole);
    of.number(CKA_CERTIFICATE_TYPE, CKC_X_509)
        .number(
            CKA_CERTIFICATE_CATEGORY,
            CK_CERTIFICATE_CATEGORY_UNSPECIFIED,
        )
        .truth(CKA_TRUSTED, false)
        .bytes(CKA_CHECK_VALUE, &check[..3])
        .bytes(CKA_START_DATE, [])
        .bytes(CKA_END_DATE, [])
        .bytes(CKA_PUBLIC_KEY_INFO, &*certificate.public_key)
        .bytes(CKA_SUBJECT, &*certificate.subject)
        .bytes(CKA_ISSUER, &*certificate.issuer)
        .bytes(CKA_SERIAL_NUMBER, &*certificate.serial)
        .bytes(CKA_VALUE, &*certificate.whole)
        .bytes(CKA_URL, [])
        .bytes(CKA_ID, id_of(&certificate.public_key));
    of.sort();
    of
}

/// Returns the SHA-256 digest of the object's own bytes, by which it is the same object when it is read again.
pub(crate) fn identity(class: CK_OBJECT_CLASS, label: &str, bytes: &[u8]) -> Vec<u8> {
    let mut of = Digest::new(Hash::Sha256);
    of.update(&class.to_ne_bytes());
    of.update(&label.len().to_ne_bytes());
    of.update(label.as_bytes());
    of.update(bytes);
    finished(of)
}

/// Returns bytes as a text.
pub(crate) fn hex(bytes: &[u8]) -> Vec<u8> {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.into_bytes()
}

fn common(of: &mut Attributes, class: CK_OBJECT_CLASS, label: &str, is_private: bool) {
    of.number(CKA_CLASS, class)
        .truth(CKA_TOKEN, true)
        .truth(CKA_PRIVATE, is_private)
        .truth(CKA_MODIFIABLE, false)
        .truth(CKA_COPYABLE, false)
        .truth(CKA_DESTROYABLE, false)
        .bytes(CKA_LABEL, label.as_bytes());
}

/// Adds what private and public keys have in common.
fn public_half(of: &mut Attributes, key: &Key, certificate: Option<&Certificate>) {
    let public = key.public();
    let key_type = public.key_type();
    let info = public.to_spki_der().unwrap_or_default();
    of.number(CKA_KEY_TYPE, kind_of(key_type))
        .bytes(CKA_ID, id_of(&info))
        .bytes(CKA_PUBLIC_KEY_INFO, info)
        .bytes(CKA_SUBJECT, certificate.map_or(&[][..], |one| &one.subject))
        .bytes(CKA_START_DATE, [])
        .bytes(CKA_END_DATE, [])
        .truth(CKA_DERIVE, false)
        .truth(CKA_LOCAL, false)
        .number(CKA_KEY_GEN_MECHANISM, CK_UNAVAILABLE_INFORMATION)
        .bytes(CKA_ALLOWED_MECHANISMS, mechanisms::allowed(key_type));
    if let Some(rsa) = public.as_rsa() {
        of.bytes(CKA_MODULUS, rsa.modulus())
            .bytes(CKA_PUBLIC_EXPONENT, rsa.exponent());
    }
    match key_type {
        KeyType::Ec(_) | KeyType::Ed25519 => {
            of.bytes(CKA_EC_PARAMS, curve_of(key_type))
                .bytes(CKA_EC_POINT, point_of(public));
        }
        KeyType::MlDsa(set) => {
            let set = match set {
                MlDsa::MlDsa44 => CKP_ML_DSA_44,
                MlDsa::MlDsa65 => CKP_ML_DSA_65,
                MlDsa::MlDsa87 => CKP_ML_DSA_87,
            };
            of.number(CKA_PARAMETER_SET, set);
        }
        _ => {}
    }
}

fn kind_of(key_type: KeyType) -> CK_KEY_TYPE {
    match key_type {
        KeyType::Rsa => CKK_RSA,
        KeyType::Ec(_) => CKK_EC,
        KeyType::Ed25519 => CKK_EC_EDWARDS,
        KeyType::MlDsa(_) => CKK_ML_DSA,
        _ => CKK_VENDOR_DEFINED,
    }
}

/// Returns the object identifier of a curve in DER.
fn curve_of(key_type: KeyType) -> &'static [u8] {
    match key_type {
        KeyType::Ec(Curve::P256) => b"\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07",
        KeyType::Ec(Curve::P384) => b"\x06\x05\x2b\x81\x04\x00\x22",
        KeyType::Ec(Curve::P521) => b"\x06\x05\x2b\x81\x04\x00\x23",
        _ => b"\x06\x03\x2b\x65\x70",
    }
}

/// Returns a point as an octet string in DER.
fn point_of(key: &PublicKey) -> Vec<u8> {
    let point = key.to_raw().unwrap_or_default();
    let header =
        der::Length::try_from(point.len()).map(|bytes| Header::new(Tag::OctetString, bytes));
    let mut written = header
        .and_then(|header| header.to_der())
        .unwrap_or_default();
    written.extend_from_slice(&point);
    written
}

/// Returns the ID of a key: the SHA-1 digest of the public key's bits, as most certificates have it for an identifier (RFC
/// 5280, 4.2.1.2).
fn id_of(public_key: &[u8]) -> Vec<u8> {
    let bits = || {
        let mut reader = SliceReader::new(public_key)?;
        reader.sequence(|reader| {
            reader.tlv_bytes()?;
            let bits = der::asn1::BitStringRef::decode(reader)?;
            Ok::<_, der::Error>(bits.raw_bytes())
        })
    };
    use der::Decode as _;
    let bits: Result<&[u8], der::Error> = bits();
    digest(Hash::Sha1, bits.unwrap_or(public_key))
}

fn digest(hash: Hash, bytes: &[u8]) -> Vec<u8> {
    let mut digest = Digest::new(hash);
    digest.update(bytes);
    finished(digest)
}

fn finished(digest: Digest) -> Vec<u8> {
    let mut output = [0; DIGEST_BYTES_MAX];
    let bytes = digest.finish(&mut output);
    output[..bytes].to_vec()
}
