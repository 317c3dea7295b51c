//! The configuration file of the server. docs/cryptoserver.md describes every field.
//!
//! It is read twice over: [`toml`] finds what is no TOML, no known key or of the wrong type; then
//! what it made is looked through for what is only wrong together or on this machine. Either way an
//! error names file, line and column.

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;
use zeroize::Zeroizing;

use super::access::{Operation, Pattern};

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

/// What is wrong with a configuration, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    path: PathBuf,
    position: Option<(usize, usize)>,
    what: String,
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// The first thing that is wrong with it, and with the files that it names.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let error = |position, what| ConfigError {
            path: path.to_owned(),
            position,
            what,
        };
        let bytes = std::fs::read(path)
            .map_err(|reason| error(None, format!("cannot be read: {reason}")))?;
        let text = String::from_utf8(bytes).map_err(|reason| {
            let valid = reason.utf8_error().valid_up_to();
            let before = String::from_utf8_lossy(&reason.as_bytes()[..valid]);
            let at = position(&before, valid);
            error(Some(at), "no UTF-8 text: save it as UTF-8".to_owned())
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Reader {
            path,
            text: &text,
            folder,
        }
        .config()
    }

    /// Reads `text`, whose relative paths begin in `folder`.
    ///
    /// # Errors
    /// As [`read`](Self::read); the file is called `cryptoserver.toml` in them.
    pub fn parse(text: &str, folder: &Path) -> Result<Self, ConfigError> {
        let path = Path::new("cryptoserver.toml");
        Reader { path, text, folder }.config()
    }

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
    fn preset(name: &str) -> Option<Self> {
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

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.path.display())?;
        if let Some((line, column)) = self.position {
            write!(f, "{line}:{column}:")?;
        }
        write!(f, " {}", self.what)
    }
}

impl std::error::Error for ConfigError {}

struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
    folder: &'a Path,
}

type Checked<T> = Result<T, ConfigError>;

