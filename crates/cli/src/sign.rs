//! The `oarlock sign` subcommand.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use oarlock::keys::PublicKey;
use oarlock_net::client::{CallOptions, Client, Operation};
use oarlock_net::proto;

use crate::failure::Failure;
use crate::key_files;
use crate::output::{Naming, Needed, Target};
use crate::remote::scheme::Scheme;
use crate::remote::{Access, public, refused};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Server that has the key, as host:port; repeat for several
    #[arg(long, value_name = "SERVER", requires = "key")]
    remote: Vec<String>,

    /// Id of the key there
    #[arg(short, long, value_name = "ID", requires = "remote")]
    key: Option<String>,

    /// Signature scheme; by the type of the key if absent: rsa-pkcs1-sha256, ecdsa-p256-sha256, ...
    #[arg(long, value_enum, value_name = "SCHEME")]
    scheme: Option<Scheme>,

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

/// The help of `--private-key` for a command that signs with it.
pub(crate) const PRIVATE_KEY: &str =
    "Private key to sign with, in PEM; with --remote, the key of --certificate";

pub(crate) const EXAMPLES: &str = "\
A key signs by the schemes of its type. The schemes ed25519 and ml-dsa sign whole messages, which a server takes up to 64 KiB \
of; the others sign a digest.

Examples:
  oarlock keygen --type p256 -o letter.key
  oarlock sign --private-key letter.key -o letter.sig letter.txt
  oarlock sign --remote localhost:7443 --pki demo --key web -o letter.sig letter.txt
  oarlock sign --remote a.example:7443 --remote b.example:7443 --certificate me.pem --private-key me.key \\
      --ca ca.pem --key web --scheme rsa-pkcs1-sha256 --digest $(sha256sum < letter.txt | cut -c1-64) --hex

Verify the signature with oarlock or with openssl:
  oarlock pubkey --remote localhost:7443 --pki demo --key web -o web.pub.pem
  oarlock verify --public-key web.pub.pem --signature letter.sig letter.txt
  openssl dgst -sha256 -verify web.pub.pem -signature letter.sig letter.txt";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let target = Target::find(args.output.as_deref())?;
    target.check_apart(&args.needed())?;
    if args.output.is_none() && std::io::stdout().is_terminal() && !args.hex {
        return Err(Failure::usage(
            "standard output is a terminal, and the signature is binary: name a file with -o, or give --hex",
        ));
    }
    let signature = match (&args.key, args.access.private_key()) {
        (Some(id), _) => args
            .access
            .ask(&args.remote, async |client| sign(args, &client, id).await)?,
        (None, Some(path)) => sign_here(args, path)?,
        (None, None) => {
            return Err(Failure::usage(
                "no key: give --private-key, or --remote and --key",
            ));
        }
    };
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

impl Args {
    /// Returns the files that it reads. The signature would be of no use without the file that it signs.
    fn needed(&self) -> Vec<Needed> {
        let mut needed = self.access.needed();
        if self.digest.is_none() {
            let input = self.input.as_deref().unwrap_or(Path::new("-"));
            needed.push(Needed::new("the file to sign", input));
        }
        needed
    }
}

/// Signs with a key of this machine.
fn sign_here(args: &Args, path: &Path) -> Result<Vec<u8>, Failure> {
    args.access.check_alone()?;
    let key = key_files::private(path)?;
    let scheme = match args.scheme {
        Some(scheme) => scheme,
        None => Scheme::of_key(key.key_type())?,
    };
    scheme.check(key.key_type())?;
    let input = scheme.input(args.digest.as_deref(), args.input.as_deref())?;
    let signed = scheme.sign(&key, &input);
    signed.map_err(|error| Failure::new(format!("{}: {error}", path.display())))
}

/// Signs with a key of a server.
async fn sign(args: &Args, client: &Client, id: &str) -> Result<Vec<u8>, Failure> {
    // A client that may not list keys has no public half by which to choose the scheme and check the signature.
    let keys = client.list_keys().await.unwrap_or_default();
    let listed = keys.iter().find(|key| key.id == id);
    let listed: Option<PublicKey> = listed.map(public).transpose()?;
    let scheme = match (args.scheme, &listed) {
        (Some(scheme), _) => scheme,
        (None, Some(key)) => Scheme::of_key(key.key_type())?,
        (None, None) => Scheme::RsaPkcs1Sha256,
    };
    if let Some(key) = &listed {
        scheme.check(key.key_type())?;
    }
    let input = scheme.input(args.digest.as_deref(), args.input.as_deref())?;
    let operation = Operation::Sign(proto::Sign {
        key_id: id.to_owned(),
        scheme: scheme.named().into(),
        digest: input.clone(),
    });
    let signature = client.call(operation, CallOptions::default()).await;
    let signature = signature.map_err(refused)?.to_vec();
    if let Some(key) = &listed {
        scheme.verify(key, &input, &signature).map_err(|error| {
            Failure::new(format!(
                "the signature that the server sent does not verify: {error}"
            ))
        })?;
    }
    Ok(signature)
}
