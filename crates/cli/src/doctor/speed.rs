//! What is offered beside the program's libcrypto, and by which figures.

use std::path::Path;

use oarlock::Accelerator;

use super::finding::Finding;
use super::program::OpenSsl;
use crate::calibration::{self, Known, Measuring};
use crate::failure::Failure;
use crate::offers::{self, FIGURES, Offer};
use crate::openssl::{self, Installed};
use crate::options;

/// What was found out about speed.
#[derive(Default)]
pub(super) struct Speed {
    pub(super) findings: Vec<Finding>,
    pub(super) offers: Vec<Offer>,
}

/// Beside the OpenSSL of the program, or else of the machine. Measures unless a calibration fits or it must not.
pub(super) fn of(program: Option<&OpenSsl>, module: Option<&Path>, no_calibrate: bool) -> Speed {
    // Wrong options are a finding of their own.
    let Ok(accelerator) = options::built(Accelerator::builder().environment()) else {
        return Speed::default();
    };
    let mut speed = Speed::default();
    let (version, known) = match (program, module) {
        (Some(OpenSsl::Inside(version)), _) => {
            speed.findings.push(Finding::note(
                "calibration",
                "OpenSSL is inside the program, which shows no version to compare with a calibration: \
                 it goes by the tables",
            ));
            (openssl::number(version).to_owned(), None)
        }
        (_, None) => (of_machine(), None),
        (program, Some(module)) => {
            let library = match program {
                Some(OpenSsl::File(file)) => Some(file.clone()),
                _ => calibration::library_of_machine(),
            };
            let findings = &mut speed.findings;
            match library.map(|library| known(&library, module, no_calibrate, findings)) {
                Some(Ok(known)) => (known.version().to_owned(), Some(known)),
                Some(Err(why)) => {
                    let text = format!("{why}: it goes by the tables");
                    speed.findings.push(Finding::note("calibration", text));
                    (of_machine(), None)
                }
                None => (of_machine(), None),
            }
        }
    };
    let measured = known.as_ref().and_then(|known| known.measured.as_ref());
    speed.offers = offers::all(&accelerator, &version, measured);
    let found = of_offers(&speed.offers);
    speed.findings.extend(found);
    speed
}

/// Says on the way what it finds of the file.
fn known(
    library: &Path,
    module: &Path,
    no_calibrate: bool,
    findings: &mut Vec<Finding>,
) -> Result<Known, Failure> {
    let file = calibration::in_configuration().or_else(calibration::own);
    let mut known = Known::of(library, module, file.as_deref(), Measuring::Never)?;
    if known.measured.is_none() && !no_calibrate {
        if let Some(why) = &known.ignored {
            findings.push(counts_as_none(&known, why));
        }
        let own = calibration::own();
        match Known::of(library, module, own.as_deref(), Measuring::Always) {
            Ok(measured) => known = measured,
            Err(failure) => findings.push(Finding::note("calibration", failure.to_string())),
        }
    }
    let of = &known.made_for.libcrypto;
    findings.push(match (&known.measured, &known.ignored) {
        (Some(measured), _) => {
            let text = format!("{}, of {}, beside {of}", name(&known), measured.made);
            Finding::ok("calibration", text)
        }
        (None, Some(why)) => counts_as_none(&known, why),
        (None, None) => Finding::note(
            "calibration",
            format!(
                "none beside {of}: programs go by the tables; `oarlock provider calibrate` makes one"
            ),
        ),
    });
    Ok(known)
}

fn counts_as_none(known: &Known, why: &str) -> Finding {
    let text = format!(
        "{} counts as none: {why}: programs go by the tables; `oarlock provider calibrate` renews it",
        name(known)
    );
    Finding::note("calibration", text)
}

fn name(known: &Known) -> String {
    let name = known.file.as_ref().map(|file| file.display().to_string());
    name.unwrap_or_default()
}

fn of_offers(offers: &[Offer]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let text = format!("{}; {FIGURES}", offers::sources(offers));
    findings.push(Finding::ok("ratios", text));
    let (offered, withheld): (Vec<_>, Vec<_>) = offers.iter().partition(|one| one.is_offered);
    if offered.is_empty() {
        let text = "nothing: OpenSSL is faster at everything that the provider has";
        findings.push(Finding::no("offered", text));
    }
    for one in offered {
        let text = one.to_text();
        findings.push(match one.is_forced {
            false => Finding::ok("offered", text),
            true => {
                let (bytes, ratio) = one.slowest().unwrap_or_default();
                Finding::note(
                    "slower",
                    format!(
                        "{text}: offered by an option, and OpenSSL is faster: {ratio:.2} of its rate with \
                         {bytes} bytes: take offer=all or the strategy out of OARLOCK_OPTIONS and the options"
                    ),
                )
            }
        });
    }
    for one in withheld {
        let why = one.why.as_deref().unwrap_or_default();
        let text = format!("{}: {why}", one.to_text());
        findings.push(Finding::note("not offered", text));
    }
    findings
}

/// By the version of the `openssl` command.
fn of_machine() -> String {
    let version = Installed::find().version().unwrap_or_default();
    openssl::number(&version).to_owned()
}
