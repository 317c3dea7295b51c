//! The model: the whole configuration of a server.

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
    /// The addresses to listen on; at least one.
    pub listen: Vec<SocketAddr>,
    /// The number of threads of the runtime, which move and encrypt bytes.
    pub io_threads: usize,
    /// The certificates; `None` means plaintext.
    pub tls: Option<TlsConfig>,
    /// The limits on requests, connections and times.
    pub limits: Limits,
    /// The devices, at least one, with distinct names.
    pub devices: Vec<DeviceEntry>,
    /// The sources of keys.
    pub keys: Vec<KeyConfig>,
    /// The access list; the first matching entry counts.
    pub clients: Vec<ClientConfig>,
    /// The address of the metrics page, if there is one.
    pub metrics: Option<SocketAddr>,
    /// The audit log, if there is one.
    pub audit: Option<AuditConfig>,
}

/// The PEM files of the server's side of mutual TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsConfig {
    /// The server's certificate, followed by the intermediate certificates up to a root.
    pub certificate: PathBuf,
    /// The private key of the certificate.
    pub key: PathBuf,
    /// The roots for clients' certificates.
    pub client_ca: PathBuf,
    /// The revocation lists for clients' certificates.
    pub client_crl: Option<PathBuf>,
}

/// Limits of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most waiting requests of all clients.
    pub queue_max: usize,
    /// The most requests of one client, waiting or being computed.
    pub per_client_max: usize,
    /// The most requests of one stream, waiting or being computed.
    pub per_stream_max: usize,
    /// The most open connections, and the most handshakes under way.
    pub connections_max: usize,
    /// The most open connections of one client with a certificate.
    pub client_connections_max: usize,
    /// The time limit from the connection to the end of the handshake.
    pub handshake_timeout: Duration,
    /// The time without a request or a reply after which a connection is closed.
    pub idle_timeout: Duration,
    /// The age from which a connection accepts no more requests.
    pub connection_age: Duration,
    /// The longest message, that is, a batch with all its requests.
    pub message_bytes_max: usize,
    /// The longest deadline, which also applies to requests without one.
    pub timeout_max: Duration,
    /// The time after the request to stop until unanswered requests are dropped.
    pub drain: Duration,
    /// The number of keys in the managed directory from which on clients make no more.
    pub keys_max: usize,
    /// The most changes of keys that one client may ask for in a minute.
    pub key_changes_per_minute: usize,
}

/// A device with its name and workers.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceEntry {
    /// The name in metrics, logs and keys.
    pub name: String,
    /// The number of threads that feed it; at least 1.
    pub workers: usize,
    /// The kind of device and its options.
    pub device: DeviceConfig,
}

/// The kinds of device.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum DeviceConfig {
    /// Oarlock's kernels on the CPU.
    Cpu,
    /// aws-lc on the CPU.
    Software,
    /// A simulated board.
    Simulated(Simulation),
    /// A token behind a PKCS#11 module.
    Pkcs11 {
        /// The path of the module, a shared library.
        module: PathBuf,
        /// The label of the token.
        token: String,
        /// The user's PIN.
        pin: Secret,
    },
    /// A device behind a table of C functions.
    Library {
        /// The path of the shared library.
        path: PathBuf,
        /// Options passed to the library unchanged; empty by default.
        options: String,
    },
}

/// The properties of a simulated board.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Simulation {
    /// The CryptoSwift AXL200 by Rainbow, as in the paper.
    Axl200,
    /// The nFast 300 by nCipher, as in the paper.
    Nfast300,
    /// Any other board.
    Board {
        /// The number of requests that it computes at the same time; at least 1.
        coprocessors: usize,
        /// The time of one operation in a coprocessor.
        latency: Duration,
        /// The time of one operation with the two primes of a key.
        latency_with_crt: Duration,
        /// The time of one operation in the host, which handles one at a time.
        host: Duration,
        /// The most by which a latency varies in either direction.
        jitter: Duration,
    },
}

/// A source of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyConfig {
    /// One key file.
    File {
        /// The ID for clients.
        id: String,
        /// The path of the PEM file.
        path: PathBuf,
        /// The passphrase of an encrypted file.
        passphrase: Option<Secret>,
    },
    /// Every `*.pem` and `*.key` in a directory. Each key's ID is its file name without the extension.
    Directory {
        /// The path of the directory, which is watched.
        path: PathBuf,
        /// The passphrase of encrypted files.
        passphrase: Option<Secret>,
        /// Whether clients with the right to do so change its keys.
        is_managed: bool,
    },
    /// The keys that a device of this configuration holds.
    Token {
        /// The name of the device.
        device: String,
        /// The key to use; `None` for all of them, with their labels as IDs.
        key: Option<TokenKey>,
    },
}

/// A key of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenKey {
    /// The label of the key on the token.
    pub label: String,
    /// The ID for clients.
    pub id: String,
}

/// The place of a passphrase or PIN, which is outside the configuration itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Secret {
    /// The first line of a file.
    File(PathBuf),
    /// The value of an environment variable.
    Variable(String),
}

