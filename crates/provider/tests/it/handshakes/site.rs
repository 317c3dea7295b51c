//! A certificate, its key, and clients.

use std::fs;
use std::process::Command;

use tempfile::TempDir;

use crate::host::{free_port, open_folder, succeeds, with_conf};

/// `cert.pem`, `key.pem` and `both.pem` in a folder, and a port.
pub(super) struct Site {
    pub(super) folder: TempDir,
    pub(super) port: u16,
}

impl Site {
    pub(super) fn new() -> Self {
        let (folder, port) = (open_folder(), free_port());
        let mut request = Command::new("openssl");
        request.current_dir(folder.path());
        request.args([
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
        ]);
        request.args([
            "-keyout",
            "key.pem",
            "-out",
            "cert.pem",
            "-subj",
            "/CN=localhost",
        ]);
        request.args(["-addext", "subjectAltName=DNS:localhost"]);
        succeeds(with_conf(&mut request, None));
        let both = ["cert.pem", "key.pem"].map(|name| fs::read(folder.path().join(name)).unwrap());
        fs::write(folder.path().join("both.pem"), both.concat()).unwrap();
        Self { folder, port }
    }

    /// So many requests over connections of their own, of which so many are under way at once; and between them as many
    /// connections that are closed in the middle of the handshake as `aborted` says. Every one of the first must succeed.
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
}

/// Requests over connections of their own: certificate, port, requests, how many at once, how many that are closed in the
/// middle, version.
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
        writer.write(b"GET / HTTP/1.0\r\n\r\n")
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
