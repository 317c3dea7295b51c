//! Folders that cannot be written, crashes, and requests at the same moment.

use std::fs;

use oarlock_net::client::ClientError;
use oarlock_net::proto::{self, KeyType, SignatureScheme};
use oarlock_net::server::Server;
use serde_json::Value;
use tonic::Code;

use super::super::host::Home;
use super::super::trials::audit::{in_its_own_mounts, mount};
use super::{CLIENTS, OFTEN, OPTIONS, Served, is_by, names, sign};
use crate::waiting::until_some;

const SCHEME: SignatureScheme = SignatureScheme::EcdsaP256Sha256;

/// Checks that neither the keys nor their files have changed.
async fn assert_unchanged(served: &Served, made: &proto::Key, before: &[String]) {
    let signature = sign(&served.user, &made.id, SCHEME).await.unwrap();
    assert!(is_by(&made.public_key, SCHEME, &signature));
    assert_eq!(names(&served.keys()), before);
}

async fn all_changes(served: &Served) -> Vec<ClientError> {
    let all = [
        served.create("new", KeyType::P256).await,
        served.create("slow", KeyType::Rsa2048).await,
        served.rotate("web", 1).await,
        served.admin.disable_key("web", OPTIONS).await,
    ];
    all.into_iter().map(Result::unwrap_err).collect()
}

/// The audit of a device that never has room: the first change is made before that is known, and its answer says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_whose_line_is_the_first_that_fails_is_said_to_be_made() {
    const FULL: &str = "[audit]\nfile = \"/dev/full\"\n";
    let mut home = Home::new(&["admin", "user", "tenant"]);
    for round in 0..3 {
        let served = Served::at(home, &format!("{OFTEN}{FULL}")).await;
        let (made, file) = match round {
            0 => (served.create("new", KeyType::P256).await, "new.pem"),
            1 => (served.rotate("new", 1).await, "new.pem"),
            _ => (
                served.admin.disable_key("new", OPTIONS).await,
                "new.pem.disabled",
            ),
        };
        let refused = made.unwrap_err();
        assert_eq!(refused.code, Code::Internal, "{refused}");
        assert!(refused.message.contains("the change was made"), "{refused}");
        let text = fs::read_to_string(served.keys().join(file)).unwrap();
        let versions = text.matches("PRIVATE KEY-----").count() / 2;
        assert_eq!(versions, 1 + round.min(1));
        // Now it is known.
        let before = names(&served.keys());
        let refused = served.create("next", KeyType::P256).await.unwrap_err();
        assert_eq!(refused.code, Code::Unavailable, "{refused}");
        let message = "cannot write its audit, so it answers nothing";
        assert!(refused.message.contains(message), "{refused}");
        assert_eq!(names(&served.keys()), before);
        served.server.stop().await;
        home = served.home;
    }
}

#[test]
fn a_full_disk_leaves_nothing_half_written() {
    in_its_own_mounts(async {
        let home = Home::new(&["admin", "user", "tenant"]);
        let keys = home.path().join("keys");
        mount(&["-t", "tmpfs", "-o", "size=32k,mode=755", "tmpfs"], &keys);
        let served = Served::at(home, OFTEN).await;
        let made = served.create("web", KeyType::P256).await.unwrap();
        let fill = fs::write(keys.join("filler"), vec![1; 1 << 20]);
        assert!(fill.is_err());
        let before = names(&keys);
        for _ in 0..3 {
            for refused in [
                served.create("new", KeyType::P256).await,
                served.rotate("web", 1).await,
            ] {
                let refused = refused.unwrap_err();
                assert_eq!(refused.code, Code::ResourceExhausted, "{refused}");
                assert!(refused.message.contains("full"), "{refused}");
            }
            assert_unchanged(&served, &made, &before).await;
        }
        // A rename needs no room.
        served.admin.disable_key("web", OPTIONS).await.unwrap();
        served.admin.enable_key("web", OPTIONS).await.unwrap();
        fs::remove_file(keys.join("filler")).unwrap();
        served.create("new", KeyType::P256).await.unwrap();
        served.rotate("web", 1).await.unwrap();
        served.server.stop().await;
    });
}

