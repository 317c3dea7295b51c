//! Long lists of keys, page by page.

use std::fs;

use oarlock::keys::{Curve, KeyType};
use oarlock_net::proto::manage_key_request::Change;
use oarlock_net::proto::{self, ListKeysRequest};
use oarlock_net::server::Server;
use oarlock_net::server::config::Config;
use prost::Message as _;
use tonic::Code;

use super::host::{EVERYTHING, Home};
use super::trials::{connect, plaintext, soon};

/// Clients get all of ten thousand keys, which need several messages.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_keys_are_listed() {
    let home = Home::new(&["alice"]);
    let folder = home.path().join("keys");
    home.add_key("one", KeyType::Ec(Curve::P256));
    for number in 0..COUNT {
        fs::hard_link(folder.join("one.pem"), folder.join(id(number) + ".pem")).unwrap();
    }
    let server = Server::start(home.config(EVERYTHING)).await.unwrap();
    let alice = home.client("alice", &[&server]).await;
    let listed = soon("a list", alice.list_keys()).await.unwrap();
    let bytes: usize = listed.iter().map(proto::Key::encoded_len).sum();
    assert!(bytes > MESSAGE_BYTES_MAX, "{bytes} bytes test nothing");
    let ids: Vec<_> = listed.iter().map(|key| &key.id[..]).collect();
    assert!(ids.is_sorted());
    let of_these = ids.iter().filter(|id| id.starts_with("a key")).count();
    assert_eq!(of_these, COUNT);
    assert_eq!(alice.list_all_keys().await.unwrap(), listed);
    server.stop().await;
}

/// A client of an earlier version gets all keys in one reply, and a token that is too long is refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_are_for_clients_that_ask_for_them() {
    let server = Server::start(plaintext("", "")).await.unwrap();
    let mut client = connect(&server).await;
    let mut ask = async |page_size: u32, page_token: &str| {
        let asked = ListKeysRequest {
            any_kind: true,
            page_size,
            page_token: page_token.to_owned(),
        };
        client
            .list_keys(asked)
            .await
            .map(tonic::Response::into_inner)
    };
    let all = ask(0, "").await.unwrap();
    assert!(all.keys.len() == 2 && all.next_page_token.is_empty());
    let (mut seen, mut token) = (Vec::new(), String::new());
    loop {
        let page = ask(1, &token).await.unwrap();
        assert_eq!(page.keys.len(), 1);
        seen.extend(page.keys);
        token = page.next_page_token;
        if token.is_empty() {
            break;
        }
    }
    assert_eq!(seen, all.keys);
    let past = ask(1, "zzzz").await.unwrap();
    assert!(past.keys.is_empty() && past.next_page_token.is_empty());
    let refused = ask(1, &"a".repeat(256)).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    server.stop().await;
}

/// The one reply to a client from before pages has to fit into a message of its.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_without_pages_has_no_older_versions() {
    let home = Home::new(&[]);
    let text = "listen = [\"127.0.0.1:0\"]\nplaintext = true\n[[key]]\ndirectory = \"keys\"\nmanaged = true\n\
        [[client]]\nidentity = \"*\"\nkeys = [\"web\"]\noperations = [\"create\", \"rotate\", \"list\"]\n";
    let config = Config::parse(text, home.path()).unwrap();
    let server = Server::start(config).await.unwrap();
    let mut client = connect(&server).await;
    let create = Change::Create(proto::CreateKey {
        r#type: proto::KeyType::P256.into(),
    });
    let rotate = |version| Change::Rotate(proto::RotateKey { version });
    for change in [create, rotate(1), rotate(2)] {
        let request = proto::ManageKeyRequest {
            key_id: "web".to_owned(),
            timeout_ms: 0,
            change: Some(change),
        };
        client.manage_key(request).await.unwrap();
    }
    for (page_size, older) in [(0, 0), (1, 2), (u32::MAX, 2)] {
        let asked = ListKeysRequest {
            any_kind: true,
            page_size,
            page_token: String::new(),
        };
        let reply = client.list_keys(asked).await.unwrap().into_inner();
        let [key] = &reply.keys[..] else {
            panic!("{reply:?}")
        };
        assert_eq!((key.version, key.older.len()), (3, older), "{page_size}");
    }
    server.stop().await;
}

fn id(number: usize) -> String {
    format!("a key with a name of some length {number:05}")
}

/// The bytes that a client takes in a message.
const MESSAGE_BYTES_MAX: usize = 1 << 20;
const COUNT: usize = 10_000;
