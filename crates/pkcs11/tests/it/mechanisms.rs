//! Every mechanism with every key, of files and of a relay.

use cryptoki::mechanism::dsa::{HedgeType, SignAdditionalContext};
use cryptoki::mechanism::eddsa::{EddsaParams, EddsaSignatureScheme};
use cryptoki::mechanism::rsa::{PkcsMgfType, PkcsOaepParams, PkcsOaepSource, PkcsPssParams};
use cryptoki::mechanism::{Mechanism, MechanismType};
use cryptoki::object::{Attribute, AttributeType, KeyType, ObjectClass};
use cryptoki::session::Session;
use oarlock::keys::{self, PublicKey, Scheme};
use oarlock::rsa::{Hash, PssSalt, SignatureScheme};
use oarlock_testing::noise;

use crate::common::{
    Home, KEYS, Relayed, home, initialized, is_over, object, private_key, session,
};

fn both() -> Home {
    let home = Home::new();
    home.configure(&format!("{}{}", home.files_token(""), home.relay_token()));
    home
}

fn pss(hash: MechanismType, mgf: PkcsMgfType, salt: u64) -> PkcsPssParams {
    PkcsPssParams {
        hash_alg: hash,
        mgf,
        s_len: salt.into(),
    }
}

/// The mechanisms that sign messages of any length with a key, and the scheme that verifies these signatures.
fn of_messages(key: keys::KeyType) -> Vec<(Mechanism<'static>, Scheme)> {
    use MechanismType as Type;
    let pkcs1 = |hash| Scheme::Rsa(SignatureScheme::Pkcs1(hash));
    let with = |hash, mgf1, salt| {
        Scheme::Rsa(SignatureScheme::PssWith {
            hash,
            mgf1,
            salt: PssSalt::Bytes(salt),
        })
    };
    match key {
        keys::KeyType::Rsa => vec![
            (Mechanism::Sha224RsaPkcs, pkcs1(Hash::Sha224)),
            (Mechanism::Sha256RsaPkcs, pkcs1(Hash::Sha256)),
            (Mechanism::Sha384RsaPkcs, pkcs1(Hash::Sha384)),
            (Mechanism::Sha512RsaPkcs, pkcs1(Hash::Sha512)),
            (
                Mechanism::Sha256RsaPkcsPss(pss(Type::SHA256, PkcsMgfType::MGF1_SHA256, 32)),
                with(Hash::Sha256, Hash::Sha256, 32),
            ),
            (
                Mechanism::Sha384RsaPkcsPss(pss(Type::SHA384, PkcsMgfType::MGF1_SHA384, 48)),
                with(Hash::Sha384, Hash::Sha384, 48),
            ),
            (
                Mechanism::Sha512RsaPkcsPss(pss(Type::SHA512, PkcsMgfType::MGF1_SHA1, 20)),
                with(Hash::Sha512, Hash::Sha1, 20),
            ),
            (
                Mechanism::Sha256RsaPkcsPss(pss(Type::SHA256, PkcsMgfType::MGF1_SHA256, 222)),
                with(Hash::Sha256, Hash::Sha256, 222),
            ),
        ],
        keys::KeyType::Ec(_) => vec![
            (Mechanism::EcdsaSha256, Scheme::Ecdsa(Hash::Sha256)),
            (Mechanism::EcdsaSha384, Scheme::Ecdsa(Hash::Sha384)),
            (Mechanism::EcdsaSha512, Scheme::Ecdsa(Hash::Sha512)),
        ],
        keys::KeyType::Ed25519 => vec![(
            Mechanism::Eddsa(EddsaParams::new(EddsaSignatureScheme::Ed25519)),
            Scheme::Ed25519,
        )],
        _ => vec![(
            Mechanism::MlDsa(SignAdditionalContext::new(HedgeType::Preferred, None)),
            Scheme::ML_DSA,
        )],
    }
}

