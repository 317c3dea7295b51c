//! The `oarlock pubkey` subcommand.

use std::io::Write as _;
use std::path::PathBuf;

use oarlock_local::relay::Reference;

use super::{Access, listed, public};
use crate::failure::{Failure, printable, reason};
use crate::key_files;
use crate::output::{Naming, Needed, Target};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Server, as host:port; repeat for several, of which the first to answer is asked
    #[arg(long, value_name = "SERVER", requires = "key")]
    remote: Vec<String>,

    /// Id of the key there
    #[arg(short, long, value_name = "ID", requires = "remote")]
    key: Option<String>,

    #[command(flatten)]
    access: Access,

    /// Write what stands for the private key in a server's configuration, in place of the public key (`oarlock relay`)
    #[arg(long, requires = "remote")]
    reference: bool,

    /// File to write; standard output if absent
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Private key in PEM, whose public half is printed, or a public key
    #[arg(value_name = "INPUT", conflicts_with = "remote")]
    input: Option<PathBuf>,
}

pub(crate) const EXAMPLES: &str = "\
It prints SubjectPublicKeyInfo in PEM, as `openssl pkey -pubin` reads it, also of a key that a token of a cryptoserver \
holds; of an identity of age the recipient, age1.... The client needs the operation `list`.

Examples:
  oarlock pubkey letter.key
  oarlock pubkey --remote localhost:7443 --pki demo --key web -o web.pub.pem
  oarlock pubkey --remote localhost:7443 --pki demo --key web --reference -o site-key.pem
  oarlock encrypt -r $(oarlock pubkey --remote localhost:7443 --pki demo --key archive) letter.txt";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let target = Target::find(args.output.as_deref())?;
    target.check_apart(&args.access.needed())?;
    let fail = |error: &dyn std::fmt::Display| Failure::new(format!("the public key: {error}"));
    let key = match (&args.input, &args.key) {
        (Some(path), _) => match key_files::public_half(path)? {
            (key, false) => key,
            (key, true) => {
                target.check_apart(&[Needed::new("the private key", path)])?;
                key
            }
        },
        (None, Some(id)) => {
            let ask = async |client| listed(&client, id).await;
            let key = args.access.ask(&args.remote, ask)?;
            if !key.recipient.is_empty() && !args.reference {
                return write(
                    target,
                    format!("{}\n", printable(&key.recipient)).as_bytes(),
                );
            }
            public(&key)?
        }
        (None, None) => {
            return Err(Failure::usage(
                "no key: name a file, or give --remote and --key",
            ));
        }
    };
    let pem = match &args.key {
        Some(id) if args.reference => {
            let reference = Reference::new(id, key).map_err(|error| fail(&error))?;
            reference.to_pem().map_err(|error| fail(&error))?
        }
        _ => key.to_spki_pem().map_err(|error| fail(&error))?,
    };
    write(target, pem.as_bytes())
}

fn write(target: Target, text: &[u8]) -> Result<(), Failure> {
    let output = target.open(Naming::Replace)?;
    output
        .file()
        .write_all(text)
        .map_err(|error| Failure::new(format!("the public key: {}", reason(&error))))?;
    output.commit(false)
}
