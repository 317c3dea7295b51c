//! The lifetime of connections.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use oarlock_net::client::{CallOptions, Client};
use oarlock_net::proto::{self, request};
use oarlock_net::server::Server;
use oarlock_testing::LIMIT;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

use super::super::host::{EVERYTHING, Home, call};
use crate::admission::common::{FAR, revocation_list};
use crate::waiting::until;

use super::{batch, connect, is_right, plaintext, raw, soon};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pings_alone_keep_no_connection() {
    let server = Server::start(plaintext("", "[limits]\nidle_timeout_ms = 500\n"))
        .await
        .unwrap();
    let socket = TcpStream::connect(server.addresses()[0]).await.unwrap();
    let (mut reader, mut writer) = socket.into_split();
    writer
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
        .await
        .unwrap();
    let pings = async {
        while writer
            .write_all(b"\0\0\x08\x06\0\0\0\0\0beingpin")
            .await
            .is_ok()
        {
            sleep(Duration::from_millis(10)).await;
        }
    };
    let mut frames = Vec::new();
    let end = async {
        let _ = reader.read_to_end(&mut frames).await;
    };
    soon("the end of a connection", async {
        tokio::join!(pings, end)
    })
    .await;
    // The server has answered them.
    assert!(frames.windows(8).any(|bytes| bytes == b"beingpin"));
    assert_eq!(server.stop().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_keep_their_connection() {
    let idle = Duration::from_secs(1);
    let server = Server::start(plaintext("", "[limits]\nidle_timeout_ms = 1000\n"))
        .await
        .unwrap();
    let began = Instant::now();
    loop {
        let mut client = connect(&server).await;
        let (sender, receiver) = tokio::sync::mpsc::channel(1);
        let requests = tokio_stream::wrappers::ReceiverStream::new(receiver);
        let mut replies = client.exchange(requests).await.unwrap().into_inner();
        let (start, mut last) = (Instant::now(), Instant::now());
        let mut silence = Duration::ZERO;
        let mut is_open = true;
        while is_open && start.elapsed() < 3 * idle {
            is_open = sender.send(batch([raw(1, 5)])).await.is_ok();
            match soon("a reply", replies.message()).await {
                Ok(Some(batch)) => assert_eq!(is_right(&batch.replies[0], 5), Ok(())),
                Ok(None) | Err(_) => is_open = false,
            }
            silence = silence.max(last.elapsed());
            last = Instant::now();
            sleep(idle / 8).await;
        }
        // On a busy machine it may have been silent for too long.
        if silence < idle / 2 {
            assert!(is_open, "closed after {:?}", start.elapsed());
            break;
        }
        assert!(began.elapsed() < LIMIT, "never busy without a pause");
    }
    assert_eq!(server.stop().await, 0);
}

/// Forwards connections to `server`, and counts them.
async fn counting(server: SocketAddr) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        loop {
            let (mut client, _) = listener.accept().await.unwrap();
            counted.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(async move {
                let mut server = TcpStream::connect(server).await.unwrap();
                let _ = copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    (address, count)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_goes_on_when_its_connection_reaches_its_age() {
    let home = Home::new(&["alice"]);
    let limits = format!("{EVERYTHING}[limits]\nconnection_age_ms = 1000\n");
    let server = Server::start(home.config(&limits)).await.unwrap();
    let (address, connections) = counting(server.addresses()[0]).await;
    let mut settings = home.settings("alice", &[&server]);
    settings.servers = vec![format!("127.0.0.1:{}", address.port())];
    settings.connections = 1;
    let client = Client::new(settings).unwrap();
    client.ready(LIMIT).await.unwrap();
    let mut asked = 0;
    let calls = async {
        while connections.load(Ordering::Relaxed) < 3 {
            let operation = request::Operation::RawPrivate(proto::RawPrivate {
                key_id: "rsa1024".into(),
                number: vec![1],
            });
            let options = CallOptions {
                timeout: Some(LIMIT),
                is_urgent: false,
                ..CallOptions::default()
            };
            let answer = client.call(operation, options).await.unwrap();
            assert_eq!(answer.last(), Some(&1));
            asked += 1;
        }
    };
    soon("a third connection", calls).await;
    assert!(asked > 2);
    assert_eq!(server.stop().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_revoked_is_out_and_others_stay() {
    let home = Home::new(&["alice", "mallory"]);
    let mut config = home.config(EVERYTHING);
    let server = Server::start(config.clone()).await.unwrap();
    let alice = home.client("alice", &[&server]).await;
    let mallory = home.client("mallory", &[&server]).await;
    let one = || {
        request::Operation::RawPrivate(proto::RawPrivate {
            key_id: "rsa1024".into(),
            number: vec![1],
        })
    };
    for client in [&alice, &mallory] {
        assert_eq!(call(client, one()).await.unwrap().last(), Some(&1));
    }
    let connections = alice.connected();
    let list = revocation_list(home.path(), &["mallory"], FAR);
    config.tls.as_mut().unwrap().client_crl = Some(list);
    server.reload(&config).unwrap();
    until("the end of all connections", || mallory.connected() == 0).await;
    assert!(call(&mallory, one()).await.is_err());
    assert_eq!(alice.connected(), connections);
    assert_eq!(call(&alice, one()).await.unwrap().last(), Some(&1));
    assert_eq!(server.stop().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_ends_without_an_error_when_its_connection_is_old() {
    let server = Server::start(plaintext("", "[limits]\nconnection_age_ms = 1000\n"))
        .await
        .unwrap();
    let mut client = connect(&server).await;
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    let requests = tokio_stream::wrappers::ReceiverStream::new(receiver);
    let mut replies = client.exchange(requests).await.unwrap().into_inner();
    let mut answered = 0;
    // A batch that the server has not received belongs to the next connection.
    while sender.send(batch([raw(1, 5)])).await.is_ok() {
        let Some(batch) = soon("a reply", replies.message()).await.unwrap() else {
            break;
        };
        answered += batch.replies.len();
    }
    assert!(answered > 0);
    assert_eq!(server.stop().await, 0);
}
