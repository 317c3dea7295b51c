//! The audit: a line of JSON for each request.
//!
//! A thread of its own writes the lines. With `required`, which is the default, an answer waits until its line is written,
//! and a request whose line cannot be written is refused: no signature leaves the server without a line. Lines that arrive
//! during a write are written together by the next one, so the answers of many requests wait for one write.
//!
//! ```text
//! record    the data of a line, which a request's thread hands over
//! repeats   counts refusals of one client beyond the first few, and writes each count as one line
//! file      writes whole lines or none
//! ```
//!
//! While the file cannot be written, the thread tries again every [`RETRY_AFTER`], with a line that says how many are
//! missing.

mod file;
mod record;
mod repeats;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use prometheus_client::metrics::counter::Counter;
use serde::Serialize;
use tonic::Code;

use self::file::AuditFile;
use self::record::unix_ms;
pub(super) use self::record::{Note, Record, bounded};
use self::repeats::{Repeated, Repeats};
use super::config::AuditConfig;
use super::dispatch::Outgoing;
use super::log_limit::LogLimit;
use crate::proto::code_name;

/// A callback for when a record is written, or cannot be. It receives whether the record was written, and the replies to
/// send out.
pub(super) type Then = Box<dyn FnOnce(bool, &mut Outgoing) + Send>;

/// The audit. Senders block while too many records are queued.
pub(super) struct Audit {
    sender: Option<SyncSender<Message>>,
    thread: Option<JoinHandle<()>>,
    figures: Arc<Figures>,
    is_required: bool,
}

/// The counters of an audit.
#[derive(Default)]
pub(super) struct Figures {
    /// Lines written.
    pub(super) lines: Counter,
    /// Records that could not be written.
    pub(super) unwritten: Counter,
    is_failing: AtomicBool,
}

impl Figures {
    /// Whether the last lines could not be written.
    pub(super) fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Relaxed)
    }
}

impl Audit {
    /// Opens the file and starts the thread.
    ///
    /// # Errors
    /// The path, and the fault of the file.
    pub(super) fn start(config: &AuditConfig) -> Result<Self, String> {
        let file = AuditFile::open(&config.output)?;
        let (sender, receiver) = sync_channel(RECORDS_MAX);
        let figures = Arc::new(Figures::default());
        let writer = Writer {
            file,
            figures: Arc::clone(&figures),
            repeats: Repeats::default(),
            text: Vec::new(),
            queued: Vec::new(),
            gap: None,
            outgoing: Outgoing::default(),
            log: LogLimit::default(),
        };
        let thread = std::thread::Builder::new()
            .name("audit".into())
            .spawn(move || writer.run(&receiver))
            .map_err(|error| format!("no thread for the audit: {error}"))?;
        Ok(Self {
            sender: Some(sender),
            thread: Some(thread),
            figures,
            is_required: config.is_required,
        })
    }

    /// Whether answers wait for their lines.
    pub(super) fn is_required(&self) -> bool {
        self.is_required
    }

    pub(super) fn figures(&self) -> &Arc<Figures> {
        &self.figures
    }

    /// Queues a record, and calls `then` once it is written or cannot be.
    pub(super) fn record(&self, record: Record, then: Option<Then>) {
        self.send(Message::Record(Box::new(record), then));
    }

    /// Opens the file again: a new one of the same name if the old one was moved away.
    pub(super) fn reopen(&self) {
        self.send(Message::Reopen);
    }

    /// Waits a few seconds at most until everything is written.
    pub(super) fn flush(&self) {
        let (sender, written) = sync_channel(1);
        self.send(Message::Flush(sender));
        // A disk that takes longer may never answer.
        let _ = written.recv_timeout(FLUSH_MAX);
    }

