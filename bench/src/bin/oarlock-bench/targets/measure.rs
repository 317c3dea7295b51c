//! Measures the cases of targets, mostly by running this program again on the CPUs that they specify.

use std::process::Command;

use oarlock_measure::Error;
use oarlock_measure::measuring::Summary;
use oarlock_measure::output::{Entry, Ratio};
use oarlock_measure::run::First;
use serde::de::DeserializeOwned;

use super::target::{Comparison, CpuLimit, Target};
use crate::programs::{self, Compared, Named, ProgramCase, Setup, enc};
use crate::system::interrupt;
use crate::system::surroundings::{beside_a_busy_cpu, on_one_cpu};

/// The measurement of a case.
pub(super) enum Measured {
    Ratios(Vec<Ratio>),
    /// The first operations of Oarlock, OpenSSL and AWS-LC.
    Firsts([Vec<First>; 3]),
    Compared(Vec<Compared>),
    /// Their time over ours, pair by pair.
    Enc(Vec<f64>),
}

pub(super) struct Measuring<'a> {
    named: &'a Named,
    quick: bool,
    programs: Vec<ProgramCase>,
    /// Set-ups without the provider, and with it.
    setups: [Option<Result<Setup, Error>>; 2],
}

impl<'a> Measuring<'a> {
    pub(super) fn new(named: &'a Named, quick: bool) -> Self {
        let programs = programs::cases();
        Self {
            named,
            quick,
            programs,
            setups: [None, None],
        }
    }

    /// Measures what decides `target` for `case`, and all other targets of the same group.
    pub(super) fn measure(&mut self, case: &str, target: &Target) -> Result<Measured, Error> {
        match target.comparison {
            Comparison::Cipher(run, _) => {
                self.ratios(&run.args(case), run.cpu).map(Measured::Ratios)
            }
            Comparison::PublicKey(run, ..) => self
                .ratios(&run.args(case), CpuLimit::None)
                .map(Measured::Ratios),
            Comparison::First(_) => self.firsts(case).map(Measured::Firsts),
            Comparison::Program(_) => self.program(case).map(Measured::Compared),
            Comparison::Enc => {
                enc::ratios(self.named.oarlock.as_deref(), self.quick).map(Measured::Enc)
            }
        }
    }

    /// Measures twice more, and returns the median of three for each ratio.
    pub(super) fn measure_again(
        &mut self,
        case: &str,
        target: &Target,
        first: Vec<Ratio>,
    ) -> Result<Measured, Error> {
        let mut runs = vec![first];
        for _ in 0..2 {
            match self.measure(case, target)? {
                Measured::Ratios(ratios) => runs.push(ratios),
                _ => return Err(Error::Failed("another thing was measured".to_owned())),
            }
        }
        Ok(Measured::Ratios(medians(&runs)))
    }

    fn ratios(&self, args: &[String], cpu: CpuLimit) -> Result<Vec<Ratio>, Error> {
        let mut command = this_program()?;
        command.args(args).args(self.quick.then_some("--quick"));
        let text = match cpu {
            CpuLimit::None => output(&mut command)?,
            CpuLimit::OneCpu => on_one_cpu(|| output(&mut command))?,
            CpuLimit::Beside => beside_a_busy_cpu(|| output(&mut command))?,
        };
        let mut ratios = Vec::new();
        for line in text.lines() {
            match read(line)? {
                Entry::Ratio(ratio) => ratios.push(ratio),
                Entry::Rate(_) => {}
            }
        }
        Ok(ratios)
    }

    /// Measures the first operations of Oarlock, OpenSSL and AWS-LC, in turn.
    fn firsts(&self, case: &str) -> Result<[Vec<First>; 3], Error> {
        let mut times = [Vec::new(), Vec::new(), Vec::new()];
        for _ in 0..if self.quick { 5 } else { 15 } {
            for (peer, times) in [None, Some("openssl"), Some("aws-lc")]
                .into_iter()
                .zip(&mut times)
            {
                let mut command = this_program()?;
                command.args(["--first", "--case", case]);
                command.args(peer.map(|name| format!("--peer={name}")));
                times.push(read(output(&mut command)?.trim())?);
            }
        }
        Ok(times)
    }

    fn program(&mut self, name: &str) -> Result<Vec<Compared>, Error> {
        let mut programs = self.programs.iter();
        let case = programs.find(|case| case.name == name);
        let case = case.ok_or_else(|| Error::Failed(format!("no case {name}")))?;
        let takes_provider = case.takes_provider();
        self.setups[usize::from(takes_provider)]
            .get_or_insert_with(|| Setup::new(self.named, self.quick, takes_provider))
            .as_ref()
            .map_err(|error| Error::Failed(error.to_string()))
            .and_then(|setup| case.measure(setup))
    }

    /// Fails if a signal has asked this program to stop.
    pub(super) fn go_on(&self) -> Result<(), Error> {
        interrupt::check()
    }
}

/// Returns the medians of runs of the same measurement, point by point.
fn medians(runs: &[Vec<Ratio>]) -> Vec<Ratio> {
    let mut ratios = runs.first().cloned().unwrap_or_default();
    for (number, ratio) in ratios.iter_mut().enumerate() {
        let all: Vec<&Ratio> = runs.iter().filter_map(|run| run.get(number)).collect();
        let medians: Vec<f64> = all.iter().map(|one| one.ratio_median).collect();
        ratio.ratio_median = Summary::of(&medians).median;
        ratio.ratio_min = all
            .iter()
            .fold(f64::MAX, |least, one| least.min(one.ratio_min));
        ratio.ratio_max = all.iter().fold(0.0, |most, one| most.max(one.ratio_max));
    }
    ratios
}

/// Returns a command that runs this program.
fn this_program() -> Result<Command, Error> {
    let program = std::env::current_exe().map_err(Error::io("this program"))?;
    Ok(Command::new(program))
}

/// Returns the output of a run of this program.
fn output(command: &mut Command) -> Result<String, Error> {
    let output = command.output().map_err(Error::io("this program again"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let why = String::from_utf8_lossy(&output.stderr);
    let why = why.trim().trim_start_matches("oarlock-bench: ");
    Err(Error::Failed(why.replace('\n', "; ")))
}

/// Parses a line of that output.
fn read<T: DeserializeOwned>(line: &str) -> Result<T, Error> {
    serde_json::from_str(line).map_err(|error| Error::Failed(format!("{line:?}: {error}")))
}
