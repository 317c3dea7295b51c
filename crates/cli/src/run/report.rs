//! `oarlock run --stats`: what went through Oarlock, and the time saved at measured rates.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use oarlock::Kind;
use oarlock_engine::costs::openssl::LEVEL_MIN;
use oarlock_engine::costs::{Counted, CountedContexts, CountedLine};
use oarlock_measure::Error;
use oarlock_measure::peers::openssl::Way;
use oarlock_measure::run::compared::Compared;
use oarlock_measure::run::provided::{Provided, Rates, Request};
use serde::Serialize;

use super::operations::{KeyExchanges, PrimitiveOperations};
use crate::calibration::Library;

/// The whole report, as `--json` prints it.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// The processes that loaded the provider, and children forked from those that used it.
    pub(crate) processes: u64,
    /// The CPU time of the command and of all its processes that have ended.
    cpu_seconds: f64,
    /// The part of it that the provider's ciphers took, if that is known.
    oarlock_seconds: Option<f64>,
    /// The libcrypto of these processes, which rates are compared with.
    library: Option<PathBuf>,
    /// The reason why nothing is compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown: Option<String>,
    /// The requests, by operation, direction and size class.
    pub(crate) lines: Vec<ReportLine>,
    /// The uses of contexts, by operation and direction.
    contexts: Vec<ReportContexts>,
    /// Lines that could not be measured, and that the sums leave out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unmeasured: Vec<Unmeasured>,
    /// Key exchanges by post-quantum groups.
    pub(crate) key_exchanges: Vec<KeyExchanges>,
    /// Key derivations, MACs, signatures and X25519.
    primitive_operations: Vec<PrimitiveOperations>,
    /// Operations with private RSA keys, and with keys of a cryptoserver.
    pub(crate) rsa_private_operations: RsaOperations,
    /// The time saved by the lines and contexts that were measured, and by RSA keys; negative if stock OpenSSL would have
    /// been faster.
    pub(crate) saved_seconds: Option<f64>,
}

/// Operations with private keys, by how they were computed.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct RsaOperations {
    alone: u64,
    /// Operations in lanes, as a rule with others of the same process or of other ones.
    in_lanes: u64,
    /// Operations by a cryptoserver, with keys of any type.
    remotely: u64,
    /// Operations whose connection was closed while their job was paused.
    abandoned: u64,
    /// The time that lanes saved compared with the same operations alone, as the processes measured it.
    saved_seconds: f64,
}

/// Contexts that were given a key or an IV alone, or were copied.
#[derive(Clone, Debug, Serialize)]
struct ReportContexts {
    operation: &'static str,
    direction: &'static str,
    keyed: u64,
    ivs: u64,
    copies: u64,
    #[serde(flatten)]
    measured: Option<MeasuredContexts>,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct MeasuredContexts {
    stock_context_seconds: f64,
    oarlock_context_seconds: f64,
    saved_seconds: f64,
}

#[derive(Debug, Serialize)]
pub(crate) struct ReportLine {
    operation: &'static str,
    direction: &'static str,
    /// The smallest size of this class in bytes; the largest is less than twice that.
    size_class_bytes: u64,
    requests: u64,
    bytes: u64,
    #[serde(flatten)]
    measured: Option<Measured>,
}

#[derive(Debug, Serialize)]
struct Unmeasured {
    operation: &'static str,
    direction: &'static str,
    count: u64,
    /// The kind of these operations, as in "contexts copied".
    what: String,
    why: String,
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

    /// Returns a line; empty if there were no operations.
    fn to_text(self) -> String {
        let all = self.all();
        if all == 0 && self.abandoned == 0 {
            return String::new();
        }
        let keys = match self.remotely {
            0 => "RSA keys",
            _ => "RSA keys and keys of a cryptoserver",
        };
        let mut text = format!("{all} signatures and decryptions with {keys}");
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
        if self.in_lanes > 0 {
            let saved = seconds(self.saved_seconds);
            let _ = writeln!(
                text,
                "lanes saved {saved} compared with the same operations alone"
            );
        }
        text
    }
}

/// From this number of private operations alone, a server could have gained.
const ALONE_MANY: u64 = 100;

impl Report {
    /// Measures the lines that have 99 % of the bytes, with requests of average length, and the uses of contexts. It
    /// compares the libcrypto of the processes with the same libcrypto under `configuration`, in turn.
    pub(crate) fn of(counted: &Counted, configuration: &Path, cpu_seconds: f64) -> Self {
        let private = counted.private_operations;
        let mut report = Self {
            processes: counted.processes,
            cpu_seconds,
            oarlock_seconds: None,
            library: counted.library.clone(),
            unknown: None,
            lines: counted.lines.iter().map(ReportLine::of).collect(),
            contexts: counted.contexts.iter().map(ReportContexts::of).collect(),
            unmeasured: Vec::new(),
            key_exchanges: KeyExchanges::all(&counted.operations),
            primitive_operations: PrimitiveOperations::all(&counted.operations),
            rsa_private_operations: RsaOperations {
                alone: private.alone,
                in_lanes: private.in_lanes,
                remotely: private.remotely,
                abandoned: private.abandoned,
                saved_seconds: private.saved_ns as f64 / 1e9,
            },
            saved_seconds: None,
        };
        if !report.lines.is_empty() {
            match opened(counted.library.as_deref(), configuration) {
                Ok(provided) => report.measure(counted, &provided),
                Err(why) => report.unknown = Some(why),
            }
        }
        report.add_up();
        report
    }

