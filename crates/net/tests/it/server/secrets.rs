//! MACs and ciphertexts by secret keys of the server.

use std::fs;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use oarlock_net::client::{CallOptions, Client, ClientError, Made, Operation};
use oarlock_net::proto::{self, Ciphertext, MacOf, Permission, Plaintext};
use oarlock_net::server::Server;
use oarlock_testing::LIMIT;
use tonic::Code;

use super::host::{Home, call};

/// Alice may do all, bob may seal and make MACs, carol may open and verify, dave has another key.
const CLIENTS: &str = "[[client]]\nidentity = \"alice\"\nkeys = [\"*\"]\n\
     operations = [\"mac\", \"verify_mac\", \"seal\", \"open\", \"sign\", \"unwrap\", \"list\"]\n\
     [[client]]\nidentity = \"bob\"\nkeys = [\"*\"]\noperations = [\"mac\", \"seal\"]\n\
     [[client]]\nidentity = \"carol\"\nkeys = [\"*\"]\noperations = [\"verify_mac\", \"open\"]\n\
     [[client]]\nidentity = \"dave\"\nkeys = [\"other\"]\noperations = [\"seal\", \"open\"]\n";

fn jwk(alg: &str, kid: Option<&str>, key: &[u8]) -> String {
    let kid = kid.map_or_else(String::new, |kid| format!("\"kid\":{kid:?},"));
    let key = BASE64_URL_SAFE_NO_PAD.encode(key);
    format!("{{\"kty\":\"oct\",\"alg\":{alg:?},{kid}\"k\":{key:?}}}")
}

fn write(home: &Home, id: &str, text: &str) {
    fs::write(home.path().join(format!("keys/{id}.jwk")), text).unwrap();
}

fn set(keys: &[String]) -> String {
    format!("{{\"keys\": [{}]}}", keys.join(", "))
}

async fn served(more: &str) -> (Home, Server, Client) {
    let home = Home::new(&["alice", "bob", "carol", "dave"]);
    for (id, alg, bytes) in [
        ("mac256", "HS256", 32),
        ("mac384", "HS384", 48),
        ("mac512", "HS512", 64),
        ("cards", "A256GCM", 32),
    ] {
        write(&home, id, &jwk(alg, None, &vec![7; bytes]));
    }
    let server = Server::start(home.config(&format!("{CLIENTS}{more}")));
    let server = server.await.unwrap();
    let alice = home.client("alice", &[&server]).await;
    (home, server, alice)
}

fn plaintext(text: &[u8], associated: &[u8]) -> Plaintext {
    Plaintext {
        plaintext: text.to_vec(),
        associated_data: associated.to_vec(),
    }
}

fn ciphertext(sealed: &[u8], associated: &[u8]) -> Ciphertext {
    Ciphertext {
        ciphertext: sealed.to_vec(),
        associated_data: associated.to_vec(),
    }
}

const OPTIONS: CallOptions = CallOptions {
    timeout: None,
    is_urgent: false,
    public_key_sha256: None,
};

fn bytes(results: Vec<Result<Made, ClientError>>) -> Vec<Vec<u8>> {
    let all = results.into_iter().map(|one| one.unwrap().bytes.to_vec());
    all.collect()
}

fn wrong(results: Vec<Result<impl std::fmt::Debug, ClientError>>) -> Vec<String> {
    let all = results.into_iter().map(|one| {
        let error = one.unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument, "{error}");
        error.message
    });
    all.collect()
}

type MacOfMessage = fn(&[u8]) -> Vec<u8>;

