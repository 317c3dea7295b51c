//! Handshakes that are slow, or many.

use std::io::ErrorKind;
use std::time::Duration;

use oarlock_testing::LIMIT;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tonic::transport::server::Connected;

use super::common::{Log, pki, tls_files};
use super::listener::{Server, connect};
use crate::waiting::until;

#[tokio::test]
async fn slow_handshakes_end_and_hold_up_nobody() {
    let folder = pki(&["web"]);
    let mut server = Server::start(Some(&tls_files(folder.path(), "server")), |limits| {
        limits.handshake_timeout = Duration::from_secs(1);
        limits.connections_max = 2;
    });
    // As many as there may be, and as many again that wait for them.
    let mut slow = Vec::new();
    for _ in 0..4 {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(&[0x16, 0x03, 0x01]).await.unwrap();
        slow.push(stream);
    }
    let client = tls_files(folder.path(), "web");
    // On a busy machine its handshake may be too slow as well; then it comes again.
    let (mut tries, address) = (0, server.address);
    let connect = async {
        loop {
            tries += 1;
            if let Ok(client) = connect(address, &client, "localhost").await {
                return client;
            }
        }
    };
    let (_client, connection) = tokio::join!(connect, server.next());
    assert_eq!(connection.connect_info().identity.as_str(), "web");
    for mut stream in slow {
        let mut rest = Vec::new();
        let end = timeout(LIMIT, stream.read_to_end(&mut rest)).await.unwrap();
        assert!(end.is_err() || rest.is_empty(), "{rest:?}");
    }
    assert_eq!(server.incoming.counts().refused(), 4 + tries - 1);
}

#[tokio::test]
async fn silent_connections_displace_each_other_and_delay_no_handshake() {
    let log = Log::default();
    let _logged = tracing::subscriber::set_default(log.clone());
    let folder = pki(&["web"]);
    let mut server = Server::start(Some(&tls_files(folder.path(), "server")), |limits| {
        // Only displacement can make room.
        limits.handshake_timeout = 10 * LIMIT;
        limits.connections_max = 16;
    });
    let mut silent = Vec::new();
    for _ in 0..200 {
        silent.push(TcpStream::connect(server.address).await.unwrap());
    }
    let files = tls_files(folder.path(), "web");
    let connected = timeout(LIMIT, connect(server.address, &files, "localhost"));
    let _client = connected.await.unwrap().unwrap();
    let connection = server.next().await;
    assert_eq!(connection.connect_info().identity.as_str(), "web");
    let counts = server.incoming.counts();
    // All but as many as there may be, for the client needed a place of its own.
    until("185 refusals", || counts.refused() == 185).await;
    let text = log.text();
    assert!(
        text.contains("a newer connection displaced its handshake"),
        "{text}"
    );
    assert_eq!(text.lines().count(), 10, "{text}");
    // The oldest ones have gone.
    for mut stream in silent.into_iter().take(185) {
        let end = timeout(LIMIT, stream.read_u8()).await.unwrap();
        assert_eq!(end.unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }
    assert_eq!(counts.refused(), 185);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_handshakes_at_once_all_end() {
    let folder = pki(&["web"]);
    let mut server = Server::start(Some(&tls_files(folder.path(), "server")), |limits| {
        limits.handshake_timeout = 10 * LIMIT;
    });
    let files = tls_files(folder.path(), "web");
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let (address, files) = (server.address, files.clone());
        clients.spawn(async move { connect(address, &files, "localhost").await.unwrap() });
    }
    let mut connections = Vec::new();
    for _ in 0..100 {
        let mut connection = server.next().await;
        let mut hello = [0; 5];
        connection.read_exact(&mut hello).await.unwrap();
        assert_eq!(&hello, b"hello");
        connections.push(connection);
    }
    let clients = timeout(LIMIT, clients.join_all()).await.unwrap();
    let counts = server.incoming.counts();
    assert_eq!(
        (clients.len(), counts.open(), counts.refused()),
        (100, 100, 0)
    );
}
