//! Each type of key: made, used by an ordinary client, rotated, disabled, and there after a restart.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use age_core::format::FileKey;
use oarlock::Accelerator;
use oarlock::keys::PublicKey;
use oarlock::rsa::{EncryptionScheme, Hash, RsaPublicKey};
use oarlock_net::client::{CallOptions, Operation};
use oarlock_net::proto::{
    self, Ciphertext, KeyType, MacOf, Permission, Plaintext, SignatureScheme,
};
use oarlock_recipients::hybrid;
use sha2::{Digest as _, Sha256};
use tonic::Code;

use super::super::host::call;
use super::{OPTIONS, Served, input, is_by, names, sign};

/// The types that sign, with a scheme and the bits that the list has.
const SIGNERS: [(KeyType, SignatureScheme, u32); 10] = [
    (KeyType::Rsa2048, SignatureScheme::RsaPssSha256, 2048),
    (KeyType::Rsa3072, SignatureScheme::RsaPssSha384, 3072),
    (KeyType::Rsa4096, SignatureScheme::RsaPkcs1Sha512, 4096),
    (KeyType::P256, SignatureScheme::EcdsaP256Sha256, 256),
    (KeyType::P384, SignatureScheme::EcdsaP384Sha384, 384),
    (KeyType::P521, SignatureScheme::EcdsaP521Sha512, 521),
    (KeyType::Ed25519, SignatureScheme::Ed25519, 253),
    (KeyType::MlDsa44, SignatureScheme::MlDsa44, 0),
    (KeyType::MlDsa65, SignatureScheme::MlDsa65, 0),
    (KeyType::MlDsa87, SignatureScheme::MlDsa87, 0),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_that_sign_are_made_rotated_and_kept() {
    let mut served = Served::start().await;
    let mut made = Vec::new();
    for (key_type, scheme, bits) in SIGNERS {
        let id = key_type.as_str_name().to_lowercase();
        let first = served.create(&id, key_type).await.unwrap();
        assert_eq!((&first.id, first.version, first.bits), (&id, 1, bits));
        let signature = sign(&served.user, &id, scheme).await.unwrap();
        assert!(is_by(&first.public_key, scheme, &signature), "{id}");
        let path = served.keys().join(format!("{id}.pem"));
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);

        let second = served.rotate(&id, 1).await.unwrap();
        assert_eq!((second.version, second.bits), (2, bits));
        assert_ne!(second.public_key, first.public_key);
        let signature = sign(&served.user, &id, scheme).await.unwrap();
        assert!(is_by(&second.public_key, scheme, &signature), "{id}");
        assert!(!is_by(&first.public_key, scheme, &signature), "{id}");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        made.push((id, scheme, first, second));
    }
    let hidden = names(&served.keys())
        .into_iter()
        .filter(|name| name.starts_with('.'));
    assert_eq!(hidden.count(), 0);
    served = served.restart().await;
    for (id, scheme, first, second) in made {
        let listed = served.listed(&id).await.unwrap();
        assert_eq!((listed.version, listed.disabled), (2, false));
        assert_eq!(listed.public_key, second.public_key);
        assert_eq!(
            listed.older,
            [proto::OlderVersion {
                version: 1,
                public_key: first.public_key
            }]
        );
        let signature = sign(&served.user, &id, scheme).await.unwrap();
        assert!(is_by(&second.public_key, scheme, &signature), "{id}");
    }
    served.server.stop().await;
}

/// Covers a key that its operator made, too: it becomes version 1.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_version_of_an_rsa_key_decrypts_and_unwraps() {
    let served = Served::start().await;
    let accelerator = Accelerator::builder().build().unwrap();
    served.create("web", KeyType::Rsa2048).await.unwrap();
    for id in ["web", "rsa3072"] {
        let before = served.listed(id).await.unwrap();
        assert_eq!(before.version, 1, "{id}");
        let after = served.rotate(id, 1).await.unwrap();
        for (version, public_key) in [(1, &before.public_key), (2, &after.public_key)] {
            let key = RsaPublicKey::from_der(public_key).unwrap();
            let public = accelerator.rsa_public(&key);
            let scheme = EncryptionScheme::Oaep {
                hash: Hash::Sha256,
                mgf1: Hash::Sha256,
                label: Vec::new(),
            };
            let ciphertext = public.encrypt(&scheme, b"a message").unwrap();
            let decrypt = |key_version| {
                Operation::Decrypt(proto::Decrypt {
                    key_id: id.into(),
                    scheme: proto::EncryptionScheme::RsaOaepSha256.into(),
                    ciphertext: ciphertext.clone(),
                    key_version,
                    ..Default::default()
                })
            };
            assert_eq!(
                call(&served.user, decrypt(version)).await.unwrap(),
                b"a message"
            );
            let newest = call(&served.user, decrypt(0)).await;
            assert_eq!(newest.is_ok(), version == 2);
            let other = call(&served.user, decrypt(3 - version)).await.unwrap_err();
            assert_eq!(other.code, Code::InvalidArgument);
            let none = call(&served.user, decrypt(3)).await.unwrap_err();
            assert!(none.message.contains("has no version 3"), "{none}");

            // Stanzas name their key, so they need no version.
            let recipient: age::ssh::Recipient = ssh_line(&served, public_key).parse().unwrap();
            assert!(is_unwrapped(&served, id, &recipient).await);
        }
    }
    // Without the older version, its stanzas are for another key.
    let foreign = age::x25519::Identity::generate().to_public();
    assert!(!is_unwrapped(&served, "web", &foreign).await);
    served.server.stop().await;
}

