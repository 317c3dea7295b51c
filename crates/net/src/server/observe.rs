//! Metrics and the records of the audit.

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};
use tonic::Code;

use super::audit::{Audit, Figures, Note, Record};
use super::config::AuditConfig;
use super::dispatch::{Answered, Dispatcher, Outgoing, Output, Refusal};
use super::keys::Keys;
use super::listener::Counts;
use super::log_limit::LogLimit;
use crate::proto::code_name;
use crate::tls::Identity;

/// Counts requests and writes the audit.
pub(super) struct Observer {
    metrics: Arc<Metrics>,
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
struct ItemLabels {
    client: Arc<str>,
    operation: &'static str,
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
    items: Family<ItemLabels, Counter>,
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
    keys: Gauge,
    keys_skipped: Gauge,
    /// The figures of the audit, and a gauge that is 1 while its lines are written.
    audit: Option<(Arc<Figures>, Gauge)>,
}

impl Observer {
    /// Creates an observer, with an audit if the configuration has one.
    ///
    /// # Errors
    /// The fault of the audit file.
    pub(super) fn new(audit: Option<&AuditConfig>) -> Result<Self, String> {
        let audit = audit.map(Audit::start).transpose()?;
        let figures = audit.as_ref().map(|audit| audit.figures());
        Ok(Self {
            metrics: Arc::new(Metrics::new(figures)),
            audit,
            log: LogLimit::default(),
        })
    }

    /// Records an answered request and calls `respond` with the answer. If the audit is required, that happens only after
    /// its line is written; if writing fails, a refusal replaces the answer.
    pub(super) fn note(
        &self,
        note: Note,
        answered: Answered,
        outgoing: &mut Outgoing,
        respond: impl FnOnce(Result<Output, Refusal>, &mut Outgoing) + Send + 'static,
    ) {
        let record = |answered: &Answered| Record::of(&note, code_of(answered), answered);
        let audit = match &self.audit {
            Some(audit) if audit.is_required() => audit,
            audit => {
                if let Some(audit) = audit {
                    audit.record(record(&answered), None);
                }
                self.metrics.count(&note, &answered);
                return respond(answered.outcome, outgoing);
            }
        };
        let (record, metrics) = (record(&answered), Arc::clone(&self.metrics));
        let then = move |is_written: bool, outgoing: &mut Outgoing| {
            let mut answered = answered;
            if !is_written {
                answered.outcome = Err(unaudited());
            }
            metrics.count(&note, &answered);
            respond(answered.outcome, outgoing);
        };
        audit.record(record, Some(Box::new(then)));
    }

    /// Returns the refusal of every request while a required audit cannot be written.
    pub(super) fn refusal(&self) -> Option<Refusal> {
        let audit = self.audit.as_ref().filter(|audit| audit.is_required())?;
        audit.figures().is_failing().then(unaudited)
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
            let answered = Answered::refused(refusal, Duration::ZERO);
            audit.record(Record::of(&note, code_of(&answered), &answered), None);
        }
    }

    /// Reopens the audit file: a new one of the same name if the old one was moved away.
    pub(super) fn reopen(&self) {
        if let Some(audit) = &self.audit {
            audit.reopen();
        }
    }

    /// Waits a few seconds at most for the audit to be written.
    pub(super) fn flush(&self) {
        if let Some(audit) = &self.audit {
            audit.flush();
        }
    }

    /// Returns the page that Prometheus scrapes, in the OpenMetrics text format.
    pub(super) fn page(&self, dispatcher: &Dispatcher, counts: &Counts, keys: &Keys) -> String {
        self.metrics.look_at(dispatcher, counts, keys);
        let mut page = String::new();
        // Writing to a String cannot fail.
        let _ = text::encode(&mut page, &self.metrics.registry);
        page
    }
}

/// Registers metrics, each with its name and help.
macro_rules! register {
    ($registry:ident, $($name:literal: $help:literal, $metric:expr;)+) => {
        $($registry.register($name, $help, $metric.clone());)+
    };
}

