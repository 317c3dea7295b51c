//! The place of the provider's file.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::openssl::Installed;
use crate::openssl_conf::fits_a_line;

/// Returns the absolute path of the file: `given`, else the one that `OARLOCK_PROVIDER` names, else the first that exists
/// where an installation or a build puts it.
///
/// # Errors
/// The file was not found. The message says where it was looked for.
pub(crate) fn find(given: Option<&Path>) -> Result<PathBuf, Failure> {
    let named = std::env::var_os("OARLOCK_PROVIDER").filter(|path| !path.is_empty());
    let named = named.map(PathBuf::from);
    let candidates = match given.or(named.as_deref()) {
        Some(path) => vec![path.to_path_buf()],
        None => usual_places(),
    };
    let Some(found) = candidates.iter().find(|path| path.is_file()) else {
        let looked: Vec<_> = candidates
            .iter()
            .map(|it| it.display().to_string())
            .collect();
        let name_it = match (given, &named) {
            (Some(_), _) => "--provider does not name a file",
            (None, Some(_)) => "OARLOCK_PROVIDER does not name a file",
            (None, None) => "name it with --provider, or put it in one of these places",
        };
        return Err(Failure::new(format!(
            "the provider was not found: {name_it}: {}",
            looked.join(", ")
        )));
    };
    let path = std::path::absolute(found).unwrap_or_else(|_| found.clone());
    if !fits_a_line(path.as_os_str()) {
        return Err(Failure::new(format!(
            "{}: an OpenSSL configuration cannot contain this name: move the provider",
            path.display()
        )));
    }
    Ok(path)
}

/// Whether `install` put this file there.
pub(super) fn is_installed(path: &Path) -> bool {
    path.is_absolute() && path.file_name() == Some(OsStr::new(INSTALLED_NAME))
}

fn usual_places() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    // Resolve links: one in a folder of commands leads to where the command was unpacked.
    let command = std::env::current_exe().and_then(|path| path.canonicalize());
    if let Some(beside) = command.ok().as_deref().and_then(Path::parent) {
        folders.push(beside.to_path_buf());
        if let Some(above) = beside.parent() {
            folders.push(above.join("lib/oarlock"));
            folders.push(above.join("lib/ossl-modules"));
        }
    }
    folders.extend(Installed::find().modules().map(Into::into));
    let files = |folder: &PathBuf| NAMES.map(|name| folder.join(name));
    folders.iter().flat_map(files).collect()
}

/// The file's name in OpenSSL's folder of modules, which is that of the provider.
pub(super) const INSTALLED_NAME: &str = "oarlock.so";
/// The file's names in cargo's target folder and in OpenSSL's folder of modules.
const NAMES: [&str; 2] = ["liboarlock_provider.so", INSTALLED_NAME];
