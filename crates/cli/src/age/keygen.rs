//! The `oarlock keygen` subcommand.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use age::secrecy::{ExposeSecret as _, SecretString};
use age::x25519;
use clap::ValueEnum;
use der::DateTime;
use oarlock::keys::{Curve, KeyType, MlDsa, MlKem, PrivateKey};
use oarlock_file::age::hybrid;
use zeroize::Zeroizing;

use super::keys;
use crate::failure::{Failure, reason, without_keys};
use crate::folder::Place;
use crate::input::Input;
use crate::stdout;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// File to write; it must not exist, and only its owner may read it. Standard output if absent or `-`
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Make a post-quantum identity: ML-KEM-768 and X25519 together
    #[arg(long, conflicts_with = "converts")]
    pq: bool,

    /// Make a private key of this type, in PKCS#8 and PEM, instead of an identity of age
    #[arg(long = "type", value_enum, value_name = "TYPE", conflicts_with_all = ["pq", "converts"])]
    made: Option<Made>,

    /// Print the recipients of the identities in INPUT instead of making an identity
    #[arg(short = 'y')]
    converts: bool,

    /// With -y, the identity file; standard input if absent or `-`
    #[arg(value_name = "INPUT")]
    input: Option<PathBuf>,
}

/// The types of private keys that it makes.
#[derive(Clone, Copy, ValueEnum)]
enum Made {
    /// An RSA key of 2048 bits
    Rsa,
    P256,
    P384,
    P521,
    Ed25519,
    X25519,
    #[value(name = "ml-kem-512")]
    MlKem512,
    #[value(name = "ml-kem-768")]
    MlKem768,
    #[value(name = "ml-kem-1024")]
    MlKem1024,
    #[value(name = "ml-dsa-44")]
    MlDsa44,
    #[value(name = "ml-dsa-65")]
    MlDsa65,
    #[value(name = "ml-dsa-87")]
    MlDsa87,
}

impl Made {
    fn key_type(self) -> KeyType {
        match self {
            Self::Rsa => KeyType::Rsa,
            Self::P256 => KeyType::Ec(Curve::P256),
            Self::P384 => KeyType::Ec(Curve::P384),
            Self::P521 => KeyType::Ec(Curve::P521),
            Self::Ed25519 => KeyType::Ed25519,
            Self::X25519 => KeyType::X25519,
            Self::MlKem512 => KeyType::MlKem(MlKem::MlKem512),
            Self::MlKem768 => KeyType::MlKem(MlKem::MlKem768),
            Self::MlKem1024 => KeyType::MlKem(MlKem::MlKem1024),
            Self::MlDsa44 => KeyType::MlDsa(MlDsa::MlDsa44),
            Self::MlDsa65 => KeyType::MlDsa(MlDsa::MlDsa65),
            Self::MlDsa87 => KeyType::MlDsa(MlDsa::MlDsa87),
        }
    }
}

impl Args {
    /// Returns the file to write, or `None` for standard output.
    fn file(&self) -> Option<&Path> {
        let path = self.output.as_deref();
        path.filter(|path| path.as_os_str() != "-")
    }
}

pub(crate) const EXAMPLES: &str = "\
Examples:
  oarlock keygen -o key.txt
  oarlock keygen --pq -o pq.txt
  oarlock keygen -y key.txt > recipients.txt

Private keys for signatures, key agreement and encapsulation, which openssl reads too:
  oarlock keygen --type p256 -o site.key
  oarlock pubkey site.key -o site.pub.pem";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if let Some(input) = args.input.as_ref().filter(|_| !args.converts) {
        let name = without_keys(&input.display().to_string());
        let what = if args.made.is_some() {
            "key"
        } else {
            "identity"
        };
        return Err(Failure::usage(format!(
            "{name}: to write a new {what} there give -o {name}; -y prints the recipients of an existing identity"
        )));
    }
    if args.file().is_none() {
        stdout::check_open()?;
    }
    if args.converts {
        return write(args, recipients(args)?.as_bytes());
    }
    if let Some(made) = args.made {
        let failed = |error: oarlock::Error| Failure::new(error.to_string());
        let key = PrivateKey::generate(made.key_type()).map_err(failed)?;
        return write(args, key.to_pkcs8_pem().map_err(failed)?.as_bytes());
    }
    let (secret, public) = generate(args.pq)?;
    let now = UNIX_EPOCH.elapsed().unwrap_or_default();
    let created = DateTime::from_unix_duration(now);
    let created = created.map_err(|_| Failure::new("the clock is beyond the year 9999"))?;
    let text = Zeroizing::new(format!(
        "# created: {created}\n# public key: {public}\n{}\n",
        secret.expose_secret()
    ));
    write(args, text.as_bytes())?;
    // A reader may encrypt to this recipient at once, so the identity is already on disk.
    if args.file().is_some() || !std::io::stdout().is_terminal() {
        let _ = writeln!(std::io::stderr(), "Public key: {public}");
    }
    Ok(())
}

/// Writes `text` to a new file and syncs it, or writes it to standard output.
fn write(args: &Args, text: &[u8]) -> Result<(), Failure> {
    let Some(path) = args.file() else {
        return stdout::write(text);
    };
    let fail = |error: io::Error| {
        let name = path.display();
        Failure::new(match error.kind() {
            io::ErrorKind::AlreadyExists => format!("{name}: exists already: give another name"),
            _ => format!("{name}: {}", reason(&error)),
        })
    };
    let place = Place::of(path).map_err(fail)?;
    let file = place.folder.temporary(0o600).map_err(fail)?;
    let written = file.file().write_all(text);
    written
        .and_then(|()| file.file().sync_all())
        .and_then(|()| file.name_new(&place.name))
        .and_then(|()| place.folder.sync())
        .map_err(fail)
}

/// Generates an identity, and returns it with its recipient.
fn generate(is_post_quantum: bool) -> Result<(SecretString, String), Failure> {
    if is_post_quantum {
        let identity = hybrid::Identity::generate();
        let identity = identity.map_err(|error| {
            Failure::new(format!("no random bytes for a key: {}", reason(&error)))
        })?;
        return Ok((identity.to_string(), identity.to_public().to_string()));
    }
    let identity = x25519::Identity::generate();
    Ok((identity.to_string(), identity.to_public().to_string()))
}

/// Returns the recipients of the identities in the input file, one a line.
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
