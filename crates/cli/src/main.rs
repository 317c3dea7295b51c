//! The `oarlock` command: parses arguments, opens files and reports. The library does the work.
//!
//! ```text
//! enc.rs        enc, dec: files of openssl enc      keys.rs       hexadecimal, key files
//! job.rs        a file from input to output         passphrase.rs from a file or the terminal
//! input.rs      files, pipes, standard input        output/       temporary name, rights, rename
//! folder.rs     a directory that is held open       terminal.rs   questions to the user
//! interrupt.rs  Ctrl-C without a thread             progress.rs   the bar
//! options.rs    the accelerator                     cache.rs      a stored calibration
//! cpu.rs        the CPU of this machine             stdout.rs     text and JSON on standard output
//! help.rs       commands in groups                  manual.rs     manual pages from the same definitions
//! arguments.rs  what the user may have meant        failure.rs    the one line on stderr
//! colours.rs    colours, if a terminal has them
//!
//! files.rs      the commands of the feature `age`   programs.rs, servers.rs     those of these features
//! age/          encrypt, decrypt, keygen, inspect: age files    fleet.rs   on many machines, by Python
//! devices/      what this machine has, self-tested  top/          what is running
//! run/          one command with the provider       provider/     the provider for the whole machine
//! doctor/       whether programs will use it
//! local.rs      a daemon that batches signatures of processes  daemon.rs  what it shares with `oarlock relay`
//! serve.rs      the cryptoserver   pki.rs   its certificates   sign.rs   a signature, also with a key in a file
//! remote/       keys of a cryptoserver, checks of signatures   key_files.rs  keys in PEM
//! openssl_conf/ the user's configuration, and additions to it  openssl.rs  the machine's openssl
//! calibration/  the provider's speed compared with a libcrypto  offers.rs  what it offers as a result
//! elf.rs        the libraries that a program is linked with
//! ```

// Omitted commands leave code unused.
#![cfg_attr(
    not(all(feature = "age", feature = "programs", feature = "servers")),
    allow(dead_code)
)]

#[cfg(feature = "age")]
mod age;
mod arguments;
#[cfg(feature = "programs")]
mod cache;
#[cfg(feature = "programs")]
mod calibration;
mod colours;
mod cpu;
#[cfg(feature = "servers")]
mod daemon;
#[cfg(feature = "programs")]
mod devices;
#[cfg(feature = "programs")]
mod doctor;
#[cfg(feature = "programs")]
mod elf;
mod enc;
mod failure;
#[cfg(feature = "age")]
mod files;
#[cfg(feature = "age")]
mod fleet;
mod folder;
mod help;
mod input;
mod interrupt;
mod job;
#[cfg(any(feature = "age", feature = "servers"))]
mod key_files;
mod keys;
#[cfg(feature = "servers")]
mod local;
mod manual;
#[cfg(feature = "programs")]
mod offers;
#[cfg(feature = "programs")]
mod openssl;
#[cfg(feature = "programs")]
mod openssl_conf;
mod options;
mod output;
mod passphrase;
#[cfg(feature = "servers")]
mod pki;
#[cfg(feature = "programs")]
mod programs;
mod progress;
#[cfg(feature = "programs")]
mod provider;
#[cfg(feature = "programs")]
mod provider_file;
#[cfg(feature = "servers")]
mod remote;
#[cfg(feature = "programs")]
mod run;
#[cfg(feature = "servers")]
mod serve;
#[cfg(feature = "servers")]
mod servers;
#[cfg(feature = "servers")]
mod sign;
mod stdout;
mod terminal;
#[cfg(feature = "servers")]
mod top;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::failure::Failure;

/// Cryptography on every lane and core of this machine.
#[derive(Parser)]
#[command(name = "oarlock", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    #[cfg(feature = "age")]
    #[command(flatten)]
    Files(files::Command),
    /// Encrypt a file or a stream in the format of `openssl enc -pbkdf2` or `openssl enc -K -iv`
    #[command(after_help = enc::EXAMPLES)]
    Enc(enc::Args),
    /// Decrypt files of `oarlock enc` or `openssl enc`
    #[command(after_help = enc::EXAMPLES)]
    Dec(enc::DecArgs),
    #[cfg(feature = "programs")]
    #[command(flatten)]
    Programs(programs::Command),
    #[cfg(feature = "servers")]
    #[command(flatten)]
    Servers(servers::Command),
    /// Print a completion script for a shell
    #[command(after_help = "Example:\n  oarlock completions bash > /etc/bash_completion.d/oarlock")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page of this command, or of one of its subcommands
    #[command(after_help = manual::EXAMPLES)]
    Man(manual::Args),
}

fn main() -> ExitCode {
    let given: Vec<OsString> = std::env::args_os().collect();
    let mut root = help::grouped(Cli::command());
    let parsed = root
        .try_get_matches_from_mut(&given)
        .and_then(|matches| Cli::from_arg_matches(&matches));
    let result = match parsed {
        Ok(cli) => carry_out(cli.command),
        Err(error) if error.use_stderr() => Err(arguments::refused(&error, &root, &given)),
        // Help, or the version.
        Err(text) => {
            let text = colours::on_stdout(&text.render());
            stdout::write(text).map(|()| ExitCode::SUCCESS)
        }
    };
    result.unwrap_or_else(Failure::report)
}

fn carry_out(command: Command) -> Result<ExitCode, Failure> {
    match command {
        #[cfg(feature = "age")]
        Command::Files(command) => command.carry_out(),
        Command::Enc(args) => enc::encrypt(&args),
        Command::Dec(args) => enc::decrypt(&args),
        #[cfg(feature = "programs")]
        Command::Programs(command) => return command.carry_out(),
        #[cfg(feature = "servers")]
        Command::Servers(command) => return command.carry_out(),
        Command::Man(args) => manual::run(&args, Cli::command()),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "oarlock", &mut script);
            stdout::write(&script)
        }
    }?;
    Ok(ExitCode::SUCCESS)
}
