//! Servers on the first CPU, each with a configuration of its own.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use oarlock::keys::{Curve, KeyType, PrivateKey};
use oarlock_hostile::MESSAGE_KEY;
use oarlock_measure::Error;

use crate::programs::setup::{Setup, named_or_beside};
use crate::system::child::{Running, said};
use crate::system::surroundings::on_one_cpu;

/// Certificates, keys, and the programs.
pub(super) struct Home {
    folder: PathBuf,
    pub(super) oarlock: PathBuf,
    pub(super) load: PathBuf,
}

/// A running server, killed when this is dropped.
pub(super) struct Host {
    running: Running,
    /// The address that it listens on.
    pub(super) address: String,
    /// The address of its metrics page.
    pub(super) metrics: SocketAddr,
    pub(super) has_tls: bool,
}

impl Home {
    /// Creates the files for the case `name`.
    pub(super) fn new(setup: &Setup, name: &str) -> Result<Self, Error> {
        let oarlock = setup.oarlock()?;
        let missing = "no `oarlock-bench-process` next to this program: build it (cargo build --release \
                       --manifest-path bench/Cargo.toml)";
        let load = named_or_beside(None, "oarlock-bench-process", missing)?;
        let folder = setup.file(name);
        let clients = ["client", "hostile"].map(|name| format!("--client={name}"));
        said(
            Command::new(&oarlock)
                .args(["pki", "init"])
                .args(clients)
                .arg(&folder),
        )?;
        let keys = RSA_2048.split_inclusive(END).map(str::trim);
        let keys = keys.filter(|pem| !pem.is_empty());
        for (number, pem) in keys.enumerate() {
            let path = folder.join(format!("keys/key-{number}.pem"));
            fs::write(&path, pem).map_err(Error::io(path.display()))?;
        }
        let key = PrivateKey::from_raw(KeyType::Ec(Curve::P256), &P256);
        let pem = key.and_then(|key| key.to_pkcs8_pem());
        let pem = pem.map_err(|error| Error::Failed(format!("a P-256 key: {error}")))?;
        let path = folder.join("keys/p256.pem");
        fs::write(&path, &*pem).map_err(Error::io(path.display()))?;
        // A key for hostile clients that send long messages.
        let path = folder.join(format!("keys/{MESSAGE_KEY}.pem"));
        let keygen = ["keygen", "--type", "ed25519", "-o"];
        said(Command::new(&oarlock).args(keygen).arg(&path))?;
        Ok(Self {
            folder,
            oarlock,
            load,
        })
    }

    /// Returns the directory of `oarlock pki init`.
    pub(super) fn pki(&self) -> &Path {
        &self.folder
    }

    /// Starts a server with `rest` in its configuration, and waits until it listens.
    pub(super) fn serve(&self, has_tls: bool, rest: &str) -> Result<Host, Error> {
        let tls = if has_tls {
            "[tls]\ncertificate = \"server.pem\"\nkey = \"server.key\"\nclient_ca = \"ca.pem\"\n"
        } else {
            ""
        };
        let plaintext = !has_tls;
        let text = format!(
            "listen = [\"127.0.0.1:0\"]\nplaintext = {plaintext}\n{tls}{rest}\n\
             [metrics]\nlisten = \"127.0.0.1:0\"\n\
             [[key]]\ndirectory = \"keys\"\n\
             [[client]]\nidentity = \"client\"\nkeys = [\"*\"]\noperations = {OPERATIONS}\n\
             [[client]]\nidentity = \"*\"\nkeys = [\"*\"]\noperations = {OPERATIONS}\n"
        );
        let config = self.folder.join("server.toml");
        fs::write(&config, text).map_err(Error::io(config.display()))?;
        let [output, log] = ["listening", "log"].map(|name| self.folder.join(name));
        let create = |path: &Path| File::create(path).map_err(Error::io(path.display()));
        let mut command = Command::new(&self.oarlock);
        command.args(["serve", "--log", "warn", "--config"]);
        command.arg(&config).stdin(Stdio::null());
        command.stdout(create(&output)?).stderr(create(&log)?);
        let running = on_one_cpu(|| Running::start(&mut command))?;
        let began = Instant::now();
        loop {
            let text = fs::read_to_string(&output).map_err(Error::io(output.display()))?;
            let address = line_of(&text, "listening on ");
            let metrics = line_of(&text, "metrics on http://");
            let metrics = metrics.and_then(|url| url.strip_suffix("/metrics")?.parse().ok());
            if let (Some(address), Some(metrics)) = (address, metrics) {
                return Ok(Host {
                    running,
                    address: address.to_owned(),
                    metrics,
                    has_tls,
                });
            }
            if began.elapsed() > START_MAX {
                let log = fs::read_to_string(&log).unwrap_or_default();
                return Err(Error::Failed(format!("oarlock serve: {}", log.trim())));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Host {
    pub(super) fn pid(&self) -> u32 {
        self.running.pid()
    }
}

/// Returns the rest of a complete line that begins with `start`.
fn line_of<'a>(text: &'a str, start: &str) -> Option<&'a str> {
    let (whole, _) = text.rsplit_once('\n')?;
    whole.lines().find_map(|line| line.strip_prefix(start))
}

/// The P-256 key's scalar, which `oarlock-bench-process` also knows.
const P256: [u8; 32] = [7; 32];
const OPERATIONS: &str =
    "[\"sign\", \"decrypt\", \"raw_private\", \"mod_exp\", \"random\", \"list\"]";
/// Keys of the benchmark, which protect nothing.
const RSA_2048: &str = include_str!("../../../../../../crates/measure/keys/rsa2048.pem");
const END: &str = "-----END RSA PRIVATE KEY-----";
const START_MAX: Duration = Duration::from_secs(20);
