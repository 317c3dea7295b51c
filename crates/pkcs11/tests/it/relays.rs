//! Relays that hang, lie, leave and come back.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cryptoki::context::Pkcs11;
use cryptoki::error::{Error, RvError};
use cryptoki::mechanism::eddsa::{EddsaParams, EddsaSignatureScheme};
use cryptoki::mechanism::rsa::{PkcsMgfType, PkcsOaepParams, PkcsOaepSource};
use cryptoki::mechanism::{Mechanism, MechanismType};
use cryptoki::object::{Attribute, ObjectClass};
use cryptoki::session::Session;
use oarlock_local::relay::{KeyList, Operation};
use oarlock_testing::noise;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept, bind,
    listen, recv, send, socket_with,
};

use crate::common::{Home, Keys, Relayed, home, initialized, is_over, object, session, write_key};

fn remote() -> Home {
    let home = Home::with(&["rsa", "p256", "ed25519", "ml-dsa-44"]);
    home.configure(&home.relay_token());
    home
}

fn device_error<T: std::fmt::Debug>(result: Result<T, Error>) {
    let is_it = matches!(result, Err(Error::Pkcs11(RvError::DeviceError, _)));
    assert!(is_it, "{result:?}");
}

fn mechanism_of(name: &str) -> Mechanism<'static> {
    match name {
        "rsa" => Mechanism::Sha256RsaPkcs,
        "p256" => Mechanism::EcdsaSha256,
        _ => Mechanism::Eddsa(EddsaParams::new(EddsaSignatureScheme::Ed25519)),
    }
}

fn sign(session: &Session, name: &str) -> Result<Vec<u8>, Error> {
    session.sign(
        &mechanism_of(name),
        object(session, ObjectClass::PRIVATE_KEY, name),
        b"message",
    )
}

#[test]
fn wrong_answers_are_not_passed_on() {
    if is_over(remote) {
        return;
    }
    let _relay = Relayed::with(
        &home(),
        Box::new(|keys, question, reply| {
            if question.operation == Operation::Keys {
                return keys.give(question, reply);
            }
            let mut answer = keys.answer(&question);
            // Of ECDSA the form alone is checked: a wrong signature reveals nothing.
            match question.key_id.as_str() {
                "p256" => answer.truncate(9),
                _ => answer[20] ^= 1,
            }
            reply.give(Ok(&answer));
        }),
    );
    let module = initialized();
    let session = session(&module, "remote");
    for name in ["rsa", "p256", "ed25519"] {
        device_error(sign(&session, name));
    }
    let private = object(&session, ObjectClass::PRIVATE_KEY, "rsa");
    // A number that is raised.
    device_error(session.sign(&Mechanism::RsaPkcs, private, &noise(36)));
}

/// The server refuses what its policy does not name, and the power of a number is enough for everything with RSA.
#[test]
fn a_key_whose_numbers_alone_may_be_raised_signs_and_decrypts() {
    if is_over(remote) {
        return;
    }
    let _relay = Relayed::with(
        &home(),
        Box::new(|keys, question, reply| match question.operation {
            Operation::Keys => {
                let mut listed = keys.listed();
                for key in &mut listed {
                    (key.rights.sign, key.rights.decrypt) = (false, false);
                }
                reply.give_keys(&KeyList::new(listed), &question.key_id);
            }
            Operation::RawPrivate(_) => keys.give(question, reply),
            _ => reply.give(Err("the policy does not allow it")),
        }),
    );
    let module = initialized();
    let session = session(&module, "remote");
    let private = object(&session, ObjectClass::PRIVATE_KEY, "rsa");
    let public = object(&session, ObjectClass::PUBLIC_KEY, "rsa");
    let digest_info = [
        b"\x30\x31\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\x00\x04\x20",
        &noise(32)[..],
    ]
    .concat();
    for (mechanism, data) in [
        (Mechanism::Sha224RsaPkcs, &b"message"[..]),
        (Mechanism::Sha256RsaPkcs, b"message"),
        (Mechanism::RsaPkcs, &digest_info),
        (Mechanism::RsaPkcs, b"message"),
    ] {
        let signature = session.sign(&mechanism, private, data).unwrap();
        session
            .verify(&mechanism, public, data, &signature)
            .unwrap();
    }
    let oaep = PkcsOaepParams::new(
        MechanismType::SHA256,
        PkcsMgfType::MGF1_SHA256,
        PkcsOaepSource::empty(),
    );
    let oaep = Mechanism::RsaPkcsOaep(oaep);
    let ciphertext = session.encrypt(&oaep, public, b"message").unwrap();
    let message = session.decrypt(&oaep, private, &ciphertext).unwrap();
    assert_eq!(message, b"message");
    // Other keys have no such power: nothing is left that a private half could do.
    let template = [
        Attribute::Class(ObjectClass::PRIVATE_KEY),
        Attribute::Label(b"p256".to_vec()),
    ];
    assert_eq!(session.find_objects(&template).unwrap(), []);
}

#[test]
fn a_relay_that_refuses_or_leaves_is_an_error_and_one_that_returns_is_asked_again() {
    if is_over(remote) {
        return;
    }
    let module = initialized();
    let slot = module.get_slots_with_token().unwrap()[0];
    device_error(module.open_ro_session(slot).map(drop));
    let relay = Relayed::honest(&home());
    let session = session(&module, "remote");
    sign(&session, "p256").unwrap();
    drop(relay);
    device_error(sign(&session, "p256"));
    let relay = Relayed::honest(&home());
    // The connection that was open is gone.
    sign(&session, "p256").unwrap();
    drop(relay);
    let _relay = Relayed::with(&home(), Box::new(|_, _, reply| reply.give(Err("no\nkey"))));
    device_error(sign(&session, "p256"));
    // The keys are those that were listed last.
    module.open_ro_session(slot).unwrap();
}

