//! Keys in a token: what they compute, and which are unusable.

use std::process::Command;

use cryptoki::mechanism::MechanismType;
use cryptoki::object::{Attribute, KeyType, ObjectClass};
use cryptoki::session::Session;
use oarlock::Error;
use oarlock::device::{
    BlockingDevice, Pkcs11Device, Pkcs11Options, PublicKeyOperation, PublicKeyRequest, Shape,
    TokenName,
};
use oarlock::job::JobOptions;
use oarlock::rsa::{EncryptionScheme, Hash, RsaPrivateKey, RsaPublicKey, SignatureScheme};
use oarlock_testing::process::{alone_as, is_child};
use zeroize::Zeroizing;

use super::{
    PIN, SCHEME, SO_PIN, child, configure, create, each, held, labelled, numbers, private,
    private_template, sign_with, softhsm, try_create, usage,
};
use crate::common::accelerator;
use crate::common::keys::{RSA1024, RSA2048, RSA3072, RSA4096};

const KEYS: [(&str, &str); 4] = [
    ("rsa1024", RSA1024),
    ("rsa2048", RSA2048),
    ("rsa3072", RSA3072),
    ("rsa4096", RSA4096),
];

#[test]
fn a_token_signs_and_decrypts_as_software_with_the_same_key_does() {
    each(|bench| {
        bench.make_token("first", PIN, |session| {
            for (at, (name, pem)) in (1..).zip(KEYS) {
                // kryoptic 1.5 claims that it decrypts by CKM_RSA_X_509, but only signs by it.
                create(session, pem, &usage(&[at], name, true, !bench.is_softhsm()));
                create(
                    session,
                    pem,
                    &usage(&[at, 2], &format!("{name} sign"), false, true),
                );
            }
        });
        let device = bench.open("first").unwrap();
        let keys = device.keys().unwrap();
        assert_eq!(keys.len(), 2 * KEYS.len());
        let accelerator = accelerator();
        for (at, (name, pem)) in (1..).zip(KEYS) {
            let here = RsaPrivateKey::from_pem(pem).unwrap();
            let software = accelerator.rsa(&here);
            for (label, id) in [
                (name.to_owned(), vec![at]),
                (format!("{name} sign"), vec![at, 2]),
            ] {
                let listed = labelled(&keys, &label);
                assert_eq!((listed.id(), listed.problem()), (&id[..], None));
                assert_eq!(listed.public_key(), Some(here.public_key()));
                let key = device.key(listed).unwrap();
                assert_eq!(key.held_by(), Some(device.name()));
                let token = accelerator.rsa(&key);

                let signature = token.sign(SCHEME, b"message").unwrap();
                assert_eq!(signature, software.sign(SCHEME, b"message").unwrap());
                let pss = SignatureScheme::Pss(Hash::Sha384);
                let signature = token.sign(pss, b"message").unwrap();
                software
                    .public()
                    .verify(pss, b"message", &signature)
                    .unwrap();

                for scheme in [
                    EncryptionScheme::oaep(Hash::Sha256),
                    EncryptionScheme::Pkcs1,
                ] {
                    let sealed = software.public().encrypt(&scheme, b"a key").unwrap();
                    assert_eq!(**token.decrypt(&scheme, &sealed).unwrap(), *b"a key");
                }
                for number in [&[2][..], &[0; 8], &[0xab; 100]] {
                    let power = token.raw_private(number).unwrap();
                    assert_eq!(power, software.raw_private(number).unwrap());
                }

                let jobs: Vec<_> = (0..20_u8)
                    .map(|i| {
                        token
                            .submit_sign(SCHEME, vec![i], JobOptions::default())
                            .unwrap()
                    })
                    .collect();
                for (i, job) in (0..).zip(jobs) {
                    assert_eq!(job.wait().unwrap(), software.sign(SCHEME, &[i]).unwrap());
                }
            }
        }
    });
}