/// A client that says which public half it means gets no signature by another key.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_may_say_which_public_half_it_means() {
    let served = Served::start().await;
    let meaning = |public_key: &[u8]| CallOptions {
        public_key_sha256: Some(Sha256::digest(public_key).into()),
        ..OPTIONS
    };
    for (key_type, scheme) in [
        (KeyType::P256, SignatureScheme::EcdsaP256Sha256),
        (KeyType::MlDsa44, SignatureScheme::MlDsa44),
        (KeyType::Rsa2048, SignatureScheme::RsaPssSha256),
    ] {
        let id = key_type.as_str_name().to_lowercase();
        let first = served.create(&id, key_type).await.unwrap().public_key;
        let asked = || {
            Operation::Sign(proto::Sign {
                key_id: id.clone(),
                scheme: scheme.into(),
                digest: input(scheme),
            })
        };
        served.user.call(asked(), meaning(&first)).await.unwrap();
        let second = served.rotate(&id, 1).await.unwrap().public_key;
        let refused = served.user.call(asked(), meaning(&first)).await;
        let refused = refused.unwrap_err();
        assert_eq!(refused.code, Code::FailedPrecondition, "{refused}");
        assert!(refused.message.contains("rotated"), "{refused}");
        let signature = served.user.call(asked(), meaning(&second)).await.unwrap();
        assert!(is_by(&second, scheme, &signature), "{id}");
        if key_type != KeyType::Rsa2048 {
            continue;
        }
        // Older versions decrypt, and need no number then.
        let accelerator = Accelerator::builder().build().unwrap();
        let scheme = EncryptionScheme::Oaep {
            hash: Hash::Sha256,
            mgf1: Hash::Sha256,
            label: Vec::new(),
        };
        for (version, public_key) in [(1, &first), (2, &second)] {
            let key = RsaPublicKey::from_der(public_key).unwrap();
            let ciphertext = accelerator.rsa_public(&key).encrypt(&scheme, b"a message");
            let ciphertext = ciphertext.unwrap();
            let decrypt = |key_version, meant: &[u8]| {
                let operation = Operation::Decrypt(proto::Decrypt {
                    key_id: id.clone(),
                    scheme: proto::EncryptionScheme::RsaOaepSha256.into(),
                    ciphertext: ciphertext.clone(),
                    key_version,
                    ..Default::default()
                });
                served.user.call(operation, meaning(meant))
            };
            for number in [0, version] {
                let message = decrypt(number, public_key).await.unwrap();
                assert_eq!(*message, *b"a message");
            }
            let none = decrypt(3 - version, public_key).await.unwrap_err();
            assert_eq!(none.code, Code::FailedPrecondition);
            let none = decrypt(0, b"another").await.unwrap_err();
            assert_eq!(none.code, Code::FailedPrecondition);
        }
    }
    served.server.stop().await;
}

