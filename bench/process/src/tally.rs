//! Results: what came back, and when.

use std::time::{Duration, Instant};

use oarlock_net::client::ClientError;
use serde::Serialize;
use tonic::Code;

/// The report. Times are those of the window that counts, after the warm-up.
#[derive(Serialize)]
pub(crate) struct Report {
    /// Right answers within the window.
    answered: u64,
    /// Length of the window.
    seconds: f64,
    /// CPU time of the servers within the window; with `local`, of this process.
    cpu_seconds: f64,
    /// Latencies of the answers within the window.
    us_p50: f64,
    us_p99: f64,
    us_max: f64,
    /// Requests of the whole run, and those that did not end with a right answer:
    /// RESOURCE_EXHAUSTED, another error, or a wrong answer.
    asked: u64,
    refused: u64,
    failed: u64,
    wrong: u64,
    /// The message of the first failure.
    first_failure: Option<String>,
    /// Right answers in each tenth of a second of the window.
    by_tenth: Vec<u64>,
    /// For each second of the window, the servers' resident bytes and descriptors.
    resident_bytes: Vec<u64>,
    descriptors: Vec<u64>,
    /// The part of answers to `/healthz` that were of status 200, if they were asked for.
    healthy: Option<f64>,
}

/// Counts results.
pub(crate) struct Tally {
    begins: Instant,
    length: Duration,
    latencies: Vec<Duration>,
    by_tenth: Vec<u64>,
    asked: u64,
    refused: u64,
    failed: u64,
    wrong: u64,
    first_failure: Option<String>,
}

impl Tally {
    /// Starts a count for a window.
    pub(crate) fn of(begins: Instant, length: Duration) -> Self {
        let tenths = length.as_millis().div_ceil(100) as usize;
        Self {
            begins,
            length,
            latencies: Vec::new(),
            by_tenth: vec![0; tenths],
            asked: 0,
            refused: 0,
            failed: 0,
            wrong: 0,
            first_failure: None,
        }
    }

    /// Counts a request that has just ended.
    pub(crate) fn note(&mut self, asked: Instant, outcome: Result<bool, ClientError>) {
        self.count(asked, Instant::now(), outcome);
    }

    fn count(&mut self, asked: Instant, ended: Instant, outcome: Result<bool, ClientError>) {
        self.asked += 1;
        match outcome {
            Ok(true) => {
                let Some(at) = ended.checked_duration_since(self.begins) else {
                    return;
                };
                if at < self.length {
                    self.latencies.push(ended - asked);
                    if let Some(tenth) = self.by_tenth.get_mut(at.as_millis() as usize / 100) {
                        *tenth += 1;
                    }
                }
            }
            Ok(false) => self.wrong += 1,
            Err(error) if error.code == Code::ResourceExhausted => self.refused += 1,
            Err(error) => {
                self.failed += 1;
                let said = || format!("{:?}: {}", error.code, error.message);
                self.first_failure.get_or_insert_with(said);
            }
        }
    }

    /// Adds what was seen of the servers: CPU seconds, resident bytes and descriptors.
    pub(crate) fn report(
        mut self,
        cpu_seconds: f64,
        seen: &[(u64, u64)],
        healthy: Option<f64>,
    ) -> Report {
        self.latencies.sort_unstable();
        let at = |part: f64| match self.latencies.len().checked_sub(1) {
            None => 0.0,
            Some(last) => {
                let rank = (part * last as f64).round() as usize;
                self.latencies[rank].as_nanos() as f64 / 1e3
            }
        };
        Report {
            answered: self.latencies.len() as u64,
            seconds: self.length.as_secs_f64(),
            cpu_seconds,
            us_p50: at(0.5),
            us_p99: at(0.99),
            us_max: at(1.0),
            asked: self.asked,
            refused: self.refused,
            failed: self.failed,
            wrong: self.wrong,
            first_failure: self.first_failure,
            by_tenth: self.by_tenth,
            resident_bytes: seen.iter().map(|seen| seen.0).collect(),
            descriptors: seen.iter().map(|seen| seen.1).collect(),
            healthy,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_counts_is_within_the_window() {
        let zero = Instant::now();
        let at = |ms| zero + Duration::from_millis(ms);
        let mut tally = Tally::of(at(100), Duration::from_millis(350));
        // Just before, at both ends of the first tenth, in the last, and just after.
        for (asked, ended) in [(90, 99), (90, 100), (196, 199), (420, 449), (440, 450)] {
            tally.count(at(asked), at(ended), Ok(true));
        }
        let report = tally.report(0.0, &[], None);
        assert_eq!((report.asked, report.answered), (5, 3));
        assert_eq!(report.by_tenth, [2, 0, 0, 1]);
        assert_eq!(report.seconds, 0.35);
        let latencies = (report.us_p50, report.us_p99, report.us_max);
        assert_eq!(latencies, (10_000.0, 29_000.0, 29_000.0));
    }

    #[test]
    fn what_is_not_answered_rightly_is_told_apart() {
        let now = Instant::now();
        let mut tally = Tally::of(now, Duration::from_secs(1));
        let failure = |code| {
            Err(ClientError {
                code,
                message: "so".into(),
            })
        };
        tally.note(now, Ok(false));
        tally.note(now, failure(Code::ResourceExhausted));
        tally.note(now, failure(Code::Internal));
        let report = tally.report(0.5, &[(7, 3)], Some(1.0));
        assert_eq!((report.asked, report.answered), (3, 0));
        assert_eq!((report.wrong, report.refused, report.failed), (1, 1, 1));
        assert_eq!(report.first_failure.as_deref(), Some("Internal: so"));
        assert_eq!(report.cpu_seconds, 0.5);
        assert_eq!(
            (report.resident_bytes, report.descriptors),
            (vec![7], vec![3])
        );
    }
}
