//! What came out for one target.

use serde::Serialize;

/// Required and measured.
#[derive(Serialize)]
pub(super) struct Outcome {
    pub(super) target: String,
    pub(super) required: f64,
    /// None where it could not be measured; `note` says why.
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

    /// Where OpenSSL does it, as without us.
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

    /// A line, for people.
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