impl Reader<'_> {
    fn config(&self) -> Checked<Config> {
        let raw: RawConfig = toml::from_str(self.text).map_err(|error| {
            let at = error.span().unwrap_or(0..0);
            self.error(at, error.message().trim().replace('\n', "; "))
        })?;
        if raw.listen.get_ref().is_empty() {
            let what = "no address: give one, as [\"127.0.0.1:7443\"]";
            return Err(self.error(raw.listen.span(), what));
        }
        let addresses = raw.listen.get_ref().iter();
        let listen = addresses
            .map(|address| self.address(address))
            .collect::<Checked<Vec<_>>>()?;
        let devices = self.devices(&raw.device)?;
        let keys = self.keys(&raw.key, &devices)?;
        Ok(Config {
            tls: self.tls(&raw, &listen)?,
            listen,
            io_threads: self.number(&raw.io_threads, "io_threads", 1..=256, 1)? as usize,
            limits: self.limits(&raw.limits)?,
            clients: self.clients(&raw.client, &keys)?,
            devices,
            keys,
            metrics: match &raw.metrics {
                None => None,
                Some(metrics) => Some(self.address(&metrics.listen)?),
            },
            audit: match &raw.audit {
                None => None,
                Some(audit) => Some(self.audit(&audit.file)?),
            },
        })
    }

    fn tls(&self, raw: &RawConfig, listen: &[SocketAddr]) -> Checked<Option<TlsConfig>> {
        let plaintext = raw.plaintext.as_ref().filter(|is_on| *is_on.get_ref());
        match (&raw.tls, plaintext) {
            (Some(tls), None) => Ok(Some(TlsConfig {
                certificate: self.file(&tls.certificate)?,
                key: self.file(&tls.key)?,
                client_ca: self.file(&tls.client_ca)?,
                client_crl: tls
                    .client_crl
                    .as_ref()
                    .map(|crl| self.file(crl))
                    .transpose()?,
            })),
            (Some(_), Some(plaintext)) => {
                let what = "plaintext and [tls]: take one of them away";
                Err(self.error(plaintext.span(), what))
            }
            (None, None) => {
                let what = "no [tls]: give certificate, key and client_ca, which `oarlock pki init` \
                            makes for tests";
                Err(self.error(0..0, what))
            }
            (None, Some(plaintext)) => {
                let is_far = |address: &&SocketAddr| !is_loopback(address.ip());
                match listen.iter().find(is_far) {
                    None => Ok(None),
                    Some(far) => Err(self.error(
                        plaintext.span(),
                        format!(
                            "plaintext is for loopback addresses alone, and {far} is none: give [tls]"
                        ),
                    )),
                }
            }
        }
    }

    fn limits(&self, raw: &RawLimits) -> Checked<Limits> {
        let default = Limits::default();
        let number = |given, name, default: usize| {
            let number = self.number(given, name, 1..=COUNT_MAX, default as u64)?;
            Ok(number as usize)
        };
        let time = |given, name, range, default: Duration| {
            let ms = self.number(given, name, range, default.as_millis() as u64)?;
            Ok(Duration::from_millis(ms))
        };
        let connections_max = number(
            &raw.connections_max,
            "connections_max",
            default.connections_max,
        )?;
        Ok(Limits {
            queue_max: number(&raw.queue_max, "queue_max", default.queue_max)?,
            per_client_max: number(
                &raw.per_client_max,
                "per_client_max",
                default.per_client_max,
            )?,
            per_stream_max: number(
                &raw.per_stream_max,
                "per_stream_max",
                default.per_stream_max,
            )?,
            connections_max,
            // One client alone does not keep the others out.
            client_connections_max: number(
                &raw.client_connections_max,
                "client_connections_max",
                connections_max.div_ceil(2),
            )?,
            handshake_timeout: time(
                &raw.handshake_timeout_ms,
                "handshake_timeout_ms",
                10..=600_000,
                default.handshake_timeout,
            )?,
            idle_timeout: time(
                &raw.idle_timeout_ms,
                "idle_timeout_ms",
                100..=86_400_000,
                default.idle_timeout,
            )?,
            message_bytes_max: self.number(
                &raw.message_bytes_max,
                "message_bytes_max",
                MESSAGE_BYTES,
                default.message_bytes_max as u64,
            )? as usize,
            timeout_max: time(
                &raw.timeout_ms_max,
                "timeout_ms_max",
                1..=3_600_000,
                default.timeout_max,
            )?,
            drain: time(&raw.drain_ms, "drain_ms", 0..=3_600_000, default.drain)?,
        })
    }

    fn devices(&self, raw: &[Spanned<RawDevice>]) -> Checked<Vec<DeviceEntry>> {
        let mut devices = Vec::new();
        let mut names = Names::new("device");
        for raw in raw {
            let span = raw.span();
            let raw = raw.get_ref();
            let name = raw.name.as_ref().unwrap_or(&raw.kind);
            self.check_id("name", name)?;
            names.add(self, name.get_ref(), name.span())?;
            let device = self.device(raw, span)?;
            let default = workers_default(&device) as u64;
            devices.push(DeviceEntry {
                name: name.get_ref().clone(),
                workers: self.number(&raw.workers, "workers", WORKERS, default)? as usize,
                device,
            });
        }
        if devices.is_empty() {
            devices.push(DeviceEntry {
                name: "cpu".to_owned(),
                workers: workers_default(&DeviceConfig::Cpu),
                device: DeviceConfig::Cpu,
            });
        }
        Ok(devices)
    }

    fn device(&self, raw: &RawDevice, span: Range<usize>) -> Checked<DeviceConfig> {
        let kind = raw.kind.get_ref().as_str();
        let allowed: &[&str] = match kind {
            "cpu" | "software" => &[],
            "simulated" if raw.preset.is_some() => &["preset"],
            "simulated" => &[
                "coprocessors",
                "latency_ms",
                "latency_with_crt_ms",
                "host_ms",
                "jitter_ms",
            ],
            "pkcs11" => &["module", "token", "pin_file", "pin_env"],
            "library" => &["path", "options"],
            _ => {
                let what = format!(
                    "unknown kind {kind:?}: choose cpu, software, simulated, pkcs11 or library"
                );
                return Err(self.error(raw.kind.span(), what));
            }
        };
        for (field, given) in raw.fields() {
            if let Some(at) = given
                && !allowed.contains(&field)
            {
                let what = match kind {
                    "simulated" if raw.preset.is_some() => {
                        format!("{field} beside preset: take one of them away")
                    }
                    kind => {
                        format!("{field} is nothing that a device of kind {kind} has: take it away")
                    }
                };
                return Err(self.error(at, what));
            }
        }
        let missing = |field: &str, what: &str| {
            let what = format!("{field} is missing: {what}");
            self.error(span.clone(), what)
        };
        Ok(match kind {
            "cpu" => DeviceConfig::Cpu,
            "software" => DeviceConfig::Software,
            "simulated" => DeviceConfig::Simulated(self.simulation(raw, missing)?),
            "pkcs11" => DeviceConfig::Pkcs11 {
                module: match &raw.module {
                    Some(module) => self.file(module)?,
                    None => return Err(missing("module", "the path of the PKCS#11 module")),
                },
                token: match &raw.token {
                    Some(token) => token.get_ref().clone(),
                    None => return Err(missing("token", "the label of the token")),
                },
                pin: self
                    .secret(&raw.pin_file, &raw.pin_env, "pin")?
                    .ok_or_else(|| missing("pin_file or pin_env", "the PIN of its user"))?,
            },
            _ => DeviceConfig::Library {
                path: match &raw.path {
                    Some(path) => self.file(path)?,
                    None => return Err(missing("path", "the path of the shared library")),
                },
                options: raw
                    .options
                    .as_ref()
                    .map_or_else(String::new, |options| options.get_ref().clone()),
            },
        })
    }

    fn simulation(
        &self,
        raw: &RawDevice,
        missing: impl Fn(&str, &str) -> ConfigError,
    ) -> Checked<Simulation> {
        if let Some(preset) = &raw.preset {
            return Simulation::preset(preset.get_ref()).ok_or_else(|| {
                let what = format!("unknown preset {:?}: choose {PRESETS}", preset.get_ref());
                self.error(preset.span(), what)
            });
        }
        if raw.coprocessors.is_none() {
            return Err(missing(
                "coprocessors",
                "how many requests it works on at once; or a preset",
            ));
        }
        let Some(latency) = self.time(&raw.latency_ms, "latency_ms")? else {
            return Err(missing("latency_ms", "how long an operation takes"));
        };
        Ok(Simulation::Board {
            coprocessors: self.number(&raw.coprocessors, "coprocessors", WORKERS, 1)? as usize,
            latency,
            latency_with_crt: self
                .time(&raw.latency_with_crt_ms, "latency_with_crt_ms")?
                .unwrap_or(latency),
            host: self.time(&raw.host_ms, "host_ms")?.unwrap_or_default(),
            jitter: self.time(&raw.jitter_ms, "jitter_ms")?.unwrap_or_default(),
        })
    }

    fn keys(&self, raw: &[Spanned<RawKey>], devices: &[DeviceEntry]) -> Checked<Vec<KeyConfig>> {
        let mut ids = Names::new("key");
        raw.iter()
            .map(|raw| self.key(raw, devices, &mut ids))
            .collect()
    }

    fn key(
        &self,
        raw: &Spanned<RawKey>,
        devices: &[DeviceEntry],
        ids: &mut Names,
    ) -> Checked<KeyConfig> {
        let span = raw.span();
        let raw = raw.get_ref();
        let stray = |given: &Option<Spanned<String>>, what: &str| match given {
            Some(given) => Err(self.error(given.span(), what)),
            None => Ok(()),
        };
        match (&raw.file, &raw.directory, &raw.token) {
            (Some(file), None, None) => {
                stray(
                    &raw.label,
                    "label is for keys of a token: take it away, or give id",
                )?;
                let path = self.file(file)?;
                let id = match &raw.id {
                    Some(id) => {
                        self.check_id("id", id)?;
                        id.get_ref().clone()
                    }
                    None => id_of_file(&path).ok_or_else(|| {
                        self.error(file.span(), "no id can be made of the file's name: give id")
                    })?,
                };
                let at = raw.id.as_ref().map_or(file.span(), Spanned::span);
                ids.add(self, &id, at)?;
                let passphrase = self.passphrase(raw)?;
                Ok(KeyConfig::File {
                    id,
                    path,
                    passphrase,
                })
            }
            (None, Some(directory), None) => {
                let names = "the keys of a directory are called what their files are: take it away";
                stray(&raw.id, names)?;
                stray(&raw.label, names)?;
                let path = self.folder.join(directory.get_ref());
                if !path.is_dir() {
                    let what = format!("{} is no directory: make it", path.display());
                    return Err(self.error(directory.span(), what));
                }
                let passphrase = self.passphrase(raw)?;
                Ok(KeyConfig::Directory { path, passphrase })
            }
            (None, None, Some(token)) => {
                let device = devices
                    .iter()
                    .find(|device| device.name == *token.get_ref());
                match device.map(|device| &device.device) {
                    Some(DeviceConfig::Pkcs11 { .. }) => {}
                    Some(_) => {
                        let what = format!(
                            "device {:?} holds no keys: name one of kind pkcs11",
                            token.get_ref()
                        );
                        return Err(self.error(token.span(), what));
                    }
                    None => {
                        let what = format!("no device is called {:?}", token.get_ref());
                        return Err(self.error(token.span(), what));
                    }
                }
                let held =
                    "passphrases are for files; the PIN stands with the device: take it away";
                stray(&raw.passphrase_file, held)?;
                stray(&raw.passphrase_env, held)?;
                let key = match &raw.label {
                    None => {
                        stray(
                            &raw.id,
                            "id without label: say which key of the token it is",
                        )?;
                        None
                    }
                    Some(label) => {
                        let id = raw.id.as_ref().unwrap_or(label);
                        self.check_id("id", id)?;
                        ids.add(self, id.get_ref(), id.span())?;
                        Some(TokenKey {
                            label: label.get_ref().clone(),
                            id: id.get_ref().clone(),
                        })
                    }
                };
                Ok(KeyConfig::Token {
                    device: token.get_ref().clone(),
                    key,
                })
            }
            _ => Err(self.error(span, "give one of file, directory and token")),
        }
    }

    fn clients(
        &self,
        raw: &[Spanned<RawClient>],
        keys: &[KeyConfig],
    ) -> Checked<Vec<ClientConfig>> {
        // Of directories and whole tokens ids are known only when they are read.
        let ids: Option<Vec<&str>> = keys
            .iter()
            .map(|key| match key {
                KeyConfig::File { id, .. } => Some(&id[..]),
                KeyConfig::Token { key: Some(key), .. } => Some(&key.id[..]),
                KeyConfig::Directory { .. } | KeyConfig::Token { key: None, .. } => None,
            })
            .collect();
        if raw.is_empty() {
            let what =
                "no [[client]]: nobody might do anything; give identity, keys and operations";
            return Err(self.error(0..0, what));
        }
        let client = |raw: &Spanned<RawClient>| {
            let client = raw.get_ref();
            let identity = client.identity.get_ref();
            if identity.is_empty() {
                return Err(self.error(client.identity.span(), "an empty identity fits nobody"));
            }
            let needing = client.operations.get_ref().iter();
            if client.keys.is_empty() && needing.copied().any(Operation::needs_key) {
                let what = "operations with keys and no keys: give keys, [\"*\"] for all";
                return Err(self.error(client.operations.span(), what));
            }
            for key in &client.keys {
                let pattern = Pattern::new(key.get_ref().as_str());
                if let Some(ids) = &ids
                    && pattern.as_str() != "*"
                    && !ids.iter().any(|id| pattern.fits(id))
                {
                    let what = format!(
                        "no key is called {:?}: there are {}",
                        key.get_ref(),
                        listed(ids)
                    );
                    return Err(self.error(key.span(), what));
                }
            }
            Ok(ClientConfig {
                identity: Pattern::new(identity.as_str()),
                keys: client
                    .keys
                    .iter()
                    .map(|key| Pattern::new(key.get_ref().as_str()))
                    .collect(),
                operations: client.operations.get_ref().clone(),
                weight: self.number(&client.weight, "weight", 1..=1000, 1)? as u32,
            })
        };
        raw.iter().map(client).collect()
    }

    fn audit(&self, file: &Spanned<String>) -> Checked<AuditConfig> {
        if file.get_ref() == "-" {
            return Ok(AuditConfig::StandardError);
        }
        let path = self.folder.join(file.get_ref());
        let folder = path.parent().unwrap_or(Path::new(""));
        let has_folder = folder.as_os_str().is_empty() || folder.is_dir();
        if !has_folder || path.is_dir() {
            let what = format!(
                "{} cannot be a file: name one in a directory that is there",
                path.display()
            );
            return Err(self.error(file.span(), what));
        }
        Ok(AuditConfig::File(path))
    }

    fn passphrase(&self, raw: &RawKey) -> Checked<Option<Secret>> {
        self.secret(&raw.passphrase_file, &raw.passphrase_env, "passphrase")
    }

    fn secret(
        &self,
        file: &Option<Spanned<String>>,
        variable: &Option<Spanned<String>>,
        what: &str,
    ) -> Checked<Option<Secret>> {
        match (file, variable) {
            (None, None) => Ok(None),
            (Some(file), None) => Ok(Some(Secret::File(self.file(file)?))),
            (None, Some(variable)) => {
                let name = variable.get_ref();
                if std::env::var_os(name).is_none() {
                    let what =
                        format!("environment variable {name} is not set: set it, or give a file");
                    return Err(self.error(variable.span(), what));
                }
                Ok(Some(Secret::Variable(name.clone())))
            }
            (Some(_), Some(variable)) => {
                let what = format!("{what}_file and {what}_env: take one of them away");
                Err(self.error(variable.span(), what))
            }
        }
    }

    fn address(&self, address: &Spanned<String>) -> Checked<SocketAddr> {
        address.get_ref().parse().map_err(|_| {
            let what = format!(
                "{:?} is no IP address with a port, as 127.0.0.1:7443 or [::1]:7443",
                address.get_ref()
            );
            self.error(address.span(), what)
        })
    }

    /// The path of a file that is there.
    fn file(&self, file: &Spanned<String>) -> Checked<PathBuf> {
        let path = self.folder.join(file.get_ref());
        // A pipe is not opened: that could take for ever.
        let problem = match std::fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => "it is a directory".to_owned(),
            Ok(metadata) if !metadata.is_file() => "it is no regular file".to_owned(),
            Ok(_) => match std::fs::File::open(&path) {
                Ok(_) => return Ok(path),
                Err(error) => error.to_string(),
            },
            Err(error) => error.to_string(),
        };
        let what = format!("{} cannot be read: {problem}", path.display());
        Err(self.error(file.span(), what))
    }

    fn check_id(&self, field: &str, id: &Spanned<String>) -> Checked<()> {
        if is_id(id.get_ref()) {
            return Ok(());
        }
        let what = format!(
            "{field} {:?}: 1 to {ID_BYTES_MAX} bytes, without * and control characters",
            id.get_ref()
        );
        Err(self.error(id.span(), what))
    }

    fn number(
        &self,
        given: &Option<Spanned<u64>>,
        name: &str,
        range: RangeInclusive<u64>,
        default: u64,
    ) -> Checked<u64> {
        match given {
            None => Ok(default),
            Some(given) if range.contains(given.get_ref()) => Ok(*given.get_ref()),
            Some(given) => {
                Err(self.error(given.span(), out_of_range(name, given.get_ref(), &range)))
            }
        }
    }

    fn time(&self, given: &Option<Spanned<f64>>, name: &str) -> Checked<Option<Duration>> {
        match given {
            None => Ok(None),
            Some(given) if SIMULATED_MS.contains(given.get_ref()) => {
                Ok(Some(Duration::from_secs_f64(given.get_ref() / 1000.0)))
            }
            Some(given) => Err(self.error(
                given.span(),
                out_of_range(name, given.get_ref(), &SIMULATED_MS),
            )),
        }
    }

    fn error(&self, at: Range<usize>, what: impl Into<String>) -> ConfigError {
        ConfigError {
            path: self.path.to_owned(),
            position: Some(position(self.text, at.start)),
            what: what.into(),
        }
    }
}

