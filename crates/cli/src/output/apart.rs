//! Files that a command reads besides its input: keys, identities, passphrases, recipients, certificates. An output that
//! replaced one would lose it. Files are compared by device and inode, so links of both kinds are seen.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{OFlags, Stat};

use super::Target;
use crate::failure::Failure;
use crate::folder::{identity, kind};

/// A file that a command reads besides its input.
pub(crate) struct Needed {
    /// Its name in messages.
    what: &'static str,
    path: PathBuf,
    /// Whether the output can only be read with it.
    is_only_key: bool,
}

impl Needed {
    /// Describes the file at `path`, where `-` is standard input.
    pub(crate) fn new(what: &'static str, path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        let path = match path.as_os_str() == "-" {
            true => Path::new(STDIN),
            false => path,
        };
        Self {
            what,
            path: path.to_path_buf(),
            is_only_key: false,
        }
    }

    /// Says that the output can only be read with it.
    pub(crate) fn only_key(self, is_only_key: bool) -> Self {
        Self {
            is_only_key,
            ..self
        }
    }

    /// Whether it is a regular file with this device and inode.
    fn is(&self, identity: (u64, u64)) -> bool {
        fs::metadata(&self.path)
            .is_ok_and(|found| found.is_file() && (found.dev(), found.ino()) == identity)
    }
}

impl Target {
    /// Fails if the output would replace or overwrite one of `needed`.
    pub(crate) fn check_apart(&self, needed: &[Needed]) -> Result<(), Failure> {
        match self {
            // What is appended loses nothing.
            Self::Direct { file, .. }
                if rustix::fs::fcntl_getfl(file).is_ok_and(|is| is.contains(OFlags::APPEND)) =>
            {
                Ok(())
            }
            Self::Direct { file, name } => match rustix::fs::fstat(file) {
                Ok(found) => check_entry(&found, name, needed),
                Err(_) => Ok(()),
            },
            Self::Named { place, name, .. } => match place.look() {
                Ok(found) => check_entry(&found, name, needed),
                Err(_) => Ok(()),
            },
            Self::Terminal { .. } => Ok(()),
        }
    }
}

/// Fails if the entry `found`, which an output called `name` would replace, is one of `needed`.
pub(crate) fn check_entry(found: &Stat, name: &str, needed: &[Needed]) -> Result<(), Failure> {
    if !kind(found).is_file() {
        return Ok(());
    }
    match needed.iter().find(|one| one.is(identity(found))) {
        Some(Needed { what, .. }) => Err(Failure::usage(format!(
            "{name}: is {what}, which would be lost: give another name with -o"
        ))),
        None => Ok(()),
    }
}

/// Fails if the input `name`, which is to be removed, is the only key to its own output.
pub(crate) fn check_removed(
    identity: (u64, u64),
    name: &str,
    needed: &[Needed],
) -> Result<(), Failure> {
    let mut keys = needed.iter().filter(|one| one.is_only_key);
    match keys.find(|one| one.is(identity)) {
        Some(Needed { what, .. }) => Err(Failure::usage(format!(
            "{name}: is {what}, and --rm would leave it only in a file that it opens: leave it out, or --rm"
        ))),
        None => Ok(()),
    }
}

const STDIN: &str = "/dev/stdin";
