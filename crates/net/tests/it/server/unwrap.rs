//! File keys of age files, by identities that stay at the server.

use std::fs;
use std::time::{Duration, Instant};

use age::secrecy::ExposeSecret as _;
use age_core::format::{FileKey, Stanza};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use oarlock::keys::{Curve, KeyType};
use oarlock_net::client::{CallOptions, Client, ClientError, Operation, Settings};
use oarlock_net::proto::{self, Permission};
use oarlock_net::server::Server;
use oarlock_recipients::hybrid;
use oarlock_testing::until;
use tonic::Code;

use super::host::{Home, call};

/// Rights to unwrap with every key and to list them, for alice; to sign alone, for bob; to unwrap with others, for carol.
const CLIENTS: &str = "[[client]]\nidentity = \"alice\"\nkeys = [\"*\"]\noperations = [\"unwrap\", \"sign\", \"list\"]\n\
     [[client]]\nidentity = \"bob\"\nkeys = [\"*\"]\noperations = [\"sign\", \"list\"]\n\
     [[client]]\nidentity = \"carol\"\nkeys = [\"other-*\"]\noperations = [\"unwrap\"]\n";

const FILE_KEY: [u8; 16] = *b"YELLOW SUBMARINE";

/// A server with an identity of each kind, and the recipients.
struct Served {
    home: Home,
    server: Server,
    recipients: Vec<(&'static str, Box<dyn age::Recipient>)>,
}

async fn served(more: &str) -> Served {
    let home = Home::new(&["alice", "bob", "carol"]);
    let classical = age::x25519::Identity::generate();
    let hybrid = hybrid::Identity::generate().unwrap();
    write(&home, "classical", &[classical.to_string().expose_secret()]);
    write(&home, "hybrid", &[hybrid.to_string().expose_secret()]);
    home.add_key("p256", KeyType::Ec(Curve::P256));
    let ssh: age::ssh::Recipient = ssh_line(&home).parse().unwrap();
    let server = Server::start(home.config(&format!("{CLIENTS}{more}")))
        .await
        .unwrap();
    let recipients: Vec<(_, Box<dyn age::Recipient>)> = vec![
        ("classical", Box::new(classical.to_public())),
        ("hybrid", Box::new(hybrid.to_public())),
        ("rsa2048", Box::new(ssh)),
    ];
    Served {
        home,
        server,
        recipients,
    }
}

/// Writes an identity file as `oarlock keygen` does, with one identity a line.
fn write(home: &Home, id: &str, identities: &[&str]) {
    let text = format!("# created: 2026-11-29\n\n{}\n", identities.join("\n"));
    fs::write(home.path().join(format!("keys/{id}.key")), text).unwrap();
}

/// Returns the public half of the RSA key as OpenSSH writes it.
fn ssh_line(home: &Home) -> String {
    let key = home.path().join("keys/rsa2048.pem");
    let copy = home.path().join("rsa.copy");
    fs::copy(&key, &copy).unwrap();
    fs::set_permissions(&copy, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let mut command = std::process::Command::new("ssh-keygen");
    let output = command.args(["-y", "-f"]).arg(&copy).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn wrapped(recipient: &dyn age::Recipient, key: [u8; 16]) -> proto::Stanza {
    let key = FileKey::new(Box::new(key));
    asked(recipient.wrap_file_key(&key).unwrap().0.remove(0))
}

fn asked(stanza: Stanza) -> proto::Stanza {
    proto::Stanza {
        tag: stanza.tag,
        arguments: stanza.args,
        body: stanza.body,
    }
}

async fn unwrap(
    client: &Client,
    key: &str,
    stanzas: Vec<proto::Stanza>,
) -> Result<Vec<Result<[u8; 16], ClientError>>, ClientError> {
    let keys = client.unwrap(key, stanzas, CallOptions::default()).await?;
    Ok(keys.into_iter().map(|key| key.map(|key| *key)).collect())
}

fn messages(results: Vec<Result<[u8; 16], ClientError>>) -> Vec<String> {
    let errors = results.into_iter().map(|result| {
        let error = result.unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument, "{error}");
        error.message
    });
    errors.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn file_keys_of_each_kind_come_back_in_the_order_of_their_stanzas() {
    let served = served("").await;
    let client = served.home.client("alice", &[&served.server]).await;
    for (id, recipient) in &served.recipients {
        let key = |number: u8| [number; 16];
        // More than a request holds, and stanzas of all others in between.
        let mut stanzas = Vec::new();
        for number in 0..140 {
            stanzas.push(wrapped(&**recipient, key(number)));
            if number % 20 == 0 {
                let others = served.recipients.iter().filter(|(other, _)| other != id);
                stanzas.extend(others.map(|(_, other)| wrapped(&**other, key(200))));
            }
        }
        let results = unwrap(&client, id, stanzas.clone()).await.unwrap();
        let keys: Vec<_> = results.iter().filter_map(|one| one.as_ref().ok()).collect();
        assert_eq!(
            keys,
            (0..140)
                .map(key)
                .collect::<Vec<_>>()
                .iter()
                .collect::<Vec<_>>()
        );
        for (stanza, result) in stanzas.iter().zip(&results) {
            assert_eq!(
                stanza.tag == stanzas[0].tag,
                result.is_ok(),
                "{}",
                stanza.tag
            );
        }
    }
    assert_eq!(served.server.stop().await, 0);
}

/// Covers what age refuses, stanza by stanza, in one batch with stanzas that are right.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_stanzas_fail_alone_and_tell_nothing() {
    let served = served("").await;
    let client = served.home.client("alice", &[&served.server]).await;
    let stranger = age::x25519::Identity::generate().to_public();
    for (id, recipient) in &served.recipients {
        let good = wrapped(&**recipient, FILE_KEY);
        let with = |change: &dyn Fn(&mut proto::Stanza)| {
            let mut stanza = good.clone();
            change(&mut stanza);
            stanza
        };
        let mut malformed = vec![
            with(&|it| it.arguments.clear()),
            with(&|it| it.arguments.push(it.arguments[0].clone())),
            with(&|it| it.arguments[0].push('=')),
            with(&|it| it.arguments[0].clear()),
            with(&|it| it.arguments[0] = "A".repeat(100_000)),
            with(&|it| it.body.clear()),
            with(&|it| it.body.truncate(it.body.len() - 1)),
            with(&|it| it.body.push(0)),
            with(&|it| it.body = vec![0; 100_000]),
        ];
        if *id != "rsa2048" {
            malformed.extend(low_order_points().map(|point| {
                with(&|it| {
                    let share = &mut it.arguments[0];
                    let mut bytes = BASE64_STANDARD_NO_PAD.decode(&*share).unwrap();
                    let start = bytes.len() - 32;
                    bytes[start..].copy_from_slice(&point);
                    *share = BASE64_STANDARD_NO_PAD.encode(bytes);
                })
            }));
        }
        for stanza in malformed {
            let all = vec![good.clone(), stanza, good.clone()];
            let mut results = unwrap(&client, id, all).await.unwrap();
            assert_eq!((&results[0], &results[2]), (&Ok(FILE_KEY), &Ok(FILE_KEY)));
            let said = messages(vec![results.remove(1)]);
            assert!(said[0].contains("malformed"), "{id}: {said:?}");
        }
        // Whatever else is wrong, the text is the same: a changed body, a changed share, the stanza of another key.
        let mut others = vec![
            with(&|it| it.body[0] ^= 1),
            with(&|it| it.body[15] ^= 0x40),
            with(&|it| *it.body.last_mut().unwrap() ^= 1),
            with(&|it| {
                let first = it.arguments[0].remove(0);
                it.arguments[0].insert(0, if first == 'A' { 'B' } else { 'A' });
            }),
        ];
        if *id == "classical" {
            others.push(wrapped(&stranger, FILE_KEY));
        }
        let said = messages(unwrap(&client, id, others).await.unwrap());
        let expected = "the stanza is for another key, or was changed";
        assert!(said.iter().all(|one| one == expected), "{id}: {said:?}");
        let other_tags = ["", "x25519", "scrypt", "X25519 ", "a\u{202e}\n"];
        let others = other_tags.map(|tag| with(&|it| it.tag = tag.to_owned()));
        let said = messages(unwrap(&client, id, others.to_vec()).await.unwrap());
        assert!(
            said.iter()
                .all(|one| one == "the key opens no stanzas of this type"),
            "{said:?}"
        );
    }
    served.server.stop().await;
}

/// The points of low order and their other encodings (https://cr.yp.to/ecdh.html#validate).
fn low_order_points() -> impl Iterator<Item = [u8; 32]> {
    let of_eight = [
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
    ];
    of_eight.into_iter().map(|hex| {
        let mut point = [0; 32];
        for (byte, digits) in point.iter_mut().zip(hex.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(str::from_utf8(digits).unwrap(), 16).unwrap();
        }
        point
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_over_the_limits_are_refused_whole() {
    let served = served("").await;
    let client = served.home.client("alice", &[&served.server]).await;
    let refused = async |stanzas: Vec<proto::Stanza>| {
        let operation = Operation::Unwrap(proto::Unwrap {
            key_id: "classical".into(),
            stanzas,
        });
        let error = call(&client, operation).await.unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument, "{error}");
        error.message
    };
    let empty = proto::Stanza::default;
    assert!(
        refused(Vec::new())
            .await
            .contains("0 stanzas: send 1 to 128")
    );
    assert!(refused(vec![empty(); 129]).await.contains("129 stanzas"));
    let long = proto::Stanza {
        body: vec![0; 262_145],
        ..empty()
    };
    assert!(
        refused(vec![long])
            .await
            .contains("262145 bytes of stanzas")
    );
    // Arguments without bytes count too.
    let many = proto::Stanza {
        arguments: vec![String::new(); 20_000],
        ..empty()
    };
    assert!(refused(vec![many]).await.contains("bytes of stanzas"));
    // `call` has no result for an operation with items.
    let operation = Operation::Unwrap(proto::Unwrap {
        key_id: "classical".into(),
        stanzas: vec![empty()],
    });
    let said = call(&client, operation).await.unwrap_err();
    assert!(
        said.message.contains("use the method of its name"),
        "{said}"
    );
    served.server.stop().await;
}

/// A client without the right learns nothing: the refusal is the same for keys that exist and for those that do not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_without_the_right_do_not_learn_which_keys_exist() {
    let served = served("").await;
    let stanza = wrapped(&*served.recipients[0].1, FILE_KEY);
    for name in ["bob", "carol"] {
        let client = served.home.client(name, &[&served.server]).await;
        for key in ["classical", "p256", "none"] {
            let error = unwrap(&client, key, vec![stanza.clone()])
                .await
                .unwrap_err();
            let expected =
                format!("the certificate of this client does not allow unwrap with key {key:?}");
            assert_eq!(
                (error.code, error.message),
                (Code::PermissionDenied, expected)
            );
        }
    }
    let alice = served.home.client("alice", &[&served.server]).await;
    let error = unwrap(&alice, "none", vec![stanza.clone()])
        .await
        .unwrap_err();
    assert_eq!(error.code, Code::NotFound);
    let error = unwrap(&alice, "p256", vec![stanza]).await.unwrap_err();
    let expected = "unwrap takes identities of age and RSA keys, and key \"p256\" is one of P-256, which only signs";
    assert_eq!(
        (error.code, &error.message[..]),
        (Code::InvalidArgument, expected)
    );
    let sign = Operation::Sign(proto::Sign {
        key_id: "classical".into(),
        scheme: proto::SignatureScheme::Ed25519.into(),
        digest: vec![1],
    });
    let error = call(&alice, sign).await.unwrap_err();
    let expected =
        "sign takes private keys, and key \"classical\" is one of age, which only unwraps";
    assert_eq!(
        (error.code, &error.message[..]),
        (Code::InvalidArgument, expected)
    );
    served.server.stop().await;
}

/// Clients of earlier versions parse the public half of every key that is listed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn identities_are_listed_with_their_recipients_to_clients_that_ask() {
    let served = served("").await;
    let rights = |key: &proto::Key| key.permissions().collect::<Vec<_>>();
    let alice = served.home.client("alice", &[&served.server]).await;
    let listed = alice.list_keys().await.unwrap();
    let ids: Vec<_> = listed.iter().map(|key| &key.id[..]).collect();
    assert_eq!(ids, ["p256", "rsa1024", "rsa2048", "rsa3072", "rsa4096"]);
    assert_eq!(rights(&listed[0]), [Permission::Sign]);
    assert_eq!(rights(&listed[1]), [Permission::Sign, Permission::Unwrap]);
    let all = alice.list_all_keys().await.unwrap();
    assert_eq!(all.len(), 7);
    for (id, start) in [("classical", "age1"), ("hybrid", "age1pq1")] {
        let key = all.iter().find(|key| key.id == id).unwrap();
        assert!(key.recipient.starts_with(start), "{}", key.recipient);
        assert_eq!((key.version, key.bits, key.public_key.len()), (1, 0, 0));
        assert_eq!(rights(key), [Permission::Unwrap]);
    }
    let bob = served.home.client("bob", &[&served.server]).await;
    let all = bob.list_all_keys().await.unwrap();
    let classical = all.iter().find(|key| key.id == "classical").unwrap();
    assert_eq!(rights(classical), []);
    served.server.stop().await;
}

/// The last identity of a file is the newest. The others still unwrap, until they are removed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn older_versions_unwrap_until_they_are_removed() {
    let served = served("").await;
    let client = served.home.client("alice", &[&served.server]).await;
    let [old, new] = [(); 2].map(|()| age::x25519::Identity::generate());
    let post_quantum = hybrid::Identity::generate().unwrap();
    let texts = [old.to_string(), new.to_string(), post_quantum.to_string()];
    let texts = texts.each_ref().map(|text| text.expose_secret());
    let stanzas = vec![
        wrapped(&old.to_public(), [1; 16]),
        wrapped(&new.to_public(), [2; 16]),
        wrapped(&post_quantum.to_public(), [3; 16]),
    ];
    let keys = || async {
        let results = unwrap(&client, "classical", stanzas.clone()).await.unwrap();
        let keys: Vec<_> = results
            .into_iter()
            .map(|one| one.ok().map(|key| key[0]))
            .collect();
        let all = client.list_all_keys().await.unwrap();
        let key = all.into_iter().find(|key| key.id == "classical").unwrap();
        (keys, key.version, key.recipient)
    };
    for (lines, expected, recipient) in [
        (
            &texts[..1],
            vec![Some(1), None, None],
            old.to_public().to_string(),
        ),
        (
            &texts[..2],
            vec![Some(1), Some(2), None],
            new.to_public().to_string(),
        ),
        (
            &texts[..],
            vec![Some(1), Some(2), Some(3)],
            post_quantum.to_public().to_string(),
        ),
        (
            &texts[1..],
            vec![None, Some(2), Some(3)],
            post_quantum.to_public().to_string(),
        ),
    ] {
        write(&served.home, "classical", lines);
        let expected = (expected, lines.len() as u32, recipient);
        let deadline = Instant::now() + oarlock_testing::LIMIT;
        while keys().await != expected {
            assert!(Instant::now() < deadline, "{expected:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    // A file that is wrong keeps the key that was read before.
    write(
        &served.home,
        "classical",
        &[texts[0], "AGE-SECRET-KEY-1WRONG"],
    );
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(keys().await.0, [None, Some(2), Some(3)]);
    served.server.stop().await;
}

/// A batch is a line of the audit and a request of the metrics, which count its items.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_audit_tells_how_many_file_keys_left() {
    let served = served("[audit]\nfile = \"audit.jsonl\"\n").await;
    let alice = served.home.client("alice", &[&served.server]).await;
    let good = wrapped(&*served.recipients[0].1, FILE_KEY);
    let mut stanzas = vec![good; 5];
    stanzas[3].body[0] ^= 1;
    unwrap(&alice, "classical", stanzas).await.unwrap();
    let audit = served.home.path().join("audit.jsonl");
    until("the line", || {
        fs::read_to_string(&audit).is_ok_and(|text| text.ends_with('\n'))
    });
    let text = fs::read_to_string(&audit).unwrap();
    let line: serde_json::Value = serde_json::from_str(text.trim_end()).unwrap();
    assert_eq!(
        (&line["operation"], &line["key"], &line["code"]),
        (&"unwrap".into(), &"classical".into(), &"OK".into())
    );
    assert_eq!(
        (&line["items"], &line["items_failed"]),
        (&5.into(), &1.into())
    );
    assert!(!text.contains("YELLOW"));
    served.server.stop().await;
}

/// The parts of a batch wait like requests, so a queue that has no room for them refuses the batch whole.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_without_room_is_refused_whole() {
    let served = served("[limits]\nqueue_max = 2\n").await;
    let settings = Settings {
        timeout: Duration::from_secs(1),
        ..served.home.settings("alice", &[&served.server])
    };
    let alice = Client::new(settings).unwrap();
    alice.ready(oarlock_testing::LIMIT).await.unwrap();
    let stanzas = vec![wrapped(&*served.recipients[1].1, FILE_KEY); 128];
    let error = unwrap(&alice, "hybrid", stanzas.clone()).await.unwrap_err();
    assert_eq!(error.code, Code::FailedPrecondition, "{error}");
    let few = unwrap(&alice, "hybrid", stanzas[..2].to_vec())
        .await
        .unwrap();
    assert_eq!(few, [Ok(FILE_KEY), Ok(FILE_KEY)]);
    assert_eq!(served.server.stop().await, 0);
}
