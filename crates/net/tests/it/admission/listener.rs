use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use oarlock_net::server::config::Limits;
use oarlock_net::server::listener::{Connection, Incoming, Listener, moderate};
use oarlock_net::tls::{ServerTls, TlsFiles};
use oarlock_testing::process::is_child;
use oarlock_testing::{LIMIT, alone};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair,
    date_time_ymd,
};
use rustls::HandshakeKind;
use rustls::client::Resumption;
use rustls_pki_types::ServerName;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_stream::StreamExt;
use tonic::transport::server::Connected;

use super::common::{FAR, Log, namesake, pki, revocation_list, tls_files};
use crate::waiting::until;

pub(super) struct Server {
    pub(super) address: SocketAddr,
    pub(super) incoming: Incoming,
    tls: Option<Arc<ServerTls>>,
    stop: Option<oneshot::Sender<()>>,
}

impl Server {
    pub(super) fn start(files: Option<&TlsFiles>, change: impl FnOnce(&mut Limits)) -> Self {
        let mut limits = Limits::default();
        change(&mut limits);
        let tls = files.map(|files| Arc::new(ServerTls::load(files).unwrap()));
        let listener = Listener::bind(&["127.0.0.1:0".parse().unwrap()]).unwrap();
        let address = listener.addresses()[0];
        let (stop, stopped) = oneshot::channel();
        let incoming = listener.incoming(tls.clone(), &limits, async {
            // The server stops whether the sender is used or dropped.
            let _ = stopped.await;
        });
        Self {
            address,
            incoming,
            tls,
            stop: Some(stop),
        }
    }

    pub(super) async fn next(&mut self) -> Connection {
        let next = timeout(LIMIT, self.incoming.next()).await;
        next.unwrap().unwrap().unwrap()
    }
}

pub(super) async fn connect(
    address: SocketAddr,
    files: &TlsFiles,
    name: &'static str,
) -> std::io::Result<TlsStream<TcpStream>> {
    let connector = TlsConnector::from(files.client().unwrap().config());
    let stream = TcpStream::connect(address).await?;
    let name = ServerName::try_from(name).unwrap();
    let mut stream = connector.connect(name, stream).await?;
    // In TLS 1.3 a client learns only after its handshake whether the server accepts its certificate.
    stream.write_all(b"hello").await?;
    Ok(stream)
}

/// Returns the error of a client that is refused.
async fn refusal(address: SocketAddr, files: &TlsFiles) -> String {
    let refused = async {
        match connect(address, files, "localhost").await {
            Ok(mut stream) => stream.read_u8().await.unwrap_err().to_string(),
            Err(error) => error.to_string(),
        }
    };
    timeout(LIMIT, refused).await.unwrap()
}

/// Creates an authority and a client of it whose certificate expired in 2002.
fn expired(folder: &Path) -> TlsFiles {
    let authority_key = KeyPair::generate().unwrap();
    let mut authority = CertificateParams::new([]).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let roots = authority.self_signed(&authority_key).unwrap();
    let mut params = CertificateParams::new(["web".to_owned()]).unwrap();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "web");
    params.not_before = date_time_ymd(2001, 1, 1);
    params.not_after = date_time_ymd(2002, 1, 1);
    let key = KeyPair::generate().unwrap();
    let issuer = Issuer::from_params(&authority, &authority_key);
    let certificate = params.signed_by(&key, &issuer).unwrap();
    fs::write(folder.join("expired.pem"), certificate.pem()).unwrap();
    fs::write(folder.join("expired.key"), key.serialize_pem()).unwrap();
    fs::write(folder.join("expired-ca.pem"), roots.pem()).unwrap();
    TlsFiles {
        certificate: folder.join("expired.pem"),
        key: folder.join("expired.key"),
        roots: folder.join("expired-ca.pem"),
        revoked: None,
    }
}

