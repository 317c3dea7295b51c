//! The lines of a record, as `oarlock-bench --record` writes them.

use std::fmt::Write as _;

use serde::Deserialize;

use super::text::size;

#[derive(Deserialize)]
#[serde(untagged)]
pub enum Line {
    Machine(Machine),
    Rate(Rate),
    Ratio(Ratio),
    Outcome(Outcome),
}

/// The first line of a run.
#[derive(Deserialize)]
pub struct Machine {
    pub cpu: String,
    pub cores: usize,
    pub kernel: String,
    pub versions: Vec<String>,
    pub date: String,
}

impl Machine {
    /// Returns the CPU's features if the harness itself measured Oarlock.
    pub fn features(&self) -> Option<&str> {
        let versions = self.versions.iter();
        let mut ours = versions.filter(|version| version.starts_with("Oarlock "));
        let (_, features) = ours.next()?.split_once('(')?;
        features.strip_suffix(')')
    }

    /// Returns the series, such as `3.0`, of the OpenSSL that was measured or used.
    pub fn openssl_series(&self) -> Option<&str> {
        let mut versions = self.versions.iter();
        let version = versions.find_map(|version| version.strip_prefix("OpenSSL "))?;
        let (minor, _) = version.match_indices('.').nth(1)?;
        Some(&version[..minor])
    }
}

#[derive(Deserialize)]
pub struct Rate {
    #[serde(rename = "impl")]
    pub implementation: String,
    pub unit: String,
    pub median: f64,
    pub latency_us_p50: Option<f64>,
    pub latency_us_p99: Option<f64>,
    #[serde(flatten)]
    pub at: At,
}

#[derive(Deserialize)]
pub struct Ratio {
    pub vs: String,
    pub ratio_median: f64,
    pub vs_depth: Option<usize>,
    #[serde(flatten)]
    pub at: At,
}

#[derive(Deserialize)]
pub struct Outcome {
    pub target: String,
    pub required: f64,
    pub measured: Option<f64>,
    pub met: bool,
    pub note: String,
}

/// The point of a measurement, and the conditions.
#[derive(Deserialize)]
pub struct At {
    pub case: String,
    pub threads: usize,
    pub bytes: usize,
    pub mode: Option<String>,
    pub idle_ms: Option<u64>,
    pub call_bytes: Option<usize>,
    #[serde(default)]
    pub fresh_nonce: bool,
    pub depth: Option<usize>,
    pub strategy: Option<String>,
    pub callers: Option<usize>,
}

impl At {
    pub fn point(&self) -> Point {
        Point {
            case: self.case.clone(),
            bytes: self.bytes,
            depth: self.depth.unwrap_or(1),
        }
    }

    /// Returns a table's title. Titles end in the same way for all units.
    pub fn title(&self, unit: &str, threads: usize, hidden: &str) -> String {
        let mut title = format!("{unit}, {threads} thread");
        if threads > 1 {
            title += "s of Oarlock, 1 of the others";
        }
        if let Some(mode) = &self.mode {
            title += ", ";
            title += &mode.replace('-', " ");
        }
        if let Some(ms) = self.idle_ms {
            let _ = write!(title, ", {ms} ms of idleness before each");
        }
        if let Some(bytes) = self.call_bytes {
            let _ = write!(title, ", in calls of {}", size(bytes));
        }
        if self.fresh_nonce {
            title += ", a new nonce in each call";
        }
        if let Some(strategy) = &self.strategy {
            let _ = write!(title, ", strategy {strategy}");
        }
        if let Some(callers) = self.callers {
            let _ = write!(title, ", {callers} callers that wait");
        }
        title + hidden
    }
}

/// The properties that distinguish rows.
#[derive(PartialEq)]
pub struct Point {
    pub case: String,
    pub bytes: usize,
    pub depth: usize,
}
