//! The outcome of one target.

use serde::Serialize;

/// The required and the measured ratio.
#[derive(Serialize)]
pub(super) struct Outcome {
    pub(super) target: String,
    pub(super) required: f64,
    /// `None` if it could not be measured; `note` says why.
    pub(super) measured: Option<f64>,
    pub(super) min: Option<f64>,
    pub(super) max: Option<f64>,
    pub(super) met: bool,
    pub(super) note: String,
}

impl Outcome {
    pub(super) fn measured(target: String, required: f64, ratio: [f64; 3], note: String) -> Self {
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

    /// Returns the outcome if OpenSSL serves the operation, with and without the provider.
    pub(super) fn not_offered(target: String, required: f64, why: String) -> Self {
        Self {
            met: true,
            ..Self::not_measured(target, required, why)
        }
    }

    pub(super) fn not_measured(target: String, required: f64, why: String) -> Self {
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

    /// Returns a line for people.
    pub(super) fn shown(&self) -> String {
        let Self {
            target,
            required,
            note,
            ..
        } = self;
        let verdict = if self.met { "met" } else { "NOT MET" };
        match (self.measured, self.min, self.max) {
            (Some(median), Some(min), Some(max)) => format!(
                "{required:>8.2}  {median:>8.3}  {min:>7.3} {max:>7.3}  {verdict:<8} {target}{note}\n"
            ),
            _ => {
                let verdict = if self.met { "left" } else { "NOT RUN" };
                format!(
                    "{required:>8.2}  {:>8}  {:>7} {:>7}  {verdict:<8} {target}: {note}\n",
                    "-", "-", "-"
                )
            }
        }
    }
}
