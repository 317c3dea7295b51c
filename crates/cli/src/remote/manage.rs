//! The subcommands of `oarlock keys` that change a key of a cryptoserver.

use clap::ValueEnum;
use oarlock_net::client::CallOptions;
use oarlock_net::proto::KeyType;

use super::{Access, list, refused};
use crate::failure::Failure;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Have a server make a key, which never leaves it
    #[command(after_help = CREATE_EXAMPLES)]
    Create {
        #[command(flatten)]
        target: Target,

        /// Type of the key
        #[arg(long = "type", value_enum, value_name = "TYPE")]
        key_type: Type,
    },
    /// Have a server make a new version of a key
    #[command(after_help = ROTATE_EXAMPLES)]
    Rotate {
        #[command(flatten)]
        target: Target,

        /// Newest version so far; if absent, the server is asked for it
        #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
        version: Option<u32>,
    },
    /// Have a server refuse requests with a key
    #[command(after_help = DISABLE_EXAMPLES)]
    Disable {
        #[command(flatten)]
        target: Target,
    },
    /// Have a server use a disabled key again
    #[command(after_help = ENABLE_EXAMPLES)]
    Enable {
        #[command(flatten)]
        target: Target,
    },
}

/// The key, and the server that has it.
#[derive(clap::Args)]
pub(crate) struct Target {
    /// Id of the key
    #[arg(value_name = "ID")]
    id: String,

    /// Server, as host:port. It is the only one whose key changes
    #[arg(long, value_name = "SERVER")]
    remote: String,

    #[command(flatten)]
    access: Access,

    /// Print one JSON array
    #[arg(long)]
    json: bool,
}

/// The types of keys that a server makes.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Type {
    #[value(name = "rsa-2048")]
    Rsa2048,
    #[value(name = "rsa-3072")]
    Rsa3072,
    #[value(name = "rsa-4096")]
    Rsa4096,
    P256,
    P384,
    P521,
    Ed25519,
    #[value(name = "ml-dsa-44")]
    MlDsa44,
    #[value(name = "ml-dsa-65")]
    MlDsa65,
    #[value(name = "ml-dsa-87")]
    MlDsa87,
    /// A secret key that seals and opens
    #[value(name = "aes-256-gcm")]
    Aes256Gcm,
    /// A secret key for MACs; the same with other hash functions
    #[value(name = "hmac-sha256")]
    HmacSha256,
    #[value(name = "hmac-sha384")]
    HmacSha384,
    #[value(name = "hmac-sha512")]
    HmacSha512,
    /// An identity of age, X25519
    Age,
    /// A post-quantum identity of age, ML-KEM-768 with X25519
    #[value(name = "age-pq")]
    AgePq,
}

impl Type {
    fn number(self) -> KeyType {
        match self {
            Self::Rsa2048 => KeyType::Rsa2048,
            Self::Rsa3072 => KeyType::Rsa3072,
            Self::Rsa4096 => KeyType::Rsa4096,
            Self::P256 => KeyType::P256,
            Self::P384 => KeyType::P384,
            Self::P521 => KeyType::P521,
            Self::Ed25519 => KeyType::Ed25519,
            Self::MlDsa44 => KeyType::MlDsa44,
            Self::MlDsa65 => KeyType::MlDsa65,
            Self::MlDsa87 => KeyType::MlDsa87,
            Self::Aes256Gcm => KeyType::A256gcm,
            Self::HmacSha256 => KeyType::Hs256,
            Self::HmacSha384 => KeyType::Hs384,
            Self::HmacSha512 => KeyType::Hs512,
            Self::Age => KeyType::AgeX25519,
            Self::AgePq => KeyType::AgeHybrid,
        }
    }
}

const CREATE_EXAMPLES: &str = "\
The server generates the key in its managed directory (`managed = true` in its configuration), and uses it when the command \
ends. The client needs the operation `create` for keys of this id. It prints the key as `oarlock keys` does.

Examples:
  oarlock keys create shop --type p256 --remote localhost:7443 --pki demo
  oarlock keys create cards --type aes-256-gcm --remote localhost:7443 --pki demo";

const ROTATE_EXAMPLES: &str = "\
The new version signs, seals, makes MACs and is the recipient of files; the older ones still decrypt, unwrap, open and verify. \
What knows the public half, such as the certificate of a TLS server, is for one version: make a new key for it instead. \
If the key has another version than the one named, the server makes none, so a command may be repeated with the same \
--version. The client needs the operation `rotate`, and without --version `list`.

Example:
  oarlock keys rotate cards --version 1 --remote localhost:7443 --pki demo";

const DISABLE_EXAMPLES: &str = "\
The key stays on the server. The client needs the operation `disable`.

Example:
  oarlock keys disable shop --remote localhost:7443 --pki demo";

const ENABLE_EXAMPLES: &str = "\
The client needs the operation `enable`.

Example:
  oarlock keys enable shop --remote localhost:7443 --pki demo";

pub(super) fn run(command: &Command) -> Result<(), Failure> {
    let (Command::Create { target, .. }
    | Command::Rotate { target, .. }
    | Command::Disable { target }
    | Command::Enable { target }) = command;
    let id = &target.id;
    let options = CallOptions {
        timeout: target.access.own_timeout(),
        ..CallOptions::default()
    };
    let servers = std::slice::from_ref(&target.remote);
    let key = target.access.ask(servers, async |client| {
        let changed = match command {
            Command::Create { key_type, .. } => {
                client.create_key(id, key_type.number(), options).await
            }
            Command::Rotate { version, .. } => {
                let version = match version {
                    Some(version) => *version,
                    None => client.newest_version(id).await.map_err(refused)?,
                };
                client.rotate_key(id, version, options).await
            }
            Command::Disable { .. } => client.disable_key(id, options).await,
            Command::Enable { .. } => client.enable_key(id, options).await,
        };
        changed.map_err(refused)
    })?;
    list::print(&[key], target.json)
}
