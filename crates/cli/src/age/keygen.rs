//! `oarlock keygen`.

use std::fs::OpenOptions;
use std::io::{IsTerminal as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use age::secrecy::{ExposeSecret as _, SecretString};
use age::x25519;
use der::DateTime;
use oarlock_file::age::hybrid;
use zeroize::Zeroizing;

use super::keys;
use crate::failure::{Failure, reason, without_keys};
use crate::input::Input;
use crate::stdout;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// File to write; it must not exist, and only its owner may read it. Standard output if absent
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Make a post-quantum identity: ML-KEM-768 and X25519 together
    #[arg(long, conflicts_with = "converts")]
    pq: bool,

    /// Print the recipients of the identities in INPUT instead of making an identity
    #[arg(short = 'y')]
    converts: bool,

    /// With -y, the identity file; standard input if absent or `-`
    #[arg(value_name = "INPUT")]
    input: Option<PathBuf>,
}

pub(crate) const EXAMPLES: &str = "\
Examples:
  oarlock keygen -o key.txt
  oarlock keygen --pq -o key.txt
  oarlock keygen -y key.txt > recipients.txt";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if let Some(input) = args.input.as_ref().filter(|_| !args.converts) {
        let name = without_keys(&input.display().to_string());
        return Err(Failure::usage(format!(
            "{name}: to write a new identity there give -o {name}; -y prints the recipients of an existing one"
        )));
    }
    let text = if args.converts {
        Zeroizing::new(recipients(args)?)
    } else {
        let (secret, public) = generate(args.pq)?;
        let shown = match &args.output {
            Some(_) => true,
            None => !std::io::stdout().is_terminal(),
        };
        if shown {
            let _ = writeln!(std::io::stderr(), "Public key: {public}");
        }
        let now = UNIX_EPOCH.elapsed().unwrap_or_default();
        let created = DateTime::from_unix_duration(now);
        let created = created.map_err(|_| Failure::new("the clock is beyond the year 9999"))?;
        Zeroizing::new(format!(
            "# created: {created}\n# public key: {public}\n{}\n",
            secret.expose_secret()
        ))
    };
    let Some(path) = &args.output else {
        return stdout::write(&text);
    };
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| Failure::new(format!("{}: {}", path.display(), reason(&error))))
}

/// An identity and its recipient.
fn generate(is_post_quantum: bool) -> Result<(SecretString, String), Failure> {
    if is_post_quantum {
        let identity = hybrid::Identity::generate();
        let identity = identity.map_err(|error| Failure::new(error.to_string()))?;
        return Ok((identity.to_string(), identity.to_public().to_string()));
    }
    let identity = x25519::Identity::generate();
    Ok((identity.to_string(), identity.to_public().to_string()))
}

/// Of the identities that a file has, a line each.
fn recipients(args: &Args) -> Result<String, Failure> {
    let input = Input::open(args.input.as_deref())?;
    let bytes = keys::read_all(&input)?;
    let text = std::str::from_utf8(&bytes);
    let text = text.map_err(|_| Failure::new(format!("{}: not text", input.name)))?;
    let mut recipients = String::new();
    for (number, line) in text.lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let recipient = keys::native_recipient(line).ok_or_else(|| {
            let number = number + 1;
            Failure::new(format!("{}: line {number}: invalid identity", input.name))
        })?;
        recipients.push_str(&recipient);
        recipients.push('\n');
    }
    if recipients.is_empty() {
        return Err(Failure::new(format!(
            "{}: contains no identity",
            input.name
        )));
    }
    Ok(recipients)
}
