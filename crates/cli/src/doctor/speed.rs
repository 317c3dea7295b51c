//! The operations that the provider offers with the program's libcrypto, and the figures behind this.

use std::path::Path;

use oarlock::Accelerator;
use oarlock_engine::costs::openssl::Measured;

use super::finding::Finding;
use super::program::OpenSsl;
use crate::calibration::{self, Known, Library, Measuring, library};
use crate::failure::Failure;
use crate::offers::{self, FIGURES, Offer};
use crate::openssl::{self, Installed};
use crate::options;

/// The findings about speed.
#[derive(Default)]
pub(super) struct Speed {
    pub(super) findings: Vec<Finding>,
    /// The offers that programs get, by the figures in use.
    pub(super) offers: Vec<Offer>,
    /// The offers by figures measured for this answer, if no calibration fits.
    pub(super) measured: Option<Vec<Offer>>,
}

/// Compares with the program's OpenSSL, or else with the machine's. If no calibration fits and `no_calibrate` is unset, it
/// measures for this answer alone: a diagnosis stores nothing.
pub(super) fn of(program: Option<&OpenSsl>, module: Option<&Path>, no_calibrate: bool) -> Speed {
    // Wrong options have a finding of their own.
    let Ok(accelerator) = options::built(Accelerator::builder().environment()) else {
        return Speed::default();
    };
    let mut findings = Vec::new();
    let mut fresh = None;
    let known = match (program, module) {
        (Some(OpenSsl::Inside(_)), _) => {
            findings.push(Finding::note(
                "calibration",
                "OpenSSL is inside the program, which shows no version to compare with a calibration: \
                 it goes by the tables",
            ));
            None
        }
        (_, None) => None,
        (program, Some(module)) => {
            let library = match program {
                Some(OpenSsl::File(file)) => Library::found(file).map(Some),
                _ => library::of_machine(),
            };
            let known = library.and_then(|library| {
                let of = |library: Library| known(&library, module, no_calibrate, &mut findings);
                library.map(of).transpose()
            });
            match known {
                Ok(known) => known.map(|(known, measured)| {
                    fresh = measured;
                    known
                }),
                Err(why) => {
                    let text = format!("{why}: it goes by the tables");
                    findings.push(Finding::note("calibration", text));
                    None
                }
            }
        }
    };
    let version = match (&known, program) {
        (Some(known), _) => known.version().to_owned(),
        (None, Some(OpenSsl::Inside(version))) => openssl::number(version).to_owned(),
        (None, _) => of_machine(),
    };
    let stored = known.as_ref().and_then(|known| known.measured.as_ref());
    let offers = offers::all(&accelerator, &version, stored);
    findings.extend(of_offers(&offers));
    let measured = fresh.map(|fresh| offers::all(&accelerator, &version, Some(&fresh)));
    if let Some(measured) = &measured {
        findings.extend(of_measured(&offers, measured));
    }
    Speed {
        findings,
        offers,
        measured,
    }
}

/// Returns the figures for programs that use `library`, and those measured for this answer. Adds findings about the file.
fn known(
    library: &Library,
    module: &Path,
    no_calibrate: bool,
    findings: &mut Vec<Finding>,
) -> Result<(Known, Option<Measured>), Failure> {
    let file = calibration::in_configuration().or_else(calibration::own);
    let known = Known::of(library, module, file.as_deref(), Measuring::Never)?;
    let of = &known.made_for.libcrypto;
    findings.push(match (&known.measured, &known.ignored) {
        (Some(measured), _) => {
            let text = format!("{}, of {}, for {of}", name(&known), measured.made);
            Finding::ok("calibration", text)
        }
        (None, Some(why)) => counts_as_none(&known, why),
        (None, None) => Finding::note(
            "calibration",
            format!(
                "none for {of}: programs go by the tables; `oarlock provider calibrate` makes one"
            ),
        ),
    });
    if known.measured.is_some() || no_calibrate {
        return Ok((known, None));
    }
    // Without a file it is not stored.
    let measured = match Known::of(library, module, None, Measuring::Always) {
        Ok(measured) => measured.measured,
        Err(failure) => {
            findings.push(Finding::note("calibration", failure.to_string()));
            None
        }
    };
    Ok((known, measured))
}

/// Returns what a calibration would change for programs.
fn of_measured(offers: &[Offer], measured: &[Offer]) -> Vec<Finding> {
    let changed = |to: bool| {
        let pairs = offers.iter().zip(measured);
        let changed = pairs.filter(|(now, then)| now.is_offered != to && then.is_offered == to);
        let names: Vec<_> = changed.map(|(now, _)| now.operation).collect();
        names.join(", ")
    };
    let texts = [
        (changed(true), "offer"),
        (changed(false), "leave to OpenSSL"),
    ];
    let said: Vec<_> = texts
        .iter()
        .filter(|(names, _)| !names.is_empty())
        .map(|(names, what)| format!("{what} {names}"))
        .collect();
    let what = match said.is_empty() {
        true => "a calibration would change nothing".to_owned(),
        false => format!("a calibration would {}", said.join(", and ")),
    };
    let text = format!("for this answer, and stored nowhere: {what}");
    vec![Finding::note("measured", text)]
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
        let text = match withheld.iter().any(|one| one.is_measured()) {
            true => "nothing: OpenSSL is faster at everything that the provider has",
            false => {
                "nothing before a calibration, which `oarlock provider calibrate` makes: no table is about such a CPU"
            }
        };
        findings.push(Finding::no("offered", text));
    }
    for one in offered {
        let text = one.to_text();
        findings.push(match one.is_forced {
            false => Finding::ok("offered", text),
            true => {
                let than = match one.slowest() {
                    Some((at, ratio)) => {
                        format!("and OpenSSL is faster: {ratio:.2} of its rate {at}")
                    }
                    None => "and how fast it is was not measured".into(),
                };
                Finding::note(
                    "slower",
                    format!(
                        "{text}: offered by an option, {than}: take offer=all or the strategy out of \
                         OARLOCK_OPTIONS and the options"
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

/// Returns the version of the `openssl` command.
fn of_machine() -> String {
    let version = Installed::find().version().unwrap_or_default();
    openssl::number(&version).to_owned()
}
