//! The provider's rates compared with those of one libcrypto on this machine: measured, stored and looked up.
//! docs/internals/calibration.md describes the method and the rules of the file.
//!
//! ```text
//! mod.rs       what is known of a libcrypto: from the stored file if it fits, otherwise measured now
//! child.rs     a process that loads libcrypto and the provider: identifies, measures, asks for the file's verdict
//! measuring.rs the child's measurements: every way in which programs call
//! handshakes.rs its handshakes with what the measurements offer
//! library.rs   which libcrypto may be loaded
//! place.rs     where the file is, and how it is written
//! ```

mod child;
mod handshakes;
pub(crate) mod library;
mod measuring;
mod place;

use std::path::{Path, PathBuf};

use oarlock_engine::costs::openssl::{MadeFor, Measured, Stored};

pub(crate) use self::child::{MeasureArgs, measure};
pub(crate) use self::handshakes::Trial;
pub(crate) use self::library::Library;
pub(crate) use self::place::{in_configuration, is_own, own};
use crate::failure::Failure;
use crate::openssl;

/// The known rates of the provider compared with those of one libcrypto.
pub(crate) struct Known {
    /// The provider, the libcrypto and the CPU.
    pub(crate) made_for: MadeFor,
    /// The calibration that programs use.
    pub(crate) measured: Option<Measured>,
    /// The file of the calibration, or the file that is ignored.
    pub(crate) file: Option<PathBuf>,
    /// The reason why the file is ignored.
    pub(crate) ignored: Option<String>,
    /// Operations that were just measured but whose ratios other work on this machine hides. The cost tables decide for
    /// them.
    pub(crate) noisy: Vec<String>,
    /// Handshakes that were just measured.
    pub(crate) trials: Vec<Trial>,
}

/// Whether to measure.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measuring {
    Never,
    /// Only if no calibration fits.
    IfMissing,
    Always,
}

impl Known {
    /// Determines what is known of `library` and the provider in `module`, which use the calibration `file`. A new
    /// measurement is stored there; without a file only this process knows it.
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
            _ => child::look(library, module, file, child::Task::Identify)?,
        };
        if measuring == Measuring::IfMissing && look.verdict != USED {
            look = child::measured(library, module, file)?;
        }
        let new = look.measured();
        let noisy = std::mem::take(&mut look.noisy);
        let trials = std::mem::take(&mut look.trials);
        if let (Some(new), Some(file)) = (&new, file) {
            place::add(file, new.clone())?;
            // Look again, as programs now see the file.
            look = child::look(library, module, Some(file), child::Task::Identify)?;
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
            trials,
        })
    }

    /// Returns the version of the libcrypto, as in "3.0.19".
    pub(crate) fn version(&self) -> &str {
        openssl::number(&self.made_for.libcrypto)
    }
}

/// Returns the measurement that the provider uses from the file.
fn stored(file: &Path, made_for: &child::MadeForText) -> Option<Measured> {
    let stored = Stored::parse(&std::fs::read(file).ok()?).ok()?;
    let made_for = MadeFor::from(made_for.clone());
    stored.find(&made_for).ok().cloned()
}

/// The provider's verdicts on its file.
const USED: &str = "used";
const MISSING: &str = "missing";
