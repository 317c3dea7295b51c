//! The provider's rates compared with those of one libcrypto, on this machine: measured, stored, and looked up.
//! docs/internals/calibration.md has the idea and the file's rules.
//!
//! ```text
//! mod.rs       what is known of a libcrypto: by the stored file if it fits, or else measured now
//! child.rs     a process that loads libcrypto and the provider: identifies, measures, asks what became of the file
//! measuring.rs what the child measures: every way in which programs call
//! library.rs   which libcrypto may be loaded
//! place.rs     where the file is, and how it is written
//! ```

mod child;
pub(crate) mod library;
mod measuring;
mod place;

use std::path::{Path, PathBuf};

use oarlock_engine::costs::openssl::{MadeFor, Measured, Stored};

pub(crate) use self::child::{MeasureArgs, measure};
pub(crate) use self::library::Library;
pub(crate) use self::place::{in_configuration, is_own, own};
use crate::failure::Failure;
use crate::openssl;

/// What is known of the provider's rates compared with those of one libcrypto.
pub(crate) struct Known {
    /// These two, on this CPU.
    pub(crate) made_for: MadeFor,
    /// The calibration that programs go by.
    pub(crate) measured: Option<Measured>,
    /// Its file, or the one that counts as none.
    pub(crate) file: Option<PathBuf>,
    /// Why the file counts as none.
    pub(crate) ignored: Option<String>,
    /// Operations that were measured just now, and whose ratios are not known all the same, for other work on this
    /// machine: they go by the tables.
    pub(crate) noisy: Vec<String>,
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
    /// Finds out what is known of the `library` and the provider in `module`, which go by the calibration `file`. A
    /// new measurement is stored there; without a file only this process knows it.
    ///
    /// # Errors
    /// The two cannot be loaded, or the result cannot be stored.
    pub(crate) fn of(
        library: &Library,
        module: &Path,
        file: Option<&Path>,
        measuring: Measuring,
    ) -> Result<Self, Failure> {
        let mut look = match measuring {
            Measuring::Always => child::measured(library, module, file)?,
            _ => child::look(library, module, file, false)?,
        };
        if measuring == Measuring::IfMissing && look.verdict != USED {
            look = child::measured(library, module, file)?;
        }
        let new = look.measured();
        let noisy = std::mem::take(&mut look.noisy);
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
            noisy,
        })
    }

    /// As in "3.0.19".
    pub(crate) fn version(&self) -> &str {
        openssl::number(&self.made_for.libcrypto)
    }
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
