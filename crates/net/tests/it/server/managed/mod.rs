//! Keys that clients have the server make, rotate, disable and enable.

mod faults;
mod hostile;
mod refused;
mod types;

use std::fs;
use std::path::Path;

use oarlock::keys::PublicKey;
use oarlock_net::client::{CallOptions, Client, ClientError, Operation};
use oarlock_net::proto::{self, KeyType, SignatureScheme};
use oarlock_net::server::Server;

use super::host::{Home, call};

/// The admin may change all keys and use none; the user may use all and change none; the tenant has its own.
const CLIENTS: &str = "[[client]]\nidentity = \"admin\"\nkeys = [\"*\"]\n\
     operations = [\"create\", \"rotate\", \"disable\", \"enable\", \"list\"]\n\
     [[client]]\nidentity = \"user\"\nkeys = [\"*\"]\n\
     operations = [\"sign\", \"decrypt\", \"unwrap\", \"mac\", \"verify_mac\", \"seal\", \"open\", \"list\"]\n\
     [[client]]\nidentity = \"tenant\"\nkeys = [\"tenant-*\"]\nkeys_max = 2\n\
     operations = [\"create\", \"rotate\", \"disable\", \"sign\", \"list\"]\n";

const OPTIONS: CallOptions = CallOptions {
    timeout: None,
    is_urgent: false,
    public_key_sha256: None,
};

/// Limits that no ordinary test reaches.
const OFTEN: &str = "[limits]\nkey_changes_per_minute = 100000\n";

struct Served {
    home: Home,
    server: Server,
    admin: Client,
    user: Client,
}

impl Served {
    async fn start() -> Self {
        Self::start_with(OFTEN).await
    }

    async fn start_with(more: &str) -> Self {
        let home = Home::new(&["admin", "user", "tenant"]);
        Self::at(home, more).await
    }

    async fn at(home: Home, more: &str) -> Self {
        let config = home.managed(&format!("{more}\n{CLIENTS}"));
        let server = Server::start(config).await.unwrap();
        let admin = home.client("admin", &[&server]).await;
        let user = home.client("user", &[&server]).await;
        Self {
            home,
            server,
            admin,
            user,
        }
    }

    async fn restart(self) -> Self {
        self.server.stop().await;
        Self::at(self.home, OFTEN).await
    }

    fn keys(&self) -> std::path::PathBuf {
        self.home.path().join("keys")
    }

    async fn create(&self, id: &str, key_type: KeyType) -> Result<proto::Key, ClientError> {
        self.admin.create_key(id, key_type, OPTIONS).await
    }

    async fn rotate(&self, id: &str, version: u32) -> Result<proto::Key, ClientError> {
        self.admin.rotate_key(id, version, OPTIONS).await
    }

    /// Returns a key as the user sees it.
    async fn listed(&self, id: &str) -> Option<proto::Key> {
        let keys = self.user.list_all_keys().await.unwrap();
        keys.into_iter().find(|key| key.id == id)
    }
}

/// Returns the names in a folder, in order, without the file of the lock.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.retain(|name| name != ".oarlock-lock");
    names.sort();
    names
}

async fn sign(client: &Client, id: &str, scheme: SignatureScheme) -> Result<Vec<u8>, ClientError> {
    let sign = Operation::Sign(proto::Sign {
        key_id: id.to_owned(),
        scheme: scheme.into(),
        digest: input(scheme),
    });
    call(client, sign).await
}

fn input(scheme: SignatureScheme) -> Vec<u8> {
    let hash = scheme.meaning().unwrap().1.hash();
    vec![7; hash.map_or(9, |hash| hash.bytes())]
}

/// Whether a signature that [`sign`] returns is by this key.
fn is_by(public_key: &[u8], scheme: SignatureScheme, signature: &[u8]) -> bool {
    let key = PublicKey::from_bytes(public_key).unwrap();
    let (_, meaning) = scheme.meaning().unwrap();
    let verified = match meaning.hash() {
        Some(_) => key.verify_digest(&meaning, &input(scheme), signature),
        None => key.verify(&meaning, &input(scheme), signature),
    };
    verified.is_ok()
}
