//! Hostile clients of the pages.

use std::collections::VecDeque;
use std::fs;
use std::io::ErrorKind;
use std::time::{Duration, Instant};

use oarlock_net::server::Server;
use oarlock_testing::LIMIT;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use super::{page, plaintext, soon};

/// Checks that the server ends the connection without an answer.
async fn assert_ended(mut socket: TcpStream) {
    let mut answer = Vec::new();
    let _ = soon("the end of a connection", socket.read_to_end(&mut answer)).await;
    assert!(answer.is_empty(), "{}", String::from_utf8_lossy(&answer));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_connections_to_the_pages_keep_nobody_out() {
    let server = Server::start(plaintext("", "")).await.unwrap();
    let address = server.metrics().unwrap();
    for beginning in ["", "GET /healthz HTTP/1.1\r\nhost:"] {
        let mut idle = Vec::new();
        for _ in 0..100 {
            let mut socket = TcpStream::connect(address).await.unwrap();
            // The first ones may have been ended already.
            let _ = socket.write_all(beginning.as_bytes()).await;
            idle.push(socket);
        }
        for _ in 0..3 {
            let (status, said) = page(address, "/healthz").await;
            assert_eq!((status, said.as_str()), (200, "serving\n"));
        }
        for socket in idle {
            assert_ended(socket).await;
        }
    }
    let threads = fs::read_dir("/proc/self/task").unwrap();
    let names =
        threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("comm")).ok());
    assert!(names.into_iter().any(|name| name == "oarlock-pages\n"));
    assert_eq!(server.stop().await, 0);
    let refused = TcpStream::connect(address).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
}

/// Connections of one network that send nothing, and then close, take no place of a request that has begun.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_connections_end_no_request_that_has_begun() {
    let server = Server::start(plaintext("", "")).await.unwrap();
    let address = server.metrics().unwrap();
    let began = Instant::now();
    loop {
        assert!(began.elapsed() < LIMIT, "always too slow for the header");
        let mut begun = TcpStream::connect(address).await.unwrap();
        let connected = Instant::now();
        let (first, rest) = (b"GET /healthz HTTP/1.1\r\nhost:", b"localhost\r\n\r\n");
        begun.write_all(first).await.unwrap();
        let mut silent = Vec::new();
        for _ in 0..600 {
            silent.push(TcpStream::connect(address).await.unwrap());
        }
        // Connections are accepted in order, so all earlier ones were too.
        assert_eq!(page(address, "/healthz").await.0, 200);
        drop(silent);
        assert_eq!(page(address, "/healthz").await.0, 200);
        // The rest may find the connection ended; then there is no answer.
        let _ = begun.write_all(rest).await;
        let mut answer = Vec::new();
        let _ = soon("an answer", begun.read_to_end(&mut answer)).await;
        // On a busy machine the server may have ended the connection for its slowness.
        if connected.elapsed() < Duration::from_secs(1) {
            let answer = String::from_utf8_lossy(&answer);
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer:?}");
            break;
        }
    }
    assert_eq!(server.stop().await, 0);
}

/// Repeats `a_flood_from_many_networks_displaces_no_slow_handshake` for clients that request a page after 0.1 s.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_from_many_networks_keeps_no_slow_client_from_its_page() {
    let server = Server::start(plaintext("", "")).await.unwrap();
    let address = server.metrics().unwrap();
    for (beginning, networks) in [("", 256), ("", 100), ("G", 256), ("G", 100)] {
        let mut held = VecDeque::new();
        let mut number = 0;
        let mut arrive = async |connections: usize| {
            for _ in 0..connections {
                let socket = TcpSocket::new_v4().unwrap();
                let from = [127, (number % networks) as u8, 1, 1];
                number += 1;
                socket.bind((from, 0).into()).unwrap();
                let mut socket = socket.connect(address).await.unwrap();
                let _ = socket.write_all(beginning.as_bytes()).await;
                held.push_back(socket);
                if held.len() > 2500 {
                    held.pop_front();
                }
            }
            // Connections are accepted in order, so all earlier ones were too.
            assert_eq!(page(address, "/healthz").await.0, 200);
        };
        arrive(2500).await;
        let mut rounds = 0;
        while rounds < 5 {
            let mut socket = TcpStream::connect(address).await.unwrap();
            let connected = Instant::now();
            arrive(100).await;
            if connected.elapsed() > Duration::from_secs(1) {
                // On a busy machine it is too late for that connection, which has 2 s.
                continue;
            }
            rounds += 1;
            let ask = b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n";
            let _ = socket.write_all(ask).await;
            let mut answer = String::new();
            let read = soon("a page", socket.read_to_string(&mut answer)).await;
            assert!(
                answer.starts_with("HTTP/1.1 200 "),
                "{networks}: {read:?} {answer}"
            );
        }
    }
    assert_eq!(server.stop().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_to_the_pages_is_for_one_request_of_some_length() {
    let server = Server::start(plaintext("", "")).await.unwrap();
    let address = server.metrics().unwrap();
    let ask = "GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n";
    let mut socket = TcpStream::connect(address).await.unwrap();
    let _ = socket.write_all(ask.repeat(3).as_bytes()).await;
    let mut answer = Vec::new();
    let _ = soon("the end of a connection", socket.read_to_end(&mut answer)).await;
    let answer = String::from_utf8_lossy(&answer);
    assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{answer}");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");

    let mut socket = TcpStream::connect(address).await.unwrap();
    let long = format!(
        "GET /healthz HTTP/1.1\r\nlong: {}\r\n\r\n",
        "x".repeat(1 << 20)
    );
    let _ = socket.write_all(long.as_bytes()).await;
    let mut answer = Vec::new();
    let _ = soon("the end of a connection", socket.read_to_end(&mut answer)).await;
    let answer = String::from_utf8_lossy(&answer);
    assert!(!answer.contains("200 OK"), "{answer}");

    assert_eq!(page(address, "/healthz").await.0, 200);
    assert_eq!(server.stop().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_that_nobody_reads_keep_nobody_out() {
    let server = Server::start(plaintext("", "")).await.unwrap();
    let address = server.metrics().unwrap();
    let mut unread = Vec::new();
    for _ in 0..100 {
        let mut socket = TcpStream::connect(address).await.unwrap();
        let ask = b"GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n";
        let _ = socket.write_all(ask).await;
        unread.push(socket);
    }
    assert_eq!(page(address, "/healthz").await.0, 200);
    drop(unread);
    assert_eq!(server.stop().await, 0);
}
