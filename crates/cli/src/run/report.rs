//! `oarlock run --stats`: what went through Oarlock, and the time saved, at measured rates.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use oarlock::costs::openssl::LEVEL_MIN;
use oarlock::costs::{Counted, CountedLine};
use oarlock_bench::run::provided::{Provided, Rates, Request};
use serde::Serialize;

/// The whole report, in the form of `--json`.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// Processes that loaded the provider.
    pub(crate) processes: u64,
    /// By operation, direction and size class.
    pub(crate) lines: Vec<ReportLine>,
    /// With private RSA keys.
    pub(crate) rsa_private_operations: RsaOperations,
    /// The sum of the lines that were measured; negative where stock OpenSSL would have been faster.
    pub(crate) saved_seconds: Option<f64>,
}

/// By how they were computed.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct RsaOperations {
    alone: u64,
    /// With others of the same process or of other ones, as a rule.
    in_lanes: u64,
    /// By a cryptoserver.
    remotely: u64,
    /// Whose connection was closed while their job was paused.
    abandoned: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct ReportLine {
    operation: &'static str,
    direction: &'static str,
    /// Requests of this class have at least so many bytes, and less than twice that.
    size_class_bytes: u64,
    requests: u64,
    bytes: u64,
    #[serde(flatten)]
    measured: Option<Measured>,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Measured {
    stock_bytes_per_second: f64,
    oarlock_bytes_per_second: f64,
    saved_seconds: f64,
}

impl RsaOperations {
    fn all(self) -> u64 {
        self.alone + self.in_lanes + self.remotely
    }

    /// A line; empty if there are none.
    fn to_text(self) -> String {
        let all = self.all();
        if all == 0 && self.abandoned == 0 {
            return String::new();
        }
        let mut text = format!("{all} signatures and decryptions with RSA keys");
        for (count, how) in [
            (self.in_lanes, "in lanes"),
            (self.remotely, "by a cryptoserver"),
        ] {
            if count > 0 {
                text.push_str(&format!(", {count} ({} %) {how}", 100 * count / all));
            }
        }
        if 2 * self.alone > all && all >= ALONE_MANY {
            text.push_str(
                ": `oarlock doctor -- COMMAND` says what a server needs to sign together",
            );
        }
        if self.abandoned > 0 {
            text.push_str(&format!(
                "; {} connections were closed while their job was paused, and OpenSSL kept a stack of 32 KiB for each",
                self.abandoned
            ));
        }
        text.push('\n');
        text
    }
}

/// From so many on, a server could have gained.
const ALONE_MANY: u64 = 100;

impl Report {
    /// Measures the lines that made 99 % of the bytes: stock OpenSSL and OpenSSL with `configuration`, in
    /// turn, with requests of the average length.
    pub(crate) fn of(counted: &Counted, configuration: &Path) -> Self {
        let mut lines: Vec<_> = counted.lines.iter().map(ReportLine::of).collect();
        let mut by_bytes: Vec<usize> = (0..lines.len()).collect();
        by_bytes.sort_by_key(|at| std::cmp::Reverse(lines[*at].bytes));
        let all: u64 = lines.iter().map(|line| line.bytes).sum();
        let mut left = all;
        if let (Ok(provided), true) = (Provided::open(configuration), all > 0) {
            for at in by_bytes.into_iter().take(MEASURED_MAX) {
                if left <= all / 100 {
                    break;
                }
                left -= lines[at].bytes;
                lines[at].measured = measured(&provided, &counted.lines[at]);
            }
        }
        let saved = lines.iter().filter_map(|line| line.measured);
        let saved: Vec<_> = saved.map(|measured| measured.saved_seconds).collect();
        Self {
            processes: counted.processes,
            saved_seconds: (!saved.is_empty()).then(|| saved.iter().sum()),
            lines,
            rsa_private_operations: RsaOperations {
                alone: counted.private_operations.alone,
                in_lanes: counted.private_operations.in_lanes,
                remotely: counted.private_operations.remotely,
                abandoned: counted.private_operations.abandoned,
            },
        }
    }

    /// Whether nothing went through Oarlock.
    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.rsa_private_operations.to_text().is_empty()
    }

    /// Operations that took longer than stock OpenSSL's, with the ratio of the rates.
    pub(crate) fn slower(&self) -> Vec<String> {
        let of = |line: &ReportLine| {
            let measured = line.measured?;
            let ratio = measured.oarlock_bytes_per_second / measured.stock_bytes_per_second;
            let is_slower = ratio < f64::from(LEVEL_MIN) / 1000.0;
            let name = (
                line.operation,
                line.direction,
                binary(line.size_class_bytes),
            );
            is_slower.then(|| format!("{} {} of {}: {ratio:.2}", name.0, name.1, name.2))
        };
        self.lines.iter().filter_map(of).collect()
    }

    /// To stderr: the other streams are the command's.
    pub(crate) fn show(&self, json: bool) {
        let text = if json {
            serde_json::to_string(self).map_or_else(|error| error.to_string(), |text| text + "\n")
        } else {
            self.to_text()
        };
        // When stderr is closed, no one can be told.
        let _ = std::io::stderr().write_all(text.as_bytes());
    }

    /// A table.
    pub(crate) fn to_text(&self) -> String {
        let loaded = match self.processes {
            0 => "no process loaded the provider".into(),
            1 => "1 process loaded the provider".into(),
            many => format!("{many} processes loaded the provider"),
        };
        if self.is_empty() {
            return format!(
                "oarlock: nothing went through Oarlock: {loaded}; `oarlock doctor -- COMMAND` finds the reason\n"
            );
        }
        let mut text = format!(
            "oarlock: {loaded}\n{}",
            self.rsa_private_operations.to_text()
        );
        if self.lines.is_empty() {
            return text;
        }
        let _ = writeln!(
            text,
            "{:<18} {:<8} {:>9} {:>11} {:>10} {:>11} {:>11} {:>10}",
            "operation", "", "size", "requests", "bytes", "stock", "oarlock", "saved"
        );
        for line in &self.lines {
            // Writing to a String does not fail.
            let _ = write!(
                text,
                "{:<18} {:<8} {:>9} {:>11} {:>10}",
                line.operation,
                line.direction,
                binary(line.size_class_bytes),
                line.requests,
                binary(line.bytes)
            );
            if let Some(measured) = line.measured {
                let rate = |bytes: f64| format!("{:.2} GB/s", bytes / 1e9);
                let _ = write!(
                    text,
                    " {:>11} {:>11} {:>10}",
                    rate(measured.stock_bytes_per_second),
                    rate(measured.oarlock_bytes_per_second),
                    seconds(measured.saved_seconds)
                );
            }
            text.push('\n');
        }
        let _ = match self.saved_seconds {
            Some(saved) if saved < 0.0 => writeln!(
                text,
                "stock OpenSSL would have taken {} less, at rates just measured here; \
                 `oarlock provider calibrate` leaves to it what it is faster at",
                seconds(-saved)
            ),
            Some(saved) => writeln!(
                text,
                "saved {} of computing, at rates just measured here",
                seconds(saved)
            ),
            None => writeln!(text, "the time saved is unknown: no rate could be measured"),
        };
        text
    }
}

