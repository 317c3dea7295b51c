//! The files of an authority: new files are written all or none, and old ones are replaced atomically.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::KeyPair;
use zeroize::Zeroizing;

use super::rules::PkiError;
use crate::files::{self, write};

/// A file to write.
pub(super) struct File {
    pub(super) path: PathBuf,
    text: Zeroizing<String>,
    mode: u32,
}

impl File {
    pub(super) fn public(path: PathBuf, text: &str) -> Self {
        Self {
            path,
            text: Zeroizing::new(text.to_owned()),
            mode: 0o644,
        }
    }

    /// Returns a key file that only its owner may read.
    pub(super) fn secret(path: PathBuf, key: &KeyPair) -> Self {
        Self {
            path,
            text: Zeroizing::new(key.serialize_pem()),
            mode: 0o600,
        }
    }
}

/// Writes all files or none, and never overwrites one.
pub(super) fn write_new(files: &[File]) -> Result<(), PkiError> {
    for (done, file) in files.iter().enumerate() {
        if let Err(error) = write(&file.path, file.text.as_bytes(), file.mode) {
            for file in &files[..done] {
                // The error being returned names what failed.
                let _ = fs::remove_file(&file.path);
            }
            return Err(PkiError::file(&file.path, error));
        }
    }
    Ok(())
}

/// Replaces a file atomically: a reader sees the whole old text or the whole new one.
pub(super) fn replace(path: &Path, text: &str) -> Result<(), PkiError> {
    files::replace(path, text.as_bytes(), 0o644).map_err(|error| PkiError::file(path, error))
}
