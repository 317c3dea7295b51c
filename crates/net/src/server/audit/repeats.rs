//! Refusals of one client: the first few have their own lines, further ones are counted.
//!
//! A refusal costs a client a few bytes, and a line has hundreds. So each refusal has its own line only while these are few:
//! [`LINES_MAX`] at once, and one more each second. Further ones are counted by operation and code, and each count is
//! written as one line within [`TOLD_EVERY`].

use std::collections::HashMap;
use std::time::{Duration, Instant};

use tonic::Code;

use super::record::Record;
use crate::tls::Identity;

#[derive(Default)]
pub(super) struct Repeats {
    by_client: HashMap<Identity, OfClient>,
    /// The time when counts are due to be written.
    due_at: Option<Instant>,
    /// The time when clients that have left were last forgotten.
    swept_at: Option<Instant>,
}

struct OfClient {
    /// The lines that it still had at `since`.
    lines: u32,
    since: Instant,
    counted: Vec<Counted>,
}

struct Counted {
    operation: &'static str,
    code: Code,
    count: u64,
    since_unix_ms: u128,
}

/// Refusals that share a line.
pub(super) struct Repeated {
    pub(super) client: Identity,
    pub(super) operation: &'static str,
    pub(super) code: Code,
    pub(super) count: u64,
    pub(super) since_unix_ms: u128,
}

impl Repeats {
    /// Whether a refusal has its own line. If not, it is counted.
    pub(super) fn is_told(&mut self, refusal: &Record, now: Instant) -> bool {
        let swept_at = *self.swept_at.get_or_insert(now);
        if now.saturating_duration_since(swept_at) >= FORGOTTEN_AFTER {
            self.swept_at = Some(now);
            self.by_client.retain(|_, it| !it.has_left(now));
        }
        let client = self.by_client.entry(refusal.client.clone());
        let client = client.or_insert_with(|| OfClient::new(now));
        if client.takes_line(now) {
            return true;
        }
        client.count(refusal.operation, refusal.code, 1, refusal.unix_ms);
        self.due_at.get_or_insert(now + TOLD_EVERY);
        false
    }

    /// Returns the time when counts are due to be written.
    pub(super) fn due_at(&self) -> Option<Instant> {
        self.due_at
    }

    /// Removes and returns the counts that are due.
    pub(super) fn take_due(&mut self, now: Instant) -> Vec<Repeated> {
        match self.due_at {
            Some(at) if at <= now => self.take_all(),
            _ => Vec::new(),
        }
    }

    /// Removes and returns all counts.
    pub(super) fn take_all(&mut self) -> Vec<Repeated> {
        self.due_at = None;
        let mut taken = Vec::new();
        for (identity, client) in &mut self.by_client {
            let counted = client.counted.drain(..).map(|it| Repeated {
                client: identity.clone(),
                operation: it.operation,
                code: it.code,
                count: it.count,
                since_unix_ms: it.since_unix_ms,
            });
            taken.extend(counted);
        }
        taken
    }

    /// Counts refusals again whose line could not be written.
    pub(super) fn put_back(&mut self, untold: Repeated, now: Instant) {
        let client = self.by_client.entry(untold.client);
        let client = client.or_insert_with(|| OfClient::new(now));
        client.count(
            untold.operation,
            untold.code,
            untold.count,
            untold.since_unix_ms,
        );
        self.due_at.get_or_insert(now + TOLD_EVERY);
    }
}

impl OfClient {
    fn new(now: Instant) -> Self {
        Self {
            lines: LINES_MAX,
            since: now,
            counted: Vec::new(),
        }
    }

    fn has_left(&self, now: Instant) -> bool {
        self.counted.is_empty() && now.saturating_duration_since(self.since) >= FORGOTTEN_AFTER
    }

    fn takes_line(&mut self, now: Instant) -> bool {
        while self.lines < LINES_MAX && now.saturating_duration_since(self.since) >= LINE_EVERY {
            self.lines += 1;
            self.since += LINE_EVERY;
        }
        if self.lines == LINES_MAX {
            self.since = now;
        }
        let takes = self.lines > 0;
        self.lines = self.lines.saturating_sub(1);
        takes
    }