impl ReportLine {
    fn of(line: &CountedLine) -> Self {
        Self {
            operation: line.algorithm.name(),
            direction: line.direction.name(),
            size_class_bytes: line.size_class(),
            requests: line.requests,
            bytes: line.bytes,
            measured: None,
        }
    }
}

fn measured(provided: &Provided, line: &CountedLine) -> Option<Measured> {
    let request = Request {
        operation: line.algorithm,
        direction: line.direction,
        bytes: line.bytes.div_ceil(line.requests) as usize,
    };
    let Rates {
        stock,
        provided: ours,
    } = provided.rates(&request).ok()?;
    let bytes = line.bytes as f64;
    Some(Measured {
        stock_bytes_per_second: stock,
        oarlock_bytes_per_second: ours,
        saved_seconds: bytes / stock - bytes / ours,
    })
}

/// Three digits or so, in units of 1024.
fn binary(bytes: u64) -> String {
    let mut number = bytes as f64;
    let mut unit = "B";
    for larger in ["KiB", "MiB", "GiB", "TiB"] {
        if number < 1024.0 {
            break;
        }
        number /= 1024.0;
        unit = larger;
    }
    if number.fract() == 0.0 {
        format!("{number} {unit}")
    } else {
        format!("{number:.1} {unit}")
    }
}

fn seconds(seconds: f64) -> String {
    match seconds.abs() {
        ..1e-3 => format!("{:.1} us", seconds * 1e6),
        ..1.0 => format!("{:.1} ms", seconds * 1e3),
        _ => format!("{seconds:.2} s"),
    }
}

/// Half a second of measuring at the most.
const MEASURED_MAX: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_slower_than_stock_is_named() {
        let line = |operation, rates: Option<(f64, f64)>| ReportLine {
            operation,
            direction: "encrypt",
            size_class_bytes: 4096,
            requests: 1,
            bytes: 5000,
            measured: rates.map(|(stock, ours)| Measured {
                stock_bytes_per_second: stock,
                oarlock_bytes_per_second: ours,
                saved_seconds: 5000.0 / stock - 5000.0 / ours,
            }),
        };
        let report = Report {
            processes: 1,
            lines: vec![
                line("aes-128-ctr", Some((1e9, 2e9))),
                line("aes-256-ctr", Some((1e9, 0.97e9))),
                line("chacha20", Some((2e9, 1.5e9))),
                line("aes-128-cbc", None),
            ],
            rsa_private_operations: RsaOperations::default(),
            saved_seconds: Some(-1e-6),
        };
        assert_eq!(report.slower(), ["chacha20 encrypt of 4 KiB: 0.75"]);
        let text = report.to_text();
        assert!(text.contains("`oarlock provider calibrate`"), "{text}");
    }
    #[test]
    fn servers_that_sign_alone_are_told_what_they_need() {
        let counted = |alone, in_lanes, remotely| RsaOperations {
            alone,
            in_lanes,
            remotely,
            abandoned: 0,
        };
        let text = |alone, in_lanes, remotely| counted(alone, in_lanes, remotely).to_text();
        let hint = ": `oarlock doctor -- COMMAND` says what a server needs to sign together\n";
        assert_eq!(text(0, 0, 0), "");
        assert_eq!(
            text(99, 0, 0),
            "99 signatures and decryptions with RSA keys\n"
        );
        assert_eq!(
            text(100, 0, 0),
            format!("100 signatures and decryptions with RSA keys{hint}")
        );
        assert_eq!(
            text(150, 50, 0),
            format!("200 signatures and decryptions with RSA keys, 50 (25 %) in lanes{hint}")
        );
        assert_eq!(
            text(50, 25, 125),
            "200 signatures and decryptions with RSA keys, 25 (12 %) in lanes, 125 (62 %) by a cryptoserver\n"
        );
        let cut = RsaOperations {
            abandoned: 3,
            ..counted(0, 8, 0)
        };
        assert_eq!(
            cut.to_text(),
            "8 signatures and decryptions with RSA keys, 8 (100 %) in lanes; 3 connections were closed while their job \
            was paused, and OpenSSL kept a stack of 32 KiB for each\n"
        );
    }
}
