//! The lines of a record, and the conditions that distinguish points.

use serde::{Deserialize, Serialize};

use crate::cases::{Size, Unit};
use crate::measuring::{Latency, LoadSamples, Mode, Summary};
use crate::peers::OARLOCK;

/// A line of the record.
#[derive(Clone, Serialize, Deserialize, PartialEq, Debug)]
#[serde(untagged)]
pub enum Entry {
    /// The speed of one implementation.
    Rate(Rate),
    /// The speed of Oarlock relative to a peer.
    Ratio(Ratio),
}

impl Entry {
    pub(crate) fn as_rate(&self) -> Option<&Rate> {
        match self {
            Self::Rate(rate) => Some(rate),
            Self::Ratio(_) => None,
        }
    }

    /// Sets the mode of the measurement.
    pub(crate) fn in_mode(mut self, name: &str) -> Self {
        let (Self::Rate(Rate { conditions, .. }) | Self::Ratio(Ratio { conditions, .. })) =
            &mut self;
        conditions.mode = Some(name.to_owned());
        self
    }

    pub(super) fn as_ratio(&self) -> Option<&Ratio> {
        match self {
            Self::Ratio(ratio) => Some(ratio),
            Self::Rate(_) => None,
        }
    }
}

/// The speed of one implementation.
#[derive(Clone, Serialize, Deserialize, PartialEq, Debug)]
pub struct Rate {
    /// The case's name.
    pub case: String,
    /// `oarlock`, or the peer's name.
    #[serde(rename = "impl")]
    pub implementation: String,
    /// The number of threads that it used.
    pub threads: usize,
    /// The bytes of a request.
    pub bytes: usize,
    /// The unit of the figures.
    pub unit: String,
    /// The median of all samples.
    pub median: f64,
    /// The minimum of the samples.
    pub min: f64,
    /// The maximum of the samples.
    pub max: f64,
    /// The number of samples.
    pub runs: usize,
    /// Whether its output equalled that of the others.
    pub verified: bool,
    /// The conditions of the measurement.
    #[serde(flatten)]
    pub conditions: Conditions,
    /// The median latency of public-key requests, from submission to result, over all samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_us_p50: Option<f64>,
    /// The 90th percentile of these latencies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_us_p90: Option<f64>,
    /// The 99th percentile of these latencies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_us_p99: Option<f64>,
}

/// The conditions of a measurement, if they are not the plainest.
#[derive(Clone, Default, Serialize, Deserialize, PartialEq, Debug)]
pub struct Conditions {
    /// The pattern in which requests follow each other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The pause before a call, in mode `after-idle`, or before a burst, in mode `burst`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_ms: Option<u64>,
    /// The bytes of a call in mode `burst`, in which `bytes` is that of the burst.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_bytes: Option<usize>,
    /// Whether each call has a new nonce.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fresh_nonce: bool,
    /// The number of alternating streams, or of requests in flight, if more than one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<usize>,
    /// Oarlock's strategy, if one was forced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<String>,
    /// In mode `blocking`, the number of threads that called Oarlock, each with one request at a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub callers: Option<usize>,
}

/// The speed of Oarlock relative to a peer.
#[derive(Clone, Serialize, Deserialize, PartialEq, Debug)]
pub struct Ratio {
    /// The case's name.
    pub case: String,
    /// The peer's name; `oarlock` if it is compared with itself at another depth.
    pub vs: String,
    /// The number of threads that Oarlock used.
    pub threads: usize,
    /// The bytes of a request.
    pub bytes: usize,
    /// The median of the ratios of Oarlock to the peer, taken pair by pair.
    pub ratio_median: f64,
    /// The minimum of the ratios.
    pub ratio_min: f64,
    /// The maximum of the ratios.
    pub ratio_max: f64,
    /// The conditions of the measurement.
    #[serde(flatten)]
    pub conditions: Conditions,
    /// The depth of the other side, if it is different.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vs_depth: Option<usize>,
}

