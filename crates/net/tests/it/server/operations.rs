//! Compares every operation with the same key in the library.

use std::sync::Arc;
use std::time::Duration;

use num_bigint::BigUint;
use oarlock::Accelerator;
use oarlock::device::PublicKeyRequest;
use oarlock::rsa::{EncryptionScheme, Hash, SignatureScheme};
use oarlock_net::client::{Client, Fallback, Operation, RemoteDevice, Settings};
use oarlock_net::proto;
use oarlock_net::server::Server;
use tonic::Code;
use zeroize::Zeroizing;

use super::host::{EVERYTHING, Home, call, key};

fn sign(key_id: &str, scheme: proto::SignatureScheme, digest: Vec<u8>) -> Operation {
    Operation::Sign(proto::Sign {
        key_id: key_id.into(),
        scheme: scheme.into(),
        digest,
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signatures_and_messages_are_those_of_the_library() {
    let home = Home::new(&["alice"]);
    let server = Server::start(home.config(EVERYTHING)).await.unwrap();
    let client = home.client("alice", &[&server]).await;
    let accelerator = Accelerator::builder().build().unwrap();
    for name in ["rsa2048", "rsa3072", "rsa4096"] {
        let key = key(name);
        let rsa = accelerator.rsa(&key);
        for (named, scheme, bytes) in [
            (
                proto::SignatureScheme::RsaPkcs1Sha256,
                SignatureScheme::Pkcs1(Hash::Sha256),
                32,
            ),
            (
                proto::SignatureScheme::RsaPkcs1Sha384,
                SignatureScheme::Pkcs1(Hash::Sha384),
                48,
            ),
            (
                proto::SignatureScheme::RsaPssSha512,
                SignatureScheme::Pss(Hash::Sha512),
                64,
            ),
        ] {
            let digest = vec![7; bytes];
            let signature = call(&client, sign(name, named, digest.clone()))
                .await
                .unwrap();
            rsa.public()
                .verify_digest(scheme, &digest, &signature)
                .unwrap();
            if let SignatureScheme::Pkcs1(_) = scheme {
                assert_eq!(signature, rsa.sign_digest(scheme, &digest).unwrap());
            }
        }
        let oaep = EncryptionScheme::Oaep {
            hash: Hash::Sha256,
            mgf1: Hash::Sha256,
            label: b"a label".to_vec(),
        };
        for (named, scheme, label) in [
            (
                proto::EncryptionScheme::RsaPkcs1,
                EncryptionScheme::Pkcs1,
                "",
            ),
            (proto::EncryptionScheme::RsaOaepSha256, oaep, "a label"),
        ] {
            let ciphertext = rsa.public().encrypt(&scheme, b"a message").unwrap();
            let decrypt = Operation::Decrypt(proto::Decrypt {
                key_id: name.into(),
                scheme: named.into(),
                ciphertext,
                label: label.into(),
                ..Default::default()
            });
            assert_eq!(call(&client, decrypt).await.unwrap(), b"a message");
        }
        let long_label = Operation::Decrypt(proto::Decrypt {
            key_id: name.into(),
            scheme: proto::EncryptionScheme::RsaOaepSha256.into(),
            ciphertext: vec![3; key.public_key().bytes()],
            label: vec![b'l'; 1025],
            ..Default::default()
        });
        let refused = call(&client, long_label).await.unwrap_err();
        assert!(
            refused.to_string().contains("the limit is 1024"),
            "{refused}"
        );
        let number = vec![3; key.public_key().bytes() - 1];
        let raw = Operation::RawPrivate(proto::RawPrivate {
            key_id: name.into(),
            number: number.clone(),
        });
        assert_eq!(
            call(&client, raw).await.unwrap(),
            **rsa.raw_private(&number).unwrap()
        );
    }
    let random = Operation::Random(proto::Random { bytes: 1000 });
    let [one, other] = [
        call(&client, random.clone()).await.unwrap(),
        call(&client, random).await.unwrap(),
    ];
    assert_eq!((one.len(), other.len()), (1000, 1000));
    assert_ne!(one, other);
    assert_eq!(server.stop().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_at_once_are_each_answered_with_their_own() {
    let home = Home::new(&["alice"]);
    let server = Server::start(home.config(EVERYTHING)).await.unwrap();
    let client = home.client("alice", &[&server]).await;
    let mut waiting = tokio::task::JoinSet::new();
    for number in 0..200u8 {
        let client = client.clone();
        waiting.spawn(async move {
            let name = ["rsa2048", "rsa3072"][usize::from(number % 2)];
            let raw = Operation::RawPrivate(proto::RawPrivate {
                key_id: name.into(),
                number: vec![number],
            });
            (number, name, call(&client, raw).await.unwrap())
        });
    }
    let accelerator = Accelerator::builder().build().unwrap();
    while let Some(done) = waiting.join_next().await {
        let (number, name, result) = done.unwrap();
        let public = accelerator.rsa_public(key(name).public_key());
        let back = public.raw_public(&result).unwrap();
        assert_eq!(back.last(), Some(&number));
        assert!(back[..back.len() - 1].iter().all(|byte| *byte == 0));
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_are_listed_as_far_as_they_are_allowed() {
    let home = Home::new(&["alice", "bob", "mallory"]);
    let clients = "[[client]]\nidentity = \"alice\"\nkeys = [\"rsa2*\"]\noperations = [\"sign\", \"list\"]\n\
                   [[client]]\nidentity = \"bob\"\nkeys = [\"*\"]\noperations = [\"raw_private\"]\n";
    let server = Server::start(home.config(clients)).await.unwrap();
    let alice = home.client("alice", &[&server]).await;
    let listed = alice.list_keys().await.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!((&listed[0].id[..], listed[0].bits), ("rsa2048", 2048));
    assert_eq!(listed[0].permissions, [proto::Permission::Sign as i32]);
    let public = oarlock::rsa::RsaPublicKey::from_der(&listed[0].public_key).unwrap();
    assert_eq!(&public, key("rsa2048").public_key());

    let scheme = proto::SignatureScheme::RsaPkcs1Sha256;
    let code_of = |result: Result<Vec<u8>, oarlock_net::client::ClientError>| {
        result.map_err(|error| error.code)
    };
    assert!(
        call(&alice, sign("rsa2048", scheme, vec![0; 32]))
            .await
            .is_ok()
    );
    for operation in [
        sign("rsa3072", scheme, vec![0; 32]),
        sign("no such key", scheme, vec![0; 32]),
        Operation::RawPrivate(proto::RawPrivate {
            key_id: "rsa2048".into(),
            number: vec![1],
        }),
        Operation::Random(proto::Random { bytes: 1 }),
    ] {
        assert_eq!(
            code_of(call(&alice, operation).await),
            Err(Code::PermissionDenied)
        );
    }
    let bob = home.client("bob", &[&server]).await;
    assert_eq!(
        bob.list_keys().await.unwrap_err().code,
        Code::PermissionDenied
    );
    let raw = |key_id: &str| {
        Operation::RawPrivate(proto::RawPrivate {
            key_id: key_id.into(),
            number: vec![1],
        })
    };
    assert!(call(&bob, raw("rsa4096")).await.is_ok());
    assert_eq!(
        code_of(call(&bob, raw("nothing")).await),
        Err(Code::NotFound)
    );

    let mallory = oarlock_net::client::Client::new(home.settings("mallory", &[&server])).unwrap();
    let refused = mallory
        .ready(std::time::Duration::from_secs(2))
        .await
        .unwrap_err();
    assert!(refused.message.contains("mallory"), "{}", refused.message);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn numbers_of_the_clients_own_in_any_form() {
    let home = Home::new(&["alice"]);
    let server = Server::start(home.config(EVERYTHING)).await.unwrap();
    let client = home.client("alice", &[&server]).await;
    let (modulus, exponent) = (
        [&[0x91][..], &[0x55; 126], &[0x13]].concat(),
        vec![0xb7; 200],
    );
    for is_negative in [false, true] {
        for (base, name) in [
            (vec![5; 16], "short"),
            (vec![0xee; 300], "long"),
            (vec![], "zero"),
        ] {
            for order in [proto::ByteOrder::BigEndian, proto::ByteOrder::LittleEndian] {
                let own = match order {
                    proto::ByteOrder::BigEndian => oarlock::rsa::ByteOrder::BigEndian,
                    proto::ByteOrder::LittleEndian => oarlock::rsa::ByteOrder::LittleEndian,
                };
                let accelerator = Accelerator::builder().build().unwrap();
                let signed = oarlock::rsa::Base {
                    magnitude: &base[..],
                    is_negative,
                };
                // In little-endian order the modulus would be even.
                let mut turned = modulus.clone();
                if order == proto::ByteOrder::LittleEndian {
                    turned.reverse();
                }
                let expected = accelerator.modexp(&turned, own).unwrap();
                let expected = expected.power(signed, &exponent).unwrap();
                let asked = Operation::ModExp(proto::ModExp {
                    base: base.clone(),
                    base_is_negative: is_negative,
                    exponent: exponent.clone(),
                    modulus: turned,
                    byte_order: order.into(),
                    crt: None,
                });
                let result = call(&client, asked).await.unwrap();
                assert_eq!(result, **expected, "{name} {is_negative} {order:?}");
            }
        }
    }
    // The longest base.
    for (bytes, is_fine) in [(8192, true), (8193, false)] {
        let base = vec![0xd3; bytes];
        let asked = Operation::ModExp(proto::ModExp {
            base: base.clone(),
            base_is_negative: false,
            exponent: vec![3],
            modulus: modulus.clone(),
            byte_order: 0,
            crt: None,
        });
        match call(&client, asked).await {
            Ok(result) => {
                let number = BigUint::from_bytes_be(&base);
                let modulus = BigUint::from_bytes_be(&modulus);
                let expected = number.modpow(&BigUint::from(3u8), &modulus);
                assert!(
                    is_fine && BigUint::from_bytes_be(&result) == expected,
                    "{bytes}"
                );
            }
            Err(error) => {
                assert!(!is_fine && error.code == Code::InvalidArgument, "{error:?}");
                assert!(error.message.contains("the base has 8193 bytes"), "{error}");
                assert!(error.message.contains("the limit is 8192"), "{error}");
            }
        }
    }
    // A longer exponent would occupy a device in proportion.
    for (bytes, is_fine) in [(256, true), (257, false), (8192, false)] {
        let asked = Operation::ModExp(proto::ModExp {
            base: vec![2],
            exponent: vec![1; bytes],
            modulus: modulus.clone(),
            base_is_negative: false,
            byte_order: 0,
            crt: None,
        });
        match call(&client, asked).await {
            Ok(_) => assert!(is_fine, "{bytes}"),
            Err(error) => {
                assert!(!is_fine && error.code == Code::InvalidArgument, "{error:?}");
                assert!(error.message.contains("exponent"), "{}", error.message);
            }
        }
    }
    for (what, modulus) in [
        ("even", vec![4; 128]),
        ("zero", vec![0; 128]),
        ("bits", vec![0xff; 513]),
    ] {
        let asked = Operation::ModExp(proto::ModExp {
            base: vec![2],
            exponent: vec![3],
            modulus,
            base_is_negative: false,
            byte_order: 0,
            crt: None,
        });
        let error = call(&client, asked).await.unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument);
        assert!(error.message.contains(what), "{what}: {}", error.message);
    }
    server.stop().await;
}

/// Uses the keys of servers like the library's own, from code without a runtime.
#[test]
fn remote_keys_are_keys_like_any_other() {
    let home = Home::new(&["alice"]);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let server = runtime
        .block_on(Server::start(home.config(EVERYTHING)))
        .unwrap();
    let device = RemoteDevice::connect("rack", home.settings("alice", &[&server])).unwrap();
    let keys = device.keys().unwrap();
    let ids: Vec<_> = keys.iter().map(|(id, _)| &id[..]).collect();
    assert_eq!(ids, ["rsa1024", "rsa2048", "rsa3072", "rsa4096"]);
    let accelerator = Accelerator::builder().build().unwrap();
    let scheme = SignatureScheme::Pkcs1(Hash::Sha256);
    for (id, remote) in &keys {
        let (remote, local) = (accelerator.rsa(remote), accelerator.rsa(&key(id)));
        assert_eq!(
            remote.sign(scheme, b"m").unwrap(),
            local.sign(scheme, b"m").unwrap()
        );
        let ciphertext = local
            .public()
            .encrypt(&EncryptionScheme::Pkcs1, b"m")
            .unwrap();
        assert_eq!(
            **remote
                .decrypt(&EncryptionScheme::Pkcs1, &ciphertext)
                .unwrap(),
            *b"m"
        );
        // Concurrent requests go out in batches.
        let jobs: Vec<_> = (0..40u8)
            .map(|number| {
                remote
                    .submit_sign(scheme, vec![number], Default::default())
                    .unwrap()
            })
            .collect();
        for (number, job) in (0..40u8).zip(jobs) {
            assert_eq!(job.wait().unwrap(), local.sign(scheme, &[number]).unwrap());
        }
    }
    let request = PublicKeyRequest::sign(&keys[1].1, scheme, b"m").unwrap();
    assert!(format!("{request:?}").contains("rack"));
    runtime.block_on(server.stop());
}

/// A fallback that computes with a local key.
struct Here;

impl Fallback for Here {
    fn compute(&self, operation: &Operation) -> Option<Result<Zeroizing<Vec<u8>>, String>> {
        let Operation::RawPrivate(raw) = operation else {
            return None;
        };
        let accelerator = Accelerator::builder().max_threads(0).build().unwrap();
        let rsa = accelerator.rsa(&key(&raw.key_id));
        Some(
            rsa.raw_private(&raw.number)
                .map_err(|error| error.to_string()),
        )
    }
}

#[tokio::test]
async fn what_no_server_can_be_asked_for_is_computed_here_if_that_is_allowed() {
    // Nothing listens there: the port belonged to a socket that is closed again.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let server = port.local_addr().unwrap().to_string();
    drop(port);
    let settings = Settings {
        fallback: Some(Arc::new(Here)),
        timeout: Duration::from_secs(1),
        ..Settings::new(vec![server.clone()], None)
    };
    let raw = Operation::RawPrivate(proto::RawPrivate {
        key_id: "rsa2048".into(),
        number: vec![3],
    });
    let client = Client::new(settings.clone()).unwrap();
    let result = call(&client, raw.clone()).await.unwrap();
    let accelerator = Accelerator::builder().build().unwrap();
    let back = accelerator.rsa_public(key("rsa2048").public_key());
    assert_eq!(back.raw_public(&result).unwrap().last(), Some(&3));
    // An operation that cannot be computed here either, and a client without a fallback.
    let random = Operation::Random(proto::Random { bytes: 1 });
    let alone = Settings {
        fallback: None,
        ..settings
    };
    for (client, operation) in [(client, random), (Client::new(alone).unwrap(), raw)] {
        let error = call(&client, operation).await.unwrap_err();
        let is_told = matches!(error.code, Code::Unavailable | Code::DeadlineExceeded);
        assert!(is_told, "{error:?}");
    }
}
