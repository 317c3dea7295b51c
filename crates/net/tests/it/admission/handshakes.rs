//! Handshakes that are slow or numerous.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write as _};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::OwnedFd;
use std::thread;
use std::time::{Duration, Instant};

use oarlock_net::tls::TlsFiles;
use oarlock_testing::LIMIT;
use rustls::ClientConnection;
use rustls_pki_types::ServerName;
use socket2::{Domain, Socket, Type};
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
    // Twice the number of places: half of them wait for the others.
    let mut slow = Vec::new();
    for _ in 0..4 {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(&[0x16, 0x03, 0x01]).await.unwrap();
        slow.push(stream);
    }
    let client = tls_files(folder.path(), "web");
    // On a busy machine its own handshake may be too slow as well; then it tries again.
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
        // The long timeout leaves only displacement to make room.
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
    // All but the 16 places, one of which the client needed.
    until("185 refusals", || counts.refused() == 185).await;
    let text = log.text();
    assert!(
        text.contains("a newer connection displaced its handshake"),
        "{text}"
    );
    assert_eq!(text.lines().count(), 10, "{text}");
    // The oldest ones have been displaced.
    for mut stream in silent.into_iter().take(185) {
        let end = timeout(LIMIT, stream.read_u8()).await.unwrap();
        assert_eq!(end.unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }
    assert_eq!(counts.refused(), 185);
}

/// Floods each stage of a handshake with 340 connections, the number that arrives in 0.1 s at 3,400 a second: after the
/// connection, half of the ClientHello, and all of it.
///
/// Covers what the connections of the flood send, the number of addresses they come from, and the stage of the handshake.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_from_many_networks_displaces_no_slow_handshake() {
    let log = Log::default();
    let _logged = tracing::subscriber::set_default(log.clone());
    let folder = pki(&["web"]);
    let files = tls_files(folder.path(), "web");
    let hello = Handshake::new(&files).hello();
    for (beginning, rounds) in [(&[][..], 5), (&hello[..1], 2), (&hello[..], 2)] {
        for networks in [256, 100] {
            let mut server = Server::start(Some(&tls_files(folder.path(), "server")), |limits| {
                // The long timeout leaves only displacement to make room.
                limits.handshake_timeout = 10 * LIMIT;
            });
            let counts = server.incoming.counts();
            let mut flood = Flood::new(server.address, networks, beginning);
            while counts.refused() == 0 {
                flood.connect();
            }
            for round in 0..rounds {
                let what = format!(
                    "round {round}, {networks} networks, {} bytes",
                    beginning.len()
                );
                let arrive = || {
                    let (before, began) = (counts.refused(), Instant::now());
                    // A few more than 340: when the handshake leaves a stage, the next connection takes its place and
                    // displaces none.
                    (0..350).for_each(|_| flood.connect());
                    while counts.refused() < before + 340 {
                        let refused = counts.refused() - before;
                        assert!(began.elapsed() < LIMIT, "{what}: {refused} refused");
                        thread::sleep(Duration::from_millis(1));
                    }
                };
                let done = Handshake::new(&files).slowly(server.address, arrive);
                let _client = done.unwrap_or_else(|error| panic!("{what}: {error}"));
                let connection = server.next().await;
                assert_eq!(connection.connect_info().identity.as_str(), "web");
            }
        }
    }
}