    fn measure(&mut self, counted: &Counted, provided: &Provided) {
        let mut by_bytes: Vec<usize> = (0..self.lines.len()).collect();
        by_bytes.sort_by_key(|at| std::cmp::Reverse(self.lines[*at].bytes));
        let all: u64 = self.lines.iter().map(|line| line.bytes).sum();
        let mut left = all;
        for at in by_bytes.into_iter().take(MEASURED_MAX) {
            if left <= all / 100 {
                break;
            }
            left -= self.lines[at].bytes;
            match measured(provided, &counted.lines[at]) {
                Ok(measured) => self.lines[at].measured = Some(measured),
                Err(error) => self.unmeasured.push(self.lines[at].unmeasured(&error)),
            }
        }
        for (of_report, counted) in self.contexts.iter_mut().zip(&counted.contexts) {
            of_report.measured = measured_contexts(provided, counted, &mut self.unmeasured);
        }
    }

    fn add_up(&mut self) {
        let lines = self.lines.iter().filter_map(|line| line.measured);
        let contexts = self.contexts.iter().filter_map(|it| it.measured);
        let of_lines: Vec<_> = lines
            .clone()
            .map(|measured| measured.saved_seconds)
            .chain(contexts.clone().map(|measured| measured.saved_seconds))
            .collect();
        let rsa = self.rsa_private_operations;
        // Part of an answer counts as none.
        let is_known = self.unknown.is_none() && (self.lines.is_empty() || !of_lines.is_empty());
        // The time that key exchanges and other primitives save is not measured.
        let is_timed = !self.lines.is_empty() || !rsa.to_text().is_empty();
        self.saved_seconds =
            (is_known && is_timed).then(|| of_lines.iter().sum::<f64>() + rsa.saved_seconds);
        let took = self.lines.iter().filter_map(|line| {
            let rate = line.measured?.oarlock_bytes_per_second;
            Some(line.bytes as f64 / rate)
        });
        let took = took.chain(contexts.map(|it| it.oarlock_context_seconds));
        self.oarlock_seconds = (!of_lines.is_empty()).then(|| took.sum());
    }

    /// Whether nothing went through Oarlock.
    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty()
            && self.key_exchanges.is_empty()
            && self.primitive_operations.is_empty()
            && self.rsa_private_operations.to_text().is_empty()
    }

    /// Returns the operations that took longer than stock OpenSSL's, with the ratio of the rates.
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

    /// Prints to stderr: the other streams are the command's.
    pub(crate) fn show(&self, json: bool) {
        let text = if json {
            serde_json::to_string(self).map_or_else(|error| error.to_string(), |text| text + "\n")
        } else {
            self.to_text()
        };
        // If stderr is closed, nobody can be told.
        let _ = std::io::stderr().write_all(text.as_bytes());
    }

    /// Formats the report as a table.
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
        text.extend(self.key_exchanges.iter().map(|it| it.to_text()));
        text.extend(self.primitive_operations.iter().map(|it| it.to_text()));
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
        for it in self.contexts.iter().filter(|it| it.is_many()) {
            let _ = writeln!(text, "{}", it.to_text());
        }
        for it in &self.unmeasured {
            let _ = writeln!(text, "{}", it.to_text());
        }
        if let Some(ours) = self.oarlock_seconds
            && self.cpu_seconds > 0.0
        {
            let _ = writeln!(
                text,
                "the command took {} of CPU time, its ciphers through Oarlock {} of that ({:.1} %)",
                seconds(self.cpu_seconds),
                seconds(ours),
                (100.0 * ours / self.cpu_seconds).min(100.0)
            );
        }
        let library = self.library.as_ref().map(|path| path.display().to_string());
        let library = library.unwrap_or_default();
        let _ = match (self.saved_seconds, &self.unknown) {
            (Some(saved), _) if saved < 0.0 => writeln!(
                text,
                "{library} alone would have taken {} less, at rates just measured here; \
                 `oarlock provider calibrate` leaves to it what it is faster at",
                seconds(-saved)
            ),
            (Some(saved), _) => writeln!(
                text,
                "saved {} compared with {library} alone, at rates just measured here",
                seconds(saved)
            ),
            (None, Some(why)) => writeln!(text, "the time saved cannot be known: {why}"),
            (None, None) => writeln!(text, "the time saved is unknown: no rate could be measured"),
        };
        text
    }
}