#[test]
fn many_threads_share_a_few_sessions() {
    each(|bench| {
        let slot = bench.make_token("shared", PIN, |session| {
            create(session, RSA2048, &usage(&[1], "key", true, true));
        });
        let mut options = bench.options("shared");
        options.sessions_max = 3;
        let device = Pkcs11Device::open(options).unwrap();
        let key = held(&device, "key");
        let shape = PublicKeyRequest::sign(&key, SCHEME, b"").unwrap().shape();
        let first = device.offer_public_key(&shape).unwrap();
        let accelerator = accelerator();
        let token = accelerator.rsa(&key);
        let software = accelerator.rsa(&RsaPrivateKey::from_pem(RSA2048).unwrap());
        std::thread::scope(|scope| {
            for thread in 0..16_u8 {
                let (token, software) = (&token, &software);
                scope.spawn(move || {
                    for i in 0..20 {
                        let message = [thread, i];
                        let signature = token.sign(SCHEME, &message).unwrap();
                        assert_eq!(signature, software.sign(SCHEME, &message).unwrap());
                    }
                });
            }
        });
        if let Some(open) = bench.context.get_token_info(slot).unwrap().session_count() {
            // kryoptic does not count sessions.
            let fewest = u64::from(bench.is_softhsm());
            assert!((fewest..=3).contains(&open), "{open} sessions");
        }
        let offer = device.offer_public_key(&shape).unwrap();
        assert_ne!(offer, first, "it learns what requests take");
        for operation in [
            PublicKeyOperation::Held("another".into()),
            PublicKeyOperation::PrivateByPrimes,
            PublicKeyOperation::Power,
        ] {
            let shape = Shape {
                operation,
                ..shape.clone()
            };
            assert_eq!(device.offer_public_key(&shape), None, "{shape:?}");
        }
    });
}

#[test]
fn a_key_that_is_deleted_underneath_is_missed_and_found_again() {
    each(|bench| {
        let slot = bench.make_token("keys", PIN, |session| {
            create(session, RSA2048, &usage(&[7], "key", true, true));
        });
        let device = bench.open("keys").unwrap();
        let rsa = accelerator().rsa(&held(&device, "key"));
        let signature = rsa.sign(SCHEME, b"message").unwrap();

        let others = bench.context.open_rw_session(slot).unwrap();
        others.destroy_object(private(&others, "key")).unwrap();
        for _ in 0..2 {
            let said = rsa.sign(SCHEME, b"message").unwrap_err().to_string();
            assert!(said.contains("no key id=%07;object=key"), "{said}");
        }
        // Another key of the same name is not mistaken for the missing one.
        create(&others, RSA1024, &usage(&[7], "key", true, true));
        let said = rsa.sign(SCHEME, b"message").unwrap_err().to_string();
        assert!(said.contains("another one by now"), "{said}");
        others.destroy_object(private(&others, "key")).unwrap();

        create(&others, RSA2048, &usage(&[7], "key", true, true));
        assert_eq!(rsa.sign(SCHEME, b"message"), Ok(signature));
    });
}

#[test]
fn keys_that_are_of_no_use_are_listed_with_the_reason() {
    each(|bench| {
        let x509_is_left_out = Attribute::AllowedMechanisms(vec![MechanismType::RSA_PKCS]);
        bench.make_token("odd", PIN, |session| {
            create(session, RSA2048, &usage(&[1], "no use", false, false));
            let mut padded = usage(&[2], "padded", true, true);
            padded.push(x509_is_left_out);
            try_create(session, RSA2048, &padded);
            create(session, RSA2048, &usage(&[3], "twin", true, true));
            create(session, RSA1024, &usage(&[3], "twin", true, true));
            create(session, RSA2048, &usage(&[], "", true, true));
            create(session, RSA2048, &usage(&[4], "good", true, true));
        });
        let device = bench.open("odd").unwrap();
        let keys = device.keys().unwrap();
        for (label, said) in [
            ("no use", "neither decrypt nor sign"),
            ("padded", "CKA_ALLOWED_MECHANISMS"),
            ("twin", "give it its own"),
            ("", "neither CKA_ID nor CKA_LABEL"),
        ] {
            if label == "padded" && !keys.iter().any(|key| key.label() == label) {
                println!(
                    "{}: knows no CKA_ALLOWED_MECHANISMS",
                    bench.module.display()
                );
                continue;
            }
            let key = labelled(&keys, label);
            assert!(key.problem().unwrap().contains(said), "{key:?}");
            let Err(Error::InvalidKey(error)) = device.key(key) else {
                panic!("{label}: a key");
            };
            assert!(error.contains(said), "{error}");
        }
        assert!(device.key(labelled(&keys, "good")).is_ok());
    });
}

