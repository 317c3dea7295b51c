//! Signatures with keys other than RSA.

use oarlock::keys::{Curve, KeyType, MlDsa, PublicKey};
use oarlock_net::client::{Client, Operation};
use oarlock_net::proto::{self, SignatureScheme};
use oarlock_net::server::Server;
use tonic::Code;

use super::host::{EVERYTHING, Home, call};

fn sign(key_id: &str, scheme: i32, input: &[u8]) -> Operation {
    Operation::Sign(proto::Sign {
        key_id: key_id.into(),
        scheme,
        digest: input.to_vec(),
    })
}

/// The key types with their schemes.
const TYPES: [(KeyType, SignatureScheme); 7] = [
    (KeyType::Ec(Curve::P256), SignatureScheme::EcdsaP256Sha256),
    (KeyType::Ec(Curve::P384), SignatureScheme::EcdsaP384Sha384),
    (KeyType::Ec(Curve::P521), SignatureScheme::EcdsaP521Sha512),
    (KeyType::Ed25519, SignatureScheme::Ed25519),
    (KeyType::MlDsa(MlDsa::MlDsa44), SignatureScheme::MlDsa44),
    (KeyType::MlDsa(MlDsa::MlDsa65), SignatureScheme::MlDsa65),
    (KeyType::MlDsa(MlDsa::MlDsa87), SignatureScheme::MlDsa87),
];

/// Starts a server with a key of each of these types, whose ID is the type's name.
async fn served(home: &Home, more: &str) -> (Server, Client, Vec<PublicKey>) {
    let keys = TYPES.map(|(key_type, _)| home.add_key(key_type.name(), key_type));
    let config = home.config(&format!("{EVERYTHING}{more}"));
    let server = Server::start(config).await.unwrap();
    let client = home.client("alice", &[&server]).await;
    (server, client, keys.to_vec())
}

/// Returns inputs of a scheme: digests, or messages of different lengths.
fn inputs(scheme: SignatureScheme) -> Vec<Vec<u8>> {
    match scheme.meaning().unwrap().1.hash() {
        Some(hash) => vec![vec![7; hash.bytes()], vec![0; hash.bytes()]],
        None => vec![vec![], b"a message".to_vec(), vec![7; 65_536]],
    }
}

