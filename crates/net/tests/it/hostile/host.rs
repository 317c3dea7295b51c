//! A server in a separate process: this program, run again.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::thread;
use std::time::Duration;

use oarlock::keys::KeyType;
use oarlock_hostile::watch::{self, Memory};
use oarlock_hostile::{MESSAGE_KEY, Target};
use oarlock_net::client::{Client, Settings};
use oarlock_net::server;
use oarlock_testing::process::as_child;
use oarlock_testing::{LIMIT, until_some};
use rustls_pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep, sleep_until};
use tokio_rustls::TlsConnector;

use crate::server::host::{EVERYTHING, Home};

/// A running server. It ends when this value is dropped, or with this process.
pub struct Host {
    home: Home,
    child: Child,
    pub server: SocketAddr,
    pub metrics: SocketAddr,
}

impl Host {
    /// Starts a server for the running test, which has to call [`serve`] in the child.
    pub fn start() -> Self {
        let home = Home::new(&[VICTIM, HOSTILE]);
        home.add_key(MESSAGE_KEY, KeyType::Ed25519);
        let config = format!(
            "listen = [\"127.0.0.1:0\"]\n\
             [[client]]\nidentity = \"{VICTIM}\"\nkeys = [\"*\"]\noperations = [\"sign\"]\n{EVERYTHING}\
             [limits]\ntimeout_ms_max = {}\n\
             [tls]\ncertificate = \"server.pem\"\nkey = \"server.key\"\nclient_ca = \"ca.pem\"\n\
             [[key]]\nfile = \"keys/{KEY}.pem\"\n\
             [[key]]\nfile = \"keys/{MESSAGE_KEY}.pem\"\n\
             [metrics]\nlisten = \"127.0.0.1:0\"\n",
            LIMIT.as_millis(),
        );
        fs::write(home.path().join("server.toml"), config).unwrap();
        let log = fs::File::create(home.path().join("log")).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        let mut child = as_child(&mut command)
            .arg("--nocapture")
            .env(FOLDER, home.path())
            .stdin(Stdio::piped())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let addresses = until_some("the server's addresses", || {
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "{ended:?}: {}", log_of(home.path()));
            let text = fs::read_to_string(home.path().join(ADDRESSES)).ok()?;
            let addresses: Vec<_> = text.lines().map(|line| line.parse().unwrap()).collect();
            Some(addresses)
        });
        Self {
            home,
            child,
            server: addresses[0],
            metrics: addresses[1],
        }
    }

    pub fn target(&self) -> Arc<Target> {
        let target = Target::new(self.server, self.metrics, self.home.path(), HOSTILE, KEY);
        Arc::new(target.unwrap())
    }

    pub async fn victim(&self) -> Client {
        let mut settings =
            Settings::new(vec![self.server.to_string()], Some(self.home.tls(VICTIM)));
        settings.timeout = LIMIT;
        settings.connect_timeout = LIMIT;
        let client = Client::new(settings).unwrap();
        client.ready(LIMIT).await.unwrap();
        client
    }

    /// Performs a handshake that takes this long, half of it before the first byte, up to the server's first frame.
    pub async fn handshake(&self, takes: Duration) -> io::Result<()> {
        let until = Instant::now() + takes;
        let stream = TcpStream::connect(self.server).await?;
        sleep(takes / 2).await;
        let late = Late {
            stream,
            until: Box::pin(sleep_until(until)),
        };
        let connector = TlsConnector::from(self.home.tls(VICTIM).config());
        let name = ServerName::try_from("localhost").unwrap();
        let mut stream = connector.connect(name, late).await?;
        stream
            .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            .await?;
        stream.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).await?;
        stream.flush().await?;
        stream.read_u8().await.map(drop)
    }

    /// Returns `/healthz`, requested this long after connecting.
    pub async fn health(&self, after: Duration) -> io::Result<String> {
        let mut stream = TcpStream::connect(self.metrics).await?;
        sleep(after).await;
        stream
            .write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
            .await?;
        let mut page = String::new();
        stream.read_to_string(&mut page).await?;
        Ok(page)
    }

    /// Resets the peak, and returns the memory of the server's process.
    pub fn forget_peak(&self) -> Memory {
        watch::forget_peak(self.child.id()).unwrap();
        self.memory()
    }

    pub fn memory(&self) -> Memory {
        watch::memory(self.child.id()).unwrap_or_else(|error| panic!("{error}: {}", self.log()))
    }

    /// Returns the server's log.
    pub fn log(&self) -> String {
        log_of(self.home.path())
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // Both fail only if it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection on which nothing arrives before a given moment.
struct Late {
    stream: TcpStream,
    until: Pin<Box<Sleep>>,
}

impl AsyncRead for Late {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.until.as_mut().poll(cx));
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Late {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// Serves, in the child, until its parent is gone.
pub fn serve() {
    thread::spawn(|| {
        // Nothing is ever written to the pipe: its end, or an error, means that the parent is gone.
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(0);
    });
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let started = |server: &server::Server| {
        let lines = format!("{}\n{}\n", server.addresses()[0], server.metrics().unwrap());
        let unfinished = folder.join("unfinished");
        fs::write(&unfinished, lines).unwrap();
        fs::rename(unfinished, folder.join(ADDRESSES)).unwrap();
    };
    server::serve(&folder.join("server.toml"), Ok, started).unwrap();
}

fn log_of(folder: &Path) -> String {
    fs::read_to_string(folder.join("log")).unwrap()
}

const HOSTILE: &str = "hostile";
/// The entry of the hostile client, and of the clients whose certificates it creates.
pub const OTHERS: &str = "*";
pub const KEY: &str = "rsa2048";
const VICTIM: &str = "victim";
const FOLDER: &str = "OARLOCK_TEST_FOLDER";
const ADDRESSES: &str = "addresses";
