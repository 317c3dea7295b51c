//! The `oarlock pki` subcommand.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use oarlock_net::pki::{Authority, PkiError, PkiRequest, Written, new_rsa_key};

use crate::failure::{Failure, reason};
use crate::stdout;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Make a test CA, certificates of a cryptoserver and its clients, and a configuration
    #[command(after_help = EXAMPLES)]
    Init(Args),
    /// Make certificates for more clients
    #[command(after_help = CLIENT_EXAMPLES)]
    Client(ClientArgs),
    /// Renew certificates before they expire, with the keys that they have
    #[command(after_help = RENEW_EXAMPLES)]
    Renew(RenewArgs),
    /// Put the certificates of a client on the revocation list that the server reads
    #[command(after_help = REVOKE_EXAMPLES)]
    Revoke(RevokeArgs),
}

#[derive(clap::Args)]
pub(crate) struct ClientArgs {
    /// Folder that `oarlock pki init` made
    #[arg(value_name = "DIRECTORY")]
    directory: PathBuf,

    /// Name of the client, which the server's `[[client]]` entries match
    #[arg(value_name = "NAME", required = true)]
    name: Vec<String>,

    /// Validity in days; it ends with that of the CA at the latest
    #[arg(long, default_value_t = 365)]
    days: u32,
}

#[derive(clap::Args)]
pub(crate) struct RenewArgs {
    /// Folder that `oarlock pki init` made
    #[arg(value_name = "DIRECTORY")]
    directory: PathBuf,

    /// `server`, `ca`, or the name of a client; all of them if absent
    #[arg(value_name = "NAME")]
    name: Vec<String>,

    /// Validity from now on, in days; it ends with that of the CA at the latest
    #[arg(long, default_value_t = 365)]
    days: u32,
}

#[derive(clap::Args)]
pub(crate) struct RevokeArgs {
    /// Folder that `oarlock pki init` made
    #[arg(value_name = "DIRECTORY")]
    directory: PathBuf,

    /// Name of the client
    #[arg(value_name = "NAME", required = true)]
    name: Vec<String>,
}

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folder for the files; made if missing. Nothing in it is overwritten
    #[arg(value_name = "DIRECTORY")]
    directory: PathBuf,

    /// DNS name or IP address of the server; repeat for several
    #[arg(long, value_name = "NAME", default_values = ["localhost", "127.0.0.1", "::1"])]
    server_name: Vec<String>,

    /// Name of a client; repeat for several
    #[arg(long, value_name = "NAME", default_value = "client")]
    client: Vec<String>,

    /// Also make an RSA key with this id for the server to sign with; repeat for several
    #[arg(long, value_name = "ID")]
    key: Vec<String>,

    /// Bits of these keys
    #[arg(long, value_name = "BITS", default_value = "2048", value_parser = ["2048", "3072", "4096"])]
    bits: String,

    /// Validity of the certificates, in days
    #[arg(long, default_value_t = 365)]
    days: u32,
}

const EXAMPLES: &str = "\
Examples:
  oarlock pki init demo --key web
  oarlock pki init certs --server-name crypto.example --client proxy-1 --client proxy-2";

const CLIENT_EXAMPLES: &str = "\
Give the client its NAME.pem, NAME.key and ca.pem.

Example:
  oarlock pki client demo alice";

const RENEW_EXAMPLES: &str = "\
A renewed CA keeps its key, so certificates and copies of ca.pem stay good. Its revocation list is renewed with it. A \
running server reads its own files again on SIGHUP.

Examples:
  oarlock pki renew demo                 all certificates that are not revoked
  oarlock pki renew demo alice";

const REVOKE_EXAMPLES: &str = "\
It writes DIRECTORY/crl.pem, which the server's configuration names as `client_crl`. A running server reads it again \
on SIGHUP, and ends the connections of the client.

Example:
  oarlock pki revoke demo alice
  systemctl reload oarlock-serve    # or kill -HUP and the server's process id";

pub(crate) fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Init(args) => init(args),
        Command::Client(args) => client(args),
        Command::Renew(args) => renew(args),
        Command::Revoke(args) => revoke(args),
    }
}

