//! Metrics, and the audit: one line for each request.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};
use serde::Serialize;
use tonic::Code;

use super::accounts::Account;
use super::config::AuditConfig;
use super::dispatch::{Answered, Dispatcher, Refusal};
use super::listener::Counts;
use super::log_limit::LogLimit;
use crate::tls::Identity;

/// What a request was about. Holds no secrets.
pub(super) struct Note {
    pub(super) identity: Identity,
    /// Its account, which stays open until the note is written.
    pub(super) _account: Option<Arc<Account>>,
    /// The pattern of the entry of the access list that matches it.
    pub(super) entry: Arc<str>,
    pub(super) peer: Arc<str>,
    pub(super) operation: &'static str,
    /// The id of the key as asked for, if the client may use keys of that name.
    pub(super) key: Arc<str>,
    /// Whether there is such a key: others are no label, of which there would be no end.
    pub(super) is_key_known: bool,
}

/// Counts requests and writes the audit.
pub(super) struct Observer {
    metrics: Metrics,
    audit: Option<Audit>,
    log: LogLimit,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RequestLabels {
    client: Arc<str>,
    operation: &'static str,
    key: Arc<str>,
    code: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct DeviceLabels {
    device: Arc<str>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct BatchLabels {
    device: Arc<str>,
    requests: u64,
}

struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    strangers: Counter,
    waited: Family<DeviceLabels, Histogram, fn() -> Histogram>,
    served: Family<DeviceLabels, Histogram, fn() -> Histogram>,
    batches: Family<BatchLabels, Gauge>,
    in_work: Family<DeviceLabels, Gauge>,
    up: Family<DeviceLabels, Gauge>,
    failures: Family<DeviceLabels, Gauge>,
    waiting: Gauge,
    unanswered: Gauge,
    connections: Gauge,
    refused: Gauge,
    clients: Gauge,
}

impl Observer {
    /// With an audit, if the configuration has one.
    ///
    /// # Errors
    /// What is wrong with the audit file.
    pub(super) fn new(audit: Option<&AuditConfig>) -> Result<Self, String> {
        Ok(Self {
            metrics: Metrics::new(),
            audit: audit.map(Audit::start).transpose()?,
            log: LogLimit::default(),
        })
    }

    /// Records an answered request.
    pub(super) fn note(&self, note: &Note, answered: &Answered) {
        let code = match &answered.outcome {
            Ok(_) => Code::Ok,
            Err(refusal) => refusal.code,
        };
        self.metrics.count(note, code, answered);
        if let Some(audit) = &self.audit {
            audit.write(note, code, answered);
        }
    }

    /// Records a call of a client that no entry of the access list matches.
    pub(super) fn stranger(&self, identity: &Identity, peer: &str, refusal: Refusal) {
        self.metrics.strangers.inc();
        self.log.tell(|untold| {
            let identity = identity.as_str();
            tracing::warn!(
                identity,
                peer,
                "a client that no [[client]] matches{untold}"
            );
        });
        if let Some(audit) = &self.audit {
            let note = Note {
                identity: identity.clone(),
                _account: None,
                entry: "".into(),
                peer: peer.into(),
                operation: "none",
                key: "".into(),
                is_key_known: false,
            };
            let code = refusal.code;
            audit.write(&note, code, &Answered::refused(refusal, Duration::ZERO));
        }
    }

    /// Reopens the audit file: a new one of the same name if the old one was moved away.
    pub(super) fn reopen(&self) {
        if let Some(audit) = &self.audit {
            audit.send(AuditMessage::Reopen);
        }
    }

    /// Waits until the audit is written, for some seconds at most.
    pub(super) fn flush(&self) {
        if let Some(audit) = &self.audit {
            let (sender, written) = sync_channel(1);
            audit.send(AuditMessage::Flush(sender));
            // A disk that takes longer may never answer.
            let _ = written.recv_timeout(FLUSH_MAX);
        }
    }

    /// The page that Prometheus reads, in the OpenMetrics text format.
    pub(super) fn page(&self, dispatcher: &Dispatcher, counts: &Counts) -> String {
        self.metrics.look_at(dispatcher, counts);
        let mut page = String::new();
        // Writing to a String cannot fail.
        let _ = text::encode(&mut page, &self.metrics.registry);
        page
    }
}

impl Metrics {
    fn new() -> Self {
        let mut registry = Registry::with_prefix("oarlock");
        let seconds = (|| Histogram::new(exponential_buckets(10e-6, 2.0, 21))) as fn() -> Histogram;
        let metrics = Self {
            requests: Family::default(),
            strangers: Counter::default(),
            waited: Family::new_with_constructor(seconds),
            served: Family::new_with_constructor(seconds),
            batches: Family::default(),
            in_work: Family::default(),
            up: Family::default(),
            failures: Family::default(),
            waiting: Gauge::default(),
            unanswered: Gauge::default(),
            connections: Gauge::default(),
            refused: Gauge::default(),
            clients: Gauge::default(),
            registry: Registry::default(),
        };
        registry.register(
            "requests",
            "Requests answered, by entry of the access list, operation, key and gRPC code",
            metrics.requests.clone(),
        );
        registry.register(
            "strangers",
            "Calls of clients that no entry of the access list matches",
            metrics.strangers.clone(),
        );
        registry.register_with_unit(
            "queue_wait",
            "Time from arrival to the start of work",
            Unit::Seconds,
            metrics.waited.clone(),
        );
        registry.register_with_unit(
            "service",
            "Time in the device, with the rest of the batch",
            Unit::Seconds,
            metrics.served.clone(),
        );
        registry.register(
            "batches",
            "Batches given to a device, by number of requests: how full its lanes are",
            metrics.batches.clone(),
        );
        registry.register(
            "device_in_work",
            "Requests that a device has and has not answered",
            metrics.in_work.clone(),
        );
        registry.register(
            "device_up",
            "0 while a device is left alone because it failed or hangs",
            metrics.up.clone(),
        );
        registry.register(
            "device_failures",
            "Failures of a device with keys of the server",
            metrics.failures.clone(),
        );
        registry.register(
            "waiting",
            "Requests that no worker has begun",
            metrics.waiting.clone(),
        );
        registry.register(
            "unanswered",
            "Requests that have not been answered",
            metrics.unanswered.clone(),
        );
        registry.register(
            "connections",
            "Open connections",
            metrics.connections.clone(),
        );
        registry.register(
            "connections_refused",
            "Connections refused, for their handshakes or for lack of a place",
            metrics.refused.clone(),
        );
        registry.register(
            "clients",
            "Clients that have something here: a stream, a request, an unread reply",
            metrics.clients.clone(),
        );
        Self {
            registry,
            ..metrics
        }
    }

    fn count(&self, note: &Note, code: Code, answered: &Answered) {
        let labels = RequestLabels {
            client: Arc::clone(&note.entry),
            operation: note.operation,
            key: if note.is_key_known {
                Arc::clone(&note.key)
            } else {
                "".into()
            },
            code: name(code),
        };
        self.requests.get_or_create(&labels).inc();
        if let Some(device) = &answered.device {
            let labels = DeviceLabels {
                device: Arc::clone(device),
            };
            let (waited, served) = (answered.waited, answered.served);
            self.waited
                .get_or_create(&labels)
                .observe(waited.as_secs_f64());
            self.served
                .get_or_create(&labels)
                .observe(served.as_secs_f64());
        }
    }

    fn look_at(&self, dispatcher: &Dispatcher, counts: &Counts) {
        let gauge = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        self.connections.set(gauge(counts.open()));
        self.refused.set(gauge(counts.refused()));
        self.clients.set(gauge(dispatcher.clients() as u64));
        self.waiting.set(gauge(dispatcher.waiting() as u64));
        self.unanswered.set(gauge(dispatcher.unanswered() as u64));
        for status in dispatcher.devices() {
            let device = DeviceLabels {
                device: Arc::clone(&status.name),
            };
            self.in_work
                .get_or_create(&device)
                .set(gauge(status.in_work as u64));
            self.up
                .get_or_create(&device)
                .set(i64::from(!status.is_down));
            self.failures
                .get_or_create(&device)
                .set(gauge(status.failures));
            for (requests, count) in (0..).zip(&status.batches) {
                if *count > 0 {
                    let labels = BatchLabels {
                        device: Arc::clone(&status.name),
                        requests,
                    };
                    self.batches.get_or_create(&labels).set(gauge(*count));
                }
            }
        }
    }
}

/// Writes audit lines on a thread of its own. Senders wait while too many lines are queued, so none
/// is lost.
struct Audit {
    sender: Option<SyncSender<AuditMessage>>,
    thread: Option<JoinHandle<()>>,
}

enum AuditMessage {
    Text(String),
    Reopen,
    /// Says when everything before it is written.
    Flush(SyncSender<()>),
}

/// One line of the audit.
#[derive(Serialize)]
struct Entry<'a> {
    /// When it was answered, in milliseconds since 1970, UTC.
    unix_ms: u128,
    client: &'a str,
    peer: &'a str,
    operation: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    key: &'a str,
    code: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<&'a str>,
    waited_us: u128,
    served_us: u128,
}

impl Audit {
    fn start(config: &AuditConfig) -> Result<Self, String> {
        let mut output = Output::open(config)?;
        let (sender, receiver) = sync_channel(LINES_MAX);
        let thread = std::thread::Builder::new()
            .name("audit".into())
            .spawn(move || output.write_all(&receiver))
            .map_err(|error| format!("no thread for the audit: {error}"))?;
        Ok(Self {
            sender: Some(sender),
            thread: Some(thread),
        })
    }