/// Returns the lines of a comparison that used a clock other than this harness's: Oarlock's rate, that of `vs`, and the
/// ratio of the two. `point` is the case, the bytes and the unit, and `threads` those of Oarlock; samples come in
/// pairs, at least one.
pub fn of_programs(
    point: (&str, usize, &str),
    threads: usize,
    mode: Option<&str>,
    vs: &str,
    ours: &[f64],
    theirs: &[f64],
) -> [Entry; 3] {
    let (case, bytes, unit) = point;
    let point = Point {
        case,
        unit,
        threads,
        bytes,
        mode: Mode::BackToBack,
        fresh_nonce: false,
        depth: 1,
        strategy: None,
    };
    let lines = [
        point.rate(OARLOCK, threads, &Summary::of(ours)),
        point.rate(vs, 1, &Summary::of(theirs)),
        point.ratio(vs, &Summary::of_ratios(ours, theirs)),
    ];
    match mode {
        Some(mode) => lines.map(|line| line.in_mode(mode)),
        None => lines,
    }
}

/// The common part of the lines of one point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point<'a> {
    pub(crate) case: &'a str,
    pub(crate) unit: &'a str,
    /// The threads of Oarlock; peers have one.
    pub(crate) threads: usize,
    pub(crate) bytes: usize,
    pub(crate) mode: Mode,
    pub(crate) fresh_nonce: bool,
    pub(crate) depth: usize,
    /// The strategy that was forced on Oarlock.
    pub(crate) strategy: Option<&'a str>,
}

impl Point<'_> {
    pub(crate) fn rate(&self, name: &str, threads: usize, summary: &Summary) -> Entry {
        Entry::Rate(Rate {
            case: self.case.to_owned(),
            implementation: name.to_owned(),
            threads,
            bytes: self.bytes,
            unit: self.unit.to_owned(),
            median: rounded(summary.median),
            min: rounded(summary.min),
            max: rounded(summary.max),
            runs: summary.runs,
            verified: true,
            conditions: self.conditions(),
            latency_us_p50: None,
            latency_us_p90: None,
            latency_us_p99: None,
        })
    }

    pub(crate) fn ratio(&self, vs: &str, summary: &Summary) -> Entry {
        Entry::Ratio(Ratio {
            case: self.case.to_owned(),
            vs: vs.to_owned(),
            threads: self.threads,
            bytes: self.bytes,
            ratio_median: rounded(summary.median),
            ratio_min: rounded(summary.min),
            ratio_max: rounded(summary.max),
            conditions: self.conditions(),
            vs_depth: None,
        })
    }

    /// Returns the table row of the point.
    pub(crate) fn row(&self) -> Row {
        Row {
            heading: heading(self),
            of: "bytes",
            at: Size(self.bytes).to_string(),
        }
    }

    /// Returns the conditions that are not the default.
    fn conditions(&self) -> Conditions {
        let (mode, idle_ms, call_bytes) = match self.mode {
            Mode::BackToBack if self.threads == 1 => (None, None, None),
            Mode::BackToBack => (Some("back-to-back"), None, None),
            Mode::AfterIdle(ms) => (Some("after-idle"), Some(ms), None),
            Mode::Burst {
                idle_ms,
                call_bytes,
            } => (Some("burst"), Some(idle_ms), Some(call_bytes)),
            Mode::Prefilled => (Some("prefilled"), None, None),
        };
        Conditions {
            mode: mode.map(str::to_owned),
            idle_ms,
            call_bytes,
            fresh_nonce: self.fresh_nonce,
            depth: (self.depth > 1).then_some(self.depth),
            strategy: self.strategy.map(str::to_owned),
            callers: None,
        }
    }
}

/// The common part of the lines for one depth of a public-key case.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PublicKeyPoint {
    pub(crate) case: &'static str,
    /// The bytes of the modulus.
    pub(crate) bytes: usize,
    /// The number of threads, and of CPUs, of every participant.
    pub(crate) threads: usize,
    pub(crate) depth: usize,
    pub(crate) mode: PublicKeyMode,
}

/// How requests reach Oarlock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PublicKeyMode {
    /// One thread keeps `depth` requests in flight.
    InFlight,
    /// This number of threads each wait for one request at a time.
    Blocking(usize),
    /// One thread as in [`InFlight`](Self::InFlight), while every CPU runs a cipher.
    Mixed,
}