impl ReportContexts {
    fn of(counted: &CountedContexts) -> Self {
        Self {
            operation: counted.algorithm.name(),
            direction: counted.direction.name(),
            keyed: counted.keyed,
            ivs: counted.ivs,
            copies: counted.copies,
            measured: None,
        }
    }

    /// Whether there are enough contexts to be worth a line.
    fn is_many(&self) -> bool {
        self.keyed + self.copies >= CONTEXTS_MANY
    }

    fn to_text(&self) -> String {
        let mut text = format!(
            "{:<18} {:<8} {} keys set, {} IVs alone, {} contexts copied",
            self.operation, self.direction, self.keyed, self.ivs, self.copies
        );
        if let Some(measured) = self.measured {
            text.push_str(&format!(": saved {}", seconds(measured.saved_seconds)));
        }
        text
    }
}

/// Opens the libcrypto of the processes, without and with the provider.
fn opened(library: Option<&Path>, configuration: &Path) -> Result<Provided, String> {
    let library = library.ok_or(
        "its processes have several libcryptos, or one inside the program, which cannot be measured apart",
    )?;
    let library = Library::found(library).map_err(|why| why.to_string())?;
    Provided::open_in(library.path(), configuration).map_err(|error| error.to_string())
}

/// Measures the time to set a key in a new context, to set an IV, and to copy a context, beyond that of an update in a kept
/// context. What cannot be measured is left out and noted in `unmeasured`.
fn measured_contexts(
    provided: &Provided,
    counted: &CountedContexts,
    unmeasured: &mut Vec<Unmeasured>,
) -> Option<MeasuredContexts> {
    let ns = |way| -> Result<[f64; 2], Error> {
        let request = Request {
            operation: counted.algorithm,
            direction: counted.direction,
            bytes: CONTEXT_BYTES,
        };
        let mut compared = Compared::new(provided, &request, way, CONTEXT_SAMPLE)?;
        compared.go_on(CONTEXT_PAIRS)?;
        Ok(compared.medians_ns())
    };
    let update = ns(Way::Update);
    let is_aead = counted.algorithm.kind() == Kind::Aead;
    let events = [
        (counted.keyed, Way::Whole, "keys set"),
        // Each message of an AEAD has an IV, which its line includes.
        (
            if is_aead { 0 } else { counted.ivs },
            Way::NewIv,
            "IVs alone",
        ),
        (counted.copies, Way::Copied, "contexts copied"),
    ];
    let mut all = None;
    for (count, way, what) in events.into_iter().filter(|(count, ..)| *count > 0) {
        match (&update, &ns(way)) {
            (Ok(update), Ok(of_way)) => {
                let all = all.get_or_insert([0.0; 2]);
                for ((sum, of_way), update) in all.iter_mut().zip(of_way).zip(update) {
                    *sum += count as f64 * (of_way - update).max(0.0) / 1e9;
                }
            }
            (Err(error), _) | (_, Err(error)) => unmeasured.push(Unmeasured {
                operation: counted.algorithm.name(),
                direction: counted.direction.name(),
                count,
                what: what.into(),
                why: error.to_string(),
            }),
        }
    }
    let [ours, stock] = all?;
    Some(MeasuredContexts {
        stock_context_seconds: stock,
        oarlock_context_seconds: ours,
        saved_seconds: stock - ours,
    })
}

