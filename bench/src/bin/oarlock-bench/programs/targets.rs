//! What is promised of whole programs.

use oarlock_bench::Error;

use super::cases::{self, Case, Program};
use super::compared::{Compared, Figure, STOCK};
use super::setup::Setup;
use super::ssh::Place;
use crate::targets::Outcome;

/// Of one case.
struct Target {
    name: String,
    figure: Figure,
    /// `None`: whatever there is.
    bytes: Option<usize>,
    least: f64,
}

/// Measures what is asked for of the targets and reports on each.
pub(crate) fn outcomes(
    cli: &crate::Cli,
    asked: &dyn Fn(&str) -> bool,
    report: &mut dyn FnMut(Outcome) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut setup = None;
    for case in cases::all() {
        let targets = targets(&case).into_iter();
        let mut targets = targets.filter(|target| asked(&target.name)).peekable();
        if targets.peek().is_none() {
            continue;
        }
        let compared = setup
            .get_or_insert_with(|| Setup::new(cli))
            .as_ref()
            .map_err(ToString::to_string)
            .and_then(|setup| case.measure(setup).map_err(|error| error.to_string()));
        for target in targets {
            report(match &compared {
                Ok(compared) => target.judge(compared),
                Err(why) => Outcome::not_measured(target.name, target.least, why.clone()),
            })?;
        }
    }
    Ok(())
}

/// Of every target.
pub(crate) fn names() -> Vec<String> {
    let targets = cases::all().into_iter().flat_map(|case| targets(&case));
    targets.map(|target| target.name).collect()
}

fn targets(case: &Case) -> Vec<Target> {
    let target = |what: &str, figure, bytes, least| Target {
        name: format!("{}{what}", case.name),
        figure,
        bytes,
        least,
    };
    match &case.program {
        Program::Start => vec![target(
            ": stock's time and 1 ms, over ours",
            Figure::Milliseconds,
            None,
            1.0,
        )],
        Program::Context(_) => vec![target(
            ": stock's time over ours",
            Figure::Nanoseconds,
            None,
            1.0 / 1.1,
        )],
        Program::Speed(speed) => {
            let over = |bytes: usize, least| {
                let size = oarlock_bench::cli::Size(bytes);
                target(
                    &format!(" {size}: over stock"),
                    Figure::Rate,
                    Some(bytes),
                    least,
                )
            };
            let mut targets: Vec<_> = [16, 64, 256].map(|bytes| over(bytes, 0.95)).into();
            let long = match (speed.cipher, speed.decrypts) {
                ("aes-128-ctr", _) => Some(2.3),
                ("aes-256-gcm", _) => Some(2.5),
                ("chacha20-poly1305", _) => Some(1.05),
                ("aes-128-cbc", true) => Some(1.7),
                _ => None,
            };
            targets.extend(long.map(|least| over(16384, least)));
            targets
        }
        Program::Ssh(ssh) => {
            let rate = |least| target(": rate over stock", Figure::Rate, None, least);
            let cpu = |least| {
                let what = ": stock's CPU time over ours";
                target(what, Figure::CpuSeconds, None, least)
            };
            match ssh.place {
                Place::Here if ssh.suite.operation == "aes-256-gcm" => {
                    vec![rate(0.97), cpu(1.0 / 0.95)]
                }
                Place::Here => vec![rate(0.97), cpu(LEVEL)],
                Place::Masked { .. } => vec![rate(1.15)],
                Place::Gigabit | Place::OneCpu => vec![rate(LEVEL)],
            }
        }
    }
}

impl Target {
    fn judge(self, compared: &[Compared]) -> Outcome {
        let found = compared.iter().find(|compared| {
            compared.vs == STOCK
                && compared.figure == self.figure
                && self.bytes.is_none_or(|bytes| bytes == compared.bytes)
        });
        let Some(compared) = found else {
            let why = "nothing was measured there".to_owned();
            return Outcome::not_measured(self.name, self.least, why);
        };
        let ratio = compared.spread(|ours, theirs| match self.figure {
            Figure::Rate => ours / theirs,
            Figure::CpuSeconds | Figure::Nanoseconds => theirs / ours,
            Figure::Milliseconds => (theirs + START_MS_ALLOWED) / ours,
        });
        Outcome::measured(self.name, self.least, ratio, compared.note())
    }
}

/// As fast as the other side, but for half a per cent: of two that are the same, one is ahead by a
/// hair in every run.
const LEVEL: f64 = 0.995;
const START_MS_ALLOWED: f64 = 1.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(figure: Figure, bytes: usize, ours: f64, theirs: f64) -> Compared {
        Compared {
            figure,
            bytes,
            vs: STOCK,
            ours: vec![ours],
            theirs: vec![theirs],
        }
    }

    fn judged(case: &str, what: &str, all: &[Compared]) -> (Option<f64>, bool) {
        let cases = cases::all();
        let case = cases.iter().find(|found| found.name == case).unwrap();
        let mut targets = targets(case).into_iter();
        let target = targets.find(|target| target.name.contains(what)).unwrap();
        let outcome = target.judge(all);
        (outcome.measured, outcome.met)
    }

    #[test]
    fn each_target_takes_its_own_figure_the_right_way_round() {
        let speed = [
            compared(Figure::Rate, 16, 0.94, 1.0),
            compared(Figure::Rate, 16384, 24.0, 10.0),
        ];
        let name = "openssl-speed-aes-128-ctr";
        assert_eq!(judged(name, " 16:", &speed), (Some(0.94), false));
        assert_eq!(judged(name, " 16k:", &speed), (Some(2.4), true));
        assert_eq!(judged(name, " 64:", &speed), (None, false));

        let ssh = [
            compared(Figure::Rate, 1 << 30, 0.9, 1.0),
            compared(Figure::CpuSeconds, 1 << 30, 1.6, 2.0),
        ];
        let name = "ssh-aes256-gcm-upload";
        assert_eq!(judged(name, "rate", &ssh), (Some(0.9), false));
        assert_eq!(judged(name, "CPU", &ssh), (Some(1.25), true));

        let start = [compared(Figure::Milliseconds, 0, 6.0, 4.0)];
        let (ratio, met) = judged("openssl-start", "1 ms", &start);
        assert_eq!((ratio, met), (Some(5.0 / 6.0), false));
        let context = [compared(Figure::Nanoseconds, 0, 105.0, 100.0)];
        assert!(judged("openssl-context-chacha20", "time", &context).1);
    }
}