impl PublicKeyPoint {
    /// Returns the entry of at least one sample.
    pub(crate) fn rate(&self, name: &str, threads: usize, taken: &mut LoadSamples) -> Entry {
        let summary = Summary::of(&taken.per_second);
        let latency = Latency::of(&mut taken.latencies);
        let mut line = self.point().rate(name, threads, &summary);
        if let Entry::Rate(rate) = &mut line {
            self.set(&mut rate.conditions);
            rate.latency_us_p50 = Some(rounded(latency.us_p50));
            rate.latency_us_p90 = Some(rounded(latency.us_p90));
            rate.latency_us_p99 = Some(rounded(latency.us_p99));
        }
        line
    }

    /// Returns the entry of a ratio. `vs_depth` is the depth of the other side if it is different.
    pub(crate) fn ratio(&self, vs: &str, vs_depth: Option<usize>, summary: &Summary) -> Entry {
        let mut line = self.point().ratio(vs, summary);
        if let Entry::Ratio(ratio) = &mut line {
            self.set(&mut ratio.conditions);
            ratio.vs_depth = vs_depth;
        }
        line
    }

    /// Returns the table row of the point.
    pub(crate) fn row(&self) -> Row {
        let unit = Unit::OperationsPerSecond.name();
        let mut heading = format!("{} in {unit}, ", self.case);
        heading += &match self.threads {
            1 => "one thread".to_owned(),
            threads => format!("{threads} threads"),
        };
        heading += &match self.mode {
            PublicKeyMode::InFlight => String::new(),
            PublicKeyMode::Blocking(callers) => {
                format!(", Oarlock asked by {callers} threads that wait")
            }
            PublicKeyMode::Mixed => ", while each CPU seals messages".to_owned(),
        };
        heading += "; latency in µs";
        Row {
            heading,
            of: "depth",
            at: self.depth.to_string(),
        }
    }

    fn point(&self) -> Point<'_> {
        Point {
            case: self.case,
            unit: Unit::OperationsPerSecond.name(),
            threads: self.threads,
            bytes: self.bytes,
            mode: Mode::BackToBack,
            fresh_nonce: false,
            depth: self.depth,
            strategy: None,
        }
    }

    fn set(&self, conditions: &mut Conditions) {
        let (mode, callers) = match self.mode {
            PublicKeyMode::InFlight => (None, None),
            PublicKeyMode::Blocking(callers) => (Some("blocking"), Some(callers)),
            PublicKeyMode::Mixed => (Some(MIXED), None),
        };
        conditions.mode = mode.map(str::to_owned);
        conditions.callers = callers;
    }
}

/// Rounds to five significant digits: more would be noise.
fn rounded(figure: f64) -> f64 {
    format!("{figure:.4e}").parse().unwrap_or(figure)
}

/// The place of a point's lines in a table.
pub(crate) struct Row {
    /// The heading. A new one begins a new table.
    pub(crate) heading: String,
    /// The quantity that distinguishes the rows.
    pub(crate) of: &'static str,
    pub(crate) at: String,
}

fn heading(point: &Point<'_>) -> String {
    let mut heading = format!("{} in {}, ", point.case, point.unit);
    heading += &match point.threads {
        1 => "one thread".to_owned(),
        threads => format!("Oarlock on {threads} threads, peers on one"),
    };
    heading += &match point.mode {
        Mode::BackToBack if point.threads == 1 => String::new(),
        Mode::BackToBack => ", back to back".to_owned(),
        Mode::AfterIdle(ms) => format!(", each call after {ms} ms of idleness"),
        Mode::Burst {
            idle_ms,
            call_bytes,
        } => format!(
            ", bursts of calls of {} after {idle_ms} ms of idleness",
            Size(call_bytes)
        ),
        Mode::Prefilled => ", keystream made ahead by the caller".to_owned(),
    };
    if let Some(strategy) = point.strategy {
        heading += &format!(", strategy {strategy}");
    }
    if point.fresh_nonce {
        heading += ", a fresh nonce a call";
    }
    if point.depth > 1 {
        heading += &format!(", {} streams by turns", point.depth);
    }
    heading
}

