//! A certificate, its key, and clients.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::LazyLock;

use tempfile::TempDir;

use crate::host::{free_port, open_folder, succeeds, with_conf};

/// A directory with `cert.pem`, `key.pem` and `both.pem`, and a port.
pub(super) struct Site {
    pub(super) folder: TempDir,
    pub(super) port: u16,
}

impl Site {
    pub(super) fn new() -> Self {
        static MADE: LazyLock<[Vec<u8>; 2]> = LazyLock::new(certificate_and_key);
        let (folder, port) = (open_folder(), free_port());
        let [certificate, key] = &*MADE;
        let both = [&certificate[..], key].concat();
        for (name, text) in [
            ("cert.pem", certificate),
            ("key.pem", key),
            ("both.pem", &both),
        ] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        // As openssl leaves it, and servers want it.
        let own = fs::Permissions::from_mode(0o600);
        fs::set_permissions(folder.path().join("key.pem"), own).unwrap();
        Self { folder, port }
    }

    /// Returns a command that makes `requests` requests, each over a connection of its own, `at_once` at a time, and between
    /// them opens `aborted` connections that it closes during the handshake. Every request must succeed.
    pub(super) fn is_asked(
        &self,
        requests: usize,
        at_once: usize,
        version: &str,
        aborted: usize,
    ) -> Command {
        let mut clients = Command::new("python3");
        with_conf(&mut clients, None);
        clients
            .args(["-c", CLIENTS])
            .arg(self.folder.path().join("cert.pem"));
        clients.args(
            [self.port, requests as u16, at_once as u16, aborted as u16].map(|n| n.to_string()),
        );
        clients.arg(version);
        clients
    }

    /// Returns a command that opens `at_once` connections, `rounds` times. Its clients encrypt a premaster secret with the
    /// server's key, and send it only when all are ready.
    pub(super) fn is_sent_premaster_secrets(&self, rounds: usize, at_once: usize) -> Command {
        let mut clients = Command::new("python3");
        with_conf(&mut clients, None);
        clients
            .args(["-c", PREMASTER_SECRETS])
            .arg(self.folder.path().join("cert.pem"))
            .args([usize::from(self.port), rounds, at_once].map(|n| n.to_string()));
        clients
    }
}

/// Returns a certificate for localhost and its key, which openssl makes.
fn certificate_and_key() -> [Vec<u8>; 2] {
    let folder = open_folder();
    let mut request = Command::new("openssl");
    request.current_dir(folder.path());
    request.args(["req", "-x509", "-newkey", "rsa:2048", "-nodes"]);
    request.args(["-days", "2", "-keyout", "key.pem", "-out", "cert.pem"]);
    request.args(["-subj", "/CN=localhost"]);
    request.args(["-addext", "subjectAltName=DNS:localhost"]);
    succeeds(with_conf(&mut request, None));
    ["cert.pem", "key.pem"].map(|name| fs::read(folder.path().join(name)).unwrap())
}

/// The arguments: certificate, port, rounds, connections at once.
const PREMASTER_SECRETS: &str = r#"
import socket, ssl, sys
certificate, port, rounds, at_once = sys.argv[1], *map(int, sys.argv[2:5])
context = ssl.create_default_context(cafile=certificate)
context.maximum_version = ssl.TLSVersion.TLSv1_2
context.set_ciphers("AES128-GCM-SHA256")
class Client:
    def __init__(self):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.incoming, self.out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.out, server_hostname="localhost")
        self.step(self.tls.do_handshake)
        self.send()
    def step(self, call):
        try:
            return call()
        except ssl.SSLWantReadError:
            return None
    def send(self):
        self.socket.sendall(self.out.read())
    def receive(self):
        got = self.socket.recv(65536)
        assert got, "the server has closed the connection"
        self.incoming.write(got)
    def encrypt(self):
        while not self.out.pending:
            self.receive()
            self.step(self.tls.do_handshake)
    def ask(self):
        while self.tls.cipher() is None or self.step(lambda: self.tls.do_handshake() or True) is None:
            self.receive()
        self.tls.write(b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")
        self.send()
        answer = b""
        while not answer.endswith(b"hello"):
            self.receive()
            answer += self.step(lambda: self.tls.read(65536)) or b""
        self.socket.close()
for _ in range(rounds):
    clients = [Client() for _ in range(at_once)]
    for client in clients: client.encrypt()
    for client in clients: client.send()
    for client in clients: client.ask()
"#;

/// Requests over connections of their own. The arguments: certificate, port, requests, connections at once, aborted
/// connections, version.
const CLIENTS: &str = r#"
import asyncio, ssl, sys
certificate, port, requests, at_once, aborted, version = sys.argv[1], *map(int, sys.argv[2:6]), sys.argv[6]
context = ssl.create_default_context(cafile=certificate)
context.minimum_version = context.maximum_version = getattr(ssl.TLSVersion, version)
if version == "TLSv1_2":
    context.set_ciphers("ECDHE-RSA-AES128-GCM-SHA256")
async def ask(room):
    async with room:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname="localhost")
        writer.write(b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")
        answer = await reader.read()
        writer.close()
        assert answer.endswith(b"hello"), answer
async def abort(room):
    async with room:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        client = context.wrap_bio(ssl.MemoryBIO(), out := ssl.MemoryBIO(), server_hostname="localhost")
        try:
            client.do_handshake()
        except ssl.SSLWantReadError:
            pass
        writer.write(out.read())
        await writer.drain()
        writer.transport.abort()
async def main():
    room = asyncio.Semaphore(at_once)
    asked = [ask(room) for _ in range(requests)]
    stride = max(1, requests // max(1, aborted))
    for number in range(aborted):
        asked.insert(number * (stride + 1), abort(room))
    await asyncio.gather(*asked)
asyncio.run(main())
"#;