fn client(args: &ClientArgs) -> Result<(), Failure> {
    let authority = Authority::open(&args.directory).map_err(failure)?;
    for name in &args.name {
        let written = authority.client(name, args.days).map_err(failure)?;
        stdout::write(lines(&written))?;
    }
    Ok(())
}

fn renew(args: &RenewArgs) -> Result<(), Failure> {
    let mut authority = Authority::open(&args.directory).map_err(failure)?;
    let renewed = authority.renew(&args.name, args.days);
    let (written, revoked) = renewed.map_err(failure)?;
    let mut text = lines(&written);
    for name in revoked {
        text.push_str(&format!("{name}: left out, because it is revoked\n"));
    }
    stdout::write(text)
}

fn revoke(args: &RevokeArgs) -> Result<(), Failure> {
    let authority = Authority::open(&args.directory).map_err(failure)?;
    for name in &args.name {
        let count = authority.revoke(name).map_err(failure)?;
        let certificates = match count {
            1 => "1 certificate".into(),
            count => format!("{count} certificates"),
        };
        stdout::write(format!(
            "{}: now revokes {certificates} of {name}\n",
            args.directory.join("crl.pem").display()
        ))?;
    }
    stdout::write("a server with this file as client_crl reads it on SIGHUP\n")
}

fn lines(written: &[Written]) -> String {
    let line = |written: &Written| match &written.valid_until {
        Some(date) => format!("{}: valid until {date}\n", written.path.display()),
        None => format!("{}\n", written.path.display()),
    };
    written.iter().map(line).collect()
}

fn failure(error: PkiError) -> Failure {
    Failure::new(error.to_string())
}

fn init(args: &Args) -> Result<(), Failure> {
    for id in &args.key {
        let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_.".contains(char);
        if id.is_empty() || id.starts_with(['.', '-']) || !id.chars().all(is_plain) {
            return Err(Failure::usage(format!(
                "--key {id}: use letters, digits and - _ . alone, and no . or - at the start"
            )));
        }
    }
    let request = PkiRequest {
        server_names: args.server_name.clone(),
        clients: args.client.clone(),
        days: args.days,
    };
    let written = request.init(&args.directory);
    let mut written = written.map_err(|error| Failure::new(error.to_string()))?;
    let keys = args.directory.join("keys");
    let mut folder = fs::DirBuilder::new();
    let made = folder.recursive(true).mode(0o700).create(&keys);
    made.map_err(|error| failed(&keys, &error))?;
    let bits = args.bits.parse().unwrap_or(2048);
    for id in &args.key {
        let key = new_rsa_key(bits).map_err(|error| Failure::new(error.to_string()))?;
        let path = keys.join(format!("{id}.pem"));
        write(&path, key.as_bytes(), 0o600)?;
        written.push(path);
    }
    let path = args.directory.join("cryptoserver.toml");
    write(&path, CONFIGURATION.as_bytes(), 0o644)?;
    written.push(path);
    let names = written
        .iter()
        .map(|path| format!("{}\n", path.display()))
        .collect::<String>();
    stdout::write(&names)
}

fn write(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(mode);
    let written = options
        .open(path)
        .and_then(|mut file| file.write_all(bytes));
    written.map_err(|error| failed(path, &error))
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("{}: {}", path.display(), reason(error)))
}

/// The first configuration of `oarlock serve`.
const CONFIGURATION: &str = r#"# A cryptoserver for tests; docs/cryptoserver.md has every setting.
listen = ["127.0.0.1:7443"]

[tls]
certificate = "server.pem"
key = "server.key"
client_ca = "ca.pem"
client_crl = "crl.pem"

[[device]]
kind = "cpu"

# Every *.pem, *.key and *.jwk in it, watched.
[[key]]
directory = "keys"

# Every client with a certificate of this CA.
[[client]]
identity = "*"
keys = ["*"]
operations = ["sign", "decrypt", "raw_private", "unwrap", "mac", "verify_mac", "seal", "open", "mod_exp", "random", "list"]

[metrics]
listen = "127.0.0.1:9464"
"#;
