//! What came out for one target.

use std::io::Write;

use oarlock_bench::output::Ratio;
use serde::Serialize;

/// Required and measured.
#[derive(Serialize)]
pub(crate) struct Outcome {
    pub(crate) target: String,
    pub(crate) required: f64,
    /// None where it could not be measured; `note` says why.
    pub(crate) measured: Option<f64>,
    pub(crate) min: Option<f64>,
    pub(crate) max: Option<f64>,
    pub(crate) met: bool,
    pub(crate) note: String,
}

impl Outcome {
    pub(crate) fn measured(target: String, required: f64, ratio: [f64; 3], note: String) -> Self {
        let [min, median, max] = ratio;
        Self {
            target,
            required,
            measured: Some(median),
            min: Some(min),
            max: Some(max),
            met: median >= required,
            note,
        }
    }

    pub(super) fn of(target: String, required: f64, ratio: &Ratio, note: String) -> Self {
        let ratio = [ratio.ratio_min, ratio.ratio_median, ratio.ratio_max];
        Self::measured(target, required, ratio, note)
    }

    pub(crate) fn not_measured(target: String, required: f64, why: String) -> Self {
        Self {
            target,
            required,
            measured: None,
            min: None,
            max: None,
            met: false,
            note: why,
        }
    }

    pub(super) fn show(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let Self {
            target,
            required,
            note,
            ..
        } = self;
        let verdict = if self.met { "met" } else { "NOT MET" };
        match (self.measured, self.min, self.max) {
            (Some(median), Some(min), Some(max)) => writeln!(
                out,
                "{required:>8.2}  {median:>8.3}  {min:>7.3} {max:>7.3}  {verdict:<8} {target}{note}"
            ),
            _ => writeln!(
                out,
                "{required:>8.2}  {:>8}  {:>7} {:>7}  {:<8} {target}: {note}",
                "-", "-", "-", "NOT RUN"
            ),
        }
    }
}
