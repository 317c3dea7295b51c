//! `oarlock sign`.

use std::fs;
use std::io::{IsTerminal as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use oarlock::Accelerator;
use oarlock::rsa::RsaPublicKey;
use oarlock_net::client::{CallOptions, Client, Operation};
use oarlock_net::proto;

use crate::failure::Failure;
use crate::output::{Naming, Target};
use crate::remote::scheme::Scheme;
use crate::remote::{Access, refused};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Server, as host:port; repeat for several
    #[arg(long, value_name = "SERVER", required = true)]
    remote: Vec<String>,

    /// Id of the key
    #[arg(short, long, value_name = "ID")]
    key: String,

    /// Signature scheme
    #[arg(long, value_enum, default_value_t = Scheme::RsaPkcs1Sha256)]
    scheme: Scheme,

    #[command(flatten)]
    access: Access,

    /// Sign this digest, in hexadecimal, instead of a file's
    #[arg(long, value_name = "HEX", conflicts_with = "input")]
    digest: Option<String>,

    /// Write the signature in hexadecimal, with a newline
    #[arg(long)]
    hex: bool,

    /// File to write; standard output if absent
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// File to sign; standard input if absent or `-`
    #[arg(value_name = "INPUT")]
    input: Option<PathBuf>,
}

pub(crate) const EXAMPLES: &str = "\
Examples:
  oarlock sign --remote localhost:7443 --pki demo --key web -o letter.sig letter.txt
  oarlock sign --remote a.example:7443 --remote b.example:7443 --certificate me.pem --private-key me.key \\
      --ca ca.pem --key web --digest $(sha256sum < letter.txt | cut -c1-64) --hex

Verify the signature with oarlock or with openssl:
  oarlock pubkey --remote localhost:7443 --pki demo --key web -o web.pub.pem
  oarlock verify --public-key web.pub.pem --signature letter.sig letter.txt
  openssl dgst -sha256 -verify web.pub.pem -signature letter.sig letter.txt";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    refuse_to_replace(args.input.as_deref(), args.output.as_deref())?;
    let digest = args
        .scheme
        .digest(args.digest.as_deref(), args.input.as_deref())?;
    let target = Target::find(args.output.as_deref())?;
    if args.output.is_none() && std::io::stdout().is_terminal() && !args.hex {
        return Err(Failure::usage(
            "standard output is a terminal, and the signature is binary: name a file with -o, or give --hex",
        ));
    }
    let signature = args.access.ask(&args.remote, async |client| {
        sign(args, &client, digest).await
    })?;
    let bytes = if args.hex {
        format!("{}\n", hex::encode(signature)).into_bytes()
    } else {
        signature
    };
    let output = target.open(Naming::Replace)?;
    output
        .file()
        .write_all(&bytes)
        .map_err(|error| Failure::new(format!("the signature: {error}")))?;
    output.commit(false)
}

/// The signature of a file that it replaces is of no use.
fn refuse_to_replace(input: Option<&Path>, output: Option<&Path>) -> Result<(), Failure> {
    let file = |path: Option<&Path>| {
        let metadata = fs::metadata(path?).ok()?;
        metadata.is_file().then(|| (metadata.dev(), metadata.ino()))
    };
    match (output, file(input)) {
        (Some(path), Some(input)) if file(output) == Some(input) => Err(Failure::usage(format!(
            "{}: is the file to sign: name another with -o",
            path.display()
        ))),
        _ => Ok(()),
    }
}

async fn sign(args: &Args, client: &Client, digest: Vec<u8>) -> Result<Vec<u8>, Failure> {
    let (named, scheme) = args.scheme.both();
    let operation = Operation::Sign(proto::Sign {
        key_id: args.key.clone(),
        scheme: named.into(),
        digest: digest.clone(),
    });
    let signature = client.call(operation, CallOptions::default()).await;
    let signature = signature.map_err(refused)?.to_vec();
    // A client that may not list keys has no public one to check with.
    let Ok(keys) = client.list_keys().await else {
        return Ok(signature);
    };
    if let Some(key) = keys.iter().find(|key| key.id == args.key) {
        let checked = RsaPublicKey::from_der(&key.public_key).and_then(|public| {
            let accelerator = Accelerator::builder().max_threads(0).build()?;
            let public = accelerator.rsa_public(&public);
            public.verify_digest(scheme, &digest, &signature)
        });
        checked.map_err(|error| {
            Failure::new(format!(
                "the signature that the server sent does not verify: {error}"
            ))
        })?;
    }
    Ok(signature)
}
