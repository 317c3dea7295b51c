//! Tokens and modules: opened, pulled out, shared, forked.
#![allow(unsafe_code)]

use oarlock::device::{Pkcs11Device, Pkcs11Options, PublicKeyRequest, TokenName, complete};
use zeroize::Zeroizing;

use super::{PIN, SCHEME, create, each, each_pullable, held, pin, sign_with, usage};
use crate::child::{end_of, fork, leave};
use crate::common::keys::{RSA1024, RSA2048};
use crate::common::{accelerator, failure};

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
        let refusal = failure(Pkcs11Device::open(options));
        assert!(
            refusal.contains("PIN") && refusal.contains("CKR_PIN_INCORRECT"),
            "{refusal}"
        );
        assert!(!refusal.contains(wrong), "{refusal}");
        assert_eq!(bench.logins(), before + 1);

        // The PIN was right once; then it is changed, and the token is pulled out and returns.
        let device = bench.open("locked").unwrap();
        let rsa = accelerator().rsa(&held(&device, "key"));
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
            // Only signing: when kryoptic fails to decrypt, it closes its session, and the login ends with the last session.
            create(session, RSA2048, &usage(&[1], "key", false, true));
        });
        let device = bench.open("card").unwrap();
        let rsa = accelerator().rsa(&held(&device, "key"));
        let signature = rsa.sign(SCHEME, b"message").unwrap();
        for _ in 0..3 {
            bench.pull();
            for _ in 0..2 {
                let said = rsa.sign(SCHEME, b"message").unwrap_err().to_string();
                assert!(said.contains("no token with label \"card\""), "{said}");
                assert!(said.contains("there are none"), "{said}");
            }
            let listing = failure(device.keys());
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
        let rsa = accelerator().rsa(&held(&device, "key"));
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
            let said = failure(bench.open_as(token, PIN));
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
        let error = failure(Pkcs11Device::open(options));
        assert!(error.starts_with(&module.display().to_string()), "{error}");
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn devices_on_one_module_do_not_disturb_each_other() {
    each(|bench| {
        bench.make_token("left", PIN, |session| {
            create(session, RSA2048, &usage(&[1], "key", true, true));
        });
        if !bench.is_softhsm() {
            // kryoptic has the tokens that its configuration names: one here.
            let [first, second] = [0, 1].map(|_| bench.open("left").unwrap());
            let keys = [held(&first, "key"), held(&second, "key")];
            drop(first);
            sign_with(&keys[0]);
            sign_with(&keys[1]);
            return;
        }
        bench.make_token("right", "another-pin", |session| {
            create(session, RSA1024, &usage(&[1], "key", true, true));
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
        // A session is logged in, so the token itself would not check the PIN.
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
        // SAFETY: the child gets only refusals, as is being tested, and leaves.
        let child = unsafe { fork() };
        if child == 0 {
            leave(i32::from(!is_told()));
        }
        assert_eq!(end_of(child), 0);
        sign_with(&key);
    });
}
