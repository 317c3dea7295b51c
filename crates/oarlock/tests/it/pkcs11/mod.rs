//! Tokens: SoftHSM, and kryoptic where `cargo xtask peers tokens` has built it. Each test runs in a
//! process of its own, with tokens of its own, once for each module.
#![allow(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11};
use cryptoki::mechanism::MechanismType;
use cryptoki::object::{Attribute, KeyType, ObjectClass, ObjectHandle};
use cryptoki::session::{Session, UserType};
use cryptoki::slot::Slot;
use cryptoki::types::AuthPin;
use oarlock::device::PublicKeyRequest;
use oarlock::device::{
    DeviceError, Pkcs11Device, Pkcs11Options, PublicKeyDevice, PublicKeyOperation, Shape, TokenKey,
    TokenName, complete,
};
use oarlock::job::JobOptions;
use oarlock::rsa::{EncryptionScheme, Hash, RsaPrivateKey, RsaPublicKey, SignatureScheme};
use oarlock::{Accelerator, Error};
use oarlock_testing::process::{alone_as, is_child};
use oarlock_testing::skip;
use pkcs1::der::Decode;
use zeroize::Zeroizing;

const KEYS: [(&str, &str); 4] = [
    ("rsa1024", include_str!("../../keys/rsa1024.pem")),
    ("rsa2048", include_str!("../../keys/rsa2048.pem")),
    ("rsa3072", include_str!("../../keys/rsa3072.pem")),
    ("rsa4096", include_str!("../../keys/rsa4096.pem")),
];
const RSA2048: &str = KEYS[1].1;
const SCHEME: SignatureScheme = SignatureScheme::Pkcs1(Hash::Sha256);
const PIN: &str = "correct-horse-17";
const SO_PIN: &str = "officer-of-tokens";

#[test]
fn a_token_signs_and_decrypts_as_software_with_the_same_key_does() {
    each(|bench| {
        bench.make_token("first", PIN, |session| {
            for (at, (name, pem)) in (1..).zip(KEYS) {
                // kryoptic 1.5 says that it decrypts by CKM_RSA_X_509, and only signs by it.
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
        let accelerator = Accelerator::builder().build().unwrap();
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
        let accelerator = Accelerator::builder().build().unwrap();
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
            // kryoptic does not count them.
            let fewest = u64::from(bench.is_softhsm());
            assert!((fewest..=3).contains(&open), "{open} sessions");
        }
        let shape = PublicKeyRequest::sign(&key, SCHEME, b"").unwrap().shape();
        let offer = device.offer(&shape).unwrap();
        assert!(
            offer.latency.as_micros() > 10 && offer.latency.as_secs() == 0,
            "{offer:?}"
        );
        assert!(
            offer.per_second > 10.0 && offer.per_second < 1e5,
            "{offer:?}"
        );
        for operation in [
            PublicKeyOperation::Held("another".into()),
            PublicKeyOperation::PrivateByPrimes,
            PublicKeyOperation::Power,
        ] {
            let shape = Shape {
                operation,
                ..shape.clone()
            };
            assert_eq!(device.offer(&shape), None, "{shape:?}");
        }
    });
}

#[test]
fn a_wrong_pin_is_named_and_given_once() {
    each_pullable(|bench| {
        let slot = bench.make_token("locked", PIN, |session| {
            create(session, RSA2048, &usage(&[1], "key", true, true));
        });
        let wrong = "battery-staple";
        let mut options = bench.options("locked");
        options.pin = Some(Zeroizing::new(wrong.into()));
        assert!(!format!("{options:?}").contains(wrong));
        let before = bench.logins();
        let refusal = Pkcs11Device::open(options).map(drop).unwrap_err().0;
        assert!(
            refusal.contains("PIN") && refusal.contains("CKR_PIN_INCORRECT"),
            "{refusal}"
        );
        assert!(!refusal.contains(wrong), "{refusal}");
        assert_eq!(bench.logins(), before + 1);

        // It was right once; then it is changed, and the token goes and comes back.
        let device = bench.open("locked").unwrap();
        let rsa = Accelerator::builder()
            .build()
            .unwrap()
            .rsa(&held(&device, "key"));
        let other = bench.context.open_rw_session(slot).unwrap();
        other.set_pin(&pin(PIN), &pin("another-one")).unwrap();
        bench.pull();
        assert!(rsa.sign(SCHEME, b"").is_err());
        bench.plug_in();
        let before = bench.logins();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..3 {
                        let said = rsa.sign(SCHEME, b"").unwrap_err().to_string();
                        assert!(said.contains("CKR_PIN_INCORRECT"), "{said}");
                        assert!(!said.contains(PIN), "{said}");
                    }
                });
            }
        });
        assert_eq!(bench.logins(), before + 1, "24 calls of 8 threads");
    });
}

