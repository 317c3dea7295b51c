//! How fast the provider is beside one libcrypto, on this machine: measured, stored, and looked up. docs/calibration.md
//! has the idea and the file's rules.
//!
//! ```text
//! mod.rs       what is known of a libcrypto: by the stored file if it fits, or else measured now
//! child.rs     a process that loads libcrypto and the provider: identifies, measures, asks what became of the file
//! place.rs     where the file is, and how it is written
//! ```

mod child;
mod place;

use std::path::{Path, PathBuf};

use oarlock::costs::openssl::{MadeFor, Measured, Stored};

pub(crate) use self::child::{MeasureArgs, measure};
pub(crate) use self::place::{in_configuration, is_own, own};
use crate::elf::Linked;
use crate::failure::Failure;
use crate::openssl;

/// What is known of the provider beside one libcrypto.
pub(crate) struct Known {
    /// These two, on this CPU.
    pub(crate) made_for: MadeFor,
    /// The calibration that programs go by.
    pub(crate) measured: Option<Measured>,
    /// Its file, or the one that counts as none.
    pub(crate) file: Option<PathBuf>,
    /// Why the file counts as none.
    pub(crate) ignored: Option<String>,
}

/// Whether to measure.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measuring {
    Never,
    /// Where no calibration fits.
    IfMissing,
    Always,
}

impl Known {
    /// Of the file `library` and the provider in `module`, which go by the calibration `file`. What is measured is
    /// stored there.
    ///
    /// # Errors
    /// The two cannot be loaded, or the result cannot be stored.
    pub(crate) fn of(
        library: &Path,
        module: &Path,
        file: Option<&Path>,
        measuring: Measuring,
    ) -> Result<Self, Failure> {
        let mut look = child::look(library, module, file, measuring == Measuring::Always)?;
        if measuring == Measuring::IfMissing && look.verdict != USED {
            look = child::look(library, module, file, true)?;
        }
        let new = look.measured();
        if let (Some(new), Some(file)) = (&new, file) {
            place::add(file, new.clone())?;
            // Now as programs see it.
            look = child::look(library, module, Some(file), false)?;
        }
        Ok(Self {
            measured: match file {
                Some(file) if look.verdict == USED => stored(file, &look.made_for),
                Some(_) => None,
                None => new,
            },
            ignored: Some(look.verdict.clone()).filter(|it| ![USED, MISSING, ""].contains(&&**it)),
            file: file
                .filter(|_| look.verdict != MISSING)
                .map(Path::to_path_buf),
            made_for: look.made_for.into(),
        })
    }

    /// As in "3.0.19".
    pub(crate) fn version(&self) -> &str {
        openssl::number(&self.made_for.libcrypto)
    }
}

/// The libcrypto that programs of this machine take: that of the `openssl` command.
pub(crate) fn library_of_machine() -> Option<PathBuf> {
    let command = crate::elf::which("openssl".as_ref())?;
    library_of(&command)
}

/// The libcrypto that the dynamic linker gives a program.
pub(crate) fn library_of(program: &Path) -> Option<PathBuf> {
    let linked = Linked::of(program).ok()?;
    linked.file("libcrypto.so.").map(Path::to_path_buf)
}

/// What the provider takes from the file.
fn stored(file: &Path, made_for: &child::MadeForText) -> Option<Measured> {
    let stored = Stored::parse(&std::fs::read(file).ok()?).ok()?;
    let made_for = MadeFor::from(made_for.clone());
    stored.find(&made_for).ok().cloned()
}

/// What the provider says of its file.
const USED: &str = "used";
const MISSING: &str = "missing";