    fn write(&self, note: &Note, code: Code, answered: &Answered) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let entry = Entry {
            unix_ms: now.unwrap_or_default().as_millis(),
            client: note.identity.as_str(),
            peer: &note.peer,
            operation: note.operation,
            key: &note.key,
            code: name(code),
            message: answered.outcome.as_ref().err().map(|refusal| {
                &refusal.message[..refusal.message.floor_char_boundary(MESSAGE_BYTES_MAX)]
            }),
            device: answered.device.as_deref(),
            waited_us: answered.waited.as_micros(),
            served_us: answered.served.as_micros(),
        };
        if let Ok(mut line) = serde_json::to_string(&entry) {
            line.push('\n');
            self.send(AuditMessage::Text(line));
        }
    }

    fn send(&self, line: AuditMessage) {
        if let Some(sender) = &self.sender {
            // Its thread ends last.
            let _ = sender.send(line);
        }
    }
}

impl Drop for Audit {
    fn drop(&mut self) {
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Output {
    path: Option<PathBuf>,
    writer: Box<dyn Write + Send>,
}

impl Output {
    fn open(config: &AuditConfig) -> Result<Self, String> {
        Ok(match config {
            AuditConfig::StandardError => Self {
                path: None,
                writer: Box::new(io::stderr()),
            },
            AuditConfig::File(path) => Self {
                path: Some(path.clone()),
                writer: Box::new(append(path)?),
            },
        })
    }

    fn write_all(&mut self, receiver: &Receiver<AuditMessage>) {
        while let Ok(line) = receiver.recv() {
            let mut text = String::new();
            let mut line = Some(line);
            // Lines that arrived in the meantime go along.
            while let Some(next) = line.take() {
                match next {
                    AuditMessage::Text(next) => text.push_str(&next),
                    AuditMessage::Reopen => self.reopen(),
                    AuditMessage::Flush(written) => {
                        self.write(&std::mem::take(&mut text));
                        let _ = written.send(());
                    }
                }
                if text.len() < WRITE_BYTES {
                    line = receiver.try_recv().ok();
                }
            }
            self.write(&text);
        }
    }

    fn write(&mut self, text: &str) {
        if let Err(error) = self.writer.write_all(text.as_bytes()) {
            // The log is the last place left; the text must not be lost with the error.
            tracing::error!(%error, lines = text, "the audit cannot be written");
        }
    }

    fn reopen(&mut self) {
        let Some(path) = &self.path else { return };
        match append(path) {
            Ok(file) => self.writer = Box::new(file),
            Err(error) => tracing::error!(error, "the audit continues in the open file"),
        }
    }
}

fn append(path: &Path) -> Result<File, String> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
        .map_err(|error| format!("{}: {error}: the audit cannot be written", path.display()))
}

/// The name that gRPC gives a code.
fn name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

/// Lines that may be queued, each of a few KiB at most: what is in them is bounded.
const LINES_MAX: usize = 2048;
const MESSAGE_BYTES_MAX: usize = 1024;
const FLUSH_MAX: Duration = Duration::from_secs(5);
const WRITE_BYTES: usize = 64 << 10;
