//! The subcommands for cryptoservers and daemons, and for what is running.

use std::process::ExitCode;

use crate::failure::Failure;
use crate::{local, pki, remote, serve, sign, top};

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Show live what running accelerators and cryptoservers do: rates, queues, lanes, health of devices
    #[command(after_help = top::EXAMPLES)]
    Top(top::Args),
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
    /// Sign a file or a digest with a key in a file, or of a cryptoserver
    #[command(after_help = sign::EXAMPLES, mut_arg("private_key", |arg| arg.help(sign::PRIVATE_KEY)))]
    Sign(sign::Args),
    /// Verify a signature with a public key, from a file or a cryptoserver
    #[command(after_help = remote::verify::EXAMPLES)]
    Verify(remote::verify::Args),
    /// List the keys of a cryptoserver, with algorithm, size and rights
    #[command(after_help = remote::list::EXAMPLES)]
    Keys(remote::list::Args),
    /// Print the public half of a private key in a file, or of a key of a cryptoserver
    #[command(after_help = remote::public::EXAMPLES)]
    Pubkey(remote::public::Args),
}

impl Command {
    pub(crate) fn carry_out(&self) -> Result<ExitCode, Failure> {
        match self {
            Self::Top(args) => return top::run(args),
            Self::Serve(args) => serve::run(args),
            Self::Local(args) => local::run(args),
            Self::Relay(args) => remote::relay::run(args),
            Self::Pki(command) => pki::run(command),
            Self::Sign(args) => sign::run(args),
            Self::Verify(args) => remote::verify::run(args),
            Self::Keys(args) => remote::list::run(args),
            Self::Pubkey(args) => remote::public::run(args),
        }?;
        Ok(ExitCode::SUCCESS)
    }
}