#[test]
fn a_token_that_goes_and_comes_back_is_used_again() {
    each_pullable(|bench| {
        bench.make_token("card", PIN, |session| {
            // Sign alone: where kryoptic fails to decrypt, its session is closed, and with the
            // last one the login ends.
            create(session, RSA2048, &usage(&[1], "key", false, true));
        });
        let device = bench.open("card").unwrap();
        let rsa = Accelerator::builder()
            .build()
            .unwrap()
            .rsa(&held(&device, "key"));
        let signature = rsa.sign(SCHEME, b"message").unwrap();
        for _ in 0..3 {
            bench.pull();
            for _ in 0..2 {
                let said = rsa.sign(SCHEME, b"message").unwrap_err().to_string();
                assert!(said.contains("no token with label \"card\""), "{said}");
                assert!(said.contains("there are none"), "{said}");
            }
            let listing = device.keys().map(drop).unwrap_err().0;
            assert!(listing.contains("no token"), "{listing}");
            bench.plug_in();
            let before = bench.logins();
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| assert_eq!(rsa.sign(SCHEME, b"message"), Ok(signature.clone())));
                }
            });
            assert_eq!(bench.logins(), before + 1);
        }
    });
}

#[test]
fn what_others_do_with_the_module_is_mended() {
    each(|bench| {
        let slot = bench.make_token("common", PIN, |session| {
            create(session, RSA2048, &usage(&[1], "key", true, true));
        });
        let device = bench.open("common").unwrap();
        let rsa = Accelerator::builder()
            .build()
            .unwrap()
            .rsa(&held(&device, "key"));
        let signature = rsa.sign(SCHEME, b"message").unwrap();
        let others = bench.context.clone();

        let session = others.open_ro_session(slot).unwrap();
        session.logout().unwrap();
        assert_eq!(
            rsa.sign(SCHEME, b"message"),
            Ok(signature.clone()),
            "after a logout"
        );
        drop(session);

        others.clone().finalize().unwrap();
        assert_eq!(
            rsa.sign(SCHEME, b"message"),
            Ok(signature),
            "after C_Finalize"
        );
    });
}

#[test]
fn a_token_that_is_not_there_is_told_from_those_that_are() {
    each(|bench| {
        let slot = bench.make_token("one", PIN, |_| {});
        let serial = bench
            .context
            .get_token_info(slot)
            .unwrap()
            .serial_number()
            .to_owned();
        let slot = slot.id();
        for token in [
            TokenName::Label("two".into()),
            TokenName::Serial("0000".into()),
            TokenName::Slot(slot.wrapping_add(77)),
        ] {
            let meant = format!("no token with {token}");
            let said = bench.open_as(token, PIN).map(drop).unwrap_err().0;
            for part in [&meant, "\"one\"", &serial, &format!("slot {slot}")] {
                assert!(said.contains(part), "{said}: {part}");
            }
        }
        for token in [TokenName::Serial(serial), TokenName::Slot(slot)] {
            assert_eq!(bench.open_as(token, PIN).unwrap().keys().unwrap().len(), 0);
        }
    });
}