fn verify(key: &PublicKey, scheme: SignatureScheme, input: &[u8], signature: &[u8]) {
    let (_, scheme) = scheme.meaning().unwrap();
    let verified = match scheme.hash() {
        Some(_) => key.verify_digest(&scheme, input, signature),
        None => key.verify(&scheme, input, signature),
    };
    verified.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_of_every_type_sign() {
    let home = Home::new(&["alice"]);
    let (server, client, keys) = served(&home, "").await;
    for ((key_type, scheme), key) in TYPES.iter().zip(&keys) {
        for input in inputs(*scheme) {
            let asked = sign(key_type.name(), (*scheme).into(), &input);
            let signature = call(&client, asked).await.unwrap();
            verify(key, *scheme, &input, &signature);
        }
    }
    assert_eq!(server.stop().await, 0);
}

/// Covers a server whose only device is a board, which computes powers alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_a_device_of_this_machine_says_what_it_lacks() {
    let home = Home::new(&["alice"]);
    let board = "[[device]]\nkind = \"simulated\"\ncoprocessors = 2\nlatency_ms = 0.1\n";
    let (server, client, _) = served(&home, board).await;
    let rsa = sign("rsa2048", SignatureScheme::RsaPkcs1Sha256.into(), &[7; 32]);
    assert!(call(&client, rsa).await.is_ok());
    for (key_type, scheme) in TYPES {
        let asked = sign(key_type.name(), scheme.into(), &inputs(scheme)[0]);
        let error = call(&client, asked).await.unwrap_err();
        assert_eq!(error.code, Code::Unimplemented);
        let expected = format!("signs with {} keys", key_type.name());
        assert!(error.message.contains(&expected), "{}", error.message);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scheme_that_does_not_fit_the_key_is_refused_with_both_names() {
    let home = Home::new(&["alice"]);
    let (server, client, _) = served(&home, "").await;
    let refused = async |operation| {
        let error = call(&client, operation).await.unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument, "{}", error.message);
        error.message
    };
    let all = TYPES.map(|(key_type, _)| key_type.name());
    for key in all.into_iter().chain(["rsa2048"]) {
        for scheme in SignatureScheme::ALL {
            let (fits, _) = scheme.meaning().unwrap();
            let is_own = fits.name() == key || fits == KeyType::Rsa && key == "rsa2048";
            if !is_own {
                let said = refused(sign(key, scheme.into(), &inputs(scheme)[0])).await;
                let own = if key == "rsa2048" { "RSA" } else { key };
                let expected = format!(
                    "{} signs with keys of {fits}, and key \"{key}\" is one of {own}",
                    scheme.as_str_name()
                );
                assert_eq!(said, expected);
            }
        }
        for unknown in [0, 14, -1, i32::MAX] {
            let said = refused(sign(key, unknown, &[7; 32])).await;
            assert_eq!(
                said,
                format!("signature scheme {unknown} is unknown to this server")
            );
        }
    }
    for (key_type, scheme) in TYPES {
        let key_id = key_type.name().to_owned();
        let input = &inputs(scheme)[0];
        let longer = match scheme.meaning().unwrap().1.hash() {
            Some(_) => [&input[..], &[0]].concat(),
            None => vec![0; 65_537],
        };
        let said = refused(sign(&key_id, scheme.into(), &longer)).await;
        assert!(
            said.contains(&format!("of {} bytes", longer.len())),
            "{said}"
        );
        let raw = Operation::RawPrivate(proto::RawPrivate {
            key_id: key_id.clone(),
            number: vec![2],
        });
        let decrypt = Operation::Decrypt(proto::Decrypt {
            key_id: key_id.clone(),
            scheme: proto::EncryptionScheme::RsaOaepSha256.into(),
            ciphertext: vec![2; 256],
            ..Default::default()
        });
        for (name, operation) in [("raw_private", raw), ("decrypt", decrypt)] {
            let said = refused(operation).await;
            let expected = format!(
                "{name} takes RSA keys, and key \"{key_id}\" is one of {key_id}, which only signs"
            );
            assert_eq!(said, expected);
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_are_listed_with_their_type_and_the_right_to_sign_alone() {
    let home = Home::new(&["alice"]);
    let (server, client, keys) = served(&home, "").await;
    let listed = client.list_keys().await.unwrap();
    let bits = [256, 384, 521, 253, 0, 0, 0];
    for (((key_type, _), key), bits) in TYPES.iter().zip(&keys).zip(bits) {
        let found = listed.iter().find(|one| one.id == key_type.name()).unwrap();
        assert_eq!(PublicKey::from_bytes(&found.public_key).as_ref(), Ok(key));
        assert_eq!((found.bits, &found.device[..]), (bits, ""), "{key_type}");
        assert_eq!(found.permissions, [proto::Permission::Sign as i32]);
    }
    let rsa = listed.iter().find(|one| one.id == "rsa2048").unwrap();
    assert_eq!((rsa.bits, rsa.permissions.len()), (2048, 3));
    server.stop().await;
}

/// Sends requests of all types and RSA on several streams, and checks that each gets its own answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hundreds_at_once_are_each_answered_with_their_own() {
    let home = Home::new(&["alice", "bob"]);
    let (server, alice, keys) = served(&home, "").await;
    let bob = home.client("bob", &[&server]).await;
    let mut waiting = tokio::task::JoinSet::new();
    for number in 0..400_usize {
        let client = [&alice, &bob][number % 2].clone();
        let (key_type, scheme) = TYPES[number % TYPES.len()];
        let mut input = inputs(scheme)[0].clone();
        match input.first_chunk_mut() {
            Some(first) => *first = number.to_be_bytes(),
            None => input = number.to_be_bytes().to_vec(),
        }
        waiting.spawn(async move {
            let asked = sign(key_type.name(), scheme.into(), &input);
            (number, input, call(&client, asked).await.unwrap())
        });
        let client = alice.clone();
        waiting.spawn(async move {
            let raw = Operation::RawPrivate(proto::RawPrivate {
                key_id: "rsa1024".into(),
                number: vec![1],
            });
            (usize::MAX, Vec::new(), call(&client, raw).await.unwrap())
        });
    }
    while let Some(done) = waiting.join_next().await {
        let (number, input, signature) = done.unwrap();
        if number == usize::MAX {
            assert_eq!(signature.last(), Some(&1));
            continue;
        }
        let place = number % TYPES.len();
        verify(&keys[place], TYPES[place].1, &input, &signature);
    }
    assert_eq!(server.stop().await, 0);
}
