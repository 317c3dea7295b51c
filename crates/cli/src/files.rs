//! The subcommands for age files.

use crate::age::{decrypt, encrypt, inspect, keygen};
use crate::failure::Failure;
use crate::fleet;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Encrypt a file or a stream to recipients or with a passphrase, as age does
    #[command(after_help = encrypt::EXAMPLES)]
    Encrypt(encrypt::Args),
    /// Decrypt files of `oarlock encrypt`, age or rage
    #[command(after_help = decrypt::EXAMPLES)]
    Decrypt(decrypt::Args),
    /// Make an identity for `decrypt -i` and the recipient for `encrypt -r`, or a private key
    #[command(after_help = keygen::EXAMPLES)]
    Keygen(keygen::Args),
    /// Show what an age file reveals without a key: kinds of recipients, sizes
    #[command(after_help = inspect::EXAMPLES)]
    Inspect(inspect::Args),
    /// Encrypt, decrypt or rotate whole folders and buckets on a Ray cluster; needs the Python package
    #[command(after_help = fleet::EXAMPLES)]
    Fleet(fleet::Args),
}

impl Command {
    pub(crate) fn carry_out(&self) -> Result<(), Failure> {
        match self {
            Self::Encrypt(args) => encrypt::run(args),
            Self::Decrypt(args) => decrypt::run(args),
            Self::Keygen(args) => keygen::run(args),
            Self::Inspect(args) => inspect::run(args),
            Self::Fleet(args) => fleet::run(args),
        }
    }
}