/// An entry of the access list: the rights of the clients it matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientConfig {
    /// The pattern of their identities.
    pub identity: Pattern,
    /// The patterns of the IDs of the keys they may use.
    pub keys: Vec<Pattern>,
    /// The operations allowed; none if empty.
    pub operations: Vec<Operation>,
    /// The share of each of these clients; at least 1.
    pub weight: u32,
    /// The number of keys matching `keys` in the managed directory from which on they make no more.
    pub keys_max: usize,
}

/// The options of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditConfig {
    /// The place that lines are written to.
    pub output: AuditOutput,
    /// Whether a request is refused if its line cannot be written.
    pub is_required: bool,
}

/// The place that lines of the audit are written to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuditOutput {
    /// A file, which is appended to.
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
    /// A power with a private exponent, without padding. It can do everything the key can.
    RawPrivate,
    /// The file keys in stanzas of age files.
    Unwrap,
    /// MACs of messages.
    Mac,
    /// Whether MACs are right.
    VerifyMac,
    /// Ciphertexts of plaintexts.
    Seal,
    /// Plaintexts of ciphertexts.
    Open,
    /// Modular exponentiation with the client's own numbers.
    ModExp,
    /// Random bytes.
    Random,
    /// The list of the keys that the client may use.
    List,
    /// A new key.
    Create,
    /// A new version of a key.
    Rotate,
    /// The end of a key's use, until it is enabled.
    Disable,
    /// The use of a disabled key again.
    Enable,
}

impl Operation {
    /// Whether it uses a key of the server.
    pub fn needs_key(self) -> bool {
        match self {
            Self::Sign
            | Self::Decrypt
            | Self::RawPrivate
            | Self::Unwrap
            | Self::Mac
            | Self::VerifyMac
            | Self::Seal
            | Self::Open
            | Self::Create
            | Self::Rotate
            | Self::Disable
            | Self::Enable => true,
            Self::ModExp | Self::Random | Self::List => false,
        }
    }

    /// Whether it changes a key of the server.
    pub fn manages(self) -> bool {
        matches!(
            self,
            Self::Create | Self::Rotate | Self::Disable | Self::Enable
        )
    }
}

/// A text in which every `*` matches any characters, or none. Nothing else is special.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// Creates a pattern from its text in the configuration.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the pattern as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the pattern matches all of `text`. The time is at most proportional to the product of the two lengths.
    pub fn fits(&self, text: &str) -> bool {
        let Some((first, rest)) = self.0.split_once('*') else {
            return self.0 == text;
        };
        let Some(mut text) = text.strip_prefix(first) else {
            return false;
        };
        let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
        // The leftmost match of each part leaves the most text for the parts after it.
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
    /// Returns the configuration with only one device, the paper's single-board mode: a device of the configuration by name,
    /// or else `cpu`, `software` or a preset of a simulated board. `workers`, if given, replaces the configured number.
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
    /// Returns the default for one client: enough for many processes, and few enough that no client can take every place, or
    /// much memory.
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
            keys_max: 1000,
            key_changes_per_minute: 60,
        }
    }
}

impl Simulation {
    /// Returns a board of the paper by name.
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

/// Returns the path that the file of a disabled key has.
pub(in crate::server) fn disabled(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(DISABLED);
    PathBuf::from(name)
}

/// Returns the path that the file of a disabled key has when the key is enabled; `None` if the key is not disabled.
pub(in crate::server) fn enabled(path: &Path) -> Option<PathBuf> {
    let name = path.to_str()?.strip_suffix(DISABLED)?;
    Some(PathBuf::from(name))
}

/// Returns the ID of a key file: its name without the extension.
pub(in crate::server) fn id_of_file(path: &Path) -> Option<String> {
    let id = path.file_stem()?.to_str()?;
    is_id(id).then(|| id.to_owned())
}

/// Whether a text can be an ID and be used in a pattern.
pub(in crate::server) fn is_id(text: &str) -> bool {
    (1..=ID_BYTES_MAX).contains(&text.len())
        && !text.contains(|char: char| char == '*' || char.is_control())
}

pub(super) fn workers_default(device: &DeviceConfig) -> usize {
    match device {
        DeviceConfig::Cpu | DeviceConfig::Software => {
            std::thread::available_parallelism().map_or(1, usize::from)
        }
        // This many threads kept the paper's boards busy.
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

/// The end of the name of a disabled key's file.
const DISABLED: &str = ".disabled";
pub(super) const PRESETS: &str = "axl200 or nfast300";
pub(super) const WORKERS: RangeInclusive<u64> = 1..=1024;
pub(in crate::server) const ID_BYTES_MAX: usize = 255;
/// The default of a client's `keys_max`.
pub(super) const CLIENT_KEYS_MAX: u64 = 100;
/// The most devices: the dispatcher records in 64 bits which devices have failed a request.
pub(in crate::server) const DEVICES_MAX: usize = 64;
