//! The libcryptos that may be loaded into a process of this user.

use std::path::{Path, PathBuf};

use oarlock_engine::costs::openssl::Trusted;

use crate::elf::Linked;
use crate::failure::{Failure, reason};

/// The file of a libcrypto that may be loaded. Loading it runs its code with this user's rights, so a value exists only if
/// the user named the file or nobody else can have put it there.
#[derive(Clone, Debug)]
pub(crate) struct Library(PathBuf);

impl Library {
    /// Accepts the file that the user named.
    pub(crate) fn named(path: &Path) -> Self {
        Self(std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf()))
    }

    /// Accepts a file that a program leads to by its RUNPATH, which the program's maker chose.
    ///
    /// # Errors
    /// A user other than root and this one owns the file, a folder above it or the target of a link on the way to it, or may
    /// write there.
    pub(crate) fn found(path: &Path) -> Result<Self, Failure> {
        let name = path.display();
        let refused = |why: &str| {
            Failure::new(format!(
                "{name}: not loaded: {why}, so another user's code could run with your rights \
                 (`oarlock provider calibrate --library` loads it all the same)"
            ))
        };
        // Resolve links once, so that the file that is checked is the one that is loaded.
        let real = path
            .canonicalize()
            .map_err(|error| refused(&reason(&error)))?;
        let trusted = Trusted::here();
        trusted.folders_of(&real).map_err(|why| refused(&why))?;
        let metadata = real.symlink_metadata();
        let metadata = metadata.map_err(|error| refused(&reason(&error)))?;
        trusted.file(&metadata).map_err(refused)?;
        Ok(Self(real))
    }

    /// Returns the libssl in the folder of a libcrypto. A user who names the one says nothing about the other, so it must be
    /// trusted as [`found`](Self::found) says; `None` if there is none.
    pub(crate) fn libssl_next_to(libcrypto: &Path) -> Option<Self> {
        let found = |name| Self::found(&libcrypto.with_file_name(name)).ok();
        ["libssl.so.4", "libssl.so.3"].into_iter().find_map(found)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

/// Returns the libcrypto of the `openssl` command, which programs of this machine use; `None` without that command.
///
/// # Errors
/// The errors of [`Library::found`].
pub(crate) fn of_machine() -> Result<Option<Library>, Failure> {
    match crate::elf::which("openssl".as_ref()) {
        Some(command) => of_program(&command),
        None => Ok(None),
    }
}

/// Returns the libcrypto that the dynamic linker loads for a program; `None` if it loads none.
///
/// # Errors
/// The errors of [`Library::found`].
pub(crate) fn of_program(program: &Path) -> Result<Option<Library>, Failure> {
    let linked = Linked::of(program).ok();
    let file = linked.as_ref().and_then(|it| it.file("libcrypto.so."));
    file.map(Library::found).transpose()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_libssl_that_another_user_may_write_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let libcrypto = folder.path().join("libcrypto.so.3");
        let libssl = folder.path().join("libssl.so.3");
        assert!(Library::libssl_next_to(&libcrypto).is_none());
        fs::write(&libssl, "").unwrap();
        let taken = |of_file, of_folder| {
            fs::set_permissions(&libssl, Permissions::from_mode(of_file)).unwrap();
            fs::set_permissions(folder.path(), Permissions::from_mode(of_folder)).unwrap();
            Library::libssl_next_to(&libcrypto).is_some()
        };
        assert!(taken(0o644, 0o755));
        assert!(!taken(0o666, 0o755));
        assert!(!taken(0o644, 0o777));
    }
}
