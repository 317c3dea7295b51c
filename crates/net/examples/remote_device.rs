//! Signs a file with a key that stays on a cryptoserver, through the library's ordinary calls:
//!
//! ```text
//! oarlock pki init demo --key web
//! oarlock serve --config demo/cryptoserver.toml &
//! cargo run --package oarlock-net --example remote_device -- localhost:7443 demo web README.md
//! ```
//!
//! The server must allow the client `list` and `raw_private`, as that configuration does.

use std::error::Error;
use std::path::Path;

use oarlock::Accelerator;
use oarlock::rsa::{Hash, SignatureScheme};
use oarlock_net::client::{RemoteDevice, Settings};
use oarlock_net::tls::TlsFiles;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [server, pki, id, file] = &arguments[..] else {
        return Err("usage: remote_device HOST:PORT PKI-DIRECTORY KEY FILE".into());
    };
    let pki = Path::new(pki);
    let tls = TlsFiles {
        certificate: pki.join("client.pem"),
        key: pki.join("client.key"),
        roots: pki.join("ca.pem"),
        revoked: None,
    };
    let settings = Settings::new(vec![server.clone()], Some(tls.client()?));
    let rack = RemoteDevice::connect("rack", settings)?;

    let keys = rack.keys()?;
    let Some((_, key)) = keys.iter().find(|(known, _)| known == id) else {
        let known: Vec<_> = keys.iter().map(|(known, _)| known.as_str()).collect();
        return Err(format!("no key {id:?}: the server has {}", known.join(", ")).into());
    };
    let message = std::fs::read(file).map_err(|error| format!("{file}: {error}"))?;
    let rsa = Accelerator::builder().build()?.rsa(key);
    let scheme = SignatureScheme::Pss(Hash::Sha256);
    let signature = rsa.sign(scheme, &message)?;
    // The server computed it; verifying it is what the receiving program would do.
    rsa.public().verify(scheme, &message, &signature)?;
    println!("{id} signed {file}: {} bytes", signature.len());
    Ok(())
}