#[test]
fn what_is_no_module_does_not_load() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text.so");
    std::fs::write(&text, "no library").unwrap();
    for (module, said) in [
        (
            folder.path().join("missing.so"),
            "cannot open shared object file",
        ),
        (text, "too short"),
        (folder.path().to_owned(), "cannot read file data"),
        ("libm.so.6".into(), "it has no C_GetFunctionList"),
    ] {
        let token = TokenName::Slot(0);
        let options = Pkcs11Options::new(&module, token, None);
        let error = Pkcs11Device::open(options).map(drop).unwrap_err().0;
        assert!(error.starts_with(&module.display().to_string()), "{error}");
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_key_that_is_deleted_underneath_is_missed_and_found_again() {
    each(|bench| {
        let slot = bench.make_token("keys", PIN, |session| {
            create(session, RSA2048, &usage(&[7], "key", true, true));
        });
        let device = bench.open("keys").unwrap();
        let rsa = Accelerator::builder()
            .build()
            .unwrap()
            .rsa(&held(&device, "key"));
        let signature = rsa.sign(SCHEME, b"message").unwrap();

        let others = bench.context.open_rw_session(slot).unwrap();
        others.destroy_object(private(&others, "key")).unwrap();
        for _ in 0..2 {
            let said = rsa.sign(SCHEME, b"message").unwrap_err().to_string();
            assert!(said.contains("no key id=%07;object=key"), "{said}");
        }
        // Another key of the same name is not taken for it.
        create(&others, KEYS[0].1, &usage(&[7], "key", true, true));
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
            create(session, KEYS[0].1, &usage(&[3], "twin", true, true));
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
        // SoftHSM 2.6 ends the process when it is to compute with either of them.
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
fn devices_on_one_module_do_not_disturb_each_other() {
    each(|bench| {
        bench.make_token("left", PIN, |session| {
            create(session, RSA2048, &usage(&[1], "key", true, true));
        });
        if !bench.is_softhsm() {
            // kryoptic has as many tokens as its configuration names: one here.
            let [first, second] = [0, 1].map(|_| bench.open("left").unwrap());
            let keys = [held(&first, "key"), held(&second, "key")];
            drop(first);
            sign_with(&keys[0]);
            sign_with(&keys[1]);
            return;
        }
        bench.make_token("right", "another-pin", |session| {
            create(session, KEYS[0].1, &usage(&[1], "key", true, true));
        });
        let left = bench.open("left").unwrap();
        let right = bench
            .open_as(TokenName::Label("right".into()), "another-pin")
            .unwrap();
        let again = bench.open("left").unwrap();
        let keys = [&left, &right, &again].map(|device| held(device, "key"));
        assert_eq!(
            keys.each_ref().map(|key| key.public_key().bits()),
            [2048, 1024, 2048]
        );
        std::thread::scope(|scope| {
            for key in &keys {
                scope.spawn(|| (0..20).for_each(|_| sign_with(key)));
            }
        });
        // Somebody is logged in, so that the token would not ask.
        let said = bench
            .open_as(TokenName::Label("left".into()), "another-pin")
            .map(drop)
            .unwrap_err()
            .0;
        assert!(said.contains("its PIN is refused"), "{said}");
        drop((left, again));
        sign_with(&keys[1]);
        sign_with(&keys[0]);
    });
}

#[test]
fn a_forked_child_is_told_to_open_its_own() {
    each(|bench| {
        bench.make_token("parent", PIN, |session| {
            create(session, RSA2048, &usage(&[1], "key", true, true));
        });
        let device = bench.open("parent").unwrap();
        let key = held(&device, "key");
        let request = PublicKeyRequest::sign(&key, SCHEME, b"message").unwrap();
        let is_told = || {
            let mut said = String::new();
            complete(&*device, &[&request], &mut |_, result| {
                said = result.map(drop).unwrap_err().to_string();
            });
            said.contains("opened before a fork")
                && failure(bench.open("parent")).contains("opened before a fork")
        };
        // SAFETY: the child does what a forked child of a threaded program may do with this library,
        // and ends; the alarm ends it where it would wait for ever.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: no precondition of the one; the other ends the child without running the
            // parent's exit handlers.
            unsafe {
                libc::alarm(10);
                libc::_exit(i32::from(!is_told()));
            }
        }
        let mut status = 0;
        // SAFETY: a child of this process, and a place for its status.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!(status, 0);
        sign_with(&key);
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

/// Tokens of one module, in the process of one test.
struct Bench {
    module: PathBuf,
    folder: PathBuf,
    /// That of another part of the program.
    context: Pkcs11,
}

impl Bench {
    fn here() -> Self {
        let variable = |name| PathBuf::from(std::env::var_os(name).unwrap());
        let real = variable("OARLOCK_TEST_REAL_MODULE");
        let context = Pkcs11::new(&real).unwrap();
        let arguments = CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK);
        context.initialize(arguments).unwrap();
        Self {
            module: variable("OARLOCK_TEST_MODULE"),
            folder: variable("OARLOCK_TEST_FOLDER"),
            context,
        }
    }

    fn is_softhsm(&self) -> bool {
        self.module == softhsm()
    }

    /// With what `fill` puts on it.
    fn make_token(&self, label: &str, user_pin: &str, fill: impl FnOnce(&Session)) -> Slot {
        let slots = self.context.get_slots_with_token().unwrap();
        let is_free = |slot: &Slot| {
            !self
                .context
                .get_token_info(*slot)
                .unwrap()
                .token_initialized()
        };
        let slot = slots.into_iter().find(is_free).unwrap();
        self.context.init_token(slot, &pin(SO_PIN), label).unwrap();
        // SoftHSM numbers its slots anew.
        let is_made = |slot: &Slot| self.context.get_token_info(*slot).unwrap().label() == label;
        let mut slots = self.context.get_slots_with_token().unwrap().into_iter();
        let slot = slots.find(is_made).unwrap();
        let session = self.context.open_rw_session(slot).unwrap();
        session.login(UserType::So, Some(&pin(SO_PIN))).unwrap();
        session.init_pin(&pin(user_pin)).unwrap();
        session.logout().unwrap();
        session.login(UserType::User, Some(&pin(user_pin))).unwrap();
        fill(&session);
        session.logout().unwrap();
        slot
    }

    fn options(&self, label: &str) -> Pkcs11Options {
        let pin = Some(Zeroizing::new(PIN.to_owned()));
        Pkcs11Options::new(&self.module, TokenName::Label(label.into()), pin)
    }

    fn open(&self, label: &str) -> Result<Arc<Pkcs11Device>, DeviceError> {
        Pkcs11Device::open(self.options(label))
    }

    fn open_as(&self, token: TokenName, pin: &str) -> Result<Arc<Pkcs11Device>, DeviceError> {
        let pin = Some(Zeroizing::new(pin.to_owned()));
        Pkcs11Device::open(Pkcs11Options::new(&self.module, token, pin))
    }

    fn pull(&self) {
        std::fs::write(self.folder.join("pulled"), "").unwrap();
    }

    fn plug_in(&self) {
        std::fs::remove_file(self.folder.join("pulled")).unwrap();
    }

    /// So far, through the module that tokens can be pulled out of.
    fn logins(&self) -> u64 {
        std::fs::metadata(self.folder.join("logins")).map_or(0, |file| file.len())
    }
}

/// Runs `body` for each module.
fn each(body: fn(&Bench)) {
    if is_child() {
        return body(&Bench::here());
    }
    for module in modules() {
        let folder = tempfile::tempdir().unwrap();
        configure(folder.path());
        println!("{}", module.display());
        assert!(alone_as(child(&module, folder.path())));
    }
}

/// Runs `body` for each module, through one that tokens can be pulled out of.
fn each_pullable(body: fn(&Bench)) {
    if is_child() {
        return body(&Bench::here());
    }
    for module in modules() {
        let folder = tempfile::tempdir().unwrap();
        configure(folder.path());
        let pullable = folder.path().join("pullable.so");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pkcs11/pullable.c");
        let built = Command::new("gcc")
            .args(["-Wall", "-shared", "-fPIC", "-o"])
            .args([&pullable, Path::new(source)])
            .args(["-ldl"])
            .status();
        assert!(built.unwrap().success());
        let mut command = child(&pullable, folder.path());
        command
            .env("OARLOCK_TEST_REAL_MODULE", &module)
            .env("REAL_MODULE", &module);
        assert!(alone_as(command));
    }
}

fn child(module: &Path, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .env("OARLOCK_TEST_MODULE", module)
        .env("OARLOCK_TEST_REAL_MODULE", module)
        .env("OARLOCK_TEST_FOLDER", folder)
        .env("PULLED", folder.join("pulled"))
        .env("LOGINS", folder.join("logins"))
        .env("SOFTHSM2_CONF", folder.join("softhsm2.conf"))
        .env("KRYOPTIC_CONF", folder.join("kryoptic.conf"));
    command
}

fn configure(folder: &Path) {
    let tokens = folder.join("tokens");
    std::fs::create_dir(&tokens).unwrap();
    let softhsm = format!(
        "directories.tokendir = {}\nobjectstore.backend = file\nlog.level = ERROR\n",
        tokens.display()
    );
    std::fs::write(folder.join("softhsm2.conf"), softhsm).unwrap();
    let kryoptic = format!(
        "[[slots]]\nslot = 3\ndbtype = \"sqlite\"\ndbargs = \"{}/token.sql\"\n",
        tokens.display()
    );
    std::fs::write(folder.join("kryoptic.conf"), kryoptic).unwrap();
}

fn modules() -> Vec<PathBuf> {
    let mut modules = vec![softhsm()];
    let tools = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let kryoptic = tools.join("peers/kryoptic/libkryoptic.so");
    if kryoptic.exists() {
        modules.push(kryoptic);
    } else {
        skip("with SoftHSM alone: kryoptic is not built (cargo xtask peers tokens)");
    }
    modules
}

fn softhsm() -> PathBuf {
    let places = [
        "/usr/lib/softhsm/libsofthsm2.so",
        "/usr/lib64/softhsm/libsofthsm.so",
        "/usr/lib64/pkcs11/libsofthsm2.so",
    ];
    let mut places = places.iter().map(PathBuf::from);
    let found = places.find(|place| place.exists());
    found.unwrap_or_else(|| panic!("no SoftHSM: scripts/system-packages test installs it"))
}

fn pin(pin: &str) -> AuthPin {
    AuthPin::new(pin.into())
}

/// What a private key may be used for, and its names.
fn usage(id: &[u8], label: &str, decrypt: bool, sign: bool) -> Vec<Attribute> {
    vec![
        Attribute::Id(id.to_vec()),
        Attribute::Label(label.as_bytes().to_vec()),
        Attribute::Decrypt(decrypt),
        Attribute::Sign(sign),
    ]
}

fn create(session: &Session, pem: &str, usage: &[Attribute]) {
    let mut template = private_template(pem);
    template.extend_from_slice(usage);
    session.create_object(&template).unwrap();
}

/// Where the token may not know all of it.
fn try_create(session: &Session, pem: &str, usage: &[Attribute]) {
    let mut template = private_template(pem);
    template.extend_from_slice(usage);
    let _ = session.create_object(&template);
}

fn private_template(pem: &str) -> Vec<Attribute> {
    let (_, document) = pkcs8::SecretDocument::from_pem(pem).unwrap();
    let info = pkcs8::PrivateKeyInfoRef::from_der(document.as_bytes()).unwrap();
    let key = pkcs1::RsaPrivateKeyRef::from_der(info.private_key.as_bytes()).unwrap();
    let bytes = |number: pkcs1::UintRef<'_>| number.as_bytes().to_vec();
    vec![
        Attribute::Class(ObjectClass::PRIVATE_KEY),
        Attribute::KeyType(KeyType::RSA),
        Attribute::Token(true),
        Attribute::Private(true),
        Attribute::Sensitive(true),
        Attribute::Extractable(false),
        Attribute::Modulus(bytes(key.modulus)),
        Attribute::PublicExponent(bytes(key.public_exponent)),
        Attribute::PrivateExponent(bytes(key.private_exponent)),
        Attribute::Prime1(bytes(key.prime1)),
        Attribute::Prime2(bytes(key.prime2)),
        Attribute::Exponent1(bytes(key.exponent1)),
        Attribute::Exponent2(bytes(key.exponent2)),
        Attribute::Coefficient(bytes(key.coefficient)),
    ]
}

/// Modulus and public exponent.
fn numbers(pem: &str) -> (Vec<u8>, Vec<u8>) {
    let key = RsaPrivateKey::from_pem(pem).unwrap();
    let public = key.public_key();
    (public.modulus().to_vec(), public.exponent().to_vec())
}

fn private(session: &Session, label: &str) -> ObjectHandle {
    let template = [
        Attribute::Class(ObjectClass::PRIVATE_KEY),
        Attribute::Label(label.as_bytes().to_vec()),
    ];
    session.find_objects(&template).unwrap()[0]
}

fn labelled<'a>(keys: &'a [TokenKey], label: &str) -> &'a TokenKey {
    let found = keys.iter().find(|key| key.label() == label);
    found.unwrap_or_else(|| panic!("no key {label:?}: {keys:?}"))
}

fn held(device: &Arc<Pkcs11Device>, label: &str) -> RsaPrivateKey {
    device
        .key(labelled(&device.keys().unwrap(), label))
        .unwrap()
}

fn failure(opened: Result<Arc<Pkcs11Device>, DeviceError>) -> String {
    opened.map(drop).unwrap_err().0
}

fn sign_with(key: &RsaPrivateKey) {
    let rsa = Accelerator::builder().build().unwrap().rsa(key);
    let signature = rsa.sign(SCHEME, b"message").unwrap();
    rsa.public().verify(SCHEME, b"message", &signature).unwrap();
}
