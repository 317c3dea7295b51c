//! Checks that turn the text of a configuration into the model. They find faults that exist only in combination or only on
//! this machine.

use std::net::{IpAddr, SocketAddr};
use std::ops::{Range, RangeInclusive};
use std::path::Path;
use std::time::Duration;

use toml::Spanned;

use super::model::{
    AuditConfig, AuditOutput, CLIENT_KEYS_MAX, ClientConfig, Config, DEVICES_MAX, DeviceConfig,
    DeviceEntry, KeyConfig, Limits, Operation, PRESETS, Pattern, Secret, Simulation, TlsConfig,
    TokenKey, WORKERS, id_of_file, workers_default,
};
use super::read::{
    Checked, ConfigError, Names, RawClient, RawConfig, RawDevice, RawKey, RawLimits, Reader,
    position,
};
use super::words::plain;

impl Config {
    /// Reads a configuration file.
    ///
    /// # Errors
    /// The first fault of the file, or of the files it names.
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
            error(Some(at), "not UTF-8: save it as UTF-8".to_owned())
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Reader {
            path,
            text: &text,
            folder,
        }
        .config()
    }

    /// Parses a configuration from `text`; relative paths start in `folder`.
    ///
    /// # Errors
    /// The same as for [`read`](Self::read); messages call the file `cryptoserver.toml`.
    pub fn parse(text: &str, folder: &Path) -> Result<Self, ConfigError> {
        let path = Path::new("cryptoserver.toml");
        Reader { path, text, folder }.config()
    }
}