impl Metrics {
    fn new(audit: Option<&Arc<Figures>>) -> Self {
        let mut registry = Registry::with_prefix("oarlock");
        let seconds = (|| Histogram::new(exponential_buckets(10e-6, 2.0, 21))) as fn() -> Histogram;
        let metrics = Self {
            requests: Family::default(),
            items: Family::default(),
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
            keys: Gauge::default(),
            keys_skipped: Gauge::default(),
            audit: audit.map(|figures| (Arc::clone(figures), Gauge::default())),
            registry: Registry::default(),
        };
        register! { registry,
            "requests": "Requests answered, by entry of the access list, operation, key and gRPC code", metrics.requests;
            "items": "Items of answered requests, by entry of the access list, operation and gRPC code", metrics.items;
            "strangers": "Calls of clients that no entry of the access list matches", metrics.strangers;
        }
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
        register! { registry,
            "batches": "Batches given to a device, by number of requests: how full its lanes are", metrics.batches;
            "device_in_work": "Requests that a device has and has not answered", metrics.in_work;
            "device_up": "0 while a device is left alone because it failed or hangs", metrics.up;
            "device_failures": "Failures of a device with keys of the server", metrics.failures;
            "waiting": "Requests that no worker has begun", metrics.waiting;
            "unanswered": "Requests that have not been answered", metrics.unanswered;
            "connections": "Open connections", metrics.connections;
            "connections_refused": "Connections refused, for their handshakes or for lack of a place", metrics.refused;
            "clients": "Clients that have something here: a stream, a request, an unread reply", metrics.clients;
            "keys": "Keys that clients may use", metrics.keys;
            "keys_skipped": "Files in directories of keys from which no key can be read, or whose id is taken", metrics.keys_skipped;
        }
        if let Some((figures, up)) = &metrics.audit {
            register! { registry,
                "audit_lines": "Lines of the audit that are written", figures.lines;
                "audit_unwritten": "Requests whose line of the audit could not be written", figures.unwritten;
                "audit_up": "0 while lines of the audit cannot be written", up;
            }
        }
        Self {
            registry,
            ..metrics
        }
    }

    fn count(&self, note: &Note, answered: &Answered) {
        let labels = RequestLabels {
            client: Arc::clone(&note.entry),
            operation: note.operation,
            key: if note.is_key_known {
                Arc::clone(&note.key)
            } else {
                "".into()
            },
            code: code_name(code_of(answered)),
        };
        self.requests.get_or_create(&labels).inc();
        if let Some((right, wrong)) = answered.items() {
            for (code, count) in [(Code::Ok, right), (Code::InvalidArgument, wrong)] {
                let labels = ItemLabels {
                    client: Arc::clone(&note.entry),
                    operation: note.operation,
                    code: code_name(code),
                };
                self.items.get_or_create(&labels).inc_by(count);
            }
        }
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

    fn look_at(&self, dispatcher: &Dispatcher, counts: &Counts, keys: &Keys) {
        let gauge = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        self.connections.set(gauge(counts.open()));
        self.refused.set(gauge(counts.refused()));
        self.clients.set(gauge(dispatcher.clients() as u64));
        if let Some((figures, up)) = &self.audit {
            up.set(i64::from(!figures.is_failing()));
        }
        self.keys.set(gauge(keys.iter().count() as u64));
        self.keys_skipped.set(gauge(keys.skipped() as u64));
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

fn code_of(answered: &Answered) -> Code {
    match &answered.outcome {
        Ok(_) => Code::Ok,
        Err(refusal) => refusal.code,
    }
}

/// Returns the refusal of requests while the lines of a required audit cannot be written.
fn unaudited() -> Refusal {
    let message = "this server cannot write its audit, so it answers nothing: try another server";
    Refusal::new(Code::Unavailable, message)
}
