//! Text, and where it goes.

use std::io::Write;

use crate::error::Error;

/// One line of JSON.
///
/// # Errors
/// [`Error::Failed`].
pub fn json(line: &impl serde::Serialize) -> Result<String, Error> {
    serde_json::to_string(line)
        .map(|text| text + "\n")
        .map_err(|error| Error::Failed(format!("writing JSON: {error}")))
}

/// Writes all of `text`, now.
///
/// # Errors
/// [`Error::Failed`].
pub fn write_out(out: &mut dyn Write, text: &str) -> Result<(), Error> {
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(Error::io("writing the result"))
}
