//! The text of a configuration: its fields, and the position of each value.

use std::collections::HashMap;
use std::fmt;
use std::net::SocketAddr;
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;

use super::model::{ID_BYTES_MAX, Operation, Secret, is_id, out_of_range};

/// A fault of a configuration, with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    pub(super) path: PathBuf,
    pub(super) position: Option<(usize, usize)>,
    pub(super) what: String,
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

pub(super) struct Reader<'a> {
    pub(super) path: &'a Path,
    pub(super) text: &'a str,
    pub(super) folder: &'a Path,
}

pub(super) type Checked<T> = Result<T, ConfigError>;

impl Reader<'_> {
    pub(super) fn secret(
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
                let what = format!("{what}_file and {what}_env: remove one of them");
                Err(self.error(variable.span(), what))
            }
        }
    }

    pub(super) fn address(&self, address: &Spanned<String>) -> Checked<SocketAddr> {
        address.get_ref().parse().map_err(|_| {
            let what = format!(
                "{:?} is not an IP address with a port, such as 127.0.0.1:7443 or [::1]:7443",
                address.get_ref()
            );
            self.error(address.span(), what)
        })
    }

    /// Returns the path of a file that exists and can be read.
    pub(super) fn file(&self, file: &Spanned<String>) -> Checked<PathBuf> {
        let path = self.folder.join(file.get_ref());
        // A pipe is not opened, because opening could block forever.
        let problem = match std::fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => "it is a directory".to_owned(),
            Ok(metadata) if !metadata.is_file() => "it is not a regular file".to_owned(),
            Ok(_) => match std::fs::File::open(&path) {
                Ok(_) => return Ok(path),
                Err(error) => error.to_string(),
            },
            Err(error) => error.to_string(),
        };
        let what = format!("{} cannot be read: {problem}", path.display());
        Err(self.error(file.span(), what))
    }

    pub(super) fn check_id(&self, field: &str, id: &Spanned<String>) -> Checked<()> {
        if is_id(id.get_ref()) {
            return Ok(());
        }
        let what = format!(
            "{field} {:?}: 1 to {ID_BYTES_MAX} bytes, without * and control characters",
            id.get_ref()
        );
        Err(self.error(id.span(), what))
    }

    pub(super) fn number(
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

    pub(super) fn time(
        &self,
        given: &Option<Spanned<f64>>,
        name: &str,
    ) -> Checked<Option<Duration>> {
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

    pub(super) fn error(&self, at: Range<usize>, what: impl Into<String>) -> ConfigError {
        ConfigError {
            path: self.path.to_owned(),
            position: Some(position(self.text, at.start)),
            what: what.into(),
        }
    }
}

/// The names in use, with their positions.
pub(super) struct Names {
    of: &'static str,
    spans: HashMap<String, Range<usize>>,
}

impl Names {
    pub(super) fn new(of: &'static str) -> Self {
        Self {
            of,
            spans: HashMap::new(),
        }
    }

    pub(super) fn add(&mut self, reader: &Reader<'_>, name: &str, at: Range<usize>) -> Checked<()> {
        if let Some(first) = self.spans.insert(name.to_owned(), at.clone()) {
            let (line, _) = position(reader.text, first.start);
            let what = format!(
                "a second {} named {name:?}, after the one in line {line}: rename one of them",
                self.of
            );
            return Err(reader.error(at, what));
        }
        Ok(())
    }
}

/// Returns the line and column, from 1 and in characters, of the byte at `at`.
pub(super) fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    let breaks = before.bytes().filter(|byte| *byte == b'\n').count();
    (breaks + 1, line.chars().count() + 1)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawConfig {
    pub(super) listen: Spanned<Vec<Spanned<String>>>,
    pub(super) io_threads: Option<Spanned<u64>>,
    pub(super) plaintext: Option<Spanned<bool>>,
    pub(super) tls: Option<RawTls>,
    #[serde(default)]
    pub(super) limits: RawLimits,
    #[serde(default)]
    pub(super) device: Vec<Spanned<RawDevice>>,
    #[serde(default)]
    pub(super) key: Vec<Spanned<RawKey>>,
    #[serde(default)]
    pub(super) client: Vec<Spanned<RawClient>>,
    pub(super) metrics: Option<RawMetrics>,
    pub(super) audit: Option<RawAudit>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTls {
    pub(super) certificate: Spanned<String>,
    pub(super) key: Spanned<String>,
    pub(super) client_ca: Spanned<String>,
    pub(super) client_crl: Option<Spanned<String>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLimits {
    pub(super) queue_max: Option<Spanned<u64>>,
    pub(super) per_client_max: Option<Spanned<u64>>,
    pub(super) per_stream_max: Option<Spanned<u64>>,
    pub(super) connections_max: Option<Spanned<u64>>,
    pub(super) client_connections_max: Option<Spanned<u64>>,
    pub(super) handshake_timeout_ms: Option<Spanned<u64>>,
    pub(super) idle_timeout_ms: Option<Spanned<u64>>,
    pub(super) connection_age_ms: Option<Spanned<u64>>,
    pub(super) message_bytes_max: Option<Spanned<u64>>,
    pub(super) timeout_ms_max: Option<Spanned<u64>>,
    pub(super) drain_ms: Option<Spanned<u64>>,
    pub(super) keys_max: Option<Spanned<u64>>,
    pub(super) key_changes_per_minute: Option<Spanned<u64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawDevice {
    pub(super) name: Option<Spanned<String>>,
    pub(super) kind: Spanned<String>,
    pub(super) workers: Option<Spanned<u64>>,
    pub(super) preset: Option<Spanned<String>>,
    pub(super) coprocessors: Option<Spanned<u64>>,
    pub(super) latency_ms: Option<Spanned<f64>>,
    pub(super) latency_with_crt_ms: Option<Spanned<f64>>,
    pub(super) host_ms: Option<Spanned<f64>>,
    pub(super) jitter_ms: Option<Spanned<f64>>,
    pub(super) module: Option<Spanned<String>>,
    pub(super) token: Option<Spanned<String>>,
    pub(super) pin_file: Option<Spanned<String>>,
    pub(super) pin_env: Option<Spanned<String>>,
    pub(super) path: Option<Spanned<String>>,
    pub(super) options: Option<Spanned<String>>,
}

impl RawDevice {
    /// Returns the fields that only some kinds of device have, with their positions.
    pub(super) fn fields(&self) -> [(&'static str, Option<Range<usize>>); 12] {
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
pub(super) struct RawKey {
    pub(super) id: Option<Spanned<String>>,
    pub(super) file: Option<Spanned<String>>,
    pub(super) directory: Option<Spanned<String>>,
    pub(super) token: Option<Spanned<String>>,
    pub(super) label: Option<Spanned<String>>,
    pub(super) passphrase_file: Option<Spanned<String>>,
    pub(super) passphrase_env: Option<Spanned<String>>,
    pub(super) managed: Option<Spanned<bool>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawClient {
    pub(super) identity: Spanned<String>,
    #[serde(default)]
    pub(super) keys: Vec<Spanned<String>>,
    pub(super) operations: Spanned<Vec<Operation>>,
    pub(super) weight: Option<Spanned<u64>>,
    pub(super) keys_max: Option<Spanned<u64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMetrics {
    pub(super) listen: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawAudit {
    pub(super) file: Spanned<String>,
    #[serde(default = "is_on")]
    pub(super) required: bool,
}

fn is_on() -> bool {
    true
}

const SIMULATED_MS: RangeInclusive<f64> = 0.0..=60_000.0;