/// Returns the signature in the form of the library.
fn in_der(public: &PublicKey, signature: Vec<u8>) -> Vec<u8> {
    let keys::KeyType::Ec(_) = public.key_type() else {
        return signature;
    };
    let number = |bytes: &[u8]| {
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        let bytes = &bytes[zeros..];
        let sign = if bytes[0] >= 0x80 { &[0][..] } else { &[] };
        [&[2, (sign.len() + bytes.len()) as u8], sign, bytes].concat()
    };
    let (r, s) = signature.split_at(signature.len() / 2);
    let numbers = [number(r), number(s)].concat();
    let length = match numbers.len() {
        short @ ..128 => vec![short as u8],
        long => vec![0x81, long as u8],
    };
    [vec![0x30], length, numbers].concat()
}

fn signs(session: &Session, label: &str, name: &str) {
    let key = private_key(&home(), name);
    let public = key.public_key();
    let private_handle = object(session, ObjectClass::PRIVATE_KEY, name);
    let public_handle = object(session, ObjectClass::PUBLIC_KEY, name);
    for (mechanism, scheme) in of_messages(key.key_type()) {
        for bytes in [0, 1, 100, 5000] {
            let message = noise(bytes);
            let what = format!("{label} {name} {:?} {bytes}", mechanism.mechanism_type());
            let once = session
                .sign(&mechanism, private_handle, &message)
                .expect(&what);
            session
                .verify(&mechanism, public_handle, &message, &once)
                .expect(&what);
            public
                .verify(&scheme, &message, &in_der(public, once.clone()))
                .expect(&what);
            session.sign_init(&mechanism, private_handle).expect(&what);
            for part in message.chunks(33) {
                session.sign_update(part).expect(&what);
            }
            let in_parts = session.sign_final().expect(&what);
            session.verify_init(&mechanism, public_handle).expect(&what);
            for part in message.chunks(77) {
                session.verify_update(part).expect(&what);
            }
            session.verify_final(&in_parts).expect(&what);
            public
                .verify(&scheme, &message, &in_der(public, in_parts))
                .expect(&what);
            let mut wrong = once;
            *wrong.last_mut().unwrap() ^= 1;
            assert!(
                session
                    .verify(&mechanism, public_handle, &message, &wrong)
                    .is_err(),
                "{what}"
            );
        }
    }
}

#[test]
fn every_key_signs_by_every_mechanism() {
    if is_over(both) {
        return;
    }
    let _relay = Relayed::honest(&home());
    let module = initialized();
    for label in ["files", "remote"] {
        let session = session(&module, label);
        for (name, _) in KEYS {
            signs(&session, label, name);
        }
    }
}

#[test]
fn digests_of_any_length_are_signed() {
    if is_over(both) {
        return;
    }
    let _relay = Relayed::honest(&home());
    let module = initialized();
    for label in ["files", "remote"] {
        let session = session(&module, label);
        for name in ["p256", "p384", "p521"] {
            let private = object(&session, ObjectClass::PRIVATE_KEY, name);
            let public = object(&session, ObjectClass::PUBLIC_KEY, name);
            for bytes in [1, 20, 28, 32, 48, 64] {
                let digest = noise(bytes);
                let made = session.sign(&Mechanism::Ecdsa, private, &digest).unwrap();
                session
                    .verify(&Mechanism::Ecdsa, public, &digest, &made)
                    .unwrap();
            }
            for bytes in [0, 65] {
                assert!(
                    session
                        .sign(&Mechanism::Ecdsa, private, &noise(bytes))
                        .is_err()
                );
            }
        }
        let private = object(&session, ObjectClass::PRIVATE_KEY, "rsa");
        let public = object(&session, ObjectClass::PUBLIC_KEY, "rsa");
        // The data of PKCS#1 v1.5 is anything: a DigestInfo, or 36 bytes as in TLS 1.1.
        let info = b"\x30\x31\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\x00\x04\x20";
        for data in [
            [&info[..], &noise(32)].concat(),
            noise(36),
            vec![],
            noise(245),
        ] {
            let made = session.sign(&Mechanism::RsaPkcs, private, &data).unwrap();
            session
                .verify(&Mechanism::RsaPkcs, public, &data, &made)
                .unwrap();
        }
        assert!(
            session
                .sign(&Mechanism::RsaPkcs, private, &noise(246))
                .is_err()
        );
        for (hash, mgf, bytes) in [
            (MechanismType::SHA256, PkcsMgfType::MGF1_SHA256, 32),
            (MechanismType::SHA384, PkcsMgfType::MGF1_SHA256, 48),
        ] {
            let mechanism = Mechanism::RsaPkcsPss(pss(hash, mgf, bytes));
            let digest = noise(bytes as usize);
            let made = session.sign(&mechanism, private, &digest).unwrap();
            session.verify(&mechanism, public, &digest, &made).unwrap();
            assert!(session.sign(&mechanism, private, &digest[1..]).is_err());
        }
    }
}

