//! `oarlock keygen`.

use std::fs::OpenOptions;
use std::io::{IsTerminal as _, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use age::secrecy::ExposeSecret as _;
use age::x25519::Identity;
use zeroize::Zeroizing;

use crate::failure::{Failure, reason};
use crate::input::Input;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// File to write, which must not be there yet; only its owner may read it. Standard output if absent
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Print the recipients of the identities in INPUT in place of making one
    #[arg(short = 'y')]
    converts: bool,

    /// With -y, the identity file; standard input if absent or `-`
    #[arg(value_name = "INPUT", requires = "converts")]
    input: Option<PathBuf>,
}

pub(crate) const EXAMPLES: &str = "\
Examples:
  oarlock keygen -o key.txt
  oarlock keygen -y key.txt > recipients.txt";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let text = if args.converts {
        Zeroizing::new(recipients(args)?)
    } else {
        let identity = Identity::generate();
        let public = identity.to_public();
        let shown = match &args.output {
            Some(_) => true,
            None => !std::io::stdout().is_terminal(),
        };
        if shown {
            let _ = writeln!(std::io::stderr(), "Public key: {public}");
        }
        let secret = identity.to_string();
        Zeroizing::new(format!(
            "# public key: {public}\n{}\n",
            secret.expose_secret()
        ))
    };
    let Some(path) = &args.output else {
        return crate::to_stdout(text.as_bytes());
    };
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| Failure::new(format!("{}: {}", path.display(), reason(&error))))
}

/// Of the identities that a file has, a line each.
fn recipients(args: &Args) -> Result<String, Failure> {
    let mut input = Input::open(args.input.as_deref())?;
    let mut text = Zeroizing::new(String::new());
    input
        .file
        .read_to_string(&mut text)
        .map_err(|error| input.failed(0, &error))?;
    let mut recipients = String::new();
    for (number, line) in text.lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let identity: Identity = line.parse().map_err(|_| {
            let number = number + 1;
            Failure::new(format!("{}: line {number} is no identity", input.name))
        })?;
        recipients.push_str(&format!("{}\n", identity.to_public()));
    }
    if recipients.is_empty() {
        return Err(Failure::new(format!("{}: has no identity", input.name)));
    }
    Ok(recipients)
}
