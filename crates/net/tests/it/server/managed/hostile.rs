//! Clients with the right to make keys that do harm with it, or go, or lose the right.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use oarlock_net::client::{Client, ClientError};
use oarlock_net::proto::{self, KeyType, SignatureScheme};
use oarlock_net::server::Server;
use tokio::task::JoinHandle;
use tonic::Code;

use super::super::host::Home;
use super::{CLIENTS, OFTEN, OPTIONS, Served, is_by, names, sign};
use crate::waiting::until_some;

const SCHEME: SignatureScheme = SignatureScheme::EcdsaP256Sha256;

/// Has a client ask for a key that takes long, and returns its ID and the call once that is under way: another change is refused
/// for that reason then.
async fn slow(client: &Client) -> (String, JoinHandle<Result<proto::Key, ClientError>>) {
    for number in 0.. {
        let id = format!("slow-{number}");
        let (asking, name) = (client.clone(), id.clone());
        let call = tokio::spawn(async move {
            loop {
                match asking.create_key(&name, KeyType::Rsa4096, OPTIONS).await {
                    // The question below was.
                    Err(error) if error.message.contains("under way") => pause().await,
                    made => return made,
                }
            }
        });
        while !call.is_finished() {
            let refused = client.disable_key("nothing", OPTIONS).await.unwrap_err();
            if refused.message.contains("under way") {
                return (id, call);
            }
            pause().await;
        }
    }
    unreachable!("numbers do not end")
}

async fn pause() {
    tokio::time::sleep(Duration::from_millis(5)).await;
}

/// Several clients have RSA-4096 keys made without pause. A victim signs, and makes and rotates keys of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_rsa_keys_harms_no_neighbour() {
    const MALLORIES: [&str; 3] = ["mallory-1", "mallory-2", "mallory-3"];
    let home = Home::new(&[&MALLORIES[..], &["admin", "user", "tenant"]].concat());
    let more = "[[client]]\nidentity = \"mallory-*\"\nkeys = [\"mallory-*\"]\noperations = [\"create\", \"rotate\"]\n";
    let served = Served::at(home, &format!("{OFTEN}{more}")).await;
    let made = served.create("web", KeyType::P256).await.unwrap();
    let (is_over, refused) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    let mut floods = Vec::new();
    for name in MALLORIES {
        let client = served.home.client(name, &[&served.server]).await;
        // Each of them with several requests at once.
        for lane in 0..4 {
            let (client, is_over, refused) =
                (client.clone(), Arc::clone(&is_over), Arc::clone(&refused));
            floods.push(tokio::spawn(async move {
                let mut number = 0;
                while !is_over.load(Ordering::Relaxed) {
                    number += 1;
                    let id = format!("{name}-{lane}-{number}");
                    if let Err(error) = client.create_key(&id, KeyType::Rsa4096, OPTIONS).await {
                        assert_eq!(error.code, Code::ResourceExhausted, "{error}");
                        refused.fetch_add(1, Ordering::Relaxed);
                        pause().await;
                    }
                }
            }));
        }
    }
    for round in 0..100 {
        let signature = sign(&served.user, "web", SCHEME).await.unwrap();
        let is_rotated = round > 50;
        assert_eq!(is_by(&made.public_key, SCHEME, &signature), !is_rotated);
        if round == 20 {
            served.create("quick", KeyType::A256gcm).await.unwrap();
        }
        if round == 50 {
            served.rotate("web", 1).await.unwrap();
        }
    }
    // Its own RSA key waits for one of each of them at most.
    served.create("slow", KeyType::Rsa2048).await.unwrap();
    assert!(refused.load(Ordering::Relaxed) > 0);
    is_over.store(true, Ordering::Relaxed);
    for flood in floods {
        flood.await.unwrap();
    }
    served.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_goes_makes_no_key() {
    let served = Served::start_with(&format!("{OFTEN}[audit]\nfile = \"audit.jsonl\"\n")).await;
    let gone = served.home.client("admin", &[&served.server]).await;
    let (id, call) = slow(&gone).await;
    call.abort();
    // The call's line is there when its turn is over.
    let audit = served.home.path().join("audit.jsonl");
    until_some("a line", async || {
        let text = fs::read_to_string(&audit).unwrap();
        text.contains("CANCELLED").then_some(())
    })
    .await;
    assert!(!names(&served.keys()).contains(&format!("{id}.pem")));
    // Its turn is over.
    served.create("web", KeyType::P256).await.unwrap();
    served.server.stop().await;
}

/// The right is withdrawn while the key is generated: that to make keys, or all that the client has.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_right_that_is_withdrawn_makes_no_key() {
    let managing = "\"create\", \"rotate\", \"disable\", \"enable\", ";
    let without = CLIENTS.replace(managing, "");
    let nobody = CLIENTS.replace("\"admin\"", "\"nobody\"");
    for clients in [without, nobody] {
        let served = Served::start().await;
        let (id, call) = slow(&served.admin).await;
        let config = served.home.managed(&format!("{OFTEN}{clients}"));
        served.server.reload(&config).unwrap();
        let refused = call.await.unwrap().unwrap_err();
        assert_eq!(refused.code, Code::PermissionDenied, "{refused}");
        assert!(!names(&served.keys()).contains(&format!("{id}.pem")));
        served.server.stop().await;
    }
}

/// A server that drains makes no more keys.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_ends_leaves_whole_files() {
    let home = Home::new(&["admin", "user", "tenant"]);
    let config = home.managed(&format!("{OFTEN}drain_ms = 100\n{CLIENTS}"));
    let server = Server::start(config).await.unwrap();
    let admin = home.client("admin", &[&server]).await;
    let flood = tokio::spawn(async move {
        for number in 0.. {
            if admin
                .create_key(&format!("key-{number}"), KeyType::P256, OPTIONS)
                .await
                .is_err()
            {
                break;
            }
        }
    });
    let keys = home.path().join("keys");
    until_some("some keys", async || {
        (names(&keys).len() > 20).then_some(())
    })
    .await;
    server.stop().await;
    flood.abort();
    let again = Served::at(home, OFTEN).await;
    for name in names(&keys) {
        let id = name
            .strip_suffix(".pem")
            .unwrap_or_else(|| panic!("{name}"));
        let listed = again.listed(id).await.unwrap();
        assert_eq!(listed.version, 1);
    }
    again.server.stop().await;
}