impl Reader<'_> {
    fn config(&self) -> Checked<Config> {
        let raw: RawConfig = toml::from_str(self.text).map_err(|error| {
            let at = error.span().unwrap_or(0..0);
            self.error(at, plain(error.message()))
        })?;
        if raw.listen.get_ref().is_empty() {
            let what = "no address: give one, such as [\"127.0.0.1:7443\"]";
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
                Some(audit) => Some(AuditConfig {
                    output: self.audit(&audit.file)?,
                    is_required: audit.required,
                }),
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
                let what = "plaintext and [tls]: remove one of them";
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
                            "plaintext needs loopback addresses, and {far} is not one: give [tls]"
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
            client_connections_max: number(
                &raw.client_connections_max,
                "client_connections_max",
                Limits::client_connections_max_of(connections_max),
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
            connection_age: time(
                &raw.connection_age_ms,
                "connection_age_ms",
                1000..=604_800_000,
                default.connection_age,
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
            keys_max: number(&raw.keys_max, "keys_max", default.keys_max)?,
            key_changes_per_minute: number(
                &raw.key_changes_per_minute,
                "key_changes_per_minute",
                default.key_changes_per_minute,
            )?,
        })
    }

    fn devices(&self, raw: &[Spanned<RawDevice>]) -> Checked<Vec<DeviceEntry>> {
        if let Some(surplus) = raw.get(DEVICES_MAX) {
            let what = format!("more than {DEVICES_MAX} devices: let several servers share them");
            return Err(self.error(surplus.span(), what));
        }
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
                        format!("{field} and preset exclude each other: remove one of them")
                    }
                    kind => {
                        format!("a device of kind {kind} has no {field}: remove it")
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
            return Err(missing(
                "latency_ms",
                "how long an operation of 1024 bits takes",
            ));
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
        let mut managed = None;
        for raw in raw {
            let raw = raw.get_ref();
            let Some(given) = raw.managed.as_ref().filter(|is_on| *is_on.get_ref()) else {
                continue;
            };
            let what = if raw.directory.is_none() {
                "managed is for a directory: remove it"
            } else if raw.passphrase_file.is_some() || raw.passphrase_env.is_some() {
                "keys of a managed directory are written without a passphrase: remove it, or managed"
            } else if managed.replace(given.span()).is_some() {
                "a second managed directory: new keys go into one, so remove one of them"
            } else {
                continue;
            };
            return Err(self.error(given.span(), what));
        }
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
                    "label is for keys of a token: remove it, or give id",
                )?;
                let path = self.file(file)?;
                let id = match &raw.id {
                    Some(id) => {
                        self.check_id("id", id)?;
                        id.get_ref().clone()
                    }
                    None => id_of_file(&path).ok_or_else(|| {
                        self.error(file.span(), "the file's name cannot be an id: give id")
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
                let names = "keys of a directory are named after their files: remove it";
                stray(&raw.id, names)?;
                stray(&raw.label, names)?;
                let path = self.folder.join(directory.get_ref());
                if !path.is_dir() {
                    let what = format!("{} is not a directory: create it", path.display());
                    return Err(self.error(directory.span(), what));
                }
                let passphrase = self.passphrase(raw)?;
                let is_managed = raw.managed.as_ref().is_some_and(|is_on| *is_on.get_ref());
                Ok(KeyConfig::Directory {
                    path,
                    passphrase,
                    is_managed,
                })
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
                        let what = format!("no device is named {:?}", token.get_ref());
                        return Err(self.error(token.span(), what));
                    }
                }
                let held =
                    "passphrases are for files, and the PIN belongs to the device: remove it";
                stray(&raw.passphrase_file, held)?;
                stray(&raw.passphrase_env, held)?;
                let key = match &raw.label {
                    None => {
                        stray(&raw.id, "id without label: give the label of the key")?;
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
        // The IDs of directories and whole tokens are known only after reading them.
        let ids: Option<Vec<&str>> = keys
            .iter()
            .map(|key| match key {
                KeyConfig::File { id, .. } => Some(&id[..]),
                KeyConfig::Token { key: Some(key), .. } => Some(&key.id[..]),
                KeyConfig::Directory { .. } | KeyConfig::Token { key: None, .. } => None,
            })
            .collect();
        if raw.is_empty() {
            let what = "no [[client]], so nobody has access: give identity, keys and operations";
            return Err(self.error(0..0, what));
        }
        let is_any_managed = keys.iter().any(|key| {
            matches!(
                key,
                KeyConfig::Directory {
                    is_managed: true,
                    ..
                }
            )
        });
        let client = |raw: &Spanned<RawClient>| {
            let client = raw.get_ref();
            let identity = client.identity.get_ref();
            if identity.is_empty() {
                return Err(self.error(client.identity.span(), "an empty identity matches nobody"));
            }
            let needing = client.operations.get_ref().iter();
            if client.keys.is_empty() && needing.copied().any(Operation::needs_key) {
                let what = "operations that need keys, but no keys: give keys, [\"*\"] for all";
                return Err(self.error(client.operations.span(), what));
            }
            if !is_any_managed && client.operations.get_ref().iter().any(|it| it.manages()) {
                let what = "operations that change keys, but no directory for them: add managed = true to the \
                            [[key]] of one";
                return Err(self.error(client.operations.span(), what));
            }
            for key in &client.keys {
                let pattern = Pattern::new(key.get_ref().as_str());
                if let Some(ids) = &ids
                    && pattern.as_str() != "*"
                    && !ids.iter().any(|id| pattern.fits(id))
                {
                    let what = format!(
                        "no key matches {:?}: there are {}",
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
                keys_max: self.number(
                    &client.keys_max,
                    "keys_max",
                    1..=COUNT_MAX,
                    CLIENT_KEYS_MAX,
                )? as usize,
            })
        };
        raw.iter().map(client).collect()
    }

    fn audit(&self, file: &Spanned<String>) -> Checked<AuditOutput> {
        if file.get_ref() == "-" {
            return Ok(AuditOutput::StandardError);
        }
        let path = self.folder.join(file.get_ref());
        let folder = path.parent().unwrap_or(Path::new(""));
        let has_folder = folder.as_os_str().is_empty() || folder.is_dir();
        if !has_folder || path.is_dir() {
            let what = format!(
                "{} cannot be a file: name one in an existing directory",
                path.display()
            );
            return Err(self.error(file.span(), what));
        }
        Ok(AuditOutput::File(path))
    }

    fn passphrase(&self, raw: &RawKey) -> Checked<Option<Secret>> {
        self.secret(&raw.passphrase_file, &raw.passphrase_env, "passphrase")
    }
}

fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

fn listed(ids: &[&str]) -> String {
    match ids {
        [] => "none".to_owned(),
        ids => ids.join(", "),
    }
}

const COUNT_MAX: u64 = 1 << 20;
const MESSAGE_BYTES: RangeInclusive<u64> = 4096..=64 << 20;
