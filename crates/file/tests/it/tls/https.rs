//! The example server, with curl and `openssl s_client` as its clients.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::Instant;

use oarlock_testing::process::example;
use oarlock_testing::{LIMIT, skip, until};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use tempfile::TempDir;

/// The server, and a directory with a file of 12,000,001 bytes.
struct Server {
    process: Child,
    folder: TempDir,
    data: Vec<u8>,
    port: u16,
}

impl Server {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let files = folder.path().join("files");
        std::fs::create_dir(&files).unwrap();
        let mut data = vec![0; 12_000_001];
        StdRng::seed_from_u64(5).fill_bytes(&mut data);
        std::fs::write(files.join("file"), &data).unwrap();
        std::fs::write(files.join("empty"), b"").unwrap();
        let mut process = example("https_server")
            .arg(&files)
            .arg(folder.path().join("certificate.pem"))
            .arg("0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut said = String::new();
        let stdout = process.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut said).unwrap();
        let port = said
            .trim()
            .trim_end_matches('/')
            .rsplit(':')
            .next()
            .unwrap();
        Self {
            process,
            port: port.parse().unwrap(),
            folder,
            data,
        }
    }

    fn certificate(&self) -> PathBuf {
        self.folder.path().join("certificate.pem")
    }

    fn curl(&self, name: &str, arguments: &[&str]) -> Output {
        let url = format!("https://localhost:{}/{name}", self.port);
        Command::new("curl")
            .args(["--silent", "--show-error", "--noproxy", "*", "--tlsv1.3"])
            .args(["--max-time", "60", "--ipv4", "--fail", "--cacert"])
            .arg(self.certificate())
            .args(arguments)
            .arg(url)
            .output()
            .unwrap()
    }

    fn s_client(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("openssl");
        command
            .args(["s_client", "-tls1_3", "-servername", "localhost"])
            .args(["-verify_return_error", "-connect"])
            .arg(format!("127.0.0.1:{}", self.port))
            .arg("-CAfile")
            .arg(self.certificate())
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn has(program: &str, argument: &str) -> bool {
    let found = Command::new(program).arg(argument).output();
    let is_there = found.is_ok_and(|output| output.status.success());
    if !is_there {
        skip(&format!("{program} is not installed"));
    }
    is_there
}

const SUITES: [&str; 3] = [
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
];

#[test]
fn curl_gets_files_and_ranges_with_every_suite() {
    if !has("curl", "--version") {
        return;
    }
    let server = Server::start();
    for suite in SUITES {
        let got = server.curl("file", &["--tls13-ciphers", suite]);
        assert!(got.status.success(), "{suite}: {got:?}");
        assert!(got.stdout == server.data, "{suite}");
    }
    for (range, place) in [
        ("0-0", 0..1),
        ("16383-16384", 16_383..16_385),
        ("1000000-2000000", 1_000_000..2_000_001),
        ("11999999-", 11_999_999..12_000_001),
    ] {
        let got = server.curl("file", &["--range", range]);
        assert!(got.stdout == server.data[place], "{range}");
    }
    let got = server.curl("empty", &[]);
    assert!(got.status.success() && got.stdout.is_empty());
    for refused in ["nothing", "../certificate.pem"] {
        let got = server.curl(refused, &["--path-as-is"]);
        assert!(!got.status.success(), "{refused}: {got:?}");
    }
}

/// A client that reads slowly gets all of the file, and one that leaves does not stop the others.
#[test]
fn slow_clients_and_those_that_leave_are_served() {
    if !has("curl", "--version") {
        return;
    }
    let server = Server::start();
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| server.curl("file", &["--limit-rate", "8M"]));
        for _ in 0..3 {
            let left = server.curl("file", &["--limit-rate", "100k", "--max-time", "0.3"]);
            assert_eq!(left.status.code(), Some(28), "{left:?}");
            let got = server.curl("file", &[]);
            assert!(got.stdout == server.data);
        }
        let got = slow.join().unwrap();
        assert!(got.stdout == server.data, "{:?}", got.status);
    });
}