/// The mode of a measurement during a load of another kind.
pub(crate) const MIXED: &str = "mixed";

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::time::Duration;

    pub(in crate::output) const POINT: Point<'_> = Point {
        case: "aes-128-ctr",
        unit: "GB/s",
        threads: 1,
        bytes: 64,
        mode: Mode::BackToBack,
        fresh_nonce: false,
        depth: 1,
        strategy: None,
    };
    pub(in crate::output) const SUMMARY: Summary = Summary {
        median: 2.0 / 3.0,
        min: 0.5,
        max: 12.0,
        runs: 21,
    };

    #[test]
    fn json_has_the_promised_fields_in_order() {
        let rate = serde_json::to_string(&POINT.rate("oarlock", 1, &SUMMARY)).unwrap();
        assert_eq!(
            rate,
            r#"{"case":"aes-128-ctr","impl":"oarlock","threads":1,"bytes":64,"unit":"GB/s","median":0.66667,"min":0.5,"max":12.0,"runs":21,"verified":true}"#
        );
        let ratio = serde_json::to_string(&POINT.ratio("openssl", &SUMMARY)).unwrap();
        assert_eq!(
            ratio,
            r#"{"case":"aes-128-ctr","vs":"openssl","threads":1,"bytes":64,"ratio_median":0.66667,"ratio_min":0.5,"ratio_max":12.0}"#
        );
    }

    #[test]
    fn what_is_out_of_the_ordinary_comes_after() {
        let point = Point {
            threads: 2,
            mode: Mode::AfterIdle(20),
            fresh_nonce: true,
            depth: 4,
            strategy: Some("stripe"),
            ..POINT
        };
        for line in [
            point.rate("oarlock", 2, &SUMMARY),
            point.ratio("inline", &SUMMARY),
        ] {
            let text = serde_json::to_string(&line).unwrap();
            let end = r#","mode":"after-idle","idle_ms":20,"fresh_nonce":true,"depth":4,"strategy":"stripe"}"#;
            assert!(text.ends_with(end), "{text}");
            assert_eq!(serde_json::from_str::<Entry>(&text).unwrap(), line);
        }
    }

    #[test]
    fn public_key_lines_have_latencies_and_say_what_they_are_over() {
        let point = PublicKeyPoint {
            case: "rsa-2048-sign",
            bytes: 256,
            threads: 2,
            depth: 64,
            mode: PublicKeyMode::InFlight,
        };
        let mut taken = LoadSamples {
            per_second: vec![2.0 / 3.0, 12.0, 0.5],
            latencies: [7, 8, 9].map(Duration::from_millis).to_vec(),
        };
        let rate = point.rate("openssl", 2, &mut taken);
        let text = serde_json::to_string(&rate).unwrap();
        assert_eq!(
            text,
            r#"{"case":"rsa-2048-sign","impl":"openssl","threads":2,"bytes":256,"unit":"op/s","median":0.66667,"min":0.5,"max":12.0,"runs":3,"verified":true,"depth":64,"latency_us_p50":8000.0,"latency_us_p90":9000.0,"latency_us_p99":9000.0}"#
        );
        assert_eq!(serde_json::from_str::<Entry>(&text).unwrap(), rate);
        let mode = PublicKeyMode::Blocking(64);
        let waiting = PublicKeyPoint { mode, ..point };
        let ratio = waiting.ratio("oarlock", Some(16), &SUMMARY);
        let text = serde_json::to_string(&ratio).unwrap();
        let end = r#""mode":"blocking","depth":64,"callers":64,"vs_depth":16}"#;
        assert!(text.ends_with(end), "{text}");
        assert_eq!(serde_json::from_str::<Entry>(&text).unwrap(), ratio);
    }

    /// Checks that every record in the repository can be parsed.
    #[test]
    fn records_of_before_are_read() {
        let records = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/records");
        let mut lines_read = 0;
        for folder in std::fs::read_dir(records).unwrap() {
            for file in std::fs::read_dir(folder.unwrap().path()).unwrap() {
                let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
                for line in text.lines().filter(|line| line.starts_with(r#"{"case""#)) {
                    serde_json::from_str::<Entry>(line).unwrap();
                    lines_read += 1;
                }
            }
        }
        assert!(lines_read > 0);
    }

    #[test]
    fn a_burst_says_what_it_is_made_of() {
        let mode = Mode::Burst {
            idle_ms: 2,
            call_bytes: 4096,
        };
        let point = Point { mode, ..POINT };
        let line = serde_json::to_string(&point.ratio("inline", &SUMMARY)).unwrap();
        let end = r#","mode":"burst","idle_ms":2,"call_bytes":4096}"#;
        assert!(line.ends_with(end), "{line}");
    }
}