    fn send(&self, message: Message) {
        let Some(sender) = &self.sender else { return };
        // The thread ends last, unless it panicked; after that nothing is written.
        if let Err(unsent) = sender.send(message)
            && let Message::Record(_, then) = unsent.0
        {
            self.figures.is_failing.store(true, Ordering::Relaxed);
            self.figures.unwritten.inc();
            if let Some(then) = then {
                then(false, &mut Outgoing::default());
            }
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

enum Message {
    Record(Box<Record>, Option<Then>),
    Reopen,
    /// A request to signal when everything before it is written.
    Flush(SyncSender<()>),
}

/// The state of the writing thread.
struct Writer {
    file: AuditFile,
    figures: Arc<Figures>,
    repeats: Repeats,
    /// The lines to be written.
    text: Vec<u8>,
    /// The origins of these lines, in the same order.
    queued: Vec<Queued>,
    gap: Option<Gap>,
    outgoing: Outgoing,
    log: LogLimit,
}

/// A line to be written.
struct Queued {
    /// The end of the line in the text.
    end: usize,
    line: Line,
}

enum Line {
    Record(Option<Then>),
    Repeated(Repeated),
    Gap,
}

/// The records that are missing in the file.
struct Gap {
    since_unix_ms: u128,
    count: u64,
    retry_at: Instant,
}

impl Writer {
    fn run(mut self, receiver: &Receiver<Message>) {
        loop {
            let wake_at = [
                self.gap.as_ref().map(|it| it.retry_at),
                self.repeats.due_at(),
            ];
            let message = match wake_at.into_iter().flatten().min() {
                None => receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(at) => receiver.recv_timeout(at.saturating_duration_since(Instant::now())),
            };
            match message {
                Ok(message) => {
                    self.take(message);
                    // Write the records that have arrived by now together.
                    for message in receiver.try_iter().take(RECORDS_MAX) {
                        self.take(message);
                        if self.text.len() >= WRITE_BYTES {
                            break;
                        }
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    self.finish();
                    return;
                }
            }
            let due = self.repeats.take_due(Instant::now());
            self.tell_repeated(due);
            self.write(false);
        }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Record(record, then) => {
                let is_told =
                    record.code == Code::Ok || self.repeats.is_told(&record, Instant::now());
                if is_told {
                    self.put(&Entry::of(&record), Line::Record(then));
                } else if let Some(then) = then {
                    // The refusal is counted and discloses nothing, so it need not wait.
                    then(true, &mut self.outgoing);
                }
            }
            Message::Reopen => {
                self.write(false);
                self.file.reopen();
                self.write(true);
            }
            Message::Flush(written) => {
                self.finish();
                let _ = written.send(());
            }
        }
    }

    /// Writes everything that is left.
    fn finish(&mut self) {
        let all = self.repeats.take_all();
        self.tell_repeated(all);
        self.write(true);
    }

    fn tell_repeated(&mut self, repeated: Vec<Repeated>) {
        for one in repeated {
            let entry = Entry {
                unix_ms: unix_ms(),
                client: one.client.as_str(),
                operation: one.operation,
                code: code_name(one.code),
                count: Some(one.count),
                since_unix_ms: Some(one.since_unix_ms),
                ..Entry::default()
            };
            let line = line_of(&entry);
            self.put_line(&line, Line::Repeated(one));
        }
    }

    fn put(&mut self, entry: &Entry<'_>, line: Line) {
        let text = line_of(entry);
        self.put_line(&text, line);
    }

    fn put_line(&mut self, text: &[u8], line: Line) {
        self.text.extend_from_slice(text);
        let end = self.text.len();
        self.queued.push(Queued { end, line });
    }

    /// Writes the queued lines and calls their callbacks. While the file cannot be written, it waits for the next retry
    /// unless `is_time`.
    fn write(&mut self, is_time: bool) {
        let (written, result) = match &self.gap {
            Some(gap) if !is_time && Instant::now() < gap.retry_at => (0, None),
            _ => {
                self.tell_gap();
                let (written, result) = self.file.write(&self.text);
                (written, Some(result))
            }
        };
        let mut missing = 0;
        for queued in std::mem::take(&mut self.queued) {
            let is_written = queued.end <= written;
            match queued.line {
                Line::Gap if is_written => self.gap = None,
                Line::Gap => {}
                Line::Repeated(repeated) if !is_written => {
                    self.repeats.put_back(repeated, Instant::now());
                }
                Line::Repeated(_) => {}
                Line::Record(then) => {
                    if !is_written {
                        missing += 1;
                    }
                    if let Some(then) = then {
                        then(is_written, &mut self.outgoing);
                    }
                }
            }
            self.figures.lines.inc_by(u64::from(is_written));
        }
        self.text.clear();
        self.figures.unwritten.inc_by(missing);
        match result {
            Some(Ok(())) => self.well(),
            Some(Err(error)) => self.failed(missing, Some(&error)),
            None => self.failed(missing, None),
        }
        self.outgoing.release();
    }

    /// Puts a line with the number of missing records before the others.
    fn tell_gap(&mut self) {
        let Some(gap) = &self.gap else { return };
        let entry = Entry {
            unix_ms: unix_ms(),
            operation: "audit",
            code: code_name(Code::DataLoss),
            message: Some("requests without a line, since it could not be written"),
            count: Some(gap.count),
            since_unix_ms: Some(gap.since_unix_ms),
            ..Entry::default()
        };
        let line = line_of(&entry);
        for queued in &mut self.queued {
            queued.end += line.len();
        }
        self.text.splice(0..0, line.iter().copied());
        let end = line.len();
        self.queued.insert(
            0,
            Queued {
                end,
                line: Line::Gap,
            },
        );
    }

    fn well(&mut self) {
        if self.figures.is_failing.swap(false, Ordering::Relaxed) {
            tracing::info!("the audit is written again");
        }
    }

    fn failed(&mut self, missing: u64, error: Option<&io::Error>) {
        let gap = self.gap.get_or_insert_with(|| Gap {
            since_unix_ms: unix_ms(),
            count: 0,
            retry_at: Instant::now(),
        });
        gap.count += missing;
        if let Some(error) = error {
            gap.retry_at = Instant::now() + RETRY_AFTER;
            self.figures.is_failing.store(true, Ordering::Relaxed);
            let missing = gap.count;
            self.log.tell(|untold| {
                tracing::error!(%error, missing, "the audit cannot be written{untold}");
            });
        }
    }
}

/// One line of the audit.
#[derive(Default, Serialize)]
struct Entry<'a> {
    /// The time of the answer, in milliseconds since 1970, UTC.
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
    /// The number of items in the request, if it has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<u64>,
    /// The number of those that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    items_failed: Option<u64>,
    /// The number of requests, if the line is for several.
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
    /// The time of the first of them, in the same unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    since_unix_ms: Option<u128>,
}

impl<'a> Entry<'a> {
    fn of(record: &'a Record) -> Self {
        Self {
            unix_ms: record.unix_ms,
            client: record.client.as_str(),
            peer: &record.peer,
            operation: record.operation,
            key: &record.key,
            code: code_name(record.code),
            message: record.message.as_deref(),
            device: record.device.as_deref(),
            waited_us: record.waited.as_micros(),
            served_us: record.served.as_micros(),
            items: record.items.map(|(right, wrong)| right + wrong),
            items_failed: record.items.map(|(_, wrong)| wrong),
            ..Self::default()
        }
    }
}

fn line_of(entry: &Entry<'_>) -> Vec<u8> {
    // Serializing texts and numbers cannot fail.
    let mut line = serde_json::to_vec(entry).unwrap_or_default();
    line.push(b'\n');
    line
}

/// The most queued records. Each has about 1 KiB at most plus the client's name, since its contents are bounded.
const RECORDS_MAX: usize = 2048;
const FLUSH_MAX: Duration = Duration::from_secs(5);
const WRITE_BYTES: usize = 64 << 10;
/// The interval between attempts while the file cannot be written.
const RETRY_AFTER: Duration = Duration::from_millis(250);