/// Returns the public half of an RSA key as OpenSSH writes it.
fn ssh_line(served: &Served, public_key: &[u8]) -> String {
    let path = served.home.path().join("public.pem");
    let key = PublicKey::from_bytes(public_key).unwrap();
    fs::write(&path, key.to_spki_pem().unwrap()).unwrap();
    let mut command = Command::new("ssh-keygen");
    command.args(["-i", "-m", "PKCS8", "-f"]).arg(&path);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Whether the server unwraps a file key for a recipient.
async fn is_unwrapped(served: &Served, id: &str, recipient: &dyn age::Recipient) -> bool {
    let file_key = FileKey::new(Box::new([9; 16]));
    let stanza = recipient.wrap_file_key(&file_key).unwrap().0.remove(0);
    let stanzas = vec![proto::Stanza {
        tag: stanza.tag,
        arguments: stanza.args,
        body: stanza.body,
    }];
    let keys = served.user.unwrap(id, stanzas, OPTIONS).await.unwrap();
    match keys.into_iter().next().unwrap() {
        Ok(key) => *key == [9; 16],
        Err(error) => {
            assert_eq!(error.code, Code::InvalidArgument, "{error}");
            false
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn identities_of_age_open_what_was_encrypted_to_any_version() {
    let served = Served::start().await;
    for (id, key_type) in [
        ("x25519", KeyType::AgeX25519),
        ("hybrid", KeyType::AgeHybrid),
    ] {
        let first = served.create(id, key_type).await.unwrap();
        assert_eq!(first.version, 1);
        let second = served.rotate(id, 1).await.unwrap();
        assert_eq!(second.version, 2);
        assert_ne!(first.recipient, second.recipient);
        for text in [first.recipient, second.recipient] {
            let recipient: Box<dyn age::Recipient> = match text.starts_with("age1pq1") {
                true => Box::new(text.parse::<hybrid::Recipient>().unwrap()),
                false => Box::new(text.parse::<age::x25519::Recipient>().unwrap()),
            };
            assert_eq!(text.starts_with("age1pq1"), id == "hybrid");
            assert!(is_unwrapped(&served, id, &*recipient).await);
        }
        // Other programs read the file, too.
        let path = served.keys().join(format!("{id}.key"));
        let text = fs::read_to_string(path).unwrap();
        let secrets = text
            .lines()
            .filter(|line| line.starts_with("AGE-SECRET-KEY-"));
        assert_eq!(secrets.count(), 2);
    }
    served.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secret_keys_open_and_verify_by_any_version() {
    let served = Served::start().await;
    let first = served.create("cards", KeyType::A256gcm).await.unwrap();
    assert_eq!((&first.algorithm[..], first.version), ("A256GCM", 1));
    assert!(first.public_key.is_empty());
    let mut sealed = Vec::new();
    for version in 1..=3 {
        let plaintext = Plaintext {
            plaintext: b"4111".to_vec(),
            associated_data: Vec::new(),
        };
        let made = served.user.seal("cards", vec![plaintext], OPTIONS).await;
        let made = made.unwrap().remove(0).unwrap();
        assert_eq!(made.key_version, version);
        sealed.push(made.bytes.to_vec());
        let rotated = served.rotate("cards", version).await.unwrap();
        assert_eq!(rotated.version, version + 1);
    }
    for (key_type, name, bytes) in [
        (KeyType::Hs256, "HS256", 32),
        (KeyType::Hs384, "HS384", 48),
        (KeyType::Hs512, "HS512", 64),
    ] {
        let made = served.create(name, key_type).await.unwrap();
        assert_eq!(made.algorithm, name);
        let message = b"a message".to_vec();
        let mac = served.user.mac(name, vec![message.clone()], OPTIONS).await;
        let mac = mac.unwrap().remove(0).unwrap();
        assert_eq!((mac.key_version, mac.bytes.len()), (1, bytes));
        served.rotate(name, 1).await.unwrap();
        let of = |key_version| MacOf {
            message: message.clone(),
            mac: mac.bytes.to_vec(),
            key_version,
        };
        let macs = vec![of(1), of(0), of(2)];
        let verified = served.user.verify_macs(name, macs, OPTIONS).await.unwrap();
        let verified: Vec<_> = verified.iter().map(Result::is_ok).collect();
        assert_eq!(verified, [true, false, false]);
    }
    let served = served.restart().await;
    assert_eq!(served.listed("cards").await.unwrap().version, 4);
    let ciphertexts = sealed.into_iter().map(|ciphertext| Ciphertext {
        ciphertext,
        associated_data: Vec::new(),
    });
    let opened = served
        .user
        .open("cards", ciphertexts.collect(), OPTIONS)
        .await;
    for (version, opened) in (1..).zip(opened.unwrap()) {
        let opened = opened.unwrap();
        assert_eq!(
            (opened.key_version, &opened.bytes[..]),
            (version, &b"4111"[..])
        );
    }
    served.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disabled_key_is_refused_and_listed_until_it_is_enabled() {
    const SCHEME: SignatureScheme = SignatureScheme::EcdsaP256Sha256;
    let mut served = Served::start().await;
    let made = served.create("web", KeyType::P256).await.unwrap();
    let all = [Permission::Rotate, Permission::Disable, Permission::Enable];
    assert_eq!(made.permissions, all.map(i32::from));
    let usable = served.listed("web").await.unwrap();
    assert_eq!(usable.permissions, [i32::from(Permission::Sign)]);
    for round in 0..2 {
        // It may be repeated.
        for _ in 0..2 {
            let disabled = served.admin.disable_key("web", OPTIONS).await.unwrap();
            assert!(disabled.disabled && disabled.version == 1);
        }
        let refused = sign(&served.user, "web", SCHEME).await.unwrap_err();
        assert_eq!(refused.code, Code::FailedPrecondition);
        assert!(refused.message.contains("disabled"), "{refused}");
        let listed = served.listed("web").await.unwrap();
        assert!(listed.disabled && listed.permissions.is_empty());
        assert_eq!(listed.public_key, made.public_key);
        let refused = served.rotate("web", 1).await.unwrap_err();
        assert_eq!(refused.code, Code::FailedPrecondition);
        let refused = served.create("web", KeyType::P256).await.unwrap_err();
        assert_eq!(refused.code, Code::AlreadyExists);
        assert!(names(&served.keys()).contains(&"web.pem.disabled".to_owned()));
        if round == 0 {
            served = served.restart().await;
            let refused = sign(&served.user, "web", SCHEME).await.unwrap_err();
            assert_eq!(refused.code, Code::FailedPrecondition);
        }
        for _ in 0..2 {
            let enabled = served.admin.enable_key("web", OPTIONS).await.unwrap();
            assert!(!enabled.disabled);
        }
        let signature = sign(&served.user, "web", SCHEME).await.unwrap();
        assert!(is_by(&made.public_key, SCHEME, &signature));
    }
    served.server.stop().await;
}