#[test]
fn a_relay_that_hangs_is_not_waited_for_long_and_holds_nobody_else() {
    if is_over(|| {
        let home = remote();
        home.configure(&format!("{}{}", home.files_token(""), home.relay_token()));
        home
    }) {
        return;
    }
    let kept = std::sync::Mutex::new(Vec::new());
    let _relay = Relayed::with(
        &home(),
        Box::new(move |keys, question, reply| match question.operation {
            Operation::Keys => keys.give(question, reply),
            _ => kept.lock().unwrap().push(reply),
        }),
    );
    let module = initialized();
    let (here, there) = (session(&module, "files"), session(&module, "remote"));
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let began = Instant::now();
            device_error(sign(&there, "p256"));
            assert!(began.elapsed() > Duration::from_secs(4));
            // The next one is not waited for.
            let began = Instant::now();
            device_error(sign(&there, "p256"));
            assert!(began.elapsed() < Duration::from_secs(1));
        });
        let began = Instant::now();
        for _ in 0..20 {
            sign(&here, "p256").unwrap();
        }
        assert!(began.elapsed() < Duration::from_secs(3));
    });
}

/// A false relay that answers each question with the next of some frames.
fn false_relay(home: &Path, frames: Vec<Vec<u8>>) {
    let path = home.join("relay.sock");
    let _ = std::fs::remove_file(&path);
    let flags = SocketFlags::CLOEXEC;
    let listener = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
    bind(&listener, &SocketAddrUnix::new(&path).unwrap()).unwrap();
    listen(&listener, 8).unwrap();
    std::thread::spawn(move || {
        for frame in frames {
            let connection = accept(&listener).unwrap();
            let mut question = [0; 4096];
            // The greeting, and the question.
            for _ in 0..2 {
                recv(&connection, &mut question[..], RecvFlags::empty()).unwrap();
            }
            let _ = send(&connection, &frame, SendFlags::NOSIGNAL);
        }
    });
}

#[test]
fn lists_that_are_none_give_no_session() {
    if is_over(remote) {
        return;
    }
    let frames = vec![
        vec![],
        vec![0],
        vec![0, 2],
        vec![0, 1],
        vec![0, 0, 255, b'a'],
        vec![0, 0, 1, b'a', 1, 255, 255, 0],
        vec![0, 0, 1, b'a', 200, 0, 1, 0],
        [vec![0], noise(5000)].concat(),
        [vec![0], noise(70_000)].concat(),
        vec![3; 10],
    ];
    let count = frames.len();
    false_relay(&home(), frames);
    let module: Pkcs11 = initialized();
    let slot = module.get_slots_with_token().unwrap()[0];
    for _ in 0..count {
        device_error(module.open_ro_session(slot).map(drop));
    }
}

/// No signature is by another key than the one that the object shows, and the session finds the new one.
#[test]
fn keys_that_are_rotated_under_a_session_sign_no_more_and_new_ones_are_found() {
    if is_over(remote) {
        return;
    }
    let is_rotated = Arc::new(AtomicBool::new(false));
    let later = Keys::of(&home());
    let names = ["p256", "rsa", "ed25519"];
    for name in names {
        write_key(&home().join(format!("keys/{name}.pem")), name);
    }
    let seen = Arc::clone(&is_rotated);
    let _relay = Relayed::with(
        &home(),
        Box::new(move |keys, question, reply| {
            let keys = if seen.load(Ordering::Acquire) {
                &later
            } else {
                keys
            };
            keys.give(question, reply);
        }),
    );
    let module = initialized();
    let session = session(&module, "remote");
    let before = names.map(|name| object(&session, ObjectClass::PRIVATE_KEY, name));
    for name in names {
        sign(&session, name).unwrap();
    }
    is_rotated.store(true, Ordering::Release);
    let mechanism = Mechanism::EcdsaSha256;
    device_error(session.sign(&mechanism, before[0], b"message"));
    std::thread::sleep(Duration::from_millis(1100));
    // The object is gone, and another one has its name.
    let gone = session.sign(&mechanism, before[0], b"message");
    let is_gone = matches!(gone, Err(Error::Pkcs11(RvError::KeyHandleInvalid, _)));
    assert!(is_gone, "{gone:?}");
    for (name, before) in names.into_iter().zip(before) {
        assert_ne!(object(&session, ObjectClass::PRIVATE_KEY, name), before);
        let signature = sign(&session, name).unwrap();
        let public = object(&session, ObjectClass::PUBLIC_KEY, name);
        session
            .verify(&mechanism_of(name), public, b"message", &signature)
            .unwrap();
    }
}

/// A key that is listed and is none is left out, and others are there.
#[test]
fn keys_that_are_none_are_left_out() {
    if is_over(remote) {
        return;
    }
    let _relay = Relayed::with(
        &home(),
        Box::new(|keys, question, reply| {
            let mut listed = keys.listed();
            for key in &mut listed {
                if key.key_id == "rsa" {
                    key.public_key.truncate(40);
                }
                key.rights.decrypt = true;
                key.rights.sign = key.key_id != "p256";
            }
            reply.give_keys(&KeyList::new(listed), &question.key_id);
        }),
    );
    let module = initialized();
    let session = session(&module, "remote");
    let found = session.find_objects(&[]).unwrap();
    // The keys of ML-DSA and Ed25519; certificates of p256 and rsa; p256 neither signs nor decrypts.
    assert_eq!(found.len(), 2 + 2 + 2);
}
