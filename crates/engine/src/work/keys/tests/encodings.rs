//! Keys that are wrong in one place. Each is refused with an error that names the fault.

use ::pkcs8::der::asn1::{AnyRef, BitStringRef, ContextSpecific, OctetStringRef};
use ::pkcs8::der::{Encode, SecretDocument, Tag, TagMode, TagNumber};
use ::pkcs8::spki::{AlgorithmIdentifierRef, SubjectPublicKeyInfoRef};
use ::pkcs8::{ObjectIdentifier, PrivateKeyInfoRef};

use super::*;
use crate::work::keys::spki::algorithm;

const P256: KeyType = KeyType::Ec(Curve::P256);
const SECP256K1: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.10");
const ED448: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.113");

fn refused(key: &[u8], expected: &str) {
    let said = said(PrivateKey::from_bytes(key));
    assert!(said.contains(expected), "{said:?}, and not {expected:?}");
}

fn public_refused(key: &[u8], expected: &str) {
    let said = said(PublicKey::from_bytes(key));
    assert!(said.contains(expected), "{said:?}, and not {expected:?}");
}

fn pkcs8(algorithm: AlgorithmIdentifierRef<'_>, private: &[u8], public: Option<&[u8]>) -> Vec<u8> {
    let info = PrivateKeyInfoRef {
        algorithm,
        private_key: OctetStringRef::new(private).unwrap(),
        public_key: public.map(|public| BitStringRef::from_bytes(public).unwrap()),
    };
    info.to_der().unwrap()
}

fn spki(algorithm: AlgorithmIdentifierRef<'_>, public: &[u8]) -> Vec<u8> {
    let info = SubjectPublicKeyInfoRef {
        algorithm,
        subject_public_key: BitStringRef::from_bytes(public).unwrap(),
    };
    info.to_der().unwrap()
}

fn with(oid: ObjectIdentifier, parameters: Option<AnyRef<'_>>) -> AlgorithmIdentifierRef<'_> {
    AlgorithmIdentifierRef { oid, parameters }
}

fn octets(bytes: &[u8]) -> Vec<u8> {
    OctetStringRef::new(bytes).unwrap().to_der().unwrap()
}

fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    let body = parts.concat();
    AnyRef::new(Tag::Sequence, &body).unwrap().to_der().unwrap()
}

fn tagged(number: u32, inner: AnyRef<'_>) -> Vec<u8> {
    let field = ContextSpecific {
        tag_number: TagNumber(number),
        tag_mode: TagMode::Explicit,
        value: inner,
    };
    field.to_der().unwrap()
}

/// Encodes an ECPrivateKey (RFC 5915, 3).
fn sec1(version: u8, scalar: &[u8], parameters: Option<AnyRef<'_>>, point: &[u8]) -> Vec<u8> {
    let parameters = parameters.map_or(Vec::new(), |it| tagged(0, it));
    let mut bits = vec![0];
    bits.extend_from_slice(point);
    let point = match point.is_empty() {
        true => Vec::new(),
        false => tagged(1, AnyRef::new(Tag::BitString, &bits).unwrap()),
    };
    let version = version.to_der().unwrap();
    sequence(&[&version, &octets(scalar), &parameters, &point])
}

fn pem(label: &'static str, der: &[u8]) -> String {
    let document = SecretDocument::try_from(der).unwrap();
    let text = document.to_pem(label, Default::default()).unwrap();
    text.to_string()
}