#[test]
fn a_folder_that_cannot_be_written_is_named_at_the_start_and_later() {
    in_its_own_mounts(async {
        let home = Home::new(&["admin", "user", "tenant"]);
        let keys = home.path().join("keys");
        mount(&["-t", "tmpfs", "-o", "mode=755", "tmpfs"], &keys);
        let served = Served::at(home, OFTEN).await;
        let made = served.create("web", KeyType::P256).await.unwrap();
        let before = names(&keys);
        mount(&["-o", "remount,ro"], &keys);
        for refused in all_changes(&served).await {
            assert_eq!(refused.code, Code::FailedPrecondition, "{refused}");
            assert!(refused.message.contains("may not write"), "{refused}");
        }
        assert_unchanged(&served, &made, &before).await;
        let config = served.home.managed(CLIENTS);
        let said = Server::start(config).await.err().unwrap().to_string();
        assert!(said.contains("managed, but cannot be written"), "{said}");
        served.server.stop().await;
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_that_is_gone_or_that_everyone_may_write_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let served = Served::start().await;
    let made = served.create("web", KeyType::P256).await.unwrap();
    fs::rename(served.keys(), served.home.path().join("elsewhere")).unwrap();
    for refused in all_changes(&served).await {
        assert_eq!(refused.code, Code::FailedPrecondition, "{refused}");
        assert!(refused.message.contains("is gone"), "{refused}");
    }
    let signature = sign(&served.user, "web", SCHEME).await.unwrap();
    assert!(is_by(&made.public_key, SCHEME, &signature));
    fs::rename(served.home.path().join("elsewhere"), served.keys()).unwrap();
    served.rotate("web", 1).await.unwrap();

    fs::set_permissions(served.keys(), fs::Permissions::from_mode(0o777)).unwrap();
    let config = served.home.managed(CLIENTS);
    let said = Server::start(config).await.err().unwrap().to_string();
    assert!(said.contains("everyone may write"), "{said}");
    served.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_several_at_once_one_wins() {
    let served = Served::start().await;
    let tenant = served.home.client("tenant", &[&served.server]).await;
    let mut version = 0;
    for round in 0..10 {
        let id = format!("tenant-{}", round % 2);
        let both = match round {
            0 | 1 => tokio::join!(
                served.admin.create_key(&id, KeyType::P256, OPTIONS),
                tenant.create_key(&id, KeyType::P256, OPTIONS),
            ),
            _ => tokio::join!(
                served.admin.rotate_key(&id, version, OPTIONS),
                tenant.rotate_key(&id, version, OPTIONS),
            ),
        };
        let (won, lost) = match both {
            (Ok(key), Err(error)) | (Err(error), Ok(key)) => (key, error),
            both => panic!("{both:?}"),
        };
        let expected = match round {
            0 | 1 => Code::AlreadyExists,
            _ => Code::FailedPrecondition,
        };
        assert_eq!(lost.code, expected, "{lost}");
        let signature = sign(&served.user, &id, SCHEME).await.unwrap();
        assert!(is_by(&won.public_key, SCHEME, &signature));
        version = if round % 2 == 1 { version + 1 } else { version };
        if round == 0 {
            version = 0;
        }
    }
    served.server.stop().await;
}

/// Two servers share a folder: no version is lost, and each serves what the other made.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_share_a_folder_lose_no_version() {
    let served = Served::start().await;
    let config = served.home.managed(&format!("{OFTEN}{CLIENTS}"));
    let other = Server::start(config).await.unwrap();
    let there = served.home.client("admin", &[&other]).await;
    served.create("web", KeyType::P256).await.unwrap();
    let mut made = Vec::new();
    for version in 1..20 {
        let (one, two) = tokio::join!(
            served.admin.rotate_key("web", version, OPTIONS),
            there.rotate_key("web", version, OPTIONS),
        );
        match (one, two) {
            (Ok(key), Err(error)) | (Err(error), Ok(key)) => {
                assert_eq!(error.code, Code::FailedPrecondition, "{error}");
                made.push(key.public_key);
            }
            both => panic!("{both:?}"),
        }
    }
    let listed = there.list_all_keys().await.unwrap();
    let web = listed.into_iter().find(|key| key.id == "web").unwrap();
    let web = match web.version {
        20 => web,
        // The last one may have been made by the other server, whose folder this one reads within a second.
        _ => {
            until_some("the newest version", async || {
                let listed = there.list_all_keys().await.unwrap();
                listed
                    .into_iter()
                    .find(|key| key.id == "web" && key.version == 20)
            })
            .await
        }
    };
    assert_eq!(web.public_key, made[18]);
    let older: Vec<_> = web
        .older
        .into_iter()
        .skip(1)
        .map(|it| it.public_key)
        .collect();
    assert_eq!(older, made[..18]);
    other.stop().await;
    served.server.stop().await;
}

/// Where a file system cannot rename without replacing, a crash in between leaves both names.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_with_both_names_after_a_crash_is_enabled_and_disabled() {
    let served = Served::start().await;
    let made = served.create("web", KeyType::P256).await.unwrap();
    let (enabled, disabled) = (
        served.keys().join("web.pem"),
        served.keys().join("web.pem.disabled"),
    );
    for _ in 0..2 {
        fs::hard_link(&enabled, &disabled).unwrap();
        served.admin.enable_key("web", OPTIONS).await.unwrap();
        assert!(enabled.exists() && !disabled.exists());
        let signature = sign(&served.user, "web", SCHEME).await.unwrap();
        assert!(is_by(&made.public_key, SCHEME, &signature));
    }
    fs::hard_link(&enabled, &disabled).unwrap();
    served.admin.disable_key("web", OPTIONS).await.unwrap();
    served.admin.enable_key("web", OPTIONS).await.unwrap();
    served.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_crash_left_is_removed_at_the_start() {
    let home = Home::new(&["admin", "user", "tenant"]);
    let left = home.path().join("keys/.oarlock-new-0123456789abcdef");
    let foreign = home.path().join("keys/.oarlock-0123456789abcdef");
    for path in [&left, &foreign] {
        fs::write(path, "half a key").unwrap();
    }
    let served = Served::at(home, OFTEN).await;
    assert!(!left.exists() && foreign.exists());
    served.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_change_has_its_line_in_the_audit() {
    let served = Served::start_with(&format!("{OFTEN}[audit]\nfile = \"audit.jsonl\"\n")).await;
    served.create("web", KeyType::P256).await.unwrap();
    served.rotate("web", 1).await.unwrap();
    served.rotate("web", 1).await.unwrap_err();
    served.admin.disable_key("web", OPTIONS).await.unwrap();
    served.admin.enable_key("web", OPTIONS).await.unwrap();
    served.user.disable_key("web", OPTIONS).await.unwrap_err();
    served.create("no/name", KeyType::P256).await.unwrap_err();
    served.server.stop().await;
    let text = fs::read_to_string(served.home.path().join("audit.jsonl")).unwrap();
    let lines = text.lines().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        let of = |field: &str| line[field].as_str().unwrap_or_default().to_owned();
        [of("client"), of("operation"), of("key"), of("code")].join(" ")
    });
    let lines: Vec<_> = lines.collect();
    assert_eq!(
        lines,
        [
            "admin create web OK",
            "admin rotate web OK",
            "admin rotate web FAILED_PRECONDITION",
            "admin disable web OK",
            "admin enable web OK",
            "user disable web PERMISSION_DENIED",
            "admin create no/name INVALID_ARGUMENT",
        ]
    );
    // No part of a key, public or private.
    assert!(!text.contains("BEGIN"), "{text}");
}
