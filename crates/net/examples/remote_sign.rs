//! Signs files with a key of a cryptoserver, all of them at once, from asynchronous code:
//!
//! ```text
//! oarlock pki init demo --key web
//! oarlock serve --config demo/cryptoserver.toml &
//! cargo run --package oarlock-net --example remote_sign -- localhost:7443 demo web README.md LICENSE-MIT
//! ```
//!
//! The server must allow the client `sign` and `list`, as that configuration does.

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use oarlock::Accelerator;
use oarlock::rsa::{Hash, RsaPublicKey, SignatureScheme};
use oarlock_net::client::{CallOptions, Client, Operation, Settings};
use oarlock_net::proto;
use oarlock_net::tls::TlsFiles;
use sha2::{Digest, Sha256};
use tokio::task::JoinSet;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [server, pki, id, files @ ..] = &arguments[..] else {
        return Err("usage: remote_sign HOST:PORT PKI-DIRECTORY KEY FILE...".into());
    };
    let pki = Path::new(pki);
    let tls = TlsFiles {
        certificate: pki.join("client.pem"),
        key: pki.join("client.key"),
        roots: pki.join("ca.pem"),
        revoked: None,
    };
    let client = Client::new(Settings::new(vec![server.clone()], Some(tls.client()?)))?;
    client.ready(Duration::from_secs(10)).await?;

    let keys = client.list_keys().await?;
    let key = keys.iter().find(|key| key.id == *id);
    let key = key.ok_or_else(|| format!("the server has no key {id:?} for this client"))?;
    let public = RsaPublicKey::from_der(&key.public_key)?;
    let public = Accelerator::builder().build()?.rsa_public(&public);

    let mut tasks = JoinSet::new();
    for file in files {
        let message = std::fs::read(file).map_err(|error| format!("{file}: {error}"))?;
        let digest = Sha256::digest(message).to_vec();
        let (client, file) = (client.clone(), file.clone());
        let sign = Operation::Sign(proto::Sign {
            key_id: id.clone(),
            scheme: proto::SignatureScheme::RsaPssSha256.into(),
            digest: digest.clone(),
        });
        tasks.spawn(async move {
            let signature = client.call(sign, CallOptions::default()).await;
            (file, digest, signature)
        });
    }
    while let Some(task) = tasks.join_next().await {
        let (file, digest, signature) = task?;
        let signature = signature.map_err(|error| format!("{file}: {error}"))?;
        // The server is trusted with the key, but the network with nothing.
        public.verify_digest(SignatureScheme::Pss(Hash::Sha256), &digest, &signature)?;
        println!("{id} signed {file}: {} bytes", signature.len());
    }
    Ok(())
}
