//! `oarlock verify`.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::ValueEnum as _;
use oarlock::Accelerator;
use oarlock::rsa::RsaPublicKey;

use super::scheme::Scheme;
use super::{Access, listed};
use crate::failure::{Failure, reason};
use crate::stdout;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Public key in PEM, as `oarlock pubkey` and `openssl pkey -pubout` write it
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["remote", "key"]
    )]
    public_key: Option<PathBuf>,

    /// Ask this server for the public key, as host:port; repeat for several
    #[arg(long, value_name = "SERVER", requires = "key")]
    remote: Vec<String>,

    /// Id of the key there
    #[arg(short, long, value_name = "ID", requires = "remote")]
    key: Option<String>,

    #[command(flatten)]
    access: Access,

    /// The signature, binary or in hexadecimal
    #[arg(short, long, value_name = "FILE")]
    signature: PathBuf,

    /// Signature scheme
    #[arg(long, value_enum, default_value_t = Scheme::RsaPkcs1Sha256)]
    scheme: Scheme,

    /// The signed digest, in hexadecimal, instead of a file
    #[arg(long, value_name = "HEX", conflicts_with = "input")]
    digest: Option<String>,

    /// Signed file; standard input if absent or `-`
    #[arg(value_name = "INPUT")]
    input: Option<PathBuf>,
}

pub(crate) const EXAMPLES: &str = "\
The exit status is 0 if the signature is good, and 1 if it is not or cannot be verified.

Examples:
  oarlock verify --public-key web.pub.pem --signature letter.sig letter.txt
  oarlock verify --remote localhost:7443 --pki demo --key web --signature letter.sig letter.txt";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let key = match (&args.public_key, &args.key) {
        (Some(path), _) => read_key(path)?,
        (None, Some(id)) => args
            .access
            .ask(&args.remote, async |client| listed(&client, id).await)?,
        (None, None) => {
            return Err(Failure::usage(
                "no key: give --public-key FILE, or --remote SERVER and --key ID",
            ));
        }
    };
    let signature = read_signature(&args.signature, key.bytes())?;
    let digest = args
        .scheme
        .digest(args.digest.as_deref(), args.input.as_deref())?;
    let accelerator = Accelerator::builder().max_threads(0).build();
    let accelerator = accelerator.map_err(|error| Failure::new(error.to_string()))?;
    let verified =
        accelerator
            .rsa_public(&key)
            .verify_digest(args.scheme.both().1, &digest, &signature);
    if verified.is_err() {
        let scheme = args.scheme.to_possible_value();
        return Err(Failure::new(format!(
            "{}: bad signature: by another key, of other data, or not {}",
            args.signature.display(),
            scheme.as_ref().map_or("of this scheme", |it| it.get_name()),
        )));
    }
    stdout::write("good signature\n")
}

fn read_key(path: &Path) -> Result<RsaPublicKey, Failure> {
    let text = read(path)?;
    let text = str::from_utf8(&text).unwrap_or_default().trim();
    if !text.starts_with("-----BEGIN ") && !text.starts_with("ssh-") {
        return Err(Failure::new(format!(
            "{}: not a public key in PEM, as oarlock pubkey and openssl pkey -pubout write it",
            path.display()
        )));
    }
    RsaPublicKey::from_pem(text)
        .map_err(|error| Failure::new(format!("{}: {error}", path.display())))
}

/// Reads a signature as long as the modulus, `bytes`, or in hexadecimal.
fn read_signature(path: &Path, bytes: usize) -> Result<Vec<u8>, Failure> {
    let signature = read(path)?;
    if signature.len() == bytes {
        return Ok(signature);
    }
    let digits = signature.trim_ascii();
    match hex::decode(digits) {
        Ok(decoded) if decoded.len() == bytes => Ok(decoded),
        _ => Err(Failure::new(format!(
            "{}: {} bytes, but a signature by this key has {bytes}",
            path.display(),
            signature.len()
        ))),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let failed =
        |error: std::io::Error| Failure::new(format!("{}: {}", path.display(), reason(&error)));
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(BYTES_MAX)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    Ok(bytes)
}

/// The most that is read of a key or a signature: more than either has.
const BYTES_MAX: u64 = 64 << 10;
