//! Where `cargo xtask vectors` has put things.

use std::io;
use std::path::{Path, PathBuf};

use crate::Error;

/// The folder `name` in the target folder.
///
/// A test runs somewhere below the target folder, whatever that is called, also where it is built
/// with flags of its own; examples in the documentation do not, and take the usual place.
pub(crate) fn folder(name: &str) -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let configured = std::env::var_os("CARGO_TARGET_DIR").map(|target| root.join(target));
    program
        .ancestors()
        .map(|ancestor| ancestor.join(name))
        .find(|folder| folder.exists())
        .unwrap_or_else(|| configured.unwrap_or_else(|| root.join("target")).join(name))
}

/// What could not be read there.
pub(crate) fn missing(path: &Path, error: &io::Error) -> Error {
    Error(format!(
        "{}: {error}: run `cargo xtask vectors`",
        path.display()
    ))
}
