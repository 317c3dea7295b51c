//! Formats and writes text.

use std::io::Write;

use crate::error::Error;

/// Returns one line of JSON.
///
/// # Errors
/// [`Error::Failed`].
pub fn json(line: &impl serde::Serialize) -> Result<String, Error> {
    serde_json::to_string(line)
        .map(|text| text + "\n")
        .map_err(|error| Error::Failed(format!("writing JSON: {error}")))
}

/// Writes all of `text` and flushes it.
///
/// # Errors
/// [`Error::Failed`].
pub fn write_out(out: &mut dyn Write, text: &str) -> Result<(), Error> {
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(Error::io("writing the result"))
}
