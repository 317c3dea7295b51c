//! `oarlock doctor`: whether this machine and a program will use the provider, and if not, why.
//!
//! ```text
//! verdict.rs   the answer in words
//! machine.rs   CPU, OpenSSL, the provider's file, options, the user's configuration, and a test load
//! speed.rs     what is offered with the program's libcrypto, and by which figures
//! finding.rs   a line of the answer
//! program.rs   what a file is: a script, privileged, linked with which library
//! groups.rs    servers: whether their key exchange includes ML-KEM
//! servers.rs   servers: their keys, and whether RSA signatures are batched      certificates.rs   the types of these keys
//! ```

mod certificates;
mod finding;
mod groups;
mod machine;
mod program;
mod servers;
mod speed;
mod verdict;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use serde::Serialize;

use self::finding::{Finding, State};
use self::verdict::{About, Verdict};
use crate::failure::{Failure, printable};
use crate::offers::Offer;
use crate::openssl_conf::UserConf;
use crate::provider::module;
use crate::provider_file;
use crate::run::{self, Report};
use crate::stdout;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run the program even without arguments, and say what went through the provider. The output of
    /// the program is not shown
    #[arg(long = "try")]
    try_out: bool,

    /// The provider's file, instead of the one that is found
    #[arg(long, value_name = "FILE")]
    provider: Option<PathBuf>,

    /// Measure nothing: without a calibration that fits, go by the tables
    #[arg(long)]
    no_calibrate: bool,

    /// Say how the answer was found out, too
    #[arg(long, short)]
    verbose: bool,

    /// Print one JSON object, with everything
    #[arg(long)]
    json: bool,

    /// A program; with arguments it is also run
    #[arg(trailing_var_arg = true, value_name = "PROGRAM")]
    command: Vec<OsString>,
}

pub(crate) const EXAMPLES: &str = "\
The exit status is 0 if the provider will be used, 1 if not, and 127 if there is no such program. Without a \
calibration for the program's libcrypto it measures for this answer, in some seconds, and stores nothing: `oarlock provider \
calibrate` does.

Examples:
  oarlock doctor
  oarlock doctor -- ssh
  oarlock doctor -- curl -s https://example.org";

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let program = args.command.first().map(OsString::as_os_str);
    let found = program.map(program::find).transpose()?;
    let provider = provider_file::find(args.provider.as_deref()).and_then(|path| {
        let checked = module::check(&path).map_err(Failure::new);
        checked.map(|()| path)
    });
    let mut findings = machine::findings(&provider);
    let mut of_program = None;
    if let Some(path) = &found {
        let found = program::findings(path);
        findings.extend(found.findings);
        of_program = Some(found.openssl);
    }
    let user = UserConf::find();
    if provider.is_ok() {
        findings.extend(servers::findings(program, &user));
        findings.extend(groups::findings(program, &user));
    }
    let mut speed = speed::of(
        of_program.as_ref(),
        provider.as_deref().ok(),
        args.no_calibrate,
    );
    findings.append(&mut speed.findings);
    let mut report = None;
    let is_tried = args.command.len() > 1 || args.try_out && !args.command.is_empty();
    if let (true, Ok(module)) = (is_tried, &provider) {
        let (status, counted) = run::try_out(&args.command, module)?;
        let trial = of_trial(status, &counted, &args.command);
        if !counted.is_empty() {
            // Observed requests count for more than a prediction.
            let about = findings.iter_mut().filter(|it| it.about == "library");
            about.for_each(|finding| finding.state = finding.state.min(State::Note));
        }
        findings.extend(trial);
        report = Some(counted);
    }
    let verdict = Verdict::of(&About {
        program,
        findings: &findings,
        speed: &speed,
        is_installed: user.has_provider(),
    });
    let answer = Answer {
        verdict,
        takes_it: findings.iter().all(|finding| finding.state != State::No),
        findings,
        offers: speed.offers,
        measured: speed.measured,
        stats: report,
    };
    let text = if args.json {
        stdout::json("doctor", &answer)?
    } else {
        answer.to_text(args)
    };
    stdout::write(&text)?;
    Ok(ExitCode::from(u8::from(!answer.takes_it)))
}

/// The content of `--json`.
#[derive(Serialize)]
struct Answer {
    verdict: Verdict,
    takes_it: bool,
    findings: Vec<Finding>,
    /// The provider's operations, and whether each is offered with this libcrypto.
    offers: Vec<Offer>,
    /// The same operations, by figures measured for this answer if no calibration fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<Vec<Offer>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stats: Option<Report>,
}

impl Answer {
    fn to_text(&self, args: &Args) -> String {
        let mut text = self.verdict.to_text();
        // The verdict names the obstacles; only --verbose shows how the rest was determined.
        let findings = self.findings.iter().filter(|_| args.verbose);
        if args.verbose {
            text.push('\n');
        } else {
            text.push_str("  details   -v, or --json\n");
        }
        for finding in findings {
            let state = match finding.state {
                State::Ok => "ok",
                State::Note => "note",
                State::No => "no",
            };
            // Writing to a String does not fail.
            let _ = writeln!(text, "{state:<5}{:<14} {}", finding.about, finding.text);
        }
        if let Some(stats) = &self.stats
            && !stats.is_empty()
        {
            text.push_str(&stats.to_text());
        }
        text.lines().map(|line| printable(line) + "\n").collect()
    }
}

fn of_trial(status: u8, counted: &Report, command: &[OsString]) -> Vec<Finding> {
    let mut findings = Vec::new();
    if status != 0 {
        let text = format!("the program ended with status {status}");
        findings.push(Finding::note("trial", text));
    }
    findings.push(match (counted.processes, counted.is_empty()) {
        (0, _) => Finding::no(
            "trial",
            "none of its processes loaded the provider: it uses no OpenSSL, or ignores OPENSSL_CONF",
        ),
        (_, true) => Finding::no("trial", nothing_went_through(command)),
        _ => match &counted.slower()[..] {
            [] => Finding::ok("trial", "the program's requests went through Oarlock"),
            slower => Finding::note(
                "trial",
                format!(
                    "the program's requests went through Oarlock, and OpenSSL is faster for some of them \
                     ({}): after `oarlock provider calibrate` programs get what is faster",
                    slower.join(", ")
                ),
            ),
        },
    });
    findings
}

fn nothing_went_through(command: &[OsString]) -> String {
    let begin = "the provider was loaded and nothing went through it";
    match program::excluding_query(command) {
        Some(query) => format!(
            "{begin}: the program asks OpenSSL for another implementation ({query}), which excludes Oarlock"
        ),
        None => format!(
            "{begin}: none of its algorithms was used: it offers ciphers, and signatures and decryption with RSA, not hashes, other \
             signatures or key exchange, and no cipher that OpenSSL is faster at (\"not offered\" above)"
        ),
    }
}
