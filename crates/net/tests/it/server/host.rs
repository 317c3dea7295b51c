//! Servers with their own certificates and keys, in a folder that is removed with them.

use std::fs;
use std::path::{Path, PathBuf};

use oarlock::keys::{KeyType, PrivateKey, PublicKey};
use oarlock::rsa::RsaPrivateKey;
use oarlock_net::client::{CallOptions, Client, ClientError, Operation, Settings};
use oarlock_net::pki::PkiRequest;
use oarlock_net::server::Server;
use oarlock_net::server::config::Config;
use oarlock_net::tls::{ClientTls, TlsFiles};
use oarlock_testing::LIMIT;
use tempfile::TempDir;

/// The test keys of the repository, which protect nothing.
pub const KEYS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../oarlock/tests/keys");

/// A folder with a CA, a server's certificate, and those of clients.
pub struct Home(TempDir);

impl Home {
    pub fn new(clients: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let request = PkiRequest {
            server_names: vec!["localhost".into(), "127.0.0.1".into()],
            clients: clients.iter().map(|name| (*name).to_owned()).collect(),
            days: 2,
        };
        request.init(folder.path()).unwrap();
        fs::create_dir(folder.path().join("keys")).unwrap();
        for key in ["rsa1024", "rsa2048", "rsa3072", "rsa4096"] {
            let name = format!("{key}.pem");
            fs::copy(
                Path::new(KEYS).join(&name),
                folder.path().join("keys").join(&name),
            )
            .unwrap();
        }
        Self(folder)
    }

    /// Adds a new key to those of servers that start later, and returns its public half.
    pub fn add_key(&self, id: &str, key_type: KeyType) -> PublicKey {
        let key = PrivateKey::generate(key_type).unwrap();
        let pem = key.to_pkcs8_pem().unwrap();
        fs::write(self.path().join("keys").join(format!("{id}.pem")), &*pem).unwrap();
        key.public_key().clone()
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Returns a configuration with everything that `rest` does not set.
    pub fn config(&self, rest: &str) -> Config {
        self.config_of(rest, "")
    }

    /// Returns a configuration in which clients may change keys.
    pub fn managed(&self, rest: &str) -> Config {
        self.config_of(rest, "managed = true")
    }

    fn config_of(&self, rest: &str, of_keys: &str) -> Config {
        let text = format!(
            "listen = [\"127.0.0.1:0\"]\n{rest}\n\
             [tls]\ncertificate = \"server.pem\"\nkey = \"server.key\"\nclient_ca = \"ca.pem\"\n\
             [[key]]\ndirectory = \"keys\"\n{of_keys}\n"
        );
        Config::parse(&text, self.path()).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    pub fn tls(&self, client: &str) -> ClientTls {
        let files = TlsFiles {
            certificate: self.file(client, "pem"),
            key: self.file(client, "key"),
            roots: self.path().join("ca.pem"),
            revoked: None,
        };
        files.client().unwrap()
    }

    fn file(&self, name: &str, extension: &str) -> PathBuf {
        self.path().join(format!("{name}.{extension}"))
    }

    /// Returns settings with which `client` reaches these servers.
    pub fn settings(&self, client: &str, servers: &[&Server]) -> Settings {
        let servers = servers.iter().map(|server| {
            let port = server.addresses()[0].port();
            format!("127.0.0.1:{port}")
        });
        Settings::new(servers.collect(), Some(self.tls(client)))
    }

    pub async fn client(&self, client: &str, servers: &[&Server]) -> Client {
        let client = Client::new(self.settings(client, servers)).unwrap();
        client.ready(LIMIT).await.unwrap();
        client
    }
}

pub fn key(name: &str) -> RsaPrivateKey {
    let pem = fs::read_to_string(Path::new(KEYS).join(format!("{name}.pem"))).unwrap();
    RsaPrivateKey::from_pem(&pem).unwrap()
}

pub async fn call(client: &Client, operation: Operation) -> Result<Vec<u8>, ClientError> {
    let result = client.call(operation, CallOptions::default()).await;
    result.map(|bytes| bytes.to_vec())
}

/// Access to all operations with all keys.
pub const EVERYTHING: &str = "[[client]]\nidentity = \"*\"\nkeys = [\"*\"]\n\
     operations = [\"sign\", \"decrypt\", \"raw_private\", \"mod_exp\", \"random\", \"list\"]\n";
