//! `oarlock sign`.

use std::io::{IsTerminal as _, Read as _, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use oarlock::Accelerator;
use oarlock::rsa::{Hash, RsaPublicKey, SignatureScheme};
use oarlock_net::client::{CallOptions, Client, Operation, Settings};
use oarlock_net::proto;
use oarlock_net::tls::TlsFiles;
use sha2::{Digest, Sha256, Sha384, Sha512};

use crate::failure::Failure;
use crate::input::Input;
use crate::output::{Naming, Target};

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

    /// Folder with ca.pem, NAME.pem and NAME.key of the client, as `oarlock pki init` makes it
    #[arg(long, value_name = "DIRECTORY")]
    pki: Option<PathBuf>,

    /// NAME of the client in that folder
    #[arg(long, value_name = "NAME", default_value = "client", requires = "pki")]
    client: String,

    /// Certificate of the client, instead of --pki
    #[arg(long, value_name = "FILE", conflicts_with = "pki", requires_all = ["private_key", "ca"])]
    certificate: Option<PathBuf>,

    /// Its private key
    #[arg(long, value_name = "FILE", requires = "certificate")]
    private_key: Option<PathBuf>,

    /// CA of the servers
    #[arg(long, value_name = "FILE", requires = "certificate")]
    ca: Option<PathBuf>,

    /// Talk to a server that has no TLS
    #[arg(long, conflicts_with_all = ["pki", "certificate"])]
    plaintext: bool,

    /// Name in the servers' certificates, if it is not the host
    #[arg(long, value_name = "NAME")]
    server_name: Option<String>,

    /// Sign this digest, in hexadecimal, instead of a file's
    #[arg(long, value_name = "HEX", conflicts_with = "input")]
    digest: Option<String>,

    /// Seconds before giving up
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    timeout: u16,

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

#[derive(Clone, Copy, ValueEnum)]
enum Scheme {
    RsaPkcs1Sha256,
    RsaPkcs1Sha384,
    RsaPkcs1Sha512,
    RsaPssSha256,
    RsaPssSha384,
    RsaPssSha512,
}

pub(crate) const EXAMPLES: &str = "\
Examples:
  oarlock sign --remote localhost:7443 --pki demo --key web -o letter.sig letter.txt
  oarlock sign --remote a.example:7443 --remote b.example:7443 --certificate me.pem --private-key me.key \\
      --ca ca.pem --key web --digest $(sha256sum < letter.txt | cut -c1-64) --hex

Verify the signature with openssl:
  openssl dgst -sha256 -verify web.pub.pem -signature letter.sig letter.txt";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let settings = settings(args)?;
    let digest = match &args.digest {
        Some(hex) => given_digest(args.scheme, hex)?,
        None => digest_of(args)?,
    };
    let target = Target::find(args.output.as_deref())?;
    if args.output.is_none() && std::io::stdout().is_terminal() && !args.hex {
        return Err(Failure::usage(
            "standard output is a terminal, and the signature is binary: name a file with -o, or give --hex",
        ));
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("no runtime: {error}")))?;
    let signature = runtime.block_on(sign(args, settings, digest))?;
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

async fn sign(args: &Args, settings: Settings, digest: Vec<u8>) -> Result<Vec<u8>, Failure> {
    let fail = |error: oarlock_net::client::ClientError| Failure::new(error.message);
    let patience = settings.timeout;
    let client = Client::new(settings).map_err(fail)?;
    client.ready(patience).await.map_err(fail)?;
    let (named, scheme) = args.scheme.both();
    let operation = Operation::Sign(proto::Sign {
        key_id: args.key.clone(),
        scheme: named.into(),
        digest: digest.clone(),
    });
    let signature = client.call(operation, CallOptions::default()).await;
    let signature = signature.map_err(fail)?.to_vec();
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

fn settings(args: &Args) -> Result<Settings, Failure> {
    let files = match (&args.pki, &args.certificate, &args.private_key, &args.ca) {
        (Some(folder), ..) => Some(TlsFiles {
            certificate: folder.join(format!("{}.pem", args.client)),
            key: folder.join(format!("{}.key", args.client)),
            roots: folder.join("ca.pem"),
            revoked: None,
        }),
        (None, Some(certificate), Some(key), Some(ca)) => Some(TlsFiles {
            certificate: certificate.clone(),
            key: key.clone(),
            roots: ca.clone(),
            revoked: None,
        }),
        _ if args.plaintext => None,
        _ => {
            return Err(Failure::usage(
                "no client certificate: give --pki DIRECTORY, or --certificate, --private-key and --ca",
            ));
        }
    };
    let tls = files.map(|files| files.client()).transpose();
    let tls = tls.map_err(|error| Failure::new(error.to_string()))?;
    let timeout = Duration::from_secs(args.timeout.max(1).into());
    Ok(Settings {
        server_name: args.server_name.clone(),
        timeout,
        connect_timeout: timeout.min(Duration::from_secs(3)),
        ..Settings::new(args.remote.clone(), tls)
    })
}

fn given_digest(scheme: Scheme, text: &str) -> Result<Vec<u8>, Failure> {
    let bytes = scheme.bytes();
    match hex::decode(text.trim()) {
        Ok(digest) if digest.len() == bytes => Ok(digest),
        _ => Err(Failure::usage(format!(
            "--digest: a digest of this scheme has {} hexadecimal digits",
            2 * bytes
        ))),
    }
}

fn digest_of(args: &Args) -> Result<Vec<u8>, Failure> {
    let mut input = Input::open(args.input.as_deref())?;
    match args.scheme.bytes() {
        32 => hashed::<Sha256>(&mut input),
        48 => hashed::<Sha384>(&mut input),
        _ => hashed::<Sha512>(&mut input),
    }
}

fn hashed<D: Digest>(input: &mut Input) -> Result<Vec<u8>, Failure> {
    let mut digest = D::new();
    let mut buffer = vec![0; 1 << 18];
    loop {
        match input.file.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => digest.update(&buffer[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => {
                let reason = crate::failure::reason(&error);
                return Err(Failure::new(format!("{}: {reason}", input.name)));
            }
        }
    }
    input.check_unchanged()?;
    Ok(digest.finalize().to_vec())
}

impl Scheme {
    fn both(self) -> (proto::SignatureScheme, SignatureScheme) {
        use proto::SignatureScheme as Named;
        match self {
            Self::RsaPkcs1Sha256 => (Named::RsaPkcs1Sha256, SignatureScheme::Pkcs1(Hash::Sha256)),
            Self::RsaPkcs1Sha384 => (Named::RsaPkcs1Sha384, SignatureScheme::Pkcs1(Hash::Sha384)),
            Self::RsaPkcs1Sha512 => (Named::RsaPkcs1Sha512, SignatureScheme::Pkcs1(Hash::Sha512)),
            Self::RsaPssSha256 => (Named::RsaPssSha256, SignatureScheme::Pss(Hash::Sha256)),
            Self::RsaPssSha384 => (Named::RsaPssSha384, SignatureScheme::Pss(Hash::Sha384)),
            Self::RsaPssSha512 => (Named::RsaPssSha512, SignatureScheme::Pss(Hash::Sha512)),
        }
    }

    /// Of a digest.
    fn bytes(self) -> usize {
        match self {
            Self::RsaPkcs1Sha256 | Self::RsaPssSha256 => 32,
            Self::RsaPkcs1Sha384 | Self::RsaPssSha384 => 48,
            Self::RsaPkcs1Sha512 | Self::RsaPssSha512 => 64,
        }
    }
}
