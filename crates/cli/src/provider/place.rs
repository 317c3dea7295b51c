//! The configuration to change: its path, and whether it works.

use std::path::{Path, PathBuf};

use clap::Args;

use super::change::failed;
use crate::failure::Failure;
use crate::openssl::{self, Installed};

#[derive(Args)]
pub(crate) struct Place {
    /// The configuration, instead of the machine's openssl.cnf
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Place {
    /// Returns the path after links, since a link must not be replaced.
    pub(super) fn find(&self) -> Result<PathBuf, Failure> {
        let path = match &self.config {
            Some(path) => path.clone(),
            None => Installed::find().configuration(),
        };
        path.canonicalize().map_err(failed(&path))
    }
}

/// Checks that programs that read `conf` get the provider. The error says why not.
pub(super) fn works(conf: &Path) -> Result<(), String> {
    let providers = openssl::providers(conf)?;
    match providers.iter().find(|provider| provider.name == "oarlock") {
        Some(provider) if provider.is_active => Ok(()),
        Some(_) => Err("the provider loads and offers nothing: its options are wrong, or OpenSSL is faster at everything \
             (`oarlock doctor` says which)".into()),
        None => Err("openssl does not load the provider".into()),
    }
}

/// Returns the message that `what` is wrong in the file `path`.
pub(super) fn in_file(path: &Path, what: &str) -> String {
    format!("{}: {what}", path.display())
}
