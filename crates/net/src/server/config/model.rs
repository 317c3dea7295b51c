//! What a server has to know.

use std::fmt;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use zeroize::Zeroizing;

/// All that a server has to know.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Where it listens; at least one.
    pub listen: Vec<SocketAddr>,
    /// Threads of the runtime, which move bytes and encrypt them.
    pub io_threads: usize,
    /// Certificates; `None` is plaintext.
    pub tls: Option<TlsConfig>,
    /// How much of everything at most.
    pub limits: Limits,
    /// At least one; names differ.
    pub devices: Vec<DeviceEntry>,
    /// Where keys come from.
    pub keys: Vec<KeyConfig>,
    /// Who may do what; the first that fits counts.
    pub clients: Vec<ClientConfig>,
    /// Where metrics are served, if they are.
    pub metrics: Option<SocketAddr>,
    /// Where the audit log goes, if there is one.
    pub audit: Option<AuditConfig>,
}

/// PEM files of the server's side of mutual TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsConfig {
    /// The server's certificate, then those between it and a root.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// Roots that clients' certificates have to lead to.
    pub client_ca: PathBuf,
    /// Revocation lists that none of them may be on.
    pub client_crl: Option<PathBuf>,
}

/// How much of everything at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Requests that wait, of all clients.
    pub queue_max: usize,
    /// Requests of one client, waiting or in work.
    pub per_client_max: usize,
    /// Requests of one stream, waiting or in work.
    pub per_stream_max: usize,
    /// Connections, and as many handshakes as of them are not done.
    pub connections_max: usize,
    /// Connections of one client that came with a certificate.
    pub client_connections_max: usize,
    /// From connection to the end of the handshake.
    pub handshake_timeout: Duration,
    /// Without a request, until a connection is closed.
    pub idle_timeout: Duration,
    /// Of one message, a batch with all its requests.
    pub message_bytes_max: usize,
    /// The longest deadline, and that of requests without one.
    pub timeout_max: Duration,
    /// From the wish to stop until what is left is given up.
    pub drain: Duration,
}

/// A device with its name and its workers.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceEntry {
    /// What metrics, logs and keys call it.
    pub name: String,
    /// Threads that give it work; at least 1.
    pub workers: usize,
    /// What it is.
    pub device: DeviceConfig,
}

/// What a device is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum DeviceConfig {
    /// Oarlock's lanes.
    Cpu,
    /// aws-lc.
    Software,
    /// A board that takes its time.
    Simulated(Simulation),
    /// A token behind a PKCS#11 module.
    Pkcs11 {
        /// The module, a shared library.
        module: PathBuf,
        /// The label of the token.
        token: String,
        /// Its user's PIN.
        pin: Secret,
    },
    /// A device behind a table of C functions.
    Library {
        /// The shared library.
        path: PathBuf,
        /// Handed to it as it is; empty by default.
        options: String,
    },
}

/// What a simulated board is like.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Simulation {
    /// Rainbow's CryptoSwift AXL200 of the paper.
    Axl200,
    /// nCipher's nFast 300 of the paper.
    Nfast300,
    /// Any other.
    Board {
        /// Requests that it works on at the same time; at least 1.
        coprocessors: usize,
        /// Of one operation in a coprocessor.
        latency: Duration,
        /// The same by the two primes of a key.
        latency_with_crt: Duration,
        /// Of one operation in the host, one after the other.
        host: Duration,
        /// Latencies vary by as much to either side.
        jitter: Duration,
    },
}

/// Where keys come from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyConfig {
    /// One file.
    File {
        /// What clients call it.
        id: String,
        /// PEM.
        path: PathBuf,
        /// Of an encrypted one.
        passphrase: Option<Secret>,
    },
    /// Every `*.pem` and `*.key` in a directory; each is called what the file is, without the
    /// extension.
    Directory {
        /// It is watched.
        path: PathBuf,
        /// Of the encrypted ones.
        passphrase: Option<Secret>,
    },
    /// Keys that a device of this configuration holds.
    Token {
        /// Its name.
        device: String,
        /// Which one; `None` is all of them, each called by its label.
        key: Option<TokenKey>,
    },
}

/// A key of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenKey {
    /// What the token calls it.
    pub label: String,
    /// What clients call it.
    pub id: String,
}

/// Where a passphrase or a PIN is, which is not in the configuration itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Secret {
    /// The first line of a file.
    File(PathBuf),
    /// An environment variable.
    Variable(String),
}

/// Who may do what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientConfig {
    /// Fits the identities that it is about.
    pub identity: Pattern,
    /// Fit the ids of the keys that they may use.
    pub keys: Vec<Pattern>,
    /// What they may do with them; nothing, if there are none.
    pub operations: Vec<Operation>,
    /// Of each one's fair share; at least 1.
    pub weight: u32,
}

/// Where the audit log goes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuditConfig {
    /// Appended to a file.
    File(PathBuf),
    /// Standard error.
    StandardError,
}

/// What a client can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Operation {
    /// A signature with padding.
    Sign,
    /// A decryption with padding.
    Decrypt,
    /// A power by a private exponent without padding, and so all that the key can do.
    RawPrivate,
    /// Modular exponentiation with the client's own numbers.
    ModExp,
    /// Random bytes.
    Random,
    /// The list of the keys that the client may use.
    List,
}