/// With `K`, s_client sends KeyUpdate and asks for one.
#[test]
fn keys_are_updated_in_the_middle_of_a_file() {
    if !has("openssl", "version") {
        return;
    }
    let server = Server::start();
    for suite in SUITES {
        let log = server.folder.path().join(suite);
        let mut client = server
            .s_client(&["-ciphersuites", suite, "-msg", "-msgfile"])
            .arg(&log)
            .spawn()
            .unwrap();
        let mut stdin = client.stdin.take().unwrap();
        let mut stdout = client.stdout.take().unwrap();
        // Update twice before the request, and once after it.
        let mut said = Vec::new();
        let mut room = vec![0; 1 << 16];
        let began = Instant::now();
        while !contains(&said, b"---\nread R BLOCK") && !contains(&said, b"Verify return code") {
            let bytes = stdout.read(&mut room).unwrap();
            assert!(bytes > 0 && began.elapsed() < LIMIT);
            said.extend_from_slice(&room[..bytes]);
        }
        // s_client recognizes a command only at the beginning of what it reads at once, so wait for each.
        let logged = |what: &str, times: usize| {
            until("s_client says so", || {
                let log = std::fs::read_to_string(&log).unwrap_or_default();
                log.matches(what).count() >= times
            });
        };
        let mut say = |what: &str| {
            stdin.write_all(what.as_bytes()).unwrap();
            stdin.flush().unwrap();
        };
        for times in 1..=2 {
            say("K\n");
            logged(SENT, times);
        }
        say("GET /file HTTP/1.1\r\n\r\n");
        // The file stops once buffers are full, since nobody reads what the client writes.
        logged(FULL_RECORD, 1);
        say("K\n");
        let mut all = Vec::new();
        stdout.read_to_end(&mut all).unwrap();
        client.wait().unwrap();
        let log = std::fs::read_to_string(&log).unwrap();
        let update = |line: &&str| line.ends_with("KeyUpdate");
        let (sent, received): (Vec<_>, _) = log
            .lines()
            .filter(update)
            .partition(|line| line.starts_with(">>>"));
        // One answer is enough for several updates.
        assert!(
            sent.len() == 3 && received.len() >= 2,
            "{sent:?} {received:?}"
        );
        // The last one came in the middle of the file.
        let last = log.rfind(received[received.len() - 1]).unwrap();
        assert!(log[last..].contains(FULL_RECORD), "{suite}");
        assert!(contains(&all, &server.data[..1_000]), "{suite}");
        let start = position(&all, &server.data[..1_000]).unwrap();
        assert!(
            all[start..].starts_with(&server.data),
            "{suite}: {}",
            all.len()
        );
    }
}

/// KeyUpdate and the request arrive in one segment with the client's Finished. rustls would process them if it were given
/// all of it.
#[test]
fn keys_are_updated_with_the_end_of_the_handshake() {
    let server = Server::start();
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_file(server.certificate()).unwrap())
        .unwrap();
    let config = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let mut client = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut socket = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    socket.set_read_timeout(Some(LIMIT)).unwrap();
    client.write_tls(&mut socket).unwrap();
    while client.is_handshaking() {
        assert!(client.read_tls(&mut socket).unwrap() > 0);
        client.process_new_packets().unwrap();
    }
    let mut at_once = Vec::new();
    client.refresh_traffic_keys().unwrap();
    (client.writer().write_all(b"GET /file HTTP/1.1\r\n\r\n")).unwrap();
    while client.wants_write() {
        client.write_tls(&mut at_once).unwrap();
    }
    socket.write_all(&at_once).unwrap();
    let mut answer = Vec::new();
    rustls::Stream::new(&mut client, &mut socket)
        .read_to_end(&mut answer)
        .unwrap();
    assert!(answer.ends_with(&server.data), "{}", answer.len());
}

/// A line of `-msg`.
const SENT: &str = ">>> TLS 1.3, Handshake [length 0005], KeyUpdate";
const FULL_RECORD: &str = "17 03 03 40 11";

fn contains(all: &[u8], part: &[u8]) -> bool {
    position(all, part).is_some()
}

fn position(all: &[u8], part: &[u8]) -> Option<usize> {
    all.windows(part.len()).position(|window| window == part)
}