impl Unmeasured {
    fn to_text(&self) -> String {
        format!(
            "{:<18} {:<8} {} {} count for nothing in the time saved: {}",
            self.operation, self.direction, self.count, self.what, self.why
        )
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

    fn unmeasured(&self, error: &Error) -> Unmeasured {
        Unmeasured {
            operation: self.operation,
            direction: self.direction,
            count: self.requests,
            what: format!("requests of {}", binary(self.size_class_bytes)),
            why: error.to_string(),
        }
    }
}

fn measured(provided: &Provided, line: &CountedLine) -> Result<Measured, Error> {
    let request = Request {
        operation: line.algorithm,
        direction: line.direction,
        bytes: line.bytes.div_ceil(line.requests) as usize,
    };
    let Rates {
        stock,
        provided: ours,
    } = provided.rates(&request)?;
    let bytes = line.bytes as f64;
    Ok(Measured {
        stock_bytes_per_second: stock,
        oarlock_bytes_per_second: ours,
        saved_seconds: bytes / stock - bytes / ours,
    })
}

/// Formats a number of bytes in units of 1024.
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

/// Bounds the measurement to about half a second.
const MEASURED_MAX: usize = 20;
const CONTEXTS_MANY: u64 = 100;
const CONTEXT_BYTES: usize = 16;
const CONTEXT_SAMPLE: Duration = Duration::from_micros(100);
const CONTEXT_PAIRS: usize = 15;

#[cfg(test)]
mod tests {
    use oarlock_engine::Primitive;
    use oarlock_engine::costs::{CountedOperations, Performed};

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
        let mut report = Report {
            processes: 1,
            cpu_seconds: 1.0,
            oarlock_seconds: Some(0.25),
            library: Some("/lib/libcrypto.so.3".into()),
            unknown: None,
            contexts: Vec::new(),
            unmeasured: vec![Unmeasured {
                operation: "chacha20-poly1305",
                direction: "encrypt",
                count: 80,
                what: "contexts copied".into(),
                why: "openssl refuses a copy of a context".into(),
            }],
            lines: vec![
                line("aes-128-ctr", Some((1e9, 2e9))),
                line("aes-256-ctr", Some((1e9, 0.97e9))),
                line("chacha20", Some((2e9, 1.5e9))),
                line("aes-128-cbc", None),
            ],
            key_exchanges: KeyExchanges::all(
                &[(Performed::Encapsulated, 3), (Performed::Decapsulated, 1)].map(
                    |(performed, count)| CountedOperations {
                        primitive: Primitive::X25519MlKem768,
                        performed,
                        count,
                    },
                ),
            ),
            primitive_operations: Vec::new(),
            rsa_private_operations: RsaOperations::default(),
            saved_seconds: Some(-1e-6),
        };
        assert_eq!(report.slower(), ["chacha20 encrypt of 4 KiB: 0.75"]);
        let text = report.to_text();
        assert!(text.contains("`oarlock provider calibrate`"), "{text}");
        assert!(
            text.contains(
                "1.00 s of CPU time, its ciphers through Oarlock 250.0 ms of that (25.0 %)"
            ),
            "{text}"
        );
        assert!(
            text.contains(
                "\nchacha20-poly1305  encrypt  80 contexts copied count for nothing in the time saved: openssl refuses a copy \
                 of a context\n"
            ),
            "{text}"
        );
        let exchanges = "\n4 key exchanges by x25519-mlkem768: 3 as server, 1 as client\n";
        assert!(text.contains(exchanges), "{text}");
        // A comparison that cannot be made claims nothing.
        report.unknown = Some("several libcryptos".into());
        report.add_up();
        let text = report.to_text();
        assert!(
            text.contains("cannot be known: several libcryptos"),
            "{text}"
        );
        assert_eq!(report.saved_seconds, None);
    }

    /// The time that lanes saved is in the sum, positive or negative, with ciphers and without.
    #[test]
    fn what_lanes_saved_is_in_the_sum() {
        for saved_ns in [2_000_000_000, -3_000_000_000] {
            let mut counted = Counted::default();
            counted.private_operations.in_lanes = 8;
            counted.private_operations.saved_ns = saved_ns;
            let report = Report::of(&counted, Path::new("/none"), 4.0);
            assert_eq!(report.saved_seconds, Some(saved_ns as f64 / 1e9));
            let text = report.to_text();
            assert!(text.contains("lanes saved"), "{text}");
        }
    }
    #[test]
    fn servers_that_sign_alone_are_told_what_they_need() {
        let counted = |alone, in_lanes, remotely| RsaOperations {
            alone,
            in_lanes,
            remotely,
            abandoned: 0,
            saved_seconds: 0.0,
        };
        let text = |alone, in_lanes, remotely| counted(alone, in_lanes, remotely).to_text();
        let hint = ": `oarlock doctor -- COMMAND` says what a server needs to sign together\n";
        let saved = "lanes saved 0.0 us compared with the same operations alone\n";
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
            format!(
                "200 signatures and decryptions with RSA keys, 50 (25 %) in lanes{hint}{saved}"
            )
        );
        assert_eq!(
            text(50, 25, 125),
            format!(
                "200 signatures and decryptions with RSA keys and keys of a cryptoserver, 25 (12 %) in lanes, 125 (62 %) by a \
                 cryptoserver\n{saved}"
            )
        );
        let cut = RsaOperations {
            abandoned: 3,
            ..counted(0, 8, 0)
        };
        assert_eq!(
            cut.to_text(),
            format!(
                "8 signatures and decryptions with RSA keys, 8 (100 %) in lanes; 3 connections were closed while their \
                 job was paused, and OpenSSL kept a stack of 32 KiB for each\n{saved}"
            )
        );
    }
}
