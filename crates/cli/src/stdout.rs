//! Standard output.

use std::io::{self, Write as _};

use serde::Serialize;

use crate::failure::{Failure, reason};

/// Writes all of `text`, where `print!` would panic on a closed pipe.
pub(crate) fn write(text: impl AsRef<[u8]>) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout
        .write_all(text.as_ref())
        .and_then(|()| stdout.flush())
        .map_err(|error| Failure::new(format!("standard output: {}", reason(&error))))
}

/// What `command` prints with `--json`: `value` as a line of JSON.
pub(crate) fn json(command: &str, value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(value)
        .map(|line| line + "\n")
        .map_err(|error| Failure::new(format!("{command}: {error}")))
}