/// Covers what a connection can do without sending a byte, before and after the server has accepted it. All connections come
/// from one network, and the handshakes are the oldest ones, so they would be displaced first.
#[tokio::test]
async fn connections_without_a_byte_displace_no_handshake_that_has_begun() {
    const SILENT: u64 = 15;
    type Act = fn(Socket) -> Option<Socket>;
    let acts: [(&str, Act); 4] = [
        ("closed", |_| None),
        ("half closed", |socket| {
            socket.shutdown(Shutdown::Write).unwrap();
            Some(socket)
        }),
        ("reset", |socket| {
            socket.set_linger(Some(Duration::ZERO)).unwrap();
            None
        }),
        ("urgent", |socket| {
            for _ in 0..3 {
                socket.send_out_of_band(b"!").unwrap();
            }
            Some(socket)
        }),
    ];
    let folder = pki(&["web"]);
    let files = tls_files(folder.path(), "web");
    for ((what, act), is_accepted) in acts.into_iter().flat_map(|it| [(it, true), (it, false)]) {
        let log = Log::default();
        let _logged = tracing::subscriber::set_default(log.clone());
        // It shares this thread, so it sees at once everything that happens between two points where this test waits.
        let mut server = Server::start(Some(&tls_files(folder.path(), "server")), |limits| {
            limits.handshake_timeout = 10 * LIMIT;
            // Enough for the silent ones, but not for these and the handshakes in one stage.
            limits.connections_max = 16;
        });
        let (address, counts) = (server.address, server.incoming.counts());
        let mut refused = 0;
        // Connections are accepted in order, so the server has seen all earlier ones.
        let mut sees_all = async || {
            let mut junk = TcpStream::connect(address).await.unwrap();
            junk.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
            refused += 1;
            until("a refusal of junk", || counts.refused() >= refused).await;
        };
        let begun: Vec<_> = (0..4)
            .map(|_| Handshake::new(&files).begin(address).unwrap())
            .collect();
        sees_all().await;
        let connect = |_| {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
            socket.connect(&address.into()).unwrap();
            socket
        };
        let silent: Vec<_> = (0..SILENT).map(connect).collect();
        if is_accepted {
            sees_all().await;
        }
        let silent: Vec<_> = silent.into_iter().filter_map(act).collect();
        sees_all().await;
        drop(silent);
        until("the end of silent ones", || {
            counts.refused() >= refused + SILENT
        })
        .await;
        let text = log.text();
        assert!(!text.contains("displaced"), "{what}, {is_accepted}: {text}");
        assert_eq!(counts.refused(), refused + SILENT, "{what}, {is_accepted}");
        for handshake in begun {
            let ended = tokio::task::spawn_blocking(move || handshake.end());
            let (ended, connection) = tokio::join!(ended, server.next());
            assert_eq!(connection.connect_info().identity.as_str(), "web");
            drop(ended.unwrap().unwrap());
        }
    }
}

/// Connections from many addresses, of which more are held than there are places.
struct Flood {
    address: SocketAddr,
    networks: usize,
    beginning: Vec<u8>,
    held: VecDeque<Socket>,
    number: usize,
}

impl Flood {
    fn new(address: SocketAddr, networks: usize, beginning: &[u8]) -> Self {
        Self {
            address,
            networks,
            beginning: beginning.to_owned(),
            held: VecDeque::new(),
            number: 0,
        }
    }

    fn connect(&mut self) {
        let network = (self.number % self.networks) as u8;
        self.number += 1;
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let from = SocketAddr::from(([127, network, 1, 1], 0));
        socket.bind(&from.into()).unwrap();
        socket.connect(&self.address.into()).unwrap();
        // The server may have displaced it already.
        let _ = socket.send(&self.beginning);
        self.held.push_back(socket);
        if self.held.len() > 5000 {
            self.held.pop_front();
        }
    }
}

/// The client's side of a handshake.
struct Handshake(ClientConnection);

impl Handshake {
    fn new(files: &TlsFiles) -> Self {
        let name = ServerName::try_from("localhost").unwrap();
        let config = files.client().unwrap().config();
        Self(ClientConnection::new(config, name).unwrap())
    }

    fn hello(&mut self) -> Vec<u8> {
        let mut hello = Vec::new();
        self.0.write_tls(&mut hello).unwrap();
        hello
    }

    /// Connects, and sends half of the ClientHello.
    fn begin(mut self, address: SocketAddr) -> io::Result<Begun> {
        let mut socket = std::net::TcpStream::connect(address)?;
        socket.set_read_timeout(Some(LIMIT))?;
        let mut hello = self.hello();
        let rest = hello.split_off(hello.len() / 2);
        socket.write_all(&hello)?;
        Ok(Begun {
            handshake: self,
            socket,
            rest,
        })
    }

    /// Performs the handshake and calls `arrive` in each of its stages.
    fn slowly(mut self, address: SocketAddr, mut arrive: impl FnMut()) -> io::Result<impl Drop> {
        let mut socket = std::net::TcpStream::connect(address)?;
        socket.set_read_timeout(Some(LIMIT))?;
        arrive();
        let hello = self.hello();
        let (first, rest) = hello.split_at(hello.len() / 2);
        socket.write_all(first)?;
        arrive();
        socket.write_all(rest)?;
        arrive();
        self.0.complete_io(&mut socket)?;
        Ok(OwnedFd::from(socket))
    }
}

/// A handshake of which the server has half of the ClientHello.
struct Begun {
    handshake: Handshake,
    socket: std::net::TcpStream,
    rest: Vec<u8>,
}

impl Begun {
    fn end(mut self) -> io::Result<impl Drop> {
        self.socket.write_all(&self.rest)?;
        self.handshake.0.complete_io(&mut self.socket)?;
        Ok(OwnedFd::from(self.socket))
    }
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
