//! What is refused: without a right, with a bad id, against a precondition, beyond a limit.

use std::fs;
use std::os::unix::fs::symlink;

use oarlock_net::client::ClientError;
use oarlock_net::proto::manage_key_request::Change;
use oarlock_net::proto::{self, KeyType, ManageKeyRequest, SignatureScheme};
use oarlock_net::server::Server;
use oarlock_net::server::config::Config;
use tonic::Code;

use super::super::host::Home;
use super::super::trials::connect;
use super::{OFTEN, OPTIONS, Served, names, sign};

fn code<T: std::fmt::Debug>(result: Result<T, ClientError>) -> Code {
    result.unwrap_err().code
}

/// The answers do not tell whether a key exists.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_right_a_client_learns_nothing() {
    let served = Served::start().await;
    let before = names(&served.keys());
    let tenant = served.home.client("tenant", &[&served.server]).await;
    for (client, one, other) in [
        (&served.user, "rsa2048", "nothing"),
        (&tenant, "rsa2048", "nothing"),
        (&tenant, "tenants", "other"),
        (&tenant, "../tenant-1", "..\u{0}"),
    ] {
        let mut answers = Vec::new();
        for id in [one, other] {
            let all = [
                client.create_key(id, KeyType::P256, OPTIONS).await,
                client.rotate_key(id, 1, OPTIONS).await,
                client.rotate_key(id, 0, OPTIONS).await,
                client.disable_key(id, OPTIONS).await,
                client.enable_key(id, OPTIONS).await,
            ];
            let texts = all.map(|answer| {
                let error = answer.unwrap_err();
                assert_eq!(error.code, Code::PermissionDenied, "{error}");
                error.message.replace(&format!("{id:?}"), "ID")
            });
            answers.push(texts);
        }
        assert_eq!(answers[0], answers[1]);
    }
    // Each right is one of its own.
    tenant
        .create_key("tenant-1", KeyType::P256, OPTIONS)
        .await
        .unwrap();
    tenant.disable_key("tenant-1", OPTIONS).await.unwrap();
    let refused = tenant.enable_key("tenant-1", OPTIONS).await;
    assert_eq!(code(refused), Code::PermissionDenied);
    let mut after = names(&served.keys());
    after.retain(|name| name != "tenant-1.pem.disabled");
    assert_eq!(after, before);
    served.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ids_that_are_no_file_names_are_refused() {
    let served = Served::start().await;
    let before = names(served.home.path());
    let keys = names(&served.keys());
    let long = "a".repeat(129);
    for id in [
        "",
        ".",
        "..",
        ".hidden",
        "-x",
        "_x",
        "a/b",
        "../a",
        "/a",
        "a\\b",
        "a..b",
        "a b",
        "a\n",
        "a\0",
        "a*",
        "\u{e9}",
        "a\u{301}",
        &long,
        &"a".repeat(256),
        &"a".repeat(100_000),
    ] {
        let refused = served.create(id, KeyType::P256).await.unwrap_err();
        assert_eq!(refused.code, Code::InvalidArgument, "{id:?}: {refused}");
        // Whatever was sent, the answer has a bounded part of it.
        assert!(refused.message.len() < 1000, "{}", refused.message.len());
    }
    for id in ["", "../keys/rsa2048", "a/b", &long] {
        assert_eq!(code(served.rotate(id, 1).await), Code::NotFound, "{id:?}");
        let disabled = served.admin.disable_key(id, OPTIONS).await;
        assert_eq!(code(disabled), Code::NotFound, "{id:?}");
    }
    assert_eq!(names(served.home.path()), before);
    assert_eq!(names(&served.keys()), keys);
    // These are good.
    for id in ["a", "A.b_c-9", "x.pem", "x.pem.disabled", &"a".repeat(128)] {
        served.create(id, KeyType::Ed25519).await.unwrap();
        served.admin.disable_key(id, OPTIONS).await.unwrap();
        served.admin.enable_key(id, OPTIONS).await.unwrap();
        assert_eq!(served.listed(id).await.unwrap().version, 1);
    }
    // Names that differ in case are two keys where the folder can hold both.
    served.create("WEB", KeyType::Ed25519).await.unwrap();
    served.create("web", KeyType::Ed25519).await.unwrap();
    served.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_are_no_changes_are_refused() {
    let home = Home::new(&[]);
    let text = "listen = [\"127.0.0.1:0\"]\nplaintext = true\n[[key]]\ndirectory = \"keys\"\nmanaged = true\n\
        [[client]]\nidentity = \"*\"\nkeys = [\"*\"]\noperations = [\"create\", \"rotate\"]\n";
    let config = Config::parse(text, home.path()).unwrap();
    let server = Server::start(config).await.unwrap();
    let mut client = connect(&server).await;
    let requests = [
        (None, "no change"),
        (
            Some(Change::Create(proto::CreateKey { r#type: 0 })),
            "key type 0 is unknown",
        ),
        (
            Some(Change::Create(proto::CreateKey { r#type: 99 })),
            "key type 99 is unknown",
        ),
        (
            Some(Change::Create(proto::CreateKey { r#type: -1 })),
            "key type -1 is unknown",
        ),
        (
            Some(Change::Rotate(proto::RotateKey { version: 0 })),
            "without a version",
        ),
    ];
    for (change, expected) in requests {
        let request = ManageKeyRequest {
            key_id: "rsa2048".into(),
            timeout_ms: 0,
            change,
        };
        let refused = client.manage_key(request).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument);
        assert!(refused.message().contains(expected), "{refused}");
    }
    // A deadline that has passed before anything is written.
    let late = ManageKeyRequest {
        key_id: "late".into(),
        timeout_ms: 1,
        change: Some(Change::Create(proto::CreateKey {
            r#type: KeyType::Rsa4096.into(),
        })),
    };
    let refused = client.manage_key(late).await.unwrap_err();
    assert_eq!(refused.code(), Code::DeadlineExceeded);
    assert!(
        refused.message().contains("nothing has changed"),
        "{refused}"
    );
    assert!(!names(&home.path().join("keys")).contains(&"late.pem".to_owned()));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn preconditions_make_repeated_requests_harmless() {
    let served = Served::start().await;
    served.create("web", KeyType::P256).await.unwrap();
    let file = served.keys().join("web.pem");
    let before = fs::read(&file).unwrap();
    for key_type in [
        KeyType::P256,
        KeyType::Rsa2048,
        KeyType::A256gcm,
        KeyType::AgeX25519,
    ] {
        assert_eq!(
            code(served.create("web", key_type).await),
            Code::AlreadyExists
        );
    }
    for version in [2, u32::MAX] {
        let refused = served.rotate("web", version).await;
        assert_eq!(code(refused), Code::FailedPrecondition);
    }
    assert_eq!(fs::read(&file).unwrap(), before);
    served.rotate("web", 1).await.unwrap();
    let refused = served.rotate("web", 1).await.unwrap_err();
    assert!(
        refused.message.contains("has version 2, not 1"),
        "{refused}"
    );
    // RSA-1024 is generated no more.
    assert_eq!(
        code(served.rotate("rsa1024", 1).await),
        Code::FailedPrecondition
    );
    assert_eq!(code(served.rotate("nothing", 1).await), Code::NotFound);
    assert_eq!(
        code(served.admin.enable_key("nothing", OPTIONS).await),
        Code::NotFound
    );

    // Files that are not the server's, and one that holds no key.
    symlink(
        served.keys().join("rsa2048.pem"),
        served.keys().join("link.pem"),
    )
    .unwrap();
    fs::write(served.keys().join("broken.pem"), "nothing").unwrap();
    fs::write(served.keys().join("gone.jwk.disabled"), "nothing").unwrap();
    let link = served.rotate("link", 1).await.unwrap_err();
    assert_eq!(link.code, Code::FailedPrecondition);
    assert!(link.message.contains("its file is a link"), "{link}");
    assert_eq!(
        code(served.admin.disable_key("link", OPTIONS).await),
        Code::FailedPrecondition
    );
    for id in ["broken", "gone"] {
        for key_type in [KeyType::P256, KeyType::A256gcm] {
            assert_eq!(
                code(served.create(id, key_type).await),
                Code::AlreadyExists,
                "{id}"
            );
        }
        assert_eq!(code(served.rotate(id, 1).await), Code::NotFound);
    }
    served.server.stop().await;
}

/// A key with its own `[[key]]` is its operator's alone, and a server without a managed directory changes none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_elsewhere_are_not_changed() {
    let home = Home::new(&["admin", "user", "tenant"]);
    fs::rename(
        home.path().join("keys/rsa2048.pem"),
        home.path().join("own.pem"),
    )
    .unwrap();
    let served = Served::at(home, &format!("{OFTEN}[[key]]\nfile = \"own.pem\"\n")).await;
    let listed = served.listed("own").await.unwrap();
    assert_eq!(listed.version, 0);
    for answer in [
        served.rotate("own", 1).await,
        served.admin.disable_key("own", OPTIONS).await,
        served.admin.enable_key("own", OPTIONS).await,
    ] {
        let refused = answer.unwrap_err();
        assert_eq!(refused.code, Code::FailedPrecondition);
        assert!(refused.message.contains("managed directory"), "{refused}");
    }
    assert_eq!(
        code(served.create("own", KeyType::P256).await),
        Code::AlreadyExists
    );

    // A reload may end it all.
    let unmanaged =
        "[[client]]\nidentity = \"*\"\nkeys = [\"*\"]\noperations = [\"sign\", \"list\"]\n";
    served
        .server
        .reload(&served.home.config(unmanaged))
        .unwrap();
    assert_eq!(
        code(served.create("new", KeyType::P256).await),
        Code::PermissionDenied
    );
    served.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_number_of_keys_and_of_changes_is_bounded() {
    // Four keys are there already.
    let limits = "[limits]\nkeys_max = 7\nkey_changes_per_minute = 100000\n";
    let served = Served::start_with(limits).await;
    let tenant = served.home.client("tenant", &[&served.server]).await;
    for id in ["tenant-1", "tenant-2"] {
        tenant.create_key(id, KeyType::P256, OPTIONS).await.unwrap();
    }
    let refused = tenant
        .create_key("tenant-3", KeyType::P256, OPTIONS)
        .await
        .unwrap_err();
    assert_eq!(refused.code, Code::ResourceExhausted);
    assert!(refused.message.contains("keys_max"), "{refused}");
    served.create("one", KeyType::P256).await.unwrap();
    let refused = served.create("two", KeyType::P256).await;
    assert_eq!(code(refused), Code::ResourceExhausted);
    // A disabled key takes a place.
    served.admin.disable_key("one", OPTIONS).await.unwrap();
    assert_eq!(
        code(served.create("two", KeyType::P256).await),
        Code::ResourceExhausted
    );
    // There are 64 versions.
    for version in 1..64 {
        served.rotate("tenant-1", version).await.unwrap();
    }
    let refused = served.rotate("tenant-1", 64).await.unwrap_err();
    assert_eq!(refused.code, Code::FailedPrecondition);
    assert!(refused.message.contains("64 versions"), "{refused}");
    sign(&served.user, "tenant-1", SignatureScheme::EcdsaP256Sha256)
        .await
        .unwrap();

    // A reload takes other limits over.
    let few = "[limits]\nkeys_max = 8\nkey_changes_per_minute = 1\n";
    let config = served.home.managed(&format!("{few}{}", super::CLIENTS));
    served.server.reload(&config).unwrap();
    let served_two = served.create("two", KeyType::P256).await;
    served_two.unwrap();
    let refused = served.admin.disable_key("two", OPTIONS).await.unwrap_err();
    assert_eq!(refused.code, Code::ResourceExhausted);
    assert!(refused.message.contains("too often"), "{refused}");
    served.server.stop().await;
}