#[test]
fn bytes_after_a_key_are_refused() {
    for key in keys() {
        let name = key.key_type().name();
        let der = [&key.to_pkcs8_der().unwrap()[..], &[0]].concat();
        assert!(PrivateKey::from_bytes(&der).is_err(), "{name}");
        let der = [&key.public_key().to_spki_der().unwrap()[..], &[0]].concat();
        assert!(PublicKey::from_bytes(&der).is_err(), "{name}");
        let text = format!("{}more", *key.to_pkcs8_pem().unwrap());
        assert!(PrivateKey::from_bytes(text.as_bytes()).is_err(), "{name}");
        let text = format!("{}more", key.public_key().to_spki_pem().unwrap());
        assert!(PublicKey::from_bytes(text.as_bytes()).is_err(), "{name}");
    }
    let key = PrivateKey::generate(P256).unwrap();
    let scalar = key.to_raw().unwrap();
    let curve = algorithm(P256).parameters;
    let right = sec1(1, &scalar, curve, &[]);
    assert_eq!(
        PrivateKey::from_bytes(&right).unwrap().public_key(),
        key.public_key()
    );
    refused(&[&right[..], &[0]].concat(), "not a");
    // Inside the octet string of PKCS#8.
    let more = [&right[..], &[0]].concat();
    refused(&pkcs8(algorithm(P256), &more, None), "RFC 5915");
    let ed25519 = octets(&[[7; 32].as_slice(), &[0]].concat());
    let named = algorithm(KeyType::Ed25519);
    refused(&pkcs8(named, &ed25519, None), "33 bytes");
    let ed25519 = [&octets(&[7; 32])[..], &[0]].concat();
    refused(&pkcs8(named, &ed25519, None), "RFC 8410");
}

#[test]
fn nothing_and_noise_are_no_keys() {
    for bytes in [
        &b""[..],
        b"\0",
        b"0",
        b"0\0",
        b"-----BEGIN PRIVATE KEY-----",
        &[0x30, 0x80, 0, 0],
        &[0xff; 100],
    ] {
        assert!(PrivateKey::from_bytes(bytes).is_err());
        assert!(PublicKey::from_bytes(bytes).is_err());
    }
    refused(
        pem("CERTIFICATE", &sequence(&[])).as_bytes(),
        "PEM of \"CERTIFICATE\"",
    );
    public_refused(
        pem("PRIVATE KEY", &sequence(&[])).as_bytes(),
        "PEM of \"PRIVATE KEY\"",
    );
    refused(b"-----BEGIN \xff", "bytes that are none");
}

#[test]
fn curves_and_algorithms_that_are_unknown_are_named() {
    let key = PrivateKey::generate(P256).unwrap();
    let (scalar, point) = (key.to_raw().unwrap(), key.public_key().to_raw().unwrap());
    let ec = algorithm(P256).oid;
    let other = Some(AnyRef::from(&SECP256K1));
    let inner = sec1(1, &scalar, None, &[]);
    refused(&pkcs8(with(ec, other), &inner, None), "1.3.132.0.10");
    refused(&sec1(1, &scalar, other, &[]), "1.3.132.0.10");
    public_refused(&spki(with(ec, other), &point), "1.3.132.0.10");

    let explicit = AnyRef::new(Tag::Sequence, &[2, 1, 1]).unwrap();
    refused(&pkcs8(with(ec, Some(explicit)), &inner, None), "explicit");
    refused(&sec1(1, &scalar, Some(explicit), &[]), "explicit");
    public_refused(&spki(with(ec, Some(explicit)), &point), "explicit");

    for none in [None, Some(AnyRef::NULL)] {
        refused(&pkcs8(with(ec, none), &inner, None), "curve");
        public_refused(&spki(with(ec, none), &point), "curve");
    }
    refused(&sec1(1, &scalar, None, &[]), "does not name its curve");

    let inner = octets(&[7; 57]);
    refused(&pkcs8(with(ED448, None), &inner, None), "1.3.101.113");
    public_refused(&spki(with(ED448, None), &[7; 57]), "1.3.101.113");
}

#[test]
fn parameters_where_there_must_be_none_are_refused() {
    for key in generated().filter(|key| !matches!(key.key_type(), KeyType::Ec(_))) {
        let oid = algorithm(key.key_type()).oid;
        let null = with(oid, Some(AnyRef::NULL));
        refused(&pkcs8(null, &octets(&[7; 32]), None), "must have none");
        let public = key.public_key().to_raw().unwrap();
        public_refused(&spki(null, &public), "must have none");
    }
}

