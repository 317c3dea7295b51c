//! The model: everything a server has to know.

use std::fmt;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use zeroize::Zeroizing;

/// The configuration of a server.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Addresses to listen on; at least one.
    pub listen: Vec<SocketAddr>,
    /// Threads of the runtime, which move and encrypt bytes.
    pub io_threads: usize,
    /// Certificates; `None` means plaintext.
    pub tls: Option<TlsConfig>,
    /// Limits.
    pub limits: Limits,
    /// Devices, at least one, with distinct names.
    pub devices: Vec<DeviceEntry>,
    /// Sources of keys.
    pub keys: Vec<KeyConfig>,
    /// What clients may do; the first match counts.
    pub clients: Vec<ClientConfig>,
    /// The address of the metrics page, if there is one.
    pub metrics: Option<SocketAddr>,
    /// The audit log, if there is one.
    pub audit: Option<AuditConfig>,
}

/// PEM files of the server's side of mutual TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsConfig {
    /// The server's certificate, then those between it and a root.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// Roots for clients' certificates.
    pub client_ca: PathBuf,
    /// Revocation lists for clients' certificates.
    pub client_crl: Option<PathBuf>,
}

/// Limits of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Waiting requests of all clients.
    pub queue_max: usize,
    /// Requests of one client, waiting or in work.
    pub per_client_max: usize,
    /// Requests of one stream, waiting or in work.
    pub per_stream_max: usize,
    /// Open connections; also handshakes under way.
    pub connections_max: usize,
    /// Open connections of one client with a certificate.
    pub client_connections_max: usize,
    /// From connection to the end of the handshake.
    pub handshake_timeout: Duration,
    /// Time without a request or a reply until a connection is closed.
    pub idle_timeout: Duration,
    /// The age at which a connection gets no more requests.
    pub connection_age: Duration,
    /// Size of one message: a batch with all its requests.
    pub message_bytes_max: usize,
    /// The longest deadline, and that of requests without one.
    pub timeout_max: Duration,
    /// From the request to stop until the rest is given up.
    pub drain: Duration,
}

/// A device with its name and workers.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceEntry {
    /// The name in metrics, logs and keys.
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
    /// A simulated board.
    Simulated(Simulation),
    /// A token behind a PKCS#11 module.
    Pkcs11 {
        /// The module, a shared library.
        module: PathBuf,
        /// The label of the token.
        token: String,
        /// The user's PIN.
        pin: Secret,
    },
    /// A device behind a table of C functions.
    Library {
        /// The shared library.
        path: PathBuf,
        /// Passed to the library unchanged; empty by default.
        options: String,
    },
}

/// The properties of a simulated board.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Simulation {
    /// Rainbow's CryptoSwift AXL200, from the paper.
    Axl200,
    /// nCipher's nFast 300, from the paper.
    Nfast300,
    /// Any other board.
    Board {
        /// Requests that it computes at the same time; at least 1.
        coprocessors: usize,
        /// Time of one operation in a coprocessor.
        latency: Duration,
        /// The same by the two primes of a key.
        latency_with_crt: Duration,
        /// Time of one operation in the host, which handles one at a time.
        host: Duration,
        /// Latencies vary by this much to either side.
        jitter: Duration,
    },
}

/// A source of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyConfig {
    /// One file.
    File {
        /// The id for clients.
        id: String,
        /// PEM.
        path: PathBuf,
        /// The passphrase of an encrypted file.
        passphrase: Option<Secret>,
    },
    /// Every `*.pem` and `*.key` in a directory. The id of each is its file name without the
    /// extension.
    Directory {
        /// The directory, which is watched.
        path: PathBuf,
        /// The passphrase of encrypted files.
        passphrase: Option<Secret>,
    },
    /// Keys that a device of this configuration holds.
    Token {
        /// The name of the device.
        device: String,
        /// Which key; `None` for all of them, with their labels as ids.
        key: Option<TokenKey>,
    },
}

/// A key of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenKey {
    /// Its label on the token.
    pub label: String,
    /// The id for clients.
    pub id: String,
}

/// Where a passphrase or a PIN is kept, outside the configuration itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Secret {
    /// The first line of a file.
    File(PathBuf),
    /// An environment variable.
    Variable(String),
}

