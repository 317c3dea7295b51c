//! The `oarlock verify` subcommand.

use std::path::{Path, PathBuf};

use oarlock::keys::{KeyType, PublicKey};

use super::scheme::Scheme;
use super::{Access, listed, public_of_all};
use crate::failure::Failure;
use crate::{key_files, stdout};

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

    /// Signature scheme; by the type of the key if absent: rsa-pkcs1-sha256, ecdsa-p256-sha256, ...
    #[arg(long, value_enum, value_name = "SCHEME")]
    scheme: Option<Scheme>,

    /// The signed digest, in hexadecimal, instead of a file
    #[arg(long, value_name = "HEX", conflicts_with = "input")]
    digest: Option<String>,

    /// Signed file; standard input if absent or `-`
    #[arg(value_name = "INPUT")]
    input: Option<PathBuf>,
}

pub(crate) const EXAMPLES: &str = "\
The exit status is 0 if the signature is good, and 1 if it is not or cannot be verified. With --remote a signature by \
any version of the key is good; for one by an older version the output names it.

Examples:
  oarlock verify --public-key web.pub.pem --signature letter.sig letter.txt
  oarlock verify --remote localhost:7443 --pki demo --key web --signature letter.sig letter.txt";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let keys = match (&args.public_key, &args.key) {
        (Some(path), _) => vec![(0, key_files::public(path)?)],
        (None, Some(id)) => {
            let ask = async |client| listed(&client, id).await;
            public_of_all(&args.access.ask(&args.remote, ask)?)?
        }
        (None, None) => {
            return Err(Failure::usage(
                "no key: give --public-key FILE, or --remote SERVER and --key ID",
            ));
        }
    };
    let (newest, key) = &keys[0];
    let scheme = match args.scheme {
        Some(scheme) => scheme,
        None => Scheme::of_key(key.key_type())?,
    };
    scheme.check(key.key_type())?;
    // Read once, since it may come from a pipe. A key of RSA may have versions of other lengths.
    let read = key_files::read(&args.signature)?;
    let signatures = keys
        .iter()
        .map(|(number, key)| Ok((number, key, signature_of(&read, &args.signature, key)?)));
    let mut signatures: Vec<Result<_, Failure>> = signatures.collect();
    if signatures.iter().all(Result::is_err) {
        return signatures.swap_remove(0).map(drop);
    }
    let input = scheme.input(args.digest.as_deref(), args.input.as_deref())?;
    let mut signatures = signatures.iter().flatten();
    let good = signatures.find(|(_, key, signature)| scheme.verify(key, &input, signature).is_ok());
    match good {
        Some((number, ..)) if *number != newest => {
            stdout::write(format!("good signature by version {number} of the key\n"))
        }
        Some(_) => stdout::write("good signature\n"),
        None => Err(Failure::new(format!(
            "{}: bad signature: by another key, of other data, or not {}",
            args.signature.display(),
            scheme.name(),
        ))),
    }
}

/// Returns the signature by `key` in what was read from `path`: binary or in hexadecimal.
fn signature_of(signature: &[u8], path: &Path, key: &PublicKey) -> Result<Vec<u8>, Failure> {
    let bytes = key.signature_bytes_max();
    let may_be_shorter = matches!(key.key_type(), KeyType::Ec(_));
    let fits = |signature: &[u8]| match may_be_shorter {
        // DER begins with byte 0x30; in hexadecimal, its first character is a 3.
        true => signature.first() == Some(&0x30) && signature.len() <= bytes,
        false => signature.len() == bytes,
    };
    if fits(signature) {
        return Ok(signature.to_vec());
    }
    match hex::decode(signature.trim_ascii()) {
        Ok(decoded) if fits(&decoded) => Ok(decoded),
        _ => Err(Failure::new(format!(
            "{}: {} bytes, but a signature by this key has {}{bytes}",
            path.display(),
            signature.len(),
            if may_be_shorter { "up to " } else { "" },
        ))),
    }
}
