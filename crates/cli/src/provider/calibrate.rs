//! `oarlock provider calibrate`, and the calibration that `install` makes and `uninstall` removes.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use oarlock::Accelerator;
use serde::Serialize;

use super::change::failed;
use super::module;
use crate::calibration::{self, Known, Library, Measuring, Trial, library};
use crate::elf::which;
use crate::failure::Failure;
use crate::offers::{self, FIGURES, Offer};
use crate::{options, provider_file, stdout};

#[derive(Args)]
pub(crate) struct CalibrateArgs {
    /// The libcrypto, instead of that of the program or of the openssl command
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,

    /// The provider's file, instead of the one that is found
    #[arg(long, value_name = "FILE")]
    provider: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// The program whose libcrypto to measure against
    #[arg(value_name = "PROGRAM")]
    program: Option<OsString>,
}

pub(super) const EXAMPLES: &str = "\
It takes up to 8 seconds, and stores the result for programs that start later: as root in /var/lib/oarlock for all users, \
otherwise below $XDG_CACHE_HOME (~/.cache) for `oarlock run`. The processor, the mask in OARLOCK_CPU, libcrypto and the \
provider must stay the same.

Examples:
  sudo oarlock provider calibrate
  oarlock provider calibrate /usr/local/bin/nginx
  oarlock provider calibrate --json | jq '.offers[] | {operation, ratios}'";

/// The content of `--json`.
#[derive(Serialize)]
struct Calibrated {
    library: PathBuf,
    /// The version of the library.
    openssl: String,
    calibration: Option<PathBuf>,
    made: String,
    /// Operations whose ratios other work on this machine hides. The tables decide for them.
    noisy: Vec<String>,
    /// Our rate over OpenSSL's in handshakes, by end.
    handshakes: BTreeMap<String, f64>,
    /// Whether one of them loses, so that only ciphers are offered.
    are_handshakes_lost: bool,
    offers: Vec<Offer>,
}

pub(super) fn run(args: &CalibrateArgs) -> Result<(), Failure> {
    let provider = provider_file::find(args.provider.as_deref())?;
    module::check(&provider).map_err(Failure::new)?;
    let library = asked(args)?;
    let path = calibration::own().ok_or_else(|| {
        Failure::new("no place for the calibration: set XDG_CACHE_HOME or HOME to a folder")
    })?;
    let known = Known::of(&library, &provider, Some(&path), Measuring::Always)?;
    if let Some(why) = &known.ignored {
        let name = path.display();
        return Err(Failure::new(format!(
            "{name}: stored, and programs do not go by it: {why}"
        )));
    }
    let calibrated = Calibrated::of(&library, &known)?;
    if args.json {
        return stdout::write(stdout::json("calibrate", &calibrated)?);
    }
    stdout::write(calibrated.to_text())
}

/// Calibrates for `install`, against the machine's own libcrypto, unless a calibration fits. Without one the provider uses
/// the tables, so a failure only prints a note.
pub(super) fn where_missing(provider: &Path, no_calibrate: bool) -> Result<(), Failure> {
    if no_calibrate {
        return Ok(());
    }
    let Some(path) = calibration::own() else {
        return Ok(());
    };
    let library = match library::of_machine() {
        Ok(Some(library)) => library,
        Ok(None) => return Ok(()),
        Err(failure) => {
            let _ = writeln!(io::stderr(), "oarlock: note: not calibrated: {failure}");
            return Ok(());
        }
    };
    let known = match Known::of(&library, provider, Some(&path), Measuring::IfMissing) {
        Ok(known) => known,
        Err(failure) => {
            let _ = writeln!(io::stderr(), "oarlock: note: not calibrated: {failure}");
            return Ok(());
        }
    };
    if let Some(why) = &known.ignored {
        let name = path.display();
        let _ = writeln!(
            io::stderr(),
            "oarlock: note: {name}: programs do not go by it: {why}"
        );
        return Ok(());
    }
    if let Some(noisy) = too_noisy(&known.noisy) {
        let _ = writeln!(io::stderr(), "oarlock: note: {noisy}");
    }
    let calibrated = Calibrated::of(&library, &known)?;
    let offered = calibrated.offers.iter().filter(|one| one.is_offered);
    let (offered, all) = (offered.count(), calibrated.offers.len());
    stdout::write(format!(
        "calibrated against {}: {offered} of {all} operations are offered (oarlock doctor lists them)\n",
        calibrated.openssl
    ))
}

/// Returns the message that other work hides the ratios of some operations.
fn too_noisy(operations: &[String]) -> Option<String> {
    (!operations.is_empty()).then(|| {
        format!(
            "too much other work on this machine to tell: {}: programs go by the tables; calibrate again when it is idle",
            operations.join(", ")
        )
    })
}

/// Removes a calibration, for `uninstall`.
pub(super) fn remove(path: &Path) -> Result<(), Failure> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(path)(error)),
        _ => {
            // Remove its folder too, if that is empty.
            let folder = path.parent().filter(|folder| folder.ends_with("oarlock"));
            folder.map(fs::remove_dir).and_then(Result::ok);
            Ok(())
        }
    }
}

fn asked(args: &CalibrateArgs) -> Result<Library, Failure> {
    if let Some(library) = &args.library {
        return Ok(Library::named(library));
    }
    let Some(program) = &args.program else {
        return library::of_machine()?.ok_or_else(|| {
            Failure::new("the openssl command is missing or has no libcrypto: give --library FILE")
        });
    };
    let name = program.display();
    let path = which(program).ok_or_else(|| Failure::new(format!("{name}: no such program")))?;
    library::of_program(&path)?.ok_or_else(|| {
        Failure::new(format!(
            "{name}: it is not linked with libcrypto: `oarlock doctor` says what it uses"
        ))
    })
}

impl Calibrated {
    fn of(library: &Library, known: &Known) -> Result<Self, Failure> {
        let accelerator = options::built(Accelerator::builder().environment())?;
        let measured = known.measured.as_ref();
        let ratio = |trial: &Trial| (trial.end.clone(), f64::from(trial.thousandths) / 1000.0);
        Ok(Self {
            library: library.path().into(),
            openssl: known.made_for.libcrypto.clone(),
            calibration: known.file.clone(),
            made: measured.map(|it| it.made.clone()).unwrap_or_default(),
            noisy: known.noisy.clone(),
            handshakes: known.trials.iter().map(ratio).collect(),
            are_handshakes_lost: known.trials.iter().any(|trial| trial.is_lost),
            offers: offers::all(&accelerator, known.version(), measured),
        })
    }

    fn to_text(&self) -> String {
        let mut text = format!("{} ({})\n", self.openssl, self.library.display());
        // Writing to a String does not fail.
        let _ = writeln!(text, "{FIGURES}\n");
        for one in &self.offers {
            let state = if one.is_offered { "" } else { "  not offered" };
            let _ = writeln!(text, "{}{state}", one.to_text());
        }
        if !self.handshakes.is_empty() {
            let ends = self.handshakes.iter();
            let ends: Vec<_> = ends
                .map(|(end, ratio)| format!("{end} {ratio:.2}"))
                .collect();
            let _ = writeln!(text, "\nhandshakes with P-256: {}", ends.join(", "));
        }
        if self.are_handshakes_lost {
            text.push_str("OpenSSL's own are faster, so only ciphers are offered\n");
        }
        if let Some(noisy) = too_noisy(&self.noisy) {
            let _ = writeln!(text, "\n{noisy}");
        }
        if let Some(path) = &self.calibration {
            let _ = writeln!(text, "\nstored in {}", path.display());
        }
        text
    }
}
