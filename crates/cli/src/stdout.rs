//! Standard output.

use std::io::{self, Write as _};

use rustix::fs::{FileType, OFlags, fcntl_getfl, fstat, major, minor};

use crate::failure::{Failure, reason};

/// Writes all of `text`. `print!` would panic on a closed pipe.
pub(crate) fn write(text: impl AsRef<[u8]>) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout
        .write_all(text.as_ref())
        .and_then(|()| stdout.flush())
        .map_err(|error| Failure::new(format!("standard output: {}", reason(&error))))
}

/// Fails if standard output was closed when this process began, since data would be lost silently. Rust's runtime opens
/// /dev/null in its place before any of our code runs, for reading and writing, unlike a redirection of output. A few
/// programs open theirs in this way too, so the message says what to do.
pub(crate) fn check_open() -> Result<(), Failure> {
    let stdout = io::stdout();
    let is_null = fstat(&stdout).is_ok_and(|found| {
        let device = (major(found.st_rdev), minor(found.st_rdev));
        FileType::from_raw_mode(found.st_mode).is_char_device() && device == NULL
    });
    let may_be_read =
        fcntl_getfl(&stdout).is_ok_and(|flags| flags & OFlags::RWMODE == OFlags::RDWR);
    if is_null && may_be_read {
        return Err(Failure::new(
            "standard output: is closed, or /dev/null open for reading: name a file with -o, or drop the data with -o /dev/null",
        ));
    }
    Ok(())
}

/// Returns what `command` prints with `--json`: `value` as a line of JSON.
#[cfg(any(feature = "age", feature = "programs", feature = "servers"))]
pub(crate) fn json(command: &str, value: &impl serde::Serialize) -> Result<String, Failure> {
    serde_json::to_string(value)
        .map(|line| line + "\n")
        .map_err(|error| Failure::new(format!("{command}: {error}")))
}

/// The device of /dev/null (null(4)).
const NULL: (u32, u32) = (1, 3);