impl Operation {
    /// Whether a key of the server's belongs to it.
    pub fn needs_key(self) -> bool {
        match self {
            Self::Sign | Self::Decrypt | Self::RawPrivate => true,
            Self::ModExp | Self::Random | Self::List => false,
        }
    }
}

/// Text in which every `*` stands for any characters, or none; nothing else is special.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// From what is written in the configuration.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the whole of `text` is of this pattern. Takes time in proportion to the product of
    /// the two lengths at most.
    pub fn fits(&self, text: &str) -> bool {
        let Some((first, rest)) = self.0.split_once('*') else {
            return self.0 == text;
        };
        let Some(mut text) = text.strip_prefix(first) else {
            return false;
        };
        let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
        // The leftmost place of each part leaves the most to those behind it.
        for part in middle.split('*') {
            let Some(at) = text.find(part) else {
                return false;
            };
            text = &text[at + part.len()..];
        }
        text.ends_with(last)
    }
}

impl Config {
    /// The same with one device alone, the paper's single-board mode: one of the configuration by its
    /// name, or else `cpu`, `software` or a preset of simulated ones. `workers` replaces what the
    /// configuration says, if given.
    ///
    /// # Errors
    /// A text that says what there is; or which keys are held by a device that is left out.
    pub fn single_device(mut self, name: &str, workers: Option<usize>) -> Result<Self, String> {
        let entry = |device| DeviceEntry {
            name: name.to_owned(),
            workers: workers_default(&device),
            device,
        };
        let listed = self.devices.iter().find(|entry| entry.name == name);
        let mut entry = match (listed, name) {
            (Some(listed), _) => listed.clone(),
            (None, "cpu") => entry(DeviceConfig::Cpu),
            (None, "software") => entry(DeviceConfig::Software),
            (None, preset) => {
                let Some(simulation) = Simulation::preset(preset) else {
                    let names: Vec<_> = self.devices.iter().map(|entry| &entry.name[..]).collect();
                    return Err(format!(
                        "no device {name:?}: choose one of the configuration ({}), or cpu, software, {PRESETS}",
                        names.join(", ")
                    ));
                };
                entry(DeviceConfig::Simulated(simulation))
            }
        };
        if let Some(workers) = workers {
            if !WORKERS.contains(&(workers as u64)) {
                return Err(out_of_range("workers", workers, &WORKERS));
            }
            entry.workers = workers;
        }
        for key in &self.keys {
            if let KeyConfig::Token { device, .. } = key
                && *device != entry.name
            {
                return Err(format!(
                    "keys of the configuration are held by device {device:?}, which {name:?} alone leaves out: \
                     take their [[key]] away, or choose {device:?}"
                ));
            }
        }
        self.devices = vec![entry];
        Ok(self)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            queue_max: 4096,
            per_client_max: 1024,
            per_stream_max: 256,
            connections_max: 4096,
            client_connections_max: 2048,
            handshake_timeout: Duration::from_secs(5),
            idle_timeout: Duration::from_secs(300),
            message_bytes_max: 1 << 20,
            timeout_max: Duration::from_secs(10),
            drain: Duration::from_secs(10),
        }
    }
}

impl Simulation {
    /// A board of the paper, by name.
    pub(super) fn preset(name: &str) -> Option<Self> {
        match name {
            "axl200" => Some(Self::Axl200),
            "nfast300" => Some(Self::Nfast300),
            _ => None,
        }
    }
}

impl Secret {
    /// The secret itself.
    ///
    /// # Errors
    /// A text that names the file or the variable.
    pub fn read(&self) -> Result<Zeroizing<String>, String> {
        let text = match self {
            Self::File(path) => std::fs::read_to_string(path)
                .map_err(|error| format!("{}: cannot be read: {error}", path.display()))?,
            Self::Variable(name) => std::env::var(name)
                .map_err(|error| format!("environment variable {name}: {error}"))?,
        };
        let text = Zeroizing::new(text);
        let line = match self {
            Self::File(_) => text.lines().next().unwrap_or_default(),
            Self::Variable(_) => &text,
        };
        Ok(Zeroizing::new(line.to_owned()))
    }
}

/// What a file is called as a key: its name without the extension.
pub(in crate::server) fn id_of_file(path: &Path) -> Option<String> {
    let id = path.file_stem()?.to_str()?;
    is_id(id).then(|| id.to_owned())
}

/// Whether something can be called so, and meant in a pattern.
pub(in crate::server) fn is_id(text: &str) -> bool {
    (1..=ID_BYTES_MAX).contains(&text.len())
        && !text.contains(|char: char| char == '*' || char.is_control())
}

pub(super) fn workers_default(device: &DeviceConfig) -> usize {
    match device {
        DeviceConfig::Cpu | DeviceConfig::Software => {
            std::thread::available_parallelism().map_or(1, usize::from)
        }
        // As many as the paper's last threads found something to do.
        DeviceConfig::Simulated(_) => 32,
        DeviceConfig::Pkcs11 { .. } => 4,
        DeviceConfig::Library { .. } => 1,
    }
}

pub(super) fn out_of_range<T: fmt::Display>(
    name: &str,
    given: impl fmt::Display,
    range: &RangeInclusive<T>,
) -> String {
    let (first, last) = (range.start(), range.end());
    format!("{name} = {given}: choose {first} to {last}")
}

pub(super) const PRESETS: &str = "axl200 or nfast300";
pub(super) const WORKERS: RangeInclusive<u64> = 1..=1024;
pub(super) const ID_BYTES_MAX: usize = 255;