#[test]
fn a_public_half_is_found_with_its_key_or_beside_it_or_missed() {
    each(|bench| {
        let is_without = |attribute: &Attribute| !matches!(attribute, Attribute::PublicExponent(_));
        let create_without_exponent = |session: &Session, id: u8, label: &str| {
            let mut template = private_template(RSA2048);
            template.retain(is_without);
            template.extend(usage(&[id], label, true, true));
            session.create_object(&template).is_ok()
        };
        let mut are_possible = true;
        bench.make_token("halves", PIN, |session| {
            are_possible = create_without_exponent(session, 1, "alone");
            create_without_exponent(session, 2, "pair");
            create(session, RSA2048, &usage(&[3], "whole", true, true));
            let n = numbers(RSA2048);
            session
                .create_object(&[
                    Attribute::Class(ObjectClass::PUBLIC_KEY),
                    Attribute::KeyType(KeyType::RSA),
                    Attribute::Token(true),
                    Attribute::Id(vec![2]),
                    Attribute::Modulus(n.0.clone()),
                    Attribute::PublicExponent(n.1.clone()),
                ])
                .unwrap();
        });
        let device = bench.open("halves").unwrap();
        let keys = device.keys().unwrap();
        let here = RsaPrivateKey::from_pem(RSA2048).unwrap();
        if are_possible {
            let pair = labelled(&keys, "pair");
            assert_eq!(
                (pair.public_key(), pair.problem()),
                (Some(here.public_key()), None)
            );
            let alone = labelled(&keys, "alone");
            assert_eq!(alone.public_key(), None);
            let problem = alone.problem().unwrap();
            assert!(problem.contains("no public half"), "{problem}");
            assert!(matches!(device.key(alone), Err(Error::InvalidKey(_))));
        } else {
            println!("{}: keys have exponents there", bench.module.display());
        }
        // SoftHSM 2.6 aborts the process when it computes with either of them.
        assert!(are_possible || !bench.is_softhsm());

        let whole = labelled(&keys, "whole");
        let given = |public: &RsaPublicKey| {
            RsaPrivateKey::held(device.clone(), whole.held_id(), public.clone())
        };
        sign_with(&given(here.public_key()).unwrap());
        let (n, _) = numbers(RSA2048);
        let wrong = RsaPublicKey::from_numbers(&n, &[3]).unwrap();
        let Err(Error::DeviceFailed { reason, .. }) = given(&wrong) else {
            panic!("a key with another's public half");
        };
        assert!(reason.contains("does not agree"), "{reason}");
    });
}

#[test]
fn keys_that_softhsm_has_imported_are_used_by_who_loads_it_first() {
    if !is_child() {
        let folder = tempfile::tempdir().unwrap();
        let softhsm = softhsm();
        configure(folder.path());
        let pem = folder.path().join("key.pem");
        std::fs::write(&pem, RSA2048).unwrap();
        for arguments in [
            &[
                "--init-token",
                "--free",
                "--label",
                "tool",
                "--so-pin",
                SO_PIN,
            ][..],
            &[
                "--import",
                pem.to_str().unwrap(),
                "--token",
                "tool",
                "--label",
                "site",
                "--id",
                "0a",
            ],
        ] {
            let output = Command::new("softhsm2-util")
                .args(arguments)
                .args(["--pin", PIN])
                .env("SOFTHSM2_CONF", folder.path().join("softhsm2.conf"))
                .output()
                .unwrap();
            assert!(output.status.success(), "{output:?}");
        }
        assert!(alone_as(child(&softhsm, folder.path())));
        return;
    }
    let module = std::env::var("OARLOCK_TEST_MODULE").unwrap();
    let token = TokenName::Label("tool".into());
    let pin = Some(Zeroizing::new(PIN.to_owned()));
    let device = Pkcs11Device::open(Pkcs11Options::new(module, token, pin)).unwrap();
    assert_eq!(device.name(), "pkcs11:tool");
    let key = held(&device, "site");
    assert_eq!(key.held_id(), Some(&b"id=%0A;object=site"[..]));
    sign_with(&key);
}