/// What is called so already, and where.
struct Names {
    of: &'static str,
    spans: HashMap<String, Range<usize>>,
}

impl Names {
    fn new(of: &'static str) -> Self {
        Self {
            of,
            spans: HashMap::new(),
        }
    }

    fn add(&mut self, reader: &Reader<'_>, name: &str, at: Range<usize>) -> Checked<()> {
        if let Some(first) = self.spans.insert(name.to_owned(), at.clone()) {
            let (line, _) = position(reader.text, first.start);
            let what = format!(
                "a second {} called {name:?}, after that of line {line}: call one of them otherwise",
                self.of
            );
            return Err(reader.error(at, what));
        }
        Ok(())
    }
}

/// What a file is called as a key: its name without the extension.
pub(super) fn id_of_file(path: &Path) -> Option<String> {
    let id = path.file_stem()?.to_str()?;
    is_id(id).then(|| id.to_owned())
}

/// Whether something can be called so, and meant in a pattern.
pub(super) fn is_id(text: &str) -> bool {
    (1..=ID_BYTES_MAX).contains(&text.len())
        && !text.contains(|char: char| char == '*' || char.is_control())
}

fn workers_default(device: &DeviceConfig) -> usize {
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

/// Line and column, from 1 and in characters, of the byte at `at`.
fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    let breaks = before.bytes().filter(|byte| *byte == b'\n').count();
    (breaks + 1, line.chars().count() + 1)
}

fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

fn out_of_range<T: fmt::Display>(
    name: &str,
    given: impl fmt::Display,
    range: &RangeInclusive<T>,
) -> String {
    let (first, last) = (range.start(), range.end());
    format!("{name} = {given}: choose {first} to {last}")
}

fn listed(ids: &[&str]) -> String {
    match ids {
        [] => "none".to_owned(),
        ids => ids.join(", "),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawConfig {
    listen: Spanned<Vec<Spanned<String>>>,
    io_threads: Option<Spanned<u64>>,
    plaintext: Option<Spanned<bool>>,
    tls: Option<RawTls>,
    #[serde(default)]
    limits: RawLimits,
    #[serde(default)]
    device: Vec<Spanned<RawDevice>>,
    #[serde(default)]
    key: Vec<Spanned<RawKey>>,
    #[serde(default)]
    client: Vec<Spanned<RawClient>>,
    metrics: Option<RawMetrics>,
    audit: Option<RawAudit>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTls {
    certificate: Spanned<String>,
    key: Spanned<String>,
    client_ca: Spanned<String>,
    client_crl: Option<Spanned<String>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLimits {
    queue_max: Option<Spanned<u64>>,
    per_client_max: Option<Spanned<u64>>,
    per_stream_max: Option<Spanned<u64>>,
    connections_max: Option<Spanned<u64>>,
    client_connections_max: Option<Spanned<u64>>,
    handshake_timeout_ms: Option<Spanned<u64>>,
    idle_timeout_ms: Option<Spanned<u64>>,
    message_bytes_max: Option<Spanned<u64>>,
    timeout_ms_max: Option<Spanned<u64>>,
    drain_ms: Option<Spanned<u64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawDevice {
    name: Option<Spanned<String>>,
    kind: Spanned<String>,
    workers: Option<Spanned<u64>>,
    preset: Option<Spanned<String>>,
    coprocessors: Option<Spanned<u64>>,
    latency_ms: Option<Spanned<f64>>,
    latency_with_crt_ms: Option<Spanned<f64>>,
    host_ms: Option<Spanned<f64>>,
    jitter_ms: Option<Spanned<f64>>,
    module: Option<Spanned<String>>,
    token: Option<Spanned<String>>,
    pin_file: Option<Spanned<String>>,
    pin_env: Option<Spanned<String>>,
    path: Option<Spanned<String>>,
    options: Option<Spanned<String>>,
}

impl RawDevice {
    /// Those that not every kind has, and where they stand.
    fn fields(&self) -> [(&'static str, Option<Range<usize>>); 12] {
        fn at<T>(field: &Option<Spanned<T>>) -> Option<Range<usize>> {
            field.as_ref().map(Spanned::span)
        }
        [
            ("preset", at(&self.preset)),
            ("coprocessors", at(&self.coprocessors)),
            ("latency_ms", at(&self.latency_ms)),
            ("latency_with_crt_ms", at(&self.latency_with_crt_ms)),
            ("host_ms", at(&self.host_ms)),
            ("jitter_ms", at(&self.jitter_ms)),
            ("module", at(&self.module)),
            ("token", at(&self.token)),
            ("pin_file", at(&self.pin_file)),
            ("pin_env", at(&self.pin_env)),
            ("path", at(&self.path)),
            ("options", at(&self.options)),
        ]
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawKey {
    id: Option<Spanned<String>>,
    file: Option<Spanned<String>>,
    directory: Option<Spanned<String>>,
    token: Option<Spanned<String>>,
    label: Option<Spanned<String>>,
    passphrase_file: Option<Spanned<String>>,
    passphrase_env: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawClient {
    identity: Spanned<String>,
    #[serde(default)]
    keys: Vec<Spanned<String>>,
    operations: Spanned<Vec<Operation>>,
    weight: Option<Spanned<u64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawMetrics {
    listen: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawAudit {
    file: Spanned<String>,
}

const PRESETS: &str = "axl200 or nfast300";
const WORKERS: RangeInclusive<u64> = 1..=1024;
const COUNT_MAX: u64 = 1 << 20;
const MESSAGE_BYTES: RangeInclusive<u64> = 4096..=64 << 20;
const SIMULATED_MS: RangeInclusive<f64> = 0.0..=60_000.0;
const ID_BYTES_MAX: usize = 255;
