//! The parts that subcommands share that use a cryptoserver.
//!
//! ```text
//! mod.rs    the servers, and the certificate   list.rs    keys
//! scheme.rs signature schemes and digests      public.rs  pubkey
//! verify.rs checks with a public key           relay.rs   signatures for servers of this machine
//! manage.rs new, rotated and disabled keys
//! ```

pub(crate) mod list;
mod manage;
pub(crate) mod public;
pub(crate) mod relay;
pub(crate) mod scheme;
pub(crate) mod verify;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use oarlock::keys::PublicKey;
use oarlock_net::client::{Client, ClientError, RemoteDevice, Settings};
use oarlock_net::proto;
use oarlock_net::tls::TlsFiles;

use crate::failure::Failure;
use crate::output::Needed;

/// How a client shows who it is, and what it expects of the servers.
#[derive(clap::Args)]
pub(crate) struct Access {
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
    #[arg(long, value_name = "FILE")]
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

    /// Seconds before giving up, at least 1; 10 if absent, 120 to change a key
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u16>,
}

impl Access {
    /// Returns the limit of `--timeout`, if it was given.
    fn own_timeout(&self) -> Option<Duration> {
        let seconds = self.timeout?.max(1);
        Some(Duration::from_secs(seconds.into()))
    }

    /// Connects to the first of `servers` that answers, and has `ask` use it.
    pub(crate) fn ask<T>(
        &self,
        servers: &[String],
        ask: impl AsyncFnOnce(Client) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let settings = self.settings(servers)?;
        let patience = settings.timeout;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::new(format!("no runtime: {error}")))?;
        runtime.block_on(async {
            let client = Client::new(settings).map_err(refused)?;
            client.ready(patience).await.map_err(refused)?;
            ask(client).await
        })
    }

    /// Connects to the first of `servers` that answers, and stays connected, for callers on any thread.
    pub(crate) fn connect(&self, servers: &[String]) -> Result<Arc<RemoteDevice>, Failure> {
        RemoteDevice::connect("remote", self.settings(servers)?).map_err(refused)
    }

    fn settings(&self, servers: &[String]) -> Result<Settings, Failure> {
        let tls = self.files()?.map(|files| files.client()).transpose();
        let tls = tls.map_err(|error| Failure::new(error.to_string()))?;
        let timeout = Duration::from_secs(self.timeout.unwrap_or(TIMEOUT_DEFAULT).max(1).into());
        Ok(Settings {
            server_name: self.server_name.clone(),
            timeout,
            connect_timeout: timeout.min(Duration::from_secs(3)),
            ..Settings::new(servers.to_vec(), tls)
        })
    }

    /// Returns the file of a private key, whatever it is for.
    pub(crate) fn private_key(&self) -> Option<&Path> {
        self.private_key.as_deref()
    }

    /// Returns the files that the options name.
    pub(crate) fn needed(&self) -> Vec<Needed> {
        let folder = self.pki.as_deref();
        let of_folder = |name: &str| folder.map(|folder| folder.join(name));
        let given = |path: &Option<PathBuf>, name: &str| path.clone().or_else(|| of_folder(name));
        let files = [
            (
                "the private key",
                given(&self.private_key, &format!("{}.key", self.client)),
            ),
            (
                "the certificate",
                given(&self.certificate, &format!("{}.pem", self.client)),
            ),
            ("the certificate of the CA", given(&self.ca, "ca.pem")),
        ];
        let files = files.into_iter();
        files
            .filter_map(|(what, path)| Some(Needed::new(what, path?)))
            .collect()
    }

    /// Refuses options that only a server needs, if no server is named.
    pub(crate) fn check_alone(&self) -> Result<(), Failure> {
        let given = [
            ("--pki", self.pki.is_some()),
            ("--certificate", self.certificate.is_some()),
            ("--plaintext", self.plaintext),
            ("--server-name", self.server_name.is_some()),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => Err(Failure::usage(format!(
                "{option} is for a server: give --remote and --key too, or leave it out"
            ))),
            None => Ok(()),
        }
    }

    fn files(&self) -> Result<Option<TlsFiles>, Failure> {
        if self.private_key.is_some() && self.certificate.is_none() {
            return Err(Failure::usage(
                "--private-key: give --certificate too, which it belongs to",
            ));
        }
        if let Some(folder) = &self.pki {
            let certificate = folder.join(format!("{}.pem", self.client));
            if folder.join("ca.pem").exists() && !certificate.exists() {
                return Err(Failure::new(format!(
                    "{}: no such file: name a client with --client, or make it with oarlock pki client",
                    certificate.display()
                )));
            }
        }
        Ok(Some(
            match (&self.pki, &self.certificate, &self.private_key, &self.ca) {
                (Some(folder), ..) => TlsFiles {
                    certificate: folder.join(format!("{}.pem", self.client)),
                    key: folder.join(format!("{}.key", self.client)),
                    roots: folder.join("ca.pem"),
                    revoked: None,
                },
                (None, Some(certificate), Some(key), Some(ca)) => TlsFiles {
                    certificate: certificate.clone(),
                    key: key.clone(),
                    roots: ca.clone(),
                    revoked: None,
                },
                _ if self.plaintext => return Ok(None),
                _ => {
                    return Err(Failure::usage(
                        "no client certificate: give --pki DIRECTORY, or --certificate, --private-key and --ca",
                    ));
                }
            },
        ))
    }
}

/// Converts an error of a server or a connection.
pub(crate) fn refused(error: ClientError) -> Failure {
    Failure::new(error.message)
}

/// Returns the entry of the key with this id, if the client may use it.
pub(crate) async fn listed(client: &Client, id: &str) -> Result<proto::Key, Failure> {
    let mut keys = client.list_all_keys().await.map_err(refused)?;
    let Some(place) = keys.iter().position(|key| key.id == id) else {
        let ids: Vec<_> = keys.iter().map(|key| key.id.as_str()).collect();
        let others = match &ids[..] {
            [] => "none at all".into(),
            ids => ids.join(", "),
        };
        return Err(Failure::new(format!(
            "no key {id:?} that this client may use; it may use {others}"
        )));
    };
    Ok(keys.swap_remove(place))
}

/// Parses the public key in an entry of a list.
pub(crate) fn public(key: &proto::Key) -> Result<PublicKey, Failure> {
    if !key.recipient.is_empty() {
        return Err(Failure::new(format!(
            "key {:?} is an identity of age, which only unwraps: encrypt to what oarlock pubkey prints",
            key.id
        )));
    }
    if !key.algorithm.is_empty() {
        return Err(Failure::new(format!(
            "key {:?} is a secret key, which has no public half",
            key.id
        )));
    }
    parsed(&key.public_key)
}

/// Parses the public keys in an entry of a list: that of the newest version, then the older ones, with their numbers.
pub(crate) fn public_of_all(key: &proto::Key) -> Result<Vec<(u32, PublicKey)>, Failure> {
    let mut all = vec![(key.version, public(key)?)];
    for older in key.older.iter().rev() {
        all.push((older.version, parsed(&older.public_key)?));
    }
    Ok(all)
}

fn parsed(der: &[u8]) -> Result<PublicKey, Failure> {
    PublicKey::from_bytes(der)
        .map_err(|error| Failure::new(format!("the public key that the server sent: {error}")))
}

/// In seconds.
const TIMEOUT_DEFAULT: u16 = 10;
