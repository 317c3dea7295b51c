//! A server in a process of its own: this program, run again.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;

use oarlock_hostile::Target;
use oarlock_hostile::watch::{self, Memory};
use oarlock_net::client::{Client, Settings};
use oarlock_net::server;
use oarlock_testing::process::as_child;
use oarlock_testing::{LIMIT, until_some};

use crate::server::host::{EVERYTHING, Home};

/// A running server, which ends with this value, or with this process.
pub struct Host {
    home: Home,
    child: Child,
    pub server: SocketAddr,
    pub metrics: SocketAddr,
}

impl Host {
    /// Of the running test, which has to call [`serve`] where it is the child.
    pub fn start() -> Self {
        let home = Home::new(&[VICTIM, HOSTILE]);
        let config = format!(
            "listen = [\"127.0.0.1:0\"]\n\
             [[client]]\nidentity = \"{VICTIM}\"\nkeys = [\"*\"]\noperations = [\"sign\"]\n{EVERYTHING}\
             [limits]\ntimeout_ms_max = {}\n\
             [tls]\ncertificate = \"server.pem\"\nkey = \"server.key\"\nclient_ca = \"ca.pem\"\n\
             [[key]]\nfile = \"keys/{KEY}.pem\"\n\
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

    /// The memory of the server's process from now on.
    pub fn forget_peak(&self) -> Memory {
        watch::forget_peak(self.child.id()).unwrap();
        self.memory()
    }

    pub fn memory(&self) -> Memory {
        watch::memory(self.child.id()).unwrap_or_else(|error| panic!("{error}: {}", self.log()))
    }

    /// What the server has written.
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

/// What the child does: it serves until its parent is gone.
pub fn serve() {
    thread::spawn(|| {
        // Nothing is ever written: an end, or an error, is that of the parent.
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
/// Its entry, and that of the clients whose certificates it makes.
pub const OTHERS: &str = "*";
pub const KEY: &str = "rsa2048";
const VICTIM: &str = "victim";
const FOLDER: &str = "OARLOCK_TEST_FOLDER";
const ADDRESSES: &str = "addresses";
