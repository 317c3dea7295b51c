//! Handshakes of unmodified clients with a server without the provider.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use oarlock_measure::Error;

use super::super::certificates::KeyKind;
use super::super::compared::{Compared, Quantity, pair};
use super::super::data::TMPFS;
use super::super::setup::{Setup, Side};
use super::server::{Files, Started};
use super::{Handshakes, Kind, Server};
use crate::system::child::{Running, said};

/// A program that connects repeatedly.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clients {
    pub(crate) program: Program,
    /// The key kind of the server's certificate and of its issuer, which the client trusts.
    pub(crate) key: KeyKind,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Program {
    Curl,
    /// Python with its module `ssl`.
    Python,
}

impl Clients {
    /// Measures the client's CPU time in microseconds for a connection with one request: curl's total, and the loop in which
    /// Python connects.
    pub(crate) fn measure(&self, setup: &Setup) -> Result<Vec<Compared>, Error> {
        let folder = tempfile::tempdir_in(TMPFS).map_err(Error::io(TMPFS))?;
        let files = Files::new(folder.path(), self.key)?;
        let server = Handshakes {
            server: Server::Nginx {
                workers: 1,
                has_daemon: false,
            },
            key: self.key,
            in_flight: 1,
            kind: Kind::Full,
            is_hybrid: false,
        };
        let server = Started::new(setup, &server, &files, Side::Stock)?;
        let connections = if setup.is_quick() { 100 } else { 400 };
        let round = |side| {
            let side = [Side::Oarlock, Side::Stock][side];
            self.program
                .us(setup, side, files.root(), server.port(), connections)
        };
        let compared = pair(Quantity::ClientUs, 0, setup.rounds(15, 3), round)?;
        server.end()?;
        Ok(vec![compared])
    }
}

impl Program {
    fn us(
        self,
        setup: &Setup,
        side: Side,
        root: &Path,
        port: u16,
        connections: usize,
    ) -> Result<f64, Error> {
        let address = format!("https://localhost:{port}/[1-{connections}]");
        match self {
            Self::Curl => {
                let mut curl = Command::new("curl");
                curl.args(["-q", "--silent", "--show-error", "--fail", "--noproxy", "*"]);
                // A new connection with a full handshake each time.
                curl.args([
                    "--ipv4",
                    "--http1.1",
                    "--no-sessionid",
                    "-H",
                    "Connection: close",
                ]);
                curl.arg("--cacert").arg(root);
                curl.args(["-o", "/dev/null", &address])
                    .stdin(Stdio::null());
                setup.dress(&mut curl, side);
                let ended = Running::start(&mut curl)?.end(LIMIT)?;
                match ended.status.success() {
                    true => Ok(ended.cpu_seconds * 1e6 / connections as f64),
                    false => Err(Error::Failed(format!("curl: {}", ended.status))),
                }
            }
            Self::Python => {
                let mut python = Command::new("python3");
                python.args(["-c", PYTHON]).arg(root);
                python.arg(port.to_string()).arg(connections.to_string());
                setup.dress(&mut python, side);
                let text = said(&mut python)?;
                let us = text.trim().parse();
                us.map_err(|_| Error::Failed(format!("python3 says {text:?}")))
            }
        }
    }
}

/// A script that takes the root's file, the port and the number of connections, and prints the CPU time of one.
const PYTHON: &str = "
import socket, ssl, sys, time
root, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
context = ssl.create_default_context(cafile=root)
def connect():
    with socket.create_connection(('127.0.0.1', port)) as tcp:
        with context.wrap_socket(tcp, server_hostname='localhost') as tls:
            tls.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n')
            while tls.recv(4096):
                pass
connect()
began = time.process_time()
for _ in range(count):
    connect()
print((time.process_time() - began) * 1e6 / count)
";
const LIMIT: Duration = Duration::from_secs(120);

#[cfg(test)]
mod tests {
    use super::*;

    /// Uses the stock nginx, curl and Python of this machine.
    #[test]
    fn clients_verify_the_chain_and_are_timed() {
        let setup = Setup::of_stock();
        std::fs::write(setup.configuration(Side::Oarlock), "").unwrap();
        for program in [Program::Curl, Program::Python] {
            let key = KeyKind::P256;
            let compared = Clients { program, key }.measure(&setup).unwrap();
            let (ours, theirs) = compared[0].medians();
            assert!(ours > 50.0 && theirs > 50.0, "{program:?}: {ours} {theirs}");
        }
    }
}
