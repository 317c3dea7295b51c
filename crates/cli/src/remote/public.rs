//! `oarlock pubkey`.

use std::io::Write as _;
use std::path::PathBuf;

use oarlock_local::relay::Reference;
use pkcs8::{EncodePublicKey as _, LineEnding};

use super::{Access, listed};
use crate::failure::{Failure, reason};
use crate::output::{Naming, Target};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Server, as host:port; repeat for several, of which the first to answer is asked
    #[arg(long, value_name = "SERVER", required = true)]
    remote: Vec<String>,

    /// Id of the key
    #[arg(short, long, value_name = "ID")]
    key: String,

    #[command(flatten)]
    access: Access,

    /// Write what stands for the private key in a server's configuration, in place of the public key (`oarlock relay`)
    #[arg(long)]
    reference: bool,

    /// File to write; standard output if absent
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) const EXAMPLES: &str = "\
It prints SubjectPublicKeyInfo in PEM, as `openssl pkey -pubin` reads it, also of a key that a token holds. The
client needs the operation `list`.

Examples:
  oarlock pubkey --remote localhost:7443 --pki demo --key web -o web.pub.pem
  oarlock pubkey --remote localhost:7443 --pki demo --key web --reference -o site-key.pem";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let target = Target::find(args.output.as_deref())?;
    let key = args.access.ask(&args.remote, async |client| {
        listed(&client, &args.key).await
    })?;
    let fail = |error: &dyn std::fmt::Display| Failure::new(format!("the public key: {error}"));
    let pem = if args.reference {
        let reference = Reference::new(&args.key, key).map_err(|error| fail(&error))?;
        reference.to_pem().map_err(|error| fail(&error))?
    } else {
        key.to_public_key_pem(LineEnding::LF)
            .map_err(|error| fail(&error))?
    };
    let output = target.open(Naming::Replace)?;
    output
        .file()
        .write_all(pem.as_bytes())
        .map_err(|error| Failure::new(format!("the public key: {}", reason(&error))))?;
    output.commit(false)
}
