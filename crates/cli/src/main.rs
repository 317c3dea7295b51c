//! The `oarlock` command: parses, opens files and reports; the library does the work.
//!
//! ```text
//! enc.rs        enc, dec: files of openssl enc        keys.rs       hexadecimal, key files
//! job.rs        a file from one end to the other      passphrase.rs from a file, asked for
//! input.rs      where bytes come from                 output/       where they go: temporary name, rights, rename
//! folder.rs     a directory that is held open           terminal.rs   questions to the user
//! interrupt.rs  Ctrl-C seen without a thread          progress.rs   the bar
//! options.rs    the accelerator                       cache.rs      a stored calibration
//! cpu.rs        the CPU of this machine               stdout.rs     text and JSON on standard output
//! help.rs       commands in groups                    manual.rs     manual pages from the same definitions
//! arguments.rs  what the user may have meant          failure.rs    the one line on stderr
//! colours.rs    where a terminal has them
//!
//! age/          encrypt, decrypt, keygen, inspect: age files
//! devices/      what this machine has, self-tested     top/       what runs just now
//! run/          one command with the provider    provider/      the same for the whole machine
//! doctor/       whether programs will take it
//! local.rs      a daemon where processes sign together       daemon.rs  what it shares with `oarlock relay`
//! serve.rs      the cryptoserver   pki.rs   its certificates   sign.rs   a signature from it
//! remote/       its keys, and the check of signatures
//! openssl_conf/ the user's configuration, and where its additions stay   openssl.rs  the machine's openssl
//! calibration/  the provider's speed against a libcrypto    offers.rs   what it offers by that
//! elf.rs        what a program is linked with
//! ```

mod age;
mod arguments;
mod cache;
mod calibration;
mod colours;
mod cpu;
mod daemon;
mod devices;
mod doctor;
mod elf;
mod enc;
mod failure;
mod folder;
mod help;
mod input;
mod interrupt;
mod job;
mod keys;
mod local;
mod manual;
mod offers;
mod openssl;
mod openssl_conf;
mod options;
mod output;
mod passphrase;
mod pki;
mod progress;
mod provider;
mod remote;
mod run;
mod serve;
mod sign;
mod stdout;
mod terminal;
mod top;

use std::ffi::OsString;
use std::io;
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
    /// Encrypt a file or a stream to recipients or with a passphrase, as age does
    #[command(after_help = age::encrypt::EXAMPLES)]
    Encrypt(age::encrypt::Args),
    /// Decrypt files of `oarlock encrypt`, age or rage
    #[command(after_help = age::decrypt::EXAMPLES)]
    Decrypt(age::decrypt::Args),
    /// Make an identity for `decrypt -i`, and the recipient for `encrypt -r`
    #[command(after_help = age::keygen::EXAMPLES)]
    Keygen(age::keygen::Args),
    /// Show what an age file reveals without a key: kinds of recipients, sizes
    #[command(after_help = age::inspect::EXAMPLES)]
    Inspect(age::inspect::Args),
    /// Encrypt a file or a stream in the format of `openssl enc -pbkdf2` or `openssl enc -K -iv`
    #[command(after_help = enc::EXAMPLES)]
    Enc(enc::Args),
    /// Decrypt files of `oarlock enc` or `openssl enc`
    #[command(after_help = enc::EXAMPLES)]
    Dec(enc::DecArgs),
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
    /// Show live what running accelerators and cryptoservers do: rates, queues, lanes, health of devices
    #[command(after_help = top::EXAMPLES)]
    Top(top::Args),
    /// Measure Oarlock against the machine's OpenSSL, in turn in the same run
    #[command(after_help = "Example:\n  oarlock bench --quick --case 'aes-128-*' --threads 2")]
    Bench(oarlock_measure::args::Args),
    /// Serve private-key operations to clients with certificates
    #[command(after_help = serve::EXAMPLES)]
    Serve(serve::Args),
    /// Compute signatures of several processes of this machine together
    #[command(after_help = local::EXAMPLES)]
    Local(local::Args),
    /// Let unmodified servers of this machine sign with keys of a cryptoserver
    #[command(after_help = remote::relay::EXAMPLES)]
    Relay(remote::relay::Args),
    /// Make, renew and revoke certificates for a cryptoserver
    #[command(subcommand)]
    Pki(pki::Command),
    /// Sign a file or a digest with a key of a cryptoserver
    #[command(after_help = sign::EXAMPLES)]
    Sign(sign::Args),
    /// Verify a signature with a public key, from a file or a cryptoserver
    #[command(after_help = remote::verify::EXAMPLES)]
    Verify(remote::verify::Args),
    /// List the keys of a cryptoserver, with algorithm, size and rights
    #[command(after_help = remote::list::EXAMPLES)]
    Keys(remote::list::Args),
    /// Print the public key of a key of a cryptoserver
    #[command(after_help = remote::public::EXAMPLES)]
    Pubkey(remote::public::Args),
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
        Command::Enc(args) => enc::encrypt(&args),
        Command::Dec(args) => enc::decrypt(&args),
        Command::Encrypt(args) => age::encrypt::run(&args),
        Command::Decrypt(args) => age::decrypt::run(&args),
        Command::Keygen(args) => age::keygen::run(&args),
        Command::Inspect(args) => age::inspect::run(&args),
        Command::Devices(args) => devices::run(&args),
        Command::Bench(args) => bench(&args),
        Command::Top(args) => return top::run(&args),
        Command::Run(args) => return run::run(&args),
        Command::Doctor(args) => return doctor::run(&args),
        Command::Provider(command) => return provider::run(&command),
        Command::Serve(args) => serve::run(&args),
        Command::Local(args) => local::run(&args),
        Command::Relay(args) => remote::relay::run(&args),
        Command::Pki(command) => pki::run(&command),
        Command::Sign(args) => sign::run(&args),
        Command::Verify(args) => remote::verify::run(&args),
        Command::Keys(args) => remote::list::run(&args),
        Command::Pubkey(args) => remote::public::run(&args),
        Command::Man(args) => manual::run(&args, Cli::command()),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "oarlock", &mut script);
            stdout::write(&script)
        }
    }?;
    Ok(ExitCode::SUCCESS)
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
