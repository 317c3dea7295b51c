//! Which libcrypto may be loaded into a process of this user.

use std::path::{Path, PathBuf};

use oarlock_engine::costs::openssl::Trusted;

use crate::elf::Linked;
use crate::failure::{Failure, reason};

/// The file of a libcrypto that may be loaded. To load it is to run its code with this user's rights, so a value exists
/// only if the user has named the file or nobody else can have put it there.
#[derive(Clone, Debug)]
pub(crate) struct Library(PathBuf);

impl Library {
    /// The file that the user has named.
    pub(crate) fn named(path: &Path) -> Self {
        Self(std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf()))
    }

    /// A file that a program leads to: by its RUNPATH, which the program's maker has chosen.
    ///
    /// # Errors
    /// Another user than root and this one owns it, a folder above it, or what a link on the way to it leads to, or may
    /// write there.
    pub(crate) fn found(path: &Path) -> Result<Self, Failure> {
        let name = path.display();
        let refused = |why: &str| {
            Failure::new(format!(
                "{name}: not loaded: {why}, so another user's code could run with your rights \
                 (`oarlock provider calibrate --library` loads it all the same)"
            ))
        };
        // What the links on the way lead to at this moment, and nothing else, is checked and loaded.
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

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

/// The libcrypto that programs of this machine take: that of the `openssl` command. `None` without such a command.
///
/// # Errors
/// Those of [`Library::found`].
pub(crate) fn of_machine() -> Result<Option<Library>, Failure> {
    match crate::elf::which("openssl".as_ref()) {
        Some(command) => of_program(&command),
        None => Ok(None),
    }
}

/// The libcrypto that the dynamic linker gives a program; `None` if it gives none.
///
/// # Errors
/// Those of [`Library::found`].
pub(crate) fn of_program(program: &Path) -> Result<Option<Library>, Failure> {
    let linked = Linked::of(program).ok();
    let file = linked.as_ref().and_then(|it| it.file("libcrypto.so."));
    file.map(Library::found).transpose()
}