#[tokio::test]
async fn a_client_comes_in_with_its_name() {
    let folder = pki(&["web-1.example"]);
    let mut server = Server::start(Some(&tls_files(folder.path(), "server")), |_| {});
    let files = tls_files(folder.path(), "web-1.example");
    let mut client = connect(server.address, &files, "localhost").await.unwrap();
    assert_eq!(client.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let mut connection = server.next().await;
    let info = connection.connect_info();
    assert_eq!(info.identity.as_str(), "web-1.example");
    assert_eq!(info.peer, client.get_ref().0.local_addr().unwrap());
    let mut hello = [0; 5];
    connection.read_exact(&mut hello).await.unwrap();
    connection.write_all(&hello).await.unwrap();
    connection.flush().await.unwrap();
    client.read_exact(&mut hello).await.unwrap();
    assert_eq!(&hello, b"hello");
    let counts = server.incoming.counts();
    assert_eq!(
        (counts.open(), counts.admitted(), counts.refused()),
        (1, 1, 0)
    );
    drop(connection);
    assert_eq!(counts.open(), 0);
}

#[tokio::test]
async fn unknown_clients_stay_out_and_the_log_says_why() {
    let log = Log::default();
    let _logged = tracing::subscriber::set_default(log.clone());
    let (folder, foreign) = (pki(&["web"]), pki(&["web"]));
    let old = TempDir::new().unwrap();
    let old = expired(old.path());
    // The server trusts both authorities, so only the date of the expired certificate is wrong.
    let mut trusted = fs::read(folder.path().join("ca.pem")).unwrap();
    trusted.extend(fs::read(&old.roots).unwrap());
    let mut files = tls_files(folder.path(), "server");
    files.roots = folder.path().join("trusted.pem");
    fs::write(&files.roots, trusted).unwrap();
    let mut server = Server::start(Some(&files), |_| {});
    let said = |of: &str| {
        let log = log.text();
        assert!(log.contains(of), "{of:?} is not in {log}");
    };

    let mut wrong_authority = tls_files(foreign.path(), "web");
    wrong_authority.roots = folder.path().join("ca.pem");
    let told = refusal(server.address, &wrong_authority).await;
    assert!(told.contains("received fatal alert"), "{told}");
    said("connection refused: no CA in ");
    said("trusted.pem (client_ca) issued the client's certificate");

    // Our own client would not load it.
    let address = server.address.to_string();
    let ca = folder.path().join("ca.pem");
    let s_client = |more: &[&str]| {
        let mut arguments = vec!["s_client", "-connect", &address, "-alpn", "h2"];
        arguments.extend(["-CAfile", ca.to_str().unwrap(), "-verify_return_error"]);
        arguments.extend(more);
        let arguments: Vec<_> = arguments.into_iter().map(str::to_owned).collect();
        async move {
            let ran = tokio::task::spawn_blocking(move || {
                let mut client = Command::new("openssl")
                    .args(arguments)
                    .stdin(Stdio::piped())
                    .stdout(Stdio::piped())
                    .stderr(Stdio::piped())
                    .spawn()
                    .unwrap();
                let _open = client.stdin.take();
                let output = client.wait_with_output().unwrap();
                String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
            });
            timeout(LIMIT, ran).await.unwrap().unwrap()
        }
    };
    let [certificate, key] = [&old.certificate, &old.key].map(|path| path.to_str().unwrap());
    let told = s_client(&["-cert", certificate, "-key", key]).await;
    assert!(told.contains("certificate expired"), "{told}");
    said("the client's certificate expired at 2002-");
    let told = s_client(&[]).await;
    assert!(told.contains("certificate required"), "{told}");
    said("the client has no certificate");
    let told = s_client(&["-tls1_2"]).await;
    assert!(told.contains("alert protocol version"), "{told}");
    said("the client offers no suitable TLS 1.3");

    let client = tls_files(folder.path(), "web");
    let wrong_name = connect(server.address, &client, "other.example").await;
    let told = wrong_name.unwrap_err().to_string();
    assert!(told.contains("not valid for name"), "{told}");
    let counts = server.incoming.counts();
    until("five refusals", || counts.refused() == 5).await;
    said("server.pem (certificate): did it connect by a name that is not in it?");

    let mut junk = TcpStream::connect(server.address).await.unwrap();
    junk.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    until("a sixth refusal", || counts.refused() == 6).await;
    // A connection that only probes the port is not worth a line.
    let lines = log.text().lines().count();
    drop(TcpStream::connect(server.address).await.unwrap());
    until("a seventh refusal", || counts.refused() == 7).await;
    assert_eq!(log.text().lines().count(), lines, "{}", log.text());

    assert_eq!(counts.admitted(), 0);
    let _client = connect(server.address, &client, "localhost").await.unwrap();
    server.next().await;
}

#[tokio::test]
async fn knocking_does_not_fill_the_log() {
    let log = Log::default();
    let _logged = tracing::subscriber::set_default(log.clone());
    let folder = pki(&[]);
    let server = Server::start(Some(&tls_files(folder.path(), "server")), |_| {});
    for _ in 0..50 {
        let mut junk = TcpStream::connect(server.address).await.unwrap();
        junk.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    }
    let counts = server.incoming.counts();
    until("50 refusals", || counts.refused() == 50).await;
    assert_eq!(log.text().lines().count(), 10, "{}", log.text());
}

#[tokio::test]
async fn silent_connections_end_and_busy_ones_do_not() {
    let folder = pki(&["web"]);
    let idle = Duration::from_secs(1);
    let mut server = Server::start(Some(&tls_files(folder.path(), "server")), |limits| {
        limits.idle_timeout = idle;
    });
    let files = tls_files(folder.path(), "web");
    let began = Instant::now();
    loop {
        let mut client = connect(server.address, &files, "localhost").await.unwrap();
        let mut connection = server.next().await;
        // Sends for longer than the idle time; returns its longest silence and the time of its last write.
        let busy = async {
            let start = Instant::now();
            let (mut silence, mut last) = (Duration::ZERO, start);
            while start.elapsed() < 3 * idle {
                let now = Instant::now();
                let _ = client.write_all(b"more").await;
                silence = silence.max(last.elapsed());
                last = now;
                tokio::time::sleep(idle / 8).await;
            }
            (silence, last)
        };
        let mut buffer = [0; 64];
        let read = async {
            loop {
                if let Err(error) = connection.read(&mut buffer).await {
                    return (error.kind(), Instant::now());
                }
                // Count the bytes as a request.
                connection.connect_info().touch();
            }
        };
        // After that the client stays connected and silent, like one whose machine is gone.
        let ((silence, last), (kind, end)) = timeout(LIMIT, async { tokio::join!(busy, read) })
            .await
            .unwrap();
        assert_eq!(kind, ErrorKind::TimedOut);
        // On a busy machine this client may have been silent for too long.
        if silence < idle / 2 {
            assert!(end - last >= idle, "{:?}", end - last);
            break;
        }
        assert!(began.elapsed() < LIMIT, "never busy without a pause");
    }

    // A client that sends much but requests nothing.
    let mut client = connect(server.address, &files, "localhost").await.unwrap();
    let mut connection = server.next().await;
    let chatter = async {
        while client.write_all(&[0; 1000]).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    let read = async {
        let mut buffer = [0; 64];
        let kind = loop {
            if let Err(error) = connection.read(&mut buffer).await {
                break error.kind();
            }
        };
        drop(connection);
        kind
    };
    let (kind, ()) = timeout(LIMIT, async { tokio::join!(read, chatter) })
        .await
        .unwrap();
    assert_eq!(kind, ErrorKind::TimedOut);

    // Nor does it help if bytes are there whenever the server reads.
    let mut client = connect(server.address, &files, "localhost").await.unwrap();
    let mut connection = server.next().await;
    client.write_all(&[0; 1000]).await.unwrap();
    tokio::time::sleep(idle + Duration::from_secs(1)).await;
    let kind = connection.read_u8().await.unwrap_err().kind();
    assert_eq!(kind, ErrorKind::TimedOut);

    // A client that never reads.
    let _client = connect(server.address, &files, "localhost").await.unwrap();
    let mut connection = server.next().await;
    let much = vec![0; 1 << 20];
    let kind = timeout(LIMIT, async {
        loop {
            if let Err(error) = connection.write_all(&much).await {
                return error.kind();
            }
        }
    });
    assert_eq!(kind.await.unwrap(), ErrorKind::TimedOut);
}

#[tokio::test]
async fn a_connection_that_rests_is_written_to_and_read_from_later() {
    let mut server = Server::start(None, |_| {});
    let mut client = TcpStream::connect(server.address).await.unwrap();
    let mut connection = server.next().await;
    let backoff = connection.connect_info().backoff;
    let (rest, start) = (Duration::from_millis(300), Instant::now());
    backoff.begin(rest);
    client.write_all(b"?!").await.unwrap();
    connection.write_all(b"!").await.unwrap();
    assert_eq!(client.read_u8().await.unwrap(), b'!');
    assert_eq!(connection.read_u8().await.unwrap(), b'?');
    assert!(start.elapsed() >= rest);
    // Bytes that have arrived already are returned at once; a pause may be extended while it lasts.
    assert_eq!(connection.read_u8().await.unwrap(), b'!');
    let start = Instant::now();
    backoff.begin(rest);
    let longer = async {
        tokio::time::sleep(rest / 2).await;
        backoff.begin(rest);
        client.write_all(b".").await.unwrap();
    };
    let (read, ()) = tokio::join!(connection.read_u8(), longer);
    assert_eq!(read.unwrap(), b'.');
    assert!(start.elapsed() >= rest * 3 / 2);
}

#[tokio::test]
async fn a_thread_sleeps_while_all_its_connections_rest_and_no_longer() {
    // No sleep is shorter than requested, but any call may take long on a busy machine. So it is repeated until one call was
    // short if there should be no sleep.
    let is_short = || {
        let start = Instant::now();
        moderate();
        start.elapsed() < Duration::from_millis(2)
    };
    until("no sleep before a rest", is_short).await;
    let mut server = Server::start(None, |_| {});
    let _client = TcpStream::connect(server.address).await.unwrap();
    let connection = server.next().await;
    let info = connection.connect_info();
    info.backoff.begin(Duration::from_secs(3600));
    until("no sleep for one of many", is_short).await;
    let counts = server.incoming.counts();
    // On a machine that stalls for a moment, the client counts as inactive.
    until("a sleep where all rest", || {
        info.touch();
        info.backoff.begin(Duration::from_secs(3600));
        counts.share(false);
        info.backoff.begin(Duration::from_secs(3600));
        !is_short()
    })
    .await;
    assert!((0..20).all(|_| !is_short()));
    info.backoff.begin(Duration::ZERO);
    until("no sleep after the rest", is_short).await;
}

#[tokio::test]
async fn connections_have_a_bound() {
    let mut server = Server::start(None, |limits| limits.connections_max = 1);
    let mut first = TcpStream::connect(server.address).await.unwrap();
    let connection = server.next().await;
    assert_eq!(connection.connect_info().identity.as_str(), "anonymous");
    let mut second = TcpStream::connect(server.address).await.unwrap();
    let end = timeout(LIMIT, second.read_u8()).await.unwrap();
    assert_eq!(end.unwrap_err().kind(), ErrorKind::UnexpectedEof);
    drop(connection);
    let end = timeout(LIMIT, first.read_u8()).await.unwrap();
    assert_eq!(end.unwrap_err().kind(), ErrorKind::UnexpectedEof);
    let _third = TcpStream::connect(server.address).await.unwrap();
    server.next().await;
}

#[tokio::test]
async fn a_stop_ends_what_has_not_begun() {
    let folder = pki(&["web"]);
    let mut server = Server::start(Some(&tls_files(folder.path(), "server")), |_| {});
    let files = tls_files(folder.path(), "web");
    let mut client = connect(server.address, &files, "localhost").await.unwrap();
    let mut connection = server.next().await;
    let mut slow = TcpStream::connect(server.address).await.unwrap();
    // Once this one is in, the slow one has been accepted.
    let _other = connect(server.address, &files, "localhost").await.unwrap();
    let _other_connection = server.next().await;
    drop(server.stop.take());
    let end = timeout(LIMIT, server.incoming.next()).await.unwrap();
    assert!(end.is_none());
    let end = timeout(LIMIT, slow.read_u8()).await.unwrap();
    end.unwrap_err();
    TcpStream::connect(server.address).await.unwrap_err();
    // Open connections continue.
    connection.write_all(b"!").await.unwrap();
    connection.flush().await.unwrap();
    assert_eq!(client.read_u8().await.unwrap(), b'!');
}

#[tokio::test]
async fn a_reload_is_for_new_connections() {
    let (first, second) = (pki(&["web"]), pki(&["web"]));
    let mut server = Server::start(Some(&tls_files(first.path(), "server")), |_| {});
    let old = tls_files(first.path(), "web");
    let mut client = connect(server.address, &old, "localhost").await.unwrap();
    let mut connection = server.next().await;
    let tls = server.tls.clone().unwrap();
    tls.reload(&tls_files(second.path(), "server")).unwrap();

    let told = refusal(server.address, &old).await;
    assert!(told.contains("invalid peer certificate"), "{told}");
    // The client trusts the new server, but the server does not trust its old certificate.
    let mut mixed = old.clone();
    mixed.roots = second.path().join("ca.pem");
    let told = refusal(server.address, &mixed).await;
    assert!(told.contains("received fatal alert"), "{told}");
    let new = tls_files(second.path(), "web");
    let _new = connect(server.address, &new, "localhost").await.unwrap();
    server.next().await;

    connection.write_all(b"!").await.unwrap();
    connection.flush().await.unwrap();
    assert_eq!(client.read_u8().await.unwrap(), b'!');
}

#[tokio::test]
async fn revoked_clients_stay_out() {
    let log = Log::default();
    let _logged = tracing::subscriber::set_default(log.clone());
    let folder = pki(&["web", "lost", "late"]);
    let mut files = tls_files(folder.path(), "server");
    files.revoked = Some(revocation_list(folder.path(), &["lost"], FAR));
    let mut server = Server::start(Some(&files), |_| {});
    let [web, lost, late] = ["web", "lost", "late"].map(|name| tls_files(folder.path(), name));
    let _web = connect(server.address, &web, "localhost").await.unwrap();
    server.next().await;
    let told = refusal(server.address, &lost).await;
    assert!(
        told.contains("received fatal alert: CertificateRevoked"),
        "{told}"
    );
    assert!(
        log.text()
            .contains("crl.pem (client_crl) revokes the client's certificate")
    );
    let _late = connect(server.address, &late, "localhost").await.unwrap();
    server.next().await;

    revocation_list(folder.path(), &["late"], FAR);
    server.tls.as_ref().unwrap().reload(&files).unwrap();
    for out in [&lost, &late] {
        let told = refusal(server.address, out).await;
        assert!(told.contains("CertificateRevoked"), "{told}");
    }
    let _web = connect(server.address, &web, "localhost").await.unwrap();
    server.next().await;

    // A list that another authority has signed does not count, even under the same name.
    let foreign = pki(&[]);
    files.revoked = Some(revocation_list(foreign.path(), &[], FAR));
    server.tls.as_ref().unwrap().reload(&files).unwrap();
    refusal(server.address, &web).await;
    let said = "(client_crl) has no list of the CA that issued the client's certificate";
    assert!(log.text().contains(said), "{}", log.text());
    let same = TempDir::new().unwrap();
    namesake(&files.roots, same.path());
    files.revoked = Some(revocation_list(same.path(), &[], FAR));
    server.tls.as_ref().unwrap().reload(&files).unwrap();
    let told = refusal(server.address, &web).await;
    assert!(told.contains("received fatal alert"), "{told}");
    let said = "invalid certificate revocation list: BadSignature";
    assert!(log.text().contains(said), "{}", log.text());

    // A client checks the server's certificate against its own list.
    let server = Server::start(Some(&tls_files(folder.path(), "server")), |_| {});
    let mut careful = web.clone();
    careful.revoked = Some(revocation_list(folder.path(), &["server"], FAR));
    let told = connect(server.address, &careful, "localhost").await;
    let told = told.unwrap_err().to_string();
    assert!(told.contains("invalid peer certificate: Revoked"), "{told}");
}

#[tokio::test]
async fn open_connections_end_with_their_certificates() {
    let folder = pki(&["web", "lost"]);
    let mut files = tls_files(folder.path(), "server");
    let mut server = Server::start(Some(&files), |_| {});
    let [web, lost] = ["web", "lost"].map(|name| tls_files(folder.path(), name));
    let _web = connect(server.address, &web, "localhost").await.unwrap();
    let mut of_web = server.next().await;
    let _lost = connect(server.address, &lost, "localhost").await.unwrap();
    let mut of_lost = server.next().await;
    let mut hello = [0; 5];
    of_web.read_exact(&mut hello).await.unwrap();
    of_lost.read_exact(&mut hello).await.unwrap();

    let tls = server.tls.clone().unwrap();
    let standing = server.incoming.standing();
    let review = || standing.review(|chain| tls.withdraws(chain));
    assert_eq!(review(), 0);
    let waiting = tokio::spawn(async move { of_lost.read_u8().await.unwrap_err().kind() });
    files.revoked = Some(revocation_list(folder.path(), &["lost"], FAR));
    tls.reload(&files).unwrap();
    assert_eq!(review(), 1);
    let ended = timeout(LIMIT, waiting).await.unwrap().unwrap();
    assert_eq!(ended, ErrorKind::ConnectionAborted);

    // A list that is useless for the check withdraws nothing.
    let foreign = pki(&[]);
    files.revoked = Some(revocation_list(foreign.path(), &[], FAR));
    tls.reload(&files).unwrap();
    assert_eq!(review(), 0);

    let day = Duration::from_secs(24 * 3600);
    assert_eq!(standing.expire(SystemTime::now() + 29 * day), 0);
    assert_eq!(standing.expire(SystemTime::now() + 31 * day), 1);
    let ended = timeout(LIMIT, of_web.read_u8()).await.unwrap().unwrap_err();
    assert_eq!(ended.kind(), ErrorKind::ConnectionAborted);
    // Writing fails too, and the connection is counted as ended only once.
    assert!(of_web.write_all(b"!").await.is_err());
    assert_eq!(standing.expire(SystemTime::now() + 31 * day), 0);
}

#[tokio::test]
async fn what_was_sent_last_arrives_whatever_the_client_sends() {
    let mut server = Server::start(None, |_| {});
    let mut client = TcpStream::connect(server.address).await.unwrap();
    let mut connection = server.next().await;
    client.write_all(b"unread").await.unwrap();
    connection.write_all(&[7; 1000]).await.unwrap();
    let closing = tokio::spawn(async move { connection.shutdown().await });
    let mut received = Vec::new();
    for _ in 0..10 {
        client.write_all(b"later").await.unwrap();
        client.read_buf(&mut received).await.unwrap();
    }
    client.read_to_end(&mut received).await.unwrap();
    assert_eq!(received, [7; 1000]);
    assert!(!closing.is_finished());
    drop(client);
    timeout(LIMIT, closing).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn one_client_does_not_take_all_places() {
    let log = Log::default();
    let _logged = tracing::subscriber::set_default(log.clone());
    let folder = pki(&["greedy", "web"]);
    let mut server = Server::start(Some(&tls_files(folder.path(), "server")), |limits| {
        limits.connections_max = 4;
        limits.client_connections_max = 2;
    });
    let [greedy, web] = ["greedy", "web"].map(|name| tls_files(folder.path(), name));
    let mut held = Vec::new();
    for _ in 0..2 {
        held.push((
            connect(server.address, &greedy, "localhost").await.unwrap(),
            server.next().await,
        ));
    }
    let told = refusal(server.address, &greedy).await;
    assert!(!told.is_empty());
    let said = "connection refused: too many connections of greedy: raise client_connections_max";
    assert!(log.text().contains(said), "{}", log.text());
    let _web = connect(server.address, &web, "localhost").await.unwrap();
    server.next().await;
    // When one connection ends, another may open.
    held.pop();
    let _again = connect(server.address, &greedy, "localhost").await.unwrap();
    server.next().await;
    assert_eq!(server.incoming.counts().refused(), 1);
}

/// Otherwise a client could connect with a ticket from before its authority was withdrawn.
#[tokio::test]
async fn no_session_is_resumed() {
    let folder = pki(&["web"]);
    let mut server = Server::start(Some(&tls_files(folder.path(), "server")), |_| {});
    let mut client = (*tls_files(folder.path(), "web").client().unwrap().config()).clone();
    client.resumption = Resumption::in_memory_sessions(8);
    let connector = TlsConnector::from(Arc::new(client));
    for _ in 0..2 {
        let stream = TcpStream::connect(server.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let mut stream = connector.connect(name, stream).await.unwrap();
        let mut connection = server.next().await;
        connection.write_all(b"!").await.unwrap();
        connection.flush().await.unwrap();
        // A ticket would arrive before this byte.
        assert_eq!(stream.read_u8().await.unwrap(), b'!');
        let kind = stream.get_ref().1.handshake_kind();
        assert_eq!(kind, Some(HandshakeKind::Full));
    }
}

#[tokio::test]
async fn several_addresses_are_one_door() {
    let any = [
        "127.0.0.1:0".parse().unwrap(),
        "127.0.0.1:0".parse().unwrap(),
    ];
    let listener = Listener::bind(&any).unwrap();
    let addresses = listener.addresses();
    let taken = Listener::bind(&addresses[1..]).unwrap_err().to_string();
    let expected = format!("cannot listen on {}: Address already in use", addresses[1]);
    assert!(taken.starts_with(&expected), "{taken}");
    let mut incoming = listener.incoming(None, &Limits::default(), std::future::pending());
    let mut clients = Vec::new();
    for address in addresses {
        let client = TcpStream::connect(address).await.unwrap();
        let connection = timeout(LIMIT, incoming.next()).await.unwrap();
        let info = connection.unwrap().unwrap().connect_info();
        assert_eq!(info.peer, client.local_addr().unwrap());
        clients.push(client);
    }
}

/// Runs in a separate process, since the limit applies to the process.
#[test]
fn descriptors_that_run_out_end_nothing() {
    if is_child() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        return runtime.block_on(run_out_of_descriptors());
    }
    assert!(alone(&["sh", "-c", "ulimit -n 64; exec \"$0\" \"$@\""]));
}

async fn run_out_of_descriptors() {
    let log = Log::default();
    let _logged = tracing::subscriber::set_default(log.clone());
    let mut server = Server::start(None, |_| {});
    let mut held = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        held.push(file);
        assert!(held.len() < 64, "no bound");
    }
    // One descriptor is left for the client, none for the server's side.
    held.pop();
    let start = Instant::now();
    let mut client = std::net::TcpStream::connect(server.address).unwrap();
    until("a warning", || {
        log.text().contains("cannot accept connections")
    })
    .await;
    until("half a second", || {
        start.elapsed() > Duration::from_millis(500)
    })
    .await;
    let lines = log.text().lines().count() as u128;
    let most = 1 + start.elapsed().as_millis() / 100;
    assert!(lines <= most, "{lines} tries, not {most}");
    held.clear();
    let mut connection = server.next().await;
    client.write_all(b"?").unwrap();
    assert_eq!(connection.read_u8().await.unwrap(), b'?');
    connection.write_all(b"!").await.unwrap();
    let mut answer = [0];
    client.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"!");
}
