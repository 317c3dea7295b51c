//! The subcommands for programs with the provider, and for this machine.

use std::io;
use std::process::ExitCode;

use crate::failure::Failure;
use crate::{cache, cpu, devices, doctor, provider, run};

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Run a command with the OpenSSL provider, without installing anything
    #[command(after_help = run::EXAMPLES)]
    Run(run::Args),
    /// Install, remove or check the OpenSSL provider for the whole machine
    #[command(subcommand)]
    Provider(provider::Command),
    /// Say whether this machine and a program will use the OpenSSL provider, and if not, why
    #[command(after_help = doctor::EXAMPLES)]
    Doctor(doctor::Args),
    /// List CPU features, devices, and every operation by backend with its self-test and rate
    #[command(after_help = devices::EXAMPLES)]
    Devices(devices::Args),
    /// Measure Oarlock against the machine's OpenSSL, in turn in the same run
    #[command(after_help = "Example:\n  oarlock bench --quick --case 'aes-128-*' --threads 2")]
    Bench(oarlock_measure::args::Args),
}

impl Command {
    pub(crate) fn carry_out(&self) -> Result<ExitCode, Failure> {
        match self {
            Self::Run(args) => return run::run(args),
            Self::Provider(command) => return provider::run(command),
            Self::Doctor(args) => return doctor::run(args),
            Self::Devices(args) => devices::run(args),
            Self::Bench(args) => bench(args),
        }?;
        Ok(ExitCode::SUCCESS)
    }
}

fn bench(args: &oarlock_measure::args::Args) -> Result<(), Failure> {
    let peers = [oarlock_measure::peers::openssl::PEER];
    let args = oarlock_measure::args::Args {
        calibration: cache::read(cpu::visible()?).ok(),
        ..args.clone()
    };
    oarlock_measure::run(&args, &peers, &mut io::stdout().lock()).map_err(|error| match error {
        oarlock_measure::Error::Usage(what) => Failure::usage(what),
        other => Failure::new(other.to_string()),
    })
}
