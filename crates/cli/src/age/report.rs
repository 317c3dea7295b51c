//! The outcome for a file: its line of `--json`.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use crate::failure::without_secrets;

/// The outcome for one file.
#[derive(Clone, Copy)]
pub(super) struct Outcome {
    /// The size of the input, if it is a regular file and all of it was read.
    pub(super) bytes_read: Option<u64>,
    pub(super) bytes_written: Option<u64>,
}

/// The report on one file, for programs.
#[derive(Serialize)]
pub(super) struct FileReport {
    input: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_read: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_written: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// The reason why the file was left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<String>,
}

impl FileReport {
    pub(super) fn done(input: &Path, output: &Path, outcome: Outcome, took: Duration) -> Self {
        Self {
            input: input.display().to_string(),
            output: Some(output.display().to_string()),
            bytes_read: outcome.bytes_read,
            bytes_written: outcome.bytes_written,
            seconds: Some(took.as_secs_f64()),
            error: None,
            left_out: None,
        }
    }

    pub(super) fn failed(input: &Path, error: String) -> Self {
        Self {
            // A user may have given a key in place of a file's name.
            input: without_secrets(&input.display().to_string()),
            output: None,
            bytes_read: None,
            bytes_written: None,
            seconds: None,
            error: Some(without_secrets(&error)),
            left_out: None,
        }
    }

    pub(super) fn left_out(input: &Path, why: &str) -> Self {
        Self {
            error: None,
            left_out: Some(why.to_owned()),
            ..Self::failed(input, String::new())
        }
    }
}

impl fmt::Display for FileReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = serde_json::to_string(self).map_err(|_| fmt::Error)?;
        writeln!(f, "{line}")
    }
}