    /// Counts refusals. A linear search suffices: there are few operations and codes.
    fn count(&mut self, operation: &'static str, code: Code, count: u64, since_unix_ms: u128) {
        let same = |it: &&mut Counted| (it.operation, it.code) == (operation, code);
        match self.counted.iter_mut().find(same) {
            Some(same) => {
                same.count += count;
                same.since_unix_ms = same.since_unix_ms.min(since_unix_ms);
            }
            None => self.counted.push(Counted {
                operation,
                code,
                count,
                since_unix_ms,
            }),
        }
    }
}

/// The most lines that a client may have at once.
const LINES_MAX: u32 = 64;
/// The time after which it may have another line.
const LINE_EVERY: Duration = Duration::from_secs(1);
const TOLD_EVERY: Duration = Duration::from_secs(10);
/// The time after which it may have all its lines again.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(LINES_MAX as u64);

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(client: &str, code: Code, unix_ms: u128) -> Record {
        Record {
            unix_ms,
            client: Identity::new(client),
            peer: "".into(),
            operation: "sign",
            key: "".into(),
            code,
            message: None,
            device: None,
            waited: Duration::ZERO,
            served: Duration::ZERO,
            items: None,
        }
    }

    fn sums(repeated: Vec<Repeated>) -> Vec<(String, Code, u64, u128)> {
        let of = |it: Repeated| {
            (
                it.client.as_str().into(),
                it.code,
                it.count,
                it.since_unix_ms,
            )
        };
        let mut sums: Vec<(String, Code, u64, u128)> = repeated.into_iter().map(of).collect();
        sums.sort_by_key(|(client, code, ..)| (client.clone(), *code as i32));
        sums
    }

    #[test]
    fn a_client_has_a_few_lines_and_the_rest_is_counted_exactly() {
        let mut repeats = Repeats::default();
        let began = Instant::now();
        assert_eq!(repeats.due_at(), None);
        for number in 0..200 {
            let is_told = repeats.is_told(&refusal("a", Code::NotFound, number), began);
            assert_eq!(is_told, number < 64);
            assert!(number >= 3 || repeats.is_told(&refusal("b", Code::NotFound, 0), began));
        }
        assert!(!repeats.is_told(&refusal("a", Code::InvalidArgument, 7), began));
        // One more line each second, and no more.
        let later = began + Duration::from_secs(2);
        let told = (0..5).map(|_| repeats.is_told(&refusal("a", Code::NotFound, 300), later));
        assert_eq!(told.collect::<Vec<_>>(), [true, true, false, false, false]);
        assert_eq!(repeats.due_at(), Some(began + TOLD_EVERY));
        assert!(repeats.take_due(later).is_empty());
        let expected = [
            ("a".to_owned(), Code::InvalidArgument, 1, 7),
            ("a".to_owned(), Code::NotFound, 139, 64),
        ];
        assert_eq!(sums(repeats.take_due(began + TOLD_EVERY)), expected);
        assert!(repeats.take_all().is_empty());
    }

    #[test]
    fn what_could_not_be_told_is_counted_again() {
        let mut repeats = Repeats::default();
        let now = Instant::now();
        for number in 0..68 {
            repeats.is_told(&refusal("a", Code::NotFound, number), now);
        }
        for untold in repeats.take_all() {
            repeats.put_back(untold, now);
        }
        assert!(!repeats.is_told(&refusal("a", Code::NotFound, 80), now));
        assert_eq!(
            sums(repeats.take_all()),
            [("a".to_owned(), Code::NotFound, 5, 64)]
        );
    }

    #[test]
    fn clients_that_have_left_are_forgotten() {
        let mut repeats = Repeats::default();
        let mut now = Instant::now();
        for client in 0..1000 {
            now += LINE_EVERY;
            repeats.is_told(&refusal(&client.to_string(), Code::NotFound, 0), now);
            assert!(repeats.by_client.len() <= 2 * LINES_MAX as usize + 1);
        }
    }
}