#[test]
fn ciphertexts_are_decrypted() {
    if is_over(both) {
        return;
    }
    let _relay = Relayed::honest(&home());
    let module = initialized();
    let oaep = |hash, mgf, source| Mechanism::RsaPkcsOaep(PkcsOaepParams::new(hash, mgf, source));
    let label = PkcsOaepSource::data_specified(b"a label");
    for token in ["files", "remote"] {
        let session = session(&module, token);
        let private = object(&session, ObjectClass::PRIVATE_KEY, "rsa");
        let public = object(&session, ObjectClass::PUBLIC_KEY, "rsa");
        for mechanism in [
            Mechanism::RsaPkcs,
            oaep(
                MechanismType::SHA1,
                PkcsMgfType::MGF1_SHA1,
                PkcsOaepSource::empty(),
            ),
            oaep(MechanismType::SHA256, PkcsMgfType::MGF1_SHA256, label),
            // Two hash functions: a relay is asked to raise the number.
            oaep(
                MechanismType::SHA256,
                PkcsMgfType::MGF1_SHA1,
                PkcsOaepSource::empty(),
            ),
        ] {
            for bytes in [0, 1, 48, 190] {
                let message = noise(bytes);
                let sent = session.encrypt(&mechanism, public, &message).unwrap();
                assert_eq!(
                    session.decrypt(&mechanism, private, &sent).unwrap(),
                    message
                );
            }
            assert!(session.encrypt(&mechanism, public, &noise(246)).is_err());
            assert!(session.decrypt(&mechanism, private, &noise(255)).is_err());
        }
    }
}

#[test]
fn objects_say_what_they_are() {
    if is_over(both) {
        return;
    }
    let _relay = Relayed::honest(&home());
    let module = initialized();
    for label in ["files", "remote"] {
        let session = session(&module, label);
        // Two for each key, and four certificates.
        assert_eq!(session.find_objects(&[]).unwrap().len(), 2 * KEYS.len() + 4);
        for (name, _) in KEYS {
            let key = private_key(&home(), name);
            let info = key.public_key().to_spki_der().unwrap();
            let id = session
                .get_attributes(
                    object(&session, ObjectClass::PRIVATE_KEY, name),
                    &[AttributeType::Id],
                )
                .unwrap();
            assert!(
                matches!(&id[0], Attribute::Id(id) if id.len() == 20),
                "{id:?}"
            );
            let found = session.find_objects(&id).unwrap();
            let certified = crate::common::CERTIFIED.contains(&name);
            assert_eq!(found.len(), if certified { 3 } else { 2 }, "{name}");
            let wanted = [AttributeType::PublicKeyInfo, AttributeType::Token];
            for handle in found {
                let shown = session.get_attributes(handle, &wanted).unwrap();
                assert_eq!(
                    shown,
                    [
                        Attribute::PublicKeyInfo(info.clone()),
                        Attribute::Token(true)
                    ]
                );
            }
        }
        let rsa = private_key(&home(), "rsa");
        let rsa = rsa.public_key().as_rsa().unwrap();
        let wanted = [
            Attribute::KeyType(KeyType::RSA),
            Attribute::Modulus(rsa.modulus().to_vec()),
            Attribute::PublicExponent(rsa.exponent().to_vec()),
            Attribute::Decrypt(true),
            Attribute::Extractable(false),
        ];
        assert_eq!(session.find_objects(&wanted).unwrap().len(), 1);
        let certificate = object(&session, ObjectClass::CERTIFICATE, "p256");
        let shown = session
            .get_attributes(certificate, &[AttributeType::Subject])
            .unwrap();
        let of_key = [Attribute::Class(ObjectClass::PRIVATE_KEY), shown[0].clone()];
        assert_eq!(session.find_objects(&of_key).unwrap().len(), 1);
    }
}