/// RFC 4231 has keys that are shorter than this server takes, so the library is the reference.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn macs_are_those_of_hmac_and_verify() {
    use hmac::{Hmac, KeyInit as _, Mac as _};
    let (_home, server, alice) = served("").await;
    let messages: Vec<_> = (0..2100_usize)
        .map(|number| vec![number as u8; number % 300])
        .collect();
    let expected: [(&str, MacOfMessage); 3] = [
        ("mac256", |message| {
            let mac = Hmac::<sha2::Sha256>::new_from_slice(&[7; 32]).unwrap();
            mac.chain_update(message).finalize().into_bytes().to_vec()
        }),
        ("mac384", |message| {
            let mac = Hmac::<sha2::Sha384>::new_from_slice(&[7; 48]).unwrap();
            mac.chain_update(message).finalize().into_bytes().to_vec()
        }),
        ("mac512", |message| {
            let mac = Hmac::<sha2::Sha512>::new_from_slice(&[7; 64]).unwrap();
            mac.chain_update(message).finalize().into_bytes().to_vec()
        }),
    ];
    for (key, mac_of) in expected {
        let macs = bytes(alice.mac(key, messages.clone(), OPTIONS).await.unwrap());
        let all: Vec<_> = messages.iter().map(|message| mac_of(message)).collect();
        assert!(macs == all, "{key}");
        let of = |message: &[u8], mac: &[u8], key_version| MacOf {
            message: message.to_vec(),
            mac: mac.to_vec(),
            key_version,
        };
        let mut changed = macs[9].clone();
        changed[0] ^= 1;
        let checked = vec![
            of(&messages[9], &macs[9], 0),
            of(&messages[9], &macs[9], 1),
            of(&messages[9], &changed, 1),
            of(&messages[8], &macs[9], 1),
            of(&messages[9], &macs[9][1..], 1),
            of(&messages[9], &[&macs[9][..], &[0]].concat(), 1),
            of(&messages[9], &[], 1),
            of(&messages[9], &macs[9], 2),
        ];
        let mut results = alice.verify_macs(key, checked, OPTIONS).await.unwrap();
        let said = wrong(results.split_off(2));
        assert_eq!(results, [Ok(()), Ok(())]);
        assert!(
            said[..5].iter().all(|one| one.starts_with("not authentic")),
            "{said:?}"
        );
        assert!(said[5].contains("no such version"), "{said:?}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_sealed_opens_and_nothing_else_does() {
    let (home, server, alice) = served("").await;
    write(&home, "other", &jwk("A256GCM", None, &[8; 32]));
    let texts: Vec<_> = (0..1500_usize)
        .map(|number| vec![number as u8; number % 200])
        .collect();
    let asked = texts.iter().map(|text| plaintext(text, b"row"));
    let sealed = bytes(alice.seal("cards", asked.collect(), OPTIONS).await.unwrap());
    for (text, sealed) in texts.iter().zip(&sealed) {
        assert_eq!(sealed.len(), 4 + 24 + text.len() + 16);
        assert_eq!(sealed[..4], [0, 0, 0, 1]);
    }
    let nonces: std::collections::HashSet<_> = sealed.iter().map(|one| &one[4..28]).collect();
    assert_eq!(nonces.len(), sealed.len());
    let asked = sealed.iter().map(|one| ciphertext(one, b"row"));
    let opened = alice.open("cards", asked.collect(), OPTIONS).await.unwrap();
    assert!(
        opened
            .iter()
            .all(|one| one.as_ref().unwrap().key_version == 1)
    );
    assert!(bytes(opened) == texts);

    let good = &sealed[150];
    let mut hostile: Vec<_> = (4..good.len())
        .step_by(7)
        .map(|at| {
            let mut changed = good.clone();
            changed[at] ^= 0x10;
            ciphertext(&changed, b"row")
        })
        .collect();
    hostile.push(ciphertext(good, b""));
    hostile.push(ciphertext(good, b"row "));
    hostile.push(ciphertext(&good[..good.len() - 1], b"row"));
    hostile.push(ciphertext(&[&good[..], &[0]].concat(), b"row"));
    // The tag of one message with the nonce of another.
    hostile.push(ciphertext(
        &[&good[..28], &sealed[151][28..]].concat(),
        b"row",
    ));
    let said = wrong(alice.open("cards", hostile, OPTIONS).await.unwrap());
    assert!(
        said.iter().all(|one| one.starts_with("not authentic")),
        "{said:?}"
    );
    let short = [&good[..0], &good[..3], &good[..27], &good[..43]];
    let short = short.map(|one| ciphertext(one, b"row")).to_vec();
    let said = wrong(alice.open("cards", short, OPTIONS).await.unwrap());
    assert!(
        said.iter().all(|one| one.starts_with("shorter than")),
        "{said:?}"
    );
    let versions = [0_u32, 2, u32::MAX].map(|version| {
        let other = [&version.to_be_bytes()[..], &good[4..]].concat();
        ciphertext(&other, b"row")
    });
    let said = wrong(
        alice
            .open("cards", versions.to_vec(), OPTIONS)
            .await
            .unwrap(),
    );
    assert!(
        said.iter().all(|one| one.contains("no such version")),
        "{said:?}"
    );
    let deadline = Instant::now() + LIMIT;
    let of_another = loop {
        match alice
            .open("other", vec![ciphertext(good, b"row")], OPTIONS)
            .await
        {
            Ok(results) => break wrong(results),
            Err(error) => assert_eq!(error.code, Code::NotFound),
        }
        assert!(Instant::now() < deadline);
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert!(of_another[0].starts_with("not authentic"), "{of_another:?}");
    server.stop().await;
}

/// A version that is added makes the next ciphertexts. Older ones open until theirs is removed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn versions_are_added_and_removed_while_the_server_runs() {
    let (home, server, alice) = served("").await;
    let keys = [(1, 7), (2, 8), (5, 9)]
        .map(|(kid, byte): (u32, u8)| jwk("A256GCM", Some(&kid.to_string()), &[byte; 32]));
    let mut all = Vec::new();
    for (place, newest) in [(0, 1), (1, 2), (2, 5)] {
        write(&home, "cards", &set(&keys[..=place]));
        until_version(&alice, newest).await;
        let sealed = alice
            .seal("cards", vec![plaintext(b"text", b"")], OPTIONS)
            .await
            .unwrap();
        let made = sealed[0].as_ref().unwrap();
        assert_eq!(made.key_version, newest);
        all.push(ciphertext(&made.bytes, b""));
    }
    let opened = alice.open("cards", all.clone(), OPTIONS).await.unwrap();
    let versions: Vec<_> = opened
        .iter()
        .map(|one| one.as_ref().unwrap().key_version)
        .collect();
    assert_eq!(versions, [1, 2, 5]);
    write(&home, "cards", &set(&keys[1..]));
    let deadline = Instant::now() + LIMIT;
    loop {
        let opened = alice.open("cards", all.clone(), OPTIONS).await.unwrap();
        let are_open: Vec<_> = opened.iter().map(Result::is_ok).collect();
        if are_open == [false, true, true] {
            break;
        }
        assert!(Instant::now() < deadline, "{are_open:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    server.stop().await;
}

async fn until_version(client: &Client, version: u32) {
    let deadline = Instant::now() + LIMIT;
    loop {
        let keys = client.list_all_keys().await.unwrap();
        if keys
            .iter()
            .any(|key| key.id == "cards" && key.version == version)
        {
            return;
        }
        assert!(Instant::now() < deadline, "never version {version}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rights_are_those_of_each_operation_and_key() {
    let (home, server, alice) = served("").await;
    let listed = alice.list_all_keys().await.unwrap();
    let rights = |id: &str| {
        let key = listed.iter().find(|key| key.id == id).unwrap();
        assert_eq!((key.version, key.public_key.len()), (1, 0));
        (&key.algorithm[..], key.permissions().collect::<Vec<_>>())
    };
    assert_eq!(
        rights("cards"),
        ("A256GCM", vec![Permission::Seal, Permission::Open])
    );
    for (id, algorithm) in [
        ("mac256", "HS256"),
        ("mac384", "HS384"),
        ("mac512", "HS512"),
    ] {
        assert_eq!(
            rights(id),
            (algorithm, vec![Permission::Mac, Permission::VerifyMac])
        );
    }
    // A client of an earlier version sees none of them.
    assert!(
        alice
            .list_keys()
            .await
            .unwrap()
            .iter()
            .all(|key| key.id.starts_with("rsa"))
    );

    let client = async |name| home.client(name, &[&server]).await;
    let (bob, carol, dave) = (
        client("bob").await,
        client("carol").await,
        client("dave").await,
    );
    let text = || vec![plaintext(b"text", b"")];
    let sealed = bytes(bob.seal("cards", text(), OPTIONS).await.unwrap()).remove(0);
    let asked = || vec![ciphertext(&sealed, b"")];
    assert_eq!(
        bytes(carol.open("cards", asked(), OPTIONS).await.unwrap()),
        [b"text"]
    );
    let message = || vec![b"message".to_vec()];
    let mac = bytes(bob.mac("mac256", message(), OPTIONS).await.unwrap()).remove(0);
    let of = || {
        vec![MacOf {
            message: b"message".to_vec(),
            mac: mac.clone(),
            key_version: 1,
        }]
    };
    assert_eq!(
        carol.verify_macs("mac256", of(), OPTIONS).await.unwrap(),
        [Ok(())]
    );
    for key in ["cards", "none"] {
        let expected = |operation: &str| {
            let message = format!(
                "the certificate of this client does not allow {operation} with key {key:?}"
            );
            ClientError {
                code: Code::PermissionDenied,
                message,
            }
        };
        assert_eq!(
            bob.open(key, asked(), OPTIONS).await.unwrap_err(),
            expected("open")
        );
        assert_eq!(
            carol.seal(key, text(), OPTIONS).await.unwrap_err(),
            expected("seal")
        );
        assert_eq!(
            carol.mac(key, message(), OPTIONS).await.unwrap_err(),
            expected("mac")
        );
        assert_eq!(
            bob.verify_macs(key, of(), OPTIONS).await.unwrap_err(),
            expected("verify_mac")
        );
        assert_eq!(
            dave.seal(key, text(), OPTIONS).await.unwrap_err(),
            expected("seal")
        );
        assert_eq!(
            dave.open(key, asked(), OPTIONS).await.unwrap_err(),
            expected("open")
        );
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_of_another_kind_and_batches_over_the_limits_are_refused() {
    let (_home, server, alice) = served("").await;
    let refused = async |operation| {
        let error = call(&alice, operation).await.unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument, "{error}");
        error.message
    };
    let seal = |key: &str, plaintexts| {
        Operation::Seal(proto::Seal {
            key_id: key.into(),
            plaintexts,
        })
    };
    let mac = |key: &str, messages| {
        Operation::Mac(proto::Mac {
            key_id: key.into(),
            messages,
        })
    };
    let one = || vec![plaintext(b"", b"")];
    for (operation, expected) in [
        (
            seal("mac256", one()),
            "seal takes keys of A256GCM, and key \"mac256\" is one of HS256, which only makes and verifies MACs",
        ),
        (
            seal("rsa2048", one()),
            "seal takes keys of A256GCM, and key \"rsa2048\" is one of RSA",
        ),
        (
            mac("cards", vec![vec![]]),
            "mac takes keys of HMAC, and key \"cards\" is one of A256GCM, which only seals and opens",
        ),
        (seal("cards", vec![]), "0 plaintexts: send 1 to 1024"),
        (
            seal("cards", vec![plaintext(b"", b""); 1025]),
            "1025 plaintexts",
        ),
        (
            seal("cards", vec![plaintext(&[0; 200_000], &[0; 100_000])]),
            "300000 bytes of plaintexts",
        ),
        (
            mac("mac256", vec![vec![0; 262_145]]),
            "262145 bytes of messages",
        ),
    ] {
        let said = refused(operation).await;
        assert!(said.contains(expected), "{said}");
    }
    let digest = proto::Sign {
        key_id: "cards".into(),
        scheme: proto::SignatureScheme::Ed25519.into(),
        digest: vec![],
    };
    assert!(
        refused(Operation::Sign(digest))
            .await
            .contains("only seals and opens")
    );
    let unwrap = proto::Unwrap {
        key_id: "cards".into(),
        stanzas: vec![proto::Stanza::default()],
    };
    assert!(
        refused(Operation::Unwrap(unwrap))
            .await
            .contains("only seals and opens")
    );
    // The largest that fit.
    let most = vec![plaintext(&[7; 255], b"!"); 1024];
    let sealed = bytes(alice.seal("cards", most, OPTIONS).await.unwrap());
    assert_eq!(sealed.len(), 1024);
    let whole = bytes(
        alice
            .seal("cards", vec![plaintext(&[7; 262_144], b"")], OPTIONS)
            .await
            .unwrap(),
    );
    assert_eq!(whole[0].len(), 262_144 + 44);
    let opened = alice
        .open("cards", vec![ciphertext(&whole[0], b"")], OPTIONS)
        .await
        .unwrap();
    assert!(bytes(opened)[0] == [7; 262_144]);
    server.stop().await;
}

/// Many machines share a certificate, and each has had a full batch on its stream.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_serves_a_fleet_with_full_batches() {
    let (home, server, _alice) = served("").await;
    let text = || vec![plaintext(&[7; 262_144], b"")];
    let mut fleet = Vec::new();
    for _ in 0..60 {
        let bob = home.client("bob", &[&server]).await;
        for _ in 0..2 {
            let sealed = bytes(bob.seal("cards", text(), OPTIONS).await.unwrap());
            assert_eq!(sealed[0].len(), 262_144 + 44);
        }
        fleet.push(bob);
    }
    let connected = fleet.iter().map(Client::connected).sum::<usize>();
    assert_eq!(connected, 60);
    server.stop().await;
}