#[test]
fn scalars_out_of_range_are_refused() {
    for (key_type, order) in ORDERS {
        let order = hex(order);
        let curve = algorithm(key_type).parameters;
        for scalar in [vec![0; order.len()], order.clone(), vec![0xff; order.len()]] {
            let inner = sec1(1, &scalar, None, &[]);
            refused(&pkcs8(algorithm(key_type), &inner, None), "between 1 and");
            refused(&sec1(1, &scalar, curve, &[]), "between 1 and");
            let raw = PrivateKey::from_raw(key_type, &scalar);
            assert!(said(raw).contains("between 1 and"));
        }
        let mut largest = order.clone();
        *largest.last_mut().unwrap() -= 1;
        assert!(PrivateKey::from_bytes(&sec1(1, &largest, curve, &[])).is_ok());
        // The scalar must be as long as the order (RFC 5915, 3).
        let long = [&[0][..], &largest].concat();
        refused(&sec1(1, &long, curve, &[]), "bytes: a private key of P-");
        refused(&sec1(1, &[1], curve, &[]), "1 bytes: a private key of P-");
        refused(&sec1(2, &largest, curve, &[]), "version 2");
    }
}

#[test]
fn halves_that_do_not_belong_together_are_refused() {
    const SAID: &str = "public half";
    for key in generated() {
        let key_type = key.key_type();
        let other = PrivateKey::generate(key_type).unwrap();
        let (ours, theirs) = [&key, &other]
            .map(|key| key.public_key().to_raw().unwrap())
            .into();
        let named = algorithm(key_type);
        let der = key.to_pkcs8_der().unwrap();
        let info = PrivateKeyInfoRef::try_from(&der[..]).unwrap();
        let inner = info.private_key.as_bytes();
        let right = PrivateKey::from_bytes(&pkcs8(named, inner, Some(&ours)));
        assert_eq!(right.unwrap().public_key(), key.public_key());
        refused(&pkcs8(named, inner, Some(&theirs)), SAID);
        if let KeyType::Ec(_) = key_type {
            let scalar = key.to_raw().unwrap();
            let curve = named.parameters;
            let wrong = sec1(1, &scalar, curve, &theirs);
            refused(&wrong, SAID);
            refused(&pkcs8(named, &wrong, None), SAID);
            // A compressed point encodes the same point.
            let bytes = ours.len() / 2;
            let compressed = [&[2 + (ours[2 * bytes] & 1)], &ours[1..=bytes]].concat();
            assert!(PrivateKey::from_bytes(&sec1(1, &scalar, curve, &compressed)).is_ok());
            let mut beside = ours.clone();
            beside[2 * bytes] ^= 1;
            refused(
                &sec1(1, &scalar, curve, &beside),
                "not the encoding of a point",
            );
        }
    }
    let key = PrivateKey::generate(P256).unwrap();
    let scalar = key.to_raw().unwrap();
    let other = algorithm(KeyType::Ec(Curve::P384)).parameters;
    let inner = sec1(1, &scalar, other, &[]);
    refused(
        &pkcs8(algorithm(P256), &inner, None),
        "two curves, P-256 and P-384",
    );
}

#[test]
fn encrypted_keys_are_refused_as_such() {
    const SAID: &str = "is encrypted: decrypt it first";
    let cipher = sequence(&[&ED448.to_der().unwrap()]);
    let encrypted = sequence(&[&cipher, &octets(&[7; 64])]);
    refused(&encrypted, SAID);
    refused(pem("ENCRYPTED PRIVATE KEY", &encrypted).as_bytes(), SAID);
    let old = "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nAAAA\n\
               -----END EC PRIVATE KEY-----\n";
    refused(old.as_bytes(), SAID);
}

