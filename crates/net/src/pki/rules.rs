//! The rules of every authority: names, limits and errors.

use std::fmt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256};

/// The reason why no certificate was created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PkiError(String);

impl PkiError {
    pub(super) fn new(what: impl ToString) -> Self {
        Self(what.to_string())
    }

    pub(super) fn file(path: &Path, error: std::io::Error) -> Self {
        let path = path.display();
        Self(match error.kind() {
            std::io::ErrorKind::AlreadyExists => {
                format!("{path}: exists already: choose another directory, or remove it")
            }
            _ => format!("{path}: cannot be written: {error}"),
        })
    }
}

impl From<rcgen::Error> for PkiError {
    fn from(error: rcgen::Error) -> Self {
        Self(format!("a certificate could not be made: {error}"))
    }
}

impl fmt::Display for PkiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PkiError {}

pub(super) fn check_client(name: &str) -> Result<(), PkiError> {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_.@".contains(char);
    if !(1..=64).contains(&name.len())
        || name.starts_with(['.', '-'])
        || !name.chars().all(is_plain)
    {
        return Err(PkiError::new(format!(
            "client {name:?}: use 1 to 64 letters, digits and - _ . @, not starting with . or -"
        )));
    }
    if RESERVED.contains(&name) {
        return Err(taken(name));
    }
    Ok(())
}

pub(super) fn taken(name: &str) -> PkiError {
    PkiError::new(format!(
        "client {name:?}: the name is taken, choose another"
    ))
}

pub(super) fn check_days(days: u32) -> Result<(), PkiError> {
    if !(1..=DAYS_MAX).contains(&days) {
        let what = format!("{days} days: choose 1 to {DAYS_MAX}");
        return Err(PkiError::new(what));
    }
    Ok(())
}

pub(super) fn new_key() -> Result<KeyPair, PkiError> {
    Ok(KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?)
}

/// Returns the time since 1970.
pub(super) fn now() -> Result<Duration, PkiError> {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_err(|_| PkiError::new("the clock is before 1970: set it"))
}

pub(super) const CA: &str = "ca";
pub(super) const SERVER: &str = "server";
/// File names that no client may have.
pub(super) const RESERVED: [&str; 4] = [CA, SERVER, "crl", "issued"];
const DAYS_MAX: u32 = 36_500;
