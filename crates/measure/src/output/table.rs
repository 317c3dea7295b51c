//! The table that a run prints.

use std::io::Write;

use super::entries::{Entry, Rate, Row};
use crate::error::Error;

/// A table: sizes or depths down, implementations across, with the ratio next to each peer, and latencies below.
///
/// A rate has its spread, half of the range from the least sample to the greatest. A ratio is the median of the ratios
/// of alternating samples, so it holds even if the machine's speed changes between them. It may differ from the ratio
/// of the two medians next to it; the minimum and maximum of the ratios show how far to trust it.
#[derive(Debug, Default)]
pub(crate) struct Table {
    heading: String,
    columns: Vec<String>,
}

impl Table {
    /// Prints all lines of one point as a row, after a heading if a new table begins.
    pub(crate) fn row(
        &mut self,
        row: &Row,
        lines: &[Entry],
        out: &mut dyn Write,
    ) -> Result<(), Error> {
        self.write_row(row, lines, out)
            .map_err(Error::io("writing the table"))
    }

    fn write_row(
        &mut self,
        row: &Row,
        lines: &[Entry],
        out: &mut dyn Write,
    ) -> std::io::Result<()> {
        let rates = || lines.iter().filter_map(Entry::as_rate);
        let ratio_over = |name: &str| {
            let mut ratios = lines.iter().filter_map(Entry::as_ratio);
            ratios.find(|ratio| ratio.vs == name && ratio.vs_depth.is_none())
        };
        if row.heading != self.heading {
            if !self.heading.is_empty() {
                writeln!(out)?;
            }
            writeln!(out, "{}; {LEGEND}", row.heading)?;
            let mut text = format!("{:>9}", row.of);
            self.columns.clear();
            for rate in rates() {
                let name = &rate.implementation;
                text += &format!("  {name:>WIDTH$}");
                if ratio_over(name).is_some() {
                    text += &format!("  {:<RATIO_WIDTH$}", "   ×");
                }
                self.columns.push(name.clone());
            }
            writeln!(out, "{}", text.trim_end())?;
            self.heading.clone_from(&row.heading);
        }
        let mut text = format!("{:>9}", row.at);
        for name in &self.columns {
            for rate in rates().filter(|rate| rate.implementation == *name) {
                text += &format!("  {:>WIDTH$}", with_spread(rate));
            }
            if let Some(ratio) = ratio_over(name) {
                let (median, min, max) = (ratio.ratio_median, ratio.ratio_min, ratio.ratio_max);
                let range = format!("{median:.2} {min:.2}-{max:.2}");
                text += &format!("  {range:<RATIO_WIDTH$}");
            }
        }
        writeln!(out, "{}", text.trim_end())?;
        for (label, latency) in LATENCIES {
            if rates().all(|rate| latency(rate).is_none()) {
                continue;
            }
            let mut text = format!("{label:>9}");
            for name in &self.columns {
                let found = rates().find(|rate| rate.implementation == *name);
                let us = found.and_then(latency).unwrap_or_default();
                text += &format!("  {us:>WIDTH$.1}");
                if ratio_over(name).is_some() {
                    text += &format!("  {:>RATIO_WIDTH$}", "");
                }
            }
            writeln!(out, "{}", text.trim_end())?;
        }
        Ok(())
    }
}

type Latencies = fn(&Rate) -> Option<f64>;

/// The rows below that of a point, if it has latencies.
const LATENCIES: [(&str, Latencies); 3] = [
    ("p50", |rate| rate.latency_us_p50),
    ("p90", |rate| rate.latency_us_p90),
    ("p99", |rate| rate.latency_us_p99),
];

/// Formats the median and the spread of the samples around it.
fn with_spread(rate: &Rate) -> String {
    let spread = (rate.max - rate.min) / 2.0 / rate.median;
    let median = format!("{:.*}", decimals(rate.median), rate.median);
    match spread.is_finite() {
        true => format!("{median} ±{:.0}%", (100.0 * spread).ceil()),
        false => median,
    }
}

fn decimals(figure: f64) -> usize {
    match figure {
        ..1.0 => 3,
        ..100.0 => 2,
        _ => 0,
    }
}

const WIDTH: usize = 12;
const RATIO_WIDTH: usize = 14;
const LEGEND: &str = "× by pairs, least to greatest";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measuring::LoadSamples;
    use crate::output::entries::tests::{POINT, SUMMARY};
    use crate::output::entries::{Point, PublicKeyMode, PublicKeyPoint};
    use std::time::Duration;

    #[test]
    fn public_key_rows_have_latencies_below() {
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
        let mut out = Vec::new();
        let lines = [
            point.rate("oarlock", 2, &mut taken),
            point.rate("openssl", 2, &mut taken),
            point.ratio("openssl", None, &SUMMARY),
        ];
        Table::default()
            .row(&point.row(), &lines, &mut out)
            .unwrap();
        let expected = "\
rsa-2048-sign in op/s, 2 threads; latency in µs; × by pairs, least to greatest
    depth       oarlock       openssl     ×
       64   0.667 ±863%   0.667 ±863%  0.67 0.50-12.00
      p50        8000.0        8000.0
      p90        9000.0        9000.0
      p99        9000.0        9000.0
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn a_table_has_one_heading_and_a_ratio_beside_each_peer() {
        let mut table = Table::default();
        let mut out = Vec::new();
        let lines = [
            POINT.rate("oarlock", 1, &SUMMARY),
            POINT.rate("openssl", 1, &SUMMARY),
            POINT.ratio("openssl", &SUMMARY),
        ];
        for bytes in [64, 1 << 20] {
            table
                .row(&Point { bytes, ..POINT }.row(), &lines, &mut out)
                .unwrap();
        }
        let expected = "\
aes-128-ctr in GB/s, one thread; × by pairs, least to greatest
    bytes       oarlock       openssl     ×
       64   0.667 ±863%   0.667 ±863%  0.67 0.50-12.00
       1m   0.667 ±863%   0.667 ±863%  0.67 0.50-12.00
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