/// RFC 9935, 6 and RFC 9881, 6: a seed, an expanded key, or both.
#[test]
fn seeds_and_expanded_keys_are_read_alone_and_together() {
    let of_modules =
        |key: &PrivateKey| matches!(key.key_type(), KeyType::MlKem(_) | KeyType::MlDsa(_));
    for key in generated().filter(of_modules) {
        let named = algorithm(key.key_type());
        let (seed, expanded) = (key.to_raw().unwrap(), key.expanded().unwrap());
        let implicit = |bytes: &[u8]| [&[0x80, bytes.len() as u8], bytes].concat();
        let both = |seed: &[u8], key: &[u8]| sequence(&[&octets(seed), &octets(key)]);
        let read = |inner: &[u8]| PrivateKey::from_bytes(&pkcs8(named, inner, None));

        let by_seed = read(&implicit(&seed)).unwrap();
        assert_eq!(by_seed.to_raw().unwrap(), seed);
        let by_both = read(&both(&seed, &expanded)).unwrap();
        assert_eq!(by_both.to_raw().unwrap(), seed);
        let by_expanded = read(&octets(&expanded)).unwrap();
        assert_eq!(by_expanded.to_raw().unwrap(), expanded);
        for read in [&by_seed, &by_both, &by_expanded] {
            assert_eq!(read.public_key(), key.public_key());
        }
        // It is written in the expanded form, and read again.
        let again = PrivateKey::from_bytes(&by_expanded.to_pkcs8_der().unwrap()).unwrap();
        assert_eq!(again.to_raw().unwrap(), expanded);

        let name = key.key_type().name();
        let wrong = |inner: Vec<u8>, expected: &str| {
            let said = said(read(&inner));
            assert!(
                said.contains(expected),
                "{name}: {said:?}, and not {expected:?}"
            );
        };
        let mut other = seed.to_vec();
        other[0] ^= 1;
        wrong(both(&other, &expanded), "is not that of its seed");
        // The last bytes are used when a ciphertext is rejected, or are a part of t0.
        let mut altered = expanded.to_vec();
        *altered.last_mut().unwrap() ^= 1;
        wrong(both(&seed, &altered), "is not that of its seed");
        wrong(both(&seed, &expanded[1..]), "is not that of its seed");
        wrong(both(&seed[1..], &expanded), "a seed of");
        wrong(implicit(&seed[1..]), "a seed of");
        wrong(octets(&seed), "the length of a seed");
        wrong(octets(&expanded[1..]), "bytes");
        let more = [&both(&seed, &expanded)[..], &[0]].concat();
        wrong(more, "is no seed, expanded key or both");
        let more = [&implicit(&seed)[..], &[0]].concat();
        wrong(more, "is no seed, expanded key or both");
        wrong(vec![], "is no seed, expanded key or both");
        wrong(vec![0x81, 1, 7], "is no seed, expanded key or both");
        wrong(seed.to_vec(), "");
    }
    // Numbers that are out of range or contradict each other.
    for set in MlDsa::ALL {
        let key = PrivateKey::generate(KeyType::MlDsa(set)).unwrap();
        let mut expanded = key.expanded().unwrap();
        expanded[0] ^= 1;
        let refused = PrivateKey::from_raw(key.key_type(), &expanded);
        assert!(said(refused).contains("contradict each other"));
    }
}

#[test]
fn parameters_of_a_curve_may_stand_before_its_key() {
    let key = PrivateKey::generate(P256).unwrap();
    let curve = algorithm(P256).parameters.unwrap();
    let der = sec1(1, &key.to_raw().unwrap(), Some(curve), &[]);
    let parameters = pem("EC PARAMETERS", &sequence(&[]));
    let text = format!("{parameters}{}", pem("EC PRIVATE KEY", &der));
    let read = PrivateKey::from_bytes(text.as_bytes()).unwrap();
    assert_eq!(read.public_key(), key.public_key());
    refused(parameters.as_bytes(), "not a key in PEM");
}

const ORDERS: [(KeyType, &str); 3] = [
    (
        P256,
        "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551",
    ),
    (
        KeyType::Ec(Curve::P384),
        "ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973",
    ),
    (
        KeyType::Ec(Curve::P521),
        "01fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409",
    ),
];
