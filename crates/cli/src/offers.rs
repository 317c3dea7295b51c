//! What the provider offers with one OpenSSL, what it leaves to that OpenSSL, and by which figures.

use std::collections::BTreeMap;

use oarlock::Accelerator;
use oarlock_engine::costs::openssl::{Measured, RatioSource, SIZES};
use oarlock_engine::plan::Provided;
use oarlock_engine::plan::provided;
use serde::Serialize;

/// An operation, as `--json` has it.
#[derive(Serialize)]
pub(crate) struct Offer {
    pub(crate) operation: &'static str,
    pub(crate) is_offered: bool,
    /// Offered by an option, although OpenSSL is faster.
    pub(crate) is_forced: bool,
    /// Why it is not offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) why: Option<String>,
    /// Our rate, of OpenSSL's, by bytes a request.
    ratios: Option<BTreeMap<usize, f64>>,
    source: Option<String>,
}

/// Returns all operations, judged for the OpenSSL version `openssl`, as in "3.0.19".
pub(crate) fn all(
    accelerator: &Accelerator,
    openssl: &str,
    calibration: Option<&Measured>,
) -> Vec<Offer> {
    let provided = provided(
        accelerator.cpu(),
        &accelerator.options(),
        openssl,
        calibration,
    );
    let offer = |one: &Provided| Offer {
        operation: one.operation.name(),
        is_offered: one.withheld.is_none(),
        is_forced: one.is_forced(),
        why: one.withheld.map(|why| why.to_string()),
        ratios: one.ratios.map(|(ratios, _)| {
            let ratios = ratios.thousandths().map(|it| f64::from(it) / 1000.0);
            SIZES.into_iter().zip(ratios).collect()
        }),
        source: one.ratios.map(|(_, source)| match source {
            RatioSource::Table {
                class,
                version: (major, minor),
            } => format!("table of CPU class {class} and OpenSSL {major}.{minor}"),
            RatioSource::Calibration => {
                let made = calibration.map_or("", |calibration| &calibration.made);
                format!("calibration of {made}")
            }
        }),
    };
    provided.iter().map(offer).collect()
}

impl Offer {
    /// As in "aes-128-ctr 1.02 1.40 2.00 2.17 2.24".
    pub(crate) fn to_text(&self) -> String {
        let mut text = self.operation.to_owned();
        for ratio in self.ratios.iter().flat_map(BTreeMap::values) {
            text.push_str(&format!(" {ratio:.2}"));
        }
        text
    }

    pub(crate) fn is_measured(&self) -> bool {
        self.ratios.is_some()
    }

    /// The ratio of requests of `bytes` bytes, if it is known.
    pub(crate) fn ratio(&self, bytes: usize) -> Option<f64> {
        self.ratios.as_ref()?.get(&bytes).copied()
    }

    /// The size at which it is slowest, and how slow.
    pub(crate) fn slowest(&self) -> Option<(usize, f64)> {
        let ratios = self.ratios.iter().flatten();
        let pairs = ratios.map(|(bytes, ratio)| (*bytes, *ratio));
        pairs.min_by(|one, other| one.1.total_cmp(&other.1))
    }
}

/// Where the figures come from, each source once.
pub(crate) fn sources(offers: &[Offer]) -> String {
    let mut sources: Vec<&str> = Vec::new();
    for source in offers.iter().filter_map(|one| one.source.as_deref()) {
        if !sources.contains(&source) {
            sources.push(source);
        }
    }
    match sources.is_empty() {
        true => "no figures without a calibration".to_owned(),
        false => sources.join(", "),
    }
}

/// What the figures are, for people.
pub(crate) const FIGURES: &str = "rate over OpenSSL's own, with requests of 16, 64, 256, 1024, 16384, 32768 and 131072 bytes, one thread";