/// What some clients may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientConfig {
    /// Matches their identities.
    pub identity: Pattern,
    /// Match the ids of the keys they may use.
    pub keys: Vec<Pattern>,
    /// The operations allowed; none if empty.
    pub operations: Vec<Operation>,
    /// Share of each client; at least 1.
    pub weight: u32,
}

/// The audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditConfig {
    /// Where it goes.
    pub output: AuditOutput,
    /// Whether a request is refused whose line cannot be written.
    pub is_required: bool,
}

/// Where the audit log goes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuditOutput {
    /// Appended to a file.
    File(PathBuf),
    /// Standard error.
    StandardError,
}

/// An operation that a client can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Operation {
    /// A signature with padding.
    Sign,
    /// A decryption with padding.
    Decrypt,
    /// A power by a private exponent without padding, which can do everything the key can.
    RawPrivate,
    /// Modular exponentiation with the client's own numbers.
    ModExp,
    /// Random bytes.
    Random,
    /// The list of the keys that the client may use.
    List,
}

impl Operation {
    /// Whether it uses a key of the server.
    pub fn needs_key(self) -> bool {
        match self {
            Self::Sign | Self::Decrypt | Self::RawPrivate => true,
            Self::ModExp | Self::Random | Self::List => false,
        }
    }
}

/// Text in which every `*` matches any characters, or none. Nothing else is special.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// A pattern as the configuration writes it.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The pattern as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the pattern matches all of `text`. The time is at most proportional to the product
    /// of the two lengths.
    pub fn fits(&self, text: &str) -> bool {
        let Some((first, rest)) = self.0.split_once('*') else {
            return self.0 == text;
        };
        let Some(mut text) = text.strip_prefix(first) else {
            return false;
        };
        let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
        // The leftmost match of each part leaves the most for the parts after it.
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
    /// The same with one device only, the paper's single-board mode: a device of the configuration
    /// by name, or else `cpu`, `software` or a preset of a simulated board. `workers`, if given,
    /// replaces the configured number.
    ///
    /// # Errors
    /// A text that lists the choices, or names the keys whose device is left out.
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
                    "keys of the configuration are held by device {device:?}, and only {name:?} is used: \
                     remove their [[key]], or choose {device:?}"
                ));
            }
        }
        self.devices = vec![entry];
        Ok(self)
    }
}

impl Limits {
    /// The default: enough for many processes, and little enough that no client alone can take
    /// every place, or much memory.
    pub(super) fn client_connections_max_of(connections_max: usize) -> usize {
        connections_max.div_ceil(2).min(256)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            queue_max: 4096,
            per_client_max: 1024,
            per_stream_max: 256,
            connections_max: 4096,
            client_connections_max: Self::client_connections_max_of(4096),
            handshake_timeout: Duration::from_secs(5),
            idle_timeout: Duration::from_secs(300),
            connection_age: Duration::from_secs(3600),
            message_bytes_max: 1 << 20,
            timeout_max: Duration::from_secs(10),
            drain: Duration::from_secs(10),
        }
    }
}

impl Simulation {
    /// A board of the paper by name.
    pub(super) fn preset(name: &str) -> Option<Self> {
        match name {
            "axl200" => Some(Self::Axl200),
            "nfast300" => Some(Self::Nfast300),
            _ => None,
        }
    }
}

impl Secret {
    /// Reads the secret.
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

/// The id of a key file: its name without the extension.
pub(in crate::server) fn id_of_file(path: &Path) -> Option<String> {
    let id = path.file_stem()?.to_str()?;
    is_id(id).then(|| id.to_owned())
}

/// Whether a text can be an id, and be used in a pattern.
pub(in crate::server) fn is_id(text: &str) -> bool {
    (1..=ID_BYTES_MAX).contains(&text.len())
        && !text.contains(|char: char| char == '*' || char.is_control())
}

pub(super) fn workers_default(device: &DeviceConfig) -> usize {
    match device {
        DeviceConfig::Cpu | DeviceConfig::Software => {
            std::thread::available_parallelism().map_or(1, usize::from)
        }
        // The paper's boards were kept busy by this many threads.
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
pub(in crate::server) const ID_BYTES_MAX: usize = 255;
/// The dispatcher notes in 64 bits which devices have failed at a request.
pub(in crate::server) const DEVICES_MAX: usize = 64;
